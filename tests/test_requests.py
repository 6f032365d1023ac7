"""Conversations back to providers: results, ids, broken calls, what goes to another protocol, options, and each form."""

from typing import Any

import msgspec
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    CitationPart,
    MediaPart,
    Message,
    Part,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    Request,
    RequestError,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UnknownProtocol,
    UserMessage,
    parse_response,
    to_request,
    to_request_message,
)

from .histories import BODIES
from .wire import call, finish, read

HELLO = UserMessage("Hello")
TOOL = ToolSpec("f", "Does it", {"type": "object", "properties": {}}, strict=True)


def request(*messages: Message, protocol: str = "openai-chat", **options: Any) -> Request:
    return to_request(messages, protocol, model="m", **options)


def entries(*messages: Message, protocol: str = "openai-chat", **options: Any) -> list[dict[str, Any]]:
    """What the messages become."""
    body = request(*messages, protocol=protocol, **options).body
    found: list[dict[str, Any]] = next(body[key] for key in ("messages", "contents", "input") if key in body)
    return found


def codes(made: Request) -> set[str]:
    return {notice.code for notice in made.notices}


def asks(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(calls)


# ---- Results and their calls.


def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    made = request(
        HELLO,
        asks(ToolCall("a", "f"), ToolCall("b", "g")),
        ToolMessage("b", "2"),
        UserMessage("Well?"),
        ToolMessage("a", "1"),
    )
    assert [(entry["role"], entry.get("tool_call_id")) for entry in made.body["messages"]] == [
        ("user", None),
        ("assistant", None),
        ("tool", "a"),
        ("tool", "b"),
        ("user", None),
    ]
    assert codes(made) == {"result_moved"}


def test_a_call_without_a_result_is_refused_or_told_to_be_interrupted() -> None:
    messages: list[Message] = [HELLO, asks(ToolCall("a", "f"))]
    with pytest.raises(RequestError, match="'a' to 'f' has no result") as raised:
        request(*messages)
    assert raised.value.call_id == "a"
    made = request(*messages, missing_results="interrupted")
    assert made.body["messages"][-1] == {"role": "tool", "tool_call_id": "a", "content": "Error: interrupted: there is no result"}
    assert codes(made) == {"result_made_up"}


def test_results_for_no_call_and_second_results_are_left_out_and_told() -> None:
    made = request(HELLO, ToolMessage("x", "?"), asks(ToolCall("a", "f")), ToolMessage("a", "1"), ToolMessage("a", "2"))
    assert [entry["content"] for entry in made.body["messages"]] == ["Hello", None, "1"]
    assert [notice.count for notice in made.notices if notice.code == "result_left_out"] == [1, 1]


@pytest.mark.parametrize(
    ("protocol", "result"),
    [
        ("openai-chat", {"role": "tool", "tool_call_id": "a", "content": "Error: no"}),
        ("openai-responses", {"type": "function_call_output", "call_id": "a", "output": "Error: no"}),
        (
            "anthropic-messages",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}]},
        ),
        ("gemini", {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"error": "no"}}}]}),
        (
            "bedrock-converse",
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "no"}], "status": "error"}}]},
        ),
        ("cohere", {"role": "tool", "tool_call_id": "a", "content": "Error: no"}),
        ("ollama", {"role": "tool", "content": "Error: no", "tool_name": "f", "tool_call_id": "a"}),
    ],
)
def test_an_error_is_told_as_the_protocol_can(protocol: str, result: dict[str, Any]) -> None:
    assert entries(HELLO, asks(ToolCall("a", "f")), ToolMessage("a", "no", is_error=True), protocol=protocol)[-1] == result


@pytest.mark.parametrize("protocol", ["anthropic-messages", "gemini", "bedrock-converse"])
def test_roles_alternate_and_results_come_first(protocol: str) -> None:
    found = entries(
        HELLO, UserMessage("again"), asks(ToolCall("a", "f")), ToolMessage("a", "1"), UserMessage("Well?"), protocol=protocol
    )
    key = "parts" if protocol == "gemini" else "content"
    assert [(entry["role"], len(entry[key])) for entry in found] == [
        ("user", 2),
        ("model" if protocol == "gemini" else "assistant", 1),
        ("user", 2),
    ]
    assert "text" not in found[-1][key][0]


# ---- Ids.


def test_no_two_calls_of_a_conversation_share_an_id() -> None:
    turn: list[Message] = [
        asks(ToolCall("call_1", "f", minted=True), ToolCall("given", "f")),
        ToolMessage("call_1", "x"),
        ToolMessage("given", "y"),
    ]
    found = entries(HELLO, *turn, *turn)
    ids = [entry["tool_call_id"] for entry in found if entry["role"] == "tool"]
    assert ids == ["call00001", "given", "call00002", "call00003"]
    assert [one["id"] for entry in found for one in entry.get("tool_calls", ())] == ids
    assert [entry["content"] for entry in found if entry["role"] == "tool"] == ["x", "y", "x", "y"]


def test_a_longer_conversation_begins_the_same() -> None:
    turn: list[Message] = [asks(ToolCall("call_1", "f", minted=True)), ToolMessage("call_1", "x")]
    later: list[Message] = [asks(ToolCall("call00001", "f")), ToolMessage("call00001", "y")]
    before = entries(HELLO, *turn)
    assert entries(HELLO, *turn, *later)[: len(before)] == before
    assert entries(HELLO, *turn, *later)[-1]["tool_call_id"] == "call00002"


@pytest.mark.parametrize("protocol", ["gemini", "ollama"])
def test_an_id_that_never_came_is_not_sent_where_none_is_needed(protocol: str) -> None:
    found = entries(HELLO, asks(ToolCall("call_1", "f", minted=True)), ToolMessage("call_1", "x"), protocol=protocol)
    assert "call00001" not in str(found)
    assert "call_1" not in str(found)


def test_ids_of_another_protocol_are_kept_where_they_are_valid() -> None:
    messages: list[Message] = [
        HELLO,
        asks(ToolCall("functions.f:0", "f"), ToolCall("toolu_1", "f")),
        ToolMessage("functions.f:0", "1"),
        ToolMessage("toolu_1", "2"),
    ]
    sent = entries(*messages, protocol="anthropic-messages", source="openai-chat")[-1]
    assert [block["tool_use_id"] for block in sent["content"]] == ["call00001", "toolu_1"]
    assert [entry.get("call_id") for entry in entries(*messages, protocol="openai-responses")[-2:]] == ["functions.f:0", "toolu_1"]


# ---- Arguments.


@pytest.mark.parametrize(
    ("arguments", "raw", "text"),
    [
        ({"a": 1}, '{ "a" : 1.0}', '{ "a" : 1.0}'),
        ({}, "", "{}"),
        ({}, "null", "{}"),
        ({"a": 1}, '{}{"a":1}', '{"a":1}'),
        ({"a": "é"}, "", '{"a":"é"}'),
        ([1], "[1]", "[1]"),
    ],
)
def test_arguments_go_back_as_received_where_that_is_what_they_are(arguments: Any, raw: str, text: str) -> None:
    for protocol, path in (("openai-chat", ("tool_calls", 0, "function", "arguments")), ("openai-responses", ("arguments",))):
        (found,) = to_request_message(asks(ToolCall("a", "f", arguments, raw)), protocol)
        value: Any = found
        for key in path:
            value = value[key]
        assert value == text


def test_arguments_that_are_no_object_are_put_into_one_where_the_wire_wants_one() -> None:
    made = request(asks(ToolCall("a", "f", "text", "text", "custom")), ToolMessage("a", "x"), protocol="anthropic-messages")
    assert made.body["messages"][0]["content"][0]["input"] == {"input": "text"}
    assert codes(made) == {"arguments_wrapped"}


# ---- Another protocol's messages.


FOREIGN = AssistantMessage(
    (
        ReasoningPart("think", "SIG", extra={"field": "reasoning_content"}),
        ReasoningPart("", None, "ENC"),
        TextPart("Hi", ({"url": "u"},), {"id": "msg_1"}),
        RefusalPart("No"),
        CitationPart({"url": "u"}),
        ProviderPart("server_tool_use", {"type": "server_tool_use"}),
        ToolCall("a", "f", extra={"thoughtSignature": "TS"}),
    )
)


@pytest.mark.parametrize("protocol", BODIES)
def test_what_only_its_own_protocol_understands_stays_behind(protocol: str) -> None:
    made = request(HELLO, FOREIGN, ToolMessage("a", "x"), protocol=protocol, source="events", tools=[ToolSpec("f")])
    body = str(made.body)
    for secret in ("SIG", "ENC", "TS", "server_tool_use", "msg_1", "url"):
        assert secret not in body
    assert "Hi" in body
    assert "No" in body
    assert ("think" in body) is (protocol in ("gemini", "cohere", "ollama"))
    assert codes(made) == {"foreign_left_out"}


def test_each_message_may_have_a_source_of_its_own() -> None:
    theirs, ours = (
        AssistantMessage((ReasoningPart("a", "S1"), TextPart("b"))),
        AssistantMessage((ReasoningPart("c", "S2"), TextPart("d"))),
    )
    found = entries(HELLO, theirs, HELLO, ours, protocol="anthropic-messages", source=[None, "gemini", None, None])
    assert [[block["type"] for block in entry["content"]] for entry in found] == [
        ["text"],
        ["text"],
        ["text"],
        ["thinking", "text"],
    ]
    with pytest.raises(ValueError, match="1 messages and 2 sources"):
        request(HELLO, source=["gemini", None])


# ---- Nothing empty.


@pytest.mark.parametrize("protocol", BODIES)
def test_what_is_empty_is_not_sent(protocol: str) -> None:
    made = request(
        SystemMessage(""), HELLO, AssistantMessage((TextPart(""),)), UserMessage(""), UserMessage("Go on"), protocol=protocol
    )
    assert "''" not in str(made.body)
    assert codes(made) == {"empty_message"}
    assert to_request_message(AssistantMessage((TextPart(""), ReasoningPart())), protocol) == []


# ---- Options.


USAGE = {"stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (
            "openai-chat",
            {"max_tokens": 5, "temperature": 0.5, "seed": 7, "stream": True, "stream_options": {"include_usage": True}},
        ),
        ("openai-responses", {"max_output_tokens": 5, "temperature": 0.5, "stream": True}),
        ("anthropic-messages", {"max_tokens": 5, "temperature": 0.5, "stream": True, "system": "Be brief"}),
        (
            "gemini",
            {
                "generationConfig": {"maxOutputTokens": 5, "temperature": 0.5, "seed": 7},
                "systemInstruction": {"parts": [{"text": "Be brief"}]},
            },
        ),
        ("bedrock-converse", {"inferenceConfig": {"maxTokens": 5, "temperature": 0.5}, "system": [{"text": "Be brief"}]}),
        ("cohere", {"max_tokens": 5, "temperature": 0.5, "seed": 7, "stream": True}),
        ("ollama", {"options": {"num_predict": 5, "temperature": 0.5, "seed": 7}, "stream": True}),
    ],
)
def test_options_stand_where_the_protocol_has_them(protocol: str, expected: dict[str, Any]) -> None:
    made = request(HELLO, protocol=protocol, system="Be brief", max_tokens=5, temperature=0.5, seed=7)
    assert {key: value for key, value in made.body.items() if key not in ("model", "messages", "contents", "input")} == expected
    assert codes(made) == (set() if "seed" in str(made.body) else {"option_left_out"})


def test_without_a_bound_anthropic_gets_one() -> None:
    assert request(HELLO, protocol="anthropic-messages").body["max_tokens"] == 8192


@pytest.mark.parametrize(
    ("protocol", "choices"),
    [
        ("openai-chat", ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}]),
        ("openai-responses", ["auto", "none", "required", {"type": "function", "name": "f"}]),
        ("anthropic-messages", [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "f"}]),
        ("gemini", [{"mode": "AUTO"}, {"mode": "NONE"}, {"mode": "ANY"}, {"mode": "ANY", "allowedFunctionNames": ["f"]}]),
        ("bedrock-converse", [{"auto": {}}, None, {"any": {}}, {"tool": {"name": "f"}}]),
        ("cohere", [None, "NONE", "REQUIRED", None]),
        ("ollama", [None, None, None, None]),
    ],
)
def test_the_choice_of_a_tool(protocol: str, choices: list[Any]) -> None:
    for word, expected in zip(("auto", "none", "required", "f"), choices, strict=True):
        made = request(HELLO, protocol=protocol, tools=[TOOL], tool_choice=word)
        body = made.body
        held = body.get("toolConfig", {})
        assert body.get("tool_choice", held.get("functionCallingConfig", held.get("toolChoice"))) == expected
        told = any(notice.message.startswith("the protocol has no place for tool_choice") for notice in made.notices)
        assert told is (expected is None)


def test_extra_is_merged_deeply_and_wins() -> None:
    made = request(
        HELLO, protocol="gemini", max_tokens=5, extra={"generationConfig": {"maxOutputTokens": 6, "topK": 1}, "labels": {"a": "b"}}
    )
    assert made.body["generationConfig"] == {"maxOutputTokens": 6, "topK": 1}
    assert made.body["labels"] == {"a": "b"}


SIGNED = ReasoningPart("hm", signature="S")
SEARCH = ProviderPart("server_tool_use", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})
FOUND = ProviderPart("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []})


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ((SIGNED,), []),
        ((TextPart("a"), SIGNED, ReasoningPart("", redacted="R")), ["text"]),
        ((SIGNED, SEARCH), []),
        ((TextPart("a"), SEARCH), ["text"]),
        ((SIGNED, SEARCH, FOUND), ["thinking", "server_tool_use", "web_search_tool_result"]),
        ((SIGNED, SEARCH, ToolCall("c1", "f")), ["thinking", "server_tool_use", "tool_use"]),
        ((TextPart("a"), msgspec.structs.replace(SEARCH, data={**SEARCH.data, "input": '{"q'})), ["text"]),
    ],
)
def test_what_was_cut_is_no_part_of_an_anthropic_conversation(parts: tuple[Part, ...], kept: list[str]) -> None:
    message = AssistantMessage(parts)
    results = [ToolMessage(call.id, "1") for call in message.tool_calls]
    body = to_request([UserMessage("x"), message, *results, UserMessage("y")], "anthropic-messages", model="m").body
    assert [block["type"] for sent in body["messages"] if sent["role"] == "assistant" for block in sent["content"]] == kept
    assert [block["text"] for block in body["messages"][-1]["content"] if block["type"] == "text"][-1] == "y"
    assert body["messages"][0]["content"][0]["text"] == "x"


def test_a_message_that_paused_goes_back_whole() -> None:
    """Nothing follows it: the server goes on with its own calls, and what it says then belongs to the same message."""
    asked: list[Message | AccumulatedResponse] = [UserMessage("x"), AssistantMessage((TextPart("a"), SEARCH))]
    body = to_request(asked, "anthropic-messages", model="m").body
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["text", "server_tool_use"]
    body = to_request([*asked, AssistantMessage((FOUND, TextPart("b"))), UserMessage("y")], "anthropic-messages", model="m").body
    kinds = [block["type"] for block in body["messages"][1]["content"]]
    assert kinds == ["text", "server_tool_use", "web_search_tool_result", "text"]


def test_a_message_of_reasoning_alone_is_no_message_of_chat() -> None:
    alone = AssistantMessage((ReasoningPart("hm", extra={"field": "reasoning_content"}),))
    request = to_request([UserMessage("x"), alone, UserMessage("y")], "openai-chat", model="m")
    assert [message["role"] for message in request.body["messages"]] == ["user", "user"]
    assert [note.code for note in request.notices] == ["reasoning_left_out", "empty_message"]


def test_a_message_item_that_was_cut_says_so() -> None:
    said = AssistantMessage((TextPart("Hel", extra={"id": "msg_1"}),))
    body = to_request([UserMessage("x"), said, UserMessage("y")], "openai-responses", model="m").body
    assert (body["input"][1]["id"], body["input"][1]["status"]) == ("msg_1", "incomplete")


def test_a_result_without_text_says_so_where_only_text_can_go() -> None:
    asked: list[Message | AccumulatedResponse] = [UserMessage("x"), AssistantMessage((ToolCall("c00000001", "f"),))]
    result = ToolMessage("c00000001", (MediaPart("image", "image/png", "AA=="),))
    for protocol in ("openai-chat", "cohere", "ollama"):
        body = to_request([*asked, result], protocol, model="m").body
        assert "no text" in body["messages"][-1]["content"]
    assert to_request([*asked, ToolMessage("c00000001", "")], "openai-chat", model="m").body["messages"][-1]["content"] == ""


def test_bedrock_is_told_of_the_tools_that_were_called() -> None:
    """It refuses a conversation with calls and no tools."""
    asked: list[Message] = [
        UserMessage("x"),
        AssistantMessage((ToolCall("c1", "f"), ToolCall("c2", "f"))),
        ToolMessage("c1", "1"),
        ToolMessage("c2", "2"),
    ]
    request = to_request(asked, "bedrock-converse", model="m")
    assert request.body["toolConfig"] == {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
    assert [note.code for note in request.notices] == ["tools_made_up"]
    request = to_request(asked, "bedrock-converse", model="m", tools=[ToolSpec("g")])
    assert [tool["toolSpec"]["name"] for tool in request.body["toolConfig"]["tools"]] == ["g"]
    assert "toolConfig" not in to_request([UserMessage("x")], "bedrock-converse", model="m").body


def test_a_custom_call_is_json_where_all_calls_are() -> None:
    call = ToolCall("c00000001", "sql", "SELECT 1", "SELECT 1", kind="custom")
    body = to_request([UserMessage("x"), AssistantMessage((call,)), ToolMessage(call.id, "1")], "cohere", model="m").body
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"input":"SELECT 1"}'


def test_half_of_a_character_is_replaced_and_told() -> None:
    """No JSON can carry it: a client would fail on it."""
    spec = ToolSpec("f", "\ud800", {"type": "object"})
    request = to_request([UserMessage("a\udcffb \U0001f600")], "openai-chat", model="m", tools=[spec], extra={"stop": ("\udc00",)})
    assert request.body["messages"][0]["content"] == "a\ufffdb \U0001f600"
    assert request.body["tools"][0]["function"]["description"] == "\ufffd"
    assert request.body["stop"] == ["\ufffd"]
    assert [(note.code, note.count) for note in request.notices] == [("lone_surrogate", 3)]


def test_instructions_in_mid_conversation_are_moved_where_they_have_one_place() -> None:
    messages = (HELLO, SystemMessage("Be brief"))
    assert [entry["role"] for entry in entries(*messages)] == ["user", "system"]
    made = request(*messages, protocol="anthropic-messages", system="Be kind")
    assert made.body["system"] == "Be kind\n\nBe brief"
    assert codes(made) == {"system_moved"}


@pytest.mark.parametrize(
    ("protocol", "base", "url"),
    [
        ("openai-chat", "https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("openai-responses", "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("anthropic-messages", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("anthropic-messages", "https://x.example/v1", "https://x.example/v1/messages"),
        ("gemini", "https://g.example", "https://g.example/v1beta/models/m:streamGenerateContent?alt=sse"),
        (
            "gemini",
            "https://g.example/v1/publishers/google",
            "https://g.example/v1/publishers/google/models/m:streamGenerateContent?alt=sse",
        ),
        ("bedrock-converse", "https://b.example", "https://b.example/model/m/converse-stream"),
        ("cohere", "https://api.cohere.com", "https://api.cohere.com/v2/chat"),
        ("ollama", "http://localhost:11434", "http://localhost:11434/api/chat"),
    ],
)
def test_where_it_is_posted_to(protocol: str, base: str, url: str) -> None:
    made = request(HELLO, protocol=protocol)
    assert made.url(base) == url
    assert "KEY" in str(made.headers("KEY"))
    whole = request(HELLO, protocol=protocol, stream=False)
    assert whole.body.get("stream", False) is False
    assert "stream" not in whole.url(base).lower()


def test_media_of_the_user() -> None:
    image, linked = MediaPart("image", "image/png", "AAAA"), MediaPart("image", "image/png", "https://x.example/a.png")
    message = UserMessage((TextPart("What is it?"), image, linked))
    found = entries(message)[0]["content"]
    assert [part["image_url"]["url"] for part in found[1:]] == ["data:image/png;base64,AAAA", "https://x.example/a.png"]
    sources = [part["source"] for part in entries(message, protocol="anthropic-messages")[0]["content"][1:]]
    assert sources == [
        {"type": "base64", "media_type": "image/png", "data": "AAAA"},
        {"type": "url", "url": "https://x.example/a.png"},
    ]
    assert entries(message, protocol="ollama")[0]["images"] == ["AAAA"]
    for protocol in BODIES:
        assert "AAAA" in str(request(message, protocol=protocol).body)


# ---- Responses in place of messages; protocols.


def test_a_protocol_without_requests_says_so() -> None:
    with pytest.raises(ValueError, match="cannot be turned into a request of events; they can for openai-chat"):
        request(HELLO, protocol="events")
    with pytest.raises(UnknownProtocol):
        request(HELLO, protocol="nothing")


def test_a_response_may_stand_for_its_message() -> None:
    response = read(call(0, "a", "f", "{}"), finish("tool_calls"))
    made = to_request([HELLO, response, ToolMessage("a", "x")], "openai-chat", model="m")
    assert made == request(HELLO, response.message, ToolMessage("a", "x"))


def test_a_message_made_here_is_not_changed_by_sending_it() -> None:
    body = {"type": "message", "stop_reason": "end_turn", "content": [{"type": "new_block", "data": {"a": [1]}}]}
    response = parse_response(body, "anthropic-messages", strict=False)
    before = response.to_json()
    made = to_request([HELLO, response, UserMessage("x"), response], "anthropic-messages", model="m")
    made.body["messages"][1]["content"][0]["data"]["a"].append(2)
    assert response.to_json() == before


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "cohere", "ollama"])
def test_a_call_in_a_users_message_breaks_nothing(protocol: str) -> None:
    said = UserMessage((TextPart("hello"), ToolCall("c1", "f", {}, "{}")))
    assert "hello" in str(to_request([said], protocol, model="m").body)
