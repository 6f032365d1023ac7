"""Other libraries that make a message of a stream, each from the same bytes, by a transport in memory.

Each gives what it made as (text, arguments), so that a wrong answer is seen. None of them is needed for the rest: whoever is not
installed is left out. `make bench-peers` installs them in an environment of their own.
"""

import asyncio
import importlib.metadata
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from .contenders import Answer, Contender, anthropic_final_message, openai_final_message

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network otherwise


def _answer(message: dict[str, Any]) -> Answer:
    return message["text"], message["calls"][0][1] if message["calls"] else None


def openai_helper(reads: list[bytes]) -> Answer:
    """openai: `client.chat.completions.stream`."""
    return _answer(openai_final_message(reads))


def anthropic_helper(reads: list[bytes]) -> Answer:
    """anthropic: `client.messages.stream`."""
    return _answer(anthropic_final_message(reads))


def _client(reads: list[bytes]) -> Any:
    import openai

    from .contenders import _transport

    return openai.OpenAI(api_key="none", base_url="http://127.0.0.1", http_client=_transport(reads), max_retries=0)


def _async_client(reads: list[bytes]) -> Any:
    import httpx2
    import openai

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for data in reads:
                yield data

    def answer(request: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    return openai.AsyncOpenAI(api_key="none", base_url="http://127.0.0.1", http_client=client, max_retries=0)


def openai_raw(reads: list[bytes]) -> Answer:
    """openai: its chunks, and joining what they hold by hand."""
    text: list[str] = []
    arguments: list[str] = []
    for chunk in _client(reads).chat.completions.create(model="m", messages=[], stream=True):
        delta = chunk.choices[0].delta
        if delta.content:
            text.append(delta.content)
        for call in delta.tool_calls or ():
            arguments.append(call.function.arguments or "")
    return "".join(text), json.loads("".join(arguments)) if arguments else None


def llmstream(reads: list[bytes]) -> Answer:
    """llmstream: its events."""
    import llmstream as library

    text: list[str] = []
    arguments: Any = None
    for event in library.iter_events(iter(reads), provider="openai"):
        if event.type == "delta":
            text.append(event.text)
        elif event.type == "tool_call_complete":
            arguments = event.arguments
    return "".join(text), arguments


def langchain(reads: list[bytes]) -> Answer:
    """langchain-openai: `ChatOpenAI.stream`, the chunks added up."""
    from langchain_openai import ChatOpenAI

    from .contenders import _transport

    model = ChatOpenAI(model="m", api_key="none", base_url="http://127.0.0.1", http_client=_transport(reads), max_retries=0)
    whole: Any = None
    for chunk in model.stream("x"):
        whole = chunk if whole is None else whole + chunk
    calls = whole.tool_calls
    return str(whole.content), calls[0]["args"] if calls else None


def litellm(reads: list[bytes]) -> Answer:
    """litellm: `completion(stream=True)` and `stream_chunk_builder`."""
    import litellm as library

    messages = [{"role": "user", "content": "x"}]
    stream = library.completion(model="openai/m", messages=messages, stream=True, client=_client(reads))
    message = library.stream_chunk_builder(list(stream), messages=messages).choices[0].message
    return message.content or "", json.loads(message.tool_calls[0].function.arguments) if message.tool_calls else None


def pydantic_ai(reads: list[bytes]) -> Answer:
    """pydantic-ai: `model_request_stream`."""
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest, TextPart, ToolCallPart
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def read() -> Answer:
        model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=_async_client(reads)))
        async with model_request_stream(model, [ModelRequest.user_text_prompt("x")]) as stream:
            async for _ in stream:
                pass
            parts = stream.get().parts
        calls = [part.args_as_dict() for part in parts if isinstance(part, ToolCallPart)]
        return "".join([part.content for part in parts if isinstance(part, TextPart)]), calls[0] if calls else None

    return asyncio.run(read())


def openai_agents(reads: list[bytes]) -> Answer:
    """openai-agents: `Runner.run_streamed` with its model for chat completions, and a tool that ends the run."""
    import agents

    def write(path: str = "", content: str = "", rows: list[dict[str, Any]] | None = None) -> str:
        """Write a file."""
        return ""

    async def read() -> Answer:
        model = agents.OpenAIChatCompletionsModel(model="m", openai_client=_async_client(reads))
        agent = agents.Agent(
            name="a", model=model, tools=[agents.function_tool(write, strict_mode=False)], tool_use_behavior="stop_on_first_tool"
        )
        run = agents.Runner.run_streamed(agent, "x")
        async for _ in run.stream_events():
            pass
        output = run.raw_responses[0].output
        calls = [json.loads(item.arguments) for item in output if item.type == "function_call"]
        texts = [part.text for item in output if item.type == "message" for part in item.content if part.type == "output_text"]
        return "".join(texts), calls[0] if calls else None

    agents.set_tracing_disabled(True)
    return asyncio.run(read())


PEERS: dict[str, tuple[str, str, Contender]] = {
    "openai, chunks": ("openai", "openai-chat", openai_raw),
    "openai, stream()": ("openai", "openai-chat", openai_helper),
    "anthropic, stream()": ("anthropic", "anthropic-messages", anthropic_helper),
    "llmstream": ("llmstream", "openai-chat", llmstream),
    "openai-agents": ("openai-agents", "openai-chat", openai_agents),
    "pydantic-ai": ("pydantic-ai-slim", "openai-chat", pydantic_ai),
    "langchain-openai": ("langchain-openai", "openai-chat", langchain),
    "litellm": ("litellm", "openai-chat", litellm),
}
"""By name: the distribution, the protocol it is measured with, and how."""


def installed() -> Iterator[tuple[str, str, str, Contender]]:
    """Name, version, protocol and contender of those that are here."""
    for name, (distribution, protocol, contender) in PEERS.items():
        try:
            yield name, importlib.metadata.version(distribution), protocol, contender
        except importlib.metadata.PackageNotFoundError:
            continue


Answering = Callable[[list[bytes]], Answer]
