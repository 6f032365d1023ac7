"""From a file name to an outcome: the response, the exit status, and what to tell about it.

The commands differ only in what they do with the events on the way and with the response in the end; the reading, and
what each way of failing is called, is here. One stream, read once; memory is the message.
"""

import contextlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import (
    AccumulatorError,
    InvalidToolCallJson,
    LimitExceeded,
    MalformedChunk,
    ProviderError,
    Truncated,
    UnknownProtocol,
)
from ..events import ChatStreamEvent
from ..response import AccumulatedResponse
from ..stream import ChatStream
from .terminal import Screen, one_line

Watch = Callable[[ChatStreamEvent], None]
"""What looks at each event just after it was observed."""

WHOLE = 0
WRONG_USE = 2
UNANSWERED = 9
"""A run that its policy, or its session, ended before the model had answered."""
INTERRUPTED = 130
"""128 and SIGINT, as a shell counts."""
READER_GONE = 141
"""128 and SIGPIPE, as a shell counts."""

STATUS: dict[type[AccumulatorError], int] = {
    Truncated: 3,
    ProviderError: 4,
    InvalidToolCallJson: 5,
    MalformedChunk: 6,
    LimitExceeded: 7,
    UnknownProtocol: 8,
}
"""The exit status for the gravest error of a stream."""

TOLD = 3
"""Errors beside the gravest that are told one by one; a broken server can make hundreds."""


HEAD = 120
"""Bytes shown of what could not be read."""


class WrongUse(Exception):
    """The command was given something it cannot work with: the person's fault and not the stream's."""


class Outcome(NamedTuple):
    """What reading a stream came to. `complaint` is one paragraph, empty where there is nothing to tell."""

    response: AccumulatedResponse
    status: int
    complaint: str = ""

    def settle(self) -> int:
        """Tell the complaint on standard error; returns the exit status."""
        if self.complaint:
            tell(self.complaint, apart=same_terminal())
        return self.status


class Source:
    """A file, or standard input as it arrives; the driver reads it by `read1`. `size` counts its bytes so far."""

    def __init__(self, name: str) -> None:
        self.size = 0
        self.name = "standard input" if name == "-" else name
        self._shared = name == "-"
        try:
            self._file: Any = sys.stdin.buffer if self._shared else open(name, "rb")  # noqa: SIM115  # `close` closes it
        except OSError as fault:
            raise WrongUse(f"cannot read {name}: {fault.strerror or fault}") from fault
        except AttributeError as fault:
            raise WrongUse("standard input is closed; name a file") from fault
        if self._shared and sys.stdin.isatty():
            tell("reading standard input; paste a stream and end it with Ctrl-D, or name a file")

    def read1(self, size: int) -> bytes:
        """At most `size` bytes, as soon as there are any; none at the end."""
        data: bytes = self._file.read1(size)
        self.size += len(data)
        return data

    def close(self) -> None:
        """Close the file; standard input is not ours to close."""
        if not self._shared:
            self._file.close()


def read(name: str, protocol: str, watch: Watch | None = None) -> Outcome:
    """Read one stream to its end, handing each event to `watch`.

    An interrupt (Ctrl-C) ends the reading and is an outcome like any other. Raises WrongUse for a file that cannot be
    opened and for the name of no protocol.
    """
    with contextlib.closing(Source(name)) as source:
        return drain(source, protocol, watch, lambda: f"{source.size:,} bytes read from {source.name}")


def drain(source: Any, protocol: str, watch: Watch | None = None, where: Callable[[], str] = str) -> Outcome:
    """As `read`, for anything a ChatStream reads; `where` says what was read, once it was."""
    try:
        stream = ChatStream(source, protocol)
    except UnknownProtocol as fault:
        raise WrongUse(str(fault)) from fault
    with stream:
        try:
            for event in stream:
                if watch is not None:
                    watch(event)
            response = stream.finalize()
        except KeyboardInterrupt:
            stream.close()
            response = stream.finalize(strict=False)
            return Outcome(response, INTERRUPTED, f"interrupted; {response.kept()}{_aside(where())}")
        except AccumulatorError as error:
            response = error.response or stream.snapshot()
            return Outcome(response, STATUS[type(error)], complaint(error, response, where()))
    empty = any(note.code == "empty_stream" for note in response.diagnostics)
    if empty:
        return Outcome(response, STATUS[Truncated], f"the stream held nothing at all{_aside(where())}")
    return Outcome(response, WHOLE)


def complaint(error: AccumulatorError, response: AccumulatedResponse, where: str = "") -> str:
    """One paragraph: what happened, what was kept, where, and what else went wrong."""
    others = [other for other in response.errors if other != error]
    said = f"{error}{_aside(where)}"
    if isinstance(error, MalformedChunk) and error.raw:
        said += f". It begins: {error.raw[:HEAD].decode('utf-8', 'replace')}"
    if isinstance(error, UnknownProtocol):
        said += ". Name the protocol with --protocol"
    if others:
        said += f". Also: {'; '.join([one_line(other.what(), 300) for other in others[:TOLD]])}"
    if len(others) > TOLD:
        said += f"; and {len(others) - TOLD} more, which --json lists"
    return said


def _aside(where: str) -> str:
    return f" ({where})" if where else ""


def tell(message: str, *, apart: bool = False) -> None:
    """One paragraph on standard error, which may be closed; `apart` leaves a line free above it."""
    if sys.stderr is not None:
        screen = Screen(sys.stderr)
        gap = "\n" if apart else ""
        paragraph = screen.wrapped(f"streamacc: {one_line(message, 2000)}")
        screen.write(f"{gap}{paragraph}\n")


def same_terminal() -> bool:
    """Whether what is printed and what is told are read one below the other."""
    return sys.stderr is not None and sys.stdout.isatty() and sys.stderr.isatty()
