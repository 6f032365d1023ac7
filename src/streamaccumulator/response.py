"""AccumulatedResponse: one complete assistant message and everything that was noticed on the way.

It is a value: equal, copyable, picklable, and the same after a round trip through JSON. `to_json` carries `version`,
the version of this format; its JSON Schema is `docs/response.schema.json`.
"""

from typing import Any, Self, TypeVar

import msgspec

from ._otel import attributes
from ._record import Record
from ._values import copied
from .errors import (
    GRAVITY,
    AccumulatorError,
    ErrorTwin,
    InvalidToolCallJson,
    from_twin,
    to_twin,
)
from .messages import AssistantMessage, FinishReason, ReasoningPart, RefusalPart, TextPart, TokenUsage, ToolCall
from .timings import StreamTimings

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class Diagnostic(Record, frozen=True):
    """A note that changes nothing: `code` names its kind, `message` and `where` tell of the first, `count` how often."""

    code: str
    message: str
    where: str = ""
    count: int = 1


class AccumulatedResponse(Record, frozen=True):
    """The whole response, or as much of it as came.

    `complete` is True only if the model said why it stopped and no error ended the stream. `errors` lists all that
    went wrong, in the order it was met; `diagnostics` what was merely odd.
    """

    message: AssistantMessage = AssistantMessage()
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None
    usage: TokenUsage | None = None
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    complete: bool = False
    errors: tuple[AccumulatorError, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    logprobs: dict[str, list[Any]] | None = None
    extra: dict[str, Any] = {}
    version: int = 1

    @property
    def text(self) -> str:
        """All visible text."""
        return self.message.text

    @property
    def reasoning(self) -> str:
        """All readable reasoning."""
        return self.message.reasoning

    @property
    def refusal(self) -> str:
        """All text of refusals."""
        return self.message.refusal

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that arrived whole, in order: safe to execute."""
        return self.message.tool_calls

    @property
    def gravest_error(self) -> AccumulatorError | None:
        """The error that `finalize` raises with `strict`; None if nothing went wrong."""
        return min(self.errors, key=lambda error: GRAVITY.index(type(error))) if self.errors else None

    def otel_attributes(self, timings: StreamTimings | None = None) -> dict[str, str | int | float | list[str]]:
        """What is known, by the names of OpenTelemetry's conventions for generative AI, as attributes of a span.

        Of `timings` the seconds to the first chunk. Input tokens count the cached ones, as the conventions want it.
        """
        return attributes(self, timings)

    def parse(self, kind: type[T], *, tool: str | None = None) -> T:
        """The structured output as `kind`: a dataclass, msgspec Struct, TypedDict, Pydantic model, or whatever msgspec converts.

        It is taken from the one tool call there is, or the one to `tool`; without calls, from the text, which is to be JSON and
        nothing else. Raises StructuredOutputError, which names the field, and also where the response is not whole.
        """
        from ._typed import of_response  # whoever wants no types does not load what they need

        return of_response(self, kind, tool)

    def kept(self) -> str:
        """What arrived, in one clause of lengths and counts, without any of its text."""
        sizes = (
            (len(self.text), "character", " of text"),
            (len(self.reasoning), "character", " of reasoning"),
            (len(self.refusal), "character", " of refusal"),
            (len(self.tool_calls), "whole tool call", ""),
            (len([part for part in self.message.content if not isinstance(part, _COUNTED)]), "other part", ""),
        )
        said = [f"{count} {one}{'s' * (count != 1)}{of}" for count, one, of in sizes if count]
        broken = sum(isinstance(error, InvalidToolCallJson) for error in self.errors)
        dropped = f" ({broken} unusable tool call{'s' * (broken > 1)})" if broken else ""
        return f"kept: {', '.join(said) or 'nothing'}{dropped}"

    def to_dict(self) -> dict[str, Any]:
        """The response as plain dicts, lists and scalars, ready for any JSON encoder."""
        data: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_encode)
        return data

    def to_json(self) -> str:
        """The response as JSON text; `from_json` of it gives an equal response."""
        return msgspec.json.encode(self, enc_hook=_encode).decode()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The response that `to_dict` was made of. Raises `msgspec.ValidationError` if it is none."""
        return msgspec.convert(data, cls, dec_hook=_decode)

    @classmethod
    def from_json(cls, data: str | bytes) -> Self:
        """The response that `to_json` was made of.

        Raises `msgspec.DecodeError` if it is no JSON and `msgspec.ValidationError` if it is no response.
        """
        return msgspec.json.decode(data, type=cls, dec_hook=_decode)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of what `to_json` writes."""
        (response, error), definitions = msgspec.json.schema_components(
            (cls, ErrorTwin), schema_hook=_schema, ref_template="#/$defs/{name}"
        )
        definitions[cls.__name__]["properties"]["errors"]["items"] = error
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **response, "$defs": definitions}


def unshared(response: AccumulatedResponse) -> AccumulatedResponse:
    """An equal response whose lists and objects are its own, so that whoever changes one changes nothing else."""
    content = tuple([own(part) for part in response.message.content])
    usage = own(response.usage) if response.usage is not None else None
    return own(msgspec.structs.replace(response, message=AssistantMessage(content), usage=usage))


def own(record: R) -> R:
    """An equal record whose lists and objects are its own."""
    values = {name: getattr(record, name) for name in record.__struct_fields__}
    boxes = {name: copied(value) for name, value in values.items() if isinstance(value, list | dict) and value}
    if citations := values.get("citations"):
        boxes["citations"] = tuple(copied(list(citations)))
    return msgspec.structs.replace(record, **boxes) if boxes else record


_COUNTED = (TextPart, ReasoningPart, RefusalPart, ToolCall)


def _encode(value: object) -> object:
    if isinstance(value, AccumulatorError):
        return to_twin(value)
    raise NotImplementedError(f"{type(value).__name__} is no JSON value")  # what msgspec asks a hook to raise


def _decode(kind: type, data: object) -> object:
    if kind is AccumulatorError:
        return from_twin(data)
    raise NotImplementedError(f"{kind.__name__} is no part of a response")  # what msgspec asks a hook to raise


def _schema(kind: type) -> dict[str, Any]:
    if kind is AccumulatorError:
        return {"description": "one of the errors"}  # json_schema puts the twins in its place
    raise NotImplementedError(kind.__name__)  # what msgspec asks a hook to raise
