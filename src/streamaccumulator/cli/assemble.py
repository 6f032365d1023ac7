"""The commands `assemble` and `events`: one stream read, as a message or as the neutral events.

Both print while or after they read, never instead: what came before a fault is printed too, and the fault is told on
standard error and by the exit status. Memory is the message.
"""

import contextlib
import sys
from argparse import Namespace
from contextlib import AbstractContextManager

from ..events import ChatStreamEvent, encode_event
from ..response import AccumulatedResponse
from .growth import open_live
from .reading import Watch, read, same_terminal
from .render import render
from .terminal import Screen


def assemble(arguments: Namespace) -> int:
    """Read a stream to its end and print the complete message, or what came of it."""
    screen = Screen(sys.stdout)
    with _watching(arguments.live) as watch:
        outcome = read(arguments.file, arguments.protocol, watch)
    _print(outcome.response, screen, arguments.form)
    return outcome.settle()


def _watching(live: bool) -> AbstractContextManager[Watch | None]:
    """The live drawing goes to standard error, so that standard output can go to a file; where it cannot, there is none."""
    screen = Screen(sys.stderr) if live and sys.stderr is not None else None
    return open_live(screen) if screen is not None and screen.animated else contextlib.nullcontext()


def _print(response: AccumulatedResponse, screen: Screen, form: str | None) -> None:
    if form == "json":
        screen.write_exact(response.to_json() + "\n")
    elif form == "text":
        ended = not screen.terminal or not response.text or response.text.endswith("\n")
        screen.write_exact(response.text if ended else f"{response.text}\n")
    else:
        screen.write(render(response, screen, errors=not same_terminal()))


def events(arguments: Namespace) -> int:
    """Print each event as one line of JSON, as soon as it is known."""
    screen = Screen(sys.stdout)

    def write(event: ChatStreamEvent) -> None:
        screen.write_exact(encode_event(event).decode() + "\n")

    return read(arguments.file, arguments.protocol, write).settle()
