"""Known faults of other libraries: copies, parses and joins that grow with the square. Counted, never timed."""

import tracemalloc
from typing import Any

from streamaccumulator import ReasoningDelta, StreamAccumulator, TextDelta, accumulate

from ..wire import call, finish


def test_b146_arguments_are_parsed_once_however_many_pieces_they_come_in() -> None:
    raw = '{"text":"' + "x" * 100_000 + '"}'
    pieces = [call(0, arguments=raw[at : at + 20]) for at in range(0, len(raw), 20)]
    parsed: list[str] = []

    def parse(text: str) -> Any:
        parsed.append(text)
        return len(text)

    response = accumulate([call(0, "c1", "f", ""), *pieces, finish("tool_calls")], parse_arguments=parse)
    assert parsed == [raw]
    assert response.tool_calls[0].arguments == len(raw)


def test_b147_memory_is_the_text_and_little_more() -> None:
    accumulator = StreamAccumulator()
    count, piece = 200_000, "ab cd"
    tracemalloc.start()
    try:
        for _ in range(count):
            accumulator.observe(ReasoningDelta(piece, 1))
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = count * len(piece)
    assert held < 1.5 * size
    assert peak < 2 * size
    assert accumulator.snapshot().reasoning == piece * count


def test_b148_half_a_million_pieces_read_on_the_way() -> None:
    accumulator = StreamAccumulator()
    letters = "0123456789"
    for at in range(500_000):
        accumulator.observe(TextDelta(letters[at % 10]))
        if at % 1000 == 999:
            assert len(accumulator.snapshot().text) == at + 1
    assert accumulator.snapshot().text == letters * 50_000
