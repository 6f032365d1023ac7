"""AWS event stream: binary frames of headers and a payload, with checksums.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html describes the format, and
https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html its exceptions.

botocore (extra `aws`) reads each frame. It is given one whole frame at a time, as its own buffer is quadratic in what
it holds; so a frame that fails its checksum loses only itself. A frame whose length cannot be trusted loses the rest.
"""

import struct
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from ..events import StreamError, Unreadable
from ..limits import Limits
from .frames import Emit, Framer, FramerState, OnFrame

_PRELUDE = 12
"""Bytes of length, length of headers and checksum, with which a frame starts."""
_LEAST = 16
"""Bytes of a frame without headers and payload."""
_HEAD = 256
"""Bytes of an unreadable frame that are kept to look at."""
_FAULTS = (struct.error, LookupError, ValueError)
"""What botocore raises, beside its own errors, for headers that are none."""


class _Wrapped(msgspec.Struct):
    """What InvokeModelWithResponseStream puts around another protocol's payload."""

    bytes: bytes


class AWSEventStreamState(FramerState):
    """See FramerState."""

    frame: bytearray
    need: int
    start: int


class AWSEventStreamFramer(Framer):
    """See the module. A frame's event name is its `:event-type`; exceptions are told as StreamError."""

    __slots__ = ("_aws", "_frame", "_need", "_reader", "_start")
    state_type = AWSEventStreamState

    def __init__(self, on_frame: OnFrame, emit: Emit, limits: Limits = Limits()) -> None:
        super().__init__(on_frame, emit, limits)
        self._frame = bytearray()  # the frame that has not ended
        self._need = _PRELUDE  # bytes of it that the next step takes
        self._start = 0  # its offset
        self._reader: Any = None  # a botocore buffer that has seen its prelude
        self._aws: Any = None
        try:
            self._aws = import_module("botocore.eventstream")
        except ImportError:
            self._dead = True
            self._emit(Unreadable(0, "an AWS event stream, which needs botocore: install the extra `aws` of streamaccumulator"))

    def feed(self, data: bytes) -> None:
        """Hand out the frames that these bytes complete."""
        at = 0
        while not self._dead:
            missing = self._need - len(self._frame)
            self._frame += data[at : at + missing]
            at += missing
            if at > len(data):
                return
            if self._reader is None:
                self._begin()
            else:
                self._end()

    def close(self) -> None:
        """Hand out a frame that was cut as it is, for the decoder to tell."""
        if self._frame and not self._dead:
            self.on_frame(bytes(self._frame), "", self._start)
        self._frame.clear()

    def reconnected(self) -> None:
        """Forget a frame that did not end."""
        self._start += len(self._frame)
        self._frame.clear()
        self._need, self._reader = _PRELUDE, None

    def restore(self, saved: FramerState) -> None:
        """As of any framer; botocore's buffer is given its prelude again."""
        super().restore(saved)
        if self._need > _PRELUDE and not self._dead:
            self._reader = self._aws.EventStreamBuffer()
            self._give(bytes(self._frame[:_PRELUDE]))

    def _begin(self) -> None:
        """The prelude is there: it tells how long the frame is."""
        self._reader = self._aws.EventStreamBuffer()
        try:
            self._give(bytes(self._frame))
        except (self._aws.ParserError, *_FAULTS) as fault:
            self._lost(str(fault))
            return
        self._need = int.from_bytes(self._frame[:4], "big")
        if self._need < _LEAST:
            self._lost(f"a frame of {self._need} bytes")
        elif self._need > self._limit:
            self._too_big()

    def _lost(self, why: str) -> None:
        self._dead = True
        self._emit(Unreadable(self._start, f"{why}; where the next frame begins cannot be known", bytes(self._frame)))

    def _end(self) -> None:
        frame, start = bytes(self._frame), self._start
        try:
            message = self._give(frame[_PRELUDE:])
        except (self._aws.ParserError, *_FAULTS) as fault:
            self._emit(Unreadable(start, f"{type(fault).__name__}: {fault}", frame[:_HEAD]))
        else:
            self._message(message.headers, message.payload, start)
        self._frame.clear()
        self._start += len(frame)
        self._need, self._reader = _PRELUDE, None

    def _give(self, data: bytes) -> Any:
        self._reader.add_data(data)
        return next(self._reader, None)

    def _message(self, headers: Mapping[str, Any], payload: bytes, start: int) -> None:
        kind = headers.get(":message-type", "event")
        name = str(headers.get(":event-type", ""))
        if kind != "event":
            self._emit(_error(headers, payload))
        elif payload:
            self.on_frame(unwrapped(payload) if name == "chunk" else payload, "" if name == "chunk" else name, start)


def unwrapped(payload: bytes) -> bytes:
    """The payload inside `{"bytes": base64}`, as InvokeModel sends it; any other as it is."""
    try:
        return msgspec.json.decode(payload, type=_Wrapped).bytes
    except (msgspec.MsgspecError, RecursionError):
        return payload


def _error(headers: Mapping[str, Any], payload: bytes) -> StreamError:
    """An exception of the service, or an error of the stream, which has a code and a message in its headers."""
    kind = str(headers.get(":exception-type") or headers.get(":error-code") or "error")
    try:
        raw = msgspec.json.decode(payload, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raw = {"payload": payload.decode("utf-8", "replace")} if payload else {}
    message = raw.get("message") or raw.get("Message") or headers.get(":error-message") or "no message"
    return StreamError(kind, str(message), raw)
