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

    __slots__ = (
        "_begin",
        "_columns",
        "_end",
        "_line_ends",
        "_numbers",
        "_places",
        "_row",
        "_serial",
        "_serial_place",
        "_serial_size",
        "_split",
        "_step",
        "_tail",
        "_text",
        "_tip",
    )

    def __init__(self, known: list[bytes], kinds: list[Kind], line_ends: bytes) -> None:
        self._line_ends, self._begin, self._end = line_ends, known[0], known[-1] + line_ends
        known = [line_ends + known[0], *known[1:]]  # those that end the one before
        for at, kind in enumerate(kinds):
            if kind in ("text", "padding"):
                known[at] += b'"'
                known[at + 1] = b'"' + known[at + 1]
        self._tip, self._tail = known[0], known[-1]
        self._row = [piece for one in (*known[1:-1], known[-1] + known[0]) for piece in (b"", one)]
        pattern = _pattern(known[0][: len(line_ends) + _FEW], tuple(kinds), tuple(map(len, known)))
        self._split, self._step = pattern.split, pattern.groups + 1
        self._serial: int | None = None
        if "serial" in kinds:
            self._serial = at = kinds.index("serial")
            self._serial_size, self._serial_place = sum(map(len, known[: at + 1])), slice(2 * at + 1, None, len(self._row))
        cut = [at for at, kind in enumerate(kinds) if kind != "serial"]
        self._places = [slice(2 * at + 1, None, len(self._row)) for at in cut]  # where the columns belong
        self._columns = [slice(at, None, self._step) for at in range(1, self._step)]  # where they are
        self._text = [kinds[at] for at in cut].index("text")
        self._numbers = [(place, kinds[at]) for place, at in enumerate(cut) if kinds[at] in ("number", "count")]

    def of(self, data: bytes, at: int, end: int) -> tuple[Found, int] | None:
        """What stands in the first of many documents, from one offset to another, and the bytes of those; None if there is none, or
        one that is not quite what it seems to be."""
        if not data.startswith(self._begin, at):
            return None
        line_ends, front = self._line_ends, at - len(self._line_ends)
        last = data.find(self._end, data.rfind(self._begin, at, end), end) + len(self._end)  # what follows is none
        if front < 0 or not data.startswith(line_ends, front):
            data, last, front = line_ends + data[at:last], last - front, 0
        pieces = self._split(memoryview(data)[front : last - len(line_ends)])
        between = pieces[:: self._step]
        many = len(between) - 1
        if any(between):  # those count that stand right behind each other
            many = next(compress(count(), between))
            del pieces[many * self._step :]
        if not many:
            return None
        columns = [pieces[those] for those in self._columns]
        numbers: range | None = None
        if self._serial is not None:
            first = _number_at(data, front + self._serial_size + sum([len(column[0]) for column in columns[: self._serial]]))
            numbers = range(first, first + many)
        together = self._together(columns, numbers, many)
        size = len(together)
        if not (data.startswith(together, front) and data.startswith(line_ends, front + size)):
            return None
        found = self._read(columns, numbers)
        return None if found is None else (found, size)

    def _together(self, columns: list[list[bytes]], numbers: range | None, many: int) -> bytes:
        """So many documents with these columns in their blanks, from the line ends before them to those after them."""
        parts = [self._tip, *self._row * many]
        for those, column in zip(self._places, columns, strict=True):
            parts[those] = column
        if numbers is not None:
            parts[self._serial_place] = _written(numbers[0], many)
        parts[-1] = self._tail
        return b"".join(parts)

    def _read(self, columns: list[list[bytes]], numbers: Sequence[int] | None) -> Found | None:
        """None if something is no value, or a text is empty."""
        written = b'["%b"]' % b'",\n"'.join(columns[self._text])
        try:
            texts = _strings(written)
            for at, kind in self._numbers:
                integers = _integers(b"[%b]" % b",\n".join(columns[at]))
                if len(integers) != len(columns[at]):
                    return None
                numbers = integers if kind == "number" else numbers
        except msgspec.MsgspecError:
            return None
        return Found(texts, numbers, written) if len(texts) == len(columns[self._text]) and all(texts) else None


def _number_at(data: bytes, at: int) -> int:
    """The number that begins there; if there is none, whatever is no number that stands there."""
    found = _digits.match(data, at)
    return int(found[0]) if found is not None else 0


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
