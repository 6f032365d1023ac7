"""ChatStream, AsyncChatStream, accumulate and its kin over sources in memory; real HTTP is in `integration`.

Each promise is made by both drivers, so each test runs both: `Both` drives one or the other.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AsyncChatStream,
    ChatStream,
    ChatStreamEvent,
    InvalidToolCallJson,
    LimitExceeded,
    Limits,
    TextDelta,
    Truncated,
    aaccumulate,
    accumulate,
    accumulate_choices,
)

from .wire import DONE, call, codes, cuts, delta, events_of, finish

HELLO = delta(content="Hel") + delta(content="lo") + finish("stop") + DONE
BAD_CALL = delta(content="a") + call(0, "c1", "f", "{]") + finish("tool_calls") + delta(content="b") + DONE


class Source:
    """An iterable and async iterable of bytes that counts how often it was closed and can break on the way."""

    def __init__(self, data: bytes, failure: BaseException | None = None, size: int = 40) -> None:
        self.pieces = list(cuts(data, size))
        self.failure = failure
        self.closed = 0
        self.given = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self.given == len(self.pieces):
            if self.failure is not None:
                raise self.failure
            raise StopIteration
        self.given += 1
        return self.pieces[self.given - 1]

    def close(self) -> None:
        self.closed += 1


class AsyncSource(Source):
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0)
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.closed += 1


def read_sync(source: Source, take: int | None, strict: bool, **options: Any) -> tuple[list[ChatStreamEvent], AccumulatedResponse]:
    events = []
    with ChatStream(source, "openai-chat", **options) as stream:
        for event in stream:
            events.append(event)
            if len(events) == take:
                break
        if take is None:
            return events, stream.finalize(strict=strict)
    return events, stream.finalize(strict=strict)


def read_async(source: Source, take: int | None, strict: bool, **options: Any) -> tuple[list[ChatStreamEvent], AccumulatedResponse]:
    async def read() -> tuple[list[ChatStreamEvent], AccumulatedResponse]:
        events = []
        async with AsyncChatStream(source, "openai-chat", **options) as stream:
            async for event in stream:
                events.append(event)
                if len(events) == take:
                    break
            if take is None:
                return events, await stream.finalize(strict=strict)
        return events, await stream.finalize(strict=strict)

    return asyncio.run(read())


Both = tuple[type[Source], Callable[..., tuple[list[ChatStreamEvent], AccumulatedResponse]]]


@pytest.fixture(params=[(Source, read_sync), (AsyncSource, read_async)], ids=["sync", "async"])
def both(request: pytest.FixtureRequest) -> Both:
    pair: Both = request.param
    return pair


def test_all_events_and_the_response(both: Both) -> None:
    make, read = both
    source = make(HELLO)
    events, response = read(source, None, True)
    assert events == events_of(HELLO)
    assert response == accumulate(HELLO)
    assert source.closed == 1


def test_leaving_early_closes_the_source_once_and_keeps_what_was_handed_out(both: Both) -> None:
    make, read = both
    source = make(HELLO)
    events, response = read(source, 3, False)
    assert TextDelta("Hel") in events
    assert (response.text, response.errors) == ("Hel", (Truncated("cancelled", "the stream was left before its end"),))
    assert source.closed == 1
    assert source.given < len(source.pieces)


def test_leaving_after_the_finish_reason_is_only_a_note(both: Both) -> None:
    make, read = both
    at = [type(event).__name__ for event in events_of(HELLO)].index("Finish")
    _, response = read(make(HELLO), at + 1, True)
    assert (response.complete, codes(response)) == (True, {"broken_after_finish"})


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(ConnectionResetError("reset"), "transport"), (TimeoutError("slow"), "idle_timeout"), (ValueError("?"), "transport")],
)
def test_a_source_that_fails_is_truncated_with_its_cause(both: Both, failure: Exception, reason: str) -> None:
    make, read = both
    source = make(delta(content="Hel") + delta(content="lo")[:-20], failure)
    with pytest.raises(Truncated) as caught:
        read(source, None, True)
    assert (caught.value.reason, caught.value.__cause__) == (reason, failure)
    assert caught.value.response is not None
    assert caught.value.response.text == "Hel"
    assert source.closed == 1


def test_a_source_that_fails_after_the_finish_reason_is_only_a_note(both: Both) -> None:
    make, read = both
    _, response = read(make(HELLO[: -len(DONE)], ConnectionResetError()), None, True)
    assert (response.complete, codes(response)) == (True, {"broken_after_finish"})


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_is_no_failure_of_the_source_passes_through(both: Both, failure: BaseException) -> None:
    make, read = both
    source = make(delta(content="Hel"), failure)
    with pytest.raises(type(failure)):
        read(source, None, True)
    assert source.closed == 1


def test_fail_fast_raises_in_the_loop_and_closes(both: Both) -> None:
    make, read = both
    source = make(BAD_CALL)
    with pytest.raises(InvalidToolCallJson) as caught:
        read(source, None, True, fail_fast=True)
    assert caught.value.response is not None
    assert caught.value.response.text == "a"
    assert source.closed == 1


def test_a_limit_stops_the_reading_and_closes(both: Both) -> None:
    make, read = both
    source = make(b"".join([call(at, f"c{at}", "f", "{}") for at in range(50)]))
    with pytest.raises(LimitExceeded) as caught:
        read(source, None, True, limits=Limits(tool_calls=2))
    assert caught.value.response is not None
    assert (source.closed, source.given < len(source.pieces)) == (1, True)


def test_an_event_is_observed_just_before_it_is_handed_out() -> None:
    with ChatStream(HELLO) as stream:
        texts = [stream.snapshot().text for event in stream if isinstance(event, TextDelta)]
        assert texts == ["Hel", "Hello"]
        assert stream.accumulator.done
        assert stream.finalize().text == "Hello"


def test_finalize_reads_what_is_left() -> None:
    with ChatStream(Source(HELLO)) as stream:
        next(stream)
        assert stream.finalize().text == "Hello"
        assert list(stream) == []


def test_a_call_can_be_watched() -> None:
    with ChatStream(call(0, "c1", "f", '{"a":') + call(0, arguments="1}") + finish("tool_calls")) as stream:
        seen = [stream.tool_call("c1").arguments_raw for event in stream if "argument" in type(event).__name__.lower()]
    assert seen == ['{"a":', '{"a":1}']


# ---- One call.


def one_call(make: type[Source], source: Source, **options: Any) -> AccumulatedResponse:
    if make is Source:
        return accumulate(source, "openai-chat", **options)
    return asyncio.run(aaccumulate(source, "openai-chat", **options))


def test_accumulate_gives_what_the_stream_gives(both: Both) -> None:
    make, _ = both
    assert one_call(make, make(HELLO)) == accumulate(HELLO)


def test_accumulate_closes_a_source_that_it_did_not_read_to_the_end(both: Both) -> None:
    make, _ = both
    for data, options in ((BAD_CALL, {"fail_fast": True}), (HELLO * 50, {"limits": Limits(message_bytes=5)})):
        source = make(data)
        with pytest.raises((InvalidToolCallJson, LimitExceeded)):
            one_call(make, source, **options)
        assert source.closed == 1
    broken = make(delta(content="Hel"), ConnectionResetError())
    with pytest.raises(Truncated) as caught:
        one_call(make, broken)
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert broken.closed == 1


def test_a_generator_is_closed_once_and_its_clean_up_runs() -> None:
    ran = []

    def generate() -> Iterator[bytes]:
        try:
            yield from cuts(HELLO, 40)
        finally:
            ran.append("closed")

    with ChatStream(generate()) as stream:
        next(stream)
    assert ran == ["closed"]


@pytest.mark.parametrize(
    "source",
    [
        HELLO,
        bytearray(HELLO),
        memoryview(HELLO),
        HELLO.decode(),
        io.BytesIO(HELLO),
        io.StringIO(HELLO.decode()),
        [HELLO[:50], HELLO[50:]],
        (piece for piece in [HELLO[:50], bytearray(HELLO[50:])]),
        [HELLO[:50].decode(), HELLO[50:].decode()],
    ],
    ids=lambda source: type(source).__name__,
)
def test_any_source_of_bytes(source: Any) -> None:
    assert accumulate(source) == accumulate(HELLO)


def test_a_source_that_cannot_be_closed_costs_nothing() -> None:
    class Stuck(Source):
        def close(self) -> None:
            raise OSError("stuck")

    with pytest.raises(Truncated) as caught:
        accumulate(Stuck(delta(content="Hel"), ConnectionResetError()))
    assert caught.value.response is not None
    assert caught.value.response.text == "Hel"
    with ChatStream(Stuck(HELLO, size=1000)) as stream:
        next(stream)
    assert stream.finalize(strict=False).errors[0] == Truncated("cancelled", "the stream was left before its end")


def test_what_is_no_source_says_what_to_do_with_it() -> None:
    async def call() -> None: ...

    async def items() -> AsyncIterator[bytes]:
        yield b""

    waiting = call()
    for source, hint in ((waiting, "awaited first"), (items(), "aaccumulate"), (Path("answer.sse"), "open it first")):
        with pytest.raises(TypeError, match=hint):
            accumulate(source)
    waiting.close()


@pytest.mark.parametrize("source", [3, None, {"choices": []}, object()])
def test_what_is_no_source_says_so(source: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot read|one payload"):
        accumulate(source)
    with pytest.raises(TypeError):
        ChatStream(source)


@pytest.mark.parametrize("method", ["iter_bytes", "iter_raw"])
def test_a_response_object_is_read_by_its_method(method: str) -> None:
    response = type("Response", (), {method: lambda self: cuts(HELLO, 9)})()
    assert accumulate(response) == accumulate(HELLO)


def test_choices_are_read_from_any_source() -> None:
    assert accumulate_choices(Source(HELLO))[0] == accumulate(HELLO)
    with pytest.raises(Truncated) as caught:
        accumulate_choices(Source(delta(content="a"), ConnectionResetError()))
    assert isinstance(caught.value.__cause__, ConnectionResetError)
