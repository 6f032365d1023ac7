"""Many documents that are alike, cut apart into what stands in their blanks: a column for each blank.

They are cut by the sizes of what is known around the blanks, without a look at it. Then they are put together again, out of the
bytes that are known and the columns, and have to be what came: however they were cut, it is right or nothing. The values of a
column are read at once, with line ends between them, which no string can hold, so that no value is taken for two, and no two for
one. Only `moulds` uses this.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, count
from typing import Literal

import msgspec

Kind = Literal["text", "number", "padding", "count"]
Found = tuple[Sequence[str], Sequence[int] | None]
"""What stood in the blanks of one frame or of several: the texts, and the numbers of a mould that has one."""

_FEW = 4
"""Bytes of the begin of a document by which the next one is found, where one was none."""
_VALUES: dict[Kind, bytes] = {
    "text": rb'([^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+)',
    "padding": rb"([a-zA-Z0-9]*+)",
    "number": rb"([0-9]++)",
    "count": rb"([0-9]++)",
}
"""What a blank may hold so that it is cut out here. None holds a line end, and each document is looked for at one: so the search is
linear, whatever came."""
_strings = msgspec.json.Decoder(tuple[str, ...]).decode
_integers = msgspec.json.Decoder(tuple[int, ...]).decode


class Columns:
    """Of documents with `known` bytes around and between blanks of these kinds, each ended by line ends."""

    __slots__ = ("_begin", "_end", "_kinds", "_line_ends", "_pattern", "_row")

    def __init__(self, known: list[bytes], kinds: list[Kind], line_ends: bytes) -> None:
        self._kinds, self._line_ends, self._begin, self._end = kinds, line_ends, known[0], known[-1] + line_ends
        known = [line_ends + known[0], *known[1:]]  # those that end the one before
        for at, kind in enumerate(kinds):
            if kind in ("text", "padding"):
                known[at] += b'"'
                known[at + 1] = b'"' + known[at + 1]
        self._row = [piece for one in known for piece in (one, b"")][:-1]
        self._pattern = _pattern(known[0][: len(line_ends) + _FEW], tuple(kinds), tuple(map(len, known)))

    def of(self, documents: bytes) -> tuple[Found, int] | None:
        """The texts and the numbers in the first of many documents, and the bytes of those; None if there is none, or one that is
        not quite what it seems to be."""
        if not documents.startswith(self._begin):
            return None
        last = documents.find(self._end, documents.rfind(self._begin)) + len(self._end)  # what follows is none
        came = b"".join((self._line_ends, memoryview(documents)[: last - len(self._line_ends)]))
        pieces = self._pattern.split(came)
        step = len(self._kinds) + 1
        between = pieces[::step]  # empty, as long as one document stands right behind the other
        many = next(compress(count(), between), len(between) - 1)
        columns = [pieces[at : many * step : step] for at in range(1, step)]
        parts = self._row * many
        for at, column in enumerate(columns):
            parts[2 * at + 1 :: len(self._row)] = column
        together = b"".join(parts)
        size = len(together)
        if not (many and came.startswith(together) and documents.startswith(self._line_ends, size - len(self._line_ends))):
            return None
        found = self._read(columns)
        return None if found is None else (found, size)

    def _read(self, columns: list[list[bytes]]) -> Found | None:
        """None if something is no value, or a text is empty."""
        texts: tuple[str, ...] = ()
        numbers: tuple[int, ...] | None = None
        many = len(columns[0])
        try:
            for kind, column in zip(self._kinds, columns, strict=True):
                if kind == "text":
                    texts = _strings(b'["%b"]' % b'",\n"'.join(column))
                elif kind != "padding":
                    integers = _integers(b"[%b]" % b",\n".join(column))
                    numbers = integers if kind == "number" else numbers
                    if len(integers) != many:
                        return None
        except msgspec.MsgspecError:
            return None
        return None if len(texts) != many or "" in texts else (texts, numbers)


@lru_cache(maxsize=64)
def _pattern(begin: bytes, kinds: tuple[Kind, ...], sizes: tuple[int, ...]) -> re.Pattern[bytes]:
    """Finds the values in documents that begin so, where what is known around them has these sizes."""
    values = [*[_VALUES[kind] for kind in kinds], b""]
    rest = [b".{%d}%b" % both for both in zip((sizes[0] - len(begin), *sizes[1:]), values, strict=True)]
    return re.compile(re.escape(begin) + b"".join(rest), re.DOTALL)
