"""Events of Bedrock Converse to ours.

Blocks go by their index. A start is sent only for tools; text and reasoning begin with their first delta. The end mark
of the message comes before its usage.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..._json import to_bytes
from ...events import (
    BlockDelta,
    Citation,
    Extra,
    MediaDelta,
    PartEnd,
    ProviderBlock,
    ReasoningDelta,
    ReasoningSignature,
    RedactedReasoning,
    Started,
    StreamError,
    TextDelta,
    Unknown,
    Usage,
)
from ..calls import CallBook
from ..counts import usage_of
from ..decoder import Decoder, Parts
from ..lenient import lenient
from ..raw import object_at, objects_at, text_at
from .chunks import FINISH_REASONS, MODELLED, USAGE_PATHS, Chunk, Delta, Event, Reasoning


class Block(msgspec.Struct):
    """What is remembered of one block."""

    part: int
    call: int | None = None
    mime: str | None = None
    """The type of an image."""
    opaque: bool = False
    """Whether it is a tool that the provider ran, or its result."""
    results: int = 0
    """Entries of a tool's result so far, which are given as the text of one JSON list."""


class State(Parts):
    """What is remembered of one stream."""

    started: bool = False
    blocks: dict[int, Block] = {}
    calls: CallBook = msgspec.field(default_factory=CallBook)


class BedrockConverseDecoder(Decoder[Chunk]):
    """See the module. One stream, one message."""

    chunk_type = Chunk
    state_type = State
    state: State

    def _read(self, chunk: Chunk, event: str) -> None:
        kind, fields, raw_key = _named(chunk, event)
        reader = _READERS.get(kind)
        if reader is None:
            self._other(chunk, kind)
            return
        if not self.state.started:
            self.state.started = True
            self.to_all(Started())
        reader(self, fields, raw_key)

    def _raw(self, key: str) -> Mapping[str, Any]:
        """The fields of the event now being read, with all their keys."""
        return object_at(self._untyped(), key) if key else self._untyped()

    def _other(self, chunk: Chunk, kind: str) -> None:
        """A whole body, an exception as a member of the union (boto3, logs), or an event we do not know."""
        if chunk.output is not None:
            self._body(chunk)
            return
        if chunk.error is not None:
            self._error(chunk.error)
            return
        for key, value in self._untyped().items():
            if key.endswith("Exception") and isinstance(value, Mapping):
                self.to_all(StreamError(key, str(value.get("message") or value.get("Message") or "no message"), dict(value)))
                return
        self._unknown(kind)

    # ---- One reader per event of the wire.

    def _message_start(self, fields: Event, raw_key: str) -> None:
        """The role, which is always the assistant's."""

    def _block_start(self, fields: Event, raw_key: str) -> None:
        start = fields.start or {}
        if start:
            self.state.blocks[fields.content_block_index or 0] = self._open(start)

    def _block_delta(self, fields: Event, raw_key: str) -> None:
        index = fields.content_block_index or 0
        block = self.state.blocks.get(index)
        if block is None:
            block = self.state.blocks[index] = self._new_block()
        if fields.delta is not None:
            self._delta(block, fields.delta, raw_key)

    def _block_stop(self, fields: Event, raw_key: str) -> None:
        block = self.state.blocks.get(fields.content_block_index or 0)
        if block is not None:
            self._end(block)

    def _message_stop(self, fields: Event, raw_key: str) -> None:
        self._keep_unmodelled(MODELLED, self._raw(raw_key), self._emits[0])
        if fields.stop_reason:
            self._finished(self._emits[0], FINISH_REASONS, fields.stop_reason)

    def _metadata(self, fields: Event, raw_key: str) -> None:
        if fields.usage:
            self.to_all(Usage(usage_of(fields.usage, USAGE_PATHS, input_includes_cache=False, output_includes_reasoning=True)))
        self._keep_unmodelled(MODELLED, self._raw(raw_key), self._emits[0])
        if raw_key:  # InvokeModel has its own metrics beside the event
            self._keep_unmodelled(frozenset({raw_key}), self._untyped(), self._emits[0])

    # ---- Blocks.

    def _new_block(self) -> Block:
        return Block(self.state.new_part())

    def _open(self, start: Mapping[str, Any]) -> Block:
        """Start a block that says what it is: a call, or a tool that the provider runs, or its result."""
        block = self._new_block()
        kind = next(iter(start))
        said = object_at(start, kind)
        if kind == "image":
            block.mime = f"image/{text_at(said, 'format') or 'png'}"
            self._emits[0](MediaDelta("image", block.mime, "", block.part))
            return block
        own = kind != "toolUse" or said.get("type") == "server_tool_use"
        if own:
            block.opaque = True
            self._emits[0](ProviderBlock(kind, dict(said), block.part))
            return block
        id, name = said.get("toolUseId"), said.get("name")
        block.call = self.state.calls.open(
            self._emits[0], id if isinstance(id, str) else None, name if isinstance(name, str) else None
        )
        rest = {key: value for key, value in said.items() if key not in _MODELLED_IN_CALL}
        if rest:
            self._emits[0](Extra(None, rest, self.state.calls.id_of(block.call)))
        return block

    def _delta(self, block: Block, delta: Delta, raw_key: str) -> None:
        emit = self._emits[0]
        if delta.text is not None:
            if delta.text:
                emit(TextDelta(delta.text, block.part))
        elif delta.tool_use is not None:
            self._input(block, delta.tool_use.input)
        elif delta.reasoning_content is not None:
            self._reasoning(block, delta.reasoning_content)
        elif delta.citation is not None:
            emit(Citation(delta.citation, block.part))
        elif delta.image is not None:
            source = object_at(delta.image, "source")
            emit(MediaDelta("image", block.mime, text_at(source, "bytes") or "", block.part))
        elif delta.tool_result is not None:
            self._results(block, delta.tool_result)
        else:
            unknown = object_at(self._raw(raw_key), "delta")
            if unknown:
                self.to_all(Unknown(f"contentBlockDelta of {next(iter(unknown))}"))
                emit(Extra(block.part if block.opaque else None, dict(unknown)))

    def _reasoning(self, block: Block, reasoning: Reasoning) -> None:
        emit = self._emits[0]
        if reasoning.text:
            emit(ReasoningDelta(reasoning.text, block.part))
        if reasoning.signature:
            emit(ReasoningSignature(reasoning.signature, block.part))
        if reasoning.redacted_content:
            emit(RedactedReasoning(reasoning.redacted_content, block.part))

    def _input(self, block: Block, given: str | Mapping[str, Any] | None) -> None:
        text = given if isinstance(given, str) or given is None else to_bytes(given).decode()
        if not text:
            return
        if block.opaque:
            self._emits[0](BlockDelta(block.part, "input", text, json=True))
            return
        if block.call is None:
            block.call = self.state.calls.open(self._emits[0], None, None)
        self.state.calls.write(self._emits[0], block.call, text)

    def _results(self, block: Block, entries: list[Any]) -> None:
        for entry in entries:
            before = "," if block.results else "["
            block.results += 1
            self._emits[0](BlockDelta(block.part, "content", before + to_bytes(entry).decode(), json=True))

    def _end(self, block: Block) -> None:
        if block.results:
            self._emits[0](BlockDelta(block.part, "content", "]", json=True))
            block.results = 0
        if block.call is not None:
            self.state.calls.end(self._emits[0], block.call)
        else:
            self._emits[0](PartEnd(block.part))

    # ---- A whole body: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html

    def _body(self, chunk: Chunk) -> None:
        self.to_all(Started())
        for raw in objects_at(object_at(chunk.output or {}, "message"), "content"):
            if raw:
                self._content(raw)
        self._keep_unmodelled(MODELLED, self._untyped(), self._emits[0])
        if chunk.usage:
            self.to_all(Usage(usage_of(chunk.usage, USAGE_PATHS, input_includes_cache=False, output_includes_reasoning=True)))
        if chunk.stop_reason:
            self._finished(self._emits[0], FINISH_REASONS, chunk.stop_reason)

    def _content(self, raw: Mapping[str, Any]) -> None:
        """One block of a body: `text`, `toolUse`, `reasoningContent`, `citationsContent`, or what only Bedrock knows."""
        kind = next(iter(raw))
        said = raw[kind]
        emit = self._emits[0]
        if kind == "text" and isinstance(said, str):
            block = self._new_block()
            if said:
                emit(TextDelta(said, block.part))
        elif kind == "toolUse" and isinstance(said, Mapping):
            block = self._open(raw)
            self._input(block, said.get("input"))
        elif kind == "reasoningContent" and isinstance(said, Mapping):
            block = self._new_block()
            self._reasoning(block, lenient({**said, **object_at(said, "reasoningText")}, Reasoning, self._tell_misfit))
        elif kind == "citationsContent" and isinstance(said, Mapping):
            block = self._new_block()
            for piece in objects_at(said, "content"):
                if isinstance(piece.get("text"), str):
                    emit(TextDelta(piece["text"], block.part))
            for citation in objects_at(said, "citations"):
                emit(Citation(dict(citation), block.part))
        else:
            block = self._new_block()
            emit(ProviderBlock(kind, dict(said) if isinstance(said, Mapping) else {kind: said}, block.part))
        self._end(block)


_MODELLED_IN_CALL = frozenset({"toolUseId", "name", "input"})


def _named(chunk: Chunk, event: str) -> tuple[str, Event, str]:
    """An event's name, its fields, and the key they are under (empty where they are the payload itself)."""
    for name, field in _UNDER_ITS_NAME.items():
        fields = getattr(chunk, field)
        if fields is not None:
            return name, fields, name
    if event:
        return event, chunk, ""
    if chunk.delta is not None:
        return "contentBlockDelta", chunk, ""
    return "", chunk, ""


_UNDER_ITS_NAME = {
    "contentBlockDelta": "content_block_delta",
    "messageStart": "message_start",
    "contentBlockStart": "content_block_start",
    "contentBlockStop": "content_block_stop",
    "messageStop": "message_stop",
    "metadata": "metadata",
}

_READERS: dict[str, Callable[[BedrockConverseDecoder, Event, str], None]] = {
    "messageStart": BedrockConverseDecoder._message_start,
    "contentBlockStart": BedrockConverseDecoder._block_start,
    "contentBlockDelta": BedrockConverseDecoder._block_delta,
    "contentBlockStop": BedrockConverseDecoder._block_stop,
    "messageStop": BedrockConverseDecoder._message_stop,
    "metadata": BedrockConverseDecoder._metadata,
}
