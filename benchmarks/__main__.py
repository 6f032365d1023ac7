"""`python -m benchmarks [--peers] [--rounds N]`: tables of CPU time as ratios to the floor, measured interleaved.

Every number is the median over the rounds of one contender's time divided by the floor's in the same round, so that a
machine that speeds up or slows down does not matter. A wrong answer is printed as `wrong`, not timed.
"""

import argparse
import gc
import math
import statistics
import time

from . import contenders as c
from . import live
from . import wires as w

FLOORS: dict[str, c.Contender] = {
    "openai-chat": c.chat_floor,
    "openai-responses": c.responses_floor,
    "anthropic-messages": c.claude_floor,
    "gemini": c.gemini_floor,
}
TEXTS = {
    "openai-chat": w.chat_text,
    "openai-responses": w.responses_text,
    "anthropic-messages": w.claude_text,
    "gemini": w.gemini_text,
}
CALLS = {
    "openai-chat": w.chat_call,
    "openai-responses": w.responses_call,
    "anthropic-messages": w.claude_call,
    "gemini": w.gemini_call,
}
SHAPES = {
    protocol: {
        "text, 2,000 deltas": TEXTS[protocol](2000),
        "one call, 10 KB by 4": CALLS[protocol](10_000, 4),
        "one call, 100 KB by 20": CALLS[protocol](100_000, 20),
    }
    for protocol in FLOORS
}


def seconds(contender: c.Contender, reads: list[bytes]) -> float:
    gc.collect()
    start = time.process_time()
    contender(reads)
    return time.process_time() - start


def measure(contenders: dict[str, c.Contender], reads: list[bytes], rounds: int) -> dict[str, str]:
    """The median ratio of each to the first, which is the floor."""
    floor, *others = contenders
    wanted = contenders[floor](reads)
    right = [name for name in others if contenders[name](reads) == wanted]
    ratios: dict[str, list[float]] = {name: [] for name in right}
    for _ in range(rounds):
        base = seconds(contenders[floor], reads)
        for name in right:
            ratios[name].append(seconds(contenders[name], reads) / base)
    return {name: f"{statistics.median(ratios[name]):.2f}" if name in right else "wrong" for name in others}


def table(peers: bool, rounds: int) -> None:
    print(f"| {'stream':<20} | {'shape':<24} | {'reads':<14} | {'events':>7} | {'response':>8} | {'SDK':>7} |")
    for protocol, shapes in SHAPES.items():
        for shape, frames in shapes.items():
            for size, label in ((0, "one event each"), (16384, "16 KiB")):
                reads = w.reads(frames, size)
                wanted = FLOORS[protocol](reads)
                contenders: dict[str, c.Contender] = {
                    "floor": FLOORS[protocol],
                    "events": c.events_of(protocol, wanted),
                    "response": c.response_of(protocol),
                }
                sdk = c.sdk_of(protocol) if peers else None
                if sdk is not None:
                    contenders["sdk"] = sdk
                found = measure(contenders, reads, rounds)
                cells = f"{found['events']:>7} | {found['response']:>8} | {found.get('sdk', '-'):>7}"
                print(f"| {protocol:<20} | {shape:<24} | {label:<14} | {cells} |", flush=True)


def growth(rounds: int) -> None:
    """How time grows with the size of one call's arguments: the exponent between 10 KB and 1 MB; 1.0 is linear."""
    for protocol, make in CALLS.items():
        times = {}
        for size in (10_000, 100_000, 1_000_000):
            reads = w.reads(make(size, 20), 16384)
            run = c.response_of(protocol)
            times[size] = statistics.median([seconds(run, reads) for _ in range(rounds)])
        exponent = math.log(times[1_000_000] / times[10_000]) / math.log(100)
        print(f"{protocol}: growth exponent from 10 KB to 1 MB of arguments {exponent:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="also measure the providers' SDKs, where installed")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each measurement")
    options = parser.parse_args()
    table(options.peers, options.rounds)
    growth(options.rounds)
    live.table(options.rounds)


if __name__ == "__main__":
    main()
