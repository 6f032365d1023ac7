"""What the wire of Cohere's chat v2 holds, only the fields that are read: https://docs.cohere.com/reference/chat-stream"""

from typing import Any

import msgspec

from ...messages import FinishReason
from ..counts import Paths


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The base: decoded, read once and dropped, never part of a cycle."""


class Content(Wire, frozen=True, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class Function(Wire, frozen=True, gc=False):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class ToolCall(Wire, frozen=True, gc=False):
    id: str | None = None
    function: Function | None = None


class Message(Wire, frozen=True, gc=False):
    """In an event each field is one piece, in an unstreamed body a list of all; an empty list says nothing."""

    content: Content | list[Content] | str | None = None
    tool_plan: str | None = None
    tool_calls: ToolCall | list[ToolCall] | None = None
    citations: dict[str, Any] | list[dict[str, Any]] | None = None


class Delta(Wire, frozen=True, gc=False):
    message: Message | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    error: str | dict[str, Any] | None = None
    error_type: str | None = None


class Event(Wire, frozen=True, gc=False):
    """One payload. `message` and what follows are those of an unstreamed body."""

    type: str | None = None
    id: str | None = None
    index: int | None = None
    delta: Delta | None = None
    message: Message | str | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    error: str | dict[str, Any] | None = None
    logprobs: dict[str, Any] | None = None


MODELLED = frozenset({"type", "id", "index", "delta", "message", "finish_reason", "usage"})
MODELLED_IN_DELTA = frozenset({"message", "finish_reason", "usage", "error", "error_type"})

FINISH_REASONS = {
    "COMPLETE": FinishReason.STOP,
    "STOP_SEQUENCE": FinishReason.STOP,
    "TOOL_CALL": FinishReason.TOOL_CALLS,
    "MAX_TOKENS": FinishReason.LENGTH,
    "ERROR_LIMIT": FinishReason.LENGTH,
    "ERROR_TOXIC": FinishReason.CONTENT_FILTER,
    "ERROR": FinishReason.ERROR,
    "TIMEOUT": FinishReason.ERROR,
    "USER_CANCEL": FinishReason.ERROR,
}
"""https://docs.cohere.com/reference/chat#response.body.finish_reason; any other is UNKNOWN."""

USAGE_PATHS: Paths = {
    "input_tokens": (("tokens", "input_tokens"), ("billed_units", "input_tokens")),
    "output_tokens": (("tokens", "output_tokens"), ("billed_units", "output_tokens")),
    "cache_read_tokens": (("cached_tokens",),),
    "reasoning_tokens": (("tokens", "reasoning_tokens"),),
}
"""Tokens, where they are told, else the units that are billed. Whether the input counts cached ones is not documented."""
