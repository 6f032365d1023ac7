"""Models with scripted answers on the wire of one protocol, and runs of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from streamaccumulator import (
    AccumulatedResponse,
    AsyncChatStream,
    Message,
    ToolSpec,
    to_request,
)
from streamaccumulator.runtime import (
    AgentEvent,
    AgentRuntime,
    RunOutput,
    RuntimePolicy,
)

from ..wire import DONE, anthropic, call, chat, delta, finish

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def said(text: str, reason: str = "stop") -> list[bytes]:
    return [*[delta(content=piece) for piece in text], finish(reason), chat(usage=USAGE), DONE]


def called(*calls: tuple[str, str, str], text: str = "") -> list[bytes]:
    """An answer with calls: id, name, arguments."""
    pieces = [call(at, id, name, arguments) for at, (id, name, arguments) in enumerate(calls)]
    return [*[delta(content=text)][: len(text)], *pieces, finish("tool_calls"), chat(usage=USAGE), DONE]


class Scripted:
    """A model that gives one answer after another, and remembers what it was asked. A piece may be a wait, or a failure."""

    def __init__(self, *answers: Iterable[Any], wire: str = "openai-chat") -> None:
        self._wire = wire
        self._answers = [list(answer) for answer in answers]
        self.asked: list[list[Message]] = []
        self.tools: Sequence[ToolSpec] = ()
        self.closed = 0

    def stream(self, messages: Sequence[Message | AccumulatedResponse], tools: Sequence[ToolSpec] = ()) -> AsyncChatStream:
        to_request(messages, "openai-chat", model="m")  # whatever is asked is a conversation that a provider takes
        self.asked.append([message for message in messages if not isinstance(message, AccumulatedResponse)])
        self.tools = tools
        return AsyncChatStream(self._pieces(self._answers.pop(0)), self._wire)

    async def _pieces(self, pieces: list[Any]) -> AsyncIterator[bytes]:
        try:
            for piece in pieces:
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                elif isinstance(piece, Exception):
                    raise piece
                else:
                    yield piece
        finally:
            self.closed += 1


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


def run(model: Scripted, *tools: Callable[..., Any], input: Any = "Go", **policy: Any) -> RunOutput:
    return AgentRuntime(model, tools, RuntimePolicy(**policy)).run_sync(input)


def listen(runtime: AgentRuntime, input: Any = "Go", session: str | None = None) -> list[AgentEvent]:
    async def main() -> list[AgentEvent]:
        return [event async for event in runtime.run_stream(input, session)]

    return asyncio.run(main())


def codes(output: RunOutput) -> list[str]:
    return [problem.code for problem in output.problems]


def tool_use(at: int, id: str, json: str) -> list[bytes]:
    block = {"type": "tool_use", "id": id, "name": "add", "input": {}}
    return [
        anthropic("content_block_start", index=at, content_block=block),
        anthropic("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": json}),
    ]
