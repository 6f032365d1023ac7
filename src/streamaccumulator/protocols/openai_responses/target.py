"""Where the plain deltas of a Responses stream go, remembered from one to the next."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

from ..resent import Sent
from .chunks import PlainEvent


class Target:
    """A text or a call that has begun: how its next delta becomes an event, and where what was sent of it is counted."""

    __slots__ = ("_first", "check", "event", "sent")

    def __init__(self, first: PlainEvent, sent: Sent, event: Callable[[str], Any]) -> None:
        self._first = first
        self.sent = sent
        self.event = event
        self.check = crc32(first.type.encode())

    def takes(self, chunk: PlainEvent) -> bool:
        """Whether a delta is of the same text or call as the one this was made for."""
        first = self._first
        return (
            chunk.item_id == first.item_id
            and chunk.type == first.type
            and chunk.output_index == first.output_index
            and chunk.content_index == first.content_index
            and chunk.summary_index == first.summary_index
        )
