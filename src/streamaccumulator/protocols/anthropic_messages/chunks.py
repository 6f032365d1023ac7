"""What the wire of Anthropic Messages holds: one flat struct for all events, only the fields that are read.

https://docs.anthropic.com/en/api/messages-streaming
"""

from typing import Any, Literal

import msgspec

from ...messages import FinishReason
from ..counts import Paths
from ..plain import Blanks


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The base: decoded, read once and dropped, never part of a cycle."""


class Delta(Wire, frozen=True, gc=False):
    """The delta of a block, or (`stop_reason`) of the message."""

    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    citation: dict[str, Any] | None = None
    stop_reason: str | None = None


class Message(Wire, frozen=True, gc=False):
    """The message of `message_start`; an unstreamed body has the same fields."""

    id: str | None = None
    model: str | None = None
    provider: str | None = None
    content: list[dict[str, Any]] | str | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None


class Event(Wire, frozen=True, gc=False):
    """One payload. The last fields are those of an unstreamed body, whose `type` is `message`."""

    type: str | None = None
    index: int | None = None
    delta: Delta | None = None
    content_block: dict[str, Any] | None = None
    message: Message | str | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None
    id: str | None = None
    model: str | None = None
    content: list[dict[str, Any]] | str | None = None
    stop_reason: str | None = None


class PlainDelta(Wire, frozen=True, gc=False, kw_only=True):
    type: Literal["text_delta", "input_json_delta", "thinking_delta"]
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: None = None
    citation: None = None
    stop_reason: None = None


class PlainEvent(Wire, frozen=True, gc=False, kw_only=True):
    """More of one block's text or input, and nothing else: where it says None another says something."""

    type: Literal["content_block_delta"]
    index: int
    delta: PlainDelta
    content_block: None = None
    message: None = None
    usage: None = None
    error: None = None
    id: None = None
    model: None = None
    content: None = None
    stop_reason: None = None


BLANKS = Blanks(texts=("text", "partial_json", "thinking"))

MODELLED_IN_MESSAGE = frozenset({"id", "type", "role", "model", "provider", "content", "stop_reason", "usage"})
MODELLED_IN_DELTA = frozenset({"stop_reason"})
MODELLED_IN_EVENT = frozenset({"type", "delta", "usage", "index"})

FINISH_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
}
"""https://docs.anthropic.com/en/api/handling-stop-reasons; `pause_turn` and any new word are UNKNOWN. The last ones are
what gateways pass through of another protocol."""


USAGE_PATHS: Paths = {
    "input_tokens": (("input_tokens",),),
    "output_tokens": (("output_tokens",),),
    "cache_read_tokens": (("cache_read_input_tokens",),),
    "cache_write_tokens": (("cache_creation_input_tokens",),),
    "reasoning_tokens": (("output_tokens_details", "thinking_tokens"),),
}
"""Anthropic counts cached tokens beside `input_tokens`, and gives no total."""
