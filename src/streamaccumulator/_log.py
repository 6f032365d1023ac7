"""Loggers of this library, named `streamaccumulator...`, with a NullHandler on the first.

`logging` is imported when the first line is logged, which most streams never do. Model text is never logged.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


def logger(name: str) -> "Logger":
    """The logger `streamaccumulator.<name>`."""
    import logging

    root = logging.getLogger("streamaccumulator")
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return root.getChild(name)
