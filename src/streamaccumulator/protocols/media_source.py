"""Where the bytes of an image, sound or file are, for the requests that send them."""

import re

from .._record import Record
from ..messages import MediaPart

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")


class Source(Record, frozen=True):
    """Where the bytes of a MediaPart are: at a URL, or in base64 here."""

    mime: str | None
    url: str | None = None
    base64: str | None = None

    @property
    def data_url(self) -> str:
        """A URL in either case."""
        return self.url if self.url is not None else f"data:{self.mime or 'application/octet-stream'};base64,{self.base64}"

    @property
    def format(self) -> str:
        """The last word of the type: `png` of `image/png`."""
        return (self.mime or "").rpartition("/")[2]


def source_of(part: MediaPart) -> Source:
    """Where the bytes are. A `data:` URL is taken apart."""
    if part.data.startswith("data:"):
        head, _, data = part.data.partition(",")
        return Source(head[5:].partition(";")[0] or part.mime, None, data)
    mime = part.mime or {"image": "image/png"}.get(part.kind)
    return Source(mime, part.data) if _SCHEME.match(part.data) else Source(mime, None, part.data)
