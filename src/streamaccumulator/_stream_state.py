"""What a StreamDecoder remembers, as plain values: the state that its dump holds."""

from typing import Any

import msgspec

from .events import ChatStreamEvent
from .limits import Limits
from .protocols.decoder import SavedDecoder
from .think_tags import SavedThinkStage, ThinkTags

Frame = tuple[bytes, str, int]
"""Data, event name and offset of a frame that waits until the protocol is known."""


class SavedStreamDecoder(msgspec.Struct, kw_only=True):
    """A StreamDecoder as plain values."""

    protocol: str
    """Empty while it is not known."""
    limits: Limits
    content_type: str
    early: list[Frame]
    objects: bool
    told: bool
    given_up: bool
    closing: bool
    patience: int
    named: str
    faults: list[ChatStreamEvent]
    framing: str
    """Empty while it is not known."""
    framer: Any
    waiting: bytes
    head: bytes
    fed: int
    decoder: SavedDecoder | None
    think_tags: ThinkTags | None
    think: dict[int, SavedThinkStage]
