"""A short run of the fuzz targets, always the same: `make fuzz` runs them for longer."""

from random import Random

import pytest
from fuzz.mutate import captured, mutated
from fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", range(4))
def test_every_promise_holds_for_mutated_captures(target: str, part: int) -> None:
    for number in range(60):
        rng = Random(f"{target}/{part}/{number}")
        protocol, data = rng.choice(captured())
        TARGETS[target](protocol, mutated(data, rng.choice(captured())[1], rng), rng)
