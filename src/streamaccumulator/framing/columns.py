"""Many documents that are alike, cut apart into what stands in their blanks: a column for each blank.

They are cut by the sizes of what is known around the blanks, without a look at it. Then they are put together again, out of the
bytes that are known and the columns, and have to be what came: however they were cut, it is right or nothing. The values of a
column are read at once, with line ends between them, which no string can hold, so that no value is taken for two, and no two for
one. Serial numbers are not even read: they are written, from the first on, and have to be what came like all the rest. Only
`moulds` uses this.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import compress, count
from typing import Literal

import msgspec

Kind = Literal["text", "number", "serial", "padding", "count"]


class Found(msgspec.Struct, frozen=True, gc=False):
    """What stood in the blanks of several documents."""

    texts: Sequence[str]
    numbers: Sequence[int] | None
    """Of a mould that has a number; of serial ones a range."""
    written: bytes
    """The texts as a JSON array, as they came."""


_FEW = 4
"""Bytes of the begin of a document by which the next one is found, where one was none."""
_VALUES: dict[Kind, bytes] = {
    "text": rb'([^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+)',
    "padding": rb"([a-zA-Z0-9]*+)",
    "number": rb"([0-9]{1,15}+)",
    "serial": rb"[0-9]{1,15}+",
    "count": rb"([0-9]{1,15}+)",
}
"""What a blank may hold so that it is cut out here. None holds a line end, and each document is looked for at one: so the search is
linear, whatever came."""
_strings = msgspec.json.Decoder(tuple[str, ...]).decode
_integers = msgspec.json.Decoder(tuple[int, ...]).decode
_digits = re.compile(rb"[0-9]{1,15}")
_write = msgspec.json.Encoder().encode
_BLOCK = 1024
"""Numbers that are written at once."""
_KEPT = 65536
"""What is written of numbers below it is kept: most streams have those."""


class Columns:
    """Of documents with `known` bytes around and between blanks of these kinds, each ended by line ends."""

    __slots__ = ("_begin", "_end", "_kinds", "_known", "_line_ends", "_pattern", "_row", "_serial")

    def __init__(self, known: list[bytes], kinds: list[Kind], line_ends: bytes) -> None:
        self._kinds, self._line_ends, self._begin, self._end = kinds, line_ends, known[0], known[-1] + line_ends
        self._known = known = [line_ends + known[0], *known[1:]]  # those that end the one before
        for at, kind in enumerate(kinds):
            if kind in ("text", "padding"):
                known[at] += b'"'
                known[at + 1] = b'"' + known[at + 1]
        self._row = [piece for one in (*known[1:-1], known[-1] + known[0]) for piece in (b"", one)]
        begin, sizes = self._known[0][: len(line_ends) + _FEW], tuple(map(len, known))
        self._pattern = _pattern(begin, tuple(kinds), sizes)
        self._serial = kinds.index("serial") if "serial" in kinds else None

    def of(self, data: bytes, at: int, end: int) -> tuple[Found, int] | None:
        """What stands in the first of many documents, from one offset to another, and the bytes of those; None if there is none, or
        one that is not quite what it seems to be."""
        if not data.startswith(self._begin, at):
            return None
        last = data.find(self._end, data.rfind(self._begin, at, end), end) + len(self._end)  # what follows is none
        front = at - len(self._line_ends)
        if front < 0 or not data.startswith(self._line_ends, front):
            data, last, at, front = self._line_ends + data[at:last], last - front, len(self._line_ends), 0
        cut = self._cut(memoryview(data)[front : last - len(self._line_ends)])
        if cut is None:
            return None
        columns, numbers = cut
        parts = [self._known[0], *self._row * len(columns[0])]
        for place, column in enumerate(columns):
            parts[2 * place + 1 :: len(self._row)] = column
        parts[-1] = self._known[-1]
        together = b"".join(parts)
        size = len(together)
        if not (data.startswith(together, front) and data.startswith(self._line_ends, front + size)):
            return None
        found = self._read(columns, numbers)
        return None if found is None else (found, size)

    def _cut(self, came: memoryview) -> tuple[list[list[bytes]], range | None] | None:
        """The columns of the first documents, as long as one stands right behind the other, and the serial numbers those should
        have. None if there is no document."""
        pieces = self._pattern.split(came)
        step = self._pattern.groups + 1
        between = pieces[::step]
        many = next(compress(count(), between)) if any(between) else len(between) - 1
        columns = [pieces[at : many * step : step] for at in range(1, step)]
        if not many:
            return None
        if self._serial is None:
            return columns, None
        before = columns[: self._serial]
        place = _digits.match(came, sum(map(len, self._known[: self._serial + 1])) + sum(len(column[0]) for column in before))
        first = int(place[0]) if place is not None else 0
        numbers = range(first, first + many)
        columns.insert(self._serial, _written(first, many))
        return columns, numbers

    def _read(self, columns: list[list[bytes]], numbers: Sequence[int] | None) -> Found | None:
        """None if something is no value, or a text is empty."""
        texts: tuple[str, ...] = ()
        written = b""
        many = len(columns[0])
        try:
            for kind, column in zip(self._kinds, columns, strict=True):
                if kind == "text":
                    written = b'["%b"]' % b'",\n"'.join(column)
                    texts = _strings(written)
                elif kind in ("number", "count"):
                    integers = _integers(b"[%b]" % b",\n".join(column))
                    numbers = integers if kind == "number" else numbers
                    if len(integers) != many:
                        return None
        except msgspec.MsgspecError:
            return None
        return Found(texts, numbers, written) if len(texts) == many and all(texts) else None


def _written(first: int, many: int) -> list[bytes]:
    """So many numbers, as JSON."""
    if first + many > _KEPT:
        return _write(list(range(first, first + many)))[1:-1].split(b",")
    at = first % _BLOCK
    written = _block(first // _BLOCK)[at : at + many]
    while len(written) < many:
        written += _block((first + len(written)) // _BLOCK)[: many - len(written)]
    return written


@cache
def _block(number: int) -> list[bytes]:
    return _write(list(range(number * _BLOCK, (number + 1) * _BLOCK)))[1:-1].split(b",")


@lru_cache(maxsize=64)
def _pattern(begin: bytes, kinds: tuple[Kind, ...], sizes: tuple[int, ...]) -> re.Pattern[bytes]:
    """Finds the values in documents that begin so, where what is known around them has these sizes."""
    values = [*[_VALUES[kind] for kind in kinds], b""]
    rest = [b".{%d}+%b" % both for both in zip((sizes[0] - len(begin), *sizes[1:]), values, strict=True)]
    return re.compile(re.escape(begin) + b"".join(rest), re.DOTALL)
