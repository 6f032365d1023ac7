"""JSON documents in one text: the items of an array that is sent piecewise, or documents one after another.

Gemini without `alt=sse` streams one pretty-printed array: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
An unstreamed body spread over lines is the same thing with one document.

Brackets are counted outside strings, so that a document is handed out at its last bracket. A raw line end inside a
string, which JSON forbids, ends a broken document: the next one is read as if nothing had been. Whatever stands between
documents and is more than commas and white space is handed out as well, for the decoder to tell.
"""

import re

from ..limits import Limits
from .frames import BLANK, Emit, Framer, FramerState, OnFrame

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'(?:[^"\\\r\n]++|\\[^\r\n])*+')
_BETWEEN = BLANK + b","


class JSONArrayState(FramerState):
    """See FramerState."""

    held: bytearray
    start: int
    depth: int
    in_string: bool
    after_backslash: bool


class JSONArrayFramer(Framer):
    """See the module. Each byte is searched once; memory is the document that has not ended."""

    __slots__ = ("_after_backslash", "_depth", "_held", "_in_string", "_start")
    state_type = JSONArrayState

    def __init__(self, on_frame: OnFrame, emit: Emit, limits: Limits = Limits()) -> None:
        super().__init__(on_frame, emit, limits)
        self._held = bytearray()  # the document that has not ended, as far as it came in earlier pieces
        self._start = 0  # offset of its first byte
        self._depth = 0  # brackets open in it; the array around the documents does not count
        self._in_string = False
        self._after_backslash = False  # the piece before ended inside an escape

    def feed(self, data: bytes) -> None:
        """Hand out the documents that these bytes complete."""
        if self._dead:
            return
        begun = at = 0  # where in `data` the open document begins, and how far it was searched
        while at < len(data) and not self._dead:
            if self._in_string:
                at = self._string(data, at)
                if at < len(data):
                    self._in_string = False
                    if data[at] == 34:
                        at += 1
                    else:
                        begun = self._hand_out(data, begun, at)
                        self._depth = 0
                continue
            found = _OUTSIDE.search(data, at)
            if found is None:
                break
            at = found.end()
            mark = found.group()
            if mark == b'"':
                self._in_string = True
            elif mark == b"{" or (mark == b"[" and self._depth):
                if not self._depth:
                    begun = self._hand_out(data, begun, at - 1)
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    begun = self._hand_out(data, begun, at)
            else:  # a bracket of the array around the documents
                begun = self._hand_out(data, begun, at - 1) + 1
                self._start += 1
        if not self._dead:
            self._hold(data[begun:])

    def close(self) -> None:
        """Hand out a document that did not end."""
        self._hand_out(b"", 0, 0)

    def reconnected(self) -> None:
        """Forget a document that did not end."""
        self._start += len(self._held)
        self._held.clear()
        self._depth, self._in_string, self._after_backslash = 0, False, False

    def _string(self, data: bytes, at: int) -> int:
        """Past the string's text from `at` on: to its end mark, a line end, or the end of the data."""
        if self._after_backslash:
            self._after_backslash = False
            if data[at] not in b"\r\n":
                at += 1
        found = _INSIDE.match(data, at)
        at = found.end() if found else at
        if at < len(data) and data[at] == 92:  # what it escapes is still to come, or is a line end
            at += 1
            self._after_backslash = at == len(data)
        return at

    def _hand_out(self, data: bytes, begun: int, end: int) -> int:
        """What is held and `data` from `begun` to `end`, as one frame; returns `end`, where the next begins."""
        frame = data[begun:end]
        if self._held:
            frame = bytes(self._held) + frame
            self._held.clear()
        start, self._start = self._start, self._start + len(frame)
        text = frame.strip(_BETWEEN)
        if len(text) > self._limit:
            self._too_big()
        elif text and not self._dead:
            self.on_frame(text, "", start + frame.index(text[:1]))
        return end

    def _hold(self, rest: bytes) -> None:
        if not self._depth and not self._in_string and not self._held and not rest.strip(_BETWEEN):
            self._start += len(rest)
            return
        self._held += rest
        if len(self._held) > self._limit:
            self._held.clear()
            self._too_big()
