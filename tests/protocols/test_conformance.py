"""One suite that every protocol must run, over its captures; a protocol without captures fails it.

What is promised of any stream, whatever the wire: any cut, any look, any replay gives an equal response; a part of
a stream never looks whole; the unstreamed reply gives the same message; and hostile payloads are told, not raised.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamaccumulator import (
    AccumulatedResponse,
    StreamAccumulator,
    StreamDecoder,
    StreamError,
    Unreadable,
    accumulate,
    parse_response,
)
from streamaccumulator.protocols import names, protocol_named

from ..wire import cuts, events_of, fold

CAPTURES = Path(__file__).parents[1] / "captures"
FILES = sorted(CAPTURES.glob("*/*.sse"))
WHOLE = [path for path in FILES if path.with_suffix("").with_suffix(".whole.json").exists()]

DIFFERENT: dict[str, str] = {
    "openai-chat/tool-name-cut-by-max-tokens": "of a call cut in its name the stream says nothing",
    "anthropic-messages/tool-name-cut-by-max-tokens": "of a call cut in its name the stream says nothing",
    "anthropic-messages-via-litellm/tool-arguments-cut-by-max-tokens": "the stream has the cut arguments, the reply repairs them",
}
"""Captures whose unstreamed reply is another message than the stream, each with the reason."""


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def protocol_of(path: Path) -> str:
    return path.parent.name.removesuffix("-via-litellm")


def said(response: AccumulatedResponse) -> Any:
    """What two requests to one server have in common: no ids, times and cached counts."""
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    return response.text, response.reasoning, response.refusal, calls, response.raw_finish_reason


each_capture = pytest.mark.parametrize("path", FILES, ids=[name_of(path) for path in FILES])


def test_every_protocol_has_captures() -> None:
    assert {protocol_of(path) for path in FILES} == set(names())
    for name in names():
        assert len([path for path in FILES if protocol_of(path) == name]) >= 5, name


@each_capture
def test_the_protocol_is_recognised(path: Path) -> None:
    data = path.read_bytes()
    assert accumulate(data, strict=False) == accumulate(data, protocol_of(path), strict=False)


@each_capture
@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 1000])
def test_how_the_bytes_are_cut_never_matters(path: Path, size: int) -> None:
    data = path.read_bytes()
    assert events_of(cuts(data, size), protocol_of(path)) == events_of(data, protocol_of(path))


@each_capture
def test_replaying_and_looking_change_nothing(path: Path) -> None:
    data = path.read_bytes()
    response = accumulate(data, protocol_of(path), strict=False)
    events = events_of(data, protocol_of(path))
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.snapshot()
        accumulator.observe(event)
    assert accumulator.finalize(strict=False) == fold(events) == response
    assert AccumulatedResponse.from_json(response.to_json()) == response


@each_capture
def test_line_ends_never_matter(path: Path) -> None:
    data = path.read_bytes()
    expected = said(accumulate(data, protocol_of(path), strict=False))
    for end in (b"\r\n", b"\r"):
        other = data.replace(b"\r\n", b"\n").replace(b"\n", end)
        assert said(accumulate(other, protocol_of(path), strict=False)) == expected
        assert said(accumulate(cuts(other, 7), protocol_of(path), strict=False)) == expected


@each_capture
def test_payloads_parsed_by_somebody_else_give_the_same(path: Path) -> None:
    payloads = [json.loads(data) for data in payloads_of(path.read_bytes()) if data != b"[DONE]"]
    assert said(accumulate(payloads, protocol_of(path), strict=False)) == said(
        accumulate(path.read_bytes(), protocol_of(path), strict=False)
    )


@pytest.mark.parametrize("path", WHOLE, ids=[name_of(path) for path in WHOLE])
def test_the_unstreamed_reply_gives_the_same_message(path: Path) -> None:
    body = path.with_suffix(".whole.json").read_bytes()
    streamed = said(accumulate(path.read_bytes(), protocol_of(path), strict=False))
    whole = said(parse_response(body, protocol_of(path), strict=False))
    assert (streamed == whole) is (name_of(path) not in DIFFERENT), DIFFERENT.get(name_of(path))


@each_capture
def test_a_part_of_a_stream_never_looks_whole(path: Path) -> None:
    """Cut at every 13th byte: text is a prefix, no call is invented, and it is whole only once the reason had come."""
    data = path.read_bytes()
    whole = accumulate(data, protocol_of(path), strict=False)
    calls = {call.id: call for call in whole.tool_calls}
    for end in range(1, len(data), 13):
        part = accumulate(data[:end], protocol_of(path), strict=False)
        assert whole.text.startswith(part.text)
        assert whole.reasoning.startswith(part.reasoning)
        assert all(calls.get(call.id) == call for call in part.tool_calls)
        assert part.complete is False or part.raw_finish_reason == whole.raw_finish_reason
        assert part.errors or part.complete


def payloads_of(data: bytes) -> Iterator[bytes]:
    for block in data.split(b"\n\n"):
        for line in block.split(b"\n"):
            if line.startswith(b"data: "):
                yield line[6:]


@each_capture
def test_a_broken_frame_in_the_middle_loses_only_itself(path: Path) -> None:
    frames = [frame + b"\n\n" for frame in path.read_bytes().split(b"\n\n") if frame]
    for at in (1, len(frames) // 2):
        data = b"".join([*frames[:at], b"data: {broken\n\n", *frames[at:]])
        events = events_of(data, protocol_of(path))
        assert [type(event) for event in events].count(Unreadable) == 1
        rest = [event for event in events if not isinstance(event, Unreadable)]
        assert said(fold(rest)) == said(accumulate(path.read_bytes(), protocol_of(path), strict=False))


# ---- Hostile payloads: every field of every wire struct gets a value of every type.

HOSTILE: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "\ud83e",
    [],
    [None],
    ["x"],
    {},
    {"x": 1},
    [{"type": "text"}],
    [[[]]],
]
STRANGE: list[str] = ["1e999", "9" * 5000, '"\\ud83e"', "[" * 3000 + "]" * 3000, '{"a":' * 300 + "1" + "}" * 300]


@cache
def paths_of(kind: Any) -> tuple[tuple[str, ...], ...]:
    """The path of every field of a wire struct, and of the structs in it."""
    found: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(kind):
        found.append((field.encode_name,))
        for option in [field.type, *getattr(field.type, "__args__", ())]:
            inner = next((one for one in [option, *getattr(option, "__args__", ())] if _is_struct(one)), None)
            if inner is not None:
                found += [(field.encode_name, *path) for path in paths_of(inner)]
    return tuple(found)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _put(payload: Any, path: tuple[str, ...], value: Any) -> bool:
    """Replace what is at the path, going into the first item of lists; False if the payload has no such place."""
    for key in path[:-1]:
        payload = payload.get(key) if isinstance(payload, dict) else None
        payload = payload[0] if isinstance(payload, list) and payload else payload
    if not isinstance(payload, dict):
        return False
    payload[path[-1]] = value
    return True


def _struct_of(name: str) -> Any:
    decoder: Any = protocol_named(name).decoder
    return decoder.chunk_type


@pytest.mark.parametrize("name", names())
def test_a_hostile_type_in_any_field_is_told_and_never_raised(name: str) -> None:
    path = max([path for path in FILES if protocol_of(path) == name], key=lambda path: path.stat().st_size)
    payloads = [json.loads(data) for data in payloads_of(path.read_bytes()) if data != b"[DONE]"]
    kinds = {json.dumps(sorted(payload)): payload for payload in payloads}
    tried = 0
    for field in paths_of(_struct_of(name)):
        for value in HOSTILE:
            for example in kinds.values():
                payload = json.loads(json.dumps(example))
                if not _put(payload, field, value):
                    continue
                tried += 1
                wire = [f"data: {json.dumps(each)}\n\n".encode() for each in (payloads[0], payload, payloads[-1])]
                response = accumulate(wire, name, strict=False)
                assert accumulate([payloads[0], payload, payloads[-1]], name, strict=False).text == response.text
                assert AccumulatedResponse.from_json(response.to_json()) == response
    assert tried > 100


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("strange", STRANGE, ids=lambda text: text[:12])
def test_strange_json_anywhere_is_told_and_never_raised(name: str, strange: str) -> None:
    for field in paths_of(_struct_of(name)):
        payload: Any = "@"
        for key in reversed(field):
            payload = {key: payload}
        if "choices" in payload:
            payload["choices"] = [payload["choices"]]
        text = json.dumps(payload).replace('"@"', strange)
        response = accumulate(f"data: {text}\n\n".encode(), name, strict=False)
        assert AccumulatedResponse.from_json(response.to_json()) == response


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "index", "delta", "text", "id"]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("name", names())
@given(values=st.lists(JSON | st.sampled_from(HOSTILE), max_size=4), data=st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_payloads_and_any_bytes_give_a_response_or_a_named_error(name: str, values: list[Any], data: bytes) -> None:
    wire = b"".join([f"data: {json.dumps(value)}\n\n".encode() for value in values]) + data
    response = accumulate(wire, name, strict=False)
    assert accumulate(cuts(wire, 1), name, strict=False) == response
    assert fold(events_of(wire, name)) == response
    assert AccumulatedResponse.from_json(response.to_json()) == response


@pytest.mark.parametrize("name", names())
def test_a_decoder_reports_an_error_object_as_the_providers(name: str) -> None:
    events = StreamDecoder(name).feed(b'data: {"error": {"type": "t", "message": "m"}}\n\n')
    assert StreamError("t", "m", {"type": "t", "message": "m"}) in events
