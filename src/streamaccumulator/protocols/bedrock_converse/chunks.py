"""What the wire of Bedrock Converse holds, only the fields that are read.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html

In an AWS frame the event's name is in a header and its fields are the payload; elsewhere the name is the one key around
them. Nova's InvokeModel speaks the second form.
"""

from typing import Any

import msgspec

from ...messages import FinishReason
from ..counts import Paths


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The base: decoded, read once and dropped, never part of a cycle."""


class ToolUse(Wire, frozen=True, gc=False, rename="camel"):
    input: str | dict[str, Any] | None = None


class Reasoning(Wire, frozen=True, gc=False, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class Delta(Wire, frozen=True, gc=False, rename="camel"):
    text: str | None = None
    tool_use: ToolUse | None = None
    reasoning_content: Reasoning | None = None
    citation: dict[str, Any] | None = None
    tool_result: list[Any] | None = None
    image: dict[str, Any] | None = None


class Event(Wire, frozen=True, gc=False, rename="camel"):
    """The fields of one event, whichever it is."""

    role: str | None = None
    content_block_index: int | None = None
    start: dict[str, Any] | None = None
    delta: Delta | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None


class Chunk(Event, frozen=True, gc=False, rename="camel"):
    """One payload: an event, or an event under its name. `output` is of an unstreamed body."""

    message_start: Event | None = None
    content_block_start: Event | None = None
    content_block_delta: Event | None = None
    content_block_stop: Event | None = None
    message_stop: Event | None = None
    metadata: Event | None = None
    output: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None


MODELLED = frozenset({"role", "contentBlockIndex", "start", "delta", "stopReason", "usage", "output", "p"})
"""Keys that are read, or are padding (`p`); those of a stop, of the metadata and of a body that are not here are kept."""

FINISH_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "content_filtered": FinishReason.CONTENT_FILTER,
    "malformed_model_output": FinishReason.ERROR,
    "malformed_tool_use": FinishReason.ERROR,
}
"""https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html; any other is UNKNOWN."""

USAGE_PATHS: Paths = {
    "input_tokens": (("inputTokens",),),
    "output_tokens": (("outputTokens",),),
    "total_tokens": (("totalTokens",),),
    "cache_read_tokens": (("cacheReadInputTokens",), ("cacheReadInputTokenCount",)),
    "cache_write_tokens": (("cacheWriteInputTokens",), ("cacheWriteInputTokenCount",)),
}
"""https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html: cached tokens are beside the input."""
