"""Streams that almost are: captures with bytes, frames and JSON values changed at random."""

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

_CAPTURES = Path(__file__).parents[1] / "tests" / "captures"
_SUFFIXES = (".sse", ".ndjson", ".json", ".eventstream")
_LARGEST = 30_000
"""Bytes of a seed; longer streams show nothing that shorter ones do not, and cost time."""

HOSTILE: list[Any] = [
    None, True, -1, 0, 2**63, 10**30, 1.5, -0.0, "", "x", "\0", "\u2028", "\ud83e", "🦀", "null", "{", '{"a":1}', "call_1",
    [], [None], [[]], {}, {"type": "text"}, {"": ""}, "y" * 300,
]  # fmt: skip
BITS = [
    b"\n", b"\r", b"\n\n", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"data: ", b"data: [DONE]\n\n", b"event: error\n", b": \n\n",
    b"{", b"}",
    b"[", b"]", b'"', b"\\", b",", b'{"error":{"message":"m"}}', b"\\ud800", b"NaN", b"1e999", b"[" * 600, b"9" * 5000, b"null\n",
]  # fmt: skip


@cache
def seeds() -> tuple[tuple[str, bytes], ...]:
    """Protocol and bytes of every capture, and of every recorded stream where there is a corpus."""
    corpus = Path(os.environ.get("STREAMACCUMULATOR_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus")
    found = []
    for root in (_CAPTURES, corpus):
        for path in sorted(root.glob("*/*")):
            if path.suffix in _SUFFIXES and not path.name.endswith(".whole.json") and path.stat().st_size < _LARGEST:
                found.append((path.parent.name.removesuffix("-via-litellm"), path.read_bytes()))
    return tuple(found)


def captured() -> tuple[tuple[str, bytes], ...]:
    """Those of our own captures alone, so that a run is the same everywhere."""
    own = sorted(_CAPTURES.glob("*/*"))
    count = len([path for path in own if path.suffix in _SUFFIXES and not path.name.endswith(".whole.json")])
    return seeds()[:count]


def mutated(data: bytes, other: bytes, rng: Random) -> bytes:
    """The stream with one to four changes."""
    for _ in range(rng.randint(1, 4)):
        data = rng.choice(_CHANGES)(data, other, rng)
    return data


def chopped(data: bytes, rng: Random) -> Iterator[bytes]:
    """The data in pieces, mostly small ones."""
    at = 0
    widest = rng.choice([1, 3, 20, 300])
    while at < len(data):
        size = rng.randint(1, widest)
        yield data[at : at + size]
        at += size


def _bytes_changed(data: bytes, other: bytes, rng: Random) -> bytes:
    at = rng.randint(0, len(data))
    match rng.randrange(5):
        case 0:
            return data[:at] + rng.choice(BITS) + data[at:]
        case 1:
            return data[:at] + data[at + rng.randint(1, 20) :]
        case 2:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 3:
            return data[:at]
        case _:
            return data[:at] + data[max(0, at - rng.randint(1, 200)) :]


def _frames_changed(data: bytes, other: bytes, rng: Random) -> bytes:
    end = b"\n\n" if b"\n\n" in data else b"\n"
    frames = data.split(end)
    strange = rng.choice(other.split(b"\n\n" if b"\n\n" in other else b"\n"))
    at = rng.randrange(len(frames))
    match rng.randrange(5):
        case 0:
            frames.insert(at, frames[rng.randrange(len(frames))])
        case 1:
            del frames[at]
        case 2:
            frames.insert(at, strange)
        case 3:
            rng.shuffle(frames)
        case _:
            frames[at:at] = [frames[at]] * rng.randint(2, 30)
    return end.join(frames)


def value_changed(data: bytes, other: bytes, rng: Random) -> bytes:
    """One value of one payload becomes another, or a key is left out."""
    lines = data.split(b"\n")
    places = [at for at, line in enumerate(lines) if b"{" in line]
    if not places:
        return data
    at = rng.choice(places)
    start = lines[at].index(b"{")
    try:
        payload = json.loads(lines[at][start:])
    except ValueError:
        return data
    box: Any = payload
    while isinstance(box, dict | list) and box:
        key = rng.choice(list(box)) if isinstance(box, dict) else rng.randrange(len(box))
        if not isinstance(box[key], dict | list) or not box[key] or rng.random() < 0.3:
            if rng.random() < 0.1:
                del box[key]
            else:
                box[key] = rng.choice(HOSTILE)
            break
        box = box[key]
    lines[at] = lines[at][:start] + json.dumps(payload, ensure_ascii=rng.random() < 0.7).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


_CHANGES = (_bytes_changed, _frames_changed, value_changed, value_changed)
