"""What wires of bare text hold, only the fields that are read.

OpenAI, vLLM, llama.cpp: `choices` (https://platform.openai.com/docs/api-reference/completions). Beside them the text
models of Bedrock's InvokeModel (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html): Titan,
Llama, Claude's legacy completions, Cohere's generate, Mistral; and watsonx
(https://cloud.ibm.com/apidocs/watsonx-ai#text-generation-stream). Each has a text, a reason and counts under other names.
"""

from typing import Any

import msgspec

from ...messages import FinishReason
from ..counts import Paths


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The base: decoded, read once and dropped, never part of a cycle."""


class Choice(Wire, frozen=True, gc=False):
    """A choice of OpenAI, a result of watsonx, an output of Mistral."""

    index: int | None = None
    text: str | None = None
    generated_text: str | None = None
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    """vLLM: the stop string or token that was met, beside the finish reason."""
    logprobs: dict[str, Any] | None = None


class Chunk(Wire, frozen=True, gc=False, rename={"output_text": "outputText", "completion_reason": "completionReason"}):
    id: str | None = None
    model: str | None = None
    model_id: str | None = None
    choices: list[Choice] | None = None
    results: list[Choice] | None = None
    outputs: list[Choice] | None = None
    output_text: str | None = None
    completion_reason: str | None = None
    generation: str | None = None
    completion: str | None = None
    text: str | None = None
    stop_reason: str | None = None
    finish_reason: str | None = None
    is_finished: bool | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None


MODELLED = frozenset(
    {
        "id",
        "object",
        "model",
        "model_id",
        "choices",
        "results",
        "outputs",
        "outputText",
        "completionReason",
        "generation",
        "completion",
        "text",
        "stop_reason",
        "finish_reason",
        "is_finished",
        "usage",
        "error",
        "index",
    }
)

COUNTS = (
    "prompt_token_count",
    "generation_token_count",
    "inputTextTokenCount",
    "totalOutputTextTokenCount",
    "generated_token_count",
    "input_token_count",
)
"""Counts that stand beside the text, not in a usage object."""

FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "end_of_text": FinishReason.STOP,
    "FINISH": FinishReason.STOP,
    "FINISHED": FinishReason.STOP,
    "COMPLETE": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "LENGTH": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "MAX_TOKENS": FinishReason.LENGTH,
    "token_limit": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "CONTENT_FILTERED": FinishReason.CONTENT_FILTER,
    "ERROR_TOXIC": FinishReason.CONTENT_FILTER,
    "RAG_QUERY_WHEN_RAG_DISABLED": FinishReason.ERROR,
    "error": FinishReason.ERROR,
    "ERROR": FinishReason.ERROR,
}
"""Any other is UNKNOWN."""

NO_REASON = (None, "", "not_finished")

USAGE_PATHS: Paths = {
    "input_tokens": (("prompt_tokens",), ("prompt_token_count",), ("inputTextTokenCount",), ("input_token_count",)),
    "output_tokens": (
        ("completion_tokens",),
        ("generation_token_count",),
        ("totalOutputTextTokenCount",),
        ("generated_token_count",),
    ),
    "total_tokens": (("total_tokens",),),
    "cache_read_tokens": (("prompt_tokens_details", "cached_tokens"),),
}
