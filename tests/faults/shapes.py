"""Wire shapes and short readings that the tests of known faults share."""

import json
from typing import Any

from streamaccumulator import AccumulatedResponse, InvalidToolCallJson, accumulate

from ..wire import anthropic, aws_frame, read, sse

Calls = list[tuple[str, Any]]

MESSAGE = anthropic("message_start", message={"id": "m", "model": "m1", "role": "assistant", "content": [], "usage": {}})
END = anthropic("message_stop")


def calls(response: AccumulatedResponse) -> Calls:
    """Name and arguments of each whole call."""
    return [(call.name, call.arguments) for call in response.tool_calls]


def ids(response: AccumulatedResponse) -> list[str]:
    """The ids of the whole calls."""
    return [call.id for call in response.tool_calls]


def counts(response: AccumulatedResponse) -> tuple[int | None, int | None, int | None]:
    """Input, output and total tokens."""
    usage = response.usage
    assert usage is not None
    return usage.input_tokens, usage.output_tokens, usage.total_tokens


def bad_call(response: AccumulatedResponse) -> InvalidToolCallJson:
    """The one call that is not usable."""
    (error,) = [error for error in response.errors if isinstance(error, InvalidToolCallJson)]
    return error


# ---- Anthropic Messages.


def block(index: int, *deltas: dict[str, Any], stop: bool = True, **start: Any) -> bytes:
    """One block: its start, its deltas, its stop."""
    return (
        anthropic("content_block_start", index=index, content_block=start)
        + b"".join([anthropic("content_block_delta", index=index, delta=delta) for delta in deltas])
        + (anthropic("content_block_stop", index=index) if stop else b"")
    )


def text_delta(text: str) -> dict[str, Any]:
    """A piece of text."""
    return {"type": "text_delta", "text": text}


def json_delta(text: str) -> dict[str, Any]:
    """A piece of a call's input."""
    return {"type": "input_json_delta", "partial_json": text}


def message(*pieces: bytes, stop: str = "end_turn") -> AccumulatedResponse:
    """The response of a whole message with these blocks."""
    end = anthropic("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 1}) + END
    return read(MESSAGE, *pieces, end, protocol="anthropic-messages")


# ---- The others.


def responses(kind: str, **fields: Any) -> bytes:
    """One event of OpenAI Responses."""
    return sse({"type": f"response.{kind}", **fields}, event=f"response.{kind}")


def gemini(*parts: Any, finish: str | None = None) -> bytes:
    """One chunk of Gemini with these parts; without any, one with only the reason."""
    content = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    return sse({"candidates": [{**content, **({"finishReason": finish} if finish else {})}]})


def read_gemini(*pieces: bytes) -> AccumulatedResponse:
    """The response of Gemini's chunks."""
    return read(*pieces, protocol="gemini")


def lines(*payloads: Any) -> bytes:
    """Payloads as lines of JSON."""
    return b"".join([json.dumps(payload).encode() + b"\n" for payload in payloads])


def converse(*events: dict[str, Any]) -> AccumulatedResponse:
    """The response of Bedrock's events, parsed already or in AWS frames."""
    frames = [aws_frame(name, fields, exception=name.endswith("Exception")) for event in events for name, fields in event.items()]
    parsed = accumulate(list(events), "bedrock-converse", strict=False)
    assert accumulate(b"".join(frames), "bedrock-converse", strict=False) == parsed
    return parsed


def ollama(*payloads: dict[str, Any]) -> AccumulatedResponse:
    """The response of Ollama's lines."""
    return read(lines(*payloads), protocol="ollama")
