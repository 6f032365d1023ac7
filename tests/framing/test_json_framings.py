"""Lines of JSON, and documents in an array or one after another: which frames they are, however they are cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import LimitHit, Limits
from streamaccumulator.framing.frames import Framer
from streamaccumulator.framing.json_array import JSONArrayFramer
from streamaccumulator.framing.ndjson import NDJSONFramer

from ..wire import cuts


def framed(kind: type[Framer], data: bytes, size: int = 0, limits: Limits = Limits()) -> list[Any]:
    found: list[Any] = []
    framer = kind(lambda payload, event, offset: found.append((payload, offset)), found.append, limits)
    for piece in cuts(data, size) if size else [data]:
        framer.feed(piece)
    framer.close()
    return found


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    ("data", "frames"),
    [
        (b"", []),
        (b"\n \r\n\n", []),
        (b'{"a":1}', [(b'{"a":1}', 0)]),
        (b'{"a":1}\n{"b":2}\n', [(b'{"a":1}', 0), (b'{"b":2}', 8)]),
        (b'{"a":1}\r\n\r\n{"b":2}\r', [(b'{"a":1}', 0), (b'{"b":2}', 11)]),
        (b'\xef\xbb\xbf{"a":1}\n', [(b'{"a":1}', 0)]),
        (b'{"a":1}\n{"b":\n{"c":3}\n', [(b'{"a":1}', 0), (b'{"b":', 8), (b'{"c":3}', 14)]),
    ],
)
def test_lines(data: bytes, frames: list[Any], size: int) -> None:
    assert framed(NDJSONFramer, data, size) == frames


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    ("data", "frames"),
    [
        (b"", []),
        (b"[]", []),
        (b" [ , \n ] ", []),
        (b'[{"a":1},{"b":[2,{"c":3}]}]', [(b'{"a":1}', 1), (b'{"b":[2,{"c":3}]}', 9)]),
        (b'[{"a":"}]\\"{"},\r\n{"b":"\\\\"}\r\n]\r\n', [(b'{"a":"}]\\"{"}', 1), (b'{"b":"\\\\"}', 17)]),
        (b'{"a":\n 1}\n{"b":2}{"c":3}', [(b'{"a":\n 1}', 0), (b'{"b":2}', 10), (b'{"c":3}', 17)]),
        (b'[{"a":1},[2],3,"x]",{"b":1}]', [(b'{"a":1}', 1), (b"2", 10), (b'3,"x]"', 13), (b'{"b":1}', 20)]),
        (b'[{"a":"b\n{"c":1}]', [(b'{"a":"b', 1), (b'{"c":1}', 9)]),
        (b'[{"a":1},{"b":"c', [(b'{"a":1}', 1), (b'{"b":"c', 9)]),
        (b"[null,oops{}]", [(b"null,oops", 1), (b"{}", 10)]),
    ],
)
def test_documents(data: bytes, frames: list[Any], size: int) -> None:
    assert framed(JSONArrayFramer, data, size) == frames


VALUES = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(st.lists(st.dictionaries(st.text(), VALUES), max_size=5), st.sampled_from([None, 2]), st.integers(1, 9))
def test_any_objects_in_any_layout_are_the_frames(items: list[Any], indent: int | None, size: int) -> None:
    data = json.dumps(items, indent=indent).encode()
    assert [json.loads(payload) for payload, _ in framed(JSONArrayFramer, data, size)] == items
    lines = "\n".join([json.dumps(item) for item in items]).encode()
    assert [json.loads(payload) for payload, _ in framed(NDJSONFramer, lines, size)] == items


@given(st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b'"', b"\\", b"\n", b",", b"a", b" "]), max_size=40))
def test_the_cut_of_any_bytes_never_matters(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    for kind in (JSONArrayFramer, NDJSONFramer):
        assert framed(kind, data, 1) == framed(kind, data)


@pytest.mark.parametrize("kind", [JSONArrayFramer, NDJSONFramer])
@pytest.mark.parametrize("size", [0, 1, 50])
def test_a_frame_over_the_limit_is_told_once_and_ends_all(kind: type[Framer], size: int) -> None:
    data = b'{"a":1}\n{"b":"' + b"x" * 100 + b'"}\n{"c":1}\n'
    assert framed(kind, data, size, Limits(frame_bytes=99)) == [(b'{"a":1}', 0), LimitHit("frame_bytes", 100)]


@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_first_line_that_is_no_document_begins_one_that_is_spread_over_lines(size: int) -> None:
    assert framed(NDJSONFramer, b'{"a": {\r\n"b": 1}}\r\n{"c": 2}', size) == [(b'{"a": {\n\n"b": 1}}', 0), (b'{"c": 2}', 19)]
    assert framed(NDJSONFramer, b"oops\r" + b"x" * 200 + b"\n{}", size, Limits(frame_bytes=99))[-1] == LimitHit("frame_bytes", 100)
