"""SSEFramer against the WHATWG event-stream format, clause by clause, and against a naive reading of it.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import ChatStreamEvent, LimitHit, Limits, Notice
from streamaccumulator.framing.sse import SSEFramer

from ..wire import cuts

Frame = tuple[bytes, str, int]


def framed(pieces: bytes | Iterable[bytes], limits: Limits = Limits()) -> tuple[list[Frame | ChatStreamEvent], SSEFramer]:
    """Frames and notices in the order in which they came."""
    found: list[Frame | ChatStreamEvent] = []
    framer = SSEFramer(lambda data, event, offset: found.append((data, event, offset)), found.append, limits)
    for piece in [pieces] if isinstance(pieces, bytes) else pieces:
        framer.feed(piece)
    framer.close()
    return found, framer


def frames(data: bytes) -> list[tuple[bytes, str]]:
    return [(item[0], item[1]) for item in framed(data)[0] if isinstance(item, tuple)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: a\n\n", [(b"a", "")]),
        (b"data:a\n\n", [(b"a", "")]),
        (b"data:  a\n\n", [(b" a", "")]),  # one optional space, no more
        (b"data\n\n", [(b"", "")]),  # a field without a colon has an empty value
        (b"data:\n\n", [(b"", "")]),
        (b"data: a\ndata: b\n\n", [(b"a\nb", "")]),
        (b"data: a\ndata\ndata: b\n\n", [(b"a\n\nb", "")]),
        (b"event: x\ndata: a\n\n", [(b"a", "x")]),
        (b"data: a\nevent: x\n\n", [(b"a", "x")]),
        (b"event: x\nevent: y\ndata: a\n\n", [(b"a", "y")]),
        (b"event: x\n\ndata: a\n\n", [(b"a", "")]),  # a name without data is no event, and is forgotten
        (b": comment\n\ndata: a\n\n", [(b"a", "")]),
        (b":\n\n:\n\n", []),
        (b"id: 7\nretry: 30\n\n", []),
        (b"Data: a\n\n", []),  # names are case-sensitive
        (b" data: a\n\n", []),
        (b"unknown: a\ndata: b\n\n", [(b"b", "")]),
        (b"\n\n\n\ndata: a\n\n\n\ndata: b\n\n", [(b"a", ""), (b"b", "")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"a", ""), (b"b", "")]),
        (b"data: a\r\rdata: b\r\r", [(b"a", ""), (b"b", "")]),
        (b"data: a\r\n\ndata: b\n\rdata: c\r\n\r", [(b"a", ""), (b"b", ""), (b"c", "")]),
        (b"data: a\rdata: b\ndata: c\r\n\n", [(b"a\nb\nc", "")]),
        (b"\xef\xbb\xbfdata: a\n\n", [(b"a", "")]),  # one byte order mark
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        ("data: a\u2028b\u2029c\x85d\x0ce\x0bf\x1cg\n\n".encode(), [("a\u2028b\u2029c\x85d\x0ce\x0bf\x1cg".encode(), "")]),
        ("event: h\u00e9\ndata: \U0001f980\n\n".encode(), [("\U0001f980".encode(), "h\u00e9")]),
        (b"data: \xff\xfe\n\n", [(b"\xff\xfe", "")]),  # decoding is the decoder's
        (b"data: a\0b\n\n", [(b"a\0b", "")]),
    ],
)
def test_the_format(data: bytes, expected: list[tuple[bytes, str]]) -> None:
    assert frames(data) == expected
    assert [item[:2] for item in framed(cuts(data, 1))[0] if isinstance(item, tuple)] == expected


def test_id_and_retry_are_kept_for_whoever_reconnects() -> None:
    _, framer = framed(b"id: 1\ndata: a\n\nretry: 3000\nid\0bad: x\nid: a\0b\n\nretry: 12x\nid: 2\n\n")
    assert (framer.last_event_id, framer.retry) == ("2", 3000)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_a_last_event_without_its_blank_line_is_kept_and_told(end: bytes) -> None:
    found, _ = framed(b"data: a\n\nevent: x\ndata: b" + end)
    assert found[0] == (b"a", "", 0)
    assert isinstance(found[1], Notice)
    assert (found[1].code, found[1].where) == ("unended_frame", "byte 9")
    assert found[2] == (b"b", "x", 9)


def test_a_field_named_error_is_told() -> None:
    found, _ = framed(b'data: a\n\nerror: {"detail":"out of memory"}\n\n')
    assert [item.code for item in found if isinstance(item, Notice)] == ["error_field"]
    assert found[2] == (b'{"detail":"out of memory"}', "error", 9)


def test_json_whose_data_prefix_was_forgotten_is_taken_and_told() -> None:
    found, _ = framed(b'data: a\n\n{"error": 1}\n\n')
    assert found[0] == (b"a", "", 0)
    assert isinstance(found[1], Notice)
    assert found[1].code == "bare_json"
    assert found[2] == (b'{"error": 1}', "", 9)


def test_offsets_are_those_of_the_bytes_on_the_wire() -> None:
    data = b"\xef\xbb\xbf: hi\r\n\r\ndata: a\r\n\r\n\n\nevent: x\ndata: b\n\nid: 3\rdata: c\r\r"
    for pieces in ([data], cuts(data, 1), cuts(data, 3)):
        starts = [item[2] for item in framed(pieces)[0] if isinstance(item, tuple)]
        assert [data[at : at + 5] for at in starts] == [b"data:", b"event", b"id: 3"]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("long", [b"data: " + b"x" * 50, b": " + b"x" * 50, b"data: " + b"x" * 30 + b"\ndata: " + b"x" * 30])
def test_a_frame_over_the_limit_stops_and_keeps_what_came(long: bytes, size: int) -> None:
    data = b"data: a\n\n" + long + b"\n\ndata: never\n\n"
    found, _ = framed(cuts(data, size), Limits(frame_bytes=45))
    assert found == [(b"a", "", 0), LimitHit("frame_bytes", 46)]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_frame_at_the_limit_is_read(size: int) -> None:
    data = b"data: " + b"x" * 39 + b"\n\nevent: e\ndata: " + b"x" * 39 + b"\n\n"
    found, _ = framed(cuts(data, size), Limits(frame_bytes=45))
    assert [item[0] for item in found if isinstance(item, tuple)] == [b"x" * 39, b"x" * 39]


def naive(data: bytes) -> list[tuple[bytes, str]]:
    """The format in the words of the standard, for whole ASCII input, with the last event kept."""
    found = []
    lines: list[bytes] = []
    event = b""
    for line in [*re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf")), b""]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if lines:
                found.append((b"\n".join(lines), event.decode()))
            lines, event = [], b""
        elif field == b"data":
            lines.append(value)
        elif field == b"event":
            event = value
    if lines:
        found.append((b"\n".join(lines), event.decode()))
    return found


LINES = [b"data: {}", b"data:x", b"data", b"event: e", b"event:", b": c", b"id: 1", b"foo: b", b"data: y:z", b""]
STREAMS = st.lists(
    st.tuples(st.sampled_from(LINES), st.sampled_from([b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\r", b"\r\r", b"\n\r"]))
).map(lambda pairs: b"".join([line + end for line, end in pairs]))
CUTS = st.lists(st.integers(1, 9), min_size=1)


def cut_like(data: bytes, sizes: list[int]) -> list[bytes]:
    """The data in pieces of these sizes, over and over."""
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[at : at + size])
        at += size
    return pieces


@given(STREAMS)
def test_it_agrees_with_a_naive_reading_of_the_standard(data: bytes) -> None:
    assert frames(data) == naive(data)


@given(STREAMS | st.binary(), CUTS)
def test_how_the_bytes_are_cut_never_matters(data: bytes, sizes: list[int]) -> None:
    whole, framer = framed(data)
    found, other = framed(cut_like(data, sizes))
    assert found == whole
    assert (framer.last_event_id, framer.retry) == (other.last_event_id, other.retry)


def test_what_is_held_of_a_frame_is_measured_too() -> None:
    for cut in (100, 1):
        found: list[ChatStreamEvent] = []
        framer = SSEFramer(lambda data, event, offset: None, found.append, Limits(frame_bytes=20))
        data = b"data: " + b"a" * 40
        for at in range(0, len(data), cut):
            framer.feed(data[at : at + cut])
        assert found == [LimitHit("frame_bytes", 21)]
