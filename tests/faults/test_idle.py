"""Known faults of other libraries: silence. Time is a clock that the source turns; no test waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from streamaccumulator import AsyncChatStream, Truncated, aaccumulate

from ..wire import delta, finish

LIMIT = 100.0
"""Seconds of silence that are allowed."""


class Slow:
    """An async source that lets `seconds` pass before each piece, and for ever after the last if it `stalls`."""

    def __init__(self, pieces: list[bytes], seconds: float, stalls: bool = False) -> None:
        self.pieces = list(pieces)
        self.seconds = seconds
        self.stalls = stalls
        self.closed = 0
        self.passed = 0.0
        loop = asyncio.get_running_loop()
        real = loop.time
        loop.time = lambda: real() + self.passed  # type: ignore[method-assign]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.pieces:
            self.passed += self.seconds
            await asyncio.sleep(0)
            return self.pieces.pop(0)
        if self.stalls:
            self.passed += 10 * LIMIT
            await asyncio.Event().wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


async def in_one_call(source: Slow) -> None:
    await aaccumulate(source, "openai-chat", idle_timeout=LIMIT)


async def by_its_events(source: Slow) -> None:
    async with AsyncChatStream(source, "openai-chat", idle_timeout=LIMIT) as stream:
        await stream.finalize()


@pytest.mark.parametrize("read", [in_one_call, by_its_events])
def test_b161_a_stall_ends_as_truncated_with_what_came_and_closes(read: Callable[[Slow], Coroutine[Any, Any, None]]) -> None:
    async def stall() -> bool:
        source = Slow([delta(content="a")], 1, stalls=True)
        with pytest.raises(Truncated) as caught:
            await read(source)
        assert caught.value.reason == "idle_timeout"
        assert isinstance(caught.value.__cause__, TimeoutError)
        assert caught.value.response is not None
        assert caught.value.response.text == "a"
        return source.closed > 0

    assert asyncio.run(stall())


def test_b159_a_source_is_closed_once_also_with_a_limit() -> None:
    async def leave(limit: float | None, stalls: bool, early: bool) -> int:
        source = Slow([delta(content="a"), finish("stop")], 1, stalls=stalls)
        async with AsyncChatStream(source, "openai-chat", idle_timeout=limit) as stream:
            async for _ in stream:
                if early:
                    break
        return source.closed

    for limit, stalls in ((None, False), (LIMIT, False), (LIMIT, True)):
        for early in (True, False):
            assert asyncio.run(leave(limit, stalls, early)) == 1


def test_b125_comments_are_signs_of_life() -> None:
    async def prefill() -> str:
        pieces = [b": OPENROUTER PROCESSING\n\n", b":\n\n", b": ping\n\n", delta(content="a"), finish("stop")]
        source = Slow(pieces, 0.6 * LIMIT)
        response = await aaccumulate(source, "openai-chat", idle_timeout=LIMIT)
        assert source.passed > 2 * LIMIT
        return response.text

    assert asyncio.run(prefill()) == "a"
