"""ChatStreamEvent: the neutral vocabulary between every provider and everything that listens.

Each event is a frozen struct tagged by `type`, so it is cheap, comparable, printable and serialises as it is.
Replaying the events of a stream through a second accumulator gives an equal response, diagnostics included.

Every delta, signature, citation and end carries `part`: a number the decoder gives to one part of the message,
unique within the stream. None means the open part of that kind. Structs that hold only text and numbers are
`gc=False`, so that a million of them cost the collector nothing; those that hold a dict are not.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import msgspec

from ._record import Record
from .messages import FinishReason, TokenUsage


class Started(Record, frozen=True, gc=False, tag="started"):
    """The response has begun. Of each field the first non-empty value counts; a later one may fill in what was missing."""

    id: str | None = None
    model: str | None = None
    provider: str | None = None


class TextDelta(Record, frozen=True, gc=False, tag="text_delta"):
    """More visible text: append."""

    delta: str
    part: int | None = None


class ReasoningDelta(Record, frozen=True, gc=False, tag="reasoning_delta"):
    """More reasoning text: append."""

    delta: str
    part: int | None = None


class ReasoningSignature(Record, frozen=True, gc=False, tag="reasoning_signature"):
    """The signature of a reasoning part, or a piece of it: append, byte for byte."""

    signature: str
    part: int | None = None


class RedactedReasoning(Record, frozen=True, gc=False, tag="redacted_reasoning"):
    """Reasoning that the provider sends only encrypted: a part of its own, kept byte for byte."""

    data: str
    part: int | None = None


class RefusalDelta(Record, frozen=True, gc=False, tag="refusal_delta"):
    """More text of a refusal: append."""

    delta: str
    part: int | None = None


class Citation(Record, frozen=True, tag="citation"):
    """A citation for the open text part (or the numbered one), as the provider sent it."""

    data: dict[str, Any]
    part: int | None = None


class LogProbs(Record, frozen=True, tag="log_probs"):
    """Log probabilities of tokens, as lists by channel (`content`, `refusal`, ...): each list is appended to."""

    data: dict[str, Any]


class MediaDelta(Record, frozen=True, gc=False, tag="media_delta"):
    """A piece of an image, a sound or a file; `data` is base64 text or a URL: append."""

    kind: str
    mime: str | None
    data: str
    part: int | None = None


class PartEnd(Record, frozen=True, gc=False, tag="part_end"):
    """A part is whole. Without it text stays one part, in the place where it started."""

    part: int | None = None


class ProviderBlock(Record, frozen=True, tag="provider_block"):
    """A block we do not model (a server-run tool, its result, a compaction): kept whole and in place.

    Of a part that is there already it is the newer state, which replaces the older and its deltas.
    """

    kind: str
    data: dict[str, Any]
    part: int | None = None


class BlockDelta(Record, frozen=True, gc=False, tag="block_delta"):
    """More of the text under `key` of a provider block. With `json` the joined text is parsed when the block is read."""

    part: int | None
    key: str
    delta: str
    json: bool = False


class ToolCallStart(Record, frozen=True, gc=False, tag="tool_call_start"):
    """A call opens. `id` is unique within the stream; `minted` says that we made it. A name may come later."""

    id: str
    name: str | None = None
    kind: str = "function"
    minted: bool = False


class ToolCallName(Record, frozen=True, gc=False, tag="tool_call_name"):
    """The name of a call that was opened without one."""

    id: str
    name: str


class ToolCallArgumentDelta(Record, frozen=True, gc=False, tag="tool_call_argument_delta"):
    """More text of a call's arguments: append."""

    id: str
    delta: str


class ToolCallEnd(Record, frozen=True, gc=False, tag="tool_call_end"):
    """The call's arguments are whole: they are parsed now, so that a bad call is known at once."""

    id: str


class Finish(Record, frozen=True, gc=False, tag="finish"):
    """Why the model stopped. The message is done; read on, usage may follow."""

    reason: FinishReason
    raw: str | None = None


class Usage(Record, frozen=True, tag="usage"):
    """Token counts so far, as running totals: stored field by field, None never erases."""

    usage: TokenUsage


class Extra(Record, frozen=True, tag="extra"):
    """Provider keys that we do not model, merged key by key into `.extra`.

    With `call` they belong to that call, with `part` to that part, with neither to the response.
    """

    part: int | None
    data: dict[str, Any]
    call: str | None = None


class StreamError(Record, frozen=True, tag="stream_error"):
    """The provider reports an error inside the stream. `kind` is its own word (`overloaded_error`), `raw` the object."""

    kind: str
    message: str
    raw: dict[str, Any] = {}


class StreamBroken(Record, frozen=True, gc=False, tag="stream_broken"):
    """The source failed. `reason` is `transport`, `idle_timeout` or `cancelled`; before Finish this is a `Truncated`."""

    reason: str
    message: str = ""


class ProtocolUnknown(Record, frozen=True, gc=False, tag="protocol_unknown"):
    """`protocol="auto"` did not recognise the stream; `seen` says what it looked like."""

    seen: str


class Unreadable(Record, frozen=True, gc=False, tag="unreadable"):
    """A whole frame that is no JSON or fails its checksum. `offset` is its first byte; `raw` its head. The stream goes on."""

    offset: int
    reason: str
    raw: bytes = b""


class Notice(Record, frozen=True, gc=False, tag="notice"):
    """Something worth telling that changes nothing: a diagnostic, as an event. `where` is a byte offset or a path."""

    code: str
    message: str
    where: str = ""


class LimitHit(Record, frozen=True, gc=False, tag="limit_hit"):
    """A bound of `Limits` was passed; `limit` is its name, `value` what was met. Nothing after it is kept."""

    limit: str
    value: int


class Unknown(Record, frozen=True, gc=False, tag="unknown"):
    """An event of the provider that we do not know: counted, never fatal."""

    kind: str


class Deltas(msgspec.Struct, frozen=True, gc=False):
    """Several deltas of a text, or of calls, in order: an iterable of their events, which are made when somebody asks for them."""

    kind: type[TextDelta] | type[ReasoningDelta] | type[RefusalDelta] | type[ToolCallArgumentDelta]
    to: int | str | list[str] | None
    """The part, or the id of the call; of several calls in turns the id of each text's."""
    texts: Sequence[str]

    def __iter__(self) -> "Iterator[ChatStreamEvent]":
        kind: Any = self.kind
        to = self.to if type(self.to) is list else repeat(self.to)
        return map(kind, *((to, self.texts) if kind is ToolCallArgumentDelta else (self.texts, to)))


ChatStreamEvent = (
    TextDelta
    | ToolCallStart
    | ToolCallArgumentDelta
    | ToolCallEnd
    | Finish
    | Usage
    | Started
    | ReasoningDelta
    | ReasoningSignature
    | RedactedReasoning
    | RefusalDelta
    | Citation
    | LogProbs
    | MediaDelta
    | PartEnd
    | ProviderBlock
    | BlockDelta
    | ToolCallName
    | Extra
    | StreamError
    | StreamBroken
    | ProtocolUnknown
    | Unreadable
    | Notice
    | LimitHit
    | Unknown
)
"""The union of all events, so that a `match` over them is checked for completeness."""

_encoder = msgspec.json.Encoder()


def encode_event(event: ChatStreamEvent) -> bytes:
    """One event as one line of JSON (without the line end). Raises nothing for events made by this library."""
    return _encoder.encode(event)
