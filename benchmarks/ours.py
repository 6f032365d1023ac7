"""The tables of this library alone, as lines of Markdown."""

import statistics
from collections.abc import Iterator

from . import contenders as c
from . import resources
from . import wires as w
from .measuring import exponent, ratios, seconds

FLOORS: dict[str, c.Contender] = {
    "openai-chat": c.chat_floor,
    "openai-responses": c.responses_floor,
    "anthropic-messages": c.claude_floor,
    "gemini": c.gemini_floor,
}
READS = {0: "one event each", 16384: "16 KiB"}
BOUNDS = {
    ("response", 0): 1.6,
    ("response", 16384): 1.4,
    ("events", 16384): 1.4,
}
"""What we want to hold, by what is made and the reads."""


def shapes(protocol: str) -> Iterator[tuple[str, list[bytes]]]:
    """The streams that are measured."""
    yield "text, 2,000 deltas", w.TEXTS[protocol](2000)
    for size, width in ((10_000, 4), (100_000, 4), (100_000, 20), (1_000_000, 20)):
        yield f"one call of {size // 1000} KB by {width}", w.CALLS[protocol](size, width)
    if protocol == "gemini":
        yield "one call of 100 KB, whole", w.gemini_whole_call(100_000)


def ratio_table(rounds: int) -> Iterator[str]:
    """Every protocol and shape against its floor."""
    yield "| stream | shape | reads | bytes to events | bytes to response | dicts to response |"
    yield "|---|---|---|---:|---:|---:|"
    for protocol, floor in FLOORS.items():
        for shape, frames in shapes(protocol):
            for size, label in READS.items():
                reads = w.reads(frames, size)
                wanted = floor(reads)
                ours = {
                    "events": c.events_of(protocol, wanted),
                    "response": c.response_of(protocol),
                }
                found = ratios(floor, ours, reads, rounds if len(frames) < 20_000 else 3)
                dicts = "-"
                if size == 0:
                    dicts = ratios(floor, {"dicts": c.dicts_of(protocol, frames)}, reads, 3)["dicts"]
                cells = [_marked(found[made], (made, size)) for made in ours]
                yield f"| {protocol} | {shape} | {label} | {' | '.join(cells)} | {dicts} |"
    yield ""
    yield "A whole call is decoded, written as the text of its event, and parsed at the end; the floor decodes it once."


def _marked(ratio: str, what: tuple[str, int]) -> str:
    """A ratio, with a mark where it is beyond what we want to hold."""
    bound = BOUNDS.get(what)
    return ratio if bound is None or ratio == "wrong" or float(ratio) <= bound else f"{ratio} (over {bound})"


def interleaved(rounds: int) -> Iterator[str]:
    """Eight calls in turns beside one of the same bytes, a delta each."""
    for size, label in READS.items():
        one, eight = w.reads(w.chat_call(80_000, 20), size), w.reads(w.chat_calls(10_000, 20), size)
        run = c.response_of("openai-chat")
        spent = [(seconds(run, eight) / len(eight)) / (seconds(run, one) / len(one)) for _ in range(rounds)]
        yield f"* 8 interleaved calls, {label}: {statistics.median(spent):.2f} times one call, a read"


def growth(rounds: int) -> Iterator[str]:
    """How time grows with the size of one call's arguments."""
    for protocol, make in w.CALLS.items():
        run = c.response_of(protocol)
        times = {}
        for size in (10_000, 100_000, 1_000_000):
            reads = w.reads(make(size, 20), 16384)
            times[size] = statistics.median([seconds(run, reads) for _ in range(rounds)])
        yield f"* {protocol}: exponent from 10 KB to 1 MB of arguments {exponent(times):.2f}"


def presence(rounds: int) -> Iterator[str]:
    """Memory of live streams, and the import."""
    live = resources.bytes_a_stream()
    yield f"* a live accumulator after {resources.DELTAS} deltas (2 KB of text), of {resources.LIVE:,}: {live / 1024:.1f} KB"
    theirs, ours, times = resources.import_ratio(max(rounds, 15))
    yield f"* `import streamaccumulator`: {times:.2f} times `import msgspec` ({ours:.0f} ms and {theirs:.0f} ms here)"
