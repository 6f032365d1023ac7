"""One stream being read: what happens between two reads. The loops, and all waiting, are `stream`'s."""

from collections import deque
from typing import Self

import msgspec

from . import _sources
from ._dump import read, write
from ._fold import finalized, reason_of_failure
from ._parts import OnToolCall, ParseArguments
from ._stream_decoder import StreamDecoder
from .accumulator import StreamAccumulator
from .events import ChatStreamEvent, StreamBroken
from .protocols import Protocol
from .response import AccumulatedResponse
from .timings import StreamTimings


class SavedSession(msgspec.Struct):
    """A stream being read as plain values: two dumps, and the events that were not handed out yet."""

    accumulator: bytes
    decoder: bytes
    pending: list[ChatStreamEvent]
    ended: bool


class Session:
    """One stream being read: everything that happens between two reads, for both drivers."""

    def __init__(self, accumulator: StreamAccumulator, decoder: StreamDecoder, timings: StreamTimings | None = None) -> None:
        self.accumulator = accumulator
        self.decoder = decoder
        self.pending: deque[ChatStreamEvent] = deque()
        self.ended = False
        self.begun = False
        self.cause: Exception | None = None
        self._timings = timings

    def dump(self) -> bytes:
        return write("stream", SavedSession(self.accumulator.dump(), self.decoder.dump(), list(self.pending), self.ended))

    @classmethod
    def load(
        cls, data: bytes, protocol: Protocol | None, parse_arguments: ParseArguments | None, on_tool_call: OnToolCall | None
    ) -> Self:
        saved = read("stream", data, SavedSession)
        accumulator = StreamAccumulator.load(saved.accumulator, parse_arguments=parse_arguments, on_tool_call=on_tool_call)
        self = cls(accumulator, StreamDecoder.load(saved.decoder, protocol=protocol))
        self.pending.extend(saved.pending)
        self.ended = saved.ended
        self.begun = True
        return self

    def push(self, item: object) -> None:
        """The source gave something."""
        if self._timings is not None:
            self._timings.chunk()
        self._queue(self.decoder.feed(item))

    def end(self) -> None:
        """The source ended."""
        self._stop()
        self._queue(self.decoder.close())

    def fail(self, failure: Exception) -> None:
        """The source raised."""
        self._stop()
        self.cause = failure
        self._queue(self.decoder.fail(*reason_of_failure(failure), _sources.provider_error_in(failure)))

    def leave(self) -> None:
        """The caller wants no more. Events not yet handed out were not observed, and are not now."""
        if not (self.ended and not self.pending) and not self.accumulator.stopped:
            if not self.pending:
                for event in self.decoder.leave():
                    self.accumulator.observe(event)
            self.accumulator.observe(StreamBroken("cancelled", "the stream was left before its end"))
        self._stop()
        self.pending.clear()

    def _queue(self, events: list[ChatStreamEvent]) -> None:
        if self._timings is not None:
            for event in events:
                self._timings.event(event)
        self.begun = self.begun or any(not isinstance(event, StreamBroken) for event in events)
        self.pending.extend(events)

    def _stop(self) -> None:
        """Nothing more is read."""
        self.ended = True
        if self._timings is not None:
            self._timings.end()

    def take(self) -> ChatStreamEvent:
        """The next event, observed just before it is handed out."""
        event = self.pending.popleft()
        self.accumulator.observe(event)
        if self.accumulator.stopped:
            self._stop()
            self.pending.clear()
        return event

    def finalize(self, strict: bool) -> AccumulatedResponse:
        return finalized(self.accumulator, strict, self.cause)
