"""ThinkTags: reasoning that a model writes into its visible text, between tags, told as reasoning.

An opt-in stage between a decoder and whoever takes its events. It costs one search of each delta, and holds back no more
than the beginning of a tag.
"""

from collections.abc import Callable

import msgspec

from ._record import Record
from .events import (
    ChatStreamEvent,
    Citation,
    Extra,
    LogProbs,
    Notice,
    PartEnd,
    ReasoningDelta,
    Started,
    TextDelta,
    Unknown,
    Usage,
)

Emit = Callable[[ChatStreamEvent], None]

_BESIDE = (Usage, Started, LogProbs, Extra, Citation, Notice, Unknown)
"""Events that may stand between two pieces of a tag: they are about the text or the whole, and are no part of the message."""


class ThinkTags(Record, frozen=True):
    """Which tags there are. `inside` is for models whose chat template writes the opening tag: their text begins as reasoning.

    Only these letters are tags: text that merely looks like one stays text, and so does everything else, white space too.
    An opening tag within reasoning is reasoning. Reasoning whose closing tag never comes is reasoning to the end.
    Raises ValueError for an empty tag.
    """

    open: str = "<think>"
    close: str = "</think>"
    inside: bool = False

    def __post_init__(self) -> None:
        if not self.open or not self.close:
            raise ValueError("a tag has at least one letter")

    def stage(self, emit: Emit) -> "ThinkStage":
        """A stage for one stream (and one choice of it) that hands its events on to `emit`."""
        return ThinkStage(self, emit)


class SavedThinkStage(msgspec.Struct):
    """A stage as plain values."""

    inside: bool
    held: str
    part: int | None


class ThinkStage:
    """Call it with each event, and `flush` at the end."""

    def __init__(self, tags: ThinkTags, emit: Emit) -> None:
        self._tags = tags
        self._emit = emit
        self._inside = tags.inside
        self._held = ""  # text that may still become a tag
        self._part: int | None = None  # the part it is of

    def __call__(self, event: ChatStreamEvent) -> None:
        """One event: text is read for tags; anything else that is part of the message ends what was held back."""
        if isinstance(event, TextDelta):
            self._text(event)
        else:
            if self._held and not isinstance(event, _BESIDE):
                self.flush()
            self._emit(event)

    def flush(self) -> None:
        """Nothing more comes: what looked like the beginning of a tag is text."""
        held, self._held = self._held, ""
        self._tell(held)

    def _text(self, event: TextDelta) -> None:
        if event.part != self._part:
            self.flush()
            self._part = event.part
        text, self._held = self._held + event.delta, ""
        at = 0
        while True:
            tag = self._tags.close if self._inside else self._tags.open
            found = text.find(tag, at)
            if found < 0:
                break
            self._tell(text[at:found])
            if self._inside:
                self._emit(PartEnd())
            self._inside = not self._inside
            at = found + len(tag)
        end = len(text) - _begun(text, at, tag)
        self._held = text[end:]
        self._tell(text[at:end])

    def _tell(self, text: str) -> None:
        if text:
            self._emit(ReasoningDelta(text, self._part) if self._inside else TextDelta(text, self._part))

    def saved(self) -> SavedThinkStage:
        """What it remembers."""
        return SavedThinkStage(self._inside, self._held, self._part)

    def restore(self, saved: SavedThinkStage) -> None:
        """Go on from what was saved."""
        self._inside, self._held, self._part = saved.inside, saved.held, saved.part


def _begun(text: str, start: int, tag: str) -> int:
    """How many of the last characters from `start` on may be the beginning of a tag."""
    for size in range(min(len(tag) - 1, len(text) - start), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
