"""`tee` and `atee`: what passes is untouched whatever becomes of the copy, and the copy is what `accumulate` gives."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from streamaccumulator import StreamAccumulator, Truncated, UnknownProtocol, accumulate, atee, tee

from .wire import DONE, call, cuts, delta, finish

STREAM = delta(content="Hel") + call(0, "c", "f", '{"a": 1}') + delta(content="lo") + finish("tool_calls") + DONE
Pass = Callable[..., list[Any]]


def passed(source: Any, accumulator: StreamAccumulator, *options: Any, most: int = 10**9) -> list[Any]:
    found = []
    through = tee(source, accumulator, *options)
    for item in through:
        found.append(item)
        if len(found) == most:
            through.close()  # type: ignore[attr-defined]  # a generator, as every reader of one expects
            break
    return found


def passed_async(source: Any, accumulator: StreamAccumulator, *options: Any, most: int = 10**9) -> list[Any]:
    async def read() -> list[Any]:
        found = []
        through = atee(source, accumulator, *options)
        async for item in through:
            found.append(item)
            if len(found) == most:
                await through.aclose()  # type: ignore[attr-defined]  # as above
                break
        return found

    return asyncio.run(read())


both = pytest.mark.parametrize("through", [passed, passed_async])


class Source:
    """Pieces, and perhaps a failure; counts how often it was closed."""

    def __init__(self, pieces: list[Any], failure: Exception | None = None) -> None:
        self.pieces = iter(pieces)
        self.failure = failure
        self.closed = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        for piece in self.pieces:
            return piece
        if self.failure is not None:
            raise self.failure
        raise StopIteration

    def close(self) -> None:
        self.closed += 1


class AsyncSource(Source):
    """The same for `async for`."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None


@both
@pytest.mark.parametrize("kind", [Source, AsyncSource])
def test_the_bytes_are_untouched_and_the_copy_is_the_response(through: Pass, kind: Any) -> None:
    if through is passed and kind is AsyncSource:
        kind = Source
    pieces = list(cuts(STREAM, 7))
    accumulator = StreamAccumulator()
    assert through(kind(pieces), accumulator) == pieces
    assert accumulator.finalize() == accumulate(STREAM)


@both
def test_leaving_early_closes_the_source_and_gives_the_partial_response(through: Pass) -> None:
    source, accumulator = Source([delta(content="Hel"), delta(content="lo"), finish("stop")]), StreamAccumulator()
    assert len(through(source, accumulator, most=2)) == 2
    assert source.closed >= 1
    with pytest.raises(Truncated) as caught:
        accumulator.finalize()
    assert caught.value.reason == "cancelled"
    assert caught.value.response is not None
    assert caught.value.response.text == "Hello"


@both
def test_an_error_of_the_source_is_raised_and_told(through: Pass) -> None:
    accumulator = StreamAccumulator()
    with pytest.raises(ConnectionResetError):
        through(Source([delta(content="Hel")], ConnectionResetError("gone")), accumulator)
    response = accumulator.finalize(strict=False)
    assert (response.text, response.errors[0]) == ("Hel", Truncated("transport", "ConnectionResetError: gone"))


@both
def test_whatever_goes_wrong_in_the_copy_the_items_go_on(through: Pass) -> None:
    foreign = [b"<html>", b"\xff" * 9, 42, None, STREAM]
    assert through(Source(list(foreign)), StreamAccumulator()) == foreign
    finished = StreamAccumulator()
    finished.finalize()
    assert through(Source([STREAM, STREAM]), finished) == [STREAM, STREAM]
    bad = call(0, "c", "f", "{]") + finish("tool_calls")
    assert through(Source([bad, STREAM]), StreamAccumulator(fail_fast=True)) == [bad, STREAM]


def test_an_item_is_handed_on_before_the_copy_is_looked_at() -> None:
    accumulator = StreamAccumulator()
    through = tee(Source([delta(content="Hel"), finish("stop")]), accumulator)
    next(through)
    assert accumulator.snapshot().text == ""
    next(through)
    assert accumulator.snapshot().text == "Hel"


def test_what_cannot_be_read_is_told_at_the_call() -> None:
    with pytest.raises(TypeError):
        tee(42, StreamAccumulator())
    with pytest.raises(UnknownProtocol):
        atee([], StreamAccumulator(), "nova")
