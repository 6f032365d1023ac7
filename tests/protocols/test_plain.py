"""The short cut for payloads that are one more delta gives what the long way gives: of every capture, and of any mixture."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import ChatStreamEvent, LimitHit, Limits, StreamDecoder, Usage
from streamaccumulator.protocols import names, protocol_named

from ..wire import call, chat, cuts, delta, events_of, finish, fold, sse
from .captures import Capture, captures

DECODERS: dict[str, Any] = {name: protocol_named(name).decoder for name in names()}
WITH_A_SHORT_CUT = [name for name, decoder in DECODERS.items() if decoder.plain_type is not None]


def each() -> Iterator[Any]:
    for capture in captures():
        if capture.protocol in WITH_A_SHORT_CUT:
            yield pytest.param(capture.protocol, capture, id=capture.name)


def but_counts(events: list[ChatStreamEvent]) -> list[ChatStreamEvent]:
    """Running totals may be told later, and fewer of them."""
    return [event for event in events if not isinstance(event, Usage)]


@pytest.mark.parametrize(("name", "capture"), list(each()))
@pytest.mark.parametrize("size", [None, 16384, 777])
def test_a_capture_gives_the_same_events_either_way(
    name: str, capture: Capture, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [capture.data] if size is None else list(cuts(capture.data, size))
    short = events_of(pieces, name)
    monkeypatch.setattr(DECODERS[name], "_typed_plain", None)
    long = events_of(pieces, name)
    assert but_counts(short) == but_counts(long)
    assert fold(short) == fold(long)


def test_most_of_a_stream_takes_the_short_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, wire in (
        ("openai-chat", [delta(content="a"), *[delta(content=f"{at}") for at in range(90)], finish("stop")]),
        ("openai-chat", [call(0, "c1", "f", '{"a":"'), *[call(0, arguments=f"{at}") for at in range(90)], finish("tool_calls")]),
        (
            "anthropic-messages",
            [
                sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                *[
                    sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{at}"}})
                    for at in range(90)
                ],
            ],
        ),
    ):
        long_way: list[Any] = []
        read = DECODERS[name]._read

        def count(self: Any, chunk: Any, event: str, read: Any = read, seen: list[Any] = long_way) -> None:
            seen.append(chunk)
            read(self, chunk, event)

        monkeypatch.setattr(DECODERS[name], "_read", count)
        for pieces in (wire, [b"".join(wire)]):
            long_way.clear()
            events_of(pieces, name)
            assert len(long_way) <= 4
        monkeypatch.undo()


PAYLOADS = st.sampled_from(
    [
        delta(content="a"),
        delta(content="é@").replace(b"@", rb"\ud83d"),
        delta(content="@").replace(b"@", rb"\udd8e"),
        delta(content=""),
        delta(content="b", refusal="no"),
        delta(reasoning_content="r"),
        call(0, "c1", "f", ""),
        call(0, arguments="{"),
        call(1, "c2", "g", "{"),
        call(1, arguments="}"),
        call(0, arguments=""),
        finish("stop"),
        chat({"index": 1, "delta": {"content": "other"}}),
        sse({"id": "x2", "model": "m2", "choices": [{"index": 0, "delta": {"content": "c"}}]}),
        sse({"id": "x1", "choices": [], "usage": {"prompt_tokens": 1}}),
        b"event: error\ndata: {}\n\n",
        b"event: chunk\n" + delta(content="named"),
        b": comment\n\n",
        b"data: {}{}\n\n",
        b'data: {"choices":[{"delta":{"content":"x"}}]}{"choices":[{"delta":{"content":"y"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"x"\n\n',
        b'data: {"choices":[{"delta":{"content":"x"}}],\n"a":1}\n\n',
        b'data: {"choices":[{"delta":\ndata: {"content":"x"}}]}\n\n',
        b"data: [DONE]\n\n",
        b"data: 5\n\n",
        b"\n",
        b"id: 7\n" + delta(content="with an id"),
    ]
)


@given(st.lists(PAYLOADS, max_size=12))
def test_any_mixture_gives_the_same_events_at_once_and_byte_by_byte(wire: list[bytes]) -> None:
    data = b"".join([delta(content="first"), *wire])
    assert events_of(data, "openai-chat") == events_of(cuts(data, 1), "openai-chat") == events_of(wire_of(wire), "openai-chat")


def wire_of(wire: list[bytes]) -> list[bytes]:
    return [delta(content="first"), *wire]


def test_a_run_that_hides_one_value_among_two_is_read_frame_by_frame() -> None:
    two_in_one = delta(content="a")[:-2] + json.dumps({"choices": []}).encode() + b"\n\n"
    wire = [delta(content="x"), two_in_one, delta(content="y")]
    found: list[ChatStreamEvent] = events_of(b"".join(wire), "openai-chat")
    assert found == events_of(wire, "openai-chat")
    assert "Unreadable" in [type(event).__name__ for event in found]


def test_a_stream_that_is_never_plain_is_not_asked_for_long() -> None:
    decoder = StreamDecoder("openai-chat")
    for at in range(40):
        decoder.feed(chat({"index": 0, "delta": {"content": f"{at}"}, "logprobs": {"content": [{"token": "x"}]}}))
    assert decoder._decoder is not None
    assert decoder._decoder._plain is None


def test_what_is_not_plain_now_and_then_does_not_end_the_short_cut() -> None:
    decoder = StreamDecoder("openai-chat")
    for at in range(40):
        decoder.feed(chat({"index": 0, "delta": {"content": f"{at}"}, "logprobs": {"content": [{"token": "x"}]}}))
        decoder.feed(delta(content="plain"))
    assert decoder._decoder is not None
    assert decoder._decoder._plain is not None


# ---- Frames that are alike.


def named(payload: object, event: str) -> bytes:
    return f"event: {event}\n".encode() + sse(payload)


def responses(number: int, text: str, pad: str = "ab", kind: str = "response.output_text.delta", index: int = 0) -> bytes:
    place = {"item_id": f"m{index}", "output_index": index, "content_index": 0}
    return named({"type": kind, "sequence_number": number, **place, "delta": text, "logprobs": [], "obfuscation": pad}, kind)


def gemini(text: str, tokens: int, **more: object) -> bytes:
    usage = {"promptTokenCount": 3, "candidatesTokenCount": tokens, "totalTokenCount": 3 + tokens}
    candidate = {"content": {"parts": [{"text": text, **more}], "role": "model"}, "index": 0}
    return sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "g", "responseId": "r"})


def leaf(text: str, path: str = "$.a", more: bool = True, call: dict[str, object] | None = None) -> bytes:
    """More of a text among the arguments of a call."""
    pieces = [{"jsonPath": path, "stringValue": text, **({"willContinue": True} if more else {})}]
    part = {"functionCall": {"partialArgs": pieces, "willContinue": True} if call is None else call}
    candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
    return sse({"candidates": [candidate], "modelVersion": "g", "responseId": "r"})


def claude(text: str, index: int = 0, key: str = "text") -> bytes:
    kind = {"text": "text_delta", "partial_json": "input_json_delta", "thinking": "thinking_delta"}[key]
    return named({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}}, "content_block_delta")


def block(index: int, **kind: object) -> bytes:
    return named({"type": "content_block_start", "index": index, "content_block": kind}, "content_block_start")


def added(index: int, **item: object) -> bytes:
    return named({"type": "response.output_item.added", "output_index": index, "item": {"id": f"m{index}", **item}}, "item")


STARTS: dict[str, list[bytes]] = {
    "openai-chat": [delta(content="", reasoning_content="r"), call(0, "c0", "f", "{"), call(1, "c1", "g", "{"), delta(content="a")],
    "openai-responses": [
        added(0, type="message", role="assistant", content=[]),
        added(1, type="function_call", call_id="c", name="f", arguments=""),
        responses(1, "a"),
        responses(2, "{", kind="response.function_call_arguments.delta", index=1),
    ],
    "anthropic-messages": [
        block(0, type="text", text=""),
        block(1, type="tool_use", id="t", name="f", input={}),
        block(2, type="thinking", thinking=""),
        claude("x", 0),
        claude("{", 1, "partial_json"),
    ],
    "gemini": [gemini("a", 1), leaf("", call={"name": "f", "willContinue": True}), leaf("b")],
}
TEXTS = st.sampled_from(["a", "bc", "", '"', "\\", "é", "\n", '","', "\U0001f600", "x" * 1500, "7"])
NUMBERS = st.integers(min_value=0, max_value=12)
ALIKE: dict[str, st.SearchStrategy[bytes]] = {
    "openai-chat": st.one_of(
        st.builds(lambda text: delta(content=text), TEXTS),
        st.builds(lambda index, text: call(index % 3, arguments=text), NUMBERS, TEXTS),
        st.builds(lambda text: delta(reasoning_content=text), TEXTS),
        st.builds(
            lambda text, pad: delta(content=text).replace(b"}\n\n", b',"obfuscation":"%b"}\n\n' % pad.encode()),
            TEXTS,
            TEXTS.filter(str.isalnum),
        ),
        st.sampled_from(
            [delta(content="z").replace(b'"z"', rb'"\ud83d"'), delta(content="q").replace(b":", b" : "), b"data: {}\n\n"]
        ),
    ),
    "openai-responses": st.one_of(
        st.builds(lambda number, text: responses(number, text), NUMBERS, TEXTS),
        st.builds(
            lambda number, text: responses(number, text, kind="response.function_call_arguments.delta", index=1), NUMBERS, TEXTS
        ),
    ),
    "anthropic-messages": st.one_of(
        st.builds(claude, TEXTS, st.integers(0, 2), st.sampled_from(["text", "partial_json", "thinking"])),
        st.sampled_from([b'event: ping\ndata: {"type": "ping"}\n\n', b'event: error\ndata: {"type":"content_block_delta"}\n\n']),
    ),
    "gemini": st.one_of(
        st.builds(gemini, TEXTS, NUMBERS),
        st.builds(lambda text, tokens: gemini(text, tokens, thought=True), TEXTS, NUMBERS),
        st.builds(leaf, TEXTS),
        st.builds(leaf, TEXTS, st.sampled_from(["$.a", "$.b", "$"]), st.booleans()),
        st.sampled_from(
            [
                leaf("", call={"name": "g", "willContinue": True}),
                leaf("", call={}),
                leaf("d").replace(b'"stringValue": "d"', b'"numberValue": 5'),
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", list(ALIKE))
@given(data=st.data())
def test_frames_that_are_alike_give_what_they_give_alone(name: str, data: st.DataObject) -> None:
    wire = [*STARTS[name], *data.draw(st.lists(st.tuples(ALIKE[name], st.integers(1, 4)), max_size=8).map(repeated))]
    whole = b"".join(wire)
    at_once, alone, torn = events_of(whole, name), events_of(wire, name), events_of(cuts(whole, 61), name)
    assert but_counts(at_once) == but_counts(alone) == but_counts(torn)
    assert fold(at_once) == fold(alone) == fold(torn)
    decoder = DECODERS[name]
    typed, decoder._typed_plain = decoder._typed_plain, None
    try:
        long = events_of(wire, name)
    finally:
        decoder._typed_plain = typed
    assert but_counts(at_once) == but_counts(long)
    assert fold(at_once) == fold(long)


def repeated(drawn: list[tuple[bytes, int]]) -> list[bytes]:
    return [frame for frame, times in drawn for _ in range(times)]


MORE: list[tuple[str, list[bytes]]] = [
    ("openai-chat", [call(at % 2, arguments="x") for at in range(200)]),
    ("openai-responses", [responses(at + 3, "x", pad="p" * (at % 5 + 1)) for at in range(200)]),
    ("anthropic-messages", [claude("x") for _ in range(200)]),
    ("gemini", [gemini("x", at) for at in range(200)]),
    ("gemini", [leaf("x") for _ in range(200)]),
]


@pytest.mark.parametrize(("name", "more"), MORE)
def test_numbered_in_order_most_frames_are_not_decoded(name: str, more: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    plain: list[bytes] = []
    decoder = DECODERS[name]
    read = decoder._is_plain

    def seen(self: Any, data: bytes) -> Any:
        plain.append(data)
        return read(self, data)

    monkeypatch.setattr(decoder, "_is_plain", seen)
    for wire in ([*STARTS[name], *more], [b"".join([*STARTS[name], *more])]):
        plain.clear()
        events_of(wire, name)
        assert len(plain) <= len(STARTS[name]) + 3


def test_payloads_that_somebody_parsed_are_alike_too(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [
        json.loads(frame[6:]) for frame in [delta(content="a"), *[delta(content=f"{at}") for at in range(90)], finish("stop")]
    ]
    decoded: list[Any] = []
    kind = DECODERS["openai-chat"]
    said = kind._said

    def see(self: Any, chunk: Any) -> Any:
        decoded.append(chunk)
        return said(self, chunk)

    monkeypatch.setattr(kind, "_said", see)
    assert fold(events_of(chunks, "openai-chat")).text == "a" + "".join(map(str, range(90)))
    assert len(decoded) <= 4


def long_way(wire: list[bytes], name: str) -> list[ChatStreamEvent]:
    decoder = DECODERS[name]
    typed, decoder._typed_plain = decoder._typed_plain, None
    try:
        return events_of(wire, name)
    finally:
        decoder._typed_plain = typed


def twice(key: str, other: str, text: str) -> bytes:
    """A frame whose text stands under a key that comes again, written otherwise, and counts then."""
    return delta(content="@").replace(b'"content": "@"', f'"{key}": "{text}", "{other}": "probe"'.encode())


ODD: dict[str, tuple[str, list[bytes]]] = {
    "a lead of another frame": (
        "openai-chat",
        [
            delta(content="a"),
            b"event: error\ndata: {}\n\n",
            b": c\n" + delta(content="b"),
            b"event: error\n" + delta(content="c"),
        ],
    ),
    "a key that comes twice": (
        "openai-chat",
        [delta(content="a"), *[twice("content", "conten\\u0074", text) for text in ("x", "y", "z")]],
    ),
    "a text that is no text": (
        "openai-chat",
        [delta(content="a"), *[delta(content="b").replace(b'"index"', b'"text": 5, "index"') for _ in range(3)]],
    ),
    "counts that are none": (
        "gemini",
        [gemini("a", 1), gemini("b", 9), gemini("c", 7).replace(b": 7,", b": 7.5,"), gemini("d", 8)],
    ),
    "a large payload": ("openai-chat", [delta(content="a"), *[delta(content="x" * 100_000) for _ in range(3)]]),
    "padding that is no UTF-8": (
        "openai-chat",
        [
            delta(content="a"),
            *[delta(content="b").replace(b"{", b'{"obfuscation": "@", ', 1).replace(b"@", b"\xff") for _ in range(3)],
        ],
    ),
    "many blanks": (
        "openai-chat",
        [delta(content="a"), *[delta(content="b").replace(b"{", b"{" + b'"p": "a", ' * 9, 1) for _ in range(3)]],
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_looks_plain_and_is_not_is_read_the_long_way(kind: str) -> None:
    name, wire = ODD[kind]
    long = long_way(wire, name)
    for pieces in (wire, [b"".join(wire)], list(cuts(b"".join(wire), 50))):
        found = events_of(pieces, name)
        assert but_counts(found) == but_counts(long)
        assert fold(found) == fold(long)


def test_bytes_after_dicts_write_to_the_call_that_they_open() -> None:
    decoder = StreamDecoder("openai-chat")
    dicts = [json.loads(frame[6:]) for frame in (call(0, "c1", "f", "{"), call(0, arguments='"a"'))]
    rest = [frame.replace(b": ", b":").replace(b", ", b",") for frame in (call(0, "c2", "g", "{"), call(0, arguments='"b"'))]
    found = [event for piece in (*dicts, *rest) for event in decoder.feed(piece)]
    assert getattr(found[-1], "id", None) == "c2"


@pytest.mark.parametrize("name", WITH_A_SHORT_CUT)
def test_a_plain_payload_says_nothing_that_is_read_elsewhere(name: str) -> None:
    def fields(kind: Any) -> set[str]:
        return set(kind.__struct_fields__)

    plain, whole = DECODERS[name].plain_type, DECODERS[name].chunk_type
    assert fields(plain) >= fields(whole) - {"provider"}


def test_the_fields_of_what_is_in_a_chunk_too() -> None:
    from streamaccumulator.protocols.anthropic_messages import chunks as claude_chunks
    from streamaccumulator.protocols.gemini import chunks as gemini_chunks
    from streamaccumulator.protocols.openai_chat import chunks

    pairs: list[tuple[Any, Any]] = [
        (chunks.PlainChoice, chunks.Choice),
        (chunks.PlainDelta, chunks.Delta),
        (chunks.PlainCall, chunks.ToolCallDelta),
        (chunks.PlainFunction, chunks.Function),
        (claude_chunks.PlainDelta, claude_chunks.Delta),
        (gemini_chunks.PlainCandidate, gemini_chunks.Candidate),
        (gemini_chunks.PlainPart, gemini_chunks.Part),
        (gemini_chunks.PlainCall, gemini_chunks.FunctionCall),
    ]
    for plain, whole in pairs:
        assert set(plain.__struct_fields__) >= set(whole.__struct_fields__), plain


@pytest.mark.parametrize("most", [1, 3, 4, 5, 20, 100])
def test_arguments_in_leaves_meet_their_limit_at_the_same_delta(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = [*STARTS["gemini"], *[leaf("xyz") for _ in range(9)], leaf("", more=False), leaf("", call={})]

    def told(pieces: list[bytes]) -> list[ChatStreamEvent]:
        decoder = StreamDecoder("gemini", limits=Limits(arguments_bytes=most))
        return [event for piece in pieces for event in decoder.feed(piece)]

    at_once, alone = told([b"".join(wire)]), told(wire)
    monkeypatch.setattr(DECODERS["gemini"], "_typed_plain", None)
    assert at_once == alone == told(wire)
    assert any(isinstance(event, LimitHit) for event in alone) is (most < 40)
