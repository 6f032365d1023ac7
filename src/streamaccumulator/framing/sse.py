"""Server-sent events: bytes in, frames out, by the WHATWG event-stream format.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

The bytes may be cut anywhere, also inside a character or between CR and LF; the frames are the same. Lines end at LF,
CR or CRLF and nowhere else. Work is linear in the bytes: nothing to the left of what was read is looked at again.

Several paths give the same frames. `_read_lines` is the format, line by line. `_read_run` takes the frames of a read at
once, in C calls, as long as they have a common shape: a line of `data: ...` alone, or after `event: ...`, ended by LF LF.
`feed` takes a read that is one such frame. Frames of an expected mould are not even cut out: only their values are.
"""

import re

from ..events import Notice
from ..limits import Limits
from .event_ids import EventIds
from .frames import Emit, Framer, FramerState, OnFrame
from .moulds import Mould

_BOM = b"\xef\xbb\xbf"
RUN = 65536
"""Bytes of whole frames that are taken at once: more would gain nothing."""
_LEAD = re.compile(rb"(?:event: ([^\r\n]*)\n)?data: ")
_FEW = 2048
"""The same where frames are of several names; and bytes of a frame that may be read again when more of it comes."""


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
        "_flows",
        "_fresh",
        "_head",
        "_id",
        "_ids",
        "_lead",
        "_led",
        "_line",
        "_mould",
        "_mould_lead",
        "_mould_size",
        "_name",
        "_offset",
        "_reach",
        "_retry",
        "_single",
        "_size",
        "_start",
    )
    state_type = SSEState
    expects = True

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
        self._led = False  # whether the frame that is handed out began with that lead
        self._mould: Mould | None = None
        self._mould_lead, self._mould_size = b"", 0  # how the frames of that begin
        self._reach = _FEW  # most streams begin with frames of several names
        self._single = False  # whether the newest read was one frame, and the next byte begins one
        self._fresh = False  # whether the next byte begins a frame, and nothing is in the way of taking that as it comes
        self._flows = False  # whether the newest read held frames of the mould, and nothing but the begin of one is in the way

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
        self._fresh = self._single = self._flows = False

    def feed(self, data: bytes) -> None:
        """Hand out the frames that these bytes complete."""
        mould = self._mould
        if self._single and mould is not None and len(data) <= self._limit:
            values = mould.one(data)
            if values is not None and self.on_one(mould, values, data, self._mould_size):
                self._offset = self._start = self._offset + len(data)
                return
        elif self._flows and self._flow(data):
            return
        if self._fresh and len(data) <= self._limit:
            if data[-2:] == b"\n\n" and (data[: self._size] == self._lead or self._leads(data)):
                payload = data[self._size : -2]
                if 10 not in payload and 13 not in payload:  # one frame, whole
                    offset = self._offset
                    self._single = self._led = True
                    self._offset = self._start = offset + len(data)
                    self.on_frame(payload, self._name, offset)
                    return
        self._single = False
        self._feed(data)

    def expect(self, mould: Mould | None) -> None:
        self._mould = mould if self._led else None
        self._mould_lead, self._mould_size = self._lead, self._size
        if mould is not None:
            mould.framed(self._lead, b"data: ", b"\n\n")

    def _leads(self, data: bytes, at: int = 0) -> bool:
        """Whether a frame begins as frames do; if so, the next one may begin with the same."""
        if data.startswith(self._lead, at):
            return True
        lead = _LEAD.match(data, at)
        if lead is None:
            return False
        self._lead, self._size, self._name = lead[0], len(lead[0]), (lead[1] or b"").decode("utf-8", "replace")
        return True

    def _feed(self, data: bytes) -> None:
        if self._head is not None:
            data = self._without_bom(data)
        if self._line and not self._busy and (10 in data or 13 in data or 10 in self._line):  # a frame begun: read with the others
            data = bytes(self._line) + data
            self._offset -= len(self._line)
            self._line.clear()
        self._led = self._flows = False
        at, length = 0, len(data)
        if self._busy or self._line or self._after_cr:
            at = self._read_lines(data, 0, stop_at_frame=True)
        if 13 in data:
            at = self._read_lines(data, at)
        while at < length and not self._dead:
            taken = self._read_run(data, at) or self._hold(data, at)
            at = at + taken if taken else self._read_lines(data, at, stop_at_frame=True)
        if not self._dead:
            self._offset += length
        clean = not (self._busy or self._after_cr or self._dead or self._head is not None)
        self._flows = self._flows and clean
        self._fresh = clean and not self._line

    def _flow(self, data: bytes) -> bool:
        """Take a read that goes on where the newest ended, with frames of the mould; False, with nothing done, if it does not."""
        line = self._line
        data = b"".join((b"\n\n", line, data))  # what came before ended so
        size = len(data)
        if size > 2 * RUN or size > self._limit or not (taken := self._take(data, 2, data.rfind(b"\n\n") + 2)):
            return False
        offset = self._start = self._offset - len(line) + taken
        line.clear()
        taken += 2
        if size > taken and not self._hold(data, taken):
            self._offset = offset
            self._feed(data[taken:])
        else:
            self._offset = offset + size - taken
            self._fresh = size == taken
        return True

    def close(self) -> None:
        """Hand out the frame left without its blank line, if there is one: it is kept, and told."""
        if self._head:
            self._line += self._head
        self._head = None
        if self._line:
            held = bytes(self._line)
            self._line.clear()
            self._read_lines(held, 0)
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
        """Hand out the frames from offset `at` on that are a line of data each, under one name or none; returns their bytes."""
        if not self._leads(data, at):
            return 0
        stop = at + min(self._reach, self._limit)
        end = data.rfind(b"\n\n", at, stop) + 2 if data.find(b"\n", at + self._size, stop) >= 0 else 0  # looked for far faster
        if end < at + self._size:
            self._reach = RUN
            return 0
        first = data.find(b"\n\n", at + self._size, end) + 2
        alone = not data.startswith(self._lead, first)
        if alone or (self._reach < RUN and self._mould is None):
            payload = data[at + self._size : first - 2]
            if 10 not in payload:  # the only one of its name, or one of the first, to which the next may be alike
                self._reach = min(4 * self._reach, RUN) if not alone else _FEW if first < len(data) else self._reach
                self._start, self._led = self._offset + first, True
                self.on_frame(payload, self._name, self._offset + at)
                self._led = False
                return first - at
        if taken := self._take(data, at, end):
            self._start = self._offset + at + taken
            self._reach = RUN if taken == end - at else _FEW
            return taken
        lines = data[at : end - 1].split(b"\n")
        step = self._lead.count(b"\n") + 2
        payloads = lines[step - 2 :: step]
        count = len(payloads)
        if len(lines) != count * step or any(lines[step - 1 :: step]) or (step == 3 and lines[::3].count(lines[0]) != count):
            each = (lines[place : place + step] for place in range(0, len(lines), step))
            count = next((place for place, frame in enumerate(each) if frame[:-2] != lines[: step - 2] or frame[-1]), count)
        self._reach = RUN if count == len(payloads) else _FEW
        taken = self._hand_out(payloads[:count], self._offset + at)
        self._start = self._offset + at + taken
        return taken

    def _take(self, data: bytes, at: int, end: int) -> int:
        """Hand out at once the first of several frames, those that are of the mould; returns their bytes."""
        mould = self._mould
        if mould is None or self._lead != self._mould_lead or (taken := mould.run(data, at, end)) is None:
            return 0
        found, size = taken
        newest = data[max(data.rfind(b"\ndata: ", at, at + size) + 1, at) + 6 : at + size]
        self._flows = self.on_many(mould, found, newest, 0)
        return size if self._flows else 0

    def _hold(self, data: bytes, at: int) -> int:
        """Put down the begin of a short frame as it is, to be read with what follows it; returns its bytes."""
        rest, lead = data[at:], self._lead
        if not (len(rest) <= _FEW and len(rest) <= self._limit) or 13 in rest:
            return 0
        if not lead.startswith(rest) and (not (rest.startswith(lead) or self._leads(rest)) or 10 in rest[self._size : -1]):
            return 0
        self._line += rest
        return len(rest)

    def _hand_out(self, lines: list[bytes], offset: int) -> int:
        """The frames whose data are these lines, those that are alike at once; returns their bytes."""
        beside, size, at, most = self._size - 4, 0, 0, len(lines)
        self._led = True
        while at < len(lines):
            mould = self._mould if self._lead == self._mould_lead else None
            if mould is not None:
                some = lines[at : at + most]
                taken = self._alike(mould, some)
                size += sum(map(len, some[:taken])) + beside * taken
                at += taken
                most = 2 * most if taken == len(some) else max(taken, 1)  # where few are alike, few are looked at in vain
                if taken == len(some):
                    continue
            if not lines[at].startswith(b"data: "):
                break
            self.on_frame(lines[at][6:], self._name, offset + size)
            size += len(lines[at]) + beside
            at += 1
        self._led = False
        return size

    def _alike(self, mould: Mould, lines: list[bytes]) -> int:
        """Hand out the first of several frames, those that are of a mould; returns how many."""
        if not mould.like(lines[:1]):
            return 0
        while lines:
            found = mould.many(lines)
            if found is not None and self.on_many(mould, found, lines[-1], 6):
                return len(lines)
            like = mould.like(lines)
            lines = lines[: like if like < len(lines) else like // 2]
        return 0

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
