"""Assistant messages as a conversation's history, and how a provider's own form of them is read back.

In a request a message has the form it has in an unstreamed body, so that what was sent is read by the decoder, not by a second
set of rules.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from streamaccumulator import AssistantMessage, Part, TextPart, ToolCall, parse_response

Json = dict[str, Any]

BODIES: dict[str, Callable[[list[Json]], Json]] = {
    "openai-chat": lambda entries: {"choices": [{"index": 0, "message": entries[0], "finish_reason": "stop"}]},
    "openai-responses": lambda entries: {"object": "response", "status": "completed", "output": entries},
    "anthropic-messages": lambda entries: {"type": "message", "stop_reason": "end_turn", **entries[0]},
    "gemini": lambda entries: {"candidates": [{"content": entries[0], "finishReason": "STOP"}]},
    "bedrock-converse": lambda entries: {"output": {"message": entries[0]}, "stopReason": "end_turn"},
    "cohere": lambda entries: {"message": entries[0], "finish_reason": "COMPLETE"},
    "ollama": lambda entries: {"message": entries[0], "done": True, "done_reason": "stop"},
}
"""The unstreamed body whose message a request's entries are."""


def read_back(entries: list[Json], protocol: str) -> tuple[Part, ...]:
    """The parts of a request's entries."""
    if not entries:
        return ()
    return parse_response(BODIES[protocol](entries), protocol, strict=False).message.content


def sent(message: AssistantMessage) -> tuple[Part, ...]:
    """The parts that are to come back: without empty text; blank arguments are the `{}` that they mean."""
    return tuple([_plain(part) for part in message.content if not (isinstance(part, TextPart) and not part.text)])


def _plain(part: Part) -> Part:
    if isinstance(part, ToolCall) and part.arguments == {} and part.arguments_raw.strip() in ("", "null"):
        return msgspec.structs.replace(part, arguments_raw="{}")
    return part


def comparable(parts: tuple[Part, ...]) -> list[Any]:
    """Parts without what says only how they came: whether an id was made, and the spelling of an object's JSON."""
    return [msgspec.structs.replace(part, minted=False, arguments_raw="") if isinstance(part, ToolCall) else part for part in parts]
