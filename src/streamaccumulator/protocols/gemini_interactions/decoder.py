"""Events of Gemini's Interactions to ours. Steps go by their index, and say at their start what they are."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ...events import (
    Citation,
    Extra,
    MediaDelta,
    PartEnd,
    ProviderBlock,
    ReasoningDelta,
    ReasoningSignature,
    Started,
    TextDelta,
    Unknown,
    Usage,
)
from ..calls import CallBook
from ..counts import usage_of
from ..decoder import Decoder, Parts
from ..raw import object_at, objects_at, text_at
from .chunks import FINISH_REASONS, MODELLED_IN_INTERACTION, USAGE_PATHS, Delta, Event


class Step(msgspec.Struct):
    """What is remembered of one step."""

    kind: str
    part: int
    call: int | None = None


class State(Parts):
    """What is remembered of one stream."""

    known: Started | None = None
    steps: dict[int, Step] = {}
    calls: CallBook = msgspec.field(default_factory=CallBook)


class GeminiInteractionsDecoder(Decoder[Event]):
    """See the module. One stream, one interaction."""

    chunk_type = Event
    state_type = State
    state: State

    def _read(self, chunk: Event, event: str) -> None:
        kind = chunk.event_type or event
        if self.state.known is None:
            self._identify({})
        self._count(chunk.metadata or {})
        reader = _READERS.get(kind)
        if reader is not None:
            reader(self, chunk)
        elif chunk.object == "interaction":
            self._body()
        elif chunk.error is not None:
            self._error(chunk.error)
        else:
            self.to_all(Unknown(kind))

    # ---- One reader per event of the wire.

    def _created(self, chunk: Event) -> None:
        self._identify(chunk.interaction or {})

    def _status_update(self, chunk: Event) -> None:
        """News of progress; what it ends with comes with `interaction.completed`."""

    def _step_start(self, chunk: Event) -> None:
        self.state.steps[chunk.index or 0] = self._open(chunk.step or chunk.content or {})

    def _step_delta(self, chunk: Event) -> None:
        index = chunk.index or 0
        step = self.state.steps.get(index)
        if step is None:
            delta = chunk.delta or Delta()
            kind = _KIND_OF_DELTA.get(delta.type or "", "model_output")
            step = self.state.steps[index] = self._open({"type": kind, "id": delta.id, "name": delta.name})
        if chunk.delta is not None:
            self._delta(step, chunk.delta)

    def _step_stop(self, chunk: Event) -> None:
        step = self.state.steps.get(chunk.index or 0)
        if step is not None:
            self._end(step)

    def _completed(self, chunk: Event) -> None:
        self._terminal(chunk.interaction or {})

    # ---- Steps.

    def _open(self, raw: Mapping[str, Any]) -> Step:
        """Start a step with whatever its start already holds."""
        step = Step(str(raw.get("type")), self.state.new_part())
        if step.kind == "function_call":
            self._open_call(step, raw)
        elif step.kind in ("thought", "model_output", "text"):
            for content in (*objects_at(raw, "summary"), *objects_at(raw, "content")):
                self._content(step, content)
            self._content(step, raw)
            self._signature(step, raw.get("signature"))
        else:
            self._emits[0](ProviderBlock(step.kind, dict(raw), step.part))
        return step

    def _open_call(self, step: Step, raw: Mapping[str, Any]) -> None:
        step.call = self.state.calls.open(self._emits[0], text_at(raw, "id"), text_at(raw, "name"))
        given = raw.get("arguments")
        self._arguments(step, given if isinstance(given, str | dict) and given else None)
        self._signature(step, raw.get("signature"))

    def _delta(self, step: Step, delta: Delta) -> None:
        emit = self._emits[0]
        if delta.type == "text":
            if delta.text:
                emit(TextDelta(delta.text, step.part))
            self._cite(step, delta)
        elif delta.type == "thought_summary":
            self._content(step, delta.content or {})
        elif delta.type == "thought_signature":
            self._signature(step, delta.signature)
        elif delta.type in ("arguments_delta", "function_call"):
            if step.call is None:
                step.call = self.state.calls.open(emit, delta.id, delta.name)
            self._arguments(step, delta.arguments)
        elif delta.type == "text_annotation_delta":
            self._cite(step, delta)
        elif delta.data or delta.uri:
            self._media(step, {"type": delta.type, "mime_type": delta.mime_type, "data": delta.data, "uri": delta.uri})
        else:
            self._other(step, str(delta.type))

    def _other(self, step: Step, kind: str) -> None:
        """A delta we do not model: of a server-run step it is the step's, elsewhere it is counted."""
        if step.kind in ("thought", "model_output", "function_call"):
            self.to_all(Unknown(f"step.delta of {kind}"))
        data = {key: value for key, value in object_at(self._untyped(), "delta").items() if key != "type"}
        if data:
            ours = step.kind in ("thought", "model_output", "function_call")
            self._emits[0](
                Extra(None if ours else step.part, data, self.state.calls.id_of(step.call) if step.call is not None else None)
            )

    def _content(self, step: Step, content: Mapping[str, Any]) -> None:
        if text := text_at(content, "text"):
            self._emits[0](ReasoningDelta(text, step.part) if step.kind == "thought" else TextDelta(text, step.part))
        for citation in objects_at(content, "annotations"):
            self._emits[0](Citation(dict(citation), step.part))
        self._media(step, content)

    def _media(self, step: Step, content: Mapping[str, Any]) -> None:
        """An image, a sound or a file: a part of its own, and text after it is another."""
        data = text_at(content, "data") or text_at(content, "uri")
        if data:
            self._emits[0](MediaDelta(str(content.get("type")), text_at(content, "mime_type"), data, step.part))
            step.part = self.state.new_part()

    def _cite(self, step: Step, delta: Delta) -> None:
        for citation in delta.annotations or ():
            self._emits[0](Citation(citation, step.part))

    def _signature(self, step: Step, signature: object) -> None:
        """A signature, which belongs to its thought, to its call, or to a step that only Gemini understands."""
        if not isinstance(signature, str) or not signature:
            return
        if step.kind == "thought":
            self._emits[0](ReasoningSignature(signature, step.part))
        elif step.call is not None:
            self._emits[0](Extra(None, {"signature": signature}, self.state.calls.id_of(step.call)))
        else:
            self._emits[0](Extra(step.part, {"signature": signature}))

    def _arguments(self, step: Step, given: str | dict[str, Any] | None) -> None:
        if given and step.call is None:
            step.call = self.state.calls.open(self._emits[0], None, None)
        if given and step.call is not None:
            self.state.calls.write(self._emits[0], step.call, given)

    def _end(self, step: Step) -> None:
        if step.call is not None:
            self.state.calls.end(self._emits[0], step.call)
        else:
            self._emits[0](PartEnd(step.part))

    # ---- The interaction.

    def _identify(self, interaction: Mapping[str, Any]) -> None:
        known = Started(text_at(interaction, "id"), text_at(interaction, "model"))
        if known != self.state.known:
            self.state.known = known
            self.to_all(known)

    def _count(self, holder: Mapping[str, Any]) -> None:
        if usage := object_at(holder, "usage"):
            self.to_all(Usage(usage_of(dict(usage), USAGE_PATHS, input_includes_cache=True)))

    def _body(self) -> None:
        """An unstreamed interaction: its steps, then why it ended."""
        body = self._untyped()
        for raw in (*objects_at(body, "steps"), *objects_at(body, "outputs")):
            self._end(self._open(raw))
        self._terminal(body)

    def _terminal(self, interaction: Mapping[str, Any]) -> None:
        self._identify(interaction)
        status = text_at(interaction, "status")
        self._count(interaction)
        self._keep_unmodelled(MODELLED_IN_INTERACTION, interaction, self._emits[0])
        if status is not None and status != "in_progress":
            self._finished(self._emits[0], FINISH_REASONS, status, interaction.get("error"))


_KIND_OF_DELTA = {
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
    "function_call": "function_call",
}
"""What a step is whose start was lost, by its delta."""


_READERS: dict[str, Callable[[GeminiInteractionsDecoder, Event], None]] = {
    "interaction.created": GeminiInteractionsDecoder._created,
    "interaction.start": GeminiInteractionsDecoder._created,
    "interaction.status_update": GeminiInteractionsDecoder._status_update,
    "step.start": GeminiInteractionsDecoder._step_start,
    "step.delta": GeminiInteractionsDecoder._step_delta,
    "step.stop": GeminiInteractionsDecoder._step_stop,
    "content.start": GeminiInteractionsDecoder._step_start,
    "content.delta": GeminiInteractionsDecoder._step_delta,
    "content.stop": GeminiInteractionsDecoder._step_stop,
    "interaction.completed": GeminiInteractionsDecoder._completed,
    "interaction.complete": GeminiInteractionsDecoder._completed,
}
