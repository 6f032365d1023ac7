"""The numbers of a stream's events: what came again after a reconnection is left out, what is missing is told.

A stream that is resumed repeats numbers. Those that come again with another event say nothing, and are not looked at any more.
"""

from collections.abc import Callable, Iterable
from itertools import repeat
from zlib import crc32

import msgspec

from ...events import ChatStreamEvent, Notice
from ...framing.columns import Found
from ..plain import Growth
from ..resent import Sent

MOST = 1 << 18
"""Events that are remembered by their number."""
_LONGEST_GAP = 100_000
"""Numbers that may be missing at once; a greater jump means that they are no numbers of events."""


class Numbers(msgspec.Struct):
    """The numbers of one stream so far, each with a checksum of its event."""

    newest: int = -1
    """The highest."""
    run: list[int] = []
    """Checksums of the events up to the newest that came one after the other; they take less than half the room of the others."""
    others: dict[int, int] = {}
    """Checksums of the events before those."""
    ignored: bool = False
    """Whether numbers say nothing, or there were too many to remember."""

    @property
    def count(self) -> int:
        """Events that are remembered."""
        return len(self.run) + len(self.others)

    def growth(self, kind: str, sent: Sent, growth: Growth) -> Growth:
        """More of a text or call that has begun, in events that come right after the newest, or have no numbers."""
        run, others, check, ignored = self.run, self.others, crc32(kind.encode()), self.ignored

        def one(text: str, number: int | None) -> ChatStreamEvent | None:
            if number is not None and not ignored:
                if number != self.newest + 1 or not 0 < len(run) + len(others) < MOST:
                    return None
                run.append(crc32(text.encode(), check))
                self.newest = number
            sent.one_more(text)
            return growth.one(text, number)

        def many(found: Found) -> Iterable[ChatStreamEvent] | None:
            texts, numbers = found.texts, found.numbers
            if numbers is not None and not ignored:
                due = range(self.newest + 1, self.newest + 1 + len(texts))
                if numbers != due or not 0 < len(run) + len(others) <= MOST - len(texts):
                    return None
                run.extend(map(crc32, found.utf8 or map(str.encode, texts), repeat(check)))
                self.newest = due[-1]
            sent.more(texts)
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
            self.run.clear()
            self.others.clear()
            return True
        if number > self.newest + 1 and (self.count or number > 1):  # a first event may be number 0 or 1
            missing = f"events {self.newest + 1} to {number - 1} of the numbered events did not come"
            emit(Notice("sequence_gap", missing, f"event {number}"))
        self._remember(number, check)
        return True

    def _check_of(self, number: int) -> int | None:
        at = number - self.newest - 1  # counted from the end of the run
        return self.run[at] if -len(self.run) <= at < 0 else self.others.get(number)

    def _remember(self, number: int, check: int) -> None:
        if number < self.newest:
            self.others[number] = check
            return
        if number > self.newest + 1:
            self.others.update(zip(range(self.newest + 1 - len(self.run), self.newest + 1), self.run, strict=True))
            self.run.clear()
        self.run.append(check)
        self.newest = number
