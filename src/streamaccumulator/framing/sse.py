"""Server-sent events: bytes in, frames out, by the WHATWG event-stream format.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

The bytes may be cut anywhere, also inside a character or between CR and LF; the frames are the same. Lines end at LF,
CR or CRLF and nowhere else. Work is linear in the bytes: nothing to the left of what was read is looked at again.

Several paths give the same frames. `_read_lines` is the format, line by line. `_read_run` takes the frames of a read at
once, in C calls, as long as they have a common shape: an object in `data: ...` alone, or after `event: ...`, ended by LF LF.
`feed` takes a read that is one such frame.
"""

import re

from ..events import Notice
from ..limits import Limits
from .event_ids import EventIds
from .frames import Emit, Framer, FramerState, OnFrame

_BOM = b"\xef\xbb\xbf"
RUN = 32768
"""Bytes of whole frames that are taken at once: more would gain nothing."""
_LEAD = re.compile(rb"(?:event: ([^\r\n]*)\n)?data: ")
_HEAD = re.compile(rb"(?:event: ([^\n]*)\n)?data: \{")
_BETWEEN = re.compile(rb"\}\n\n(?:event: ([^\n]*)\n)?data: \{")


class SSEState(FramerState):
    """See FramerState."""

    offset: int
    head: bytes | None
    line: bytearray
    after_cr: bool
    start: int
    data: list[bytes]
    data_bytes: int
    event: str
    id: str | None
    busy: bool
    ids: EventIds
    retry: int | None


class SSEFramer(Framer):
    """See the module."""

    __slots__ = (
        "_after_cr",
        "_busy",
        "_data",
        "_data_bytes",
        "_event",
        "_fresh",
        "_head",
        "_id",
        "_ids",
        "_lead",
        "_line",
        "_name",
        "_offset",
        "_retry",
        "_size",
        "_start",
    )
    state_type = SSEState

    def __init__(self, on_frame: OnFrame, emit: Emit, limits: Limits = Limits()) -> None:
        super().__init__(on_frame, emit, limits)
        self._offset = 0  # of the next byte to be fed
        self._head: bytes | None = b""  # the first bytes, while they may still be a byte order mark
        self._line = bytearray()  # the line that has not ended
        self._after_cr = False  # the last byte was CR: an LF that follows belongs to it
        self._start = 0  # offset of the frame that has not ended
        self._data: list[bytes] = []  # its data lines
        self._data_bytes = 0
        self._event = ""
        self._busy = False  # whether that frame has a line yet
        self._id: str | None = None  # the id that frame gives itself
        self._ids = EventIds()
        self._retry: int | None = None
        self._lead, self._size, self._name = b"data: ", 6, ""  # how the newest frame that was a read began, and its event
        self._fresh = False  # whether the next byte begins a frame, and nothing is in the way of taking that as it comes

    @property
    def last_event_id(self) -> str:
        """The id of the newest event that came whole, for the `Last-Event-ID` of whoever reconnects; empty without one."""
        return self._ids.last

    @property
    def retry(self) -> int | None:
        """Milliseconds that the stream asks to wait before reconnecting."""
        return self._retry

    def reconnected(self) -> None:
        """Forget a frame that did not end; of the next ones those that were there before the connection was lost are left out."""
        self._head, self._after_cr, self._start = b"", False, self._offset
        self._line.clear()
        self._data, self._data_bytes, self._event, self._id, self._busy = [], 0, "", None, False
        self._ids.resuming = True
        self._fresh = False

    def feed(self, data: bytes) -> None:
        """Hand out the frames that these bytes complete."""
        if self._fresh and data[-2:] == b"\n\n" and len(data) <= self._limit:
            if data[: self._size] == self._lead or self._leads(data):
                payload = data[self._size : -2]
                if 10 not in payload and 13 not in payload:  # one frame, whole
                    offset = self._offset
                    self._offset = self._start = offset + len(data)
                    self.on_frame(payload, self._name, offset)
                    return
        self._feed(data)

    def _leads(self, data: bytes) -> bool:
        """Whether a frame begins as frames do; if so, the next one may begin with the same."""
        lead = _LEAD.match(data)
        if lead is None:
            return False
        self._lead, self._size, self._name = lead[0], lead.end(), (lead[1] or b"").decode("utf-8", "replace")
        return True

    def _feed(self, data: bytes) -> None:
        if self._head is not None:
            data = self._without_bom(data)
        if self._line and not self._busy and 10 in data:  # a frame begun: it is read with the others
            data = bytes(self._line) + data
            self._offset -= len(self._line)
            self._line.clear()
        at, length = 0, len(data)
        if self._busy or self._line or self._after_cr:
            at = self._read_lines(data, 0, stop_at_frame=True)
        if 13 in data:
            at = self._read_lines(data, at)
        while at < length and not self._dead:
            taken = self._read_run(data, at)
            at = at + taken if taken else self._read_lines(data, at, stop_at_frame=True)
        if not self._dead:
            self._offset += length
        self._fresh = not (self._busy or self._line or self._after_cr or self._dead or self._head is not None)

    def close(self) -> None:
        """Hand out the frame left without its blank line, if there is one: it is kept, and told."""
        if self._head:
            self._line += self._head
        self._head = None
        if self._line:
            self._end_line(bytes(self._line))
            self._line.clear()
        if self._data:
            self._emit(
                Notice("unended_frame", "the stream ended without the blank line that ends its last frame", f"byte {self._start}")
            )
            self._end_frame()

    def _without_bom(self, data: bytes) -> bytes:
        data = (self._head or b"") + data
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._head = data
            return b""
        self._head = None
        if data.startswith(_BOM):
            data = data[len(_BOM) :]
            self._offset += len(_BOM)
            self._start = self._offset
        return data

    def _read_run(self, data: bytes, at: int) -> int:
        """Hand out the frames from offset `at` on that hold one object each, in lines of the common shapes; returns their bytes.

        What lies between two objects is split off: where no line end is left then, there was nothing else to read.
        """
        end = data.rfind(b"}\n\n", at, at + RUN)
        head = _HEAD.match(data, at)
        if head is None or not head.end() <= end <= at + self._limit - 3:
            return 0
        begun = data[head.end() : end]
        objects = begun.split(b"}\n\n" + head[0])
        names = [head[1]] * len(objects)
        size = end + 3 - at
        if 10 in b"".join(objects):  # frames of several names, or of another shape
            cut = _BETWEEN.split(begun)
            objects, names = cut[0::2], [head[1], *cut[1::2]]
            whole = next((place for place, found in enumerate(objects) if 10 in found), len(objects))
            if not whole:
                return 0
            objects, names = objects[:whole], names[:whole]
            size = sum(map(_size, objects, names))
        offset = self._offset + at
        self._start = offset + size
        self._hand_out(objects, names, offset)
        return size

    def _hand_out(self, objects: list[bytes], names: list[bytes | None], offset: int) -> None:
        """All at once; where that is refused in halves, down to the frame that is refused alone."""
        known = {name: (name or b"").decode("utf-8", "replace") for name in set(names)}
        events = list(map(known.__getitem__, names))
        has_errors = "error" in known.values()
        told = 0  # the frame at `offset`
        todo = [(0, len(objects))]
        while todo:
            start, stop = todo.pop()
            if self.on_run is None or stop - start == 1 or has_errors:
                offset += sum(map(_size, objects[told:start], names[told:start]))
                told = start
                self.on_frame(b"{" + objects[start] + b"}", events[start], offset)
                if stop - start > 1:
                    todo.append((start + 1, stop))
            elif not self.on_run(b"{" + b"}\n{".join(objects[start:stop]) + b"}", events[start:stop]):
                middle = (start + stop) // 2
                todo += [(middle, stop), (start, middle)]

    def _read_lines(self, data: bytes, at: int, *, stop_at_frame: bool = False) -> int:
        """The format itself, from offset `at` on; returns how far it read: to the end, or with `stop_at_frame` past one frame."""
        length = len(data)
        lf = cr = -1
        while at < length and not self._dead:
            if self._after_cr:
                self._after_cr = False
                if data[at] == 10:
                    at += 1
                    if not self._line and not self._busy:
                        self._start = self._offset + at
                    continue
            if lf < at:
                lf = data.find(b"\n", at)
                lf = length if lf < 0 else lf
            if cr < at:
                cr = data.find(b"\r", at)
                cr = length if cr < 0 else cr
            stop = min(lf, cr)
            if stop == length:
                self._line += data[at:]
                self._fits(self._line)
                return length
            line = data[at:stop]
            if self._line:
                line = bytes(self._line) + line
                self._line.clear()
            self._after_cr = stop == cr
            at = stop + 1
            if line:
                self._end_line(line)
            else:
                self._end_frame()
                self._start = self._offset + at
                if stop_at_frame:
                    break
        return at

    def _end_line(self, line: bytes) -> None:
        if not self._fits(line):
            return
        self._busy = True
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(line)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry":
            if value.isdigit() and len(value) < 19:
                self._retry = int(value)
        elif line[:1] == b"{":
            self._alone("bare_json", "a line of JSON without `data:` was taken as a frame", line, "")
        elif name == b"error":
            self._alone("error_field", "a line of the field `error` was taken as an error", value, "error")

    def _alone(self, code: str, message: str, data: bytes, event: str) -> None:
        """A line that is a frame of its own, whatever stands before it."""
        self._emit(Notice(code, message, f"byte {self._start}"))
        self._end_frame()
        self.on_frame(data, event, self._start)

    def _end_frame(self) -> None:
        """A blank line: hand out the frame, if it has data. An event or id alone, or a comment, is none."""
        data, event, id, start = self._data, self._event, self._id, self._start
        self._data, self._data_bytes, self._event, self._id, self._busy = [], 0, "", None, False
        if not data:
            self._ids.last = self._ids.last if id is None else id
            return
        payload = b"\n".join(data)
        if id is None or self._ids.is_news(id, event, payload, self._emit):
            self.on_frame(payload, event, start)

    def _fits(self, line: bytes | bytearray) -> bool:
        """Whether the frame with this line, ended or not, is within the limit."""
        if self._data_bytes + len(line) <= self._limit:
            return True
        self._line.clear()
        self._data.clear()
        self._too_big()
        return False


def _size(found: bytes, name: bytes | None) -> int:
    """The bytes of a frame that `_read_run` found, of what stands between the braces."""
    return len(found) + (10 if name is None else len(name) + 18)
