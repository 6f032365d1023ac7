"""What the wire of Gemini holds: one GenerateContentResponse after another, only the fields that are read.

https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from typing import Any, Literal

import msgspec

from ...messages import FinishReason
from ..counts import Paths
from ..plain import Blanks


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The base: decoded, read once and dropped, never part of a cycle."""


class PartialArg(Wire, frozen=True, gc=False, rename="camel"):
    """One leaf of arguments that come in pieces: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc"""

    json_path: str | None = None
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    null_value: object = msgspec.UNSET
    will_continue: bool | None = None


class FunctionCall(Wire, frozen=True, gc=False, rename="camel"):
    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None
    partial_args: list[PartialArg] | None = None
    will_continue: bool | None = None


class Blob(Wire, frozen=True, gc=False, rename="camel"):
    """`inlineData` and `fileData`."""

    mime_type: str | None = None
    data: str | None = None
    file_uri: str | None = None


class Part(Wire, frozen=True, gc=False, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    inline_data: Blob | None = None
    file_data: Blob | None = None
    part_metadata: dict[str, Any] | None = None
    video_metadata: dict[str, Any] | None = None
    media_resolution: dict[str, Any] | None = None


class Content(Wire, frozen=True, gc=False, rename="camel"):
    parts: list[Part] | None = None


class Candidate(Wire, frozen=True, gc=False, rename="camel"):
    index: int | None = None
    content: Content | None = None
    finish_reason: str | int | None = None
    finish_message: str | None = None
    logprobs_result: dict[str, Any] | None = None
    grounding_metadata: dict[str, Any] | None = None
    citation_metadata: dict[str, Any] | None = None
    url_context_metadata: dict[str, Any] | None = None


class Chunk(Wire, frozen=True, gc=False, rename="camel"):
    response_id: str | None = None
    model_version: str | None = None
    candidates: list[Candidate] | None = None
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None


class PlainPiece(Wire, frozen=True, gc=False, kw_only=True, rename="camel"):
    """More of a text among the arguments, which goes on."""

    json_path: str
    string_value: str
    number_value: None = None
    bool_value: None = None
    will_continue: bool


class PlainCall(Wire, frozen=True, gc=False, kw_only=True, rename="camel"):
    id: None = None
    name: None = None
    args: None = None
    partial_args: list[PlainPiece]
    will_continue: bool


class PlainPart(Wire, frozen=True, gc=False, kw_only=True, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: None = None
    function_call: PlainCall | None = None
    inline_data: None = None
    file_data: None = None
    part_metadata: None = None
    video_metadata: None = None
    media_resolution: None = None


class PlainContent(Wire, frozen=True, gc=False, kw_only=True, rename="camel"):
    parts: list[PlainPart]


class PlainCandidate(Wire, frozen=True, gc=False, kw_only=True, rename="camel"):
    content: PlainContent
    finish_reason: None = None
    index: Literal[0] | None = None
    finish_message: None = None
    logprobs_result: None = None
    grounding_metadata: None = None
    citation_metadata: None = None
    url_context_metadata: None = None


class PlainChunk(Wire, frozen=True, gc=False, kw_only=True, rename="camel"):
    """More of a text or of a call's arguments, with counts, and nothing else: where it says None another says something."""

    candidates: list[PlainCandidate]
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: None = None
    error: None = None


BLANKS = Blanks(texts=("text", "stringValue"), counts=("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"))

MODELLED = frozenset(
    {
        "responseId",
        "modelVersion",
        "candidates",
        "promptFeedback",
        "usageMetadata",
        "error",
        "sdkHttpResponse",
        "parsed",
        "automaticFunctionCallingHistory",
    }
)
"""Keys that are read; the last three are what google-genai adds to its objects."""
MODELLED_IN_CANDIDATE = frozenset({"index", "content", "finishReason", "logprobsResult"})
MODELLED_IN_PART = frozenset({"text", "thought", "thoughtSignature", "functionCall", "inlineData", "fileData"})

FINISH_REASONS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.CONTENT_FILTER,
    "RECITATION": FinishReason.CONTENT_FILTER,
    "LANGUAGE": FinishReason.CONTENT_FILTER,
    "BLOCKLIST": FinishReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "SPII": FinishReason.CONTENT_FILTER,
    "MODEL_ARMOR": FinishReason.CONTENT_FILTER,
    "IMAGE_SAFETY": FinishReason.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "IMAGE_RECITATION": FinishReason.CONTENT_FILTER,
    "MALFORMED_FUNCTION_CALL": FinishReason.ERROR,
    "MALFORMED_RESPONSE": FinishReason.ERROR,
    "UNEXPECTED_TOOL_CALL": FinishReason.ERROR,
    "TOO_MANY_TOOL_CALLS": FinishReason.ERROR,
    "MISSING_THOUGHT_SIGNATURE": FinishReason.ERROR,
    "1": FinishReason.STOP,
    "2": FinishReason.LENGTH,
    "3": FinishReason.CONTENT_FILTER,
    "4": FinishReason.CONTENT_FILTER,
    "7": FinishReason.CONTENT_FILTER,
    "8": FinishReason.CONTENT_FILTER,
}
"""https://ai.google.dev/api/generate-content#FinishReason; any other is UNKNOWN.

A number is the word's place in the enum of the service's protobuf. The Gemini API and Vertex AI number some words
differently; only numbers that mean the same in both are here. A malformed call is an ERROR: the model's turn is void.
"""

NO_REASON = (None, "", 0, "0", "FINISH_REASON_UNSPECIFIED")

USAGE_PATHS: Paths = {
    "input_tokens": (("promptTokenCount",),),
    "output_tokens": (("candidatesTokenCount",),),
    "total_tokens": (("totalTokenCount",),),
    "cache_read_tokens": (("cachedContentTokenCount",),),
    "reasoning_tokens": (("thoughtsTokenCount",),),
}
"""https://ai.google.dev/api/generate-content#UsageMetadata: the prompt's count includes cached tokens, the candidates'
count does not include thoughts."""
