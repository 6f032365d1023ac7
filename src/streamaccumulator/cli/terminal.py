"""Where the command writes, what can be shown there, and how model text is kept from steering it.

Text of a model may hold escape sequences that move the cursor, set the clipboard or rewrite what was already read. So
nothing a stream brought reaches a terminal before `harmless` has seen it. Every module that prints uses this one.
"""

import os
import textwrap
from typing import TextIO

_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_REORDERING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN_AS = {code: f"\\u{code:04x}" for code in (*_CONTROLS, *_REORDERING) if chr(code) not in "\n\t"}

BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36
"""The SGR codes that `paint` takes."""

WIDEST = 88
"""Columns of a heading's rule, also where the terminal has more: a longer line is harder to read."""


def harmless(text: str) -> str:
    """`text` with its control characters, but for line ends and tabs, written out the way JSON does: `\\u001b`.

    The characters that reorder text (bidirectional overrides and isolates) are written out too: with them a tool call
    can be made to read as another. JSON stays the same JSON.
    """
    return text.translate(_SHOWN_AS)


def one_line(text: str, most: int = 1000) -> str:
    """`text` harmless, on one line, and cut in the middle where it is longer than `most` characters."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-(most // 2) :]}"


class Screen:
    """Standard output or standard error, and what it can show.

    `terminal`: a person looks at it. `animated`: its lines can be drawn again. `fancy`: it has more than ASCII.
    What is no terminal is written as UTF-8, with line ends as they are, so that a pipe gets the exact text.
    """

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.terminal = file.isatty()
        self.animated = self.terminal and os.environ.get("TERM") != "dumb"
        self._coloured = self.animated and not os.environ.get("NO_COLOR") and (os.name != "nt" or "WT_SESSION" in os.environ)
        self._encoding = (self.terminal and file.encoding) or "utf-8"
        self.fancy = _can_encode("─│✓▌", self._encoding)

    @property
    def width(self) -> int:
        """Columns to use."""
        try:
            return min(WIDEST, os.get_terminal_size(self.file.fileno()).columns or WIDEST)
        except OSError:  # no terminal, or no file at all
            return WIDEST

    def write(self, text: str) -> None:
        """Write all of it now, and not when a buffer is full: a reader at the other end is waiting."""
        binary = getattr(self.file, "buffer", None)
        if binary is None:  # a StringIO that somebody put in place
            self.file.write(text)
            return
        rest = memoryview(text.encode(self._encoding, "backslashreplace"))
        while rest:  # unbuffered (`python -u`), a write may take a part only, and the text layer would lose the rest
            rest = rest[binary.write(rest) :]
        binary.flush()

    def write_exact(self, text: str) -> None:
        """Write what a stream brought: every byte of it into a pipe, harmless on a terminal."""
        self.write(harmless(text) if self.terminal else text)

    def wrapped(self, line: str, label: str = "") -> str:
        """One line of ours after its label, broken between words on a terminal only: a log is searched line by line."""
        if not self.terminal:
            return label + line
        room = " " * len(label)
        return textwrap.fill(
            line, self.width, initial_indent=label, subsequent_indent=room, break_long_words=False, break_on_hyphens=False
        )

    def paint(self, text: str, *codes: int) -> str:
        """`text` in the given codes where colour is wanted."""
        if not (self._coloured and text):
            return text
        return f"\x1b[{';'.join([str(code) for code in codes])}m{text}\x1b[0m"

    def heading(self, title: str, *codes: int) -> str:
        """A line that opens a section: the title in a rule as wide as the screen."""
        bar = "─" if self.fancy else "-"
        rest = bar * max(2, self.width - len(title) - 4)
        return f"{self.paint(bar * 2, DIM)} {self.paint(title, *codes)} {self.paint(rest, DIM)}"


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
