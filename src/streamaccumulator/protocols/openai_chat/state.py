"""What a decoder of OpenAI Chat Completions remembers of a stream: keys, never content."""

import msgspec

from ...events import Started
from ..calls import CallBook
from ..decoder import Parts


class DetailKey(msgspec.Struct):
    """One logical block of OpenRouter's `reasoning_details`: its part, and the keys already told as extras."""

    part: int
    id: str | None = None
    told: set[str] = set()


class ChoiceState(Parts):
    """What is remembered of one choice."""

    calls: CallBook = msgspec.field(default_factory=CallBook)
    reasoning: int | None = None
    """The reasoning part that plain fields write to."""
    details: dict[str, DetailKey] = {}
    audio: int | None = None
    reasoning_claimed: bool = False
    """Whether a readable block of `reasoning_details` has that part."""
    streamed: bool = False
    """Whether content came in a delta."""
    bounded: bool = False
    """Whether a finish reason said that the model was stopped by a bound."""


class State(msgspec.Struct):
    """What is remembered of one stream."""

    started: bool = False
    id: str | None = None
    model: str | None = None
    known: Started = Started()
    second_told: bool = False
    streams: bool = False
    """Whether content of choice 0 came in a delta."""
    choices: dict[int, ChoiceState] = {}
    opened: list[tuple[int, int, int, str]] = []
    """Calls that the chunk now being read opened: the place of the choice, of the call in it, its choice, and the id."""
