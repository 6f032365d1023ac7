"""Dumps: the state of a stream in the middle as bytes, and back.

A dump is one line (what it is, the version of the format, a checksum, a length) and a JSON document, the state's structs by
their fields; halves of characters are kept as they are. Reading one executes nothing, and builds only what the structs say.
Cost: one pass over the state, with the message in it.
"""

import json
import re
from typing import Any, TypeVar
from zlib import crc32

import msgspec

from .errors import UnreadableDump

VERSION = 1
"""Of the format, and of the structs in it: a dump is read by the version that wrote it and by none other."""

S = TypeVar("S", bound=msgspec.Struct)

_HEAD = re.compile(rb"streamaccumulator ([a-z-]{1,40}) (\d{1,6}) ([0-9a-f]{8}) (\d{1,15})\n")
_LONGEST_HEAD = 100


def write(kind: str, state: msgspec.Struct) -> bytes:
    """The dump of a state."""
    text = json.dumps(plain(state), ensure_ascii=False, separators=(",", ":"))
    body = text.encode("utf-8", "surrogatepass")
    return f"streamaccumulator {kind} {VERSION} {crc32(body):08x} {len(body)}\n".encode() + body


def read(kind: str, data: bytes, type: type[S]) -> S:
    """The state in a dump. Raises UnreadableDump if it is none, of another version or kind, or damaged."""
    head = _HEAD.match(data[:_LONGEST_HEAD])
    if head is None:
        raise UnreadableDump("these bytes are no dump")
    found, version, checksum, length = head[1].decode(), int(head[2]), int(head[3], 16), int(head[4])
    body = data[head.end() :]
    if version != VERSION:
        raise UnreadableDump(f"a dump of version {version}, which this release does not read; it reads {VERSION}")
    if len(body) != length:
        raise UnreadableDump(f"damaged: {len(body)} bytes of state where the dump says {length}")
    if crc32(body) != checksum:
        raise UnreadableDump("damaged: the checksum does not fit")
    if found != kind:
        raise UnreadableDump(f"a dump of {found}, where one of {kind} belongs")
    try:
        return built(json.loads(body.decode("utf-8", "surrogatepass")), type)
    except (ValueError, RecursionError) as fault:
        raise UnreadableDump(f"the state in it cannot be read: {fault}") from fault


def plain(state: msgspec.Struct) -> Any:
    """A struct as objects, lists and scalars, as a dump holds it."""
    return msgspec.to_builtins(state, str_keys=True)


def built(value: Any, type: type[S]) -> S:
    """The struct of `plain`. Raises `msgspec.ValidationError` if it does not fit."""
    return msgspec.convert(value, type, str_keys=True)
