"""The official SDKs on a loopback server: their stream objects as sources, and their own assembling beside ours.

The SDKs are test dependencies only; the library never imports them.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from streamaccumulator import AccumulatedResponse, AsyncChatStream, ChatStream, aaccumulate, accumulate, parse_response

from .server import Script, serving

CAPTURES = Path(__file__).parents[1] / "captures"
NAMES = ["text", "reasoning-text-tools", "tools-parallel", "tool-nested-arguments", "tool-no-arguments", "reasoning-then-text"]
each_name = pytest.mark.parametrize("name", NAMES)


def data_of(protocol: str, name: str) -> bytes:
    return (CAPTURES / protocol / f"{name}.sse").read_bytes()


def said(response: AccumulatedResponse) -> Any:
    """What survives the SDK's own types."""
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls]
    usage = response.usage
    counts = (usage.input_tokens, usage.output_tokens) if usage else None
    return response.text, response.reasoning, calls, response.raw_finish_reason, counts, response.id


def openai_client(url: str) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url=url, max_retries=0)


def anthropic_client(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="none", base_url=url, max_retries=0)


@each_name
def test_openai_stream_objects_are_sources(name: str) -> None:
    data = data_of("openai-chat", name)
    wanted = said(accumulate(data))
    with serving(Script([data])) as url, openai_client(url) as client:

        def request() -> Any:
            return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)

        assert said(accumulate(request())) == wanted
        with ChatStream(request(), "openai-chat") as stream:
            assert said(stream.finalize()) == wanted


@each_name
def test_anthropic_stream_objects_are_sources(name: str) -> None:
    data = data_of("anthropic-messages", name)
    wanted = said(accumulate(data))
    with serving(Script([data])) as url, anthropic_client(url) as client:

        def request() -> Any:
            return client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True)

        assert said(accumulate(request())) == wanted
        with ChatStream(request(), "anthropic-messages") as stream:
            assert said(stream.finalize()) == wanted


def test_async_stream_objects_are_sources() -> None:
    async def by_openai(url: str) -> Any:
        async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:
            stream = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}], stream=True)
            return said(await aaccumulate(stream))

    async def by_anthropic(url: str) -> Any:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0) as client:
            source = await client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "a"}], stream=True)
            async with AsyncChatStream(source) as stream:
                return said(await stream.finalize())

    for protocol, read in (("openai-chat", by_openai), ("anthropic-messages", by_anthropic)):
        data = data_of(protocol, "reasoning-text-tools")
        with serving(Script([data])) as url:
            assert asyncio.run(read(url)) == said(accumulate(data))


@each_name
def test_our_message_is_the_one_openais_own_helper_assembles(name: str) -> None:
    data = data_of("openai-chat", name)
    with (
        serving(Script([data])) as url,
        openai_client(url) as client,
        client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    ours = accumulate(data)
    assert (choice.message.content or "", choice.finish_reason) == (ours.text, ours.raw_finish_reason)
    theirs = [
        (call.id, call.function.name, json.loads(call.function.arguments or "{}")) for call in choice.message.tool_calls or []
    ]
    assert theirs == [(call.id, call.name, call.arguments) for call in ours.tool_calls]


@each_name
def test_our_message_is_the_one_anthropics_own_helper_assembles(name: str) -> None:
    data = data_of("anthropic-messages", name)
    with (
        serving(Script([data])) as url,
        anthropic_client(url) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        message = stream.get_final_message()
    ours = accumulate(data)
    assert message.stop_reason == ours.raw_finish_reason
    assert "".join([block.text for block in message.content if block.type == "text"]) == ours.text
    assert "".join([block.thinking for block in message.content if block.type == "thinking"]) == ours.reasoning
    calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert calls == [(call.id, call.name, call.arguments) for call in ours.tool_calls]


def test_an_unstreamed_sdk_object_is_parsed() -> None:
    body = (CAPTURES / "openai-chat/tools-parallel.whole.json").read_bytes()
    with serving(Script([body], content_type="application/json")) as url, openai_client(url) as client:
        completion = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert said(parse_response(completion)) == said(parse_response(body))
