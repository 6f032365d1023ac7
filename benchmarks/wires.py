"""Streams to measure, made in memory: full-size envelopes as the services send them, deltas of a given width."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from zlib import crc32


def _sse(payload: object, event: str = "") -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(payload, separators=(',', ':'))}\n\n".encode()


def chat_frame(delta: object, reason: str | None = None) -> bytes:
    """One chunk of OpenAI chat in its full envelope."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    envelope = {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion.chunk",
        "created": 1741570283,
        "model": "gpt-4.1-mini-2025-04-14",
        "service_tier": "default",
        "system_fingerprint": "fp_6ec83003ad",
        "choices": [choice],
        "obfuscation": padding(delta),
    }
    return _sse(envelope)


def padding(delta: object) -> str:
    """OpenAI's padding, of another length in each event, so that the size of an event does not tell that of its text."""
    checksum = crc32(repr(delta).encode())
    return f"{checksum:08x}aB3dE5gH7"[: 1 + checksum % 16]


def pieces(text: str, width: int) -> Iterator[str]:
    return (text[at : at + width] for at in range(0, len(text), width))


def arguments(size: int) -> str:
    """A JSON object of about this many bytes: a file being written."""
    line = "def handler(event): return event['detail'] or 'none'\\n"
    return '{"path":"src/app.py","content":"' + line * (size // len(line)) + '"}'


def records(size: int) -> str:
    """A JSON object of about this many bytes: rows of a table."""
    row = '{"id":%06d,"name":"Ada Lovelace","tags":["a","b"],"score":12.5},'
    rows = "".join([row % (100_000 + at) for at in range(size // len(row % 100_000))])
    return '{"rows":[' + rows[:-1] + "]}"


def chat_text(deltas: int) -> list[bytes]:
    return [
        chat_frame({"role": "assistant", "content": ""}),
        *[chat_frame({"content": f"w{at % 1000:03}"}) for at in range(deltas)],
        chat_frame({}, "stop"),
        b"data: [DONE]\n\n",
    ]


def chat_call(size: int, width: int, made: Callable[[int], str] = arguments) -> list[bytes]:
    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
    return [
        chat_frame({"role": "assistant", "content": None, "tool_calls": [start]}),
        *[chat_frame({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces(made(size), width)],
        chat_frame({}, "tool_calls"),
        b"data: [DONE]\n\n",
    ]


def _anthropic(kind: str, **fields: object) -> bytes:
    return _sse({"type": kind, **fields}, kind)


def _claude(block: object, deltas: list[object], reason: str) -> list[bytes]:
    usage = {"input_tokens": 20, "cache_read_input_tokens": 0, "output_tokens": 1}
    message: dict[str, object] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
    }
    return [
        _anthropic("message_start", message={**message, "stop_sequence": None, "usage": usage}),
        _anthropic("content_block_start", index=0, content_block=block),
        *[_anthropic("content_block_delta", index=0, delta=delta) for delta in deltas],
        _anthropic("content_block_stop", index=0),
        _anthropic("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 9}),
        _anthropic("message_stop"),
    ]


def claude_text(deltas: int) -> list[bytes]:
    words: list[object] = [{"type": "text_delta", "text": f"w{at % 1000:03}"} for at in range(deltas)]
    return _claude({"type": "text", "text": ""}, words, "end_turn")


def claude_call(size: int, width: int, made: Callable[[int], str] = arguments) -> list[bytes]:
    deltas: list[object] = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(made(size), width)]
    return _claude({"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}, deltas, "tool_use")


def chat_calls(size: int, width: int, calls: int = 8) -> list[bytes]:
    """Several calls whose fragments come in turns, each of `size` bytes."""
    starts = [
        {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": "write", "arguments": ""}} for at in range(calls)
    ]
    fragments = [{"index": at, "function": {"arguments": piece}} for piece in pieces(arguments(size), width) for at in range(calls)]
    return [
        chat_frame({"role": "assistant", "content": None, "tool_calls": starts}),
        *[chat_frame({"tool_calls": [fragment]}) for fragment in fragments],
        chat_frame({}, "tool_calls"),
        b"data: [DONE]\n\n",
    ]


def _responses(
    item: dict[str, object],
    kind: str,
    key: dict[str, object],
    beside: dict[str, object],
    deltas: list[str],
    done: dict[str, object],
) -> list[bytes]:
    """Events as OpenAI sends them: the number behind the type, `key` before the delta and `beside` behind it."""
    response: dict[str, object] = {
        "id": "resp_67c9fdcecf488190bdd9a0409de3a1ec07b8b0ad4e5eb654",
        "object": "response",
        "created_at": 1741290958,
        "status": "in_progress",
        "model": "gpt-4.1-mini-2025-04-14",
        "output": [],
    }
    place = {"item_id": item["id"], "output_index": 0, **key}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *[{"type": f"response.{kind}.delta", **place, "delta": delta, **beside, "obfuscation": padding(delta)} for delta in deltas],
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, **done, "status": "completed"}},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": [{**item, **done}]}},
    ]
    return [
        _sse({"type": event["type"], "sequence_number": number, **event}, str(event["type"])) for number, event in enumerate(events)
    ]


def responses_text(deltas: int) -> list[bytes]:
    words = [f"w{at % 1000:03}" for at in range(deltas)]
    item: dict[str, object] = {"id": "msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654", "type": "message", "role": "assistant"}
    part = {"type": "output_text", "text": "".join(words), "annotations": []}
    return _responses({**item, "content": []}, "output_text", {"content_index": 0}, {"logprobs": []}, words, {"content": [part]})


def responses_call(size: int, width: int) -> list[bytes]:
    item: dict[str, object] = {
        "id": "fc_67ca09c6bedc8190a7abfec07b1a1332096610f474011cc0",
        "type": "function_call",
        "call_id": "call_1",
        "name": "write",
        "arguments": "",
    }
    text = arguments(size)
    return _responses(item, "function_call_arguments", {}, {}, list(pieces(text, width)), {"arguments": text})


def _gemini(part: object, usage: object, reason: str | None = None) -> bytes:
    candidate: dict[str, object] = {"content": {"parts": [part], "role": "model"}, "index": 0}
    return _sse(
        {
            "candidates": [{**candidate, "finishReason": reason} if reason else candidate],
            "usageMetadata": usage,
            "modelVersion": "gemini-2.5-flash",
            "responseId": "Yc7UaKOsFpqNz7IP1Y7g0Q4",
        }
    )


def _tokens(count: int) -> dict[str, object]:
    return {
        "promptTokenCount": 11,
        "candidatesTokenCount": count,
        "totalTokenCount": 11 + count,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 11}],
    }


def gemini_text(deltas: int) -> list[bytes]:
    words = [_gemini({"text": f"w{at % 1000:03}"}, _tokens(at + 1)) for at in range(deltas)]
    return [*words, _gemini({"text": "."}, _tokens(deltas + 1), "STOP")]


def gemini_whole_call(size: int) -> list[bytes]:
    """A call as Gemini sends it if it is not asked for pieces: one chunk."""
    return [_gemini({"functionCall": {"name": "write", "args": json.loads(arguments(size))}}, _tokens(9), "STOP")]


def gemini_call(size: int, width: int) -> list[bytes]:
    """A call in pieces of its texts, as Gemini streams arguments: by the path of each."""
    told = {"trafficType": "ON_DEMAND"}
    frames = [_gemini({"functionCall": {"name": "write", "willContinue": True}, "thoughtSignature": "CmIBjz1r" * 30}, told)]
    for key, text in json.loads(arguments(size)).items():
        leaf = {"jsonPath": f"$.{key}"}
        leaves = [{**leaf, "stringValue": piece, "willContinue": True} for piece in pieces(text, width)]
        frames += [
            _gemini({"functionCall": {"partialArgs": [one], "willContinue": True}}, told)
            for one in (*leaves, {**leaf, "stringValue": ""})
        ]
    return [*frames, _gemini({"functionCall": {}}, _tokens(9), "STOP")]


def reads(frames: list[bytes], size: int) -> list[bytes]:
    """The stream in reads of `size` bytes; 0 gives one frame a read."""
    if size == 0:
        return frames
    data = b"".join(frames)
    return [data[at : at + size] for at in range(0, len(data), size)]


TEXTS = {
    "openai-chat": chat_text,
    "openai-responses": responses_text,
    "anthropic-messages": claude_text,
    "gemini": gemini_text,
}
CALLS = {
    "openai-chat": chat_call,
    "openai-responses": responses_call,
    "anthropic-messages": claude_call,
    "gemini": gemini_call,
}
"""A text of so many deltas, and a call of so many bytes by so many characters, of each protocol that is measured."""
ROWS = {"openai-chat": partial(chat_call, made=records), "anthropic-messages": partial(claude_call, made=records)}
"""A call whose arguments are many small values, where CALLS have one long text."""
