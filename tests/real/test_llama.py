"""A real llama.cpp server with a 425 KB model that `tiny_llm.py` writes: streams as a server makes them, not recordings.

What is promised: the streamed message is the unstreamed one for the same seed, in both protocols, with reasoning, parallel
calls and two choices; a message cut by max_tokens or by the server's death says so and keeps what came.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    ChatStream,
    FinishReason,
    InvalidToolCallJson,
    TextDelta,
    Truncated,
    accumulate,
    accumulate_choices,
    parse_response,
)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}
OPENAI_TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": SCHEMA}}]
CLAUDE_TOOLS = [{"name": "get_weather", "description": "Weather", "input_schema": SCHEMA}]


class Llama:
    """A server that is running, and the process that runs it."""

    def __init__(self, folder: Path) -> None:
        script = Path(__file__).with_name("tiny_llm.py")
        command = [sys.executable, str(script), "serve", str(folder / "tiny.gguf"), "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.url = next((line.split()[1] for line in self.process.stdout if line.startswith("ready ")), "")
        assert self.url, "the server did not start"
        # A connection a request: the server may close an idle one just as the client sends the next request on it.
        self.client = httpx2.Client(base_url=self.url, timeout=60, limits=httpx2.Limits(max_keepalive_connections=0))

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def chat(self, **body: Any) -> tuple[bytes, AccumulatedResponse]:
        """The bytes of the stream, and the response of the same request unstreamed."""
        request = {"model": "tiny", "seed": 7, "max_tokens": 200, "messages": [{"role": "user", "content": "Say it."}], **body}
        streamed = self.client.post("/v1/chat/completions", json={**request, "stream": True})
        whole = self.client.post("/v1/chat/completions", json=request)
        return streamed.content, parse_response(whole.content, "openai-chat", strict=False)

    def messages(self, **body: Any) -> bytes:
        request = {"model": "tiny", "max_tokens": 200, "messages": [{"role": "user", "content": "Say it."}], "stream": True, **body}
        return self.client.post("/v1/messages", json=request).content


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    server = start(tmp_path_factory.mktemp("llama"))
    yield server
    server.stop()


def start(folder: Path) -> Llama:
    if importlib.util.find_spec("xllamacpp") is None and not os.environ.get("CI"):
        pytest.skip("the package xllamacpp, which holds the llama.cpp server, has no wheel for this machine")
    return Llama(folder)


def said(response: AccumulatedResponse) -> Any:
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    return response.text, response.reasoning, calls, response.raw_finish_reason


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": [{"role": "user", "content": "Say it. <reason>"}]},
        {"tools": OPENAI_TOOLS, "tool_choice": "required"},
        {"tools": OPENAI_TOOLS, "tool_choice": "required", "messages": [{"role": "user", "content": "Say it. <reason>"}]},
        {"max_tokens": 12, "messages": [{"role": "user", "content": "<long>"}]},
        {"logprobs": True, "top_logprobs": 2},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}},
    ],
    ids=["text", "reasoning", "tools", "reasoning and tools", "length", "logprobs", "json"],
)
def test_the_streamed_message_is_the_unstreamed_one(llama: Llama, body: dict[str, Any]) -> None:
    data, whole = llama.chat(**body)
    response = accumulate(data, "openai-chat")
    assert said(response) == said(whole)
    assert response.complete
    assert (response.logprobs is None) is ("logprobs" not in body)


def test_two_choices(llama: Llama) -> None:
    data, _ = llama.chat(n=2)
    choices = accumulate_choices(data, "openai-chat")
    assert sorted(choices) == [0, 1]
    assert all(choice.text and choice.complete for choice in choices.values())


def test_a_call_cut_by_max_tokens_is_no_call(llama: Llama) -> None:
    for limit in range(10, 80):
        data, _ = llama.chat(tools=OPENAI_TOOLS, tool_choice="required", max_tokens=limit)
        response = accumulate(data, "openai-chat", strict=False)
        if any(isinstance(error, InvalidToolCallJson) for error in response.errors):
            break
    assert response.finish_reason is FinishReason.LENGTH
    assert [error.cause for error in response.errors if isinstance(error, InvalidToolCallJson)] == ["cut"]
    assert response.tool_calls == ()


def test_anthropic_messages_of_the_same_server(llama: Llama) -> None:
    text = accumulate(llama.messages(), "anthropic-messages")
    assert text.text
    reasons = accumulate(llama.messages(messages=[{"role": "user", "content": "Say it. <reason>"}]), "anthropic-messages")
    assert reasons.reasoning
    calls = accumulate(llama.messages(tools=CLAUDE_TOOLS, tool_choice={"type": "any"}), "anthropic-messages")
    assert {call.name for call in calls.tool_calls} == {"get_weather"}
    assert calls.finish_reason is FinishReason.TOOL_CALLS


def test_a_server_killed_in_mid_stream_is_truncated_and_keeps_what_came(tmp_path: Path) -> None:
    server = start(tmp_path)
    try:
        request = {"model": "tiny", "seed": 7, "stream": True, "messages": [{"role": "user", "content": "<long>"}]}
        with server.client.stream("POST", "/v1/chat/completions", json=request) as source, ChatStream(source) as stream:
            texts = 0
            for event in stream:
                texts += isinstance(event, TextDelta)
                if texts == 5:
                    server.process.kill()
            with pytest.raises(Truncated) as caught:
                stream.finalize()
    finally:
        server.stop()
    assert caught.value.reason == "transport"
    assert caught.value.response is not None
    assert caught.value.response.text
