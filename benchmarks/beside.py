"""Other libraries beside this one: ratios, growth with the size of one call's arguments, and a plot of it."""

import time
from collections.abc import Iterator
from pathlib import Path

from . import contenders as c
from . import wires as w
from .measuring import exponent, machine
from .ours import FLOORS
from .peers import installed

SIZES = (1_000, 10_000, 100_000, 1_000_000)
WIDTH = 20
PATIENCE = 120.0
"""Seconds after which a larger size is not tried."""
OURS = "streamaccumulator"


def _spent(contender: c.Contender, reads: list[bytes], wanted: c.Answer) -> float | None:
    """Seconds of CPU time, the best of what can be waited for; None for a wrong answer."""
    best = float("inf")
    until = time.perf_counter() + 2.0
    while True:
        start = time.process_time()
        if contender(reads) != wanted:
            return None
        best = min(best, time.process_time() - start)
        if time.perf_counter() > until:
            return best


def tables(docs: Path | None) -> Iterator[str]:
    """All that is measured; with a folder also the plot."""
    yield "# Benchmarks beside other libraries"
    yield ""
    yield "CPU time from the same bytes to the finished message, reads of 16 KiB, the best of several runs, as ratios to the"
    yield "floor of [benchmarks.md](benchmarks.md); `make bench-peers` writes this. `wrong`: not the message that was sent; `-`: it"
    yield "would have taken too long. The arguments of a call are one long text, as of a file being written; in the last column"
    yield "rows of small values. Most libraries do other things as well: a client, models for every chunk, tracing, a whole run."
    yield ""
    yield machine()
    yield ""
    heads = " | ".join([f"call of {size // 1000} KB" for size in SIZES])
    yield f"| library | version | stream | text, 2,000 deltas | {heads} | {SIZES[-1] // 1000} KB of rows | exponent from 10 KB |"
    yield f"|---|---|---|---:|{'---:|' * len(SIZES)}---:|---:|"
    curves: dict[str, dict[int, float]] = {}
    whole = [(OURS, "", protocol, c.response_of(protocol)) for protocol in ("openai-chat", "anthropic-messages")]
    for name, version, protocol, contender in [*whole, *installed()]:
        floor = FLOORS[protocol]
        cells = [_ratio(contender, floor, w.reads(w.TEXTS[protocol](2000), 16384))[0]]
        times: dict[int, float] = {}
        for size in SIZES:
            if len(times) > 1 and _next(times) > PATIENCE:
                cells.append("-")
                continue
            cell, spent = _ratio(contender, floor, w.reads(w.CALLS[protocol](size, WIDTH), 16384))
            cells.append(cell)
            if spent is not None:
                times[size] = spent
        curves[f"{name}, {protocol}" if name == OURS else name] = times
        rows = w.reads(w.ROWS[protocol](SIZES[-1], WIDTH), 16384)
        cells.append(_ratio(contender, floor, rows)[0] if SIZES[-1] in times else "-")
        tail = {size: spent for size, spent in times.items() if size >= SIZES[1]}
        grown = f"{exponent(tail):.2f}" if len(tail) > 1 else "-"
        yield f"| {name} | {version} | {protocol} | {' | '.join(cells)} | {grown} |"
    if docs is not None:
        plot(curves, docs / "benchmarks.svg")
        yield ""
        yield f"![time against the size of one call's arguments, {WIDTH} characters a delta](benchmarks.svg)"


def _next(times: dict[int, float]) -> float:
    """Seconds that the next size may take, if it grows as it did."""
    *_, before, last = times.values()
    return last * max(10.0, last / before)


def _ratio(contender: c.Contender, floor: c.Contender, reads: list[bytes]) -> tuple[str, float | None]:
    wanted = floor(reads)
    base, spent = _spent(floor, reads, wanted), _spent(contender, reads, wanted)
    if spent is None or not base:
        return "wrong", None
    times = spent / base
    return (f"{times:.2f}" if times < 10 else f"{times:.0f}"), spent


def plot(curves: dict[str, dict[int, float]], file: Path) -> None:
    """Seconds against bytes, both in powers of ten."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "benchmarks"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5.5))
    for name, times in curves.items():
        if times:
            ours = name.startswith(OURS)
            axes.loglog(list(times), list(times.values()), marker="o", label=name, linewidth=3 if ours else 1.2)
    axes.set_xlabel("bytes of one call's arguments")
    axes.set_ylabel("seconds of CPU time, bytes to message")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
