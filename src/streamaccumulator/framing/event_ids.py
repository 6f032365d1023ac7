"""The ids that server-sent events give themselves: what came again after a reconnect is left out, what is missing is told.

https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header

A server that is asked to go on from an id may go on from before it. So after a reconnect an event that was there already, by
its id and by what it holds, is skipped, until one comes that was not. Ids that are no names of events (one for all of them,
as some servers send) are noticed before, and then nothing is skipped, as nothing may be lost.
"""

from collections.abc import Callable
from zlib import crc32

import msgspec

from ..events import ChatStreamEvent, Notice

_MOST = 1 << 18
"""Ids that are remembered; of a stream with more, nothing is skipped."""


class EventIds(msgspec.Struct):
    """The ids of one stream so far."""

    last: str = ""
    seen: dict[str, int] = {}
    """A checksum of each event, by its id."""
    names: bool = True
    """Whether ids name events: each had its own."""
    resuming: bool = False
    """Whether what comes may have been there before."""
    number: int | None = None
    """The newest id, where ids are numbers."""
    counts: bool = False
    """Whether ids are numbers that go up by one."""

    def is_news(self, id: str, event: str, data: bytes, emit: Callable[[ChatStreamEvent], None]) -> bool:
        """Whether the event with this id is to be read. Repeats and gaps are told."""
        check = crc32(data, crc32(event.encode()))
        if self.resuming and self.names and self.seen.get(id) == check:
            emit(Notice("repeated_event", "an event that was there already came again, and was left out", f"id {id[:80]}"))
            return False
        self.resuming = False
        self.last = id
        if self.names:
            self._remember(id, check, emit)
        return True

    def _remember(self, id: str, check: int, emit: Callable[[ChatStreamEvent], None]) -> None:
        if id in self.seen or len(self.seen) >= _MOST:
            self.names = False
            self.seen.clear()
            return
        self.seen[id] = check
        number = int(id) if id.isascii() and id.isdigit() and len(id) < 19 else None
        if number is not None and self.number is not None:
            if self.counts and number > self.number + 1:
                missing = f"events {self.number + 1} to {number - 1} of the numbered events did not come"
                emit(Notice("sequence_gap", missing, f"id {number}"))
            self.counts = number == self.number + 1 or (self.counts and number > self.number)
        self.number = number
