"""Small pieces of bytes that are read together, where nobody looks at what comes of them before the end.

How bytes are cut never changes what they mean, so that is a matter of cost alone. What waits is bounded by TOGETHER.
"""

from collections.abc import Callable

TOGETHER = 65536
"""Bytes that are read together: of more each would cost the same."""


class Gathering:
    """Puts pieces down for `read`, which gets them joined."""

    __slots__ = ("_read", "_size", "_waiting")

    def __init__(self, read: Callable[[bytes], object]) -> None:
        self._read = read
        self._waiting: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Put down one more piece."""
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= TOGETHER:
            self.catch_up()

    def catch_up(self) -> None:
        """Have read whatever waits."""
        waiting = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        if waiting:
            self._read(waiting)
