"""Frames that are alike: of one that holds the bytes of another, but for a few values, only the values have to be read.

A JSON document with another string in the place of one of its strings means the same with that string, and so with numbers:
where the bytes between the values are those of a document that is known, nothing else is new. The values of a frame are
read as a list of JSON, with line ends between them, which no string can hold, so that no value is taken for two, and no two
for one. Of many frames each is a list in a line, in which a number stands for what stood between two values, so that none is
taken for another. Whoever knows what the values mean makes the mould.
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
        "_line_head",
        "_list",
        "_read",
        "_read_lines",
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
        self._list = b"[%b]" % b",\n".join([b"%b"] * len(blanks))
        types = [str if kind in ("text", "padding") else int for kind in kinds]
        self._read = _reader(*types).decode
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
        if not self._between:
            row = b"[%b]" % values
        else:
            parts = []
            for literal, _ in self._between:
                part, found, values = values.partition(literal)
                if not found:
                    return None
                parts.append(part)
            row = self._list % (*parts, values)
        try:
            return self._read(row)
        except msgspec.MsgspecError:
            return None

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


@cache
def _reader(*types: type[Any]) -> msgspec.json.Decoder[Values]:
    """Reads a list of values of these types."""
    return msgspec.json.Decoder(tuple[types])  # type: ignore[valid-type]  # a type made of values
