"""What grows while a stream arrives, as rows that can be drawn: one a part, with the text that each event adds.

`Rows` gives every event that adds to the message its row; `Ticker` writes the pieces one after the other, for pipes,
logs and terminals without rich; `open_live` draws the same rows in place, with rich. Bound: the label of each part.
"""

from contextlib import AbstractContextManager
from typing import NamedTuple, Self

from ..events import (
    BlockDelta,
    ChatStreamEvent,
    MediaDelta,
    ProviderBlock,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallName,
    ToolCallStart,
)
from .reading import Watch
from .terminal import CYAN, DIM, Screen, harmless, one_line

Key = tuple[str, object]
"""The kind of a part and its number, or the id of a call."""


class Growth(NamedTuple):
    """What one event adds to one row."""

    key: Key
    label: str
    delta: str = ""
    ended: bool = False


class Rows:
    """Remembers what each row is called, since only its first event says so."""

    def __init__(self) -> None:
        self._labels: dict[Key, str] = {}

    def growth(self, event: ChatStreamEvent) -> Growth | None:
        """What `event` adds to which row; None where there is nothing to draw."""
        match event:
            case TextDelta():
                return Growth(("text", event.part), "text", event.delta)
            case ReasoningDelta():
                return Growth(("reasoning", event.part), "reasoning", event.delta)
            case RefusalDelta():
                return Growth(("refusal", event.part), "refusal", event.delta)
            case ToolCallStart() | ToolCallName():
                return self._named(("call", event.id), event.name)
            case ToolCallArgumentDelta():
                return self._named(("call", event.id))._replace(delta=event.delta)
            case ToolCallEnd():
                return self._named(("call", event.id))._replace(ended=True)
            case ProviderBlock():
                return self._named(("block", event.part), event.kind)
            case BlockDelta():
                return self._named(("block", event.part))._replace(delta=event.delta)
            case MediaDelta():
                return self._named(("media", event.part), event.kind)  # base64 shows a reader nothing
            case _:
                return None

    def _named(self, key: Key, name: str | None = None) -> Growth:
        if name:
            self._labels[key] = one_line(name, 40)
        return Growth(key, self._labels.get(key, key[0]))


class Ticker:
    """Writes each piece as it comes, with a mark where it ends: only ever forward, so that a log can hold it.

    A piece for another row begins a line of its own, so interleaved calls are seen to be interleaved.
    """

    LABEL = 17
    """Columns for what a row is called, and the space around it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rows = Rows()
        self._mark = screen.paint("│" if screen.fancy else "|", DIM)
        self._row: Key | None = None
        self._column = 0

    def __call__(self, event: ChatStreamEvent) -> None:
        growth = self._rows.growth(event)
        if growth is None or not growth.delta:
            return
        if growth.key != self._row:
            self.close()
            self._row = growth.key
            label = f"  {growth.label:{self.LABEL - 3}} "
            self._screen.write(self._screen.paint(label, CYAN))
            self._column = len(label)
        for line, text in enumerate(harmless(growth.delta).split("\n")):
            self._piece(text, fresh=line > 0)
        self._screen.write(self._mark)
        self._column += 1

    def _piece(self, text: str, fresh: bool) -> None:
        """A piece starts on a new line where it would not fit; one that fits on none is left to the terminal."""
        if fresh or (self._column + len(text) >= self._screen.width and self._column > self.LABEL):
            self._screen.write("\n" + " " * self.LABEL)
            self._column = self.LABEL
        self._screen.write(text)
        self._column += len(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the line that is being written."""
        if self._row is not None:
            self._screen.write("\n")
            self._row = None


def open_live(screen: Screen) -> AbstractContextManager[Watch] | None:
    """The drawing in place, to be entered; None where rich is missing."""
    try:
        from .live import LiveView  # rich is an extra, and slow to import: only those who draw pay for it
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "rich":
            raise
        return None
    return LiveView(screen)
