"""What the wire of OpenAI Responses holds: one flat struct for all events, only the fields that are read.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from typing import Annotated, Any, Literal

import msgspec

from ...messages import FinishReason
from ..counts import Paths
from ..plain import Blanks


class Event(msgspec.Struct, frozen=True, gc=False):
    """One payload. `object` and what follows are those of an unstreamed body, whose `object` is `response`."""

    type: str | None = None
    sequence_number: int | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    item_id: str | None = None
    delta: str | dict[str, Any] | None = None
    text: str | dict[str, Any] | None = None
    refusal: str | None = None
    arguments: str | dict[str, Any] | None = None
    input: str | list[Any] | None = None
    name: str | None = None
    item: dict[str, Any] | None = None
    part: dict[str, Any] | None = None
    annotation: dict[str, Any] | None = None
    logprobs: list[Any] | None = None
    response: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None
    object: str | None = None


class PlainEvent(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """More of a text or of a call's arguments, and nothing else: where it says None another says something."""

    type: Literal[
        "response.output_text.delta",
        "response.reasoning_text.delta",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
    ]
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    logprobs: Annotated[list[Any], msgspec.Meta(max_length=0)] | None = None
    delta: str
    sequence_number: int | None = None
    text: None = None
    refusal: None = None
    arguments: None = None
    input: None = None
    name: None = None
    item: None = None
    part: None = None
    annotation: None = None
    response: None = None
    error: None = None
    object: None = None


BLANKS = Blanks(texts=("delta",), serial="sequence_number", padding=("obfuscation",))

MODELLED = frozenset({"type", "sequence_number", "response", "obfuscation"})
"""Keys of a terminal event that are read, or are padding; all others are kept as extras."""

MODELLED_IN_RESPONSE = frozenset({"id", "object", "model", "output", "usage", "error"})
ECHO = frozenset(
    {
        "background",
        "frequency_penalty",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "store",
        "stream",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)
"""Keys of a response that repeat the request: left out, as they are no part of the answer and can be most of its bytes."""

MODELLED_IN_CALL = frozenset({"type", "call_id", "name", "arguments", "input"})
MODELLED_IN_REASONING = frozenset({"type", "summary", "content", "encrypted_content"})
MODELLED_IN_MESSAGE = frozenset({"type", "role", "content"})
MODELLED_IN_CONTENT = frozenset({"type", "text", "refusal", "annotations", "logprobs"})

FINISH_REASONS = {
    "completed": FinishReason.STOP,
    "max_output_tokens": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "failed": FinishReason.ERROR,
    "cancelled": FinishReason.ERROR,
}
"""A response's `status`, or the reason in its `incomplete_details`; any other is UNKNOWN.
https://platform.openai.com/docs/api-reference/responses/object"""

USAGE_PATHS: Paths = {
    "input_tokens": (("input_tokens",),),
    "output_tokens": (("output_tokens",),),
    "total_tokens": (("total_tokens",),),
    "cache_read_tokens": (("input_tokens_details", "cached_tokens"),),
    "cache_write_tokens": (("input_tokens_details", "cache_write_tokens"),),
    "reasoning_tokens": (("output_tokens_details", "reasoning_tokens"),),
}
"""OpenAI's input count includes the cached tokens."""
