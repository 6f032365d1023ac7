"""Bedrock Converse, Cohere, Ollama, bare text, and our own events: what is particular to each."""

import base64
import json
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    FinishReason,
    MediaPart,
    Notice,
    ProviderError,
    ProviderPart,
    ReasoningPart,
    TextDelta,
    TextPart,
    Truncated,
    Unknown,
    accumulate,
    accumulate_choices,
    parse_response,
)
from streamaccumulator.events import encode_event

from ..wire import aws_frame, codes, delta, events_of, finish, fold, sse


def lines(*payloads: Any) -> bytes:
    return b"".join([json.dumps(payload).encode() + b"\n" for payload in payloads])


# ---- Bedrock Converse.


def bedrock(*events: dict[str, Any]) -> AccumulatedResponse:
    """The same from lines and from AWS frames."""
    stop = {"messageStop": {"stopReason": "end_turn"}}
    by_lines = accumulate(lines(*events, stop), strict=False)
    frames = [aws_frame(name, fields) for event in (*events, stop) for name, fields in event.items()]
    assert accumulate(b"".join(frames), strict=False) == by_lines
    return by_lines


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": fields}}


def test_bedrock_blocks_begin_with_their_first_delta_and_may_overlap() -> None:
    response = bedrock(
        {"messageStart": {"role": "assistant"}},
        block(0, text="a"),
        block(1, reasoningContent={"text": "r"}),
        block(0, text="b"),
        block(1, reasoningContent={"signature": "S"}),
        block(2, reasoningContent={"redactedContent": "ZQ=="}),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        block(3, citation={"title": "t"}),
        block(4, hologram={"x": 1}),
        block(5, image={"source": {"bytes": "aGk="}}),
    )
    assert response.message.content == (
        TextPart("ab"),
        ReasoningPart("r", "S"),
        ReasoningPart("", None, "ZQ=="),
        TextPart("", ({"title": "t"},)),
        MediaPart("image", None, "aGk="),
    )
    assert (response.extra, codes(response)) == ({"hologram": {"x": 1}}, {"unknown_event"})


def test_bedrock_calls_are_the_clients_unless_the_provider_ran_them() -> None:
    start = {"toolUseId": "t", "name": "py", "type": "server_tool_use"}
    response = bedrock(
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": start}}},
        block(0, toolUse={"input": '{"x":'}),
        block(0, toolUse={"input": "1}"}),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "t"}}}},
        block(1, toolResult=[{"text": "a"}]),
        block(1, toolResult=[{"json": {"b": 1}}]),
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "u", "name": "f"}}}},
        {"contentBlockStop": {"contentBlockIndex": 2}},
    )
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [("u", "f", {})]
    assert response.message.content[:2] == (
        ProviderPart("toolUse", {**start, "input": {"x": 1}}),
        ProviderPart("toolResult", {"toolUseId": "t", "content": [{"text": "a"}, {"json": {"b": 1}}]}),
    )


def test_bedrock_usage_comes_after_the_end() -> None:
    usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 9, "cacheReadInputTokens": 6}
    response = accumulate(
        lines(
            block(0, text="a"),
            {"messageStop": {"stopReason": "guardrail_intervened"}},
            {"metadata": {"usage": usage, "trace": {"g": 1}}},
        )
    )
    assert (response.finish_reason, response.extra) == (FinishReason.CONTENT_FILTER, {"trace": {"g": 1}})
    assert response.usage is not None
    assert (response.usage.input_total, response.usage.cache_read_tokens) == (7, 6)


def test_bedrock_dicts_of_boto3_and_a_whole_list_of_events_are_read() -> None:
    events = [block(0, text="Hi"), {"messageStop": {"stopReason": "end_turn"}}]
    assert (
        accumulate(events).text == accumulate({"stream": iter(events)}).text == accumulate(json.dumps(events).encode()).text == "Hi"
    )
    with pytest.raises(ProviderError, match="throttlingException: slow"):
        accumulate([events[0], {"throttlingException": {"message": "slow"}}])


@pytest.mark.parametrize("wrap", [lambda inner: aws_frame("chunk", {"bytes": base64.b64encode(inner).decode(), "p": "ab"})])
def test_invoke_model_frames_hold_another_protocol(wrap: Any) -> None:
    claude = [
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 3}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    payloads = [json.dumps(payload).encode() for payload in claude]
    response = accumulate(b"".join([wrap(payload) for payload in payloads]))
    assert (response.text, response.complete) == ("Hi", True)
    boto = [{"chunk": {"bytes": payload}} for payload in payloads]
    assert accumulate(boto) == accumulate({"body": boto}, "anthropic-messages") == response


# ---- Cohere.


def test_cohere_pieces_by_index_and_a_citation_of_its_text() -> None:
    def content(index: int, **fields: Any) -> dict[str, Any]:
        return {"type": "content-delta", "index": index, "delta": {"message": {"content": fields}}}

    response = accumulate(
        sse(
            {"type": "message-start", "id": "c", "delta": {"message": {"role": "assistant", "content": [], "tool_calls": []}}},
            {"type": "debug", "prompt": "p"},
            content(0, thinking="hm"),
            content(1, text="Hi"),
            {"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"text": "Hi", "content_index": 1}}}},
            content(1, text="!"),
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 3.0}}, "more": 1}},
        ),
        "cohere",
    )
    assert response.message.content == (ReasoningPart("hm"), TextPart("Hi!", ({"text": "Hi", "content_index": 1},)))
    assert response.usage is not None
    assert (response.usage.input_tokens, response.extra, codes(response)) == (3, {"more": 1}, set())


@pytest.mark.parametrize(
    ("word", "reason"),
    [("MAX_TOKENS", "length"), ("TOOL_CALL", "tool_calls"), ("ERROR_TOXIC", "content_filter"), ("TIMEOUT", "error")],
)
def test_cohere_reasons(word: str, reason: str) -> None:
    response = accumulate(sse({"type": "message-end", "delta": {"finish_reason": word}}), "cohere", strict=False)
    assert (response.finish_reason, bool(response.errors)) == (reason, reason == "error")


# ---- Ollama.


def test_ollama_calls_are_whole_and_its_counts_come_with_the_end() -> None:
    call = {"function": {"name": "f", "arguments": {"n": 2512292042121000001}}}
    response = accumulate(
        lines(
            {"model": "q", "message": {"content": "", "tool_calls": [call, call]}, "done": False},
            {"model": "q", "message": {"content": "a", "images": ["aGk="]}, "done": False},
            {"model": "q", "message": {"content": ""}, "done": True, "eval_count": 0, "total_duration": 5},
        )
    )
    assert [(found.id, found.arguments) for found in response.tool_calls] == [
        ("call_1", {"n": 2512292042121000001}),
        ("call_2", {"n": 2512292042121000001}),
    ]
    assert response.message.content[2:] == (TextPart("a"), MediaPart("image", None, "aGk="))
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (None, 0)
    assert (response.finish_reason, response.extra) == ("tool_calls", {"total_duration": 5})


def test_ollama_without_done_is_truncated_and_its_error_line_is_an_error() -> None:
    with pytest.raises(Truncated):
        accumulate(lines({"model": "q", "message": {"content": "a"}, "done": False}))
    with pytest.raises(ProviderError, match="out of memory"):
        accumulate(lines({"model": "q", "message": {"content": "a"}, "done": False}, {"error": "out of memory"}))
    assert accumulate(lines({"model": "q", "response": "", "done": True, "done_reason": "load"})).finish_reason == "unknown"


# ---- Bare text.


@pytest.mark.parametrize(
    ("payloads", "text", "raw", "counts"),
    [
        ([{"choices": [{"text": "a"}]}, {"choices": [{"text": "b", "finish_reason": "stop"}]}], "ab", "stop", (None, None)),
        (
            [{"outputText": "ab", "completionReason": "FINISH", "inputTextTokenCount": 3, "totalOutputTextTokenCount": 4}],
            "ab",
            "FINISH",
            (3, 4),
        ),
        (
            [
                {"generation": "a", "prompt_token_count": 3},
                {"generation": "b", "stop_reason": "length", "generation_token_count": 4},
            ],
            "ab",
            "length",
            (3, 4),
        ),
        ([{"completion": "ab", "stop_reason": "stop_sequence"}], "ab", "stop_sequence", (None, None)),
        (
            [{"is_finished": False, "text": "a"}, {"is_finished": True, "text": "b", "finish_reason": "COMPLETE"}],
            "ab",
            "COMPLETE",
            (None, None),
        ),
        ([{"outputs": [{"text": "ab", "stop_reason": "stop"}]}], "ab", "stop", (None, None)),
        (
            [
                {
                    "results": [
                        {"generated_text": "ab", "stop_reason": "eos_token", "input_token_count": 3, "generated_token_count": 4}
                    ]
                }
            ],
            "ab",
            "eos_token",
            (3, 4),
        ),
    ],
)
def test_bare_text_under_each_name(payloads: list[Any], text: str, raw: str, counts: tuple[Any, Any]) -> None:
    response = accumulate(payloads)
    assert (response.text, response.raw_finish_reason, response.complete) == (text, raw, True)
    assert response.finish_reason is not FinishReason.UNKNOWN
    usage = response.usage
    assert (usage.input_tokens if usage else None, usage.output_tokens if usage else None) == counts


def test_prompts_of_text_completions_are_choices() -> None:
    both = {"choices": [{"index": n, "text": "ab"[n], "logprobs": {"tokens": ["ab"[n]]}, "finish_reason": "stop"} for n in (0, 1)]}
    found = accumulate_choices(sse(both), "openai-completions")
    assert [(one.text, one.logprobs) for one in found.values()] == [("a", {"tokens": ["a"]}), ("b", {"tokens": ["b"]})]


# ---- Our own events.


def test_events_printed_and_read_again_are_the_events() -> None:
    events = events_of(delta(content="a") + sse({"error": {"message": "m"}}) + finish("stop"))
    data = b"".join([encode_event(event) + b"\n" for event in events])
    assert events_of(data, "events") == events_of(data) == events
    assert accumulate(data, strict=False) == fold(events)
    assert accumulate([json.loads(line) for line in data.splitlines()], strict=False) == fold(events)


def test_an_event_that_is_none_is_counted_or_fitted() -> None:
    data = lines(
        {"type": "started"},
        {"type": "text_delta", "delta": "a", "part": "1"},
        {"type": "nova"},
        {"type": "text_delta"},
        {"delta": "b"},
    )
    events = events_of(data, "events")
    assert [event for event in events if isinstance(event, Unknown)] == [
        Unknown("nova"),
        Unknown("text_delta without its fields"),
        Unknown("None"),
    ]
    assert TextDelta("a", 1) in events
    assert any(isinstance(event, Notice) for event in events)


def test_a_body_in_any_layout_is_one_response() -> None:
    body = {"id": "c", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}}
    for data in (json.dumps(body), json.dumps(body, indent=2), body, json.dumps(body).encode()):
        assert parse_response(data).text == "Hi"


def test_a_hostile_body_of_bedrock_is_told() -> None:
    content = [{"reasoningContent": {"text": [1]}}, {"reasoningContent": {"reasoningText": {"text": "r", "signature": "S"}}}]
    response = parse_response({"output": {"message": {"content": content}}, "stopReason": "end_turn"})
    assert response.message.content == (ReasoningPart("r", "S"),)
    assert codes(response) == {"unexpected_type"}


@pytest.mark.parametrize("protocol", ["cohere", "bedrock-converse", "openai-chat", "auto"])
def test_a_body_that_is_a_services_refusal_is_its_error(protocol: str) -> None:
    body = {"message": "invalid api token"} if protocol != "auto" else {"error": {"message": "invalid api token"}}
    with pytest.raises(ProviderError, match="invalid api token"):
        accumulate(json.dumps(body).encode(), protocol)


def test_log_probabilities_of_ollama_and_cohere() -> None:
    one = [{"token": "a", "logprob": -0.1}]
    assert accumulate(lines({"message": {"content": "a"}, "logprobs": one, "done": False}, {"done": True})).logprobs == {
        "content": one
    }
    piece = {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "a"}}}, "logprobs": {"token_ids": [1]}}
    found = accumulate(sse(piece, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}))
    assert found.logprobs == {"content": [{"token_ids": [1]}]}


def test_zero_is_zero_in_bare_text_too() -> None:
    response = accumulate([{"generation": "", "generation_token_count": 0, "stop_reason": "stop"}])
    assert response.usage is not None
    assert response.usage.output_tokens == 0
