"""StreamDecoder: the bytes (or parsed payloads) of one stream to its events, without I/O.

Here the framing meets the protocol: what is to be read as a stream and what is one JSON body, which protocol an
unnamed stream speaks, and what to say of bytes that held nothing. `stream` re-exports it.
"""

from collections.abc import Mapping
from typing import Any

from ._json import JsonProblem, parse_payload
from .events import ChatStreamEvent, LimitHit, Notice, ProtocolUnknown, Started, StreamBroken, Unreadable
from .framing.sse import SSEFramer
from .limits import Limits
from .protocols import Decoder, Protocol, Sink, protocol_named, recognise
from .protocols.decoder import HEAD, to_mapping
from .protocols.surrogates import Emit

Frame = tuple[bytes, str, int]
"""Data, event name and offset of a frame that waits until the protocol is known."""

PATIENCE = 16
"""Payloads that `auto` looks at before it says that it does not know the protocol."""


def only_first(emit: Emit) -> Sink:
    """A sink that gives `emit` the events of choice 0, and one Notice if there are other choices."""

    def sink(choice: int) -> Emit:
        if choice == 0:
            return emit
        emit(Notice("other_choices", "the stream has other choices, left out here; accumulate_choices gives all"))
        return lambda event: None

    return sink


class StreamDecoder:
    """The bytes (or parsed payloads) of one stream to its events, without I/O.

    `protocol` is a name (`openai-chat`, `anthropic-messages`, or `auto` to find out from the first payloads) or a
    `Protocol`. With a `sink`, events go to `sink(choice)` and nothing is returned; without, those of choice 0 are
    returned, and a Notice tells of others. Raises UnknownProtocol for a name that is none.
    """

    def __init__(self, protocol: str | Protocol = "auto", *, limits: Limits = Limits(), sink: Sink | None = None) -> None:
        self._limits = limits
        self._events: list[ChatStreamEvent] = []
        self._sink = sink or only_first(self._events.append)
        self._decoder: Decoder[Any] | None = None
        self._early: list[Frame | Mapping[str, Any]] = []
        self._objects = False  # whether an early payload was an object, and so might have told the protocol
        self._given_up = False
        self._closing = False
        self._head = b""
        self._fed = 0
        self._body: bytearray | None = None
        self._emit: Emit
        if isinstance(protocol, str) and protocol == "auto":
            self._emit = first = self._sink(0)
            self._sink = _with_first(first, self._sink)
            self._framer = SSEFramer(self._undetected, self._tell, limits)
        else:
            chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
            self._framer = chosen.framer(self._undetected, self._tell, limits)
            self._begin(chosen)

    def feed(self, item: object) -> list[ChatStreamEvent]:
        """The events that the next piece completes, in order.

        Bytes may be cut anywhere, also inside a character; a `str` is taken as its UTF-8. Anything else is one payload
        that somebody parsed already: a mapping, an SDK object, a dataclass. Raises TypeError if it is none of these.
        """
        if isinstance(item, bytes):
            self._feed_bytes(item)
        elif isinstance(item, str):
            self._feed_bytes(item.encode("utf-8", "surrogatepass"))
        elif isinstance(item, bytearray | memoryview):
            self._feed_bytes(bytes(item))
        else:
            self._feed_value(item)
        return self._taken()

    def feed_body(self, body: object) -> list[ChatStreamEvent]:
        """The events of a whole, unstreamed body: bytes or text of one JSON document, a mapping, an SDK object."""
        if isinstance(body, str | bytes | bytearray | memoryview):
            data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
            self._fed, self._head = len(data), data[:HEAD]
            self._read_body(data)
            return self.close()
        payload = to_mapping(body)
        decoder = self._decoder_for(payload)
        if decoder is None:
            self._give_up(f"a body with the keys {_keys(payload)}")
        else:
            decoder.whole(payload)
        return self.close()

    @property
    def choices(self) -> set[int]:
        """The indexes of the choices that came so far."""
        return self._decoder.choices if self._decoder is not None else set()

    def close(self) -> list[ChatStreamEvent]:
        """The events that the end brings: a last frame without its blank line, and what was wrong with the whole."""
        self._flush()
        if self._fed and not self._given_up and (self._decoder is None or self._decoder.silent):
            self._emit(Unreadable(0, _looks_like(self._head, self._fed), self._head))
        return self._taken()

    def fail(self, reason: str, message: str = "") -> list[ChatStreamEvent]:
        """As `close`, for a source that broke: `reason` is `transport`, `idle_timeout` or `cancelled`."""
        self._flush()
        self._emit(StreamBroken(reason, message))
        return self._taken()

    # ---- From bytes to frames to the decoder.

    def _tell(self, event: ChatStreamEvent) -> None:
        self._emit(event)

    def _taken(self) -> list[ChatStreamEvent]:
        events = self._events
        if not events:
            return []
        taken = events[:]
        events.clear()
        return taken

    def _begin(self, protocol: Protocol) -> Decoder[Any]:
        self._decoder = decoder = protocol.decoder(self._sink, self._limits)
        self._emit = decoder.to_all
        self._framer.on_frame = decoder.payload
        decoder.at_end = self._closing
        return decoder

    def _feed_bytes(self, data: bytes) -> None:
        if len(self._head) < HEAD:
            self._sniff(data)
        self._fed += len(data)
        if self._body is None:
            self._framer.feed(data)
        elif len(self._body) <= self._limits.frame_bytes:
            self._body += data
            if len(self._body) > self._limits.frame_bytes:
                self._emit(LimitHit("frame_bytes", self._limits.frame_bytes + 1))

    def _sniff(self, data: bytes) -> None:
        """Keep the head of the stream, and see by its first character whether it is one JSON body and no stream."""
        undecided = not self._head.strip(_BLANK)
        self._head = (self._head + data)[:HEAD]
        if undecided and self._head.lstrip(_BLANK)[:1] in (b"{", b"["):
            self._body = bytearray()

    def _flush(self) -> None:
        self._closing = True
        if self._decoder is not None:
            self._decoder.at_end = True
        if self._body is not None and len(self._body) <= self._limits.frame_bytes:
            body, self._body = bytes(self._body), None
            self._read_body(body)
        self._framer.close()
        if self._objects and self._decoder is None and not self._given_up:
            self._give_up(_seen(self._early))
        if self._decoder is not None:
            self._decoder.close()

    def _undetected(self, data: bytes, event: str, offset: int) -> None:
        """A frame of the read in which the protocol became known, or of an earlier one."""
        if self._decoder is not None:
            self._decoder.payload(data, event, offset)
            return
        try:
            value, _ = parse_payload(data)
        except JsonProblem:
            value = None
            if self._closing:  # the end cut the frame that might have told the protocol
                self._emit(Started())
                self._given_up = True
        self._detect((data, event, offset), value, event)

    def _read_body(self, body: bytes) -> None:
        """One JSON document where a stream was asked for; what is none is read as a stream after all."""
        try:
            value, _ = parse_payload(body)
        except JsonProblem:
            self._framer.feed(body)
            return
        payload = value if isinstance(value, dict) else next((item for item in value if isinstance(item, dict)), {})
        decoder = self._decoder_for(payload)
        if decoder is None:
            self._give_up(f"one JSON document with the keys {_keys(payload)}")
        else:
            decoder.whole(payload)

    def _feed_value(self, value: object) -> None:
        payload = to_mapping(value)
        if self._decoder is not None:
            self._decoder.chunk(payload)
        else:
            self._detect(payload, payload, "")

    def _decoder_for(self, payload: Mapping[str, Any]) -> Decoder[Any] | None:
        if self._decoder is None and (found := recognise(payload)) is not None:
            return self._begin(found)
        return self._decoder

    def _detect(self, item: Frame | Mapping[str, Any], value: object, event: str) -> None:
        """Look at one more early payload; once the protocol is known, all of them are read."""
        if self._given_up:
            return
        self._early.append(item)
        self._objects = self._objects or isinstance(value, Mapping)
        found = recognise(value, event) if isinstance(value, Mapping) else None
        if found is not None:
            decoder = self._begin(found)
            for early in self._early:
                if isinstance(early, Mapping):
                    decoder.chunk(early)
                else:
                    decoder.payload(*early)
            self._early.clear()
        elif len(self._early) >= PATIENCE:
            self._give_up(_seen(self._early))

    def _give_up(self, seen: str) -> None:
        self._early.clear()
        if not self._given_up:
            self._given_up = True
            self._emit(ProtocolUnknown(seen))


_BLANK = b"\xef\xbb\xbf \t\r\n"


def _with_first(emit: Emit, sink: Sink) -> Sink:
    """`sink`, once it has been asked for choice 0 and gave `emit`."""
    return lambda choice: emit if choice == 0 else sink(choice)


def _keys(payload: Any) -> str:
    return ", ".join([str(key)[:40] for key in list(payload)[:8]]) or "none"


def _seen(early: list[Frame | Mapping[str, Any]]) -> str:
    first = early[0]
    if isinstance(first, Mapping):
        return f"{len(early)} payloads of no known kind, the first with the keys {_keys(first)}"
    data, event, offset = first
    return f"{len(early)} frames of no known kind, the first at byte {offset}: event {event[:40]!r}, data {data[:80]!r}"


def _looks_like(head: bytes, size: int) -> str:
    """Why a stream of bytes held nothing, in words for somebody who stares at an empty answer."""
    start = head.lstrip(_BLANK)
    for magic, name in ((b"\x1f\x8b", "gzip"), (b"(\xb5/\xfd", "zstd"), (b"\x78\x9c", "deflate")):
        if head.startswith(magic):
            return f"{size} bytes that look compressed ({name}): let the HTTP client decode them"
    if start[:1] == b"<":
        return f"{size} bytes that look like an HTML or XML page, not like a stream"
    if start[:1] == b":":
        return f"{size} bytes of keep-alives, and no message"
    return f"{size} bytes without one readable event"
