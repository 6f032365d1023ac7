"""When the pieces came, on a clock that the source turns; and the names OpenTelemetry has for it all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AsyncChatStream,
    ChatStream,
    Gaps,
    Limits,
    StreamTimings,
    TokenUsage,
    Truncated,
    aaccumulate,
    accumulate,
)

from .wire import chat, delta, finish, sse


class Clock:
    """Seconds that pass only when somebody says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Pieces, each at its second; the end comes at `end`."""

    def __init__(self, clock: Clock, pieces: list[tuple[float, bytes]], end: float, fails: bool = False) -> None:
        self.clock, self.pieces, self.end, self.fails = clock, pieces, end, fails

    def __iter__(self) -> Iterator[bytes]:
        for at, piece in self.pieces:
            self.clock.now = 100.0 + at
            yield piece
        self.clock.now = 100.0 + self.end
        if self.fails:
            raise ConnectionError("gone")

    async def asynchronous(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


Read = Callable[[Source, StreamTimings], AccumulatedResponse]


def in_one_call(source: Source, timings: StreamTimings) -> AccumulatedResponse:
    return accumulate(iter(source), strict=False, timings=timings)


def in_one_async_call(source: Source, timings: StreamTimings) -> AccumulatedResponse:
    return asyncio.run(aaccumulate(source.asynchronous(), strict=False, timings=timings))


def by_events(source: Source, timings: StreamTimings) -> AccumulatedResponse:
    with ChatStream(iter(source), timings=timings) as stream:
        return stream.finalize(strict=False)


def by_async_events(source: Source, timings: StreamTimings) -> AccumulatedResponse:
    async def read() -> AccumulatedResponse:
        async with AsyncChatStream(source.asynchronous(), timings=timings) as stream:
            return await stream.finalize(strict=False)

    return asyncio.run(read())


each_way = pytest.mark.parametrize("read", [in_one_call, in_one_async_call, by_events, by_async_events])
ROLE = delta(role="assistant", content="")
USAGE = chat(usage={"prompt_tokens": 7, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 2}})


@each_way
def test_each_time_is_measured_once_and_where_it_belongs(read: Read) -> None:
    clock = Clock()
    pieces = [
        (0.5, ROLE),
        (1.0, b": ping\n\n"),
        (2.0, delta(content="a")),
        (2.5, delta(content="b")),
        (6.5, finish("stop") + USAGE),
    ]
    timings = StreamTimings(clock)
    response = read(Source(clock, pieces, 8.0), timings)
    assert response.text == "ab"
    assert (timings.time_to_first_chunk, timings.time_to_first_content, timings.total) == (0.5, 2.0, 8.0)
    assert timings.between_chunks == Gaps(count=4, mean=1.5, max=4.0, p95=4.0)
    assert timings.output_tokens_per_second(response.usage) == 30 / 6
    clock.now += 50
    assert timings.total == 8.0


@each_way
@pytest.mark.parametrize("fails", [False, True])
def test_a_stream_without_content_has_no_time_of_it(read: Read, fails: bool) -> None:
    clock = Clock()
    timings = StreamTimings(clock)
    response = read(Source(clock, [(0.5, ROLE)], 2.0, fails), timings)
    assert isinstance(response.gravest_error, Truncated)
    assert (timings.time_to_first_chunk, timings.time_to_first_content, timings.total) == (0.5, None, 2.0)
    assert (timings.between_chunks, timings.output_tokens_per_second(response.usage)) == (Gaps(), None)


def test_a_stream_that_gave_nothing_has_only_its_end() -> None:
    clock = Clock()
    timings = StreamTimings(clock)
    in_one_call(Source(clock, [], 2.0), timings)
    assert (timings.time_to_first_chunk, timings.time_to_first_content, timings.total) == (None, None, 2.0)


def test_a_stream_that_is_left_or_hits_a_limit_has_ended() -> None:
    for limits in (Limits(), Limits(message_bytes=1)):
        clock = Clock()
        timings = StreamTimings(clock)
        source = Source(clock, [(1.0, delta(content="abc" * 999)), (2.0, delta(content="b" * 999)), (3.0, finish("stop"))], 4.0)
        assert timings.total is None
        with ChatStream(iter(source), timings=timings, limits=limits) as stream:
            for _ in zip(range(2), stream, strict=False):
                pass
        assert timings.total == 1.0


def test_the_percentile_is_a_wait_that_was() -> None:
    clock = Clock()
    timings = StreamTimings(clock)
    timings.chunk()
    for gap in range(1, 101):
        clock.now += gap
        timings.chunk()
    assert timings.between_chunks == Gaps(100, 50.5, 100.0, 95.0)


def test_a_real_clock_is_the_default() -> None:
    timings = StreamTimings()
    accumulate([delta(content="a"), finish("stop")], timings=timings)
    assert timings.total is not None
    assert 0 <= (timings.time_to_first_chunk or -1) <= (timings.time_to_first_content or -1) <= timings.total


# ---- OpenTelemetry.


def test_a_response_has_the_names_of_opentelemetry() -> None:
    clock = Clock()
    timings = StreamTimings(clock)
    response = in_one_call(Source(clock, [(0.5, delta(content="a")), (1.0, finish("stop") + USAGE)], 2.0), timings)
    expected: dict[str, Any] = {
        "gen_ai.response.id": "x1",
        "gen_ai.response.model": "m1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 2,
    }
    assert response.otel_attributes() == expected
    assert response.otel_attributes(timings) == {**expected, "gen_ai.response.time_to_first_chunk": 0.5}


def test_what_is_not_known_has_no_name_and_an_error_has_its_kind() -> None:
    assert AccumulatedResponse().otel_attributes(StreamTimings(Clock())) == {}
    assert accumulate([delta(content="a")], strict=False).otel_attributes()["error.type"] == "Truncated"


def test_input_tokens_count_the_cached_ones() -> None:
    usage = TokenUsage(3, 4, cache_read_tokens=10, cache_write_tokens=5, reasoning_tokens=1, input_includes_cache=False)
    assert AccumulatedResponse(usage=usage).otel_attributes() == {
        "gen_ai.usage.input_tokens": 18,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 10,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 1,
    }


@pytest.mark.parametrize(
    ("reasoning", "total", "includes", "output"), [(20, 40, True, 30), (20, 60, False, 50), (20, 99, True, 30), (0, 40, True, 30)]
)
def test_output_tokens_count_reasoning_however_the_provider_counts_it(
    reasoning: int, total: int, includes: bool, output: int
) -> None:
    counts = {"prompt_tokens": 10, "completion_tokens": 30, "total_tokens": total}
    usage = {**counts, "completion_tokens_details": {"reasoning_tokens": reasoning}}
    found = accumulate([delta(content="a"), finish("stop"), sse({"id": "x1", "choices": [], "usage": usage})]).usage
    assert found is not None
    assert (found.output_includes_reasoning, found.output_total) == (includes, output)


def test_gemini_counts_thoughts_beside_the_output() -> None:
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 100}
    candidate = {"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}
    found = accumulate([sse({"candidates": [candidate], "usageMetadata": counts})], "gemini")
    attributes = found.otel_attributes()
    assert (attributes["gen_ai.usage.output_tokens"], attributes["gen_ai.usage.reasoning.output_tokens"]) == (105, 100)


def test_content_that_only_the_end_completes_is_timed_by_every_driver() -> None:
    wire = [delta(content="hi").rstrip(b"\n")]
    found = []
    readers: list[Callable[[StreamTimings], AccumulatedResponse]] = [
        lambda timings: ChatStream(wire, timings=timings).finalize(strict=False),
        lambda timings: accumulate(wire, timings=timings, strict=False),
    ]
    for read in readers:
        timings = StreamTimings(Clock())
        assert read(timings).text == "hi"
        found.append(timings.time_to_first_content)
    assert found == [0.0, 0.0]
