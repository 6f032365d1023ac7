"""How much of a text was sent, so that a server which sends it again, whole, adds only what is missing.

A length and a running checksum are enough to tell whether the head of the whole is what was sent; the text itself is
the accumulator's to keep. UTF-16, so that characters cut in two count the same as whole ones.
"""

from collections.abc import Iterable
from zlib import crc32

import msgspec

RUN = 64
"""Pieces that are counted together: few are held, and each costs no more than to be put down."""


class Sent(msgspec.Struct):
    """One text that grew, and may be sent again."""

    size: int = 0
    """Bytes counted so far, as UTF-16."""
    checksum: int = 0
    run: list[str] = []
    """The newest pieces, not counted yet."""

    def one_more(self, delta: str) -> None:
        """A piece was sent."""
        self.run.append(delta)
        if len(self.run) >= RUN:
            self._count()

    def more(self, deltas: Iterable[str]) -> None:
        """Pieces were sent."""
        self.run += deltas
        if len(self.run) >= RUN:
            self._count()

    def _count(self) -> None:
        data = "".join(self.run).encode("utf-16-le", "surrogatepass")
        self.run.clear()
        self.size += len(data)
        self.checksum = crc32(data, self.checksum)

    @property
    def begun(self) -> bool:
        """Whether anything was sent."""
        return bool(self.size or self.run)

    def missing(self, whole: str) -> str | None:
        """What `whole` adds to what was sent; None if it does not begin with what was sent."""
        self._count()
        data = whole.encode("utf-16-le", "surrogatepass")
        if len(data) < self.size or crc32(data[: self.size]) != self.checksum:
            return None
        return data[self.size :].decode("utf-16-le", "surrogatepass")
