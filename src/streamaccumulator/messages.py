"""What a conversation is made of: messages, their parts, finish reasons and token counts.

These are the values a caller keeps. They know no provider and no stream; `AssistantMessage` is what the
accumulator builds, the others are here so that a whole conversation has one type, `Message`.
"""

import enum
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from ._record import Record
from ._values import copied

T = TypeVar("T")


class FinishReason(enum.StrEnum):
    """Why the model stopped, in one vocabulary; the provider's own word is kept beside it as `raw_finish_reason`."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"
    UNKNOWN = "unknown"


def _add(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


class TokenUsage(Record, frozen=True):
    """Token counts of one response, as the provider gave them. None means not reported; zero means zero.

    All counts are tokens. `raw` is the provider's own object, merged deeply where it came in pieces.
    `a + b` is for totals over several responses, never for the pieces of one: those are running totals.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_includes_cache: bool | None = None
    """Whether `input_tokens` already counts the cached ones: OpenAI's does, Anthropic's does not. None: not known."""
    raw: dict[str, Any] = {}
    output_includes_reasoning: bool | None = None
    """Whether `output_tokens` already counts `reasoning_tokens`: OpenAI's does, Gemini's does not. None: not known."""

    @property
    def output_total(self) -> int | None:
        """All output tokens, reasoning included, however the provider counts them; None if output was not reported."""
        if self.output_tokens is None or self.output_includes_reasoning is not False:
            return self.output_tokens
        return self.output_tokens + (self.reasoning_tokens or 0)

    @property
    def input_total(self) -> int | None:
        """All input tokens, cached ones included, however the provider counts them; None if input was not reported."""
        if self.input_tokens is None or self.input_includes_cache is not False:
            return self.input_tokens
        return self.input_tokens + (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        same = all(getattr(self, name) == getattr(other, name) for name in WAYS)
        left, right = (self, other) if same else (self._with_all_in_totals(), other._with_all_in_totals())
        counts: dict[str, Any] = {name: _add(getattr(left, name), getattr(right, name)) for name in COUNTS}
        return TokenUsage(**counts, **{name: getattr(left, name) for name in WAYS})

    def _with_all_in_totals(self) -> "TokenUsage":
        changed = {"input_tokens": self.input_total, "output_tokens": self.output_total, **dict.fromkeys(WAYS, True)}
        return msgspec.structs.replace(self, **changed)

    def merged(self, newer: "TokenUsage") -> "TokenUsage":
        """This usage with each field that `newer` reports in its place; a None of `newer` erases nothing."""
        changed: dict[str, Any] = {name: value for name in (*COUNTS, *WAYS) if (value := getattr(newer, name)) is not None}
        return msgspec.structs.replace(self, **changed, raw=merge_deeply(self.raw, newer.raw))


COUNTS = ("input_tokens", "output_tokens", "total_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
WAYS = ("input_includes_cache", "output_includes_reasoning")
"""How a provider counts."""


def merge_into(own: dict[str, Any], new: Mapping[str, Any]) -> None:
    """As merge_deeply, into a dict of one's own; what is taken over is copied, so that `new` is never changed later."""
    for key, value in new.items():
        before = own.get(key)
        if isinstance(value, Mapping) and isinstance(before, dict):
            merge_into(before, value)
        elif value is not None or key not in own:
            own[key] = copied(value)


def merge_deeply(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`old` with the values of `new`: objects are merged, anything else is replaced, a null replaces only a null."""
    merged = dict(old)
    for key, value in new.items():
        before = merged.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            merged[key] = merge_deeply(before, value)
        elif value is not None or key not in merged:
            merged[key] = value
    return merged


# ---- Parts. `extra` holds the provider's keys that we do not model, as they came.


class TextPart(Record, frozen=True, tag="text"):
    """Visible text, with the citations that belong to it."""

    text: str = ""
    citations: tuple[dict[str, Any], ...] = ()
    extra: dict[str, Any] = {}


class ReasoningPart(Record, frozen=True, tag="reasoning"):
    """A block of reasoning. `signature` and `redacted` are opaque and must go back to the provider byte for byte."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    extra: dict[str, Any] = {}


class RefusalPart(Record, frozen=True, tag="refusal"):
    """The model's refusal, where the provider sends it in a channel of its own."""

    text: str = ""
    extra: dict[str, Any] = {}


class ToolCall(Record, frozen=True, tag="tool_call"):
    """One call the model wants made. Only whole calls become one; a broken call is an `InvalidToolCallJson`.

    `id` is unique within the message; `minted` says that the provider sent none (or one already taken) and we made it.
    `arguments` is the parsed JSON (of a custom tool: the text itself), `arguments_raw` the text exactly as received.
    """

    id: str
    name: str
    arguments: Any = msgspec.field(default_factory=dict)
    arguments_raw: str = ""
    kind: str = "function"
    minted: bool = False
    extra: dict[str, Any] = {}

    def parse(self, kind: type[T]) -> T:
        """The arguments as `kind`: a dataclass, msgspec Struct, TypedDict, Pydantic model, or whatever msgspec converts.

        Raises StructuredOutputError, which names the field.
        """
        from ._typed import validated  # whoever wants no types does not load what they need

        return validated(copied(self.arguments), kind)


class CitationPart(Record, frozen=True, tag="citation"):
    """A citation that came without a text part to belong to."""

    data: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class MediaPart(Record, frozen=True, tag="media"):
    """An image, sound or file. `data` is the base64 text or the URL as the provider sent it."""

    kind: str
    mime: str | None = None
    data: str = ""
    extra: dict[str, Any] = {}


class ProviderPart(Record, frozen=True, tag="provider_block"):
    """A block that only its provider understands (a server-run tool, a compaction), kept whole and in its place."""

    kind: str
    data: dict[str, Any] = {}
    extra: dict[str, Any] = {}


Part = TextPart | ReasoningPart | RefusalPart | ToolCall | CitationPart | MediaPart | ProviderPart

# ---- Messages.


class SystemMessage(Record, frozen=True, tag_field="role", tag="system"):
    """Instructions of the application to the model."""

    content: str | tuple[Part, ...]


class UserMessage(Record, frozen=True, tag_field="role", tag="user"):
    """What the user says: text, or parts where there is media."""

    content: str | tuple[Part, ...]


class AssistantMessage(Record, frozen=True, tag_field="role", tag="assistant"):
    """What the model said: its parts in the order in which they started on the wire."""

    content: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """All visible text, joined with nothing between."""
        return "".join([part.text for part in self.content if isinstance(part, TextPart)])

    @property
    def reasoning(self) -> str:
        """All readable reasoning, joined with nothing between."""
        return "".join([part.text for part in self.content if isinstance(part, ReasoningPart)])

    @property
    def refusal(self) -> str:
        """All text of refusals, joined with nothing between."""
        return "".join([part.text for part in self.content if isinstance(part, RefusalPart)])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The whole calls, in order. Calls that the provider ran itself are `ProviderPart`s and not here."""
        return tuple([part for part in self.content if isinstance(part, ToolCall)])


class ToolMessage(Record, frozen=True, tag_field="role", tag="tool"):
    """The result of one call, given back to the model."""

    tool_call_id: str
    content: str | tuple[Part, ...]
    is_error: bool = False


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolSpec(Record, frozen=True):
    """A tool that the model may call. `parameters` is the JSON Schema of its arguments; `strict` None leaves it to the provider."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool | None = None
