"""Every recorded message goes back: read as history it is what it was, and the provider's own SDK takes the request."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    Message,
    ReasoningPart,
    Request,
    ToolMessage,
    ToolSpec,
    UserMessage,
    accumulate,
    to_request,
    to_request_message,
)

from ..histories import BODIES, comparable, read_back, sent
from .streams import need_corpus, streams

pytestmark = pytest.mark.usefixtures("corpus")


@pytest.fixture(scope="module")
def corpus() -> None:
    need_corpus()


_BLANK = "text of white space alone, which Anthropic sends between blocks and refuses to take back"

_PLACES = "the call came before the text; the wire has one place for each"

OTHERWISE = {
    "anthropic-messages/ai--anthropic-web-search-tool-1-3d3ca9.sse": _BLANK,
    "anthropic-messages/llm-anthropic--test-opus-46-adaptive-thinking-61c6ca.sse": _BLANK,
    "anthropic-messages/llm-anthropic--test-web-search-e9a71a.sse": _BLANK,
    "openai-chat/ai--cererebras-structured-output-tools-1-5277a5.sse": _PLACES,
}
"""Streams whose message does not come back the same, each with the reason."""

TOOL = ToolSpec("look_up", "Looks a word up", {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})


@cache
def recorded() -> tuple[tuple[str, str, AccumulatedResponse], ...]:
    """The file, the protocol and the response of each stream of a protocol that has requests."""
    return tuple([(s.file, s.ours, accumulate(s.data, s.ours, strict=False)) for s in streams() if s.ours in BODIES])


def conversation(response: AccumulatedResponse) -> list[Message | AccumulatedResponse]:
    """A conversation that goes on after a response."""
    results = [ToolMessage(call.id, "found", is_error=at == 1) for at, call in enumerate(response.tool_calls)]
    return [UserMessage("Hello"), response, *results, UserMessage("Go on")]


def asked(response: AccumulatedResponse, protocol: str, **options: Any) -> Request:
    """The request that goes on after a response."""
    return to_request(
        conversation(response),
        protocol,
        model="a-model",
        tools=[TOOL],
        tool_choice="required",
        system="Be brief",
        max_tokens=100,
        temperature=0.5,
        broken_calls="drop",
        **options,
    )


def test_every_message_comes_back_the_same() -> None:
    wrong = []
    for file, protocol, response in recorded():
        back = read_back(to_request_message(response, protocol, broken_calls="drop"), protocol)
        if comparable(back) != comparable(sent(response.message)):
            wrong.append(file)
    assert wrong == [file for file, _, _ in recorded() if file in OTHERWISE]


def test_arguments_come_back_as_they_came_where_the_wire_has_text() -> None:
    wrong = []
    for file, protocol, response in recorded():
        if protocol in ("openai-chat", "openai-responses", "cohere"):
            back = read_back(to_request_message(response, protocol, broken_calls="drop"), protocol)
            before = [call.arguments_raw for call in AssistantMessage(sent(response.message)).tool_calls]
            if [call.arguments_raw for call in AssistantMessage(back).tool_calls] != before:
                wrong.append(file)
    assert not wrong


def test_any_message_can_be_sent_to_any_protocol() -> None:
    """What only its own protocol understands is left out, and nothing else; twice gives the same."""
    wrong = []
    for file, source, response in recorded():
        for protocol in BODIES:
            request = asked(response, protocol, source=source)
            if request != asked(response, protocol, source=source) or _signatures(response) & set(_texts(request.body)):
                if protocol != source:
                    wrong.append((file, protocol))
    assert not wrong


def _signatures(response: AccumulatedResponse) -> set[str]:
    return {part.signature for part in response.message.content if isinstance(part, ReasoningPart) and part.signature}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


# ---- The official SDKs, each by its own types.


def _consumed(value: Any) -> None:
    """Look at all of a validated value: Pydantic checks an Iterable only while somebody reads it."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _consumed(inner)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for inner in value:
            _consumed(inner)


def _typed(kind: Any) -> Callable[[Request], None]:
    pydantic = pytest.importorskip("pydantic", reason="checks the SDKs' types")
    adapter = pydantic.TypeAdapter(kind, config=None)
    return lambda request: _consumed(adapter.validate_python(request.body))


def _openai_chat() -> Callable[[Request], None]:
    pytest.importorskip("openai", reason="the SDK whose types are checked")
    models = pytest.importorskip("mistralai.client.models", reason="the SDK whose types are checked")
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    openai = _typed(CompletionCreateParamsStreaming)

    def check(request: Request) -> None:
        """Content that is a list with reasoning in it is Mistral's."""
        for message in request.body["messages"]:
            if message["role"] == "assistant" and isinstance(message["content"], list):
                models.AssistantMessage.model_validate(message)
                return
        openai(request)

    return check


def _openai_responses() -> Callable[[Request], None]:
    pytest.importorskip("openai", reason="the SDK whose types are checked")
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return _typed(ResponseCreateParamsStreaming)


_BETA = {"advisor_tool_result", "compaction", "fallback", "mcp_tool_use", "mcp_tool_result"}


def _anthropic() -> Callable[[Request], None]:
    pytest.importorskip("anthropic", reason="the SDK whose types are checked")
    from anthropic.types.beta import message_create_params as beta
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    checks = _typed(MessageCreateParamsStreaming), _typed(beta.MessageCreateParamsStreaming)

    def check(request: Request) -> None:
        """Blocks that only the beta of the API has are checked by its types."""
        kinds = {block["type"] for message in request.body["messages"] for block in message["content"]}
        checks[bool(kinds & _BETA)](request)

    return check


def _gemini() -> Callable[[Request], None]:
    types = pytest.importorskip("google.genai.types", reason="the SDK whose types are checked")

    def check(request: Request) -> None:
        body = request.body
        for content in [*body["contents"], body["systemInstruction"]]:
            types.Content.model_validate(content)
        for tool in body["tools"]:
            types.Tool.model_validate(tool)
        types.ToolConfig.model_validate(body["toolConfig"])
        types.GenerationConfig.model_validate(body["generationConfig"])

    return check


def _bedrock() -> Callable[[Request], None]:
    session = pytest.importorskip("botocore.session", reason="the SDK whose types are checked")
    from botocore.validate import ParamValidator

    shape = session.get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream").input_shape

    def check(request: Request) -> None:
        report = ParamValidator().validate({"modelId": request.model, **request.body}, shape)
        assert not report.has_errors(), report.generate_report()

    return check


def _cohere() -> Callable[[Request], None]:
    pydantic = pytest.importorskip("pydantic", reason="checks the SDKs' types")
    cohere = pytest.importorskip("cohere", reason="the SDK whose types are checked")
    kinds = {
        "user": cohere.UserChatMessageV2,
        "assistant": cohere.AssistantChatMessageV2,
        "system": cohere.SystemChatMessageV2,
        "tool": cohere.ToolChatMessageV2,
    }
    adapters = {role: pydantic.TypeAdapter(kind) for role, kind in kinds.items()}

    def check(request: Request) -> None:
        for message in request.body["messages"]:
            adapters[message["role"]].validate_python(message)
        for tool in request.body["tools"]:
            cohere.ToolV2.model_validate(tool)

    return check


def _ollama() -> Callable[[Request], None]:
    types = pytest.importorskip("ollama._types", reason="the SDK whose types are checked")

    def check(request: Request) -> None:
        types.ChatRequest.model_validate(request.body)

    return check


CHECKS: dict[str, Callable[[], Callable[[Request], None]]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-messages": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
    "cohere": _cohere,
    "ollama": _ollama,
}


_ITEM = "an item of the server's own, as it sent it, which OpenAI's types do not have"

REFUSED = {
    ("openai-responses/ai--xai-web-search-tool-1-68e941.sse", "openai-responses"): _ITEM,
    ("openai-responses/ai--xai-x-search-tool-d8b166.sse", "openai-responses"): _ITEM,
    ("openai-responses/pydantic-ai--test-openai-responses-model-web-search-tool-stream-ec2c20.sse", "openai-responses"): (
        "a source of the type api, which the service sends and the SDK's types of requests do not have"
    ),
    (
        "openai-responses/ai--openai-image-generation-tool-1-f74bc0.sse",
        "gemini",
    ): "the fixture's image was shortened, and is no base64",
}
"""Streams and protocols whose request the SDK's types do not take, each with the reason."""


_NOT_WHOLE = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)


@pytest.mark.parametrize("protocol", BODIES)
def test_the_official_sdk_takes_what_goes_on_after_any_cut(protocol: str) -> None:
    """And nothing ends an assistant's message that the provider refuses there."""
    check, refused = CHECKS[protocol](), []
    for stream in streams():
        if stream.ours != protocol or (stream.file, protocol) in REFUSED:
            continue
        for share in _NOT_WHOLE:
            request = asked(accumulate(stream.data[: int(len(stream.data) * share)], protocol, strict=False), protocol)
            try:
                check(request)
                assert not list(_dangling(request.body, protocol))
            except (ValueError, AssertionError) as problem:
                refused.append((stream.file, share, str(problem)[:500]))
    assert not refused


def _dangling(body: dict[str, Any], protocol: str) -> Iterator[Any]:
    """What of an assistant's message no provider takes, as each says when it refuses it."""
    items = body.get("input") or body.get("messages") or []
    for item, following in pairwise(items):
        content, kind = item.get("content"), str(following.get("type"))
        if protocol == "openai-responses":
            if item.get("type") == "reasoning" and (following.get("role") == "user" or kind.endswith("_output")):
                yield item
        elif item["role"] != "assistant":
            continue
        elif protocol == "openai-chat" and not (content or item.keys() & {"tool_calls", "function_call", "refusal", "audio"}):
            yield item
        elif protocol == "bedrock-converse" and "reasoningContent" in content[-1]:
            yield content[-1]
        elif protocol == "anthropic-messages":
            if content[-1]["type"] in ("thinking", "redacted_thinking"):
                yield content[-1]
            answered = {block.get("tool_use_id") for block in content}
            if not any(block["type"] == "tool_use" for block in content):
                yield from [block for block in content if block["type"].endswith("_tool_use") and block["id"] not in answered]


@pytest.mark.parametrize("protocol", BODIES)
def test_the_official_sdk_takes_every_request(protocol: str) -> None:
    """Of its own streams, and of all others."""
    check = CHECKS[protocol]()
    refused = []
    expected = {file for file, to in REFUSED if to == protocol}
    for file, source, response in recorded():
        try:
            check(asked(response, protocol, source=source))
        except (ValueError, AssertionError) as problem:  # ValidationError of Pydantic is a ValueError
            if (file, protocol) not in REFUSED:
                refused.append((file, str(problem)[:500]))
            expected.discard(file)
    assert not refused
    assert not expected
