"""What the wire of Ollama holds, only the fields that are read: https://github.com/ollama/ollama/blob/main/docs/api.md"""

from typing import Any

import msgspec

from ...messages import FinishReason
from ..counts import Paths


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The base: decoded, read once and dropped, never part of a cycle."""


class Function(Wire, frozen=True, gc=False):
    name: str | None = None
    arguments: dict[str, Any] | str | None = None


class ToolCall(Wire, frozen=True, gc=False):
    id: str | None = None
    function: Function | None = None


class Message(Wire, frozen=True, gc=False):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[ToolCall] | None = None
    images: list[str] | None = None


class Chunk(Wire, frozen=True, gc=False):
    """One line; `/api/generate` has `response` and `thinking` in place of a message. An unstreamed body is the same."""

    model: str | None = None
    message: Message | None = None
    response: str | None = None
    thinking: str | None = None
    logprobs: list[Any] | None = None
    done: bool | None = None
    done_reason: str | None = None
    error: str | dict[str, Any] | None = None


COUNTS = ("prompt_eval_count", "eval_count")
MODELLED = frozenset({"model", "message", "response", "thinking", "done", "done_reason", "error", "logprobs", *COUNTS})
"""Keys that are read; the others of the last line (durations in nanoseconds, the context) are kept."""

FINISH_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
"""Any other (`load`, `unload`) is UNKNOWN; servers before 0.1.40 give none, and end with `done` alone."""

USAGE_PATHS: Paths = {"input_tokens": (("prompt_eval_count",),), "output_tokens": (("eval_count",),)}
