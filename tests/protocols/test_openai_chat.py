"""OpenAI chat and its look-alikes: what each quirk of the wire becomes. Goldens that read as a story."""

import json
from typing import Any

import pytest

from streamaccumulator import (
    CitationPart,
    FinishReason,
    InvalidToolCallJson,
    MediaPart,
    ProviderError,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    Truncated,
    accumulate_choices,
    parse_response,
)

from ..wire import DONE, call, chat, codes, delta, finish, read, sse

# ---- The whole story, once.


def test_a_message_with_everything() -> None:
    response = read(
        delta(role="assistant", content=""),
        delta(reasoning_content="Let me "),
        delta(reasoning_content="see."),
        delta(content="Hel"),
        delta(content="lo \U0001f980"),
        call(0, "c1", "weather", ""),
        call(0, arguments='{"city":'),
        call(1, "c2", "time", '{"zone"'),
        call(0, arguments='"Bonn"}'),
        call(1, arguments=':"CET"}'),
        finish("tool_calls"),
        chat(
            usage={
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "total_tokens": 14,
                "prompt_tokens_details": {"cached_tokens": 4},
            }
        ),
        DONE,
    )
    assert response.message.content == (
        ReasoningPart("Let me see.", extra={"field": "reasoning_content"}),
        TextPart("Hello \U0001f980"),
        ToolCall("c1", "weather", {"city": "Bonn"}, '{"city":"Bonn"}'),
        ToolCall("c2", "time", {"zone": "CET"}, '{"zone":"CET"}'),
    )
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "tool_calls")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.cache_read_tokens) == (9, 5, 4)
    assert (response.id, response.model, response.complete, response.diagnostics) == ("x1", "m1", True, ())


# ---- Chunks and choices: missing, empty, odd.


@pytest.mark.parametrize("odd", [{"choices": []}, {"choices": None}, {"cost": "0"}, {"choices": [{"index": 0, "delta": None}]}])
def test_chunks_without_content_change_nothing(odd: dict[str, Any]) -> None:
    response = read(delta(content="a"), sse({"id": "x1", **odd}), delta(content="b"), finish("stop"), DONE)
    assert (response.text, response.finish_reason, response.complete) == ("ab", FinishReason.STOP, True)


def test_blank_identity_is_not_said() -> None:
    preamble = sse({"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    response = read(preamble, delta(content="A"), finish("stop"))
    assert (response.id, response.model) == ("x1", "m1")
    assert response.extra["prompt_filter_results"] == [{"prompt_index": 0}]


def test_keys_that_are_not_modelled_are_kept() -> None:
    response = read(
        sse({"id": "x1", "choices": [], "system_fingerprint": "fp", "cost": "0"}),
        delta(content="a"),
        chat(
            {"index": 0, "delta": {}, "finish_reason": "stop", "native_finish_reason": "STOP", "stop_reason": None},
            citations=["https://example.org"],
        ),
    )
    assert response.extra == {
        "system_fingerprint": "fp",
        "cost": "0",
        "created": 1,
        "native_finish_reason": "STOP",
        "citations": ["https://example.org"],
    }


def test_content_filter_results_of_every_chunk_are_kept() -> None:
    def filtered(kind: str) -> bytes:
        return chat({"index": 0, "delta": {"content": "a"}, "content_filter_results": {kind: {"filtered": False}}})

    response = read(filtered("hate"), filtered("violence"), finish("stop"))
    assert set(response.extra["content_filter_results"]) == {"hate", "violence"}


def test_choices_never_mix() -> None:
    data = b"".join(
        [
            chat({"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "A"}}),
            chat({"index": 1, "delta": {"content": "2"}, "finish_reason": "stop"}),
            chat({"index": 0, "delta": {"content": "1"}, "finish_reason": "length"}),
            chat(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
            DONE,
        ]
    )
    choices = accumulate_choices(data, "openai-chat")
    assert {index: (one.text, one.raw_finish_reason) for index, one in choices.items()} == {
        0: ("A1", "length"),
        1: ("B2", "stop"),
    }
    assert all(one.usage is not None and one.id == "x1" for one in choices.values())
    first = read(data)
    assert (first.text, codes(first)) == ("A1", {"other_choices"})


def test_a_choice_that_comes_late_is_told_what_belongs_to_all() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    data = chat({"index": 0, "delta": {"content": "A"}, "finish_reason": "stop"}, usage=usage) + chat(
        {"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}
    )
    late = accumulate_choices(data, "openai-chat")[1]
    assert (late.id, late.usage is not None and late.usage.total_tokens) == ("x1", 3)


def test_the_gravest_error_of_all_choices_is_raised_with_all_of_them() -> None:
    data = chat({"index": 0, "delta": {"content": "A"}, "finish_reason": "stop"}) + chat({"index": 1, "delta": {"content": "B"}})
    with pytest.raises(Truncated) as caught:
        accumulate_choices(data, "openai-chat")
    assert caught.value.response is not None
    assert caught.value.response.text == "B"
    assert caught.value.choices is not None
    assert {index: one.text for index, one in caught.value.choices.items()} == {0: "A", 1: "B"}


# ---- Content.


def test_content_as_a_list_of_parts() -> None:
    response = read(
        delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}]),
        delta(content=[{"type": "text", "text": "yes"}, {"type": "reference", "reference_ids": [1]}]),
        delta(content="!"),
        delta(content=[{"type": "image_url", "image_url": "u"}, "?", 7]),
        finish("stop"),
    )
    assert response.message.content == (
        ReasoningPart("hm", extra={"field": "content"}),
        TextPart("yes!?", ({"type": "reference", "reference_ids": [1]},)),
        ProviderPart("image_url", {"type": "image_url", "image_url": "u"}),
    )
    assert codes(response) == {"unexpected_type"}


def test_one_delta_with_everything_in_it() -> None:
    entry = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    response = read(delta(reasoning_content="r", content="t", tool_calls=[entry]), finish("tool_calls"))
    assert (response.reasoning, response.text, len(response.tool_calls)) == ("r", "t", 1)


def test_a_refusal_is_its_own_channel() -> None:
    response = read(delta(refusal="I "), delta(refusal="cannot."), finish("stop"))
    assert (response.refusal, response.text) == ("I cannot.", "")


def test_annotations_images_and_audio() -> None:
    response = read(
        delta(annotations=[{"type": "url_citation", "url_citation": {"url": "a"}}]),
        delta(images=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}, {"type": "odd"}]),
        delta(audio={"id": "au", "transcript": "Hel"}),
        delta(audio={"data": "QUJD", "transcript": "lo"}),
        delta(audio={"expires_at": 5}),
        finish("stop"),
    )
    assert response.message.content == (
        CitationPart({"type": "url_citation", "url_citation": {"url": "a"}}),
        MediaPart("image", "image/png", "data:image/png;base64,AA"),
        ProviderPart("odd", {"type": "odd"}),
        ProviderPart("audio", {"id": "au", "transcript": "Hello", "data": "QUJD"}, {"expires_at": 5}),
    )


def test_log_probabilities_append() -> None:
    def with_logprobs(value: Any) -> bytes:
        return chat({"index": 0, "delta": {"content": "a"}, "logprobs": value})

    response = read(
        with_logprobs({"content": [{"token": "a"}], "refusal": None}),
        with_logprobs(None),
        with_logprobs({"content": None}),
        with_logprobs({"content": [{"token": "b"}]}),
        finish("stop"),
    )
    assert response.logprobs == {"content": [{"token": "a"}, {"token": "b"}]}


# ---- Reasoning, under its names.


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_under_any_of_its_names(field: str) -> None:
    response = read(delta(**{field: "a", "content": None}), delta(**{field: "b"}), delta(content="c"), finish("stop"))
    assert response.message.content == (ReasoningPart("ab", extra={"field": field}), TextPart("c"))


def test_the_same_reasoning_under_two_names_counts_once() -> None:
    detail = {"type": "reasoning.text", "index": 0, "text": "a", "format": "unknown"}
    response = read(delta(reasoning="a", reasoning_content="a", reasoning_details=[detail]), finish("stop"))
    assert (response.reasoning, codes(response)) == ("a", set())


def test_other_reasoning_under_a_second_name_is_told() -> None:
    response = read(delta(reasoning="a", reasoning_text="b"), finish("stop"))
    assert (response.reasoning, codes(response)) == ("a", {"reasoning_conflict"})


def test_reasoning_details_are_joined_into_logical_blocks() -> None:
    response = read(
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a", "signature": None, "format": "f"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "signature": "S", "id": "r1"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "ENC", "id": "r2"}]),
        delta(reasoning_details=[{"type": "reasoning.summary", "index": 2, "summary": "so"}]),
        finish("stop"),
    )
    assert response.message.content == (
        ReasoningPart("ab", "S", extra={"type": "reasoning.text", "index": 0, "format": "f", "id": "r1"}),
        ReasoningPart(redacted="ENC", extra={"type": "reasoning.encrypted", "index": 1, "id": "r2"}),
        ReasoningPart("so", extra={"type": "reasoning.summary", "index": 2}),
    )


# ---- Tool calls: which call, which id.


def test_arguments_null_whole_or_an_object() -> None:
    entries = [
        {"index": 0, "id": "c1", "function": {"name": "f", "arguments": None}},
        {"index": 1, "id": "c2", "function": {"name": "g", "arguments": {"b": 2512292042121000001}}},
        {"index": 2, "id": "c3", "function": {"name": "h", "arguments": '{"c":3}'}},
        {"index": 3, "id": "c4", "function": {"name": "i"}},
        {"index": 4, "id": "c5", "function": None},
        {"index": 4, "function": {"name": "j"}},
    ]
    response = read(delta(tool_calls=entries), finish("tool_calls"))
    assert [(c.name, c.arguments, c.arguments_raw) for c in response.tool_calls] == [
        ("f", {}, ""),
        ("g", {"b": 2512292042121000001}, '{"b":2512292042121000001}'),
        ("h", {"c": 3}, '{"c":3}'),
        ("i", {}, ""),
        ("j", {}, ""),
    ]


def test_a_custom_tool_call() -> None:
    first = {"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls "}}
    response = read(delta(tool_calls=[first]), delta(tool_calls=[{"index": 0, "custom": {"input": "-l {"}}]), finish("tool_calls"))
    assert response.tool_calls == (ToolCall("c1", "sh", "ls -l {", "ls -l {", "custom"),)


def test_a_legacy_function_call() -> None:
    response = read(
        delta(role="assistant", function_call={"name": "f"}),
        delta(function_call={"arguments": '{"a"'}),
        delta(function_call={"arguments": ":1}"}),
        finish("function_call"),
    )
    assert response.tool_calls == (ToolCall("call_1", "f", {"a": 1}, '{"a":1}', minted=True, extra={"legacy": "function_call"}),)
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "function_call")


def test_provider_extras_of_a_call_are_kept() -> None:
    entry = {"index": 0, "id": "c1", "function": {"name": "f"}, "extra_content": {"google": {"thought_signature": "S"}}}
    (found,) = read(delta(tool_calls=[entry]), finish("tool_calls")).tool_calls
    assert found.extra == {"extra_content": {"google": {"thought_signature": "S"}}}


# ---- Finish.


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("model_length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("weird_reason", FinishReason.UNKNOWN),
    ],
)
def test_finish_reasons_keep_the_providers_word(raw: str, reason: FinishReason) -> None:
    response = read(delta(content="a"), finish(raw))
    assert (response.finish_reason, response.raw_finish_reason, response.complete) == (reason, raw, True)


def test_blank_and_null_reasons_are_not_said_and_erase_nothing() -> None:
    response = read(
        chat({"index": 0, "delta": {"content": "a"}, "finish_reason": ""}),
        chat({"index": 0, "delta": {"content": "b"}}),
        chat({"index": 0, "delta": {"content": "c"}, "finish_reason": "stop"}),
        chat({"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 9}}),
    )
    assert (response.text, response.raw_finish_reason) == ("abc", "stop")
    assert response.extra["content_filter_offsets"] == {"check_offset": 9}


def test_finishing_twice_is_finishing_once() -> None:
    response = read(call(0, "c1", "f", "{}"), finish("tool_calls"), finish("stop"), DONE)
    assert (response.raw_finish_reason, len(response.tool_calls), codes(response)) == ("tool_calls", 1, {"second_finish"})


def test_stop_with_calls_is_tool_calls() -> None:
    response = read(call(0, "c1", "f", "{}"), finish("stop"))
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "stop")


def test_done_ends_the_calls_but_is_no_finish() -> None:
    response = read(delta(content="a"), call(0, "c1", "f", "{}"), DONE)
    assert [found.id for found in response.tool_calls] == ["c1"]
    assert (response.finish_reason, response.complete, response.errors) == (None, False, (Truncated(),))


def test_of_parallel_calls_cut_by_length_the_whole_ones_are_kept() -> None:
    response = read(call(0, "c1", "f", '{"a":1}'), call(1, "c2", "g", '{"summary": '), finish("length"), DONE)
    assert [found.id for found in response.tool_calls] == ["c1"]
    (error,) = response.errors
    assert isinstance(error, InvalidToolCallJson)
    assert (error.call_id, error.cause, response.finish_reason) == ("c2", "cut", FinishReason.LENGTH)


# ---- Usage, wherever it stands.

USAGE = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}


@pytest.mark.parametrize(
    "closing",
    [
        chat(usage=USAGE),
        chat(usage=USAGE) + chat(),
        chat({"index": 0, "delta": {}, "finish_reason": "stop"}, usage=USAGE),
        chat({"index": 0, "delta": {}, "finish_reason": "stop"}, x_groq={"id": "r", "usage": USAGE}),
        chat({"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}),
        chat({"index": 0, "delta": {}, "finish_reason": "stop"}, usage=USAGE, x_groq={"usage": USAGE}),
        chat(usage=USAGE) + chat({"index": 0, "delta": {}, "finish_reason": None}, usage=None),
        chat(usage={"prompt_tokens": None, "completion_tokens": None}) + chat(usage=USAGE),
    ],
)
def test_usage_in_any_of_its_places(closing: bytes) -> None:
    usage = read(delta(content="a"), finish("stop"), closing, DONE).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (3, 1, 4)
    assert (usage.cache_read_tokens, usage.raw) == (None, USAGE)


def test_usage_in_every_chunk_is_a_running_total() -> None:
    chunks = [chat({"index": 0, "delta": {"content": "a"}}, usage={**USAGE, "completion_tokens": at}) for at in (1, 2, 3)]
    usage = read(*chunks, finish("stop")).usage
    assert usage is not None
    assert usage.output_tokens == 3


@pytest.mark.parametrize(
    ("raw", "cached", "written", "reasoning"),
    [
        ({"prompt_cache_hit_tokens": 8, "completion_tokens_details": {"reasoning_tokens": 2}}, 8, None, 2),
        ({"cached_tokens": 8, "reasoning_tokens": 2}, 8, None, 2),
        ({"cache_read_input_tokens": 8, "cache_creation_input_tokens": 1}, 8, 1, None),
        ({"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1}}, 0, 1, None),
        ({"prompt_tokens_details": {"cached_tokens": None}}, None, None, None),
        ({"prompt_tokens_details": None}, None, None, None),
        ({"prompt_tokens_details": {"cached_tokens": True}}, None, None, None),
    ],
)
def test_the_places_of_detailed_counts(raw: dict[str, Any], cached: int | None, written: int | None, reasoning: int | None) -> None:
    usage = read(finish("stop"), chat(usage={**USAGE, **raw})).usage
    assert usage is not None
    assert (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (cached, written, reasoning)


# ---- Errors in band.


@pytest.mark.parametrize(
    ("frame", "kind", "message"),
    [
        (sse({"error": {"message": "overloaded", "type": "server_error", "code": "x"}}), "server_error", "overloaded"),
        (sse({"error": "no more"}), "error", "no more"),
        (sse({"error": {"code": 400, "message": "bad"}}, event="error"), "400", "bad"),
        (sse({"message": "bare", "type": "t"}, event="error"), "t", "bare"),
        (b"event: error\ndata: Internal Server Error\n\n", "error", "Internal Server Error"),
        (sse({"object": "error", "message": "vllm", "type": "BadRequest", "code": 400}), "BadRequest", "vllm"),
        (chat({"index": 0, "delta": {}, "error": {"code": 502, "message": "up"}, "finish_reason": "error"}), "502", "up"),
        (
            chat({"index": 0, "delta": {}, "finish_reason": "error"}),
            "error",
            "the model's turn ended with 'error'",
        ),
        (b'{"error":{"message":"context too long","code":400}}\n\n', "400", "context too long"),
    ],
)
def test_an_error_inside_a_200_stream_is_the_providers(frame: bytes, kind: str, message: str) -> None:
    response = read(delta(content="par"), frame, DONE)
    (error,) = response.errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message) == (kind, message)
    assert (response.text, response.finish_reason, response.complete) == ("par", FinishReason.ERROR, False)
    assert error.raw


def test_a_stream_that_is_nothing_but_an_error_body() -> None:
    body = json.dumps({"error": {"message": "no such model", "type": "not_found"}}, indent=2).encode()
    assert [type(error) for error in read(body).errors] == [ProviderError]


# ---- Surprises.


def test_a_field_of_another_type_is_told_and_its_neighbours_are_kept() -> None:
    response = read(
        sse({"id": 17, "model": ["m"], "choices": [{"index": "0", "delta": {"content": "a", "refusal": {}, "tool_calls": "x"}}]}),
        sse({"id": 17, "choices": [3, {"index": 0, "delta": {"content": 5}}, {"index": 0, "delta": {"content": "b"}}]}),
        finish("stop"),
    )
    assert (response.text, response.id) == ("a5b", "17")
    assert "unexpected_type" in codes(response)


@pytest.mark.parametrize("payload", [b"null", b"3", b'"text"', b"[1]", b"true"])
def test_json_that_is_no_object_is_unknown_and_not_fatal(payload: bytes) -> None:
    response = read(delta(content="a"), b"data: " + payload + b"\n\n", finish("stop"))
    assert (response.text, response.complete, codes(response)) == ("a", True, {"unknown_event"})


def test_a_frame_that_is_no_json_is_told_with_its_place_and_the_stream_goes_on() -> None:
    before = delta(content="a")
    response = read(before, b"data: {broken\n\n", delta(content="b"), finish("stop"))
    (error,) = response.errors
    assert str(error).startswith(f"the frame at byte {len(before)} could not be read: no JSON")
    assert response.text == "ab"


def test_a_second_response_in_one_stream_is_told() -> None:
    other = sse({"id": "x2", "model": "m1", "choices": [{"index": 0, "delta": {"content": "again"}}]})
    response = read(delta(content="a"), other, finish("stop"))
    assert (response.id, codes(response)) == ("x1", {"second_response"})


def test_half_characters_that_a_server_cut_apart_are_joined() -> None:
    response = read(
        b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83e"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"\\udd80b"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83e"}}]}\n\n',
        finish("stop"),
    )
    assert (response.text, codes(response)) == ("a\U0001f980b\ufffd", {"lone_surrogate"})


# ---- The same message unstreamed.


def test_an_unstreamed_body_gives_an_equal_message() -> None:
    message = {
        "role": "assistant",
        "reasoning_content": "r",
        "content": "t",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
            {"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "x1", "object": "chat.completion", "created": 1, "model": "m1", "choices": [choice], "usage": USAGE}
    streamed = read(
        delta(reasoning_content="r"),
        delta(content="t"),
        call(0, "c1", "f", '{"a":'),
        call(0, arguments="1}"),
        call(1, "c2", "f", "{}"),
        finish("tool_calls"),
        chat(usage=USAGE),
        DONE,
    )
    assert parse_response(body, "openai-chat") == streamed
    assert parse_response(json.dumps(body)) == streamed
    assert read(json.dumps(body).encode()) == streamed
