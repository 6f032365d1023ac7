"""Run the targets for a time: `python -m fuzz --seconds 60 [--seed N] [--target NAME]`.

Each input is made from the seed and its number alone, so what is found can be found again. The input of a failure is
written beside this file, and the exit status is 1.
"""

import argparse
import sys
import time
import traceback
from pathlib import Path
from random import Random

from .mutate import mutated, seeds
from .targets import TARGETS


def run(target: str, seed: int, number: int) -> bytes:
    """One input through one target; returns the input. Raises whatever the target raises, with the input in a note."""
    rng = Random(f"{seed}/{target}/{number}")
    protocol, data = rng.choice(seeds())
    stream = mutated(data, rng.choice(seeds())[1], rng)
    try:
        TARGETS[target](protocol, stream, rng)
    except Exception as failure:
        found = Path(__file__).parent / f"found-{target}-{seed}-{number}.bin"
        found.write_bytes(stream)
        failure.add_note(
            f"protocol {protocol}, input in {found.name}, again with: --target {target} --seed {seed} --first {number}"
        )
        raise
    return stream


def main() -> int:
    """Parse the arguments, run until the time is over or something is found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Feed mutated streams to every promise.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--target", choices=list(TARGETS), action="append")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.seconds
    targets = arguments.target or list(TARGETS)
    number, size = arguments.first, 0
    while time.monotonic() < until or number == arguments.first:
        for target in targets:
            try:
                size += len(run(target, arguments.seed, number))
            except Exception:  # noqa: BLE001  # whatever breaks a promise is what is looked for
                traceback.print_exc()
                return 1
        number += 1
    print(f"{number - arguments.first:,} inputs of {size:,} bytes through {', '.join(targets)}: every promise held")  # noqa: T201  # its output
    return 0


if __name__ == "__main__":
    sys.exit(main())
