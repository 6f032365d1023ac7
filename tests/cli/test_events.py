"""`streamacc events`: the neutral events as lines of JSON, each written as soon as it is known."""

from typing import IO

import msgspec
import pytest

from streamaccumulator import ChatStreamEvent, TextDelta
from streamaccumulator.events import encode_event

from ..wire import DONE, delta, events_of, finish
from .running import run, started

STREAM = delta(content="Hel") + delta(content="lo") + finish("stop") + DONE


def test_the_lines_are_the_events() -> None:
    lines = run("events", stdin=STREAM).out.splitlines()
    assert lines == [encode_event(event) for event in events_of(STREAM)]
    assert [msgspec.json.decode(line, type=ChatStreamEvent) for line in lines] == events_of(STREAM)


def next_text(lines: IO[bytes]) -> str:
    """The delta of the next event of text; waits for it."""
    for line in iter(lines.readline, b""):
        event = msgspec.json.decode(line, type=ChatStreamEvent)
        if isinstance(event, TextDelta):
            return event.delta
    raise AssertionError("the command ended before it printed the event")


def test_an_event_is_printed_while_the_stream_is_still_open() -> None:
    with started("events", "-") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for piece in "Hel", "lo":
            process.stdin.write(delta(content=piece))
            assert next_text(process.stdout) == piece
        assert process.poll() is None, "all this was printed before standard input was closed"
        process.communicate(finish("stop") + DONE)
    assert process.returncode == 0


@pytest.mark.parametrize(("stream", "status"), [(STREAM, 0), (STREAM[:200], 3), (b"<html>", 6)])
def test_the_exit_status_is_that_of_the_stream(stream: bytes, status: int) -> None:
    ran = run("events", stdin=stream)
    assert ran.status == status
    assert bool(ran.err) == bool(status)
