"""AWS event streams: frames, checksums, exceptions, and what is said where botocore is not installed."""

import sys
from typing import Any

import pytest

from streamaccumulator import LimitHit, Limits, MalformedChunk, ProviderError, StreamError, Unreadable, accumulate
from streamaccumulator.framing.aws_event_stream import AWSEventStreamFramer

from ..wire import aws_frame, cuts

DELTA = aws_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}})
STOP = aws_frame("messageStop", {"stopReason": "end_turn"})


def framed(data: bytes, size: int = 0, limits: Limits = Limits()) -> list[Any]:
    found: list[Any] = []
    framer = AWSEventStreamFramer(lambda payload, event, offset: found.append((event, offset)), found.append, limits)
    for piece in cuts(data, size) if size else [data]:
        framer.feed(piece)
    framer.close()
    return found


def spoiled(frame: bytes, at: int) -> bytes:
    return frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]


@pytest.mark.parametrize("size", [0, 1, 5, 100])
def test_frames_by_their_event_type(size: int) -> None:
    assert framed(DELTA + STOP, size) == [("contentBlockDelta", 0), ("messageStop", len(DELTA))]


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_frame_that_fails_its_checksum_loses_only_itself(size: int) -> None:
    found = framed(DELTA + spoiled(DELTA, -8) + STOP, size)
    assert [item for item in found if isinstance(item, tuple)] == [("contentBlockDelta", 0), ("messageStop", 2 * len(DELTA))]
    (lost,) = [item for item in found if isinstance(item, Unreadable)]
    assert (lost.offset, "hecksum" in lost.reason) == (len(DELTA), True)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_length_that_cannot_be_trusted_loses_the_rest(size: int) -> None:
    found = framed(DELTA + spoiled(STOP, 2) + STOP, size)
    assert found[0] == ("contentBlockDelta", 0)
    assert isinstance(found[1], Unreadable)
    assert (len(found), found[1].offset) == (2, len(DELTA))


@pytest.mark.parametrize("size", [0, 1])
def test_an_exception_is_the_providers_error(size: int) -> None:
    found = framed(DELTA + aws_frame("throttlingException", {"message": "slow down"}, exception=True), size)
    assert found[1] == StreamError("throttlingException", "slow down", {"message": "slow down"})
    with pytest.raises(ProviderError, match="throttlingException: slow down") as caught:
        accumulate(DELTA + aws_frame("throttlingException", {"message": "slow down"}, exception=True))
    assert caught.value.response is not None
    assert caught.value.response.text == "Hi"
    with pytest.raises(ProviderError):  # before anything else came
        accumulate(aws_frame("throttlingException", {"message": "slow down"}, exception=True))


@pytest.mark.parametrize("size", [0, 1, 20])
def test_a_frame_over_the_limit_ends_all(size: int) -> None:
    assert framed(DELTA + STOP, size, Limits(frame_bytes=99)) == [LimitHit("frame_bytes", 100)]


def test_many_frames_in_one_piece_cost_the_same_each() -> None:
    assert len(framed(DELTA * 5000)) == 5000  # botocore's own buffer would copy what is left for each


def test_without_botocore_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.eventstream", None)
    with pytest.raises(MalformedChunk, match="extra `aws`"):
        accumulate(DELTA + STOP)
