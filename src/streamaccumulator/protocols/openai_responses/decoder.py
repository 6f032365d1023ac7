"""Events of OpenAI Responses to ours.

The wire says everything up to four times: in deltas, in the `done` of a text, in the `done` of its item, and in the
terminal response. The deltas count; each later whole adds only what was not sent, and where it contradicts what was
sent, the stream wins and a Notice tells. So a server may leave any of them out.

Items are found by `item_id`, else by `output_index`: some servers leave one out, some give an id of its own to each event.
"""

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import msgspec

from ...events import (
    BlockDelta,
    Finish,
    LogProbs,
    Notice,
    Started,
    Unknown,
    Usage,
)
from ..counts import usage_of
from ..decoder import Decoder, reason_of
from ..plain import Growth, growing
from ..raw import list_at, object_at, text_at
from .chunks import (
    BLANKS,
    ECHO,
    FINISH_REASONS,
    MODELLED,
    MODELLED_IN_RESPONSE,
    USAGE_PATHS,
    Event,
    PlainEvent,
)
from .items import EVENT_OF_CHANNEL, KIND_OF_CHANNEL, ItemKey, Items
from .numbers import Numbers


class State(msgspec.Struct):
    """What is remembered of one stream."""

    known: Started | None = None
    items: Items = msgspec.field(default_factory=Items)
    numbers: Numbers = msgspec.field(default_factory=Numbers)
    error_told: bool = False
    """Whether an error event came, which a failed response repeats."""


class OpenAIResponsesDecoder(Decoder[Event]):
    """See the module. One stream, one response."""

    chunk_type = Event
    plain_type = PlainEvent
    blanks = BLANKS
    state_type = State
    gathers = True
    state: State

    @property
    def sequence_number(self) -> int | None:
        numbers = self.state.numbers
        return numbers.newest if numbers.count and not numbers.ignored else None

    def _read(self, chunk: Event, event: str) -> None:
        kind = chunk.type or event
        if chunk.sequence_number is not None and not self._is_news(chunk.sequence_number, kind, chunk.delta):
            return
        channel = _DELTAS.get(kind)
        if channel is not None:
            self._text_delta(chunk, *channel)
        elif (reader := _READERS.get(kind)) is not None:
            reader(self, chunk)
        elif kind in _WHOLE_TEXTS:
            self._text_done(chunk, _WHOLE_TEXTS[kind])
        elif chunk.object == "response":
            self._terminal(chunk)
        elif chunk.error is not None:
            self._error(chunk.error)
        else:
            self._other(chunk, kind)

    def close(self) -> None:
        """No more comes: arguments that waited for a better source are what the call had, though nobody ended it."""
        for item in self.state.items.all:
            if item.call is not None and item.given:
                self.state.items.more_arguments(self._emits[0], item, item.given)
        super().close()

    def _said(self, chunk: PlainEvent) -> tuple[str | None, int | None]:
        return chunk.delta, chunk.sequence_number if not self.state.numbers.ignored else None

    def _growth(self, chunk: PlainEvent) -> Growth | None:
        item = self.state.items.find(chunk.item_id, chunk.output_index)
        if item is None:
            return None
        if chunk.type in _DELTAS:
            channel, event = _DELTAS[chunk.type]
            part = item.part(channel, _index_of(chunk, channel))
            if part is None or not part.sent.begun:
                return None
            return self.state.numbers.growth(chunk.type, part.sent, growing(event, part.number))
        more = self.state.items.calls.growth(item.call) if not item.given else None
        return self.state.numbers.growth(chunk.type, item.arguments, more) if more is not None else None

    def _is_news(self, number: int, kind: str, delta: object) -> bool:
        """Whether an event was not seen before: a resumed stream repeats numbers. A gap is told."""
        if self.state.numbers.ignored or kind in _NEVER_SKIPPED:
            return True
        check = crc32(f"{delta}".encode("utf-8", "surrogatepass"), crc32(kind.encode("utf-8", "surrogatepass")))
        return self.state.numbers.is_news(number, check, self.to_all)

    # ---- Texts: visible, refused, reasoned, summarised.

    def _text_delta(self, chunk: Event, channel: str, event: Callable[[str, int], Any]) -> None:
        delta = chunk.delta
        if delta and isinstance(delta, str):
            item = self._item_of(chunk, KIND_OF_CHANNEL[channel])
            part = self.state.items.part_of(item, channel, _index_of(chunk, channel))
            self.state.items.send(self._emits[0], item, part, delta, event, channel)
        if chunk.logprobs:
            item = self._item_of(chunk, KIND_OF_CHANNEL[channel])
            self.state.items.part_of(item, channel, _index_of(chunk, channel)).logprobs = True
            self._emits[0](LogProbs({"content": chunk.logprobs}))

    def _text_done(self, chunk: Event, channel: str) -> None:
        text = chunk.refusal if channel == "refusal" else chunk.text
        if isinstance(text, str):
            item = self._item_of(chunk, KIND_OF_CHANNEL[channel])
            self.state.items.whole_text(self._emits[0], item, channel, _index_of(chunk, channel), text)

    def _content_part_done(self, chunk: Event) -> None:
        if chunk.part is not None:
            kind = str(chunk.part.get("type"))
            item = self._item_of(chunk, KIND_OF_CHANNEL.get(kind, "message"))
            self.state.items.content(self._emits[0], item, chunk.part, _index_of(chunk, kind), whole=True)

    def _content_part_added(self, chunk: Event) -> None:
        """A part begins; a server that has no deltas may send its text here."""
        if chunk.part is not None:
            kind = str(chunk.part.get("type"))
            item = self._item_of(chunk, KIND_OF_CHANNEL.get(kind, "message"))
            self.state.items.content(self._emits[0], item, chunk.part, _index_of(chunk, kind), whole=False)

    def _annotation(self, chunk: Event) -> None:
        if chunk.annotation is not None:
            item = self._item_of(chunk, "message")
            self.state.items.cite(
                self._emits[0], self.state.items.part_of(item, "output_text", chunk.content_index or 0), chunk.annotation
            )

    # ---- Calls.

    def _arguments_delta(self, chunk: Event) -> None:
        if isinstance(chunk.delta, str) and chunk.delta:
            self.state.items.more_arguments(self._emits[0], self._call_item(chunk, "function"), chunk.delta)

    def _custom_delta(self, chunk: Event) -> None:
        if isinstance(chunk.delta, str) and chunk.delta:
            self.state.items.more_arguments(self._emits[0], self._call_item(chunk, "custom"), chunk.delta)

    def _arguments_done(self, chunk: Event) -> None:
        item = self._call_item(chunk, "function")
        self.state.items.whole_arguments(self._emits[0], item, chunk.arguments if chunk.arguments is not None else item.given)
        self.state.items.end_call(self._emits[0], item)

    def _custom_done(self, chunk: Event) -> None:
        item = self._call_item(chunk, "custom")
        self.state.items.whole_arguments(self._emits[0], item, chunk.input if isinstance(chunk.input, str) else item.given)
        self.state.items.end_call(self._emits[0], item)

    def _call_item(self, chunk: Event, kind: str) -> ItemKey:
        """The item of a call, opened without a name where its start was lost. A provider-run item stays a block."""
        item = self._item_of(chunk, "custom_tool_call" if kind == "custom" else "function_call")
        if item.call is None and item.block is None:
            item.call = self.state.items.calls.open(self._emits[0], None, chunk.name, kind)
        return item

    # ---- Items.

    def _item_added(self, chunk: Event) -> None:
        if chunk.item is not None:
            self._start_if_lost()
            self.state.items.begin(self._emits[0], chunk.item, chunk.output_index)

    def _item_done(self, chunk: Event) -> None:
        if chunk.item is not None:
            self.state.items.whole(self._emits[0], chunk.item, chunk.output_index)

    def _item_of(self, chunk: Event, kind: str) -> ItemKey:
        """The item an event belongs to, opened where its start was lost."""
        item = self.state.items.find(chunk.item_id, chunk.output_index)
        if item is None:
            self._start_if_lost()
            where = str(chunk.item_id or chunk.output_index)
            self._emits[0](Notice("item_not_started", "an event came for an item that never started; it opens one", where))
            item = self.state.items.new(kind, chunk.item_id, chunk.output_index)
        return item

    def _other(self, chunk: Event, kind: str) -> None:
        """A piece of an item that we do not model, or news of its progress; else an event we do not know."""
        item = (
            self.state.items.find(chunk.item_id, chunk.output_index)
            if (chunk.item_id, chunk.output_index) != (None, None)
            else None
        )
        if item is None:
            self.to_all(Unknown(kind))
        elif kind.endswith(".delta") and item.block is not None and isinstance(chunk.delta, str) and chunk.delta:
            key = kind.removeprefix("response.").removesuffix(".delta").removeprefix(item.kind).strip("_.")
            self._emits[0](BlockDelta(item.block, key or "text", chunk.delta))
        elif kind.endswith(".delta") and item.block is None:
            self.to_all(Unknown(kind))

    # ---- The response.

    def _response_started(self, chunk: Event) -> None:
        if chunk.response is not None:
            self._identify(chunk.response)

    def _identify(self, response: Mapping[str, Any]) -> None:
        known = Started(text_at(response, "id"), text_at(response, "model"))
        if known != self.state.known:
            if self.state.known is not None and known.id and self.state.known.id and known.id != self.state.known.id:
                self.to_all(Notice("second_response", "the response id changed in mid-stream: this may be two responses"))
            self.state.known = known
            self.to_all(known)

    def _start_if_lost(self) -> None:
        if self.state.known is None:
            self.state.known = Started()
            self.to_all(self.state.known)

    def _terminal(self, chunk: Event) -> None:
        """The response as it ended, or an unstreamed body: reconcile its items, then say why it ended."""
        response = chunk.response if chunk.response is not None else self._untyped()
        self._identify(response)
        self.state.items.reconcile(self._emits[0], list_at(response, "output"))
        emit = self._emits[0]
        self._keep_unmodelled(MODELLED_IN_RESPONSE | ECHO, response, emit)
        if chunk.response is not None:
            self._keep_unmodelled(MODELLED, self._untyped(), emit)
        if usage := object_at(response, "usage"):
            self.to_all(Usage(usage_of(dict(usage), USAGE_PATHS, input_includes_cache=True, output_includes_reasoning=True)))
        self._finish(response, _STATUS_OF.get(chunk.type or "", "completed" if chunk.response is not None else ""))

    def _finish(self, response: Mapping[str, Any], told: str) -> None:
        said = text_at(response, "status")
        status = said if said not in (None, "in_progress", "queued") else told
        reason = text_at(object_at(response, "incomplete_details"), "reason")
        raw = reason if status == "incomplete" and reason else status
        if not raw:
            return  # a body of a response that still runs
        if self.state.error_told:
            self._emits[0](Finish(reason_of(FINISH_REASONS, raw), raw))
        else:
            self._finished(self._emits[0], FINISH_REASONS, raw, response.get("error") or None)

    def _error_frame(self, data: bytes) -> None:
        """An error event, which a failed response repeats."""
        self._start_if_lost()
        self.state.error_told = True
        super()._error_frame(data)

    def _stream_error(self, chunk: Event) -> None:
        self._start_if_lost()
        self.state.error_told = True
        self._error(chunk.error if chunk.error is not None else {key: v for key, v in self._untyped().items() if key != "type"})


def _index_of(chunk: Event | PlainEvent, channel: str) -> int:
    return (chunk.summary_index if channel == "summary_text" else chunk.content_index) or 0


_CHANNEL_OF_EVENT = {
    "response.output_text": "output_text",
    "response.refusal": "refusal",
    "response.reasoning_text": "reasoning_text",
    "response.reasoning_summary_text": "summary_text",
}
_DELTAS = {f"{name}.delta": (channel, EVENT_OF_CHANNEL[channel]) for name, channel in _CHANNEL_OF_EVENT.items()}
_WHOLE_TEXTS = {f"{name}.done": channel for name, channel in _CHANNEL_OF_EVENT.items()}

_NEVER_SKIPPED = frozenset({"error", "response.completed", "response.incomplete", "response.failed", "response.cancelled"})
"""Events whose number says nothing on some servers, and that do no harm twice."""

_STATUS_OF = {"response.failed": "failed", "response.incomplete": "incomplete", "response.cancelled": "cancelled"}

_READERS: dict[str, Callable[[OpenAIResponsesDecoder, Event], None]] = {
    "response.created": OpenAIResponsesDecoder._response_started,
    "response.queued": OpenAIResponsesDecoder._response_started,
    "response.in_progress": OpenAIResponsesDecoder._response_started,
    "response.output_item.added": OpenAIResponsesDecoder._item_added,
    "response.output_item.done": OpenAIResponsesDecoder._item_done,
    "response.content_part.added": OpenAIResponsesDecoder._content_part_added,
    "response.content_part.done": OpenAIResponsesDecoder._content_part_done,
    "response.reasoning_summary_part.added": OpenAIResponsesDecoder._content_part_added,
    "response.reasoning_summary_part.done": OpenAIResponsesDecoder._content_part_done,
    "response.output_text.annotation.added": OpenAIResponsesDecoder._annotation,
    "response.function_call_arguments.delta": OpenAIResponsesDecoder._arguments_delta,
    "response.function_call_arguments.done": OpenAIResponsesDecoder._arguments_done,
    "response.custom_tool_call_input.delta": OpenAIResponsesDecoder._custom_delta,
    "response.custom_tool_call_input.done": OpenAIResponsesDecoder._custom_done,
    "response.completed": OpenAIResponsesDecoder._terminal,
    "response.done": OpenAIResponsesDecoder._terminal,
    "response.incomplete": OpenAIResponsesDecoder._terminal,
    "response.failed": OpenAIResponsesDecoder._terminal,
    "response.cancelled": OpenAIResponsesDecoder._terminal,
    "error": OpenAIResponsesDecoder._stream_error,
    "response.error": OpenAIResponsesDecoder._stream_error,
}
