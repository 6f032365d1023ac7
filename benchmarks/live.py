"""Looking at a call's arguments after every delta: ours, and jiter, which reads all of them again each time."""

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator

import jiter

from streamaccumulator import StreamAccumulator, ToolCallArgumentDelta, ToolCallStart

from . import wires as w

SIZES = (1_000, 10_000, 100_000, 1_000_000)
WIDTH = 20
"""Characters of a delta."""
REREAD = 100_000
"""Bytes up to which each is measured in every round; above, once, as reading everything again takes its time."""
REREADABLE = ("one long string",)
"""Where reading everything again can be waited for at 1 MB: of many members it takes minutes."""

Look = Callable[[list[str]], object]


def by_growth(deltas: list[str]) -> object:
    """What came since last asked: the cheap view."""
    accumulator = StreamAccumulator()
    accumulator.observe(ToolCallStart("c1", "f"))
    view = accumulator.tool_call("c1")
    grown = 0
    for delta in deltas:
        accumulator.observe(ToolCallArgumentDelta("c1", delta))
        grown += len(view.growth())
    return view.arguments


def by_value(deltas: list[str]) -> object:
    """The whole value so far, a copy each time."""
    accumulator = StreamAccumulator()
    accumulator.observe(ToolCallStart("c1", "f"))
    view = accumulator.tool_call("c1")
    value: object = None
    for delta in deltas:
        accumulator.observe(ToolCallArgumentDelta("c1", delta))
        value = view.arguments
    return value


def by_jiter(deltas: list[str]) -> object:
    """All of it again each time."""
    raw = bytearray()
    value: object = None
    for delta in deltas:
        raw += delta.encode()
        value = jiter.from_json(bytes(raw), partial_mode="trailing-strings")
    return value


LOOKS: dict[str, Look] = {"growth()": by_growth, "arguments": by_value, "jiter, read again": by_jiter}
DOCUMENTS: dict[str, Callable[[int], str]] = {
    "one long string": w.arguments,
    "many small members": lambda size: json.dumps([{"id": at, "name": f"row {at}", "ok": True} for at in range(size // 40)]),
}


def microseconds(look: Look, deltas: list[str], rounds: int) -> float:
    """Of CPU time for one delta, the median over the rounds."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        look(deltas)
        spent.append(time.process_time() - start)
    return statistics.median(spent) / len(deltas) * 1e6


def table(rounds: int) -> Iterator[str]:
    """Microseconds a delta, and how all the time together grows from 10 KB to the largest; 1.0 is linear."""
    heads = " | ".join([f"{size // 1000} KB" for size in SIZES])
    yield f"| microseconds a delta | {heads} | exponent |"
    yield f"|---|{'---:|' * len(SIZES)}---:|"
    for name, document in DOCUMENTS.items():
        texts = {size: list(w.pieces(document(size), WIDTH)) for size in SIZES}
        for how, look in LOOKS.items():
            assert look(texts[SIZES[0]]) == json.loads("".join(texts[SIZES[0]])), how
            sizes = SIZES if look is not by_jiter or name in REREADABLE else SIZES[:-1]
            spent = {size: microseconds(look, texts[size], rounds if size <= REREAD else 1) for size in sizes}
            least, most = SIZES[1], sizes[-1]
            whole = {size: spent[size] * len(texts[size]) for size in (least, most)}
            exponent = math.log(whole[most] / whole[least]) / math.log(len(texts[most]) / len(texts[least]))
            cells = " | ".join([f"{spent[size]:.2f}" if size in spent else "-" for size in SIZES])
            yield f"| {name}, {how} | {cells} | {exponent:.2f} |"
