"""Anthropic Messages: what each event and each deviation of the wire becomes. Goldens that read as a story."""

import json
from typing import Any

import pytest

from streamaccumulator import AccumulatedResponse as Response
from streamaccumulator import (
    FinishReason,
    InvalidToolCallJson,
    ProviderError,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    Truncated,
    parse_response,
)

from ..wire import DONE, anthropic, codes, sse
from ..wire import read as read_any


def read(*pieces: bytes) -> Response:
    return read_any(*pieces, protocol="anthropic-messages")


def start(**fields: Any) -> bytes:
    message: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
    }
    return anthropic("message_start", message={**message, **fields})


def block(index: int, kind: str, **fields: Any) -> bytes:
    return anthropic("content_block_start", index=index, content_block={"type": kind, **fields})


def piece(index: int, kind: str, **fields: Any) -> bytes:
    return anthropic("content_block_delta", index=index, delta={"type": kind, **fields})


def stop(index: int) -> bytes:
    return anthropic("content_block_stop", index=index)


def end(reason: str = "end_turn", **delta: Any) -> bytes:
    closing = anthropic("message_delta", delta={"stop_reason": reason, "stop_sequence": None, **delta}, usage={"output_tokens": 9})
    return closing + anthropic("message_stop")


# ---- The whole story, once.


def test_a_message_with_everything() -> None:
    response = read(
        start(usage={"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1}),
        block(0, "thinking", thinking="", signature=""),
        anthropic("ping"),
        piece(0, "thinking_delta", thinking="h"),
        piece(0, "thinking_delta", thinking="m"),
        piece(0, "signature_delta", signature="SIG"),
        stop(0),
        block(1, "redacted_thinking", data="ENC"),
        stop(1),
        block(2, "text", text=""),
        piece(2, "text_delta", text="Hello \U0001f980"),
        piece(2, "citations_delta", citation={"type": "char_location", "cited_text": "f"}),
        stop(2),
        block(3, "tool_use", id="t1", name="f", input={}),
        piece(3, "input_json_delta", partial_json=""),
        piece(3, "input_json_delta", partial_json='{"a":'),
        piece(3, "input_json_delta", partial_json="1}"),
        stop(3),
        end("tool_use"),
    )
    assert response.message.content == (
        ReasoningPart("hm", "SIG"),
        ReasoningPart(redacted="ENC"),
        TextPart("Hello \U0001f980", ({"type": "char_location", "cited_text": "f"},)),
        ToolCall("t1", "f", {"a": 1}, '{"a":1}'),
    )
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "tool_use")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.cache_read_tokens, response.usage.output_tokens) == (20, 5, 9)
    assert (response.usage.input_total, response.usage.total_tokens) == (25, None)
    assert (response.id, response.model, response.complete, response.diagnostics) == ("m1", "claude", True, ())


# ---- Blocks.


def test_two_text_blocks_stay_two_parts_and_an_empty_one_is_none() -> None:
    response = read(
        start(),
        block(0, "text", text=""),
        stop(0),
        block(1, "text"),
        piece(1, "text_delta", text="a"),
        stop(1),
        block(2, "text", text="b"),
        piece(2, "text_delta", text="c"),
        stop(2),
        end(),
    )
    assert response.message.content == (TextPart("a"), TextPart("bc"))


def test_blocks_may_overlap_and_their_ends_may_come_together() -> None:
    response = read(
        start(),
        block(0, "thinking", thinking=""),
        piece(0, "thinking_delta", thinking="r"),
        block(1, "text", text=""),
        piece(1, "text_delta", text="t"),
        block(2, "tool_use", id="t1", name="f"),
        piece(0, "thinking_delta", thinking="R"),
        piece(2, "input_json_delta", partial_json='{"a"'),
        piece(1, "text_delta", text="T"),
        piece(2, "input_json_delta", partial_json=":1}"),
        stop(0),
        stop(1),
        stop(2),
        end("tool_use"),
    )
    assert response.message.content == (ReasoningPart("rR"), TextPart("tT"), ToolCall("t1", "f", {"a": 1}, '{"a":1}'))


def test_several_thinking_blocks_keep_their_place_and_signature() -> None:
    response = read(
        start(),
        block(0, "thinking", thinking="alpha", signature="S1"),
        stop(0),
        block(1, "tool_use", id="t1", name="f", input={}),
        stop(1),
        block(2, "thinking", thinking=""),
        piece(2, "thinking_delta", thinking="beta"),
        piece(2, "signature_delta", signature="S2"),
        stop(2),
        end("tool_use"),
    )
    assert response.message.content == (ReasoningPart("alpha", "S1"), ToolCall("t1", "f"), ReasoningPart("beta", "S2"))


def test_a_block_whose_start_was_lost_is_opened_by_its_delta_and_told() -> None:
    response = read(start(), piece(1, "text_delta", text="a"), piece(1, "text_delta", text="b"), end())
    assert (response.text, codes(response)) == ("ab", {"block_not_started"})


def test_arguments_whose_start_was_lost_are_told_as_a_call_without_a_name() -> None:
    (error,) = read(start(), piece(1, "input_json_delta", partial_json="{}"), stop(1), end("tool_use")).errors
    assert isinstance(error, InvalidToolCallJson)
    assert (error.cause, error.raw_arguments) == ("unnamed", "{}")


def test_an_index_used_again_is_another_part() -> None:
    response = read(start(), block(0, "text", text="a"), stop(0), block(0, "text", text="b"), stop(0), end())
    assert response.message.content == (TextPart("a"), TextPart("b"))


def test_server_tools_and_their_results_stay_in_place_whole() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]}
    response = read(
        start(),
        block(0, "server_tool_use", id="s1", name="web_search", input={}),
        piece(0, "input_json_delta", partial_json='{"query":'),
        piece(0, "input_json_delta", partial_json='"x"}'),
        stop(0),
        anthropic("content_block_start", index=1, content_block=result),
        stop(1),
        block(2, "text", text="found"),
        stop(2),
        end(),
    )
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    assert response.message.content == (
        ProviderPart("server_tool_use", use),
        ProviderPart("web_search_tool_result", result),
        TextPart("found"),
    )
    assert response.tool_calls == ()


def test_compaction_and_blocks_nobody_knows_are_kept() -> None:
    response = read(
        start(),
        block(0, "compaction", content=None),
        piece(0, "compaction_delta", content="so "),
        piece(0, "compaction_delta", content="far"),
        stop(0),
        block(1, "new_block", data={"a": 1}),
        piece(1, "new_delta", note="n", count=3),
        stop(1),
        end(),
    )
    assert response.message.content == (
        ProviderPart("compaction", {"type": "compaction", "content": "so far"}),
        ProviderPart("new_block", {"type": "new_block", "data": {"a": 1}, "note": "n"}, {"count": 3}),
    )


def test_an_unknown_delta_of_a_known_block_and_an_unknown_event_are_counted() -> None:
    response = read(
        start(),
        block(0, "text", text="a"),
        piece(0, "sparkle_delta", sparkle="*"),
        anthropic("message_sparkle"),
        stop(0),
        end(),
    )
    assert {d.code: d.count for d in response.diagnostics} == {"unknown_event": 2}
    assert response.message.content == (TextPart("a", extra={"sparkle": "*"}),)


# ---- Calls.


def test_an_input_given_at_the_start_counts_unless_fragments_follow() -> None:
    response = read(
        start(),
        block(0, "tool_use", id="t1", name="f", input={"a": 1}, caller={"type": "direct"}),
        stop(0),
        block(1, "tool_use", id="t2", name="f", input={"a": 1}),
        piece(1, "input_json_delta", partial_json='{"b":2}'),
        stop(1),
        end("tool_use"),
    )
    assert [(found.arguments, found.extra) for found in response.tool_calls] == [
        ({"a": 1}, {"caller": {"type": "direct"}}),
        ({"b": 2}, {}),
    ]


def test_an_input_given_at_the_start_of_a_call_that_never_ended_is_in_the_error() -> None:
    errors = read(start(), block(0, "tool_use", id="t1", name="f", input={"a": 1})).errors
    assert [error.raw_arguments for error in errors if isinstance(error, InvalidToolCallJson)] == ['{"a":1}']


def test_bad_arguments_are_data_about_one_call_and_what_follows_is_read() -> None:
    response = read(
        start(),
        block(0, "tool_use", id="t1", name="f", input={}),
        piece(0, "input_json_delta", partial_json='{"k": Dave, "n":1}'),
        stop(0),
        block(1, "text", text="after"),
        stop(1),
        end("tool_use"),
    )
    (error,) = response.errors
    assert isinstance(error, InvalidToolCallJson)
    assert (error.name, error.offset, error.cause) == ("f", 6, "malformed")
    assert (response.text, response.raw_finish_reason) == ("after", "tool_use")


def test_a_call_stopped_by_max_tokens_before_its_arguments_is_cut() -> None:
    response = read(start(), block(0, "tool_use", id="t1", name="f", input={}), stop(0), end("max_tokens"))
    assert response.tool_calls == ()
    assert [error.cause for error in response.errors if isinstance(error, InvalidToolCallJson)] == ["cut"]


def test_calls_whose_end_marks_a_gateway_dropped_are_judged_at_the_end() -> None:
    response = read(
        start(), block(0, "tool_use", id="t1", name="f"), piece(0, "input_json_delta", partial_json="{}"), end("tool_use")
    )
    assert [found.id for found in response.tool_calls] == ["t1"]


# ---- The message around them.


def test_content_already_in_message_start() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t1", "name": "f", "input": {"p": 1}}]
    response = read(start(content=content, stop_reason="tool_use", container={"id": "c"}), anthropic("message_stop"))
    assert response.message.content == (TextPart("a"), ToolCall("t1", "f", {"p": 1}, '{"p":1}'))
    assert (response.complete, response.extra) == (True, {"container": {"id": "c"}})


def test_every_key_of_the_closing_delta_belongs_to_the_message() -> None:
    details = {"type": "refusal", "category": "z"}
    response = read(start(), end("refusal", stop_details=details, unheard_of=1))
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.CONTENT_FILTER, "refusal")
    assert response.extra == {"stop_details": details, "unheard_of": 1}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("tool_use", FinishReason.TOOL_CALLS),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("refusal", FinishReason.CONTENT_FILTER),
        ("pause_turn", FinishReason.UNKNOWN),
    ],
)
def test_stop_reasons_keep_the_providers_word(raw: str, reason: FinishReason) -> None:
    response = read(start(), end(raw))
    assert (response.finish_reason, response.raw_finish_reason) == (reason, raw)


def test_usage_of_start_and_closing_delta_is_one_running_total() -> None:
    usage = read(
        start(usage={"input_tokens": 20, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 3}}),
        anthropic(
            "message_delta",
            delta={"stop_reason": "end_turn"},
            usage={"output_tokens": 9, "input_tokens": None, "output_tokens_details": {"thinking_tokens": 4}},
        ),
    ).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (20, 9, 4)
    assert usage.raw == {
        "input_tokens": 20,
        "output_tokens": 9,
        "cache_creation": {"ephemeral_5m_input_tokens": 3},
        "output_tokens_details": {"thinking_tokens": 4},
    }


@pytest.mark.parametrize(
    ("frame", "kind", "message"),
    [
        (anthropic("error", error={"type": "overloaded_error", "message": "busy"}), "overloaded_error", "busy"),
        (sse({"error": {"type": "overloaded_error", "message": "busy"}}), "overloaded_error", "busy"),
        (sse({"error": "busy"}, event="error"), "error", "busy"),
        (b"event: error\ndata: upstream gone\n\n", "error", "upstream gone"),
    ],
)
def test_an_error_event_is_the_providers(frame: bytes, kind: str, message: str) -> None:
    response = read(start(), block(0, "text", text="par"), frame)
    (error,) = response.errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message, response.text, response.finish_reason) == (kind, message, "par", FinishReason.ERROR)


def test_message_stop_without_a_reason_is_truncated() -> None:
    assert read(start(), block(0, "text", text="a"), stop(0), anthropic("message_stop"), DONE).errors == (Truncated(),)


def test_done_of_a_gateway_is_read() -> None:
    assert read(start(), block(0, "text", text="a"), stop(0), end(), DONE).complete


def test_payloads_without_event_lines_or_without_a_type() -> None:
    untyped = sse({"index": 0, "delta": {"type": "text_delta", "text": "b"}}, event="content_block_delta")
    typed = sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}})
    assert read(start(), typed, untyped, end()).text == "ab"


def test_a_second_message_in_one_stream_is_told_and_both_are_kept() -> None:
    response = read(
        start(),
        block(0, "thinking", thinking="one", signature="S1"),
        block(1, "tool_use", id="t1", name="f"),
        piece(1, "input_json_delta", partial_json='{"cut'),
        start(id="m2"),
        block(0, "thinking", thinking="two", signature="S2"),
        block(1, "tool_use", id="t2", name="f"),
        piece(1, "input_json_delta", partial_json="{}"),
        stop(1),
        end("tool_use"),
    )
    assert response.message.content == (ReasoningPart("one", "S1"), ReasoningPart("two", "S2"), ToolCall("t2", "f", {}, "{}"))
    assert [error.call_id for error in response.errors if isinstance(error, InvalidToolCallJson)] == ["t1"]
    assert (response.id, codes(response)) == ("m1", {"second_response"})
    assert codes(read(start(), start(), end())) == {"second_response"}


def test_hostile_types_are_told_and_their_neighbours_are_kept() -> None:
    response = read(
        start(usage=[1], model=7, content="hi"),
        anthropic("content_block_start", index="0", content_block={"type": "text", "text": 5, "citations": {"a": 1}}),
        anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": 6}),
        anthropic("content_block_delta", index=0, delta="x"),
        anthropic("content_block_delta", index=[0], delta={"type": "citations_delta", "citation": "c"}),
        anthropic("content_block_start", index=1, content_block="tool_use"),
        anthropic("content_block_start", index=2, content_block={"type": "tool_use", "id": 7, "name": ["f"], "input": "x"}),
        anthropic("message_start", message="x"),
        anthropic("error", error=[1]),
    )
    assert response.text == "hi6"
    assert response.model == "7"
    assert any(isinstance(error, ProviderError) for error in response.errors)


# ---- The same message unstreamed.


def test_an_unstreamed_body_gives_an_equal_message() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "text", "text": "a", "citations": [{"type": "char_location"}]},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
    ]
    body = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 9},
    }
    streamed = read(
        start(usage={"input_tokens": 20, "output_tokens": 1}),
        block(0, "thinking", thinking="", signature=""),
        piece(0, "thinking_delta", thinking="hm"),
        piece(0, "signature_delta", signature="SIG"),
        stop(0),
        block(1, "text", text=""),
        piece(1, "citations_delta", citation={"type": "char_location"}),
        piece(1, "text_delta", text="a"),
        stop(1),
        block(2, "tool_use", id="t1", name="f", input={}),
        piece(2, "input_json_delta", partial_json='{"a":1}'),
        stop(2),
        end("tool_use"),
    )
    assert parse_response(body, "anthropic-messages") == streamed
    assert parse_response(json.dumps(body)) == streamed
