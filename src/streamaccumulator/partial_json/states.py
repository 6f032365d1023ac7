"""What may come where in a JSON document: the tables by which `machine` reads.

https://www.rfc-editor.org/rfc/rfc8259
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

BLANK = re.compile(r"[ \t\n\r]+")
BODY = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
"""What of a string is whole, escapes and all."""
ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
MAX_DIGITS = 4300
"""Digits of an integer that Python converts by default; a longer one is no number anybody meant."""


class State(NamedTuple):
    """Between two tokens: by the next character, the step of the machine that it makes. White space may always come."""

    steps: Mapping[str, str]
    words: str
    """What may come, for a reader."""


_STARTS = {
    "{": "open_object",
    "[": "open_list",
    '"': "open_string",
    **dict.fromkeys("tfn", "open_word"),
    **dict.fromkeys("-0123456789", "open_number"),
}
VALUE = State(_STARTS, "a value")
FIRST_ITEM = State({**_STARTS, "]": "close_box"}, "a value or ']'")
AFTER_ITEM = State({",": "to_value", "]": "close_box"}, "',' or ']'")
FIRST_KEY = State({'"': "open_key", "}": "close_box"}, "a key or '}'")
KEY = State({'"': "open_key"}, "a key")
COLON = State({":": "to_value"}, "':'")
AFTER_MEMBER = State({",": "to_key", "}": "close_box"}, "',' or '}'")
DONE = State({}, "the end")


class Number(NamedTuple):
    """Within a number: the next state by the next character."""

    then: Mapping[str, str]
    whole: bool = False
    """Whether it may end here."""
    integer: bool = True


def _digits(state: str) -> dict[str, str]:
    return dict.fromkeys("0123456789", state)


_FRACTION = {".": "point"}
_EXPONENT = dict.fromkeys("eE", "exponent")
NUMBER = {
    "start": Number({"-": "minus", **_digits("digits"), "0": "zero"}),
    "minus": Number({**_digits("digits"), "0": "zero"}),
    "zero": Number({**_FRACTION, **_EXPONENT}, whole=True),
    "digits": Number({**_digits("digits"), **_FRACTION, **_EXPONENT}, whole=True),
    "point": Number(_digits("decimals"), integer=False),
    "decimals": Number({**_digits("decimals"), **_EXPONENT}, whole=True, integer=False),
    "exponent": Number({**dict.fromkeys("+-", "sign"), **_digits("power")}, integer=False),
    "sign": Number(_digits("power"), integer=False),
    "power": Number(_digits("power"), whole=True, integer=False),
}


class Word(NamedTuple):
    """What is still to come of a word, and what it means."""

    rest: str
    value: bool | None


WORDS = {"t": Word("true", True), "f": Word("false", False), "n": Word("null", None)}
