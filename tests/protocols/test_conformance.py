"""One suite that every protocol must run, over its captures; a protocol without captures fails it.

What is promised of any stream, whatever the wire: any cut, any look, any replay gives an equal response; a part of
a stream never looks whole; the unstreamed reply gives the same message; and hostile payloads are told, not raised.
"""

import json
from functools import cache
from random import Random
from typing import Any, get_args

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
    to_request_message,
)
from streamaccumulator.protocols import names, protocol_named

from ..histories import BODIES, comparable, read_back, sent
from ..wire import cuts, events_of, fold
from .captures import FORMS, Capture, captures

DIFFERENT: dict[str, str] = {
    "openai-chat/tool-name-cut-by-max-tokens": "of a call cut in its name the stream says nothing",
    "anthropic-messages/tool-name-cut-by-max-tokens": "of a call cut in its name the stream says nothing",
    "openai-responses/tool-name-cut-by-max-tokens": "of a call cut in its name the stream says nothing",
    "gemini-via-litellm/tool-arguments-cut-by-max-tokens": "the proxy streams no call, and makes an empty one in the reply",
    "anthropic-messages-via-litellm/tool-arguments-cut-by-max-tokens": "the stream has the cut arguments, the reply repairs them",
}
"""Captures whose unstreamed reply is another message than the stream, each with the reason."""


WITHOUT_REQUESTS = {
    "events": "our own, which no provider takes",
    "openai-completions": "takes a prompt, and no messages",
    "gemini-interactions": "keeps the conversation itself, and is sent what is new",
}
"""Protocols that messages cannot be turned into, each with the reason."""


def said(response: AccumulatedResponse) -> Any:
    """What two requests to one server have in common: no ids, times and cached counts."""
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    return response.text, response.reasoning, response.refusal, calls, response.raw_finish_reason


def _each(found: list[Capture]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("capture", found, ids=[capture.name for capture in found])


each_capture = _each(list(captures()))


def test_every_protocol_has_captures() -> None:
    assert {capture.protocol for capture in captures()} == set(names())
    for name in names():
        assert len({capture.name for capture in captures() if capture.protocol == name}) >= 5, name


@each_capture
def test_the_protocol_is_recognised(capture: Capture) -> None:
    assert accumulate(capture.data, strict=False) == accumulate(capture.data, capture.protocol, strict=False)


@each_capture
@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 1000])
def test_how_the_bytes_are_cut_never_matters(capture: Capture, size: int) -> None:
    assert events_of(cuts(capture.data, size), capture.protocol) == events_of(capture.data, capture.protocol)


@each_capture
def test_replaying_and_looking_change_nothing(capture: Capture) -> None:
    response = accumulate(capture.data, capture.protocol, strict=False)
    events = events_of(capture.data, capture.protocol)
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.snapshot()
        accumulator.observe(event)
    assert accumulator.finalize(strict=False) == fold(events) == response
    assert AccumulatedResponse.from_json(response.to_json()) == response


@each_capture
@pytest.mark.parametrize("protocol", ["named", "auto"])
def test_saved_at_any_byte_it_goes_on_the_same(capture: Capture, protocol: str) -> None:
    name, data = capture.protocol if protocol == "named" else "auto", capture.data
    expected = events_of(data, name)
    for at in sorted({0, 1, 2, len(data), *Random(capture.name).choices(range(len(data)), k=40)}):
        decoder = StreamDecoder(name)
        events = decoder.feed(data[:at])
        decoder = StreamDecoder.load(decoder.dump())
        assert [*events, *decoder.feed(data[at:]), *decoder.close()] == expected, at


@each_capture
def test_saved_at_any_event_it_goes_on_the_same(capture: Capture) -> None:
    expected = accumulate(capture.data, capture.protocol, strict=False)
    accumulator = StreamAccumulator()
    for event in events_of(capture.data, capture.protocol):
        accumulator.observe(event)
        loaded = StreamAccumulator.load(accumulator.dump())
        assert loaded.snapshot() == accumulator.snapshot()
        accumulator = loaded
    assert accumulator.finalize(strict=False) == expected
    assert StreamAccumulator.load(accumulator.dump()).finalize(strict=False) == expected


@_each([capture for capture in captures() if FORMS[capture.form].lines])
def test_line_ends_never_matter(capture: Capture) -> None:
    expected = said(accumulate(capture.data, capture.protocol, strict=False))
    for end in (b"\r\n", b"\r"):
        other = capture.data.replace(b"\r\n", b"\n").replace(b"\n", end)
        assert said(accumulate(other, capture.protocol, strict=False)) == expected
        assert said(accumulate(cuts(other, 7), capture.protocol, strict=False)) == expected


@_each([capture for capture in captures() if capture.payloads])
def test_payloads_parsed_by_somebody_else_give_the_same(capture: Capture) -> None:
    payloads = [payload for payload in capture.payloads if isinstance(payload, dict)]
    assert said(accumulate(payloads, capture.protocol, strict=False)) == said(
        accumulate(capture.data, capture.protocol, strict=False)
    )


@_each([capture for capture in captures() if capture.payloads])
def test_any_framing_of_the_payloads_gives_the_same(capture: Capture) -> None:
    """What a proxy or a log makes of them: server-sent events, lines, an array."""
    lines = [json.dumps(payload).encode() for payload in capture.payloads if isinstance(payload, dict)]
    expected = said(accumulate(capture.data, capture.protocol, strict=False))
    for data in (
        b"".join([b"data: " + line + b"\n\n" for line in lines]),
        b"\n".join(lines),
        b"[" + b",".join(lines) + b"]",
    ):
        assert said(accumulate(data, capture.protocol, strict=False)) == expected
        assert said(accumulate(cuts(data, 11), capture.protocol, strict=False)) == expected


@_each([capture for capture in captures() if capture.whole])
def test_the_unstreamed_reply_gives_the_same_message(capture: Capture) -> None:
    streamed = said(accumulate(capture.data, capture.protocol, strict=False))
    whole = said(parse_response(capture.whole, capture.protocol, strict=False))
    assert whole == said(parse_response(capture.whole, strict=False))
    assert (streamed == whole) is (capture.name not in DIFFERENT), DIFFERENT.get(capture.name)


def test_every_protocol_has_requests() -> None:
    assert {name for name in names() if protocol_named(name).converter is None} == set(WITHOUT_REQUESTS)
    assert set(names()) - set(WITHOUT_REQUESTS) == set(BODIES)


@_each([capture for capture in captures() if capture.protocol in BODIES])
def test_the_message_goes_back_as_it_came(capture: Capture) -> None:
    response = accumulate(capture.data, capture.protocol, strict=False)
    entries = to_request_message(response, capture.protocol, broken_calls="drop")
    assert comparable(read_back(entries, capture.protocol)) == comparable(sent(response.message))


@each_capture
def test_a_part_of_a_stream_never_looks_whole(capture: Capture) -> None:
    """Cut at every 13th byte: text is a prefix, no call is invented, and it is whole only once the reason had come."""
    data = capture.data
    whole = accumulate(data, capture.protocol, strict=False)
    calls = {call.id: call for call in whole.tool_calls}
    for end in range(1, len(data), 13):
        part = accumulate(data[:end], capture.protocol, strict=False)
        assert whole.text.startswith(part.text)
        assert whole.reasoning.startswith(part.reasoning)
        assert all(_is_part_of(call, calls.get(call.id)) for call in part.tool_calls)
        assert part.complete is False or part.raw_finish_reason == whole.raw_finish_reason
        assert part.errors or part.complete


def _is_part_of(call: Any, whole: Any) -> bool:
    """Whether a call is the whole stream's; keys beside it may still have been to come."""
    return whole is not None and msgspec.structs.replace(call, extra={}) == msgspec.structs.replace(whole, extra={})


@each_capture
def test_a_broken_frame_in_the_middle_loses_only_itself(capture: Capture) -> None:
    form, frames = FORMS[capture.form], capture.frames
    for at in (1, len(frames) // 2):
        data = form.join([*frames[:at], form.broken, *frames[at:]])
        events = events_of(data, capture.protocol)
        before = [type(event) for event in events_of(capture.data, capture.protocol)].count(Unreadable)
        assert [type(event) for event in events].count(Unreadable) == before + 1
        rest = [event for event in events if not isinstance(event, Unreadable)]
        assert said(fold(rest)) == said(accumulate(capture.data, capture.protocol, strict=False))


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


def _paths(name: str) -> list[tuple[str, ...]]:
    """The fields of a protocol's wire struct, or of all of them where its payload is one of several."""
    decoder: Any = protocol_named(name).decoder
    return sorted({path for kind in get_args(decoder.chunk_type) or (decoder.chunk_type,) for path in paths_of(kind)})


@pytest.mark.parametrize("name", names())
def test_a_hostile_type_in_any_field_is_told_and_never_raised(name: str) -> None:
    payloads = max([capture.payloads for capture in captures() if capture.protocol == name], key=lambda found: len(str(found)))
    kinds = {json.dumps(sorted(payload)): payload for payload in payloads}
    tried = 0
    for field in _paths(name):
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
    for field in _paths(name):
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


@pytest.mark.parametrize("name", [name for name in names() if name != "events"])
def test_a_decoder_reports_an_error_object_as_the_providers(name: str) -> None:
    events = StreamDecoder(name).feed(b'data: {"error": {"type": "t", "message": "m"}}\n\n')
    assert StreamError("t", "m", {"type": "t", "message": "m"}) in events
