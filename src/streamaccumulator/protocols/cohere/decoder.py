"""Events of Cohere's chat v2 to ours.

Contents go by their index and are text or thinking; calls have indexes of their own. The plan that a model makes before
its calls (`tool_plan`) is reasoning under another name, and is marked so that it can go back as it came.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ...events import Citation, Extra, LogProbs, PartEnd, ReasoningDelta, Started, TextDelta, Usage
from ..calls import CallBook
from ..counts import usage_of
from ..decoder import Decoder, Parts
from .chunks import (
    FINISH_REASONS,
    MODELLED,
    MODELLED_IN_DELTA,
    USAGE_PATHS,
    Content,
    Event,
    Message,
    ToolCall,
)


class State(Parts):
    """What is remembered of one stream."""

    started: bool = False
    id: str | None = None
    contents: dict[int, int] = {}
    """The part of each content, by its index."""
    plan: int | None = None
    calls: CallBook = msgspec.field(default_factory=CallBook)


class CohereDecoder(Decoder[Event]):
    """See the module. One stream, one message."""

    chunk_type = Event
    state_type = State
    state: State

    def _read(self, chunk: Event, event: str) -> None:
        kind = chunk.type or event
        reader = _READERS.get(kind)
        if not self.state.started or (chunk.id and not self.state.id):
            self.state.started, self.state.id = True, chunk.id
            self.to_all(Started(chunk.id or None))
        if reader is not None:
            reader(self, chunk, chunk.delta.message if chunk.delta is not None and chunk.delta.message is not None else Message())
        elif chunk.error is not None:
            self._error(chunk.error)
        elif isinstance(chunk.message, Message):
            self._body(chunk, chunk.message)
        else:
            self._unknown(kind)

    # ---- One reader per event of the wire.

    def _message_start(self, chunk: Event, message: Message) -> None:
        """The id, which was read; contents and calls are empty lists."""

    def _content_start(self, chunk: Event, message: Message) -> None:
        self.state.contents[chunk.index or 0] = self.state.new_part()
        self._content_delta(chunk, message)

    def _content_delta(self, chunk: Event, message: Message) -> None:
        index = chunk.index or 0
        part = self.state.contents.get(index)
        if part is None:
            part = self.state.contents[index] = self.state.new_part()
        if isinstance(message.content, Content):
            self._content(message.content, part)
        if chunk.logprobs:
            self._emits[0](LogProbs({"content": [chunk.logprobs]}))

    def _content_end(self, chunk: Event, message: Message) -> None:
        part = self.state.contents.get(chunk.index or 0)
        if part is not None:
            self._emits[0](PartEnd(part))

    def _tool_plan(self, chunk: Event, message: Message) -> None:
        if message.tool_plan:
            opened = self.state.plan is None
            if self.state.plan is None:
                self.state.plan = self.state.new_part()
            self._emits[0](ReasoningDelta(message.tool_plan, self.state.plan))
            if opened:
                self._emits[0](Extra(self.state.plan, {"field": "tool_plan"}))

    def _call(self, chunk: Event, message: Message) -> None:
        if isinstance(message.tool_calls, ToolCall):
            self._fragment(message.tool_calls, chunk.index)

    def _call_end(self, chunk: Event, message: Message) -> None:
        at = self.state.calls.at_index.get(chunk.index or 0)
        if at is not None:
            self.state.calls.end(self._emits[0], at)

    def _citation(self, chunk: Event, message: Message) -> None:
        for citation in message.citations if isinstance(message.citations, list) else [message.citations]:
            if citation:
                content = citation.get("content_index")
                self._emits[0](Citation(citation, self.state.contents.get(content) if isinstance(content, int) else None))

    def _citation_end(self, chunk: Event, message: Message) -> None:
        """A citation came whole with its start."""

    def _message_end(self, chunk: Event, message: Message) -> None:
        delta = chunk.delta
        raw = self._untyped().get("delta")
        if delta is None or not isinstance(raw, Mapping):
            return
        self._keep_unmodelled(MODELLED_IN_DELTA, raw, self._emits[0])
        said = {"type": delta.error_type, "message": delta.error} if isinstance(delta.error, str) else delta.error
        self._end(delta.finish_reason, delta.usage, said)

    def _debug(self, chunk: Event, message: Message) -> None:
        """The prompt, which is no part of the answer."""

    # ---- What events and bodies share.

    def _content(self, content: Content, part: int) -> None:
        if content.thinking:
            self._emits[0](ReasoningDelta(content.thinking, part))
        if content.text:
            self._emits[0](TextDelta(content.text, part))

    def _fragment(self, call: ToolCall, index: int | None) -> None:
        name = call.function.name if call.function is not None else None
        given = call.function.arguments if call.function is not None else None
        key = self.state.calls.fragment(self._emits[0], index, call.id, name)
        self.state.calls.write(self._emits[0], key, given)

    def _end(self, reason: str | None, usage: dict[str, Any] | None, error: object = None) -> None:
        if usage:
            self.to_all(Usage(usage_of(usage, USAGE_PATHS, input_includes_cache=None)))
        if reason:
            self._finished(self._emits[0], FINISH_REASONS, reason, error)
        elif error is not None:
            self._error(error)

    def _body(self, chunk: Event, message: Message) -> None:
        """An unstreamed body: https://docs.cohere.com/reference/chat"""
        if message.tool_plan:
            self._tool_plan(chunk, message)
        contents = message.content if isinstance(message.content, list) else []
        for at, content in enumerate([Content("text", message.content)] if isinstance(message.content, str) else contents):
            self.state.contents[at] = part = self.state.new_part()
            self._content(content, part)
        self._citation(chunk, message)  # before the ends: one that names no content belongs to the text before it
        for part in self.state.contents.values():
            self._emits[0](PartEnd(part))
        for at, call in enumerate(message.tool_calls if isinstance(message.tool_calls, list) else []):
            self._fragment(call, at)
        self.state.calls.end_all(self._emits[0])
        self._keep_unmodelled(MODELLED, self._untyped(), self._emits[0])
        self._end(chunk.finish_reason, chunk.usage)


_READERS: dict[str, Callable[[CohereDecoder, Event, Message], None]] = {
    "message-start": CohereDecoder._message_start,
    "content-start": CohereDecoder._content_start,
    "content-delta": CohereDecoder._content_delta,
    "content-end": CohereDecoder._content_end,
    "tool-plan-delta": CohereDecoder._tool_plan,
    "tool-call-start": CohereDecoder._call,
    "tool-call-delta": CohereDecoder._call,
    "tool-call-end": CohereDecoder._call_end,
    "citation-start": CohereDecoder._citation,
    "citation-end": CohereDecoder._citation_end,
    "message-end": CohereDecoder._message_end,
    "debug": CohereDecoder._debug,
}
