"""Which call a fragment belongs to, and what its id is: the one place for both rules.

The event's id is unique within the stream: the provider's own where it is non-empty and new, else one we mint
(`call_1`, ...). Blank is "not said"; a repeated id or name is not a second one. In this order:

* index given and a call there: another id *and* a name is a new call, else that call; if it has ended, a name alone is new;
* index given, none there: a name is a new call, else the known id, else an id never seen is a new call, else the
  latest open call and a Notice;
* no index: the known id, else a name is a new call, else the latest open call.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .._json import to_bytes
from .._values import whole
from ..events import ChatStreamEvent, Deltas, Notice, ToolCallArgumentDelta, ToolCallEnd, ToolCallName, ToolCallStart
from ..framing.columns import Found
from .plain import Growth
from .surrogates import Emit


class CallKey(msgspec.Struct):
    """What is remembered of one call: keys, not content."""

    id: str
    wire_id: str | None = None
    name: str | None = None
    ended: bool = False
    blank: bool = True
    """Whether no argument text came."""


class CallBook(msgspec.Struct):
    """The calls of one choice, in the order in which they started. A call is named by its place among them."""

    calls: list[CallKey] = []
    at_index: dict[int, int] = {}
    of_wire_id: dict[str, int] = {}
    ids: set[str] = set()
    unended: dict[int, None] = {}
    """The places of those that have not ended."""
    latest: int | None = None
    """The call that was opened or written last."""
    minted: int = 0

    def fragment(self, emit: Emit, index: int | None, wire_id: str | None, name: str | None, kind: str = "function") -> int:
        """The call of one fragment, opened if it is a new one; what is new about it is written to `emit`."""
        wire_id, name = whole(wire_id) if wire_id else None, name or None
        at = self._which(emit, index, wire_id, name)
        if at is None:
            at = self.open(emit, wire_id, name, kind)
        call = self.calls[at]
        self.latest = at
        if index is not None:
            self.at_index[index] = at
        if name:
            self.name(emit, at, name)
        if wire_id and call.wire_id is None:
            call.wire_id = wire_id
            self.of_wire_id[wire_id] = at
            emit(Notice("late_id", "a call's id came after its start; the minted id stays", call.id))
        return at

    def growth_by_index(self) -> Growth:
        """The commonest fragments: more text of open calls that have some, by their index. Until anything else comes."""

        known: dict[int | None, str] = {}  # whatever changes it comes the long way

        def id_at(index: int | None) -> str | None:
            if index not in known:
                at = self.at_index.get(index) if index is not None else None
                call = self.calls[at] if at is not None else None
                if call is None or call.ended or call.blank:
                    return None
                known[index] = call.id
            return known[index]

        def one(text: str, index: int | None) -> ToolCallArgumentDelta | None:
            id = id_at(index)
            if index is None or id is None:
                return None
            self.latest = self.at_index[index]
            return ToolCallArgumentDelta(id, text)

        def many(found: Found) -> Iterable[ChatStreamEvent] | None:
            texts, indexes = found.texts, found.numbers
            distinct = set(indexes or ())
            if not indexes or None in map(id_at, distinct):
                return None
            self.latest = self.at_index[indexes[-1]]
            to = known[indexes[0]] if len(distinct) == 1 else list(map(known.__getitem__, indexes))
            return Deltas(ToolCallArgumentDelta, to, texts)

        return Growth(one, many)

    def growth(self, at: int | None) -> Growth | None:
        """The same for one call."""
        if at is None or self.calls[at].ended or self.calls[at].blank:
            return None
        id = self.calls[at].id

        def one(text: str, number: int | None) -> ToolCallArgumentDelta:
            self.latest = at
            return ToolCallArgumentDelta(id, text)

        def many(found: Found) -> Iterable[ChatStreamEvent]:
            self.latest = at
            return Deltas(ToolCallArgumentDelta, id, found.texts)

        return Growth(one, many)

    def open(self, emit: Emit, wire_id: str | None, name: str | None, kind: str = "function") -> int:
        """A new call, where the wire says itself that it is one."""
        wire_id, name = whole(wire_id or "") or None, name or None
        minted = wire_id is None or wire_id in self.ids
        if minted and wire_id:
            emit(Notice("duplicate_id", f"the id {wire_id[:80]!r} was taken already; the later call got another"))
        id = self._mint() if minted or wire_id is None else wire_id
        self.ids.add(id)
        self.latest = at = len(self.calls)
        self.calls.append(CallKey(id, wire_id, name))
        self.unended[at] = None
        if wire_id:
            self.of_wire_id[wire_id] = at
        emit(ToolCallStart(id, name, kind, minted))
        return at

    def id_of(self, at: int) -> str:
        """The id by which events name a call."""
        return self.calls[at].id

    def name(self, emit: Emit, at: int, name: str) -> None:
        """A call's name, which may come late; the first counts."""
        call = self.calls[at]
        if not call.name:
            call.name = name
            emit(ToolCallName(call.id, name))
        elif name != call.name:
            emit(Notice("name_conflict", f"a call to {call.name[:80]!r} was also named {name[:80]!r}; the first counts", call.id))

    def write(self, emit: Emit, at: int, given: str | Mapping[str, Any] | list[Any] | None) -> None:
        """More argument text of a call; after an end it opens again. An object is given as its canonical JSON."""
        delta = given if isinstance(given, str) else "" if given is None else to_bytes(given).decode()
        if delta:
            call = self.calls[at]
            call.blank = False
            if call.ended:
                call.ended = False
                self.unended[at] = None
            emit(ToolCallArgumentDelta(call.id, delta))

    def end(self, emit: Emit, at: int) -> None:
        """The call is whole."""
        call = self.calls[at]
        if not call.ended:
            call.ended = True
            self.unended.pop(at, None)
            emit(ToolCallEnd(call.id))

    @property
    def latest_is_blank(self) -> bool:
        """Whether the call that was opened or written last has no arguments yet, so that nobody knows if it is whole."""
        return self.latest is not None and self.calls[self.latest].blank

    def end_all(self, emit: Emit, *, but_latest: bool = False) -> None:
        """Every open call is whole: all of them, or all but the one that was being written when a bound was reached."""
        for at in list(self.unended):
            if not (but_latest and at == self.latest):
                self.end(emit, at)

    def _which(self, emit: Emit, index: int | None, wire_id: str | None, name: str | None) -> int | None:
        known = self.of_wire_id.get(wire_id) if wire_id else None
        if index is not None and index in self.at_index:
            at = self.at_index[index]
            return None if name and self._is_another(self.calls[at], wire_id, name) else at
        if index is None:
            return known if known is not None else None if name else self.latest
        if name or known is not None:
            return None if name else known
        if wire_id or self.latest is None:
            return None
        emit(Notice("index_mismatch", f"arguments at index {index}, where no call started, were given to the latest call"))
        return self.latest

    def _is_another(self, call: CallKey, wire_id: str | None, name: str) -> bool:
        """Whether a fragment with a name, at the index of `call`, starts another one."""
        if wire_id is None:
            return call.ended
        return wire_id != call.wire_id if call.wire_id else call.name is not None and name != call.name

    def _mint(self) -> str:
        while True:
            self.minted += 1
            id = f"call_{self.minted}"
            if id not in self.ids:
                return id
