"""Newline-delimited JSON: each line is a frame; blank lines are none.

https://github.com/ndjson/ndjson-spec

A line that is no JSON is handed out too: the decoder tells it, and the next line is read as if nothing had been. CR is
a line end as well, as JSON has no raw CR inside a value. One JSON document without a line end is one frame.
"""

from ..limits import Limits
from .frames import BLANK, Emit, Framer, OnFrame


class NDJSONFramer(Framer):
    """See the module. Work is one search for line ends over each byte; memory is the line that has not ended."""

    __slots__ = ("_line", "_start")

    def __init__(self, on_frame: OnFrame, emit: Emit, limits: Limits = Limits()) -> None:
        super().__init__(on_frame, emit, limits)
        self._line = bytearray()  # the line that has not ended
        self._start = 0  # its offset

    def feed(self, data: bytes) -> None:
        """Hand out the lines that these bytes complete."""
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")
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

    def close(self) -> None:
        """Hand out the last line, if it did not end: a document alone, or a line that was cut."""
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
