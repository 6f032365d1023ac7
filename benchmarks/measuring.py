"""How time is measured: CPU time of one contender beside the floor's in the same round, the median of the rounds.

So a machine that speeds up or slows down does not matter. Whoever gives a wrong answer is shown as `wrong`, and not timed.
"""

import datetime
import gc
import math
import platform
import statistics
import time
from collections.abc import Mapping

from .contenders import Contender


def machine() -> str:
    """Where and when, in a line."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.machine()}, {datetime.date.today()}."


def seconds(contender: Contender, reads: list[bytes]) -> float:
    """Of CPU time for one run."""
    gc.collect()
    start = time.process_time()
    contender(reads)
    return time.process_time() - start


def ratios(floor: Contender, others: Mapping[str, Contender], reads: list[bytes], rounds: int) -> dict[str, str]:
    """The median ratio of each to the floor."""
    wanted = floor(reads)
    right = [name for name, contender in others.items() if contender(reads) == wanted]
    found: dict[str, list[float]] = {name: [] for name in right}
    for _ in range(rounds):
        base = seconds(floor, reads)
        for name in right:
            found[name].append(seconds(others[name], reads) / base)
    return {name: f"{statistics.median(found[name]):.2f}" if name in right else "wrong" for name in others}


def exponent(times: Mapping[int, float]) -> float:
    """How time grows from the least size to the most; 1.0 is linear."""
    least, most = min(times), max(times)
    return math.log(times[most] / times[least]) / math.log(most / least)
