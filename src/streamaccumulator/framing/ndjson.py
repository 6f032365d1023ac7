"""Newline-delimited JSON: each line is a frame; blank lines are none.

https://github.com/ndjson/ndjson-spec

A line that is no JSON is handed out too: the decoder tells it, and the next line is read as if nothing had been. CR is
a line end as well, as JSON has no raw CR inside a value. One JSON document without a line end is one frame, also if it is
spread over lines.
"""

from typing import cast

from ..limits import Limits
from .frames import BLANK, Emit, Framer, FramerState, OnFrame
from .json_array import JSONArrayFramer, JSONArrayState


class NDJSONState(FramerState):
    """See FramerState."""

    documents: JSONArrayState | None
    line: bytearray
    start: int


class NDJSONFramer(Framer):
    """See the module. Work is one search for line ends over each byte; memory is the line that has not ended."""

    __slots__ = ("_documents", "_limits", "_line", "_start")
    state_type = NDJSONState

    def __init__(self, on_frame: OnFrame, emit: Emit, limits: Limits = Limits()) -> None:
        super().__init__(on_frame, emit, limits)
        self._limits = limits
        self._documents: JSONArrayFramer | None = None  # reads all, where the first line was no document by itself
        self._line = bytearray()  # the line that has not ended
        self._start = 0  # its offset

    def feed(self, data: bytes) -> None:
        """Hand out the lines that these bytes complete."""
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")
        if self._documents is not None:
            self._documents.feed(data)
            return
        if not self._start and not self._dead:
            data = self._first_line(data)
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._line:
                line = bytes(self._line) + line
                self._line.clear()
            self._end_line(line)
        if not self._dead:
            self._line += rest
            if len(self._line) > self._limit:
                self._line.clear()
                self._too_big()

    def _first_line(self, data: bytes) -> bytes:
        """A first line that ends in no bracket begins a document spread over lines: all is read as documents."""
        end = data.find(b"\n")
        first = bytes(self._line) + data[: max(end, 0)] if end >= 0 else b""
        if not first.strip(BLANK) or first.rstrip().endswith((b"}", b"]")) or len(first) > self._limit:
            return data
        self._documents = self._of_documents()
        self._documents.feed(bytes(self._line) + data)
        self._line.clear()
        return b""

    def _of_documents(self) -> JSONArrayFramer:
        return JSONArrayFramer(lambda *frame: self.on_frame(*frame), self._emit, self._limits)

    def reconnected(self) -> None:
        """Forget a line that did not end."""
        if self._documents is not None:
            self._documents.reconnected()
        self._start += len(self._line)
        self._line.clear()

    def saved(self) -> NDJSONState:
        documents = self._documents.saved() if self._documents is not None else None
        return NDJSONState(self._dead, cast("JSONArrayState | None", documents), self._line, self._start)

    def restore(self, saved: FramerState) -> None:
        super().restore(saved)
        if isinstance(saved, NDJSONState) and saved.documents is not None:
            self._documents = self._of_documents()
            self._documents.restore(saved.documents)

    def close(self) -> None:
        """Hand out the last line, if it did not end: a document alone, or a line that was cut."""
        if self._documents is not None:
            self._documents.close()
        self._end_line(bytes(self._line))
        self._line.clear()

    def _end_line(self, line: bytes) -> None:
        if self._dead:
            return
        if len(line) > self._limit:
            self._too_big()
            return
        start = self._start
        self._start += len(line) + 1
        if document := line.strip(BLANK):
            self.on_frame(document, "", start)
