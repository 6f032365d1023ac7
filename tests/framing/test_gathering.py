"""Small reads that are read together: nobody who waits for the end sees it, and whoever watches sees each as it comes."""

from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks import wires

from streamaccumulator import (
    AccumulatedResponse,
    LimitExceeded,
    Limits,
    StreamDecoder,
    StreamTimings,
    Truncated,
    accumulate,
    accumulate_choices,
)
from streamaccumulator.framing.gathering import TOGETHER, Gathering

from ..wire import cuts

FRAMES = wires.responses_text(400)
PROTOCOL = "openai-responses"


def test_pieces_are_joined_up_to_a_bound() -> None:
    read: list[bytes] = []
    gathering = Gathering(read.append)
    for _ in range(3):
        gathering.feed(b"x" * (TOGETHER // 2))
    assert read == [b"x" * TOGETHER]
    gathering.catch_up()
    gathering.catch_up()
    assert read == [b"x" * TOGETHER, b"x" * (TOGETHER // 2)]


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is read at a time."""
    from streamaccumulator.framing.sse import SSEFramer

    sizes: list[int] = []
    feed = SSEFramer.feed

    def see(self: Any, data: bytes) -> None:
        sizes.append(len(data))
        feed(self, data)

    monkeypatch.setattr(SSEFramer, "feed", see)
    return sizes


def test_whoever_waits_for_the_end_has_many_read_together(fed: list[int]) -> None:
    whole = accumulate(b"".join(FRAMES), PROTOCOL)
    for protocol in (PROTOCOL, "auto"):
        fed.clear()
        assert accumulate(FRAMES, protocol) == whole
        assert len(fed) < 10
    fed.clear()
    assert accumulate_choices(FRAMES, PROTOCOL) == {0: whole}
    assert len(fed) < 10


@pytest.mark.parametrize("watching", [{"fail_fast": True}, {"on_tool_call": print}, {"timings": True}])
def test_whoever_watches_has_each_read_as_it_comes(watching: dict[str, Any], fed: list[int]) -> None:
    if "timings" in watching:
        watching = {"timings": StreamTimings()}
    accumulate(FRAMES, PROTOCOL, **watching)
    assert len(fed) == len(FRAMES)


def test_other_pieces_come_in_their_place() -> None:
    def mixed() -> Iterator[Any]:
        for at, frame in enumerate(FRAMES):
            yield (frame, bytearray(frame), memoryview(frame), frame.decode())[at % 4]

    assert accumulate(mixed(), PROTOCOL) == accumulate(FRAMES, PROTOCOL)


def test_a_source_that_breaks_loses_nothing_that_came_before() -> None:
    def broken() -> Iterator[bytes]:
        yield from FRAMES[:100]
        raise ConnectionResetError("gone")

    with pytest.raises(Truncated) as caught:
        accumulate(broken(), PROTOCOL)
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert caught.value.response is not None
    assert caught.value.response.text == accumulate(FRAMES[:100], PROTOCOL, strict=False).text


def test_a_source_that_breaks_after_a_limit_is_no_news() -> None:
    def broken() -> Iterator[bytes]:
        yield from FRAMES[:100]
        raise ConnectionResetError("gone")

    with pytest.raises(LimitExceeded) as caught:
        accumulate(broken(), PROTOCOL, limits=Limits(message_bytes=20))
    assert caught.value.__cause__ is None
    assert caught.value.response is not None
    assert [type(error) for error in caught.value.response.errors] == [LimitExceeded]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("end", [None, -1, -30, 2000])
def test_cut_anywhere_it_is_the_same(size: int, end: int | None) -> None:
    data = b"".join(FRAMES[:60])[:end]

    def one(pieces: Any) -> AccumulatedResponse:
        return accumulate(pieces, PROTOCOL, strict=False)

    assert one(cuts(data, size)) == one(data) == one([data])


def test_a_decoder_reads_what_waits_when_it_is_closed() -> None:
    found = []
    for unhurried in (True, False):
        decoder = StreamDecoder(PROTOCOL)
        decoder.unhurried = unhurried
        early = [event for frame in FRAMES[:9] for event in decoder.feed(frame)]
        found.append((early, [*early, *decoder.close()]))
    (early, all_of_them), (each, the_same) = found
    assert len(early) < len(each)
    assert all_of_them == the_same
