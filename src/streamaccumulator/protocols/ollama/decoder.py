"""Lines of Ollama to events.

A call comes whole, its arguments an object; calls without an id, or several at once, are each a call of their own.
`done` is the end mark, and with it come the counts.
"""

import msgspec

from ...events import LogProbs, MediaDelta, ReasoningDelta, Started, TextDelta, Usage
from ..calls import CallBook
from ..counts import usage_of
from ..decoder import Decoder
from .chunks import COUNTS, FINISH_REASONS, MODELLED, USAGE_PATHS, Chunk, ToolCall


class State(msgspec.Struct):
    """What is remembered of one stream."""

    started: bool = False
    images: int = 0
    calls: CallBook = msgspec.field(default_factory=CallBook)


class OllamaDecoder(Decoder[Chunk]):
    """See the module. One stream, one message."""

    chunk_type = Chunk
    state_type = State
    state: State

    def _read(self, chunk: Chunk, event: str) -> None:
        emit = self._emits[0]
        if not self.state.started:
            self.state.started = True
            self.to_all(Started(None, chunk.model or None))
        if chunk.error is not None:
            self._error(chunk.error)
        message = chunk.message
        if message is None:
            if chunk.thinking:
                emit(ReasoningDelta(chunk.thinking))
            if chunk.response:
                emit(TextDelta(chunk.response))
        else:
            if message.thinking:
                emit(ReasoningDelta(message.thinking))
            if message.content:
                emit(TextDelta(message.content))
            for call in message.tool_calls or ():
                self._call(call)
            for image in message.images or ():
                self.state.images += 1
                emit(MediaDelta("image", None, image, self.state.images))
        if chunk.logprobs:
            emit(LogProbs({"content": chunk.logprobs}))
        if chunk.done:
            self._done(chunk)

    def _call(self, call: ToolCall) -> None:
        emit, function = self._emits[0], call.function
        key = self.state.calls.open(emit, call.id, function.name if function is not None else None)
        self.state.calls.write(emit, key, function.arguments if function is not None else None)
        self.state.calls.end(emit, key)

    def _done(self, chunk: Chunk) -> None:
        source, emit = self._untyped(), self._emits[0]
        counts = {key: source[key] for key in COUNTS if source.get(key) is not None}
        if counts:
            self.to_all(Usage(usage_of(counts, USAGE_PATHS, input_includes_cache=None)))
        self._keep_unmodelled(MODELLED, source, emit)
        self._finished(emit, FINISH_REASONS, chunk.done_reason or "stop")
