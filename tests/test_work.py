"""Work grows with the bytes and not faster: calls and bytes are counted, as no clock of a busy machine can be trusted."""

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from benchmarks import wires

from streamaccumulator import ChatStream, StreamAccumulator, StreamDecoder, accumulate
from streamaccumulator.protocols import names, protocol_named
from streamaccumulator.protocols.decoder import Decoder

from .wire import call

TEXTS = wires.TEXTS
CALLS = wires.CALLS
FEW, MANY = 300, 3000
MOST_TIMES = MANY / FEW * 1.02
"""What ten times as much may cost: what a stream costs once counts for little."""


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called."""
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def streams(protocol: str, deltas: int) -> list[list[bytes]]:
    return [TEXTS[protocol](deltas), CALLS[protocol](deltas * 20, 20)]


def read(protocol: str, frames: list[bytes], size: int) -> Callable[[], object]:
    reads = wires.reads(frames, size)
    return lambda: accumulate(reads, protocol)


@pytest.mark.parametrize("protocol", TEXTS)
@pytest.mark.parametrize("size", [0, 16384, 100])
def test_calls_grow_with_the_deltas(protocol: str, size: int) -> None:
    accumulate(TEXTS[protocol](3), protocol)  # what is imported at the first use is not counted
    for few, many in zip(streams(protocol, FEW), streams(protocol, MANY), strict=True):
        assert calls_of(read(protocol, many, size)) <= calls_of(read(protocol, few, size)) * MOST_TIMES


@pytest.mark.parametrize("protocol", TEXTS)
@pytest.mark.parametrize("size", [0, 16384, 1_000_000])
def test_no_byte_is_decoded_often(protocol: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = 0

    class Counting:
        """A msgspec decoder that counts what it is given."""

        def __init__(self, decoder: Any) -> None:
            self._decoder = decoder

        def decode(self, data: bytes) -> Any:
            nonlocal decoded
            decoded += len(data)
            return self._decoder.decode(data)

        def decode_lines(self, data: bytes) -> Any:
            nonlocal decoded
            decoded += len(data)
            return self._decoder.decode_lines(data)

    kind: Any = protocol_named(protocol).decoder
    monkeypatch.setattr(kind, "_typed", Counting(kind._typed))
    if kind._typed_plain is not None:
        monkeypatch.setattr(kind, "_typed_plain", Counting(kind._typed_plain))
    for frames in streams(protocol, MANY):
        decoded = 0
        accumulate(wires.reads(frames, size), protocol)
        assert decoded <= 1.5 * sum(map(len, frames))


def test_looking_at_growth_after_every_event_costs_what_is_new() -> None:
    def look(frames: list[bytes]) -> Callable[[], object]:
        def run() -> None:
            with ChatStream(frames, "openai-chat") as stream:
                for event in stream:
                    if type(event).__name__ == "ToolCallArgumentDelta":
                        stream.tool_call("call_1").growth()

        return run

    few, many = (look(wires.chat_call(deltas * 20, 20)) for deltas in (FEW, MANY))
    few()
    assert calls_of(many) <= calls_of(few) * MOST_TIMES


def test_eight_calls_in_turns_cost_what_one_does() -> None:
    one, eight = (read("openai-chat", frames, 0) for frames in (wires.chat_call(8 * 20 * FEW, 20), wires.chat_calls(20 * FEW, 20)))
    one()
    assert calls_of(eight) <= calls_of(one) * 1.2


def test_a_snapshot_costs_no_more_calls_for_a_longer_text() -> None:
    found = []
    for deltas in (FEW, MANY):
        accumulator = StreamAccumulator()
        with ChatStream(wires.chat_text(deltas), "openai-chat") as stream:
            for event in stream:
                accumulator.observe(event)
        found.append(calls_of(accumulator.snapshot))
    assert found[1] <= found[0]


def test_every_protocol_that_is_measured_is_one_of_ours() -> None:
    assert set(TEXTS) <= set(names())
    assert all(issubclass(protocol_named(name).decoder, Decoder) for name in TEXTS)  # type: ignore[arg-type]  # a class, all of ours


def test_many_calls_cost_no_more_each() -> None:
    def some(count: int) -> Callable[[], object]:
        frames = [frame for at in range(count) for frame in (call(at, f"c{at}", "f", "{"), call(at, arguments='"a"'))]

        def feed() -> None:
            decoder = StreamDecoder("openai-chat")
            for frame in frames:
                decoder.feed(frame)

        return feed

    some(3)()
    assert calls_of(some(2000)) <= calls_of(some(200)) * MOST_TIMES


@pytest.mark.parametrize("size", [0, 16384])
def test_numbers_that_say_nothing_cost_nothing(size: int) -> None:
    frames = TEXTS["openai-responses"](MANY)
    zeros = [re.sub(rb'"sequence_number":\d+', b'"sequence_number":0', frame) for frame in frames]
    numbered, unnumbered = read("openai-responses", frames, size), read("openai-responses", zeros, size)
    assert numbered() == unnumbered()  # and what is compiled at the first use is not counted
    assert calls_of(unnumbered) <= calls_of(numbered)


@pytest.mark.parametrize("protocol", TEXTS)
def test_a_read_of_frames_that_are_alike_is_looked_at_once(protocol: str) -> None:
    accumulate(TEXTS[protocol](FEW), protocol)  # what is imported at the first use is not counted
    decoder = StreamDecoder(protocol)
    first, *reads = wires.reads(TEXTS[protocol](MANY), 16384)
    decoder.feed(first)
    spent = [calls_of(partial(decoder.feed, one)) for one in reads[:-3]]  # the last ones hold the end
    assert max(spent) < 100  # of fifty frames and more
