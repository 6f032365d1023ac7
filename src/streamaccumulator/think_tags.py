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


AboutAPart = Extra | Citation | PartEnd
_MOST_WAITING = 64
"""Events about a text that wait for it to be told; further ones do not."""


class Stretch(msgspec.Struct):
    """Where the text of one part stands: the part that its newest stretch, of text or of reasoning, is written to."""

    number: int | None
    reasoning: bool
    kept: bool
    """Whether a text has the part's own number."""


class SavedThinkStage(msgspec.Struct):
    """A stage as plain values."""

    inside: bool
    held: str
    part: int | None
    stretches: list[tuple[int | None, Stretch]]
    waiting: list[AboutAPart]
    numbers: int


class ThinkStage:
    """Call it with each event, and `flush` at the end.

    Each stretch between two tags becomes a part of its own, in the order in which it was told. The first text of a part keeps that
    part's number; further stretches get numbers below zero, which no decoder gives.
    """

    def __init__(self, tags: ThinkTags, emit: Emit) -> None:
        self._tags = tags
        self._emit = emit
        self._inside = tags.inside
        self._held = ""  # text that may still become a tag
        self._part: int | None = None  # the part it is of
        self._stretches: dict[int | None, Stretch] = {}  # by the part as the decoder knows it
        self._waiting: list[AboutAPart] = []  # what is said of a text that was not told yet
        self._numbers = 0  # how many parts were made here

    def __call__(self, event: ChatStreamEvent) -> None:
        """One event: text is read for tags; anything else that is part of the message ends what was held back."""
        if isinstance(event, TextDelta):
            self._text(event)
            return
        if self._held and not isinstance(event, _BESIDE):
            self._flush_held()
        if isinstance(event, AboutAPart):
            self._about_a_part(event)
        else:
            self._emit(event)

    def flush(self) -> None:
        """Nothing more comes: what looked like the beginning of a tag is text."""
        self._flush_held()
        self._release()

    def _flush_held(self) -> None:
        held, self._held = self._held, ""
        self._tell(held)

    def _text(self, event: TextDelta) -> None:
        if event.part != self._part:
            self._flush_held()
            self._part = event.part
        text, self._held = self._held + event.delta, ""
        at = 0
        while True:
            tag = self._tags.close if self._inside else self._tags.open
            found = text.find(tag, at)
            if found < 0:
                break
            self._tell(text[at:found])
            self._inside = not self._inside
            at = found + len(tag)
        end = len(text) - _begun(text, at, tag)
        self._held = text[end:]
        self._tell(text[at:end])

    def _tell(self, text: str) -> None:
        if not text:
            return
        stretch = self._stretches.get(self._part)
        if stretch is None or stretch.reasoning is not self._inside:
            if stretch is not None:
                self._emit(PartEnd(stretch.number))
            kept = stretch is not None and stretch.kept
            number = self._part if not (self._inside or kept) else self._number()
            stretch = self._stretches[self._part] = Stretch(number, self._inside, kept or not self._inside)
        self._emit(ReasoningDelta(text, stretch.number) if self._inside else TextDelta(text, stretch.number))
        if self._waiting and not self._inside:
            self._release()

    def _number(self) -> int:
        self._numbers += 1
        return -self._numbers

    def _about_a_part(self, event: AboutAPart) -> None:
        """What is said of a text goes to the stretch that is its text; while none was told, or some is held back, it waits."""
        stretch = self._stretches.get(event.part)
        about_this = event.part == self._part and (event.part is not None or isinstance(event, Citation))
        told = stretch is not None and not stretch.reasoning and not self._held
        if isinstance(event, PartEnd):
            self._release()
        elif about_this and not told and len(self._waiting) < _MOST_WAITING:
            self._waiting.append(event)
            return
        self._emit(self._renumbered(event))

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._emit(self._renumbered(event))

    def _renumbered(self, event: AboutAPart) -> AboutAPart:
        stretch = self._stretches.get(event.part)
        if event.part is None or stretch is None or stretch.number == event.part:
            return event
        return msgspec.structs.replace(event, part=stretch.number)

    def saved(self) -> SavedThinkStage:
        """What it remembers."""
        stretches = list(self._stretches.items())
        return SavedThinkStage(self._inside, self._held, self._part, stretches, self._waiting, self._numbers)

    def restore(self, saved: SavedThinkStage) -> None:
        """Go on from what was saved."""
        self._inside, self._held, self._part = saved.inside, saved.held, saved.part
        self._stretches, self._waiting, self._numbers = dict(saved.stretches), saved.waiting, saved.numbers


def _begun(text: str, start: int, tag: str) -> int:
    """How many of the last characters from `start` on may be the beginning of a tag."""
    for size in range(min(len(tag) - 1, len(text) - start), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
