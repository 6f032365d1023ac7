"""A stage on events that joins surrogate halves which a server cut apart, delta from delta.

It is put in front of an `emit` when the first payload with an escaped surrogate comes that is no pair; streams without
one never pay for it. A high half at the end of a delta waits for its low half; one left alone becomes U+FFFD and a Notice.
"""

from collections.abc import Callable, Iterable

import msgspec

from .._values import is_torn, mend, mend_deeply
from ..events import (
    BlockDelta,
    ChatStreamEvent,
    Finish,
    Notice,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallArgumentDelta,
    ToolCallEnd,
    Usage,
)

Emit = Callable[[ChatStreamEvent], None]
Delta = TextDelta | ReasoningDelta | RefusalDelta | BlockDelta | ToolCallArgumentDelta


class SurrogateJoiner:
    """`emit` with whole characters only. At most one half a channel is held, and `flush` lets go of all."""

    def __init__(self, emit: Emit, held: Iterable[Delta] = ()) -> None:
        self._emit = emit
        self._held: dict[tuple[object, ...], Delta] = {_channel(half): half for half in held}

    @property
    def held(self) -> list[Delta]:
        """The halves that wait, each as the delta it was in."""
        return list(self._held.values())

    def __call__(self, event: ChatStreamEvent) -> None:
        if isinstance(event, Delta):
            self._join(event)
            return
        if isinstance(event, Finish):
            self.flush()
        elif isinstance(event, PartEnd | ToolCallEnd):
            self.flush(event.part if isinstance(event, PartEnd) else mend(event.id))
        if isinstance(event, Usage) and (raw := mend_deeply(event.usage.raw)) != event.usage.raw:
            self._tell()
            event = Usage(msgspec.structs.replace(event.usage, raw=raw))
        fields = msgspec.structs.asdict(event)
        mended = {name: mend_deeply(value) for name, value in fields.items() if isinstance(value, str | dict | list)}
        changed = {name: value for name, value in mended.items() if value != fields[name]}
        if changed:
            self._tell()
        self._emit(msgspec.structs.replace(event, **changed) if changed else event)

    def flush(self, of: object = ...) -> None:
        """All channels have ended, or those of one part or call: each half still held becomes U+FFFD."""
        for channel in [channel for channel in self._held if of is ... or channel[1] == of]:
            self._tell()
            self._emit(msgspec.structs.replace(self._held.pop(channel), delta="\ufffd"))

    def _join(self, event: Delta) -> None:
        if isinstance(event, BlockDelta) and is_torn(event.key):
            event = msgspec.structs.replace(event, key=mend(event.key))
        elif isinstance(event, ToolCallArgumentDelta) and is_torn(event.id):
            event = msgspec.structs.replace(event, id=mend(event.id))
        channel = _channel(event)
        waiting = self._held.pop(channel, None)
        delta = event.delta if waiting is None else waiting.delta + event.delta
        if "\ud800" <= delta[-1:] <= "\udbff":
            self._held[channel] = msgspec.structs.replace(event, delta=delta[-1])
            delta = delta[:-1]
        if is_torn(delta):
            whole = mend(delta)
            if whole.count("\ufffd") > delta.count("\ufffd"):
                self._tell()
            delta = whole
        if delta:
            self._emit(msgspec.structs.replace(event, delta=delta))

    def _tell(self) -> None:
        self._emit(Notice("lone_surrogate", "half of a character came without the other half and is now U+FFFD"))


def _channel(event: Delta) -> tuple[object, ...]:
    where = (event.id,) if isinstance(event, ToolCallArgumentDelta) else (event.part, getattr(event, "key", None))
    return (type(event), *where)
