"""The commands `assemble` and `events`: one stream read, as a message or as the neutral events.

The message is printed when it has ended, its bare text and the events as they come. What came before a fault is printed
too, and the fault is told on standard error and by the exit status. Memory is the message.
"""

import contextlib
import sys
from argparse import Namespace
from contextlib import AbstractContextManager

from ..events import ChatStreamEvent, TextDelta, encode_event
from ..response import AccumulatedResponse
from .growth import Ticker, open_live
from .reading import Watch, read, same_terminal, tell
from .render import render
from .terminal import Screen


def assemble(arguments: Namespace) -> int:
    """Read a stream to its end and print the complete message, or what came of it."""
    screen = Screen(sys.stdout)
    with _watching(arguments.live) as watch:
        if arguments.form == "text" and watch is None:
            outcome = read(arguments.file, arguments.protocol, _text_as_it_comes(screen))
        else:
            outcome = read(arguments.file, arguments.protocol, watch)
            if arguments.form == "text":
                screen.write_exact(outcome.response.text)
    _print(outcome.response, screen, arguments.form)
    return outcome.settle()


def _watching(live: bool) -> AbstractContextManager[Watch | None]:
    """The live drawing goes to standard error, so that standard output can go to a file; where it cannot, there is none."""
    screen = Screen(sys.stderr) if live and sys.stderr is not None else None
    if screen is None or not screen.animated:
        return contextlib.nullcontext()
    drawing = open_live(screen)
    if drawing is None:
        tell("drawing in place needs rich (pip install rich); here is what comes, piece by piece")
    return drawing or Ticker(screen)


def _text_as_it_comes(screen: Screen) -> Watch:
    def write(event: ChatStreamEvent) -> None:
        if isinstance(event, TextDelta):
            screen.write_exact(event.delta)

    return write


def _print(response: AccumulatedResponse, screen: Screen, form: str | None) -> None:
    if form == "json":
        screen.write_exact(response.to_json() + "\n")
    elif form == "text":
        if screen.terminal and response.text and not response.text.endswith("\n"):
            screen.write("\n")
    else:
        screen.write(render(response, screen, errors=not same_terminal()))


def events(arguments: Namespace) -> int:
    """Print each event as one line of JSON, as soon as it is known."""
    screen = Screen(sys.stdout)

    def write(event: ChatStreamEvent) -> None:
        screen.write_exact(encode_event(event).decode() + "\n")

    return read(arguments.file, arguments.protocol, write).settle()
