"""PartialJson: what a caller sees of a document that is still arriving."""

from collections.abc import Iterator
from typing import Any

from ..errors import JsonProblem
from .machine import JsonGrowth, Machine, Path, put
from .states import DONE

MAX_DEPTH = 128
"""Levels of nesting that are read by default; deeper values break whoever walks them, JSON encoders first."""


class PartialJson(Machine):
    """One JSON document, as far as it has come. `max_depth` bounds the levels of lists and objects inside one another.

    Memory: the document, and what of its growth was not asked for, once `growth` has been asked at all.
    """

    __slots__ = ()

    def __init__(self, max_depth: int = MAX_DEPTH) -> None:
        super().__init__(max_depth)

    def feed(self, text: str) -> None:
        """The next piece, of any length. After a `problem` nothing more is read."""
        plain = self._plain
        if plain is not None and text and text.isprintable() and '"' not in text and "\\" not in text:
            plain.append(text)
            self._offset += len(text) if text.isascii() else len(text.encode())
            if self._log is not None:
                self._untold.append(text)
            if len(plain) >= self._fold_at:
                self._fold()
        elif self.problem is None:
            self._read(text)

    def close(self) -> None:
        """Nothing more comes: a number at the very end is whole now, and a document that is not is a `problem` that is `cut`."""
        if self.problem is None and self._token is Machine._in_number and self._number.whole:
            self._end_number("", 0)
        if self.problem is None and not self.complete:
            self.problem = JsonProblem("the text ends before the JSON is closed", self._offset + len(self._held), True)

    @property
    def value(self) -> Any:
        """The document so far; None while nothing of it is sure.

        Objects and lists hold what they have; an open string stands as it is; a number stands once something follows it, and
        a key once its value has begun. What is open is a copy; an object or list that has ended is the same in every later value,
        so change none. Costs a shallow copy of each object and list that is open, and the join of an open string.
        """
        text = "".join(self._open) if self._open is not None else None
        if not self._boxes:
            return self._root if text is None else text
        shown = [box.copy() for box in self._boxes]
        for outer, key, inner in zip(shown, self._path, shown[1:], strict=False):
            outer[key] = inner
        if text is not None:
            put(shown[-1], self._path[-1], text)
        return shown[0]

    def growth(self) -> tuple[JsonGrowth, ...]:
        """What came since last asked, in order; the first time, all so far. Costs what it tells.

        Done one after the other, the growths give the `value`.
        """
        if self._log is None:
            self._log = list(_as_growth(self._root)) if self._boxes or self._expects is DONE else []
            self._untold = list(self._open or ())
            self._starts = self._open is not None
        if self._untold or self._starts:
            self._tell_text()
        log, self._log = self._log, []
        return tuple(log)

    @property
    def path(self) -> Path | None:
        """Where the next character belongs: the value being read, or the object or list around; None once `complete`."""
        if self.complete:
            return None
        within = self._token is not None and not self._in_key
        return tuple(self._path if within or not self._boxes else self._path[:-1])

    @property
    def within(self) -> bool:
        """Whether an object or a list is open."""
        return bool(self._boxes)

    @property
    def complete(self) -> bool:
        """Whether the document has ended and all is well: only white space may follow. A bare number ends with `close`."""
        return self._expects is DONE and self._token is None and self.problem is None


def _as_growth(root: Any) -> Iterator[JsonGrowth]:
    """Everything in a value, each object and list before what is in it."""
    todo: list[tuple[Path, Any]] = [((), root)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict | list):
            yield JsonGrowth(path, type(value)(), True)
            inner = list(value.items() if isinstance(value, dict) else enumerate(value))
            todo += [((*path, key), item) for key, item in reversed(inner)]
        else:
            yield JsonGrowth(path, value, True)
