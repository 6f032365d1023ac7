"""Known faults of other libraries: a source that is left early, cancelled or fails is closed, once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from streamaccumulator import AsyncChatStream, ChatStream, ReasoningDelta, TextDelta, Truncated, aaccumulate

from ..wire import delta, finish

PIECES = [delta(content="a"), delta(content="b"), finish("stop")]


class Source:
    """An async source that counts how often it is closed; it may fail, or wait for ever, after its pieces."""

    def __init__(self, pieces: list[bytes], failure: Exception | None = None, stalls: bool = False) -> None:
        self.pieces = list(pieces)
        self.failure = failure
        self.stalls = stalls
        self.waiting = asyncio.Event()
        self.closed = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        if self.failure is not None:
            raise self.failure
        if self.stalls:
            self.waiting.set()
            await asyncio.Event().wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


class Blocking:
    """The same without waiting."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = list(pieces)
        self.closed = 0

    def __iter__(self) -> "Blocking":
        return self

    def __next__(self) -> bytes:
        if not self.pieces:
            raise StopIteration
        return self.pieces.pop(0)

    def close(self) -> None:
        self.closed += 1


def test_b159_break_closes_once() -> None:
    async def leave() -> None:
        source = Source(PIECES)
        async with AsyncChatStream(source, "openai-chat") as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
            assert source.closed == 0
        assert (source.closed, len(source.pieces), stream.snapshot().text) == (1, 2, "a")

    asyncio.run(leave())
    blocking = Blocking(PIECES)
    with ChatStream(blocking, "openai-chat") as stream:
        next(stream)
    assert (blocking.closed, len(blocking.pieces)) == (1, 2)


def test_b159_closing_by_hand_again_and_again_closes_once() -> None:
    async def leave() -> None:
        source = Source(PIECES)
        stream = AsyncChatStream(source, "openai-chat")
        await anext(stream)
        for _ in range(3):
            await stream.aclose()
        assert source.closed == 1
        assert [event async for event in stream] == []

    asyncio.run(leave())
    blocking = Blocking(PIECES)
    stream = ChatStream(blocking, "openai-chat")
    next(stream)
    for _ in range(3):
        stream.close()
    assert blocking.closed == 1


def test_b159_reading_to_the_end_closes_once() -> None:
    async def drain() -> int:
        source = Source(PIECES)
        async with AsyncChatStream(source, "openai-chat") as stream:
            assert (await stream.finalize()).text == "ab"
        return source.closed

    assert asyncio.run(drain()) == 1


def test_b159_cancellation_closes_once() -> None:
    async def read(source: Source) -> None:
        async with AsyncChatStream(source, "openai-chat") as stream:
            async for _ in stream:
                pass

    async def cancel(one_call: bool) -> int:
        source = Source(PIECES[:1], stalls=True)
        task = asyncio.ensure_future(aaccumulate(source, "openai-chat") if one_call else read(source))
        await source.waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return source.closed

    assert [asyncio.run(cancel(one_call)) for one_call in (False, True)] == [1, 1]


def test_b159_failures_close_once() -> None:
    async def read(source: Source, in_the_loop: bool) -> None:
        async with AsyncChatStream(source, "openai-chat") as stream:
            async for _ in stream:
                if in_the_loop:
                    raise RuntimeError
            await stream.finalize()

    async def fail(in_the_loop: bool) -> int:
        source = Source(PIECES[:1], failure=None if in_the_loop else ConnectionResetError())
        with pytest.raises(RuntimeError if in_the_loop else Truncated):
            await read(source, in_the_loop)
        return source.closed

    assert [asyncio.run(fail(in_the_loop)) for in_the_loop in (True, False)] == [1, 1]


def test_b160_leaving_inside_reasoning_runs_the_clean_up_of_the_source() -> None:
    ran: list[str] = []

    async def source() -> AsyncGenerator[bytes, None]:
        try:
            yield delta(reasoning_content="hm")
            yield delta(reasoning_content="hm")
        except GeneratorExit:
            ran.append("told")
            raise
        finally:
            ran.append("closed")

    async def leave() -> str:
        stream = AsyncChatStream(source(), "openai-chat")
        async for event in stream:
            if isinstance(event, ReasoningDelta):
                break
        await stream.aclose()
        return (await stream.finalize(strict=False)).reasoning

    assert (asyncio.run(leave()), ran) == ("hm", ["told", "closed"])


def test_b166_a_cancelled_stream_gives_its_partial_state_at_once() -> None:
    async def cancel() -> None:
        source = Source(PIECES[:1], stalls=True)
        stream = AsyncChatStream(source, "openai-chat")
        task = asyncio.ensure_future(stream.finalize())
        await source.waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream.aclose()
        response = await stream.finalize(strict=False)
        assert (response.text, response.usage, response.complete) == ("a", None, False)
        with pytest.raises(Truncated):
            await stream.finalize()

    asyncio.run(cancel())
