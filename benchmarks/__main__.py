"""`python -m benchmarks [--peers] [--rounds N] [--write]`: CPU time as ratios to a floor, measured interleaved in one process.

With `--write` the tables go to `docs/benchmarks.md`, with `--peers` (other libraries, where they are installed, and a plot) to
`docs/benchmarks-peers.md`.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from . import live, ours
from .measuring import machine

DOCS = Path(__file__).parents[1] / "docs"


def tables(rounds: int) -> Iterator[str]:
    """All that is measured of this library."""
    yield "# Benchmarks"
    yield ""
    yield "CPU time as ratios to a floor, measured interleaved in one process, medians; `make bench` writes this, and no test"
    yield "asserts it. The floor splits on blank lines, decodes the needed fields typed, appends, joins, and parses the arguments"
    yield "once: no events, no errors, no quirks. Beside other libraries: [benchmarks-peers.md](benchmarks-peers.md)."
    yield ""
    yield machine()
    yield ""
    yield "## Against the floor"
    yield ""
    yield from ours.ratio_table(rounds)
    yield ""
    yield from ours.interleaved(rounds)
    yield from ours.growth(min(rounds, 5))
    yield ""
    yield "## Looking at a call's arguments after every delta"
    yield ""
    yield from live.table(rounds)
    yield ""
    yield "## Being there"
    yield ""
    yield from ours.presence(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="measure other libraries beside this one, where installed")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each measurement")
    parser.add_argument("--write", action="store_true", help="write the document too")
    options = parser.parse_args()
    name, lines = "benchmarks.md", tables(options.rounds)
    if options.peers:
        from . import beside  # whoever measures no peers has none of what it needs

        name, lines = "benchmarks-peers.md", beside.tables(DOCS if options.write else None)
    said = []
    for line in lines:
        print(line, flush=True)
        said.append(line)
    if options.write:
        (DOCS / name).write_text("\n".join(said) + "\n")


if __name__ == "__main__":
    main()
