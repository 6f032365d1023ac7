"""Frames that are alike: of one that holds the bytes of another, but for a few values, only the values have to be read.

A JSON document with another string in the place of one of its strings means the same with that string, and so with numbers:
where the bytes between the values are those of a document that is known, nothing else is new. Each value of a frame is read
as a document of its own. Those of many frames are read at once, each frame's as a list in a line, with line ends between
the values, which no string can hold, so that no value is taken for two, and no two for one, and with a number for what stood
between two values, so that none is taken for another. Whoever knows what the values mean makes the mould.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, repeat
from typing import Any, Literal

import msgspec

Values = tuple[Any, ...]
Found = tuple[Sequence[str], Sequence[int] | None]
"""What stood in the blanks of one frame or of several: the texts, and the numbers of a mould that has one."""


class Blank(msgspec.Struct, frozen=True, gc=False):
    """A value that may differ: where it stands in the document, and what it is."""

    start: int
    end: int
    kind: Literal["text", "number", "padding", "count"]
    """A mould has one `text`, and at most one `number` that means something; `padding` is a string that means nothing, `count` a
    number that the newest frame says for all."""


class Mould:
    """A document with blanks in it, and `grow`, its maker's, which takes what stood in them."""

    __slots__ = (
        "_between",
        "_frame_head",
        "_frame_tail",
        "_head",
        "_last",
        "_line_head",
        "_read_lines",
        "_steps",
        "_tail",
        "grow",
        "grow_many",
        "number_at",
        "text_at",
    )

    def __init__(self, document: bytes, blanks: list[Blank], grow: Callable[..., Any], grow_many: Callable[..., Any]) -> None:
        self.grow, self.grow_many = grow, grow_many
        kinds = [blank.kind for blank in blanks]
        self.text_at, self.number_at = kinds.index("text"), kinds.index("number") if "number" in kinds else None
        self._head, self._tail = document[: blanks[0].start], document[blanks[-1].end :]
        self._between = [(document[one.end : other.start], b",\n%d," % at) for at, (one, other) in enumerate(pairwise(blanks))]
        types = [str if kind in ("text", "padding") else int for kind in kinds]
        *reads, self._last = [_READS[kind] for kind in types]
        self._steps = [(read, literal) for read, (literal, _) in zip(reads, self._between, strict=True)]
        self._read_lines = _reader(
            types[0], *[one for at, kind in enumerate(types[1:]) for one in (Literal[at], kind)]
        ).decode_lines
        self.framed(b"", b"", b"")

    def framed(self, lead: bytes, line: bytes, end: bytes) -> None:
        """How a frame of it begins and ends beside the document, and how the line of the document begins."""
        self._frame_head, self._frame_tail = lead + self._head, self._tail + end
        self._line_head = line + self._head

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
        head, tail = self._line_head, self._tail
        return next((at for at, line in enumerate(lines) if not (line.startswith(head) and line.endswith(tail))), len(lines))

    def many(self, lines: list[bytes]) -> Found | None:
        """The texts and the numbers of the documents of several frames; None if not all of them are of this mould."""
        count = len(lines)
        found = list(map(bytes.removesuffix, map(bytes.removeprefix, lines, repeat(self._line_head)), repeat(self._tail)))
        if sum(map(len, lines)) - sum(map(len, found)) != count * (len(self._line_head) + len(self._tail)):
            return None
        values = b"]\n[".join(found)
        for literal, mark in self._between:
            pieces = values.split(literal)
            if len(pieces) != count + 1:
                return None
            values = mark.join(pieces)
        try:
            rows = self._read_lines(b"[%b]" % values)
        except msgspec.MsgspecError:
            return None
        if len(rows) != count:
            return None
        columns = list(zip(*rows, strict=True))[::2]
        texts = columns[self.text_at]
        if "" in texts:
            return None
        return texts, columns[self.number_at] if self.number_at is not None else None


_READS: dict[type, Callable[[bytes], Any]] = {kind: msgspec.json.Decoder(kind).decode for kind in (str, int)}
"""Each reads one value, and nothing beside it."""


@cache
def _reader(*types: type[Any]) -> msgspec.json.Decoder[Values]:
    """Reads a list of values of these types."""
    return msgspec.json.Decoder(tuple[types])  # type: ignore[valid-type]  # a type made of values
