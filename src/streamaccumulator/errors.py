"""What can go wrong with a stream, as exceptions that are also values.

For any bytes whatever, feeding and finalizing raise these and nothing else; any other exception is our bug.
An error is hashable, equal to another of the same kind and fields, picklable, and has a struct twin through which
it is part of a response's JSON. Texts name the tool, the position and the cause; they never hold what the model said.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from ._record import Record, short

if TYPE_CHECKING:
    from .response import AccumulatedResponse


class AccumulatorError(Exception):
    """The base of all: catch it, never raised itself.

    `.response` is everything that arrived, as a partial `AccumulatedResponse`, on an error that `finalize` raised;
    on those listed in a response's `.errors` it is None. `.choices` is set by `accumulate_choices`: all responses.
    """

    fields: ClassVar[tuple[str, ...]] = ()
    response: "AccumulatedResponse | None" = None
    choices: "Mapping[int, AccumulatedResponse] | None" = None

    def _values(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.fields])

    def bound(self, response: "AccumulatedResponse") -> Self:
        """A fresh copy that carries `response`: what `finalize` raises."""
        copy = type(self)(*self._values())
        copy.response = response
        return copy

    def what(self) -> str:
        """What happened, in one clause, without what was kept."""
        return type(self).__name__

    def __str__(self) -> str:
        return self.what() if self.response is None else f"{self.what()}; {self.response.kept()}"

    def __repr__(self) -> str:
        shown = ", ".join([f"{name}={short(getattr(self, name))}" for name in self.fields])
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *[value for value in self._values() if isinstance(value, str | int)]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values(), {"response": self.response, "choices": self.choices}


class Truncated(AccumulatorError):
    """The stream ended before the model said why it stopped. All text and every whole call are in `.response`.

    `reason`: `end` (the bytes ended), `transport` (the source raised; see `__cause__`), `idle_timeout`, `cancelled`.
    """

    fields = ("reason", "message")

    def __init__(self, reason: str = "end", message: str = "") -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def what(self) -> str:
        cause = {
            "end": "the stream ended without a finish reason",
            "transport": "the source failed before a finish reason came",
            "idle_timeout": "no data came for too long, and no finish reason before",
            "cancelled": "reading was stopped before a finish reason came",
        }.get(self.reason, self.reason)
        return f"truncated: {cause}" + (f" ({self.message})" if self.message else "")


class InvalidToolCallJson(AccumulatorError):
    """One call's arguments are not JSON, or it has no name. Every other call is kept.

    `cause`: `malformed` (no continuation could be JSON), `cut` (the text ends inside the document), `unnamed`.
    `offset` is the position in `raw_arguments`, in UTF-8 bytes, where the parser stopped; None if that says nothing.
    """

    fields = ("call_id", "name", "message", "offset", "raw_arguments", "cause")

    def __init__(
        self,
        call_id: str,
        name: str | None,
        message: str,
        offset: int | None = None,
        raw_arguments: str = "",
        cause: str = "malformed",
    ) -> None:
        super().__init__(call_id, name, message, offset, raw_arguments, cause)
        self.call_id = call_id
        self.name = name
        self.message = message
        self.offset = offset
        self.raw_arguments = raw_arguments
        self.cause = cause

    def what(self) -> str:
        tool = short(self.name) if self.name else "a tool without a name"
        place = "" if self.offset is None else f" at byte {self.offset}, after {self._before()!r}"
        return f"call {short(self.call_id)} to {tool} is not usable ({self.cause}){place}: {self.message}"

    def _before(self) -> str:
        """The last characters before the fault."""
        return self.raw_arguments.encode("utf-8", "replace")[: self.offset][-40:].decode("utf-8", "ignore")


class ProviderError(AccumulatorError):
    """The provider reported an error inside the stream. `kind` and `message` are its words, `raw` its object."""

    fields = ("kind", "message", "raw")

    def __init__(self, kind: str, message: str, raw: Mapping[str, Any] | None = None) -> None:
        super().__init__(kind, message, raw)
        self.kind = kind
        self.message = message
        self.raw = dict(raw or {})

    def what(self) -> str:
        return f"the provider reported an error: {_brief(self.kind)}: {_brief(self.message)}"


class MalformedChunk(AccumulatorError):
    """A whole frame could not be read. `offset` is its first byte in the stream, `raw` its head."""

    fields = ("offset", "reason", "raw")

    def __init__(self, offset: int, reason: str, raw: bytes = b"") -> None:
        super().__init__(offset, reason, raw)
        self.offset = offset
        self.reason = reason
        self.raw = raw

    def what(self) -> str:
        return f"the frame at byte {self.offset} could not be read: {self.reason}"


class LimitExceeded(AccumulatorError):
    """The stream passed the bound `limit` (a field of `Limits`) with `value`; reading stopped there."""

    fields = ("limit", "value")

    def __init__(self, limit: str, value: int) -> None:
        super().__init__(limit, value)
        self.limit = limit
        self.value = value

    def what(self) -> str:
        return f"the stream passed the limit {self.limit} with {self.value}"


class UnknownProtocol(AccumulatorError):
    """The stream is of no known protocol, or the name asked for is none. `seen` says what there was."""

    fields = ("seen",)

    def __init__(self, seen: str) -> None:
        super().__init__(seen)
        self.seen = seen

    def what(self) -> str:
        return f"unknown protocol: {_brief(self.seen)}"


class AccumulatorClosed(AccumulatorError):
    """`observe` was called after `finalize`: the caller's own fault, not the provider's."""

    def what(self) -> str:
        return "observe was called after finalize; make a new StreamAccumulator for the next response"


class StructuredOutputError(ValueError):
    """A response, or the arguments of a call, are not of the type that was asked for.

    `path` is the place in the value, `$` for all of it: `$.items[1].price`. The validator's own error, where there is one, is the
    `__cause__`.
    """

    def __init__(self, type_name: str, path: str, message: str) -> None:
        super().__init__(type_name, path, message)
        self.type_name = type_name
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"no {self.type_name}, at {self.path}: {self.message}"


class RequestError(ValueError):
    """A conversation that a provider would refuse: a broken call, or a call without its result.

    `call_id` names the call. `to_request` says which of its choices let it pass.
    """

    def __init__(self, message: str, call_id: str) -> None:
        super().__init__(message, call_id)
        self.message = message
        self.call_id = call_id

    def __str__(self) -> str:
        return self.message


class UnreadableDump(ValueError):
    """What was given to `load` is no dump, is damaged, or is of another version or kind.

    No AccumulatorError: it says nothing of a stream. The dump is as it was; what can be read of it is for another release.
    """


class JsonProblem(ValueError):
    """Why a text is not one JSON document.

    `offset`, in UTF-8 bytes, is the first byte that cannot be, or where the text ends if it was `cut`: then more text could
    still mend it. None where the place is not known.
    """

    def __init__(self, message: str, offset: int | None, cut: bool) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.cut = cut


def _brief(text: str) -> str:
    """At most 400 characters of a text that somebody else wrote; its field has all of it."""
    return text if len(text) <= 400 else f"{text[:399]}…"


GRAVITY = (UnknownProtocol, LimitExceeded, ProviderError, Truncated, MalformedChunk, InvalidToolCallJson)
"""The order in which `finalize` chooses what to raise: the gravest first."""


# ---- The struct twins: how errors travel in JSON.


class TruncatedTwin(Record, frozen=True, tag="truncated"):
    reason: str
    message: str


class InvalidToolCallJsonTwin(Record, frozen=True, tag="invalid_tool_call_json"):
    call_id: str
    name: str | None
    message: str
    offset: int | None
    raw_arguments: str
    cause: str


class ProviderErrorTwin(Record, frozen=True, tag="provider_error"):
    kind: str
    message: str
    raw: dict[str, Any]


class MalformedChunkTwin(Record, frozen=True, tag="malformed_chunk"):
    offset: int
    reason: str
    raw: bytes


class LimitExceededTwin(Record, frozen=True, tag="limit_exceeded"):
    limit: str
    value: int


class UnknownProtocolTwin(Record, frozen=True, tag="unknown_protocol"):
    seen: str


ErrorTwin = (
    TruncatedTwin | InvalidToolCallJsonTwin | ProviderErrorTwin | MalformedChunkTwin | LimitExceededTwin | UnknownProtocolTwin
)

_TWINS: dict[type[AccumulatorError], type[Any]] = {
    Truncated: TruncatedTwin,
    InvalidToolCallJson: InvalidToolCallJsonTwin,
    ProviderError: ProviderErrorTwin,
    MalformedChunk: MalformedChunkTwin,
    LimitExceeded: LimitExceededTwin,
    UnknownProtocol: UnknownProtocolTwin,
}
_ERRORS = {twin: error for error, twin in _TWINS.items()}


def to_twin(error: AccumulatorError) -> ErrorTwin:
    """The struct twin of an error, for JSON. Raises KeyError for a kind that a response cannot hold."""
    twin: ErrorTwin = _TWINS[type(error)](*error._values())
    return twin


def from_twin(data: object) -> AccumulatorError:
    """The error of a twin that was read back as builtins. Raises `msgspec.ValidationError` if it is none."""
    twin = msgspec.convert(data, ErrorTwin)
    return _ERRORS[type(twin)](*msgspec.structs.astuple(twin))
