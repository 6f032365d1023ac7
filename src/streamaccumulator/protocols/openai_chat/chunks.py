"""What the wire of OpenAI Chat Completions holds: only the fields that are read, as loosely typed as servers send them.

https://platform.openai.com/docs/api-reference/chat-streaming/streaming

Beside the reference: `reasoning_content` (DeepSeek, llama.cpp, vLLM, Alibaba, Moonshot), `reasoning` (OpenRouter, Groq,
Cerebras, Ollama), `reasoning_text` (Copilot), `reasoning_details` (OpenRouter, Snowflake), content as a list (Mistral),
`x_groq.usage` (Groq), `choices[].usage` (Moonshot), `provider` (OpenRouter), `content_filter_results` (Azure).
"""

from typing import Any, Literal

import msgspec

from ...messages import FinishReason
from ..counts import Paths
from ..plain import Blanks


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The base: decoded, read once and dropped, never part of a cycle."""


class Function(Wire, frozen=True, gc=False):
    """A call's name and arguments, or pieces of them."""

    name: str | None = None
    arguments: str | dict[str, Any] | list[Any] | None = None


class CustomTool(Wire, frozen=True, gc=False):
    """The same for a tool whose input is bare text."""

    name: str | None = None
    input: str | None = None


class ToolCallDelta(Wire, frozen=True, gc=False):
    """A fragment of one call."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function | None = None
    custom: CustomTool | None = None


class Delta(Wire, frozen=True, gc=False):
    """A choice's `delta`; an unstreamed `message` has the same fields."""

    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCallDelta] | None = None
    function_call: Function | None = None
    annotations: list[dict[str, Any]] | None = None
    images: list[dict[str, Any]] | None = None
    audio: dict[str, Any] | None = None


class Choice(Wire, frozen=True, gc=False):
    """One choice of a chunk, or of an unstreamed body. `text` is for servers of text completions, and those that send both."""

    index: int | None = None
    delta: Delta | None = None
    logprobs: dict[str, Any] | None = None
    finish_reason: str | None = None
    message: Delta | None = None
    text: str | None = None
    content_filter_results: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None


class Chunk(Wire, frozen=True, gc=False):
    """One payload: what most of them have. What few have is looked up in those (`OpenAIChatDecoder._beside_the_choices`)."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None


class PlainFunction(Wire, frozen=True, gc=False, kw_only=True):
    name: None = None
    arguments: str


class PlainCall(Wire, frozen=True, gc=False, kw_only=True):
    index: int
    id: None = None
    type: str | None = None
    function: PlainFunction
    custom: None = None


class PlainDelta(Wire, frozen=True, gc=False, kw_only=True):
    content: str | None = None
    tool_calls: list[PlainCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: None = None
    reasoning_details: None = None
    refusal: None = None
    function_call: None = None
    annotations: None = None
    images: None = None
    audio: None = None


class PlainChoice(Wire, frozen=True, gc=False, kw_only=True):
    index: Literal[0] | None = None
    delta: PlainDelta
    logprobs: None = None
    finish_reason: None = None
    message: None = None
    text: None = None
    content_filter_results: None = None
    usage: None = None
    error: None = None


class PlainChunk(Wire, frozen=True, gc=False, kw_only=True):
    """A chunk that holds more of a text or of a call, and nothing else: where it says None another says something.

    The fields are in the order of the wire, in which they are found at once.
    """

    id: str | None = None
    model: str | None = None
    choices: list[PlainChoice]
    usage: None = None
    error: None = None


BLANKS = Blanks(
    texts=("content", "arguments", "reasoning_content", "reasoning"),
    number=r'tool_calls"\s*:\s*\[\s*\{\s*"index',
    padding=("obfuscation", "p"),
)

MODELLED = frozenset({"id", "model", "provider", "object", "choices", "usage", "error", "obfuscation", "p"})
"""Keys of a chunk that are read, or are padding (`obfuscation`, `p`); all others are kept as extras."""
MODELLED_IN_CHOICE = frozenset({"index", "delta", "message", "finish_reason", "logprobs", "usage", "error", "text"})
MODELLED_IN_DELTA = frozenset({"role", *Delta.__struct_fields__})
MODELLED_IN_CALL = frozenset(ToolCallDelta.__struct_fields__)
MODELLED_IN_FUNCTION = frozenset(Function.__struct_fields__)
"""The same for what is in a choice."""

FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
    "network_error": FinishReason.ERROR,
    "abort": FinishReason.ERROR,
    "insufficient_system_resource": FinishReason.ERROR,
}
"""The words of the look-alikes: https://docs.mistral.ai/api/ (model_length), https://api-docs.deepseek.com/api/create-chat-completion
(insufficient_system_resource), https://docs.z.ai (sensitive, network_error),
https://openrouter.ai/docs/api-reference/overview (error). Any other is UNKNOWN."""

USAGE_PATHS: Paths = {
    "input_tokens": (("prompt_tokens",), ("input_tokens",)),
    "output_tokens": (("completion_tokens",), ("output_tokens",)),
    "total_tokens": (("total_tokens",),),
    "cache_read_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("cache_read_input_tokens",),
        ("prompt_cache_hit_tokens",),
        ("cached_tokens",),
    ),
    "cache_write_tokens": (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",)),
    "reasoning_tokens": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
    ),
}
"""OpenAI's input count includes the cached tokens."""
