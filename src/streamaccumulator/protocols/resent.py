"""How much of a text was sent, so that a server which sends it again, whole, adds only what is missing.

A length and a running checksum are enough to tell whether the head of the whole is what was sent; the text itself is
the accumulator's to keep. UTF-16, so that characters cut in two count the same as whole ones.
"""

from zlib import crc32

import msgspec


class Sent(msgspec.Struct):
    """One text that grew, and may be sent again."""

    size: int = 0
    """Bytes sent so far, as UTF-16."""
    checksum: int = 0

    def more(self, delta: str) -> None:
        """A piece was sent."""
        data = delta.encode("utf-16-le", "surrogatepass")
        self.size += len(data)
        self.checksum = crc32(data, self.checksum)

    def missing(self, whole: str) -> str | None:
        """What `whole` adds to what was sent; None if it does not begin with what was sent."""
        data = whole.encode("utf-16-le", "surrogatepass")
        if len(data) < self.size or crc32(data[: self.size]) != self.checksum:
            return None
        return data[self.size :].decode("utf-16-le", "surrogatepass")
