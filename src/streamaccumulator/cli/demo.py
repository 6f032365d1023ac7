"""The command `demo`: bundled streams played as they would arrive, whole and cut, without a key or a network.

Each act is fed to the driver in small reads with pauses; how long an act lasts is written in the script and not left to
the machine. With a terminal and rich the message is drawn in place while it grows, else its pieces are ticked off line by
line, which reads well in a log.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from ..errors import Truncated
from ..response import AccumulatedResponse
from .growth import Ticker, open_live
from .reading import INTERRUPTED, STATUS, WHOLE, Outcome, drain
from .render import render
from .terminal import BOLD, CYAN, DIM, GREEN, RED, Screen, one_line


class Act(NamedTuple):
    """One stream of the demo: what is said before it, what is played, in reads of how many bytes, for how many seconds."""

    title: str
    remark: str
    capture: str
    size: int
    seconds: float
    until: bytes = b""
    """Where the stream is cut: just after these bytes. Empty: it is whole."""

    @property
    def status(self) -> int:
        """The exit status with which `assemble` would end."""
        return STATUS[Truncated] if self.until else WHOLE


ACTS = (
    Act(
        "A recording of a real server, in the OpenAI chat format",
        "llama.cpp with a toy model of 425 KB: its words mean nothing, the bytes are real.",
        "recorded-openai-chat.sse",
        size=160,
        seconds=2.2,
    ),
    Act(
        "The same answer of the same server, in the Anthropic messages format",
        "Other events, other names, other ends: the message must be the same.",
        "recorded-anthropic-messages.sse",
        size=110,
        seconds=1.4,
    ),
    Act(
        "Signed thinking, an emoji cut in two by a read, two tool calls at once",
        "Written for this demo in Anthropic's documented format.",
        "written-anthropic-messages.sse",
        size=64,
        seconds=3.0,
    ),
    Act(
        "The same stream, but the connection is lost inside the second tool call",
        "A broken stream must not look whole: the whole call may be run, half a call never.",
        "written-anthropic-messages.sse",
        size=64,
        seconds=1.6,
        until=b'metres\\": 24',
    ),
)
"""The script: under ten seconds in all."""

BROKEN_PROMISE = 1
"""The exit status if a stream ended otherwise: our bug, as a traceback would be."""


def demo(arguments: Namespace) -> int:
    """Play the script. The exit status is 0 if every stream ended as the script says."""
    screen = Screen(sys.stdout)
    screen.write(f"Streams as they arrive, and what becomes of them. {len(ACTS)} acts, no key, no network.\n")
    shown: list[AccumulatedResponse] = []
    as_promised = True
    for number, act in enumerate(ACTS, 1):
        _introduce(act, number, screen)
        outcome = _play(act, screen, arguments.speed)
        if outcome.status == INTERRUPTED:
            return INTERRUPTED
        _conclude(outcome, shown, screen)
        shown.append(outcome.response)
        as_promised = as_promised and outcome.status == act.status
    screen.write(f"\n{screen.paint('Now yours:', BOLD)} curl -sN ... | streamacc assemble    (streamacc --help tells more)\n")
    return WHOLE if as_promised else BROKEN_PROMISE


def _introduce(act: Act, number: int, screen: Screen) -> None:
    bar = ("━" if screen.fancy else "=") * screen.width
    title = screen.paint(f"{number}. {act.title}", BOLD, CYAN)
    size, reads = len(stream_of(act)), len(list(reads_of(act)))
    facts = screen.paint(f"{act.remark}\n{size:,} bytes in {reads} reads.", DIM)
    screen.write(f"\n{screen.paint(bar, DIM)}\n{title}\n{facts}\n\n")


def _play(act: Act, screen: Screen, speed: float) -> Outcome:
    view = open_live(screen) if screen.animated else None
    if view is not None:
        with view as watch:
            return drain(arriving(act, speed), "auto", watch)
    ticker = Ticker(screen)
    outcome = drain(arriving(act, speed), "auto", ticker)
    ticker.close()
    screen.write("\n")
    return outcome


def _conclude(outcome: Outcome, shown: list[AccumulatedResponse], screen: Screen) -> None:
    """Print the message, unless it was printed before; then what is to be told about it."""
    twin = next((number for number, earlier in enumerate(shown, 1) if _gist(earlier) == _gist(outcome.response)), None)
    if twin is not None and not outcome.complaint:
        tick = screen.paint("✓" if screen.fancy else "=", GREEN)
        screen.write(f"{tick} The same message as in {twin}, part for part.\n")
    else:
        screen.write(render(outcome.response, screen, errors=not outcome.complaint))
    if outcome.complaint:
        screen.write(f"\n{screen.paint('streamacc assemble', BOLD, RED)} tells, with exit status {outcome.status}:\n")
        screen.write(f"{screen.wrapped(one_line(outcome.complaint))}\n")


def _gist(response: AccumulatedResponse) -> object:
    """What a caller acts on: everything but identities and counts."""
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    return response.reasoning, response.text, calls, response.finish_reason


# ---- From a capture to something that arrives.


def stream_of(act: Act) -> bytes:
    """The bytes of an act, up to where it is cut."""
    data = (files(__package__) / "captures" / act.capture).read_bytes()
    return data[: data.index(act.until) + len(act.until)] if act.until else data


def reads_of(act: Act) -> Iterator[bytes]:
    """The stream in reads of `size` bytes; one ends early where it would not cut an emoji in two."""
    data = stream_of(act)
    cuts = {*range(0, len(data), act.size), len(data)}
    cuts |= {at + 2 for at in range(len(data) - 2) if data[at] >= 0xF0}  # the first byte of four
    return (data[start:end] for start, end in pairwise(sorted(cuts)))


def arriving(act: Act, speed: float) -> Iterator[bytes]:
    """The reads of an act with the pauses between them; a speed of 0 makes none."""
    reads = list(reads_of(act))
    for data in reads:
        if speed:
            time.sleep(act.seconds / len(reads) / speed)
        yield data
