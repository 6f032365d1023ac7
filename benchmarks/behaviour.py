"""`python -m benchmarks.behaviour`: what the providers' own helpers and this library make of broken streams.

Each cell is what really came back from the same bytes, in a few words; nothing is asserted.
"""

import importlib.metadata
import json
from collections.abc import Callable

from streamaccumulator import AccumulatorError, accumulate

from . import contenders as c
from . import wires as w


def _chat(delta: object, reason: str | None = None) -> bytes:
    return w.chat_frame(delta, reason)


def _call(arguments: str, id: str | None = None, name: str | None = None) -> dict[str, object]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{"index": 0, **({"id": id, "type": "function"} if id else {}), "function": function}]}


_ERROR = b'data: {"error":{"message":"overloaded","type":"server_error","code":"503"}}\n\n'
_CLAUDE = w.claude_call(200, 20)

CASES: list[tuple[str, str, list[bytes]]] = [
    ("openai-chat", "the connection ends in the middle of the text", [_chat({"role": "assistant", "content": "The answer is"})]),
    (
        "openai-chat",
        "the connection ends in the middle of a call's arguments",
        [_chat({"role": "assistant", **_call('{"path":"a.md","te', "c1", "write")})],
    ),
    (
        "openai-chat",
        "max_tokens in the middle of a call's arguments",
        [_chat({"role": "assistant", **_call('{"path":"a.md","te', "c1", "write")}), _chat({}, "length"), b"data: [DONE]\n\n"],
    ),
    ("openai-chat", "an error object inside the stream", [_chat({"role": "assistant", "content": "par"}), _ERROR]),
    (
        "openai-chat",
        "two parallel calls, both at index 0",
        [
            _chat({"role": "assistant", **_call('{"a":1}', "c1", "f")}),
            _chat(_call('{"b":2}', "c2", "g")),
            _chat({}, "tool_calls"),
            b"data: [DONE]\n\n",
        ],
    ),
    ("anthropic-messages", "the connection ends in the middle of a call's arguments", _CLAUDE[:6]),
    (
        "anthropic-messages",
        "max_tokens in the middle of a call's arguments",
        [*_CLAUDE[:6], _CLAUDE[-3], _CLAUDE[-2].replace(b'"tool_use"', b'"max_tokens"'), _CLAUDE[-1]],
    ),
]


def _ours(protocol: str, reads: list[bytes]) -> str:
    try:
        response = accumulate(reads, protocol)
    except AccumulatorError as error:
        return f"`{type(error).__name__}`: {error}"
    calls = ", ".join([f"{call.name}({json.dumps(call.arguments)})" for call in response.tool_calls])
    return f"returns {response.text!r} {calls}"


def _theirs(run: Callable[[list[bytes]], object], reads: list[bytes]) -> str:
    try:
        return f"returns {run(reads)!r}"
    except Exception as error:  # noqa: BLE001  # whatever an SDK raises is its answer
        return f"`{type(error).__name__}`: {str(error)[:90]}"


def main() -> None:
    for name in ("openai", "anthropic"):
        print(f"{name} {importlib.metadata.version(name)}")
    for protocol, what, reads in CASES:
        helper = {"openai-chat": c.openai_final_message, "anthropic-messages": c.anthropic_final_message}[protocol]
        print(f"\n{protocol}: {what}\n  SDK : {_theirs(helper, reads)}\n  ours: {_ours(protocol, reads)}")


if __name__ == "__main__":
    main()
