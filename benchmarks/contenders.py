"""Who is measured: each takes the reads of a stream and gives (text, arguments), so that a wrong answer is seen.

`floor` is as fast as a typed JSON decode lets anyone be: split on blank lines, decode the needed fields, append, join,
parse the arguments once. It has no events, no errors, and no quirks. The SDKs are measured from the same bytes,
through a transport in memory.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from streamaccumulator import StreamDecoder, accumulate

Answer = tuple[str, Any]
Contender = Callable[[list[bytes]], Answer]


class _Function(msgspec.Struct, gc=False):
    arguments: str = ""


class _Call(msgspec.Struct, gc=False):
    function: _Function


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    finish_reason: str | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice]


class _BlockDelta(msgspec.Struct, gc=False):
    text: str = ""
    partial_json: str = ""


class _Event(msgspec.Struct, gc=False):
    type: str
    delta: _BlockDelta | None = None


def _payloads(reads: list[bytes]) -> Iterator[bytes]:
    rest = b""
    for data in reads:
        *blocks, rest = (rest + data).split(b"\n\n")
        for block in blocks:
            _, _, payload = block.partition(b"data: ")
            yield payload


def chat_floor(reads: list[bytes]) -> Answer:
    decode = msgspec.json.Decoder(_Chunk).decode
    text: list[str] = []
    arguments: list[str] = []
    for payload in _payloads(reads):
        if payload != b"[DONE]":
            delta = decode(payload).choices[0].delta
            if delta.content:
                text.append(delta.content)
            if delta.tool_calls:
                arguments.append(delta.tool_calls[0].function.arguments)
    return "".join(text), json.loads("".join(arguments)) if arguments else None


def claude_floor(reads: list[bytes]) -> Answer:
    decode = msgspec.json.Decoder(_Event).decode
    text: list[str] = []
    arguments: list[str] = []
    for payload in _payloads(reads):
        event = decode(payload)
        if event.type == "content_block_delta" and event.delta is not None:
            text.append(event.delta.text)
            arguments.append(event.delta.partial_json)
    joined = "".join(arguments)
    return "".join(text), json.loads(joined) if joined else None


class _ResponsesEvent(msgspec.Struct, gc=False):
    type: str
    delta: str | None = None


def responses_floor(reads: list[bytes]) -> Answer:
    decode = msgspec.json.Decoder(_ResponsesEvent).decode
    text: list[str] = []
    arguments: list[str] = []
    for payload in _payloads(reads):
        event = decode(payload)
        if event.type == "response.output_text.delta":
            text.append(event.delta or "")
        elif event.type == "response.function_call_arguments.delta":
            arguments.append(event.delta or "")
    return "".join(text), json.loads("".join(arguments)) if arguments else None


class _GeminiLeaf(msgspec.Struct, gc=False, rename="camel"):
    json_path: str
    string_value: str = ""


class _GeminiCall(msgspec.Struct, gc=False, rename="camel"):
    args: dict[str, Any] | None = None
    partial_args: list[_GeminiLeaf] | None = None


class _GeminiPart(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    function_call: _GeminiCall | None = None


class _GeminiContent(msgspec.Struct, gc=False):
    parts: list[_GeminiPart]


class _GeminiCandidate(msgspec.Struct, gc=False):
    content: _GeminiContent


class _GeminiChunk(msgspec.Struct, gc=False):
    candidates: list[_GeminiCandidate]


def gemini_floor(reads: list[bytes]) -> Answer:
    decode = msgspec.json.Decoder(_GeminiChunk).decode
    text: list[str] = []
    arguments: Any = None
    leaves: dict[str, list[str]] = {}
    for payload in _payloads(reads):
        for part in decode(payload).candidates[0].content.parts:
            if part.text:
                text.append(part.text)
            elif part.function_call is not None:
                arguments = part.function_call.args or arguments
                for leaf in part.function_call.partial_args or ():
                    leaves.setdefault(leaf.json_path[2:], []).append(leaf.string_value)
    return "".join(text), {key: "".join(pieces) for key, pieces in leaves.items()} or arguments


def response_of(protocol: str) -> Contender:
    """Ours, bytes to response."""

    def run(reads: list[bytes]) -> Answer:
        response = accumulate(reads, protocol)
        return response.text, response.tool_calls[0].arguments if response.tool_calls else None

    return run


def events_of(protocol: str, wanted: Answer) -> Contender:
    """Ours, bytes to events handed to the caller, who lets them go."""

    def run(reads: list[bytes]) -> Answer:
        decoder = StreamDecoder(protocol)
        for data in reads:
            for _ in decoder.feed(data):
                pass
        decoder.close()
        return wanted

    return run


def dicts_of(protocol: str, frames: list[bytes]) -> Contender:
    """Ours, payloads that somebody parsed already to response."""
    found = [json.loads(payload) for payload in _payloads(frames) if payload != b"[DONE]"]

    def run(reads: list[bytes]) -> Answer:
        response = accumulate(found, protocol)
        return response.text, response.tool_calls[0].arguments if response.tool_calls else None

    return run


def _transport(reads: list[bytes]) -> Any:
    import httpx2

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(reads))

    class _Body(httpx2.SyncByteStream):
        def __init__(self, reads: list[bytes]) -> None:
            self._reads = reads

        def __iter__(self) -> Iterator[bytes]:
            return iter(self._reads)

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def openai_final_message(reads: list[bytes]) -> dict[str, Any]:
    """What `client.chat.completions.stream` makes of the bytes."""
    import openai

    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1", http_client=_transport(reads), max_retries=0)
    with client.chat.completions.stream(model="m", messages=[]) as stream:
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    calls = [(call.function.name, _parsed(call.function.arguments)) for call in choice.message.tool_calls or ()]
    return {"text": choice.message.content or "", "calls": calls, "finish_reason": choice.finish_reason}


def anthropic_final_message(reads: list[bytes]) -> dict[str, Any]:
    """What `client.messages.stream` makes of the bytes."""
    import anthropic

    client = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1", http_client=_transport(reads), max_retries=0)
    with client.messages.stream(model="m", max_tokens=9, messages=[]) as stream:
        message = stream.get_final_message()
    texts = [block.text for block in message.content if block.type == "text"]
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return {"text": "".join(texts), "calls": calls, "finish_reason": message.stop_reason}


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
