"""What a decoder is: a small object that turns the payloads of one stream into events.

It remembers keys (which block is open, which index is which call), never content. Each event is written to the
`emit` of its choice, a callable that `sink(choice)` gave: `list.append` for whoever iterates over events,
`accumulator.observe` for whoever wants only the response. A decoder raises nothing for any payload: what it cannot
read becomes an event that says so.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from .._dump import built, plain
from .._json import parse_payload, to_bytes
from ..errors import JsonProblem
from ..events import ChatStreamEvent, Extra, Finish, LimitHit, Notice, Started, StreamError, Unknown, Unreadable, Usage
from ..limits import Limits
from ..messages import FinishReason
from .lenient import lenient
from .plain import Plain
from .surrogates import Delta, Emit, SurrogateJoiner

Sink = Callable[[int], Emit]
"""Gives the `emit` of a choice, by its index; asked once for each."""

C = TypeVar("C", bound=msgspec.Struct)

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
FAULTS = (StreamError, Unreadable, LimitHit)
HEAD = 256
"""Bytes of an unreadable frame that are kept to look at."""


class Nothing(msgspec.Struct):
    """The state of a decoder that remembers nothing."""


class Parts(msgspec.Struct):
    """The base of a state that names parts: the numbers by which events name them, from 1 on."""

    parts: int = 0
    """Numbers given so far."""

    def new_part(self) -> int:
        """The next number."""
        self.parts += 1
        return self.parts


class SavedDecoder(msgspec.Struct, kw_only=True):
    """A decoder as plain values."""

    state: Any
    choices: list[int]
    held: dict[int, list[Delta]]
    """For each choice the halves of characters that wait for the other."""
    torn: bool
    shared: list[ChatStreamEvent]
    faults: list[ChatStreamEvent]
    silent: bool
    at_end: bool


class Decoder(Plain, Generic[C]):
    """The part that every protocol shares. A protocol says in `_read` what one chunk means."""

    chunk_type: ClassVar[type[msgspec.Struct]]
    """The wire struct of one payload: only the fields that are read."""
    state_type: ClassVar[type[msgspec.Struct]] = Nothing
    """What is remembered of one stream: one Struct of plain values, so that it can be saved. Keys, never content."""
    gathers: ClassVar[bool] = False
    """Whether many of its frames at once cost so much less than one by one that small reads are better read together."""
    state: msgspec.Struct
    _typed: ClassVar[msgspec.json.Decoder[Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._typed = msgspec.json.Decoder(cls.chunk_type)

    def __init__(self, sink: Sink, limits: Limits = Limits()) -> None:
        super().__init__()
        self.state = self.state_type()
        self._sink = sink
        self._limits = limits
        self._emits: dict[int, Emit] = {0: sink(0)}
        self._decode: Callable[[bytes], C] = self._typed.decode
        self._source: bytes | dict[str, Any] = b""
        self._shared: dict[type, ChatStreamEvent] = {}
        self.faults: list[ChatStreamEvent] = []
        """What went wrong for all choices so far, for one that comes late; not more than one choice would keep."""
        self.silent = True
        """True until something came that is more than a keep-alive."""
        self.at_end = False
        """Set by the driver before it hands over a frame that the end of the bytes may have cut."""

    # ---- What a driver calls.

    def payload(self, data: bytes, event: str = "", offset: int = 0, parsed: object = None) -> None:
        """One frame's data, its `event:` name, and its place in the stream in bytes; `parsed` is the data's JSON, if known."""
        if event == "error":
            self._error_frame(data)
            return
        if self._is_plain(data):
            return
        self.forget()
        try:
            chunk = self._decode(data)
        except (msgspec.MsgspecError, RecursionError):
            self._surprise(data, event, offset)
            return
        self._source = parsed if isinstance(parsed, dict) else data
        self._read(chunk, event)

    def chunk(self, value: object) -> None:
        """One payload that somebody parsed already: a mapping, an SDK's object, a dataclass.

        It is read as the JSON it came from, so that there is one path for all. Raises TypeError for anything else,
        which is the caller's mistake.
        """
        self.payload(to_bytes(to_mapping(value)))

    def whole(self, body: object) -> None:
        """The body of an unstreamed response, as `chunk` takes it; by its shape it is known for one. Folded, it equals
        the streamed message."""
        self.chunk(body)

    def close(self) -> None:
        """No more comes."""
        self.settle()
        for emit in self._emits.values():
            if isinstance(emit, SurrogateJoiner):
                emit.flush()

    @property
    def choices(self) -> set[int]:
        """The indexes of the choices that came so far; a protocol without choices has one, 0."""
        return {0}

    @property
    def sequence_number(self) -> int | None:
        """The number of the newest event, of a protocol that numbers them."""
        return None

    def saved(self) -> SavedDecoder:
        """What it remembers, to be written at once: it is not a copy."""
        return SavedDecoder(
            state=plain(self.state),
            choices=list(self._emits),
            held={choice: emit.held for choice, emit in self._emits.items() if isinstance(emit, SurrogateJoiner)},
            torn=self._torn,
            shared=list(self._shared.values()),
            faults=self.faults,
            silent=self.silent,
            at_end=self.at_end,
        )

    def restore(self, saved: SavedDecoder) -> None:
        """Go on from what was saved of another of its kind. Raises `msgspec.ValidationError` if the state is of another."""
        self.state = built(saved.state, self.state_type)
        emits = {choice: self._emits[choice] if choice in self._emits else self._sink(choice) for choice in saved.choices}
        joined = {choice: SurrogateJoiner(emit, saved.held.get(choice, ())) for choice, emit in emits.items()}
        self._emits = {**joined} if saved.torn else emits
        self._torn = saved.torn
        self._shared = {type(event): event for event in saved.shared}
        self.faults = saved.faults
        self.silent, self.at_end = saved.silent, saved.at_end

    # ---- What a protocol says.

    def _read(self, chunk: C, event: str) -> None:
        """What one chunk means. `event` is the frame's name, empty if it had none."""
        raise NotImplementedError  # each protocol's own

    def _stream_end(self) -> None:
        """The wire's end mark that is no finish reason: `[DONE]`."""

    def to_all(self, event: ChatStreamEvent) -> None:
        """An event that belongs to every choice; who answers, usage and faults also reach a choice that comes late."""
        if isinstance(event, Started | Usage):
            self._shared[type(event)] = event
        elif isinstance(event, FAULTS) and len(self.faults) <= self._limits.errors:
            self.faults.append(event)
        if not isinstance(event, Notice):
            self.silent = False
        for emit in self._emits.values():
            emit(event)

    def _meet(self, choice: int) -> Emit | None:
        """The emit of a choice, which is told first what belongs to all; None if there are too many."""
        if choice not in self._emits:
            if len(self._emits) >= self._limits.choices:
                self.to_all(LimitHit("choices", len(self._emits) + 1))
                return None
            emit = self._sink(choice)
            self._emits[choice] = SurrogateJoiner(emit) if self._torn else emit
            for event in (*self._shared.values(), *self.faults):
                self._emits[choice](event)
        return self._emits[choice]

    def _untyped(self) -> Mapping[str, Any]:
        """The payload now being read with every key it has, for the rare ones that carry more than we model."""
        if isinstance(self._source, bytes):
            try:
                value, _ = parse_payload(self._source)
            except JsonProblem as fault:  # what the typed decoder skipped, and we will not read
                value = {}
                self.to_all(Notice("odd_payload", f"keys that we do not model were lost: {fault.message}"))
            self._source = value if isinstance(value, dict) else {}
        return self._source

    def _keep_unmodelled(self, known: frozenset[str], of: Mapping[str, Any], emit: Emit, call: str | None = None) -> None:
        """Every key of a payload that we do not model and that says something, as one Extra of the response or of a call."""
        data = {key: value for key, value in of.items() if key not in known and value not in _SAYS_NOTHING}
        if data:
            emit(Extra(None, data, call))

    def _unknown(self, kind: str) -> None:
        """A payload that we do not know: counted; one of no kind that has a message is a service's error."""
        raw = self._untyped()
        if not kind and any(isinstance(raw.get(key), str) for key in ("message", "Message", "detail")):
            self._error(raw)
        else:
            self.to_all(Unknown(kind or ", ".join(list(raw)[:3])))

    def _error_frame(self, data: bytes) -> None:
        """A frame that its name says is an error, whatever it holds: an object, an object under `error`, or a text."""
        try:
            value, _ = parse_payload(data)
        except JsonProblem:
            value = data.decode("utf-8", "replace")
        if not isinstance(value, Mapping):
            self._error(value)
            return
        inner, rest = value.get("error"), {key: said for key, said in value.items() if key != "error"}
        if isinstance(inner, Mapping):
            self._error({**{key: said for key, said in rest.items() if key != "type"}, **inner})
        else:
            self._error({**rest, "message": inner} if inner else value)

    def _error(self, raw: object, emit: Emit | None = None) -> None:
        """An error of the provider: of all choices, or of the one that `emit` is of."""
        self.silent = False
        (emit or self.to_all)(stream_error(raw))

    def _finished(self, emit: Emit, reasons: Mapping[str, FinishReason], raw: str, error: object = None) -> None:
        """The model stopped, for a reason in the provider's word; one that means failure is an error as well.

        `error` is what the provider says beside the word.
        """
        reason = reason_of(reasons, raw)
        if reason is FinishReason.ERROR or error:
            self._error(error or {"type": raw, "message": f"the model's turn ended with {raw!r}"}, emit)
        emit(Finish(reason, raw))

    # ---- The one path for surprises.

    def _surprise(self, data: bytes, event: str, offset: int) -> None:
        bare = data.strip()
        if bare == b"[DONE]":
            self._stream_end()
            return
        if not bare:
            return
        try:
            value, odd = parse_payload(data)
        except JsonProblem as fault:
            self._not_json(data, offset, fault)
            return
        if not self._torn and _HALF.search(data):
            self._torn = True
            self._emits = {choice: SurrogateJoiner(emit) for choice, emit in self._emits.items()}
        if odd:
            self.to_all(Notice("odd_payload", f"a frame holds {odd}", f"byte {offset}"))
        if not isinstance(value, dict):
            self.to_all(Unknown(f"a payload that is no object but {type(value).__name__}"))
            return
        self._source = value
        self._read(self._fit(value), event)

    def _not_json(self, data: bytes, offset: int, fault: JsonProblem) -> None:
        if has_no_line_ends(data):
            self.to_all(Unreadable(offset, NO_LINE_ENDS, data[:HEAD]))
        elif self.at_end:
            if self.silent:
                self.to_all(Started())
            self.to_all(Notice("cut_frame", "the last frame was cut, and is lost", f"byte {offset}"))
        else:
            self.to_all(Unreadable(offset, f"no JSON: {fault.message}", data[:HEAD]))

    def _fit(self, value: Mapping[str, Any]) -> C:
        return lenient(value, self.chunk_type, self._tell_misfit)  # type: ignore[return-value]  # chunk_type is type[C]

    def _tell_misfit(self, path: str, what: str) -> None:
        self.to_all(Notice("unexpected_type", what, path))


def reason_of(reasons: Mapping[str, FinishReason], raw: str) -> FinishReason:
    """A provider's word in our terms; proxies write it in capitals, or small."""
    return reasons.get(raw) or reasons.get(raw.lower()) or FinishReason.UNKNOWN


NO_LINE_ENDS = "there are no line ends in it: give bytes as they come, not lines"


def has_no_line_ends(data: bytes) -> bool:
    """Whether a frame is several that were joined without their line ends, as a client's iterator of lines gives them."""
    return b"}data:" in data or b"}event:" in data or b'}{"' in data


def stream_error(raw: object) -> StreamError:
    """An error of the provider: an object with `message` and `type`, `code` or `status`, or just a text."""
    if not isinstance(raw, Mapping):
        return StreamError("error", str(raw), {"error": raw})
    kind = next((str(raw[key]) for key in ("type", "code", "status") if raw.get(key) not in (None, "", "error")), "error")
    message = raw.get("message") or raw.get("Message") or raw.get("detail") or raw.get("error") or "no message"
    return StreamError(kind, str(message), dict(raw))


_SAYS_NOTHING: tuple[object, ...] = (None, "", [], {})


def to_mapping(value: object) -> Mapping[str, Any]:
    """A parsed payload as a mapping, by duck typing. Raises TypeError if it is nothing of the kind."""
    if isinstance(value, Mapping):
        return value
    dump: Any
    if (dump := getattr(value, "model_dump", None)) is not None:
        dumped = dump(by_alias=True, exclude_unset=True)  # in Python's types: as JSON, pydantic changes the base64 of bytes
    elif (dump := getattr(value, "to_dict", None)) is not None:
        dumped = dump()
    else:
        try:
            dumped = msgspec.to_builtins(value)
        except TypeError:
            dumped = None
    if isinstance(dumped, Mapping) and len(dumped) == 1 and isinstance(dumped.get("data"), Mapping):
        dumped = dumped["data"]  # mistralai hands out server-sent events, with the chunk as their data
    if not isinstance(dumped, Mapping):
        raise TypeError(f"a chunk must be bytes, a mapping or an SDK object, not {type(value).__name__}")
    return dumped
