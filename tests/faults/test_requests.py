"""Known faults of other libraries: what was kept of a turn goes back in the next request."""

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    Message,
    ReasoningPart,
    RequestError,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    to_request,
    to_request_message,
)

from ..wire import call, delta, finish, read
from .shapes import block, calls, gemini, json_delta, message, read_gemini


def test_b019_keys_of_a_call_that_only_its_provider_knows_go_back() -> None:
    extra = {"google": {"thought_signature": "S1"}}
    entry = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    (sent,) = to_request_message(read(delta(tool_calls=[entry]), finish("tool_calls")), "openai-chat")
    assert sent["tool_calls"] == [{key: value for key, value in entry.items() if key != "index"}]


def test_b077_a_legacy_call_goes_back_in_the_legacy_form() -> None:
    pieces = [
        delta(function_call={"name": "f"}),
        delta(function_call={"arguments": '{"a"'}),
        delta(function_call={"arguments": ":1}"}),
    ]
    response = read(*pieces, finish("function_call"))
    (called,) = response.tool_calls
    body = to_request([UserMessage("x"), response, ToolMessage(called.id, "2")], "openai-chat", model="m").body
    assert body["messages"][1:] == [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"role": "function", "name": "f", "content": "2"},
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_b101_reasoning_goes_back_under_the_field_it_came_in(field: str) -> None:
    response = read(delta(**{field: "th"}), delta(**{field: "ink\n"}), call(0, "c1", "f", "{}"), finish("tool_calls"))
    (sent,) = to_request_message(response, "openai-chat")
    assert sent == {
        "role": "assistant",
        "content": None,
        field: "think\n",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


def test_b101_reasoning_details_go_back_as_the_blocks_they_are() -> None:
    def detail(**fields: object) -> bytes:
        return delta(reasoning_details=[{"type": "reasoning.text", "index": 0, **fields}])

    response = read(detail(text="a"), detail(text="b"), detail(signature="S"), delta(content="c"), finish("stop"))
    (sent,) = to_request_message(response, "openai-chat")
    assert sent["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "S"}]


def test_b103_signed_thinking_goes_back_unchanged_and_first() -> None:
    thinking = {"type": "thinking_delta", "thinking": "hm"}
    signed = {"type": "signature_delta", "signature": "SIG"}
    tool = block(1, json_delta("{}"), type="tool_use", id="t1", name="f", input={})
    response = message(block(0, thinking, signed, type="thinking", thinking="", signature=""), tool, stop="tool_use")
    (sent,) = to_request_message(response, "anthropic-messages")
    assert sent["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    ]


def test_b106_encrypted_thinking_goes_back() -> None:
    (sent,) = to_request_message(message(block(0, type="redacted_thinking", data="ENC")), "anthropic-messages")
    assert sent["content"] == [{"type": "redacted_thinking", "data": "ENC"}]


def test_b112_signatures_of_thoughts_go_back_in_place() -> None:
    parts = [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "TS1"}, {"text": "", "thoughtSignature": "TS2"}]
    response = read_gemini(*[gemini(part) for part in parts], gemini(finish="STOP"))
    assert to_request_message(response, "gemini") == [{"role": "model", "parts": parts}]


def test_b169_an_empty_text_that_came_is_not_sent() -> None:
    tool = block(1, json_delta("{}"), type="tool_use", id="t1", name="f", input={})
    response = message(block(0, type="text", text=""), tool, stop="tool_use")
    (sent,) = to_request_message(response, "anthropic-messages")
    assert [one["type"] for one in sent["content"]] == ["tool_use"]


def broken() -> AccumulatedResponse:
    """A text, a whole call, and one that was cut."""
    cut = call(1, "c1", "f", '{"a":"unterminated')
    return read(delta(content="Hi"), call(0, "c0", "f", "{}"), cut, finish("length"))


def test_b171_a_broken_call_is_refused_by_name() -> None:
    messages: list[Message | AccumulatedResponse] = [UserMessage("x"), broken(), ToolMessage("c0", "y")]
    with pytest.raises(RequestError, match="call 'c1' to 'f' is not usable \\(cut\\)") as raised:
        to_request(messages, "openai-chat", model="m")
    assert raised.value.call_id == "c1"
    with pytest.raises(RequestError, match="c1"):
        to_request_message(broken(), "openai-chat")


def test_b171_or_dropped_by_an_explicit_choice() -> None:
    made = to_request([UserMessage("x"), broken(), ToolMessage("c0", "y")], "openai-chat", model="m", broken_calls="drop")
    assert [one["id"] for one in made.body["messages"][1]["tool_calls"]] == ["c0"]
    assert [(notice.code, notice.where) for notice in made.notices] == [("broken_call_left_out", "c1")]
    assert calls(broken()) == [("f", {})]


def test_b105_each_block_goes_back_with_its_own_signature() -> None:
    parts = (ReasoningPart("alpha", "S1"), ToolCall("t1", "f"), ReasoningPart("beta", "S2"), TextPart("x"))
    (sent,) = to_request_message(AssistantMessage(parts), "anthropic-messages")
    assert [one.get("signature") for one in sent["content"]] == ["S1", None, "S2", None]
