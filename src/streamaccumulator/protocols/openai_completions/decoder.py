"""Chunks of bare text to events: a text, a reason and counts, under the names of each wire."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ...events import LogProbs, Started, TextDelta, Usage
from ..counts import usage_of
from ..decoder import Decoder
from .chunks import COUNTS, FINISH_REASONS, MODELLED, NO_REASON, USAGE_PATHS, Choice, Chunk


class State(msgspec.Struct):
    """What is remembered of one stream."""

    known: Started | None = None
    choices: set[int] = set()


class OpenAICompletionsDecoder(Decoder[Chunk]):
    """See the module. One stream, any number of choices."""

    chunk_type = Chunk
    state_type = State
    state: State

    @property
    def choices(self) -> set[int]:
        return set(self.state.choices)

    def _read(self, chunk: Chunk, event: str) -> None:
        known = Started(chunk.id or None, chunk.model or chunk.model_id or None)
        plain = known == self.state.known and bool(chunk.choices)
        if known != self.state.known:
            self.state.known = known
            self.to_all(known)
        if chunk.error is not None:
            self._error(chunk.error)
        for choice in chunk.choices or chunk.results or chunk.outputs or (_alone(chunk),):
            self._choice(choice)
            plain = plain and not choice.finish_reason
        if chunk.usage:
            self.to_all(Usage(usage_of(chunk.usage, USAGE_PATHS, input_includes_cache=True)))
        if not plain:
            self._beside_the_text()

    def _beside_the_text(self) -> None:
        """Counts without a usage object, and the keys that we do not model."""
        source = self._untyped()
        results = source.get("results")
        for place in (source, *(results if isinstance(results, list) else ())):
            counts = {key: place[key] for key in COUNTS if place.get(key) is not None} if isinstance(place, Mapping) else {}
            if not counts.get("input_token_count"):  # watsonx counts the input once, and says 0 from then on
                counts.pop("input_token_count", None)
            if counts:
                self.to_all(Usage(usage_of(counts, USAGE_PATHS, input_includes_cache=None)))
        for emit in self._emits.values():
            self._keep_unmodelled(MODELLED | frozenset(COUNTS), source, emit)

    def _choice(self, choice: Choice) -> None:
        index = choice.index or 0
        emit = self._meet(index)
        if emit is None:
            return
        self.state.choices.add(index)
        text = choice.text or choice.generated_text
        if text:
            emit(TextDelta(text))
        if choice.logprobs:
            emit(LogProbs(_lists(choice.logprobs)))
        reason = choice.finish_reason or (choice.stop_reason if isinstance(choice.stop_reason, str) else None)
        if reason not in NO_REASON:
            self._finished(emit, FINISH_REASONS, str(reason))


def _alone(chunk: Chunk) -> Choice:
    """The text of a wire that has no list of choices."""
    text = next((text for text in (chunk.output_text, chunk.generation, chunk.completion, chunk.text) if text), None)
    return Choice(text=text, finish_reason=chunk.completion_reason or chunk.stop_reason or chunk.finish_reason)


def _lists(logprobs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in logprobs.items() if isinstance(value, list) and value}
