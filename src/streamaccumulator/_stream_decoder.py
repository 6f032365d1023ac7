"""StreamDecoder: the bytes (or parsed payloads) of one stream to its events, without I/O.

Here the framing meets the protocol: how the bytes are framed, which protocol an unnamed stream speaks, and what to say
of bytes that held nothing. `stream` re-exports it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from ._dump import built, plain, read, write
from ._json import bytes_of, parse_payload, to_bytes
from ._sinks import only_first, staged, with_first
from ._stream_state import Frame, SavedStreamDecoder
from ._words import looks_like, seen
from .errors import JsonProblem, UnreadableDump
from .events import ChatStreamEvent, Notice, ProtocolUnknown, Started, StreamBroken, Unreadable
from .framing.detect import FRAMERS, framing_of
from .framing.frames import Framer
from .framing.gathering import Gathering
from .framing.json_array import JSONArrayFramer
from .framing.ndjson import NDJSONFramer
from .framing.sse import SSEFramer
from .limits import Limits
from .protocols import Decoder, Protocol, Sink, names, protocol_named, recognise
from .protocols.decoder import FAULTS, HEAD, NO_LINE_ENDS, has_no_line_ends, stream_error, to_mapping
from .protocols.surrogates import Emit
from .think_tags import ThinkStage, ThinkTags

Bulk = Callable[[Iterable[ChatStreamEvent]], object]
"""Takes several events of choice 0 at once, as the sink's `emit` would take them one by one."""

PATIENCE = 16
"""Payloads that are looked at before it is said that the protocol is not known, or is the one that was named."""

_OWN = "own"
"""What a dump calls the framing that an outsider's protocol brings."""


class StreamDecoder:
    """The bytes (or parsed payloads) of one stream to its events, without I/O.

    `protocol` is a name (see `docs/protocols.md`), `auto` to find out from the first payloads, or a `Protocol`. How bytes are
    framed is seen from `content_type`, where the caller knows it and it says something, and from the first bytes. With
    a `sink`, events go to `sink(choice)` and nothing is returned (several deltas of choice 0 at once to `bulk`, where it is
    given: `StreamAccumulator.observe_all`, say); without, those of choice 0 are returned, and a Notice tells of others.
    With `think_tags` reasoning that stands in the text, between tags, is told as reasoning.
    Raises UnknownProtocol for a name that is none.
    """

    def __init__(
        self,
        protocol: str | Protocol = "auto",
        *,
        limits: Limits = Limits(),
        sink: Sink | None = None,
        content_type: str = "",
        think_tags: ThinkTags | None = None,
        bulk: Bulk | None = None,
    ) -> None:
        self._limits = limits
        self._content_type = content_type
        self._events: list[ChatStreamEvent] = []
        self._think_tags = think_tags
        self._stages: dict[int, ThinkStage] = {}
        self._sink = sink or only_first(self._events.append)
        self._bulk = None if think_tags is not None else bulk if sink is not None else self._events.extend
        if think_tags is not None:
            self._sink = staged(think_tags, self._sink, self._stages)
        self._protocol: Protocol | None = None
        self._decoder: Decoder[Any] | None = None
        self._early: list[Frame] = []
        self._objects = False  # whether an early payload was an object, and so might have told the protocol
        self._told = False  # whether what came was told of, though no decoder read it
        self._given_up = False
        self._closing = False
        self._patience = PATIENCE
        self._named = ""  # the protocol the caller named, until a payload was compared with it
        self._faults: list[ChatStreamEvent] = []  # what a framer told before there was a decoder
        self._framer: Framer | None = None
        self._settled: Callable[[Any], object] | None = None  # takes bytes, once it is known who reads them
        self.unhurried = False  # set by whoever looks at nothing before the end: small pieces may be read together
        self._gathering: Gathering | None = None
        self._waiting, self._head, self._fed = b"", b"", 0  # bytes that do not yet tell their framing; the first; how many came
        self._choose(protocol)

    def _choose(self, protocol: str | Protocol) -> None:
        """Begin with the protocol that the caller named, or look for one."""
        if isinstance(protocol, str) and protocol == "auto":
            first: Emit = self._sink(0)
            self._emit = first
            self._sink = with_first(first, self._sink)
        else:
            chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
            if not isinstance(chosen, Protocol):
                raise TypeError(f"a protocol is a name or a Protocol, not {type(protocol).__name__}")
            if chosen.framer is not None:
                self._frame_by(chosen.framer)
            self._begin(chosen)
            self._named = chosen.name if chosen.name in names() else ""

    def feed(self, item: object) -> list[ChatStreamEvent]:
        """The events that the next piece completes, in order.

        Bytes may be cut anywhere, also inside a character; a `str` is taken as its UTF-8. Anything else is one payload
        that somebody parsed already: a mapping, an SDK object, a dataclass. Raises TypeError if it is none of these.
        """
        if self._settled is not None and item.__class__ is bytes:
            self._settled(item)
            return self._taken() if self._events else []
        self.catch_up()
        if isinstance(item, bytes | str | bytearray | memoryview):
            self._feed_bytes(bytes_of(item))
            if self._settled is None and self._decoder is not None and not self._decoder.silent and self._framer is not None:
                self._gathering = Gathering(self._framer.feed) if self.unhurried and self._decoder.gathers else None
                self._settled = self._gathering.feed if self._gathering is not None else self._framer.feed
        else:
            self._feed_value(item)
        return self._taken() if self._events else []

    def catch_up(self) -> None:
        """Read what waits, where small pieces are read together."""
        if self._gathering is not None:
            self._gathering.catch_up()

    def feed_body(self, body: object) -> list[ChatStreamEvent]:
        """The events of an unstreamed body: bytes or text of one JSON document, a mapping, an SDK object."""
        if isinstance(body, str | bytes | bytearray | memoryview):
            data = bytes_of(body)
            if framing_of(data) is not SSEFramer:
                self._frame_by(JSONArrayFramer)
            self._feed_bytes(data)
        else:
            self._feed_value(body)
        return self.close()

    def reconnected(self) -> None:
        """What comes next is a new connection's, to a server that goes on with numbered events or from its beginning.

        A frame that the lost connection cut is forgotten; events that were there already are left out, and a gap is told.
        """
        self._waiting = b""
        if isinstance(self._framer, JSONArrayFramer | NDJSONFramer) and (self._decoder is None or self._decoder.silent):
            self._framer, self._head = None, b""  # half of an error, maybe: what the new connection sends may be framed otherwise
        elif self._framer is not None:
            self._framer.reconnected()

    @property
    def last_event_id(self) -> str:
        """The `id` of the newest server-sent event that came whole, for the `Last-Event-ID` of a new request; empty without."""
        return self._framer.last_event_id if isinstance(self._framer, SSEFramer) else ""

    @property
    def sequence_number(self) -> int | None:
        """The newest `sequence_number` of OpenAI Responses, for the `starting_after` of a new request; None without."""
        return self._decoder.sequence_number if self._decoder is not None else None

    def dump(self) -> bytes:
        """The state between two pieces, to go on from with `load`, in another process too.

        Raises TypeError for an outsider's framer that says nothing of its state.
        """
        framer, decoder = self._framer, self._decoder
        framing = next((name for name, kind in FRAMERS.items() if type(framer) is kind), _OWN) if framer is not None else ""
        state = SavedStreamDecoder(
            protocol=self._protocol.name if self._protocol is not None else "",
            limits=self._limits,
            content_type=self._content_type,
            early=self._early,
            objects=self._objects,
            told=self._told,
            given_up=self._given_up,
            closing=self._closing,
            patience=self._patience,
            named=self._named,
            faults=self._faults,
            framing=framing,
            framer=plain(framer.saved()) if framer is not None else None,
            waiting=self._waiting,
            head=self._head,
            fed=self._fed,
            decoder=decoder.saved() if decoder is not None else None,
            think_tags=self._think_tags,
            think={choice: stage.saved() for choice, stage in self._stages.items()},
        )
        return write("decoder", state)

    @classmethod
    def load(cls, data: bytes, *, protocol: Protocol | None = None, sink: Sink | None = None) -> Self:
        """The decoder of a `dump`: the next byte is read as the one that was saved would have read it.

        `protocol` is to be given for an outsider's, which a dump knows by its name only. Raises UnreadableDump if `data` is no
        dump, of another version, another protocol or damaged.
        """
        saved = read("decoder", data, SavedStreamDecoder)
        if protocol is not None and saved.protocol != protocol.name:
            raise UnreadableDump(f"a dump of the protocol {saved.protocol!r}, where one of {protocol.name!r} belongs")
        if protocol is None and saved.protocol not in ("", *names()):
            raise UnreadableDump(f"a dump of the protocol {saved.protocol!r}, which is none of ours: give it as `protocol`")
        self = cls(
            protocol or saved.protocol or "auto",
            limits=saved.limits,
            sink=sink,
            content_type=saved.content_type,
            think_tags=saved.think_tags,
        )
        try:
            self._restore(saved)
        except (LookupError, ValueError) as fault:
            raise UnreadableDump(f"the state in it cannot be read: {fault}") from fault
        return self

    def _restore(self, saved: SavedStreamDecoder) -> None:
        self._early, self._objects, self._told = saved.early, saved.objects, saved.told
        self._given_up, self._closing, self._patience = saved.given_up, saved.closing, saved.patience
        self._named, self._faults = saved.named, saved.faults
        self._waiting, self._head, self._fed = saved.waiting, saved.head, saved.fed
        if self._decoder is not None and saved.decoder is not None:
            self._decoder.restore(saved.decoder)
            self._events.clear()  # that there are other choices was told before
        for choice, stage in saved.think.items():
            self._stages[choice].restore(stage)
        if saved.framing == _OWN and self._framer is not None:
            framer = self._framer
        elif saved.framing:
            framer = self._frame_by(FRAMERS[saved.framing])
        else:
            return
        framer.restore(built(saved.framer, framer.state_type))

    @property
    def choices(self) -> set[int]:
        """The indexes of the choices that came so far."""
        return self._decoder.choices if self._decoder is not None else set()

    def close(self) -> list[ChatStreamEvent]:
        """The events that the end brings: a last frame without its end mark, and what was wrong with the whole."""
        self._flush()
        if self._fed and not self._told and (self._decoder is None or self._decoder.silent):
            self._emit(Unreadable(0, looks_like(self._head, self._fed, self._content_type), self._head))
        return self._taken()

    def fail(self, reason: str, message: str = "", error: Mapping[str, Any] | None = None) -> list[ChatStreamEvent]:
        """As `close`, for a source that broke: `reason` is `transport`, `idle_timeout` or `cancelled`.

        With `error` the source reports an error object of the provider, and it is told as if it had come in the stream.
        """
        self._flush()
        self._emit(StreamBroken(reason, message) if error is None else stream_error(error))
        return self._taken()

    def leave(self) -> list[ChatStreamEvent]:
        """The events that were held back, where nothing more is read: counts, and text that might have become a tag."""
        if self._decoder is not None:
            self._decoder.settle()
        for stage in self._stages.values():
            stage.flush()
        return self._taken()

    # ---- From bytes to frames to the decoder.

    def _tell(self, event: ChatStreamEvent) -> None:
        """A framer noticed something."""
        self._told = self._told or not isinstance(event, Notice)
        if self._decoder is None and isinstance(event, FAULTS):
            self._faults.append(event)
        self._emit(event)

    def _taken(self) -> list[ChatStreamEvent]:
        taken = self._events[:]
        self._events.clear()
        return taken

    def _begin(self, protocol: Protocol) -> Decoder[Any]:
        self._protocol = protocol
        self._decoder = decoder = protocol.decoder(self._sink, self._limits)
        self._emit = decoder.to_all
        decoder.bulk = self._bulk
        decoder.faults += self._faults
        decoder.at_end = self._closing
        self._connect()
        return decoder

    def _connect(self) -> None:
        """From now on frames go straight to the decoder."""
        if self._framer is not None and self._decoder is not None:
            self._framer.on_frame = self._decoder.payload
            self._framer.on_one, self._framer.on_many = self._decoder.one_more, self._decoder.many_more
            if self._framer.expects:
                self._decoder.forget()
                self._decoder.on_mould = self._framer.expect

    def _frame_by(self, framer: Callable[..., Framer]) -> Framer:
        self._framer = found = framer(self._undetected, self._tell, self._limits)
        if not self._named:
            self._connect()
        return found

    def _feed_bytes(self, data: bytes) -> None:
        self._fed += len(data)
        if len(self._head) < HEAD:
            self._head = (self._head + data)[:HEAD]
        if self._framer is not None:
            self._framer.feed(data)
            return
        self._waiting += data
        kind = framing_of(self._waiting, self._content_type)
        if kind is not None:
            waiting, self._waiting = self._waiting, b""
            self._frame_by(kind).feed(waiting)

    def _flush(self) -> None:
        self.catch_up()
        self._closing = True
        if self._decoder is not None:
            self._decoder.at_end = True
        if self._waiting:
            waiting, self._waiting = self._waiting, b""
            self._frame_by(SSEFramer).feed(waiting)
        if self._framer is not None:
            self._framer.close()
        if self._decoder is None and not self._given_up:
            if self._objects:
                self._give_up(seen(self._early, self._content_type))
            else:
                self._tell_unreadable()
        if self._decoder is not None:
            self._decoder.close()
        for stage in self._stages.values():
            stage.flush()

    def _undetected(self, data: bytes, event: str, offset: int) -> None:
        """A frame of the read in which the protocol became known, or of an earlier one."""
        value: object = None
        try:
            value, _ = parse_payload(data)
        except JsonProblem:
            if self._decoder is None and self._closing:  # the end cut the frame that might have told the protocol
                self._told = self._given_up = True
                self._emit(Unreadable(offset, NO_LINE_ENDS, data[:HEAD]) if has_no_line_ends(data) else Started())
        if self._decoder is None:
            self._detect((data, event, offset), value, event)
        else:
            self._compare(value, event)
            self._decoder.payload(data, event, offset, value)

    def _feed_value(self, value: object) -> None:
        payload = to_mapping(value)
        if "chunk" in payload and isinstance(wrapped := payload["chunk"], Mapping) and isinstance(wrapped.get("bytes"), bytes):
            read = self._decoder.payload if self._decoder is not None and not self._named else self._undetected
            read(wrapped["bytes"], "", 0)  # as boto3 gives what InvokeModel sends
        elif self._decoder is not None:
            self._compare(payload, "")
            self._decoder.chunk(payload)
        else:
            self._detect((to_bytes(payload), "", 0), payload, "")

    def _compare(self, value: object, event: str) -> None:
        """Tell if the first payload that says what it is says something else than the caller."""
        if not self._named:
            return
        found = recognise(value, event, sure=True) if isinstance(value, Mapping) else None
        if found is not None and found.name != self._named:
            self._emit(Notice("other_protocol", f"the stream looks like {found.name}, and was read as {self._named}"))
        self._patience -= 1
        if found is not None or not self._patience:
            self._named = ""
            self._connect()

    def _detect(self, frame: Frame, value: object, event: str) -> None:
        """Look at one more early payload; once the protocol is known, all of them are read."""
        if self._given_up:
            return
        self._early.append(frame)
        self._objects = self._objects or isinstance(value, Mapping)
        found = recognise(value, event) if isinstance(value, Mapping) else None
        if found is not None:
            decoder = self._begin(found)
            for early in self._early:
                decoder.payload(*early)
            self._early.clear()
        elif len(self._early) >= PATIENCE:
            self._give_up(seen(self._early, self._content_type))

    def _tell_unreadable(self) -> None:
        """No early frame was an object: each that is no JSON is told."""
        for early in self._early:
            if early[0].strip() == b"[DONE]":
                continue
            try:
                parse_payload(early[0])
            except JsonProblem as fault:
                self._told = True
                self._emit(Unreadable(early[2], f"no JSON: {fault.message}", early[0][:HEAD]))
        self._early.clear()

    def _give_up(self, seen: str) -> None:
        self._early.clear()
        if not self._given_up:
            self._told = self._given_up = True
            self._emit(ProtocolUnknown(seen))
