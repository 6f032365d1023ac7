"""Which framing a stream of bytes has: from its content type where that says it, else from its first bytes.

No two framings begin alike: an AWS frame with a zero byte, a JSON array with `[`, JSON lines with `{`, a document
spread over lines with `{` and a line end, and server-sent events with a field or a comment.
"""

from .aws_event_stream import AWSEventStreamFramer
from .frames import BLANK, Framer
from .json_array import JSONArrayFramer
from .ndjson import NDJSONFramer
from .sse import SSEFramer

PATIENCE = 1024
"""Bytes that are looked at; if they tell nothing (keep-alives may be blank lines), it is server-sent events."""

FRAMERS: dict[str, type[Framer]] = {
    "sse": SSEFramer,
    "ndjson": NDJSONFramer,
    "json-array": JSONArrayFramer,
    "aws-event-stream": AWSEventStreamFramer,
}
"""The framings by the names under which a dump knows them."""

OF_CONTENT_TYPE: dict[str, type[Framer]] = {
    "application/vnd.amazon.eventstream": AWSEventStreamFramer,
    "application/x-ndjson": NDJSONFramer,
    "application/jsonl": NDJSONFramer,
}
"""`text/event-stream` and `application/json` are not here: servers put both on bodies that are something else."""


def framing_of(head: bytes, content_type: str = "") -> type[Framer] | None:
    """The framing of a stream that begins with `head`, or None if that does not tell yet. At most PATIENCE bytes are read."""
    known = OF_CONTENT_TYPE.get(content_type.partition(";")[0].strip().lower())
    if known is not None or head[:1] == b"\0":
        return known or AWSEventStreamFramer
    undecided = None if len(head) < PATIENCE else SSEFramer
    start = head[:PATIENCE].lstrip(BLANK)
    if start[:1] == b"[":
        return JSONArrayFramer
    if start[:1] != b"{":
        return SSEFramer if start else undecided
    after = start[1:].lstrip(b" \t")[:1]
    if not after:
        return undecided
    return JSONArrayFramer if after in b"\r\n" else NDJSONFramer
