"""The captures of every protocol, and what each framing lets a test do with one: take it apart, put it together, break it."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ..wire import aws_frame

ROOT = Path(__file__).parents[1] / "captures"


class Form(msgspec.Struct, frozen=True):
    """One framing: bytes to the frames they are made of, and a frame whose payload is broken."""

    split: Callable[[bytes], list[bytes]]
    payload: Callable[[bytes], bytes | None]
    broken: bytes
    join: Callable[[Sequence[bytes]], bytes] = b"".join
    lines: bool = True
    """Whether its line ends may be any."""


def _sse_frames(data: bytes) -> list[bytes]:
    end = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    return [frame + end for frame in data.split(end) if frame]


def _sse_payload(frame: bytes) -> bytes | None:
    found = [line[6:] for line in frame.splitlines() if line.startswith(b"data: ")]
    return None if not found or found == [b"[DONE]"] else found[0]


def _array_items(data: bytes) -> list[bytes]:
    return [json.dumps(item, indent=2).encode() for item in json.loads(data)]


def _aws_frames(data: bytes) -> list[bytes]:
    frames, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        frames.append(data[at : at + size])
        at += size
    return frames


def _broken_aws_frame() -> bytes:
    frame = bytearray(aws_frame("metadata", {"metrics": {}}))
    frame[-6] ^= 1
    return bytes(frame)


FORMS = {
    ".sse": Form(_sse_frames, _sse_payload, b"data: {broken\n\n"),
    ".ndjson": Form(lambda data: [line + b"\n" for line in data.split(b"\n") if line], bytes.strip, b"{broken\n"),
    ".json": Form(_array_items, bytes.strip, b'{"broken": [1 2]}', lambda items: b"[" + b"\n,\r\n".join(items) + b"]\n"),
    ".eventstream": Form(_aws_frames, lambda frame: None, _broken_aws_frame(), lines=False),
}


class Capture(msgspec.Struct, frozen=True):
    """One stream as it came over the wire."""

    name: str
    protocol: str
    form: str
    data: bytes
    whole: bytes | None
    """The unstreamed reply to the same request."""

    @property
    def frames(self) -> list[bytes]:
        return FORMS[self.form].split(self.data)

    @property
    def payloads(self) -> list[Any]:
        """What somebody else's parser would make of the frames."""
        found = [FORMS[self.form].payload(frame) for frame in self.frames]
        return [json.loads(payload) for payload in found if payload]


def _read(path: Path) -> list[Capture]:
    whole = path.with_name(f"{path.stem}.whole.json")
    protocol = path.parent.name.removesuffix("-via-litellm")
    name = f"{path.parent.name}/{path.stem}"
    found = [Capture(name, protocol, path.suffix, path.read_bytes(), whole.read_bytes() if whole.exists() else None)]
    if protocol == "bedrock-converse":
        found.append(_as_aws(found[0]))
    return found


def _as_aws(lines: Capture) -> Capture:
    """The same events as Bedrock sends them: the name in a header, an exception by its type, padding beside the fields."""
    frames = []
    for payload in lines.payloads:
        ((name, fields),) = payload.items()
        frames.append(aws_frame(name, {**fields, "p": "abcdef"}, exception=name.endswith("Exception")))
    return Capture(f"{lines.name} in AWS frames", lines.protocol, ".eventstream", b"".join(frames), lines.whole)


@cache
def captures() -> tuple[Capture, ...]:
    paths = sorted(path for path in ROOT.glob("*/*") if path.suffix in FORMS and not path.name.endswith(".whole.json"))
    return tuple([capture for path in paths for capture in _read(path)])
