"""The machine that reads a JSON document by the tables of `states`, in pieces, and builds what it holds.

Between tokens, a state says which character may come next and what it does; within a token (a string, a number, a word),
`_token` reads on. Only `reader` uses this.
"""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

from .._record import Record
from .._values import is_torn, mend
from ..errors import JsonProblem
from .states import (
    AFTER_ITEM,
    AFTER_MEMBER,
    BLANK,
    BODY,
    COLON,
    DONE,
    ESCAPE_BEGUN,
    FIRST_ITEM,
    FIRST_KEY,
    KEY,
    MAX_DIGITS,
    NUMBER,
    VALUE,
    WORDS,
    State,
    Word,
)

_RUN = 64
"""Pieces of an open string joined at a time, as small strings cost more than what they hold."""

Path = tuple[str | int, ...]
"""Where a value stands: the key or the index in each object or list around it, from the outside; () is the document."""


class JsonGrowth(Record, frozen=True):
    """What came under one path since last asked.

    `added` is the next piece of a string; else a number, true, false or null, which come whole, or an empty object or list, which
    fills by the growths that follow. `starts` says that the value begins here: what was under the path before is gone.
    """

    path: Path
    added: Any
    starts: bool


class Machine:
    """What has been read, and how the next character is. Each step takes the text and the place in it, and gives the next place."""

    __slots__ = (
        "_boxes",
        "_expects",
        "_fold_at",
        "_half",
        "_held",
        "_in_key",
        "_log",
        "_max_depth",
        "_number",
        "_offset",
        "_open",
        "_path",
        "_plain",
        "_root",
        "_starts",
        "_text",
        "_token",
        "_untold",
        "_word",
        "problem",
    )

    def __init__(self, max_depth: int) -> None:
        self.problem: JsonProblem | None = None
        """Why what came can be no JSON, whatever follows; after `close` also that it was cut. None while all is well."""
        self._max_depth = max_depth
        self._offset = 0  # bytes read, without `_held`
        self._held = ""  # an escape that the last piece cut
        self._expects = VALUE
        self._token: Callable[[Machine, str, int], int] | None = None

        self._root: Any = None
        self._boxes: list[Any] = []  # the lists and objects that are open, from the outside
        self._path: list[str | int] = []  # the key or index in each of them

        self._open: list[str] | None = None  # the pieces of the value now being read, if it is a string
        self._plain: list[str] | None = None  # the same where a piece without quote and backslash is all text
        self._text: list[str] = []  # the pieces of the string, key or number now being read
        self._fold_at = _RUN  # how many there may be before the newest are joined
        self._in_key = False
        self._half = ""  # a high surrogate that waits for the low one
        self._number = NUMBER["start"]
        self._word = Word("", None)

        self._log: list[JsonGrowth] | None = None  # None until somebody has asked
        self._untold: list[str] = []  # pieces of the open string that are not in the log yet
        self._starts = False  # whether its beginning is not, either

    # ---- The loop, and what comes between tokens.

    def _read(self, text: str) -> None:
        text = self._held + text
        self._held = ""
        at = 0
        while at < len(text) and self.problem is None:
            at = self._token(self, text, at) if self._token is not None else self._between(text, at)
        self._offset += _size(text) - len(self._held)

    def _between(self, text: str, at: int) -> int:
        step = self._expects.steps.get(text[at])
        if step is not None:
            after: int = getattr(self, step)(text, at)
            return after
        blank = BLANK.match(text, at)
        return blank.end() if blank is not None else self._fail(text, at, self._expects.words)

    def _fail(self, text: str, at: int, expected: str) -> int:
        found = repr(text[at]) if text[at].isprintable() else f"U+{ord(text[at]):04X}"
        return self._refuse(text, at, f"{found} where {expected} belongs")

    def _refuse(self, text: str, at: int, message: str, back: int = 0) -> int:
        """What was read is no JSON, or from `back` bytes before here."""
        self.problem = JsonProblem(message, self._offset + _size(text[:at]) - back, False)
        self._plain = None
        return at

    def to_value(self, text: str, at: int) -> int:
        self._expects = VALUE
        return at + 1

    def to_key(self, text: str, at: int) -> int:
        self._expects = KEY
        return at + 1

    # ---- Lists and objects.

    def _begin(self) -> None:
        """A value begins: in a list its place is known only now."""
        if self._boxes and isinstance(self._boxes[-1], list):
            self._path[-1] = len(self._boxes[-1])

    def _place(self, value: Any) -> None:
        """A value stands: where it belongs, and what may follow it."""
        if self._boxes:
            put(self._boxes[-1], self._path[-1], value)
        else:
            self._root = value
        self._after()

    def _after(self) -> None:
        self._expects = DONE if not self._boxes else AFTER_ITEM if isinstance(self._boxes[-1], list) else AFTER_MEMBER

    def open_object(self, text: str, at: int) -> int:
        return self._open_box({}, FIRST_KEY, text, at)

    def open_list(self, text: str, at: int) -> int:
        return self._open_box([], FIRST_ITEM, text, at)

    def _open_box(self, box: Any, then: State, text: str, at: int) -> int:
        if len(self._boxes) >= self._max_depth:
            return self._refuse(text, at, f"nested deeper than {self._max_depth} levels")
        self._begin()
        self._place(box)
        if self._log is not None:
            self._log.append(JsonGrowth(tuple(self._path), type(box)(), True))
        self._boxes.append(box)
        self._path.append("")
        self._expects = then
        return at + 1

    def close_box(self, text: str, at: int) -> int:
        self._boxes.pop()
        self._path.pop()
        self._after()
        return at + 1

    # ---- Strings and keys.

    def open_key(self, text: str, at: int) -> int:
        self._in_key = True
        self._text, self._fold_at = [], _RUN
        self._token = Machine._in_string
        return at + 1

    def open_string(self, text: str, at: int) -> int:
        self._begin()
        self._in_key = False
        self._text = self._open = self._plain = []
        self._fold_at = _RUN
        self._starts = self._log is not None
        self._token = Machine._in_string
        return at + 1

    def _in_string(self, text: str, at: int) -> int:
        body = BODY.match(text, at)
        if body is not None and body.end() > at:
            self._add(body[0])
            at = body.end()
        if at == len(text):
            return at
        if text[at] == '"':
            self._end_string()
            return at + 1
        if text[at] != "\\":
            return self._fail(text, at, "no bare control character")
        begun = ESCAPE_BEGUN.match(text, at)
        assert begun is not None  # a backslash matches
        if begun.end() < len(text):
            return self._fail(text, begun.end(), "the rest of an escape")
        self._held = begun[0]
        self._plain = None
        return len(text)

    def _add(self, body: str) -> None:
        """A piece of a string, its escapes whole."""
        text = self._half + (json.loads(f'"{body}"') if "\\" in body else body)
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        if is_torn(text):
            text = mend(text)
        if text:
            self._text.append(text)
        if not self._in_key:
            self._plain = self._text if not self._half else None
            if text and self._log is not None:
                self._untold.append(text)
        if len(self._text) >= self._fold_at:
            self._fold()

    def _fold(self) -> None:
        """Join the newest pieces into one: each is joined once, and few objects hold the text."""
        start = self._fold_at - _RUN
        self._text[start:] = ["".join(self._text[start:])]
        self._fold_at = start + 1 + _RUN

    def _end_string(self) -> None:
        if self._half:
            self._half = ""
            self._text.append("\ufffd")
            if not self._in_key and self._log is not None:
                self._untold.append("\ufffd")
        text = "".join(self._text)
        self._token = None
        if self._in_key:
            self._in_key = False
            self._path[-1] = text
            self._expects = COLON
            return
        if self._untold or self._starts:
            self._tell_text()
        self._open = self._plain = None
        self._place(text)

    def _tell_text(self) -> None:
        if self._log is not None:
            self._log.append(JsonGrowth(tuple(self._path), "".join(self._untold), self._starts))
        self._untold, self._starts = [], False

    # ---- Numbers and words.

    def _scalar(self, value: Any) -> None:
        self._token = None
        if self._log is not None:
            self._log.append(JsonGrowth(tuple(self._path), value, True))
        self._place(value)

    def open_number(self, text: str, at: int) -> int:
        self._begin()
        self._number = NUMBER["start"]
        self._text = []
        self._token = Machine._in_number
        return at

    def _in_number(self, text: str, at: int) -> int:
        start = at
        number = self._number
        while at < len(text) and (name := number.then.get(text[at])) is not None:
            number = NUMBER[name]
            at += 1
        self._number = number
        self._text.append(text[start:at])
        if at == len(text):
            return at
        return self._end_number(text, at) if number.whole else self._fail(text, at, "a digit")

    def _end_number(self, text: str, at: int) -> int:
        digits = "".join(self._text)
        value = number_of(digits) if self._number.integer else float(digits)
        if value is None:
            return self._refuse(text, at, f"an integer has more than {most_digits()} digits", len(digits))
        if isinstance(value, float) and math.isinf(value):
            return self._refuse(text, at, "a number is out of range", len(digits))
        self._scalar(value)
        return at

    def open_word(self, text: str, at: int) -> int:
        self._begin()
        self._word = WORDS[text[at]]
        self._token = Machine._in_word
        return at

    def _in_word(self, text: str, at: int) -> int:
        word = self._word
        for expected in word.rest:
            if at == len(text):
                break
            if text[at] != expected:
                return self._fail(text, at, repr(expected))
            at += 1
            word = Word(word.rest[1:], word.value)
        self._word = word
        if not word.rest:
            self._scalar(word.value)
        return at


def most_digits() -> int:
    """Digits of an integer that are read: MAX_DIGITS, or what this process allows if that is fewer."""
    return min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)


def number_of(digits: str) -> int | None:
    """An integer; None if it is longer than is read."""
    return int(digits) if len(digits.removeprefix("-")) <= most_digits() else None


def put(box: Any, key: str | int, value: Any) -> None:
    if isinstance(box, list):
        box.append(value)
    else:
        box[key] = value


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
