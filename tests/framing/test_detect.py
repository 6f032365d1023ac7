"""Which framing the first bytes give away."""

import pytest

from streamaccumulator.framing.aws_event_stream import AWSEventStreamFramer
from streamaccumulator.framing.detect import PATIENCE, framing_of
from streamaccumulator.framing.frames import Framer
from streamaccumulator.framing.json_array import JSONArrayFramer
from streamaccumulator.framing.ndjson import NDJSONFramer
from streamaccumulator.framing.sse import SSEFramer


@pytest.mark.parametrize(
    ("head", "framing"),
    [
        (b"", None),
        (b" \r\n\xef\xbb\xbf", None),
        (b"\n" * PATIENCE, SSEFramer),
        (b"data: {", SSEFramer),
        (b": ping\n", SSEFramer),
        (b"<html>", SSEFramer),
        (b"\xef\xbb\xbf event: a", SSEFramer),
        (b"[", JSONArrayFramer),
        (b"\n[{", JSONArrayFramer),
        (b"{", None),
        (b"{  ", None),
        (b'{"a', NDJSONFramer),
        (b"{\n", JSONArrayFramer),
        (b"{ \r", JSONArrayFramer),
        (b"{" + b" " * PATIENCE, SSEFramer),
        (b"\x00\x00\x00\x70", AWSEventStreamFramer),
    ],
)
def test_by_the_first_bytes(head: bytes, framing: type[Framer] | None) -> None:
    assert framing_of(head) is framing


def test_a_content_type_counts_where_it_says_something() -> None:
    assert framing_of(b"", "application/x-ndjson; charset=utf-8") is NDJSONFramer
    assert framing_of(b"", "application/vnd.amazon.eventstream") is AWSEventStreamFramer
    assert framing_of(b"{\n", "text/event-stream") is JSONArrayFramer
    assert framing_of(b"data:", "application/json") is SSEFramer
