"""Gemini: parts without ends, signatures, calls whole and in pieces, its ends, and the Interactions beside it."""

from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    ChatStream,
    FinishReason,
    InvalidToolCallJson,
    Limits,
    MediaPart,
    ProviderPart,
    ReasoningPart,
    StreamDecoder,
    TextDelta,
    TextPart,
    Usage,
    accumulate,
    accumulate_choices,
)
from streamaccumulator.protocols.gemini.chunks import PartialArg
from streamaccumulator.protocols.gemini.partial_args import PartialArgs, steps_of

from ..wire import codes, events_of, sse


def parts(*found: Any, finish: Any = None, **fields: Any) -> bytes:
    reason = {} if finish is None else {"finishReason": finish}
    return sse({"candidates": [{"content": {"parts": list(found)}, **reason, **fields}], "responseId": "r", "modelVersion": "g"})


def read(*pieces: bytes, **options: Any) -> AccumulatedResponse:
    return accumulate(b"".join(pieces), "gemini", strict=False, **options)


STOP = parts(finish="STOP")


def growing(*leaves: dict[str, Any], more: bool = True) -> dict[str, Any]:
    return {"functionCall": {"partialArgs": list(leaves), **({"willContinue": True} if more else {})}}


def test_parts_stay_in_order_and_text_of_one_kind_is_one_part() -> None:
    response = read(
        parts({"text": "pl", "thought": True}, {"text": "an", "thought": True}),
        parts({"text": "do"}),
        parts({"text": "ne"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}, {"text": "!"}),
        STOP,
    )
    assert response.message.content == (
        ReasoningPart("plan"),
        TextPart("done"),
        MediaPart("image", "image/png", "aGk="),
        TextPart("!"),
    )


def test_a_signature_stays_with_its_part_also_an_empty_one() -> None:
    response = read(
        parts({"text": "a"}),
        parts({"text": "b", "thoughtSignature": "TS1"}),
        parts({"text": "c"}),
        parts({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "TS2"}),
        parts({"text": "", "thoughtSignature": "TS3"}, finish="STOP"),
    )
    a, b, c, call, last = response.message.content
    assert (a, b, c) == (TextPart("a"), TextPart("b", (), {"thoughtSignature": "TS1"}), TextPart("c"))
    assert call.extra == {"thoughtSignature": "TS2"}
    assert last == ReasoningPart("", "TS3")


def test_calls_without_ids_are_each_a_call_of_their_own() -> None:
    response = read(
        parts({"functionCall": {"name": "f", "args": {"c": "A"}}}),
        parts({"functionCall": {"name": "f", "args": {"c": 2**80}}}, {"functionCall": {"id": "x", "name": "g"}}),
        STOP,
    )
    assert [(call.id, call.name, call.arguments, call.minted) for call in response.tool_calls] == [
        ("call_1", "f", {"c": "A"}, True),
        ("call_2", "f", {"c": 2**80}, True),
        ("x", "g", {}, False),
    ]
    assert response.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("ended", [[{"functionCall": {}}], [], [{"functionCall": {"name": "next", "args": {}}}]])
def test_arguments_in_pieces_are_rebuilt_with_or_without_their_end_mark(ended: list[Any]) -> None:
    response = read(
        parts({"functionCall": {"name": "w", "willContinue": True}}),
        parts(growing({"jsonPath": "$.city", "stringValue": "Par", "willContinue": True})),
        parts(growing({"jsonPath": "$.city", "stringValue": "is"}, {"jsonPath": "$.at[0].n", "numberValue": 3})),
        parts(growing({"jsonPath": "$.at[0].ok", "boolValue": False}, {"jsonPath": "$.at[1]", "nullValue": None})),
        parts(*ended, finish="STOP"),
    )
    assert response.tool_calls[0].arguments == {"city": "Paris", "at": [{"n": 3, "ok": False}, None]}
    assert response.complete


def test_arguments_in_pieces_that_were_cut_are_no_call_and_their_text_is_kept() -> None:
    started = parts({"functionCall": {"name": "w", "willContinue": True}})
    piece = parts(growing({"jsonPath": "$.city", "stringValue": "Par", "willContinue": True}))
    for end in (parts(finish="MAX_TOKENS"), b""):
        response = read(started, piece, end)
        assert response.tool_calls == ()
        (error,) = [error for error in response.errors if isinstance(error, InvalidToolCallJson)]
        assert (error.cause, error.raw_arguments) == ("cut", '{"city":"Par"')


def test_paths_of_any_shape() -> None:
    assert steps_of("$.a[0]['b c'].d") == ["a", 0, "b c", "d"]
    assert steps_of('$["x"]') == ["x"]
    pieces = PartialArgs({"given": 1})
    for path, value in (("$.l[5]", 1), ("$.l[0]", 2), ("$.l.x", 3), ("$", 4)):
        pieces.add(PartialArg(path, number_value=value))
    assert pieces.text() == '{"given":1,"l":[2,null,3,null,null,1]}'


def test_pieces_that_never_end_meet_the_limits() -> None:
    started = parts({"functionCall": {"name": "w", "willContinue": True}})
    long = [parts(growing({"jsonPath": "$.a", "stringValue": "x" * 99})) for _ in range(9)]
    assert "arguments_bytes" in str(read(started, *long, limits=Limits(arguments_bytes=500)).errors)
    deep = parts(growing({"jsonPath": "$" + ".a" * 500, "stringValue": "x"}))
    assert "json_depth" in str(read(started, deep).errors)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("STOP", "stop"),
        (1, "stop"),
        (2, "length"),
        ("SAFETY", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("OTHER", "unknown"),
        ("MALFORMED_FUNCTION_CALL", "error"),
    ],
)
def test_finish_reasons_as_words_and_as_numbers(finish: Any, reason: str) -> None:
    response = read(parts({"text": "a"}), sse({"candidates": [{"finishReason": finish, "finishMessage": "why"}]}))
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("a", reason, str(finish))
    assert bool(response.errors) == (reason == "error")


def test_an_unspecified_reason_is_none_and_several_stops_are_one_end() -> None:
    response = read(
        parts({"text": "a"}, finish="FINISH_REASON_UNSPECIFIED"), parts({"text": "b"}, finish="STOP"), parts({"text": "c"}), STOP
    )
    assert (response.text, response.complete, codes(response)) == ("abc", True, set())


def test_a_blocked_prompt_has_a_reason_and_no_candidate() -> None:
    response = read(sse({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}))
    assert (response.finish_reason, response.raw_finish_reason) == ("content_filter", "promptFeedback:SAFETY")
    assert response.extra == {"promptFeedback": {"blockReason": "SAFETY"}}


def test_code_tools_grounding_and_whatever_else_is_kept() -> None:
    response = read(
        parts({"executableCode": {"code": "1"}, "thoughtSignature": "S"}),
        parts({"toolResponse": {"id": "t"}}, groundingMetadata={"webSearchQueries": ["q"]}),
        parts({"hologram": 1}, finish="STOP", avgLogprobs=-0.5),
    )
    assert response.message.content == (
        ProviderPart("executableCode", {"executableCode": {"code": "1"}, "thoughtSignature": "S"}),
        ProviderPart("toolResponse", {"toolResponse": {"id": "t"}}),
        ProviderPart("hologram", {"hologram": 1}),
    )
    assert response.extra == {"groundingMetadata": {"webSearchQueries": ["q"]}, "avgLogprobs": -0.5}


def test_usage_grows_and_the_newest_counts() -> None:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 5, "cachedContentTokenCount": 4}
    response = read(
        sse({"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}}),
        parts({"text": "a"}),
        sse({"usageMetadata": usage}),
        STOP,
    )
    found = response.usage
    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens, found.cache_read_tokens) == (9, 2, 5, 4)
    assert found.input_total == 9


def test_candidates_never_mix() -> None:
    both = {"candidates": [{"index": n, "content": {"parts": [{"text": "ab"[n]}]}, "finishReason": "STOP"} for n in (0, 1)]}
    assert [one.text for one in accumulate_choices(sse(both), "gemini").values()] == ["a", "b"]


def test_a_step_of_an_interaction_whose_start_was_lost() -> None:
    data = sse(
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_summary", "content": {"text": "hm"}}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "Hi"}},
        {"event_type": "step.delta", "index": 2, "delta": {"type": "image", "data": "aGk=", "mime_type": "image/png"}},
        {"event_type": "step.delta", "index": 2, "delta": {"type": "hologram", "x": 1}},
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed"}},
    )
    response = accumulate(data)
    assert (response.text, response.reasoning, response.id) == ("Hi", "hm", "i")
    assert codes(response) == {"unknown_event"}
    assert response.message.content[2] == MediaPart("image", "image/png", "aGk=")
    assert response.extra == {"x": 1}


@pytest.mark.parametrize(
    "end", [parts(finish="SAFETY"), parts(finish="OTHER"), STOP, parts({"functionCall": {"name": "g"}}, finish="STOP")]
)
def test_a_text_that_was_to_go_on_is_cut_whatever_came_instead(end: bytes) -> None:
    started = parts({"functionCall": {"name": "send", "willContinue": True}})
    response = read(started, parts(growing({"jsonPath": "$.to", "stringValue": "bob@exam", "willContinue": True})), end)
    assert "send" not in [call.name for call in response.tool_calls]
    assert any(isinstance(error, InvalidToolCallJson) and error.raw_arguments == '{"to":"bob@exam"' for error in response.errors)


def test_items_without_a_leaf_keep_their_place() -> None:
    pieces = PartialArgs()
    for path, value in (("$.items[1].a", 1), ("$.items[1].b", 2), ("$.far[999999999]", 3)):
        pieces.add(PartialArg(path, number_value=value))
    assert pieces.text() == '{"items":[{},{"a":1,"b":2}],"far":[3]}'


def test_what_is_said_beside_a_part_is_kept_with_it() -> None:
    response = read(
        parts({"text": "x", "partMetadata": {"a": 1}}, {"inlineData": {"data": "aGk="}, "mediaResolution": {"level": "L"}}), STOP
    )
    assert [part.extra for part in response.message.content] == [{"partMetadata": {"a": 1}}, {"mediaResolution": {"level": "L"}}]


def test_the_first_version_of_interactions_and_media_between_texts() -> None:
    data = sse(
        {"event_type": "interaction.start", "interaction": {"id": "i", "model": "g"}},
        {"event_type": "content.start", "index": 0, "content": {"type": "text"}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "text", "text": "a"}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "image", "data": "AAA=", "mime_type": "image/png"}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "image", "data": "BBB=", "mime_type": "image/png"}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "text", "text": "b"}},
        {"event_type": "content.stop", "index": 0},
        {
            "event_type": "content.delta",
            "index": 1,
            "delta": {"type": "function_call", "id": "f", "name": "go", "arguments": {"a": 1}},
        },
        {"event_type": "interaction.complete", "interaction": {"id": "i", "status": "completed"}},
    )
    response = accumulate(data)
    picture = [MediaPart("image", "image/png", data) for data in ("AAA=", "BBB=")]
    assert response.message.content[:4] == (TextPart("a"), *picture, TextPart("b"))
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("f", {"a": 1})]


def counted(text: str, tokens: int, **more: Any) -> bytes:
    candidate = {"content": {"parts": [{"text": text}]}, **more}
    return sse(
        {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": tokens}, "responseId": "r1"}
    )


def test_counts_that_come_with_text_are_told_when_more_than_text_comes() -> None:
    wire = [counted("a", 1), counted("b", 2), counted("c", 3), counted("d", 4, finishReason="STOP")]
    found = [event.usage.output_tokens for event in events_of(wire, "gemini") if isinstance(event, Usage)]
    assert found == [1, 3, 4]


def test_counts_of_a_stream_that_breaks_or_is_left_are_the_newest() -> None:
    wire = [counted("a", 1), counted("b", 2), counted("c", 3)]
    broken = accumulate(wire, "gemini", strict=False)
    with ChatStream(wire, "gemini") as stream:
        for event in stream:
            if event == TextDelta("c", 1):
                break
    for response in (broken, stream.finalize(strict=False)):
        assert response.usage is not None
        assert (response.usage.output_tokens, response.text) == (3, "abc")


def test_counts_that_were_not_told_yet_are_in_a_dump() -> None:
    decoder = StreamDecoder("gemini")
    for piece in (counted("a", 1), counted("b", 2)):
        decoder.feed(piece)
    assert [type(event) for event in StreamDecoder.load(decoder.dump()).close()] == [Usage]
