"""Frames that are alike: of one that holds the bytes of another, but for a few values, only the values have to be read.

A JSON document with another string in the place of one of its strings means the same with that string, and so with numbers:
where the bytes between the values are those of a document that is known, nothing else is new. Each value of a frame is read
as a document of its own, those of many frames at once (`columns`). Whoever knows what the values mean makes the mould.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec

from .columns import Columns, Found, Kind

Values = tuple[Any, ...]


class Blank(msgspec.Struct, frozen=True, gc=False):
    """A value that may differ: where it stands in the document, and what it is."""

    start: int
    end: int
    kind: Kind
    """A mould has one `text`, and at most one `number` that means something, or `serial` that counts the documents; `padding` is a
    string that means nothing, `count` a number that the newest frame says for all."""


class Mould:
    """A document with blanks in it, and `grow`, its maker's, which takes what stood in them."""

    __slots__ = (
        "_begin",
        "_columns",
        "_end",
        "_frame_head",
        "_frame_tail",
        "_kinds",
        "_known",
        "_last",
        "_line",
        "_steps",
        "grow",
        "grow_many",
        "number_at",
        "text_at",
    )

    def __init__(self, document: bytes, blanks: list[Blank], grow: Callable[..., Any], grow_many: Callable[..., Any]) -> None:
        self.grow, self.grow_many = grow, grow_many
        self._kinds = kinds = [blank.kind for blank in blanks]
        self.text_at = kinds.index("text")
        self.number_at = next((at for at, kind in enumerate(kinds) if kind in ("number", "serial")), None)
        between = [document[one.end : other.start] for one, other in pairwise(blanks)]
        self._known = [document[: blanks[0].start], *between, document[blanks[-1].end :]]
        *reads, self._last = [_READS[kind] for kind in kinds]
        self._steps = list(zip(reads, between, strict=True))
        self.framed(b"", b"", b"")

    def framed(self, lead: bytes, line: bytes, end: bytes) -> None:
        """How a frame of it begins and ends beside the document, and how the line of the document begins."""
        self._frame_head, self._frame_tail = lead + self._known[0], self._known[-1] + end
        self._line, self._begin, self._end = line, lead.removesuffix(line), end
        self._columns: Columns | None = None  # made when many come

    def one(self, frame: bytes) -> Values | None:
        """What stands in the blanks of a frame; None if it is not of this mould."""
        rest = frame.removeprefix(self._frame_head)
        values = rest.removesuffix(self._frame_tail)
        if rest is frame or values is rest or 10 in values or 13 in values:
            return None
        try:
            if not self._steps:
                return (self._last(values),)
            found = []
            for read, literal in self._steps:
                value, between, values = values.partition(literal)
                if not between:
                    return None
                found.append(read(value))
            found.append(self._last(values))
        except msgspec.MsgspecError:
            return None
        return tuple(found)

    def like(self, lines: list[bytes]) -> int:
        """How many of the first lines begin and end as documents of this mould do."""
        head, tail = self._line + self._known[0], self._known[-1]
        return next((at for at, line in enumerate(lines) if not (line.startswith(head) and line.endswith(tail))), len(lines))

    def many(self, lines: list[bytes]) -> Found | None:
        """The texts and the numbers of the documents of several frames; None if not all of them are of this mould."""
        frames = self._begin + (self._end + self._begin).join(lines) + self._end
        found, size = self.run(frames, 0, len(frames)) or (None, 0)
        return found if size == len(frames) else None

    def run(self, data: bytes, at: int, end: int) -> tuple[Found, int] | None:
        """The same of the first of many frames from one offset to another, as they came, and their bytes; None if the first are not
        of this mould."""
        if self._columns is None:
            self._columns = Columns([self._frame_head, *self._known[1:]], self._kinds, self._end)
        return self._columns.of(data, at, end)


_string, _integer = msgspec.json.Decoder(str).decode, msgspec.json.Decoder(int).decode
_READS: dict[Kind, Callable[[bytes], Any]] = {
    "text": _string,
    "padding": _string,
    "number": _integer,
    "serial": _integer,
    "count": _integer,
}
"""Each reads one value, and nothing beside it."""
