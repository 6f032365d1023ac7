"""What the wire of Gemini's Interactions holds, only the fields that are read: https://ai.google.dev/api/interactions-api"""

from typing import Any

import msgspec

from ...messages import FinishReason
from ..counts import Paths


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The base: decoded, read once and dropped, never part of a cycle."""


class Delta(Wire, frozen=True, gc=False):
    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: str | None = None
    signature: str | None = None
    content: dict[str, Any] | None = None
    arguments: str | dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = None
    data: str | None = None
    uri: str | None = None
    mime_type: str | None = None


class Event(Wire, frozen=True, gc=False):
    """One payload. `object` and what follows are those of an unstreamed body."""

    event_type: str | None = None
    index: int | None = None
    step: dict[str, Any] | None = None
    content: dict[str, Any] | None = None
    """What the first version of the API had in place of a step."""
    delta: Delta | None = None
    interaction: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None
    object: str | None = None


MODELLED_IN_INTERACTION = frozenset({"id", "object", "model", "status", "usage", "steps", "outputs", "error"})

FINISH_REASONS = {
    "completed": FinishReason.STOP,
    "requires_action": FinishReason.TOOL_CALLS,
    "incomplete": FinishReason.LENGTH,
    "budget_exceeded": FinishReason.LENGTH,
    "failed": FinishReason.ERROR,
    "cancelled": FinishReason.ERROR,
}
"""An interaction's `status`; any other is UNKNOWN, and `in_progress` is none."""

USAGE_PATHS: Paths = {
    "input_tokens": (("total_input_tokens",),),
    "output_tokens": (("total_output_tokens",),),
    "total_tokens": (("total_tokens",),),
    "cache_read_tokens": (("total_cached_tokens",),),
    "reasoning_tokens": (("total_thought_tokens",),),
}
