"""The numbers of a stream's events: what came again after a reconnection is left out, what is missing is told.

A stream that is resumed repeats numbers. Those that come again with another event say nothing, and are not looked at any more.
"""

from collections.abc import Callable, Iterable
from zlib import crc32

import msgspec

from ...events import ChatStreamEvent, Notice
from ...framing.columns import Found
from ..plain import Growth, Told
from ..resent import Sent

MOST = 1 << 18
"""Events that are remembered by their number."""
_LONGEST_GAP = 100_000
"""Numbers that may be missing at once; a greater jump means that they are no numbers of events."""
_LATE = 65536
"""Bytes of texts that wait to be counted: only where an event comes again somebody asks for that, and most streams end before."""
_BESIDE = 64
"""Bytes that each of those takes beside its texts."""
_strings = msgspec.json.Decoder(list[str]).decode


class Numbers(msgspec.Struct):
    """The numbers of one stream so far, each with a checksum of its event."""

    newest: int = -1
    """The highest."""
    first: int = 0
    """The number from which on one came after the other, to the newest."""
    run: list[int] = []
    """Checksums of the events from the first on; they take less than half the room of the others."""
    late: list[tuple[int, bytes]] = []
    """Events after those that were not counted yet: the texts of several as JSON, with the checksum of their kind; or nothing, with
    the checksum of one event."""
    late_bytes: int = 0
    """What those take, about."""
    others: dict[int, int] = {}
    """Checksums of the events before the first."""
    ignored: bool = False
    """Whether numbers say nothing, or there were too many to remember."""

    @property
    def count(self) -> int:
        """Events that are remembered."""
        return self.newest + 1 - self.first + len(self.others)

    def growth(self, kind: str, sent: Sent, growth: Growth) -> Growth:
        """More of a text or call that has begun, in events that come right after the newest, or have no numbers."""
        run, late, others, check, ignored = self.run, self.late, self.others, crc32(kind.encode()), self.ignored

        def one(text: str, number: int | None) -> Told:
            if number is not None and not ignored:
                if number != self.newest + 1 or not 0 < number - self.first + len(others) < MOST:
                    return None
                if late:
                    self._put(crc32(text.encode(), check))
                else:
                    run.append(crc32(text.encode(), check))
                    self.newest = number
            sent.one_more(text)
            return growth.one(text, number)

        def many(found: Found) -> Iterable[ChatStreamEvent] | None:
            if found.numbers is not None and not ignored:
                due, many = self.newest + 1, len(found.texts)
                if found.numbers != range(due, due + many) or not 0 < due - self.first + len(others) <= MOST - many:
                    return None
                self._put(check, found.written, many)
            sent.more(found.texts)
            return growth.many(found)

        return Growth(one, many)

    def is_news(self, number: int, check: int, emit: Callable[[ChatStreamEvent], None]) -> bool:
        """Whether an event was not seen before. A repeat and a gap are told."""
        before = self._check_of(number)
        if before == check:
            emit(Notice("repeated_event", "an event that was there already came again, and was left out", f"event {number}"))
            return False
        if before is not None or not 0 <= number <= self.newest + _LONGEST_GAP or self.count >= MOST:
            self.ignored = True
            self.first = self.newest + 1
            self.others.clear()
            self._clear()
            return True
        if number > self.newest + 1 and (self.count or number > 1):  # a first event may be number 0 or 1
            missing = f"events {self.newest + 1} to {number - 1} of the numbered events did not come"
            emit(Notice("sequence_gap", missing, f"event {number}"))
        self._remember(number, check)
        return True

    def _check_of(self, number: int) -> int | None:
        if self.first <= number <= self.newest:
            return self.counted()[number - self.first]
        return self.others.get(number)

    def _remember(self, number: int, check: int) -> None:
        if number < self.newest:
            self.others[number] = check
            return
        if number > self.newest + 1:
            self.others.update(zip(range(self.first, self.newest + 1), self.counted(), strict=True))
            self._clear()
            self.first, self.newest = number, number - 1
        self._put(check)

    def _put(self, check: int, texts: bytes = b"", many: int = 1) -> None:
        """Remember what comes right after the newest."""
        self.newest += many
        if texts or self.late:
            self.late.append((check, texts))
            self.late_bytes += _BESIDE + len(texts)
            if self.late_bytes > _LATE:
                self.counted()
        else:
            self.run.append(check)

    def counted(self) -> list[int]:
        """The run, with nothing left out."""
        for check, texts in self.late:
            self.run += [crc32(text.encode(), check) for text in _strings(texts)] if texts else [check]
        self.late.clear()
        self.late_bytes = 0
        return self.run

    def _clear(self) -> None:
        self.run.clear()
        self.late.clear()
        self.late_bytes = 0
