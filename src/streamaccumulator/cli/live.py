"""Draws a message and the arguments of its tool calls in place while they grow. The only module that imports rich.

Drawing happens in rich's own thread, a few times a second, from rows that the reading thread replaces and never changes;
the accumulator is not touched. Bound: the newest `ROWS` rows and the last `TAIL` characters of each, so a look costs the
same after ten megabytes. Imported by `growth.open_live`, which says what to install where rich is missing.
"""

import time
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..events import ChatStreamEvent
from .growth import Key, Rows
from .terminal import Screen, harmless

ROWS = 32
TAIL = 16384
"""Characters kept of a row: more than fit on any screen."""

_STYLES = {"reasoning": "dim italic", "refusal": "red", "call": "green", "block": "dim"}


class _Row(NamedTuple):
    kind: str
    label: str
    text: str = ""
    ended: bool = False


class LiveView:
    """Draws the events it is called with, between `__enter__` and `__exit__`; nothing of the drawing stays."""

    def __init__(self, screen: Screen) -> None:
        self._rows = Rows()
        self._drawn: dict[Key, _Row] = {}
        self._events = 0
        self._began = time.monotonic()
        self._fancy = screen.fancy
        self._spinner = Spinner("dots" if screen.fancy else "line", style="cyan")
        console = Console(file=screen.file, highlight=False, markup=False, emoji=False)
        self._live = Live(
            get_renderable=lambda: self,
            console=console,
            refresh_per_second=12,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def __call__(self, event: ChatStreamEvent) -> None:
        self._events += 1
        growth = self._rows.growth(event)
        if growth is None:
            return
        before = self._drawn.get(growth.key)
        text = ("" if before is None else before.text) + harmless(growth.delta)
        ended = growth.ended or (before is not None and before.ended and not growth.delta)
        self._drawn[growth.key] = _Row(growth.key[0], growth.label, text[-TAIL:], ended)
        if before is None and len(self._drawn) > ROWS:
            del self._drawn[next(iter(self._drawn))]

    # ---- In rich's thread.

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The newest lines that fit, and below them how long it has taken."""
        lines = console.render_lines(self._table(), options, pad=False)
        for line in lines[-max(1, console.height - 2) :]:
            yield from line
            yield Segment.line()
        yield from self._status()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan", no_wrap=True, max_width=24)
        table.add_column(overflow="fold")
        rows = list(self._drawn.copy().values())  # copied in one step, while the other thread adds
        for row in rows:
            text = Text(row.text, style=_STYLES.get(row.kind, ""))
            if row.ended:
                text.append(" ✓" if self._fancy else " ok", style="bold green")
            elif row is rows[-1]:
                text.append("▌" if self._fancy else "_", style="bold cyan")
            table.add_row(row.label, text)
        return table

    def _status(self) -> Iterator[Spinner]:
        seconds = time.monotonic() - self._began
        what = f"{self._events:,} events" if self._events else "waiting for the first event"
        self._spinner.update(text=Text(f"{what}, {seconds:.1f} s", style="dim"))
        yield self._spinner
