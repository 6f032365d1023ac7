"""What it costs to be there: memory of many live accumulators, and the time of the import."""

import resource
import statistics
import subprocess
import sys
import tracemalloc

from streamaccumulator import StreamAccumulator, TextDelta

LIVE = 10_000
DELTAS = 500


def bytes_a_stream() -> float:
    """Bytes that each of LIVE accumulators holds after DELTAS deltas of four letters: 2 KB of text."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    live = [StreamAccumulator() for _ in range(LIVE)]
    for at in range(DELTAS):
        for accumulator in live:
            accumulator.observe(TextDelta(f"w{at:03}"))  # a string of its own for each
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / len(live)


def _import_seconds(statement: str) -> float:
    """The user and system time of a process that runs one statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-I", "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_ratio(rounds: int) -> tuple[float, float, float]:
    """Medians, less what an empty process takes: milliseconds of `import msgspec`, of ours, and ours by msgspec's."""
    empty, msgspec, ours = [], [], []
    for _ in range(rounds):
        empty.append(_import_seconds("pass"))
        msgspec.append(_import_seconds("import msgspec"))
        ours.append(_import_seconds("import streamaccumulator"))
    base = statistics.median(empty)
    one, other = statistics.median(msgspec) - base, statistics.median(ours) - base
    return one * 1000, other * 1000, other / one
