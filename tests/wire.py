"""Small builders of wire bytes and ways to read them, shared by the tests."""

import json
import struct
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

from streamaccumulator import AccumulatedResponse, ChatStreamEvent, Limits, StreamAccumulator, StreamDecoder, accumulate

DONE = b"data: [DONE]\n\n"


def sse(*payloads: Any, event: str = "") -> bytes:
    """Payloads as server-sent events, one `data:` line each."""
    name = f"event: {event}\n" if event else ""
    return b"".join([f"{name}data: {json.dumps(payload, ensure_ascii=False)}\n\n".encode() for payload in payloads])


def chat(*choices: dict[str, Any], **keys: Any) -> bytes:
    """One chunk of OpenAI chat with exactly these choices."""
    return sse({"id": "x1", "object": "chat.completion.chunk", "created": 1, "model": "m1", "choices": list(choices), **keys})


def delta(**fields: Any) -> bytes:
    """One chunk with one choice whose delta has these fields."""
    return chat({"index": 0, "delta": fields, "finish_reason": None})


def finish(reason: str) -> bytes:
    """The closing chunk."""
    return chat({"index": 0, "delta": {}, "finish_reason": reason})


def call(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = None) -> bytes:
    """One chunk with one fragment of a tool call; what is None is absent."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return delta(tool_calls=[{**entry, "type": "function", "function": function}])


def anthropic(kind: str, **fields: Any) -> bytes:
    """One event of Anthropic Messages."""
    return sse({"type": kind, **fields}, event=kind)


def aws_frame(name: str, fields: Any, *, exception: bool = False) -> bytes:
    """One frame of an AWS event stream."""
    kind = "exception" if exception else "event"
    said = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(
        [bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode() for key, value in said.items()]
    )
    payload = json.dumps(fields, ensure_ascii=False).encode()
    prelude = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    frame = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return frame + struct.pack(">I", crc32(frame))


def events_of(data: bytes | Iterable[bytes], protocol: str = "auto") -> list[ChatStreamEvent]:
    """All events of a stream, given whole or in pieces."""
    decoder = StreamDecoder(protocol)
    events: list[ChatStreamEvent] = []
    for piece in [data] if isinstance(data, bytes) else data:
        events += decoder.feed(piece)
    return events + decoder.close()


def fold(events: Iterable[ChatStreamEvent]) -> AccumulatedResponse:
    """The response of events, whatever went wrong."""
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.observe(event)
    return accumulator.finalize(strict=False)


def read(*pieces: bytes, protocol: str = "openai-chat", limits: Limits = Limits()) -> AccumulatedResponse:
    """The response of bytes, whatever went wrong."""
    return accumulate(b"".join(pieces), protocol, strict=False, limits=limits)


def cuts(data: bytes, size: int) -> Iterator[bytes]:
    """The data in pieces of `size` bytes."""
    return (data[at : at + size] for at in range(0, len(data), size))


def codes(response: AccumulatedResponse) -> set[str]:
    """The codes of a response's diagnostics."""
    return {diagnostic.code for diagnostic in response.diagnostics}
