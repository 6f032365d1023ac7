"""What to say of bytes that held no stream, to somebody who stares at an empty answer. Only `_stream_decoder` uses this."""

from collections.abc import Mapping
from typing import Any

from ._json import parse_payload
from .errors import JsonProblem
from .framing.frames import BLANK
from .protocols.decoder import NO_LINE_ENDS


def _keys(payload: Any) -> str:
    return ", ".join([str(key)[:40] for key in list(payload)[:8]]) or "none"


def seen(early: list[tuple[bytes, str, int]], content_type: str) -> str:
    """What payloads were that told no protocol: data, event and offset of each."""
    count = f"{len(early)} payload{'s' * (len(early) > 1)} of no known kind"
    typed = f" (content type {content_type[:80]!r})" if content_type else ""
    data, event, offset = early[0]
    try:
        value, _ = parse_payload(data)
    except JsonProblem:
        value = None
    what = f"keys {_keys(value)}" if isinstance(value, Mapping) else f"data {data[:80]!r}"
    return f"{count}{typed}, the first at byte {offset}: event {event[:40]!r}, {what}"


def looks_like(head: bytes, size: int, content_type: str) -> str:
    """Why a stream of bytes held nothing, in words for somebody who stares at an empty answer."""
    start = head.lstrip(BLANK)
    size_and_type = f"{size} bytes" + (f" (content type {content_type[:80]!r})" if content_type else "")
    for magic, name in ((b"\x1f\x8b", "gzip"), (b"(\xb5/\xfd", "zstd"), (b"\x78\x9c", "deflate")):
        if head.startswith(magic):
            return f"{size_and_type} that look compressed ({name}): let the HTTP client decode them"
    if start[:1] == b"<":
        return f"{size_and_type} that look like an HTML or XML page, not like a stream"
    if b"data:" in start and b"\n" not in start and b"\r" not in start:
        return NO_LINE_ENDS
    if start[:1] == b":":
        return f"{size_and_type} of keep-alives, and no message"
    return f"{size_and_type} without one readable event"
