"""The output items of a response, and what was sent of each: the one place where a whole meets its deltas.

Texts go by their channel (`output_text`, `refusal`, `reasoning_text`, `summary_text`) and index. A whole adds what was
not sent; where it contradicts what was sent, the deltas count and a Notice tells.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..._json import to_bytes
from ...events import (
    BlockDelta,
    Citation,
    Extra,
    LogProbs,
    MediaDelta,
    Notice,
    PartEnd,
    ProviderBlock,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    TextDelta,
)
from ..calls import CallBook
from ..decoder import Parts
from ..raw import list_at, text_at
from ..resent import Sent
from ..surrogates import Emit
from .chunks import MODELLED_IN_CALL, MODELLED_IN_CONTENT, MODELLED_IN_MESSAGE, MODELLED_IN_REASONING

CALLS = {"function_call": "function", "custom_tool_call": "custom"}
"""Items that are calls for the client to make, and the kind of call."""

CHANNEL_OF_CONTENT = {
    "output_text": "output_text",
    "text": "output_text",
    "refusal": "refusal",
    "reasoning_text": "reasoning_text",
    "summary_text": "summary_text",
}
KIND_OF_CHANNEL = {"output_text": "message", "refusal": "message", "reasoning_text": "reasoning", "summary_text": "reasoning"}
EVENT_OF_CHANNEL: dict[str, type[TextDelta] | type[RefusalDelta] | type[ReasoningDelta]] = {
    "output_text": TextDelta,
    "refusal": RefusalDelta,
    "reasoning_text": ReasoningDelta,
    "summary_text": ReasoningDelta,
}


class PartKey(msgspec.Struct):
    """One text of an item: its part, how much of it was sent, and how many citations."""

    number: int
    sent: Sent
    citations: int = 0
    ended: bool = False
    logprobs: bool = False
    """Whether log probabilities came with its deltas."""


class ItemKey(msgspec.Struct):
    """What is remembered of one output item."""

    kind: str
    at: int
    """Its place among the items."""
    id: str | None = None
    parts: dict[str, dict[int, PartKey]] = {}
    """Its texts, by channel and index."""
    call: int | None = None
    arguments: Sent = msgspec.field(default_factory=Sent)
    given: str = ""
    """Arguments that came with its start, and count only if no others come."""
    block: int | None = None
    """The part of an item that is kept as it is, or of an image."""
    done: bool = False
    contradicted: bool = False
    """Whether its whole arguments were not what its deltas were."""

    def part(self, channel: str, index: int) -> PartKey | None:
        """One of its texts, if it has started."""
        texts = self.parts.get(channel)
        return texts.get(index) if texts is not None else None

    def texts(self) -> list[PartKey]:
        """All its texts."""
        return [part for texts in self.parts.values() for part in texts.values()]


class Items(Parts):
    """All items, in the order in which they started, by id and by index."""

    all: list[ItemKey] = []
    by_id: dict[str, int] = {}
    by_call_id: dict[str, int] = {}
    by_index: dict[int, int] = {}
    calls: CallBook = msgspec.field(default_factory=CallBook)

    def find(self, id: str | None, index: int | None) -> ItemKey | None:
        """The item of an event: by its id, else by its index, else (if it has neither) the newest."""
        at = self.by_id.get(id) if id is not None else None
        if at is None:
            at = self.by_index.get(index) if index is not None else len(self.all) - 1 if id is None and self.all else None
        return self.all[at] if at is not None else None

    def whole_text(self, emit: Emit, item: ItemKey, channel: str, index: int, text: str) -> None:
        """A text, all of it: whatever was not sent before is sent now."""
        if not text and item.part(channel, index) is None:
            return
        part = self.part_of(item, channel, index)
        missing = part.sent.missing(text)
        if missing is None:
            self._disagree(emit, f"a whole {channel} is not what its deltas were; the deltas count", part.number)
        elif missing:
            self.send(emit, item, part, missing, EVENT_OF_CHANNEL[channel], channel)

    def send(self, emit: Emit, item: ItemKey, part: PartKey, delta: str, event: Callable[[str, int], Any], channel: str) -> None:
        first = not part.sent.begun
        part.sent.more([delta])
        emit(event(delta, part.number))
        if first:
            whose = {"id": item.id} if item.id else {}
            field = {} if channel in ("output_text", "refusal") else {"field": channel}
            if whose or field:
                emit(Extra(part.number, {**whose, **field}))

    def part_of(self, item: ItemKey, channel: str, index: int) -> PartKey:
        part = item.part(channel, index)
        if part is None:
            part = item.parts.setdefault(channel, {})[index] = PartKey(self.new_part(), Sent())
        return part

    def content(self, emit: Emit, item: ItemKey, raw: Mapping[str, Any], index: int, *, whole: bool) -> None:
        """One entry of an item's `content` or `summary`."""
        kind = str(raw.get("type"))
        channel = CHANNEL_OF_CONTENT.get(kind)
        if channel is None:
            if whole and item.part(kind, index) is None:
                part = self.part_of(item, kind, index)
                emit(ProviderBlock(kind, dict(raw), part.number))
            return
        text = raw.get("refusal" if channel == "refusal" else "text")
        if isinstance(text, str) and (text or whole):
            self.whole_text(emit, item, channel, index, text)
        known = item.part(channel, index)
        if known is None or not known.sent.begun:
            return
        for citation in list_at(raw, "annotations")[known.citations :]:
            if isinstance(citation, dict):
                self.cite(emit, known, citation)
        if whole:
            if (logprobs := list_at(raw, "logprobs")) and not known.logprobs:
                known.logprobs = True
                emit(LogProbs({"content": logprobs}))
            extra = {key: value for key, value in raw.items() if key not in MODELLED_IN_CONTENT and value not in (None, [], {})}
            if extra and not known.ended:
                emit(Extra(known.number, extra))
            self._end_part(emit, known)

    def cite(self, emit: Emit, part: PartKey, citation: dict[str, Any]) -> None:
        part.citations += 1
        emit(Citation(citation, part.number))

    def _end_part(self, emit: Emit, part: PartKey) -> None:
        if not part.ended:
            part.ended = True
            emit(PartEnd(part.number))

    def more_arguments(self, emit: Emit, item: ItemKey, delta: str) -> None:
        item.given = ""
        item.arguments.more([delta])
        if item.call is not None:
            self.calls.write(emit, item.call, delta)
        elif item.block is not None:
            emit(BlockDelta(item.block, "arguments", delta))

    def whole_arguments(self, emit: Emit, item: ItemKey, arguments: object) -> None:
        """A call's arguments, all of them; a server that sends the object itself gets its canonical JSON."""
        text = to_bytes(arguments).decode() if isinstance(arguments, dict | list) else arguments
        if not isinstance(text, str) or not text:
            return
        missing = item.arguments.missing(text)
        if missing:
            self.more_arguments(emit, item, missing)
        elif missing is None and not item.contradicted:
            item.contradicted = True
            where = self.calls.id_of(item.call) if item.call is not None else ""
            self._disagree(emit, "whole arguments are not what their deltas were: no call, unless they mean the same", where)
            self.more_arguments(emit, item, text)

    def end_call(self, emit: Emit, item: ItemKey) -> None:
        if item.call is not None:
            if item.given:
                self.more_arguments(emit, item, item.given)
            self.calls.end(emit, item.call)

    def _disagree(self, emit: Emit, message: str, where: object) -> None:
        emit(Notice("resent_text_differs", message, f"part {where}" if isinstance(where, int) else str(where)))

    def new(self, kind: str, id: str | None, index: int | None) -> ItemKey:
        item = ItemKey(kind, len(self.all), id)
        self.all.append(item)
        at = len(self.all) - 1
        self.by_index[at if index is None else index] = at
        if id:
            self.by_id[id] = at
        return item

    def begin(self, emit: Emit, raw: Mapping[str, Any], index: int | None) -> ItemKey:
        """Start an item with whatever its start already holds."""
        known = self.by_id.get(text_at(raw, "id") or "", self.by_call_id.get(text_at(raw, "call_id") or ""))
        if known is not None:
            return self.all[known]
        kind = str(raw.get("type"))
        item = self.new(kind, text_at(raw, "id"), index)
        if kind in CALLS:
            call_id = text_at(raw, "call_id") or text_at(raw, "id")
            item.call = self.calls.open(emit, call_id, text_at(raw, "name"), CALLS[kind])
            if call_id:
                self.by_call_id[call_id] = len(self.all) - 1
            given = raw.get("arguments") if kind == "function_call" else raw.get("input")
            item.given = to_bytes(given).decode() if isinstance(given, dict | list) else given if isinstance(given, str) else ""
            self._call_extra(emit, item, raw)
        elif kind == "image_generation_call":
            item.block = self.new_part()
            emit(MediaDelta("image", None, "", item.block))
        elif kind not in ("message", "reasoning"):
            item.block = self.new_part()
            emit(ProviderBlock(kind, dict(raw), item.block))
        return item

    def whole(self, emit: Emit, raw: Mapping[str, Any], index: int | None) -> None:
        """An item, all of it: at its end, in the terminal response, or in an unstreamed body."""
        self._fold(emit, self.match(raw, index) or self.begin(emit, raw, index), raw)

    def _fold(self, emit: Emit, item: ItemKey, raw: Mapping[str, Any]) -> None:
        again = item.done
        whole = raw.get("status") not in ("in_progress", "incomplete")
        item.done = True
        if item.kind in CALLS:
            self._whole_call(emit, item, raw, whole)
        elif item.kind == "image_generation_call":
            self._image(emit, item, raw, again)
        elif item.block is not None:
            if not again:
                emit(ProviderBlock(item.kind, dict(raw), item.block))
        else:
            self._texts(emit, item, raw, again)

    def match(self, raw: Mapping[str, Any], index: int | None) -> ItemKey | None:
        """The item that a whole one is: by its id, by its call's id, else the open one at its index or the newest of its kind."""
        at = self.by_id.get(text_at(raw, "id") or "")
        if at is None:
            at = self.by_call_id.get(text_at(raw, "call_id") or "")
        if at is not None:
            return self.all[at]
        at = self.by_index.get(index) if index is not None else None
        candidates = [self.all[at]] if at is not None else reversed(self.all) if index is None and not text_at(raw, "id") else []
        return next((item for item in candidates if not item.done and self._may_be(item, raw)), None)

    def _may_be(self, item: ItemKey, raw: Mapping[str, Any]) -> bool:
        """Whether an item may be the one of a whole: of one kind, and not the calls of two ids."""
        call_id = text_at(raw, "call_id")
        known = self.calls.calls[item.call].wire_id if item.call is not None else None
        return item.kind == raw.get("type") and (call_id is None or known is None or call_id == known)

    def reconcile(self, emit: Emit, output: list[Any]) -> None:
        """The items of the whole response: what has an id we know, then the others in the order of their kind."""
        raws = [raw for raw in output if isinstance(raw, Mapping)]
        found: dict[int, ItemKey | None] = {}
        for place, raw in enumerate(raws):
            at = self.by_id.get(text_at(raw, "id") or "")
            at = self.by_call_id.get(text_at(raw, "call_id") or "") if at is None else at
            found[place] = self.all[at] if at is not None else None
        taken = [id(item) for item in found.values() if item is not None]
        left: dict[str, list[ItemKey]] = {}
        for item in self.all:
            if id(item) not in taken:
                left.setdefault(item.kind, []).append(item)
        for place, raw in enumerate(raws):
            queue = left.get(str(raw.get("type")), [])
            if found[place] is None and queue and self._may_be(queue[0], raw):
                found[place] = queue.pop(0)
            self._fold(emit, found[place] or self.begin(emit, raw, None), raw)

    def _whole_call(self, emit: Emit, item: ItemKey, raw: Mapping[str, Any], whole: bool) -> None:
        if item.call is None:
            item.call = self.calls.open(emit, text_at(raw, "call_id"), None, CALLS[item.kind])
        if call_id := text_at(raw, "call_id"):
            self.by_call_id.setdefault(call_id, item.at)
        if name := text_at(raw, "name"):
            self.calls.name(emit, item.call, name)
        self.whole_arguments(emit, item, raw.get("input" if item.kind == "custom_tool_call" else "arguments"))
        self._call_extra(emit, item, raw)
        if whole:
            self.end_call(emit, item)

    def _call_extra(self, emit: Emit, item: ItemKey, raw: Mapping[str, Any]) -> None:
        extra = {key: value for key, value in raw.items() if key not in MODELLED_IN_CALL and value is not None}
        if extra and item.call is not None:
            emit(Extra(None, extra, self.calls.id_of(item.call)))

    def _image(self, emit: Emit, item: ItemKey, raw: Mapping[str, Any], again: bool) -> None:
        if item.block is None or again:
            return
        if result := text_at(raw, "result"):
            emit(MediaDelta("image", f"image/{raw.get('output_format') or 'png'}", result, item.block))
        emit(Extra(item.block, {key: value for key, value in raw.items() if key != "result"}))

    def _texts(self, emit: Emit, item: ItemKey, raw: Mapping[str, Any], again: bool) -> None:
        """A message or a reasoning item: its texts, then what belongs to all of it, kept with the first of them."""
        for key in ("summary", "content"):
            for at, content in enumerate(list_at(raw, key)):
                if isinstance(content, Mapping):
                    self.content(emit, item, content, at, whole=True)
        if again:
            return
        texts = sorted(item.texts(), key=lambda part: part.number)
        for part in texts:
            self._end_part(emit, part)
        modelled = MODELLED_IN_REASONING if item.kind == "reasoning" else MODELLED_IN_MESSAGE
        first = texts[0] if texts else None
        encrypted = text_at(raw, "encrypted_content")
        if first is None and item.kind == "reasoning":
            if encrypted:
                first = self.part_of(item, "encrypted_content", 0)
            else:  # nothing to read, but its id has to go back
                emit(ProviderBlock("reasoning", dict(raw), self.new_part()))
        if first is None:
            return
        if encrypted:
            emit(ReasoningSignature(encrypted, first.number))
        extra = {key: value for key, value in raw.items() if key not in modelled and value is not None}
        if extra:
            emit(Extra(first.number, extra))
