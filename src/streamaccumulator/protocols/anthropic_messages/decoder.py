"""Events of Anthropic Messages to ours.

Blocks go by their index on the wire and may overlap; each one that starts gets a part number of its own, so an index
used again is another part. A block is read by the type of its deltas, so one whose start was lost still opens.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..._json import to_bytes
from ...events import (
    BlockDelta,
    Citation,
    Extra,
    Notice,
    PartEnd,
    ProviderBlock,
    ReasoningDelta,
    ReasoningSignature,
    RedactedReasoning,
    Started,
    TextDelta,
    Unknown,
    Usage,
)
from ..calls import CallBook
from ..counts import usage_of
from ..decoder import Decoder, Parts
from ..plain import Growth, growing
from ..raw import text_at
from .chunks import (
    BLANKS,
    FINISH_REASONS,
    MODELLED_IN_DELTA,
    MODELLED_IN_EVENT,
    MODELLED_IN_MESSAGE,
    USAGE_PATHS,
    Event,
    Message,
    PlainEvent,
)


class Block(msgspec.Struct):
    """What is remembered of one block: its part, its call, and an input that came with the start and may yet be replaced."""

    part: int
    call: int | None = None
    opaque: bool = False
    """Whether it is a block that we do not model."""
    input: dict[str, Any] | None = None
    begun: str | None = None
    """The text it started with, until its first delta."""


class State(Parts):
    """What is remembered of one stream."""

    id: str | None = None
    started: bool = False
    messages: int = 0
    """How many messages have started."""
    blocks: dict[int, Block] = {}
    calls: CallBook = msgspec.field(default_factory=CallBook)


class AnthropicMessagesDecoder(Decoder[Event]):
    """See the module. One stream, one message."""

    chunk_type = Event
    plain_type = PlainEvent
    blanks = BLANKS
    state_type = State
    state: State

    def _read(self, chunk: Event, event: str) -> None:
        kind = chunk.type or event
        reader = _READERS.get(kind)
        if reader is not None:
            reader(self, chunk)
        elif chunk.error:
            self._error(chunk.error)
        else:
            self.to_all(Unknown(kind))

    def close(self) -> None:
        """No more comes."""
        self._flush_inputs()
        super().close()

    def _flush_inputs(self) -> None:
        """An input that waited for its fragments is what the call had, though nobody ended it."""
        for block in self.state.blocks.values():
            self._flush_input(block)

    def _flush_input(self, block: Block) -> None:
        if block.input is not None and block.call is not None:
            self._input(block, to_bytes(block.input).decode())

    def _said(self, chunk: PlainEvent | Event) -> tuple[str | None, int | None]:
        delta = chunk.delta
        return (getattr(delta, _TEXT_OF.get(delta.type or "", ""), None), None) if delta is not None else (None, None)

    def _growth(self, chunk: PlainEvent | Event) -> Growth | None:
        delta, block = chunk.delta, self.state.blocks.get(chunk.index or 0)
        if block is None or delta is None:
            return None
        if delta.type == "text_delta":
            return growing(TextDelta, block.part) if block.begun is None else None
        if delta.type == "thinking_delta":
            return growing(ReasoningDelta, block.part)
        return self.state.calls.growth(block.call) if block.input is None else None

    # ---- One reader per event of the wire.

    def _block_delta(self, chunk: Event) -> None:
        delta = chunk.delta
        block = self.state.blocks.get(chunk.index or 0)
        if block is None:
            block = self._unstarted(chunk)
        kind = delta.type if delta is not None else None
        if delta is None:
            return
        if kind == "text_delta" and delta.text and block.begun is not None:
            self._compare(block, delta.text)
        text, _ = self._said(chunk)
        growth = self._growth(chunk) if text else None
        event = growth.one(text, None) if growth is not None and text else None
        if event is not None and event is not True:
            self._emits[0](event)
        elif kind == "input_json_delta":
            if delta.partial_json:
                self._input(block, delta.partial_json)
        elif kind in ("text_delta", "thinking_delta"):
            return  # an empty one
        elif kind == "signature_delta":
            if delta.signature:
                self._emits[0](ReasoningSignature(delta.signature, block.part))
        elif kind == "citations_delta" and delta.citation is not None:
            self._emits[0](Citation(delta.citation, block.part))
        else:
            self._unknown_delta(block, kind)

    def _compare(self, block: Block, text: str) -> None:
        """A server may give a block its first text at its start, and then again as a delta: told, and never taken out."""
        if text == block.begun:
            self._emits[0](Notice("repeated_text", "the first delta of a block repeats the text it started with; both were kept"))
        block.begun = None

    def _message_start(self, chunk: Event) -> None:
        if isinstance(chunk.message, Message):
            raw = self._untyped().get("message")
            self._message(chunk.message, raw if isinstance(raw, Mapping) else {})

    def _whole_message(self, chunk: Event) -> None:
        """An unstreamed body: a message at the top level."""
        message = Message(chunk.id, chunk.model, None, chunk.content, chunk.stop_reason, chunk.usage)
        self._message(message, self._untyped())

    def _message(self, message: Message, raw: Mapping[str, Any]) -> None:
        state = self.state
        if state.messages:
            self.to_all(Notice("second_response", "a second message started in the same stream; both were kept"))
        state.started, state.messages = True, state.messages + 1
        self._flush_inputs()
        state.blocks.clear()
        self.to_all(Started(message.id or None, message.model or None, message.provider or None))
        self._keep_unmodelled(MODELLED_IN_MESSAGE, raw, self._emits[0])
        if message.usage:
            self.to_all(Usage(usage_of(message.usage, USAGE_PATHS, input_includes_cache=False, output_includes_reasoning=True)))
        content = message.content
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
            self._end_block(self._open(block))
        if message.stop_reason:
            self._finish(message.stop_reason)

    def _block_start(self, chunk: Event) -> None:
        index = chunk.index or 0
        if index in self.state.blocks:
            self._flush_input(self.state.blocks[index])
        self.state.blocks[index] = self._open(chunk.content_block or {})

    def _block_stop(self, chunk: Event) -> None:
        block = self.state.blocks.get(chunk.index or 0)
        if block is not None:
            self._end_block(block)

    def _message_delta(self, chunk: Event) -> None:
        raw = self._untyped()
        self._start_if_lost()
        if chunk.usage:
            self.to_all(Usage(usage_of(chunk.usage, USAGE_PATHS, input_includes_cache=False, output_includes_reasoning=True)))
        self._keep_unmodelled(MODELLED_IN_EVENT, raw, self._emits[0])
        delta = raw.get("delta")
        if isinstance(delta, Mapping):
            self._keep_unmodelled(MODELLED_IN_DELTA, delta, self._emits[0])
        if chunk.delta is not None and chunk.delta.stop_reason:
            self._finish(chunk.delta.stop_reason)

    def _message_stop(self, chunk: Event) -> None:
        """The end mark. It says nothing of why the model stopped: that was `message_delta`."""
        self._start_if_lost()
        self._keep_unmodelled(MODELLED_IN_EVENT, self._untyped(), self._emits[0])

    def _ping(self, chunk: Event) -> None:
        """A keep-alive."""

    def _stream_error(self, chunk: Event) -> None:
        raw = self._untyped()
        beside = {key: value for key, value in raw.items() if key not in ("type", "error")}
        error = chunk.error or beside
        self._error({**error, **beside} if isinstance(error, Mapping) else error)

    # ---- Blocks.

    def _open(self, raw: Mapping[str, Any]) -> Block:
        """Start a block with whatever its start already holds."""
        emit = self._emits[0]
        self._start_if_lost()
        block = Block(self.state.new_part())
        kind = str(raw.get("type"))
        if kind in _MODELLED:
            self._open_modelled(block, raw, kind)
        else:
            block.opaque = True
            emit(ProviderBlock(kind, dict(raw), block.part))
        return block

    def _open_modelled(self, block: Block, raw: Mapping[str, Any], kind: str) -> None:
        emit = self._emits[0]
        if kind == "text":
            self._emit_text(raw, "text", TextDelta, block.part)
            block.begun = text_at(raw, "text")
            citations = raw.get("citations")
            for citation in citations if isinstance(citations, list) else ():
                if isinstance(citation, dict):
                    emit(Citation(citation, block.part))
        elif kind == "thinking":
            self._emit_text(raw, "thinking", ReasoningDelta, block.part)
            self._emit_text(raw, "signature", ReasoningSignature, block.part)
        elif kind == "redacted_thinking":
            self._emit_text(raw, "data", RedactedReasoning, block.part)
        else:
            self._open_call(block, raw)
        rest = {key: value for key, value in raw.items() if key not in _MODELLED[kind] and value is not None}
        if rest:
            emit(Extra(None, rest, self.state.calls.id_of(block.call)) if block.call is not None else Extra(block.part, rest))

    def _emit_text(self, raw: Mapping[str, Any], key: str, event: Callable[[str, int], Any], part: int) -> None:
        text = raw.get(key)
        if isinstance(text, str) and text:
            self._emits[0](event(text, part))

    def _open_call(self, block: Block, raw: Mapping[str, Any]) -> None:
        """A call. An input that comes with the start is a default: the first real fragment replaces it."""
        id, name, given = raw.get("id"), raw.get("name"), raw.get("input")
        emit = self._emits[0]
        block.call = self.state.calls.fragment(
            emit, block.part, id if isinstance(id, str) else None, name if isinstance(name, str) else None
        )
        block.input = given if isinstance(given, dict) and given else None

    def _input(self, block: Block, text: str) -> None:
        block.input = None
        if block.opaque:
            self._emits[0](BlockDelta(block.part, "input", text, json=True))
            return
        if block.call is None:
            block.call = self.state.calls.fragment(self._emits[0], block.part, None, None)
        self.state.calls.write(self._emits[0], block.call, text)

    def _end_block(self, block: Block) -> None:
        if block.call is None:
            self._emits[0](PartEnd(block.part))
            return
        self._flush_input(block)
        self.state.calls.end(self._emits[0], block.call)

    def _unstarted(self, chunk: Event) -> Block:
        """The block of a delta whose start was lost: the kind of the delta opens it."""
        self._start_if_lost()
        index = chunk.index or 0
        self._emits[0](Notice("block_not_started", "a delta came for a block that never started; it opens one", f"block {index}"))
        block = self.state.blocks[index] = Block(self.state.new_part())
        return block

    def _unknown_delta(self, block: Block, kind: str | None) -> None:
        """A delta we do not model. On a provider block its texts are pieces of that block's; elsewhere it is counted."""
        delta = self._untyped().get("delta")
        texts = {key: value for key, value in delta.items() if key != "type"} if isinstance(delta, Mapping) else {}
        for key, value in texts.items():
            if block.opaque and isinstance(value, str):
                if value:
                    self._emits[0](BlockDelta(block.part, key, value))
            elif value is not None:
                self._emits[0](Extra(block.part, {key: value}))
        if not block.opaque:
            self.to_all(Unknown(str(kind)))

    def _start_if_lost(self) -> None:
        if not self.state.started:
            self.state.started = True
            self.to_all(Started())

    def _finish(self, raw: str) -> None:
        self._flush_inputs()
        self._finished(self._emits[0], FINISH_REASONS, raw)
        if raw == "pause_turn":
            self._emits[0](Notice("paused", "the model paused: it goes on when its message is sent back as it is"))


_TEXT_OF = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
"""The text of a delta, by its type."""

_MODELLED: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""The kinds of blocks that are parts of ours, and their keys that are read; other keys are kept with the part."""

_READERS: dict[str, Callable[[AnthropicMessagesDecoder, Event], None]] = {
    "content_block_delta": AnthropicMessagesDecoder._block_delta,
    "content_block_start": AnthropicMessagesDecoder._block_start,
    "content_block_stop": AnthropicMessagesDecoder._block_stop,
    "message_start": AnthropicMessagesDecoder._message_start,
    "message_delta": AnthropicMessagesDecoder._message_delta,
    "message_stop": AnthropicMessagesDecoder._message_stop,
    "message": AnthropicMessagesDecoder._whole_message,
    "ping": AnthropicMessagesDecoder._ping,
    "error": AnthropicMessagesDecoder._stream_error,
}
