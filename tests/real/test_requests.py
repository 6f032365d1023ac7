"""Requests that a real server takes: what the model said goes back, with results, and the server answers again."""

from collections.abc import Iterator
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
    accumulate,
    parse_response,
    to_request,
)

from .test_llama import SCHEMA, Llama, start

PROTOCOLS = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic-messages": ""}
TOOL = ToolSpec("get_weather", "Weather", SCHEMA)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    server = start(tmp_path_factory.mktemp("llama"))
    yield server
    server.stop()


def ask(llama: Llama, protocol: str, messages: list[Message | AccumulatedResponse], **options: Any) -> AccumulatedResponse:
    """The answer of a streamed request, which is that of an unstreamed one."""
    made = {
        stream: to_request(messages, protocol, model="tiny", max_tokens=200, stream=stream, extra={"seed": 7}, **options)
        for stream in (True, False)
    }
    replies = {
        stream: llama.client.post(
            request.url(llama.url + PROTOCOLS[protocol]), json=request.body, headers=request.headers("no key is needed")
        )
        for stream, request in made.items()
    }
    assert [reply.status_code for reply in replies.values()] == [200, 200], [reply.text for reply in replies.values()]
    response = accumulate(replies[True].content, protocol)
    whole = parse_response(replies[False].content, protocol)
    assert response.complete
    assert (response.text, response.reasoning) == (whole.text, whole.reasoning)
    assert [call.arguments for call in response.tool_calls] == [call.arguments for call in whole.tool_calls]
    return response


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("question", ["Say it.", "Say it. <reason>"])
def test_several_turns_with_calls(llama: Llama, protocol: str, question: str) -> None:
    messages: list[Message | AccumulatedResponse] = [SystemMessage("Be short."), UserMessage(question)]
    for _ in range(3):
        response = ask(llama, protocol, messages, tools=[TOOL], tool_choice="required")
        assert response.tool_calls
        messages.append(response)
        messages += [ToolMessage(call.id, "18 degrees", is_error=at == 1) for at, call in enumerate(response.tool_calls)]
    answer = ask(llama, protocol, messages)
    assert answer.message.content
    messages += [answer, UserMessage("And then?")]
    assert ask(llama, protocol, messages).message.content


@pytest.mark.parametrize("other", PROTOCOLS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_message_of_one_protocol_goes_to_another(llama: Llama, protocol: str, other: str) -> None:
    asked: list[Message | AccumulatedResponse] = [UserMessage("Say it. <reason>")]
    response = ask(llama, protocol, asked, tools=[TOOL], tool_choice="required")
    results = [ToolMessage(call.id, "18 degrees") for call in response.tool_calls]
    assert ask(llama, other, [*asked, response, *results], source=protocol).message.content
