"""Members of each kind of fault that nobody listed: a message is made, written as a server of the kind would, and read back.

| kind | where its property stands |
|---|---|
| ids and names, index | `tests/protocols/test_calls.py`; any indexes also here, with the parallel calls |
| bytes of server-sent events | `tests/framing/test_sse.py` |
| cut streams | `tests/test_properties.py`, `tests/corpus/test_corpus.py` |
| all others | here |
"""

import json
from collections.abc import Iterable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import (
    AccumulatedResponse,
    FinishReason,
    InvalidToolCallJson,
    ProviderError,
    ReasoningPart,
    TextPart,
    TokenUsage,
    accumulate,
)
from streamaccumulator.protocols import names, protocol_named

from ..protocols.captures import Capture, captures
from ..wire import anthropic, call, chat, delta, finish, read, sse
from .shapes import block, json_delta, message, responses, text_delta

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6), min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=3)
STYLES: list[dict[str, Any]] = [{}, {"ensure_ascii": False}, {"indent": 1}, {"separators": (",", ":")}]
PAYLOADS = [capture for capture in captures() if capture.payloads and capture.protocol != "events"]
each_protocol = pytest.mark.parametrize("name", [name for name in names() if any(one.protocol == name for one in PAYLOADS)])


def made(response: AccumulatedResponse) -> list[tuple[str, Any]]:
    return [(one.name, one.arguments) for one in response.tool_calls]


def pieces(text: str, sizes: list[int]) -> list[str]:
    """The text in pieces of these sizes, again and again."""
    found: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(found) % len(sizes)]
        found.append(text[at : at + size])
        at += size
    return found


SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


# ---- Empty and null fields: a field that says nothing changes nothing, nor does a key that nobody knows.


def struct_of(kind: Any) -> type[msgspec.Struct] | None:
    """The struct in an annotation: itself, optional, or what its list holds."""
    for option in (kind, *get_args(kind)):
        for one in (option, *get_args(option)):
            if isinstance(one, type) and issubclass(one, msgspec.Struct):
                return one
    return None


def places(payload: Any, kind: Any) -> Iterable[tuple[dict[str, Any], str]]:
    """Every optional field that an object of the payload, read as `kind`, does not have."""
    if isinstance(payload, list):
        for item in payload:
            yield from places(item, kind)
    struct = struct_of(kind)
    if not isinstance(payload, dict) or struct is None:
        return
    for field in msgspec.structs.fields(struct):
        if field.encode_name in payload:
            yield from places(payload[field.encode_name], field.type)
        elif type(None) in get_args(field.type):
            yield payload, field.encode_name


def as_frames(payloads: Iterable[Any]) -> bytes:
    return b"".join([b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads])


def said(response: AccumulatedResponse) -> Any:
    counts = None if response.usage is None else msgspec.structs.replace(response.usage, raw={})
    return response.message.text, response.reasoning, made(response), response.raw_finish_reason, counts, response.complete


def of(name: str) -> st.SearchStrategy[Capture]:
    return st.sampled_from([capture for capture in PAYLOADS if capture.protocol == name])


@each_protocol
@given(data=st.data())
def test_null_where_nothing_is_said_changes_nothing(name: str, data: st.DataObject) -> None:
    payloads = json.loads(json.dumps(data.draw(of(name)).payloads))
    expected = said(accumulate(as_frames(payloads), name, strict=False))
    decoder: Any = protocol_named(name).decoder
    missing = [place for payload in payloads for place in places(payload, decoder.chunk_type)]
    for at in data.draw(st.lists(st.integers(0, max(0, len(missing) - 1)), max_size=20)):
        if missing:
            missing[at][0][missing[at][1]] = None
    assert said(accumulate(as_frames(payloads), name, strict=False)) == expected


def objects(value: Any) -> Iterable[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


@each_protocol
@given(data=st.data(), value=VALUES)
def test_a_key_that_nobody_knows_changes_nothing(name: str, data: st.DataObject, value: Any) -> None:
    payloads = [payload for payload in json.loads(json.dumps(data.draw(of(name)).payloads)) if isinstance(payload, dict)]
    expected = said(accumulate(as_frames(payloads), name, strict=False))
    for payload in data.draw(st.lists(st.sampled_from(payloads), max_size=5)):
        payload["x_nobody_knows"] = value
    response = accumulate(as_frames(payloads), name, strict=False)
    assert said(response) == expected


EMPTY = [
    chat(),
    delta(),
    delta(content=""),
    delta(content=None, tool_calls=None),
    delta(role="assistant", content="", tool_calls=[]),
    delta(reasoning_content="", refusal=None, function_call=None),
    chat(usage=None),
    chat({"index": 0, "delta": {"content": None}, "finish_reason": "", "logprobs": None}),
    b": keep-alive\n\n",
    b"data: \n\n",
    b"event: ping\n\n",
]


@given(TEXTS, st.lists(st.tuples(st.integers(0, 20), st.sampled_from(EMPTY)), max_size=8))
def test_empty_chunks_between_change_nothing(texts: list[str], empty: list[tuple[int, bytes]]) -> None:
    wire = [delta(content=text) for text in texts] + [call(0, "c1", "f", '{"a":'), call(0, arguments="1}"), finish("tool_calls")]
    for at, chunk in empty:
        wire.insert(at, chunk)
    response = read(*wire)
    assert (response.text, made(response), response.complete) == ("".join(texts), [("f", {"a": 1})], True)
    assert len(response.message.content) == 2


# ---- Resent text.


@given(OBJECTS, SIZES, st.sampled_from(["once", "after {}", "again", "again otherwise", "restated"]), st.sampled_from(STYLES))
def test_arguments_sent_more_than_once_are_the_one_document(arguments: Any, sizes: list[int], how: str, style: Any) -> None:
    text = json.dumps(arguments)
    parts = pieces(text, sizes)
    sent = {
        "once": parts,
        "after {}": ["{}", *parts],
        "again": [*parts, text],
        "again otherwise": [*parts, json.dumps(arguments, **style)],
        "restated": ["".join(parts[: at + 1]) for at in range(len(parts))],
    }[how]
    response = read(call(0, "c1", "f", ""), *[call(0, arguments=piece) for piece in sent], finish("tool_calls"))
    assert made(response) == [("f", arguments)]
    assert response.complete


@given(TEXTS, st.data())
def test_a_whole_adds_what_its_deltas_did_not_send(texts: list[str], data: st.DataObject) -> None:
    """OpenAI Responses says a text up to five times; whichever of these come, and however much the deltas said, it counts once."""
    wire = [responses("created", response={"id": "r", "model": "m"})]
    done = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    item = {"type": "message", "id": "i", "role": "assistant", "content": done}
    wire.append(responses("output_item.added", output_index=0, item={**item, "content": []}))
    ended_whole = data.draw(st.booleans())
    untold = False  # whether a part waits for the item's end to say it; then so do all after it, as parts start in their order
    for index, text in enumerate(texts):
        where = {"item_id": "i", "output_index": 0, "content_index": index}
        sent = data.draw(st.integers(0, len(text))) if not untold else 0
        wholes = data.draw(st.sets(st.sampled_from(["output_text.done", "content_part.done"]))) if not untold else set()
        untold = untold or (ended_whole and not sent and not wholes)
        if not wholes and not ended_whole:
            sent = len(text)
        wire += [responses("output_text.delta", **where, delta=letter) for letter in text[:sent]]
        if "output_text.done" in wholes:
            wire.append(responses("output_text.done", **where, text=text))
        if "content_part.done" in wholes:
            wire.append(responses("content_part.done", **where, part=done[index]))
    if ended_whole or data.draw(st.booleans()):
        wire.append(responses("output_item.done", output_index=0, item=item))
    output = [item] if data.draw(st.booleans()) else []
    wire.append(responses("completed", response={"id": "r", "model": "m", "status": "completed", "output": output}))
    response = read(*wire, protocol="openai-responses")
    assert (response.text, response.complete) == ("".join(texts), True)


# ---- Finish and usage.

REASONS = st.sampled_from(["stop", "tool_calls", "eos", "STOP", "length", "something_new"])


@given(st.lists(REASONS, min_size=1, max_size=4), TEXTS, st.booleans(), st.data())
def test_any_order_of_reasons_text_and_usage_is_read_to_the_end(
    reasons: list[str], texts: list[str], with_call: bool, data: st.DataObject
) -> None:
    """No reason ends the reading; `stop` replaces none; a whole call makes it TOOL_CALLS."""
    if with_call:
        reasons = [reason for reason in reasons if reason in ("stop", "tool_calls")] or ["stop"]
    wire = [delta(content=text) for text in texts]
    at = 0
    for reason in reasons:
        at = data.draw(st.integers(at, len(wire)))
        wire.insert(at, finish(reason))
        at += 1
    wire.insert(data.draw(st.integers(0, len(wire))), chat(usage={"prompt_tokens": 3, "completion_tokens": 4}))
    if with_call:
        wire.insert(0, call(0, "c1", "f", "{}"))
    response = read(*wire)
    words = {"stop": FinishReason.STOP, "eos": FinishReason.STOP, "STOP": FinishReason.STOP, "length": FinishReason.LENGTH,
             "tool_calls": FinishReason.TOOL_CALLS, "something_new": FinishReason.UNKNOWN}  # fmt: skip
    told = [words[reason] for reason in reasons if words[reason] is not FinishReason.STOP]
    expected = told[-1] if told else FinishReason.TOOL_CALLS if with_call else FinishReason.STOP
    assert (response.text, response.finish_reason, response.complete) == ("".join(texts), expected, True)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)


COUNT = st.none() | st.integers(0, 2**40)
USAGES = st.lists(
    st.fixed_dictionaries({}, optional={
        "prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT,
        "prompt_tokens_details": st.none() | st.fixed_dictionaries({}, optional={"cached_tokens": COUNT, "new_kind": COUNT}),
        "completion_tokens_details": st.none() | st.fixed_dictionaries({}, optional={"reasoning_tokens": COUNT}),
        "x_new": VALUES,
    }), max_size=5,
)  # fmt: skip


@given(USAGES, st.booleans())
def test_the_newest_count_of_each_kind_counts_and_none_erases_none(usages: list[dict[str, Any]], before: bool) -> None:
    wire = [chat(usage=usage) for usage in usages]
    wire = [*wire, delta(content="a"), finish("stop")] if before else [delta(content="a"), finish("stop"), *wire]
    usage = read(*wire).usage
    newest: dict[str, int] = {}
    for one in usages:
        flat = {**one, **(one.get("prompt_tokens_details") or {}), **(one.get("completion_tokens_details") or {})}
        newest |= {key: value for key, value in flat.items() if isinstance(value, int) and value is not None}
    found = usage or TokenUsage()
    assert [
        found.input_tokens, found.output_tokens, found.total_tokens, found.cache_read_tokens, found.reasoning_tokens
    ] == [
        newest.get(key) for key in ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens")
    ]  # fmt: skip


# ---- Reasoning.

NAMES = st.sets(st.sampled_from(["reasoning_content", "reasoning", "reasoning_text"]), min_size=1)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=5), NAMES), min_size=1, max_size=6), TEXTS, st.booleans())
def test_reasoning_under_any_of_its_names_counts_once(told: list[tuple[str, set[str]]], texts: list[str], joined: bool) -> None:
    wire = [delta(**dict.fromkeys(sorted(under), text)) for text, under in told]
    said_too = [delta(content=text) for text in texts]
    if joined:  # the last piece of one and the first of the other in one chunk, as servers do
        wire[-1:] = [delta(**dict.fromkeys(sorted(told[-1][1]), told[-1][0]), content=texts[0])]
        said_too = said_too[1:]
    response = read(*wire, *said_too, finish("stop"))
    assert (response.reasoning, response.text) == ("".join([text for text, _ in told]), "".join(texts))
    assert [type(part).__name__ for part in response.message.content] == ["ReasoningPart", "TextPart"]


BLOCKS = st.lists(
    st.tuples(st.just("thinking"), st.text(max_size=9), st.text("abcdefAB+/=", max_size=12))
    | st.tuples(st.just("redacted_thinking"), st.just(""), st.text("abcdefAB+/=", min_size=1, max_size=12))
    | st.tuples(st.just("text"), st.text(min_size=1, max_size=9), st.just("")),
    min_size=1, max_size=5,
)  # fmt: skip


@given(BLOCKS, SIZES)
def test_each_reasoning_block_keeps_its_text_its_signature_and_its_place(
    blocks: list[tuple[str, str, str]], sizes: list[int]
) -> None:
    wire: list[bytes] = []
    expected: list[tuple[str, str | None, str | None]] = []
    for index, (kind, text, proof) in enumerate(blocks):
        if kind == "thinking":
            signed = [{"type": "signature_delta", "signature": piece} for piece in pieces(proof, sizes)]
            thought = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text, sizes)]
            wire.append(block(index, *thought, *signed, type="thinking", thinking="", signature=""))
            if text or proof:
                expected.append((text, proof or None, None))
        elif kind == "redacted_thinking":
            wire.append(block(index, type="redacted_thinking", data=proof))
            expected.append(("", None, proof))
        else:
            wire.append(block(index, *[text_delta(piece) for piece in pieces(text, sizes)], type="text", text=""))
            expected.append((text, None, None))
    response = message(*wire)
    found: list[tuple[str, str | None, str | None]] = []
    for part in response.message.content:
        assert isinstance(part, ReasoningPart | TextPart)
        found.append((part.text, part.signature, part.redacted) if isinstance(part, ReasoningPart) else (part.text, None, None))
    assert found == expected
    assert response.complete


# ---- JSON, and parallel calls: in every protocol that streams arguments.

Fragments = list[tuple[int, str]]
"""Which call, and a piece of its arguments."""


def by_openai_chat(indexes: list[int], fragments: Fragments) -> AccumulatedResponse:
    opened = [call(index, f"c{at}", f"f{at}", "") for at, index in enumerate(indexes)]
    return read(*opened, *[call(indexes[at], arguments=piece) for at, piece in fragments], finish("tool_calls"))


def by_anthropic(indexes: list[int], fragments: Fragments) -> AccumulatedResponse:
    opened = [block(index, stop=False, type="tool_use", id=f"c{at}", name=f"f{at}", input={}) for at, index in enumerate(indexes)]
    grown = [anthropic("content_block_delta", index=indexes[at], delta=json_delta(piece)) for at, piece in fragments]
    return message(*opened, *grown, *[anthropic("content_block_stop", index=index) for index in indexes], stop="tool_use")


def by_responses(indexes: list[int], fragments: Fragments) -> AccumulatedResponse:
    wire = [responses("created", response={"id": "r", "model": "m"})]
    items = [
        {"type": "function_call", "id": f"i{at}", "call_id": f"c{at}", "name": f"f{at}", "arguments": ""}
        for at in range(len(indexes))
    ]
    wire += [responses("output_item.added", output_index=index, item=item) for index, item in zip(indexes, items, strict=True)]
    wire += [
        responses("function_call_arguments.delta", item_id=f"i{at}", output_index=indexes[at], delta=piece)
        for at, piece in fragments
    ]
    for at, index in enumerate(indexes):
        whole = "".join([piece for place, piece in fragments if place == at])
        wire.append(responses("function_call_arguments.done", item_id=f"i{at}", output_index=index, arguments=whole))
        wire.append(responses("output_item.done", output_index=index, item={**items[at], "arguments": whole}))
    wire.append(responses("completed", response={"id": "r", "model": "m", "status": "completed"}))
    return read(*wire, protocol="openai-responses")


each_way = pytest.mark.parametrize("way", [by_openai_chat, by_anthropic, by_responses])


@each_way
@given(st.lists(OBJECTS, min_size=1, max_size=4), SIZES, st.sampled_from(STYLES), st.data())
def test_calls_in_any_order_of_pieces_are_all_made(
    way: Any, documents: list[Any], sizes: list[int], style: Any, data: st.DataObject
) -> None:
    indexes = data.draw(st.lists(st.integers(0, 999), min_size=len(documents), max_size=len(documents), unique=True))
    waiting = [pieces(json.dumps(document, **style), sizes) for document in documents]
    order = data.draw(st.permutations([at for at, parts in enumerate(waiting) for _ in parts]))
    response = way(indexes, [(at, waiting[at].pop(0)) for at in order])
    assert made(response) == [(f"f{at}", document) for at, document in enumerate(documents)]
    assert [one.id for one in response.tool_calls] == [f"c{at}" for at in range(len(documents))]
    assert response.complete


@each_way
@given(OBJECTS, SIZES, st.sampled_from(STYLES), st.data())
def test_arguments_cut_anywhere_are_no_call(way: Any, document: Any, sizes: list[int], style: Any, data: st.DataObject) -> None:
    text = json.dumps(document, **style)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    response = way([0], [(0, piece) for piece in pieces(cut, sizes)])
    (error,) = response.errors
    assert isinstance(error, InvalidToolCallJson)
    assert (error.cause, error.raw_arguments, error.call_id, error.name) == ("cut", cut, "c0", "f0")
    assert response.tool_calls == ()


@each_way
@given(OBJECTS, SIZES, st.sampled_from(["}", "]", "'", "x", "NaN", "{", "\\", '{"a":1}']), st.data())
def test_arguments_that_are_no_json_are_no_call(way: Any, document: Any, sizes: list[int], junk: str, data: st.DataObject) -> None:
    text = json.dumps(document)
    at = data.draw(st.sampled_from([0, len(text)]))
    damaged = text[:at] + junk + text[at:]
    response = way([0], [(0, piece) for piece in pieces(damaged, sizes)])
    assert response.tool_calls == () or len(response.tool_calls[0].arguments_raw) < len(damaged)  # a document that was resent
    assert response.complete == bool(response.tool_calls)


# ---- Errors in band.

ERRORS = st.fixed_dictionaries(
    {"message": st.text("abc ", min_size=1, max_size=9)},
    optional={
        "type": st.sampled_from(["overloaded_error", "rate_limit", "error", None]),
        "code": st.sampled_from([429, "503", None, 0]),
        "param": st.none(),
        "status": st.sampled_from(["UNAVAILABLE", 500]),
        "details": VALUES,
    },
)


@each_protocol
@given(data=st.data(), error=ERRORS, shape=st.sampled_from(["object", "text", "named frame", "bare in a named frame"]))
def test_an_error_in_any_shape_and_place_is_told_with_what_came(name: str, data: st.DataObject, error: Any, shape: str) -> None:
    payloads = [payload for payload in data.draw(of(name)).payloads if isinstance(payload, dict)]
    at = data.draw(st.integers(1, len(payloads)))
    frame = {
        "object": sse({"error": error}),
        "text": sse({"error": error["message"]}),
        "named frame": sse({"error": error}, event="error"),
        "bare in a named frame": sse(error, event="error"),
    }[shape]
    response = accumulate(as_frames(payloads[:at]) + frame, name, strict=False)
    before = accumulate(as_frames(payloads[:at]), name, strict=False)
    told = [one for one in response.errors if isinstance(one, ProviderError)]
    assert error["message"] in [one.message for one in told] or any(error["message"] in str(one) for one in told)
    assert not response.complete
    assert (response.text, response.reasoning) == (before.text, before.reasoning)
