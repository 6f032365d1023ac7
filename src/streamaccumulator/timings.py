"""StreamTimings: when the pieces of one stream came. Opt-in: a stream without one is not measured, and pays nothing."""

import math
import time
from array import array
from collections.abc import Callable

from ._record import Record
from .events import (
    ChatStreamEvent,
    MediaDelta,
    ProviderBlock,
    ReasoningDelta,
    RedactedReasoning,
    RefusalDelta,
    TextDelta,
    ToolCallArgumentDelta,
    ToolCallStart,
)
from .messages import TokenUsage

Emit = Callable[[ChatStreamEvent], None]

_CONTENT = (
    TextDelta,
    ReasoningDelta,
    ToolCallStart,
    ToolCallArgumentDelta,
    RefusalDelta,
    RedactedReasoning,
    MediaDelta,
    ProviderBlock,
)
"""Events that are a piece of the message: not who answers, nor usage, nor anything about the stream."""


class Gaps(Record, frozen=True):
    """The waits between one chunk and the next, in seconds: how many, and their mean, longest and 95th percentile.

    None where there is none. The percentile is the shortest wait that at least 95 of 100 are no longer than.
    """

    count: int = 0
    mean: float | None = None
    max: float | None = None
    p95: float | None = None


class StreamTimings:
    """The times of one stream, all in seconds of `clock` since this was made: make it when the request goes out.

    Give it to a driver (`timings=`), then read it. A chunk is what the source gives at a time (one read of bytes, one
    payload), whatever is in it; content is a piece of the message. Memory: eight bytes a chunk.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._start = clock()
        self._newest = self._start
        self._gaps = array("d")
        self.time_to_first_chunk: float | None = None
        """Until the source gave anything at all; None if it gave nothing."""
        self.time_to_first_content: float | None = None
        """Until the first text, reasoning, call or other piece of the message; None if there was none."""
        self.total: float | None = None
        """Until the stream ended, failed or was left; None while it goes on."""

    @property
    def between_chunks(self) -> Gaps:
        """The waits between the chunks so far."""
        gaps = sorted(self._gaps)
        if not gaps:
            return Gaps()
        return Gaps(len(gaps), math.fsum(gaps) / len(gaps), gaps[-1], gaps[math.ceil(0.95 * len(gaps)) - 1])

    def output_tokens_per_second(self, usage: TokenUsage | None) -> float | None:
        """The provider's count of output tokens, reasoning included, by the seconds from the first content to the end.

        None if either is not known. Reasoning that was not shown is counted and its time is not: that makes it too high.
        """
        if usage is None or usage.output_total is None or self.time_to_first_content is None or self.total is None:
            return None
        seconds = self.total - self.time_to_first_content
        return usage.output_total / seconds if seconds > 0 else None

    # ---- What a driver tells.

    def chunk(self) -> None:
        """The source gave something."""
        now = self._clock()
        if self.time_to_first_chunk is None:
            self.time_to_first_chunk = now - self._start
        else:
            self._gaps.append(now - self._newest)
        self._newest = now

    def event(self, event: ChatStreamEvent) -> None:
        """It held this."""
        if self.time_to_first_content is None and isinstance(event, _CONTENT):
            self.time_to_first_content = self._newest - self._start

    def end(self) -> None:
        """Nothing more comes; told once, the first time."""
        if self.total is None:
            self.total = self._clock() - self._start
