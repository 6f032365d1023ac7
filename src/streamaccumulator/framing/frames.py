"""What every framer is: bytes in, frames out, told to two callables, without I/O.

A frame is what holds one payload, whatever the wire. How the bytes are cut never changes the frames, and the work is
linear in the bytes. Only the classes of this folder derive from `Framer`.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from ..events import ChatStreamEvent, LimitHit
from ..limits import Limits
from .columns import Found
from .moulds import Mould, Values

OnFrame = Callable[[bytes, str, int], None]
"""Takes one frame: its payload, the name of its event (empty if the wire gives none), the offset of its first byte."""

OnOne = Callable[[Mould, Values, bytes, int], bool]
"""Takes what stood in the blanks of a frame that is alike, the frame, and where in it its payload begins.

Returns False, with nothing done, to be given it as a frame.
"""

OnMany = Callable[[Mould, Found, bytes, int], bool]
"""The same for several frames at once, of which it gets the newest."""

Emit = Callable[[ChatStreamEvent], None]


def _is_refused(*_: object) -> bool:
    return False


BLANK = b"\xef\xbb\xbf \t\r\n"
"""Bytes that are nothing between JSON documents: white space, and a byte order mark."""


class FramerState(msgspec.Struct):
    """What a framer remembers between two pieces; each field is its attribute of that name behind a `_`."""

    dead: bool


class Framer:
    """Cuts a byte stream into frames for `on_frame`; what it notices goes to `emit`, in the order in which it comes.

    After a frame passed the limit (`LimitHit`) it gives nothing more. `on_frame` may be replaced at any time, and `on_one` and
    `on_many`, which get frames of the mould that `expect` was given; no framer has to look for them.
    """

    __slots__ = ("_dead", "_emit", "_limit", "on_frame", "on_many", "on_one")
    state_type: ClassVar[type[FramerState]]
    expects: ClassVar[bool] = False
    """Whether it looks for frames of a mould."""

    def __init__(self, on_frame: OnFrame, emit: Emit, limits: Limits = Limits()) -> None:
        self.on_frame = on_frame
        self.on_one: OnOne = _is_refused
        self.on_many: OnMany = _is_refused
        self._emit = emit
        self._limit = limits.frame_bytes
        self._dead = False

    def feed(self, data: bytes) -> None:
        """Hand out the frames that these bytes complete."""
        raise NotImplementedError  # each wire's own

    def close(self) -> None:
        """No more comes: hand out what is left."""
        raise NotImplementedError  # each wire's own

    def expect(self, mould: Mould | None) -> None:
        """What the next frames may be alike to; None: nothing any more. For framers that say `expects`."""

    def reconnected(self) -> None:
        """What comes next is a new connection's: a frame that had not ended is forgotten, and the next byte begins one."""
        raise NotImplementedError  # each wire's own

    def saved(self) -> FramerState:
        """What it remembers, to be written at once: it is not a copy."""
        kept: dict[str, Any] = {name: getattr(self, f"_{name}") for name in self.state_type.__struct_fields__}
        return self.state_type(**kept)

    def restore(self, saved: FramerState) -> None:
        """Go on from what was saved of another of its kind."""
        for name in self.state_type.__struct_fields__:
            setattr(self, f"_{name}", getattr(saved, name))

    def _too_big(self) -> None:
        """A frame passed the limit. The bytes met are told as limit + 1, so that it does not depend on how they were cut."""
        self._dead = True
        self._emit(LimitHit("frame_bytes", self._limit + 1))
