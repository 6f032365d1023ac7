"""The short cut for payloads that are one more delta and nothing else, as most are.

A payload is plain if it fits `plain_type`, in which whatever says more may only be null. The first plain one becomes a
mould: frames that are alike are not decoded at all, but for the values that differ.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

import msgspec

from ..events import ChatStreamEvent, Deltas, ReasoningDelta, RefusalDelta, TextDelta
from ..framing.columns import Found
from ..framing.moulds import Blank, Mould, Values
from .surrogates import Emit

_MOST_MISSES = 16
"""Payloads in a row that were not plain, or made a mould that no other fitted, after which a stream is not asked any more."""
_PROBE = "probe"
_LARGEST = 16384
"""Bytes of a payload that becomes a mould: of larger ones few come."""
_MOST_BLANKS = 6
_COLON = r"[ \t\r\n]*:[ \t\r\n]*"
_VALUE = r'(?:"(?:[^"\\]++|\\.)*+"|[0-9]++)'


Told = ChatStreamEvent | Literal[True] | None
"""An event; or True: it was taken, and is told later; or None: it is not so, and nothing was done."""


class Growth(msgspec.Struct, frozen=True):
    """Makes the event of one more delta, or the events of several: of their texts, and of their numbers where they have some."""

    one: Callable[[str, int | None], Told]
    many: Callable[[Found], Iterable[ChatStreamEvent] | None]


def growing(event: type[TextDelta] | type[ReasoningDelta] | type[RefusalDelta], part: int | None) -> Growth:
    """More of a text."""
    return Growth(lambda text, number: event(text, part), lambda found: Deltas(event, part, found.texts))


class Blanks(msgspec.Struct, frozen=True, kw_only=True):
    """Which values may differ among the plain payloads of a protocol, by their keys."""

    texts: tuple[str, ...]
    number: str = ""
    """Of the number that is read: the key, or what else stands between two quotes, the last before it (a regular expression)."""
    serial: str = ""
    """Of a number that counts the payloads."""
    padding: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    def pattern(self) -> re.Pattern[bytes]:
        """Finds them, after a group with the name of its kind."""
        keys = {
            "text": self.texts,
            "padding": self.padding,
            "count": self.counts,
            "number": (self.number,),
            "serial": (self.serial,),
        }
        before = [f'(?P<{kind}>(?:{"|".join(named)})"{_COLON})' for kind, named in keys.items() if any(named)]
        return re.compile(f'"(?:{"|".join(before)}){_VALUE}'.encode())

    def of(self, payload: bytes, pattern: re.Pattern[bytes]) -> list[Blank]:
        """Where they are in a payload. An empty text is none."""
        found = []
        for place in pattern.finditer(payload):
            kind: Any = place.lastgroup
            start, end = place.end(kind), place.end()
            if (payload[start] == 34) is (kind in ("text", "padding")) and (kind != "text" or end - start > 2):
                found.append(Blank(start, end, kind))
        return found


class Plain:
    """What a decoder has of the short cut."""

    plain_type: ClassVar[type[msgspec.Struct] | None] = None
    """The wire struct of plain payloads. None: there is no short cut for them."""
    blanks: ClassVar[Blanks | None] = None
    """The values that may differ among plain payloads that are alike."""
    _typed_plain: ClassVar[msgspec.json.Decoder[Any] | None]
    _pattern: ClassVar[re.Pattern[bytes]]
    _text_key: ClassVar[re.Pattern[bytes]] = re.compile(b"")
    """What plain payloads hold that have a text; looked for far faster than decoded in vain."""
    _emits: dict[int, Emit]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._typed_plain = msgspec.json.Decoder(cls.plain_type) if cls.plain_type is not None else None
        if cls.blanks is not None:
            cls._pattern = cls.blanks.pattern()
            cls._text_key = re.compile(f'"(?:{"|".join(cls.blanks.texts)})"{_COLON}'.encode())

    def __init__(self) -> None:
        self.bulk: Callable[[Iterable[ChatStreamEvent]], object] | None = None
        """Takes several events of choice 0 at once, where there is something that does; the driver sets it."""
        self.on_mould: Callable[[Mould | None], object] = self._keep
        """Takes what the next frames may be alike to, or None: nothing any more; the driver sets it where there is a framer."""
        self._own: Mould | None = None  # where there is none, so that payloads come here
        self._plain: Callable[[bytes], Any] | None = self._typed_plain.decode if self._typed_plain is not None else None
        self._misses = 0
        self._moulded = False  # whether a mould is given out
        self._moulds = 0  # that were made since a frame fitted one
        self._newest: bytes | None = None  # the newest frame that fitted
        self._newest_from = 0  # where its payload begins
        self._torn = False  # whether halves of characters may come

    # ---- What the driver and the decoder call.

    def one_more(self, mould: Mould, values: Values, frame: bytes, start: int) -> bool:
        """See OnOne."""
        text = values[mould.text_at]
        event = mould.grow(text, values[mould.number_at] if mould.number_at is not None else None) if text else None
        if event is None:
            return False
        self._newest, self._newest_from = frame, start
        if event is not True:
            self._emits[0](event)
        return True

    def many_more(self, mould: Mould, found: Found, newest: bytes, start: int) -> bool:
        """See OnMany."""
        events = mould.grow_many(found)
        if events is None:
            return False
        self._newest, self._newest_from = newest, start
        if self.bulk is not None and not self._torn:
            self.bulk(events)
        else:
            emit = self._emits[0]
            for event in events:
                emit(event)
        return True

    def _is_plain(self, data: bytes) -> bool:
        """Read a payload, if it is plain."""
        if self._plain is None:
            return False
        if (own := self._own) is not None and (values := own.one(data)) is not None and self.one_more(own, values, data, 0):
            return True
        if len(data) <= _LARGEST and self._text_key.search(data) is None:
            return False
        try:
            chunk = self._plain(data)
        except (msgspec.MsgspecError, RecursionError):
            self._misses += 1
            if self._misses > _MOST_MISSES:
                self._plain = None
            return False
        self._misses = 0
        text, number = self._said(chunk)
        growth = self._growth(chunk) if text else None
        event = growth.one(text, number) if growth is not None and text else None
        if growth is None or event is None:
            return False
        fitted = self._newest is not None
        self._tally(chunk)
        self._newest = None
        if fitted:
            self._moulds = 0
        if not (fitted and self._moulded):  # else the mould still fits, and was not asked
            self._make_mould(data, text, number, growth)
        if event is not True:
            self._emits[0](event)
        return True

    def _make_mould(self, data: bytes, text: str | None, number: int | None, growth: Growth) -> None:
        """A payload that is plain as a mould, if it can be seen which of its bytes are its text."""
        if self.blanks is None or self._moulds > _MOST_MISSES:
            self.forget()
            return
        self._moulds += 1
        if len(data) > _LARGEST:
            return
        blanks = self.blanks.of(data, self._pattern)
        if number is None:  # what counts nothing may be any number
            blanks = [Blank(one.start, one.end, "count") if one.kind == "serial" else one for one in blanks]
        kinds = [blank.kind for blank in blanks]
        numbers = kinds.count("number") + kinds.count("serial")
        if kinds.count("text") != 1 or numbers != (number is not None) or len(kinds) > _MOST_BLANKS:
            return
        if text != _PROBE and self._is_as_seen(data, blanks):
            self._moulded = True
            self.on_mould(Mould(data, blanks, growth.one, growth.many))

    def _is_as_seen(self, data: bytes, blanks: list[Blank]) -> bool:
        """Whether the text and the number are what stands in the blanks: with other ones there others are read."""
        probe = data
        number = None
        for blank in reversed(blanks):
            if blank.kind == "text":
                probe = probe[: blank.start] + f'"{_PROBE}"'.encode() + probe[blank.end :]
            elif blank.kind in ("number", "serial"):
                number = int(data[blank.start : blank.end]) + 1
                probe = probe[: blank.start] + str(number).encode() + probe[blank.end :]
        assert self._typed_plain is not None
        try:
            text, read = self._said(self._typed_plain.decode(probe))
        except msgspec.MsgspecError:
            return False
        return text == _PROBE and (read == number or number is None)

    def forget(self) -> None:
        """What comes is more than a delta: after it nothing may be as it was."""
        self._own = None
        if self._moulded:
            self._moulded = False
            if self._newest is not None:
                self._moulds = 0
            self.on_mould(None)

    def _keep(self, mould: Mould | None) -> None:
        self._own = mould

    # ---- What a protocol says.

    def settle(self) -> None:
        """Tell now what was put off: nothing more is read, or what comes is more than a delta."""

    def _said(self, chunk: Any) -> tuple[str | None, int | None]:
        """The text of a plain chunk, and its number, if that means something."""
        raise NotImplementedError  # of every protocol with a `plain_type`

    def _growth(self, chunk: Any) -> Growth | None:
        """What a plain chunk is more of, for choice 0, until anything else comes. None: it is more than that."""
        raise NotImplementedError  # of every protocol with a `plain_type`

    def _tally(self, chunk: Any) -> None:
        """What a plain chunk says beside its text."""
