"""The finalize table of the README, row by row, with events given by hand.

Each row says what the stream was, what `finalize` does, the finish reason, and what is kept.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from streamaccumulator import (
    AccumulatorError,
    ChatStreamEvent,
    Finish,
    FinishReason,
    InvalidToolCallJson,
    LimitExceeded,
    LimitHit,
    MalformedChunk,
    ProtocolUnknown,
    ProviderError,
    StreamAccumulator,
    StreamBroken,
    StreamError,
    TextDelta,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallStart,
    Truncated,
    UnknownProtocol,
    Unreadable,
)


def whole_call(id: str, arguments: str = "{}") -> tuple[ChatStreamEvent, ...]:
    return ToolCallStart(id, "f"), ToolCallArgumentDelta(id, arguments), ToolCallEnd(id)


STOP = Finish(FinishReason.STOP, "stop")
HI = TextDelta("Hi")


class Row(NamedTuple):
    stream: str
    events: Sequence[ChatStreamEvent]
    raises: AccumulatorError | None
    finish_reason: FinishReason | None
    raw: str | None
    text: str
    calls: tuple[str, ...]


_MALFORMED = InvalidToolCallJson("c1", "f", "'D' where a value belongs", 5, '{"a":Dave}', "malformed")
_OPEN = InvalidToolCallJson("c2", "f", "the stream ended before the call did", None, '{"a":1}', "cut")

TABLE = [
    Row("ended with a reason", [HI, STOP], None, FinishReason.STOP, "stop", "Hi", ()),
    Row("ended with a reason and a call", [HI, *whole_call("c1"), STOP], None, FinishReason.TOOL_CALLS, "stop", "Hi", ("c1",)),
    Row("ended without one", [HI, *whole_call("c1")], Truncated(), None, None, "Hi", ("c1",)),
    Row(
        "ended without one, a call still open",
        [HI, *whole_call("c1"), ToolCallStart("c2", "f"), ToolCallArgumentDelta("c2", '{"a":1}')],
        Truncated(),
        None,
        None,
        "Hi",
        ("c1",),
    ),
    Row(
        "a call's arguments are not JSON",
        [HI, *whole_call("c1", '{"a":Dave}'), *whole_call("c2"), STOP],
        _MALFORMED,
        FinishReason.TOOL_CALLS,
        "stop",
        "Hi",
        ("c2",),
    ),
    Row(
        "provider error event",
        [HI, StreamError("overloaded_error", "busy")],
        ProviderError("overloaded_error", "busy"),
        FinishReason.ERROR,
        None,
        "Hi",
        (),
    ),
    Row(
        "a frame could not be read",
        [HI, Unreadable(7, "no JSON", b"{"), TextDelta("!"), STOP],
        MalformedChunk(7, "no JSON", b"{"),
        FinishReason.STOP,
        "stop",
        "Hi!",
        (),
    ),
    Row(
        "a limit was hit",
        [HI, LimitHit("frame_bytes", 9), TextDelta("never heard"), STOP],
        LimitExceeded("frame_bytes", 9),
        None,
        None,
        "Hi",
        (),
    ),
    Row("nothing at all", [], None, FinishReason.STOP, None, "", ()),
]


def observed(events: Sequence[ChatStreamEvent]) -> StreamAccumulator:
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.observe(event)
    return accumulator


@pytest.mark.parametrize("row", TABLE, ids=[row.stream for row in TABLE])
def test_strict_raises_what_the_table_says_with_all_that_is_kept(row: Row) -> None:
    accumulator = observed(row.events)
    if row.raises is None:
        response = accumulator.finalize()
    else:
        with pytest.raises(type(row.raises)) as caught:
            accumulator.finalize()
        assert caught.value == row.raises
        assert caught.value.response is not None
        response = caught.value.response
    assert (response.finish_reason, response.raw_finish_reason) == (row.finish_reason, row.raw)
    assert response.text == row.text
    assert tuple([call.id for call in response.tool_calls]) == row.calls


@pytest.mark.parametrize("row", TABLE, ids=[row.stream for row in TABLE])
def test_not_strict_returns_the_same_response_and_finalize_is_idempotent(row: Row) -> None:
    accumulator = observed(row.events)
    response = accumulator.finalize(strict=False)
    assert accumulator.finalize(strict=False) is response
    assert all(error.response is None for error in response.errors)
    if row.raises is None:
        assert accumulator.finalize() is response
        assert response.errors == ()
    else:
        assert row.raises in response.errors
        with pytest.raises(type(row.raises)) as caught:
            accumulator.finalize()
        assert caught.value.response is response


def test_nothing_at_all_is_told() -> None:
    response = observed([]).finalize()
    assert [diagnostic.code for diagnostic in response.diagnostics] == ["empty_stream"]
    assert response.message.content == ()


def test_a_dropped_call_is_told_with_its_text_also_where_the_stream_was_truncated() -> None:
    row = next(row for row in TABLE if row.stream.endswith("still open"))
    assert observed(row.events).finalize(strict=False).errors == (Truncated(), _OPEN)


GRAVEST_FIRST: list[tuple[ChatStreamEvent, type[AccumulatorError]]] = [
    (ProtocolUnknown("html"), UnknownProtocol),
    (LimitHit("parts", 1), LimitExceeded),
    (StreamError("e", "m"), ProviderError),
    (StreamBroken("transport"), Truncated),
    (Unreadable(0, "r"), MalformedChunk),
    (ToolCallEnd("bad"), InvalidToolCallJson),
]


@pytest.mark.parametrize("at", range(len(GRAVEST_FIRST)))
def test_the_gravest_is_raised_whatever_came_first(at: int) -> None:
    """Of the errors from place `at` on, met in the opposite order, the first of the list is raised."""
    begun: list[ChatStreamEvent] = [ToolCallStart("bad", "f"), ToolCallArgumentDelta("bad", "{]")]
    events: list[ChatStreamEvent] = [event for event, _ in reversed(GRAVEST_FIRST[at:])]
    ended: list[ChatStreamEvent] = [] if any(isinstance(event, StreamBroken) for event in events) else [STOP]
    # A limit is the last thing heard, so it comes after the graver one where both are there.
    events.sort(key=lambda event: isinstance(event, LimitHit))
    with pytest.raises(GRAVEST_FIRST[at][1]):
        observed([*begun, *ended, *events]).finalize()


@pytest.mark.parametrize("event", [ProtocolUnknown("x"), LimitHit("parts", 1), StreamError("e", "m")])
def test_the_first_three_do_not_add_a_truncated(event: ChatStreamEvent) -> None:
    errors = observed([HI, event]).finalize(strict=False).errors
    assert len(errors) == 1


def test_errors_are_listed_in_the_order_in_which_they_were_met() -> None:
    events: list[ChatStreamEvent] = [
        Unreadable(1, "a"),
        *whole_call("c1", "{]"),
        Unreadable(2, "b"),
        StreamError("e", "m"),
        STOP,
    ]
    kinds = [type(error) for error in observed(events).finalize(strict=False).errors]
    assert kinds == [MalformedChunk, InvalidToolCallJson, MalformedChunk, ProviderError]
