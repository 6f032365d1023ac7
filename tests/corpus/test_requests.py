"""Every recorded message goes back: read as history it is what it was, and the provider's own SDK takes the request."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    Message,
    Request,
    ToolMessage,
    ToolSpec,
    UserMessage,
    accumulate,
    to_request,
    to_request_message,
)

from .histories import BODIES, comparable, read_back, sent
from .streams import need_corpus, streams

pytestmark = pytest.mark.usefixtures("corpus")


@pytest.fixture(scope="module")
def corpus() -> None:
    need_corpus()


_BLANK = "text of white space alone, which Anthropic sends between blocks and refuses to take back"

OTHERWISE = {
    "anthropic-messages/ai--anthropic-web-search-tool-1-3d3ca9.sse": _BLANK,
    "anthropic-messages/llm-anthropic--test-opus-46-adaptive-thinking-61c6ca.sse": _BLANK,
    "anthropic-messages/llm-anthropic--test-web-search-e9a71a.sse": _BLANK,
    "openai-chat/ai--cererebras-structured-output-tools-1-5277a5.sse": "the call came before the text; a message has one place for each",
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
    return {part.signature for part in response.message.content if getattr(part, "signature", None)}  # type: ignore[union-attr]  # those that have one


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
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return _typed(CompletionCreateParamsStreaming)


def _openai_responses() -> Callable[[Request], None]:
    pytest.importorskip("openai", reason="the SDK whose types are checked")
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return _typed(ResponseCreateParamsStreaming)


def _anthropic() -> Callable[[Request], None]:
    pytest.importorskip("anthropic", reason="the SDK whose types are checked")
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return _typed(MessageCreateParamsStreaming)


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


@pytest.mark.parametrize("protocol", BODIES)
def test_the_official_sdk_takes_every_request(protocol: str) -> None:
    """Of its own streams, and of all others."""
    check = CHECKS[protocol]()
    refused = []
    for file, source, response in recorded():
        try:
            check(asked(response, protocol, source=source))
        except (ValueError, AssertionError) as problem:  # ValidationError of Pydantic is a ValueError
            refused.append((file, str(problem)[:500]))
    assert not refused
