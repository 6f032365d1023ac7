"""The base of every value this library hands out: a frozen struct whose repr stays short.

Bound: a repr is at most `WIDTH` characters a field whatever the value holds, so a one-megabyte tool call
never fills a terminal or a log line. Used by `events`, `messages`, `response` and `limits`.
"""

import reprlib

import msgspec

WIDTH = 200
"""Characters of one field's repr."""

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 120
_short.maxdict = _short.maxlist = _short.maxtuple = 6
_short.maxlevel = 4


class Record(msgspec.Struct, frozen=True):
    """A frozen `msgspec.Struct`; fields left at their default are not shown by `repr`."""

    def __repr__(self) -> str:
        shown = []
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            if value != default:
                shown.append(f"{field.name}={short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def short(value: object) -> str:
    """The repr of any value, cut in the middle where it is longer than `WIDTH` characters."""
    text = _short.repr(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH // 2]}...{text[-WIDTH // 2 :]}"
