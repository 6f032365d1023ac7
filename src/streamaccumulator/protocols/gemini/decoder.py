"""Chunks of Gemini to events.

Parts come in order and have no ends: text that follows text of the same kind is more of it. A part that carries a
`thoughtSignature` is a part of its own, as it must go back unmerged, even if it is empty:
https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from ...events import (
    Extra,
    Finish,
    LimitHit,
    LogProbs,
    MediaDelta,
    PartEnd,
    ProviderBlock,
    ReasoningDelta,
    ReasoningSignature,
    Started,
    TextDelta,
    Usage,
)
from ...messages import FinishReason, merge_into
from ..calls import CallBook
from ..counts import usage_of
from ..decoder import Decoder, Parts, SavedDecoder, reason_of
from ..plain import Growth, growing
from ..raw import object_at, objects_at
from ..surrogates import Emit
from .chunks import (
    BLANKS,
    FINISH_REASONS,
    MODELLED,
    MODELLED_IN_CANDIDATE,
    MODELLED_IN_PART,
    NO_REASON,
    USAGE_PATHS,
    Blob,
    Candidate,
    Chunk,
    FunctionCall,
    Part,
    PartialArg,
    PlainChunk,
)
from .partial_args import PartialArgs, steps_of


class CandidateState(Parts):
    """What is remembered of one candidate."""

    calls: CallBook = msgspec.field(default_factory=CallBook)
    open: int | None = None
    """The part that more text of its kind belongs to."""
    open_is_thought: bool = False
    growing: int | None = None
    """The call whose arguments come in pieces."""
    pieces: PartialArgs = msgspec.field(default_factory=PartialArgs)


class State(msgspec.Struct):
    """What is remembered of one stream."""

    known: Started | None = None
    candidates: dict[int, CandidateState] = {}
    counts: dict[str, Any] = {}
    """Counts that came with plain deltas, and were not told yet."""


class GeminiDecoder(Decoder[Chunk]):
    """See the module. One stream, any number of candidates."""

    chunk_type = Chunk
    plain_type = PlainChunk
    blanks = BLANKS
    state_type = State
    state: State

    @property
    def choices(self) -> set[int]:
        return set(self.state.candidates)

    def _said(self, chunk: PlainChunk) -> tuple[str | None, int | None]:
        if len(chunk.candidates) != 1 or len(parts := chunk.candidates[0].content.parts) != 1:
            return None, None
        counts = chunk.usage_metadata or {}
        if any(type(counts.get(key, 0)) is not int or counts.get(key, 0) < 0 for key in _COUNTS):
            return None, None
        call = parts[0].function_call
        if call is None:
            return parts[0].text, None
        goes_on = call.will_continue and len(call.partial_args) == 1 and call.partial_args[0].will_continue
        return call.partial_args[0].string_value if goes_on else None, None

    def _growth(self, chunk: PlainChunk) -> Growth | None:
        known, state = self.state.known, self.state.candidates.get(0)
        if known is None or state is None or chunk.response_id != known.id or chunk.model_version != known.model:
            return None
        part = chunk.candidates[0].content.parts[0]
        if part.function_call is not None:
            grows = state.growing is not None and state.open is None
            return state.pieces.growth(part.function_call.partial_args[0].json_path, self._limits) if grows else None
        thought = part.thought is True
        if state.open is None or thought is not state.open_is_thought:
            return None
        return growing(ReasoningDelta if thought else TextDelta, state.open)

    def _tally(self, chunk: PlainChunk) -> None:
        """Counts come with each: they are told with the next chunk that is more than a delta, or at the end."""
        self._tally_newest()
        counts = self.state.counts
        if chunk.usage_metadata:
            if counts.keys() <= chunk.usage_metadata.keys() and None not in chunk.usage_metadata.values():
                self.state.counts = chunk.usage_metadata
            else:
                merge_into(counts, chunk.usage_metadata)

    def _tally_newest(self) -> None:
        """Of frames that were alike the newest counts for all."""
        newest, self._newest = self._newest, None
        if newest is not None and self._typed_plain is not None:
            self._tally(self._typed_plain.decode(newest[self._newest_from :]))

    def settle(self) -> None:
        self._tally_newest()
        counts, self.state.counts = self.state.counts, {}
        if counts:
            self._count(counts)

    def saved(self) -> SavedDecoder:
        self._tally_newest()
        return super().saved()

    def _count(self, counts: dict[str, Any]) -> None:
        self.to_all(Usage(usage_of(counts, USAGE_PATHS, input_includes_cache=True, output_includes_reasoning=False)))

    def close(self) -> None:
        """No more comes: a call in pieces that nobody ended is given as the cut text that it is."""
        for index, state in self.state.candidates.items():
            self._end_growing(state, self._emits[index], whole=False)
        super().close()

    def _read(self, chunk: Chunk, event: str) -> None:
        self.settle()
        known = Started(chunk.response_id or None, chunk.model_version or None)
        plain = known == self.state.known and bool(chunk.candidates)
        if known != self.state.known:
            self.state.known = known
            self.to_all(known)
        if chunk.error is not None:
            self._error(chunk.error)
        for at, candidate in enumerate(chunk.candidates or ()):
            self._candidate(candidate, at)
            plain = plain and candidate.finish_reason in NO_REASON
        if chunk.usage_metadata:
            self.to_all(
                Usage(usage_of(chunk.usage_metadata, USAGE_PATHS, input_includes_cache=True, output_includes_reasoning=False))
            )
        if chunk.prompt_feedback:
            self._prompt_feedback(chunk.prompt_feedback)
        if not plain:
            for emit in self._emits.values():
                self._keep_unmodelled(MODELLED, self._untyped(), emit)

    def _prompt_feedback(self, feedback: dict[str, Any]) -> None:
        """A prompt that was refused has no candidates: https://ai.google.dev/api/generate-content#PromptFeedback"""
        self.to_all(Extra(None, {"promptFeedback": feedback}))
        reason = feedback.get("blockReason")
        if reason not in NO_REASON:
            self.to_all(Finish(FinishReason.CONTENT_FILTER, f"promptFeedback:{reason}"))

    # ---- One candidate.

    def _candidate(self, candidate: Candidate, at: int) -> None:
        index = candidate.index or 0
        state = self.state.candidates.get(index)
        if state is None:
            if not self._meet(index):
                return
            state = self.state.candidates[index] = CandidateState()
        emit = self._emits[index]
        for place, part in enumerate(candidate.content.parts or () if candidate.content else ()):
            if part.function_call is not None:
                self._function_call(state, emit, part.function_call, part.thought_signature)
            elif part.text is not None:
                self._text(state, emit, part)
            else:
                self._other_part(state, emit, part, (at, place))
        if candidate.logprobs_result:
            emit(LogProbs(candidate.logprobs_result))
        if (
            candidate.finish_reason not in NO_REASON
            or candidate.grounding_metadata
            or candidate.citation_metadata
            or candidate.url_context_metadata
        ):
            self._keep_unmodelled(MODELLED_IN_CANDIDATE, self._raw_candidate(at), emit)
        if candidate.finish_reason not in NO_REASON:
            self._finish(state, emit, str(candidate.finish_reason), candidate.finish_message)

    def _raw_candidate(self, at: int) -> Mapping[str, Any]:
        candidates = objects_at(self._untyped(), "candidates")
        return candidates[at] if at < len(candidates) else {}

    def _finish(self, state: CandidateState, emit: Emit, raw: str, message: str | None) -> None:
        reason = reason_of(FINISH_REASONS, raw)
        self._end_growing(state, emit, whole=reason is FinishReason.STOP)
        self._finished(
            emit, FINISH_REASONS, raw, {"type": raw, "message": message} if reason is FinishReason.ERROR and message else None
        )

    # ---- Parts.

    def _other_part(self, state: CandidateState, emit: Emit, part: Part, place: tuple[int, int]) -> None:
        """Media, a step of code that the model ran, a server-side tool, or whatever else stands in the message."""
        blob = part.inline_data or part.file_data
        if blob is not None:
            self._media(state, emit, blob, part)
            return
        candidate, at = place
        parts = objects_at(object_at(self._raw_candidate(candidate), "content"), "parts")
        raw = parts[at] if at < len(parts) else {}
        kind = next((key for key in raw if key not in MODELLED_IN_PART), None)
        if kind is not None:
            state.open = None
            emit(ProviderBlock(kind, dict(raw), state.new_part()))
        elif part.thought_signature:
            self._text(state, emit, part)

    def _beside(self, emit: Emit, part: Part, number: int | None) -> None:
        """What Gemini says of a part beside what it holds."""
        said = {
            "partMetadata": part.part_metadata,
            "videoMetadata": part.video_metadata,
            "mediaResolution": part.media_resolution,
        }
        if kept := {key: value for key, value in said.items() if value}:
            emit(Extra(number, kept))

    def _text(self, state: CandidateState, emit: Emit, part: Part) -> None:
        thought = part.thought is True
        if part.thought_signature or state.open is None or state.open_is_thought is not thought:
            if not part.text and not part.thought_signature:
                return
            state.open, state.open_is_thought = state.new_part(), thought
        if part.text:
            emit(ReasoningDelta(part.text, state.open) if thought else TextDelta(part.text, state.open))
            if part.part_metadata:
                self._beside(emit, part, state.open)
        if part.thought_signature:
            if thought or not part.text:
                emit(ReasoningSignature(part.thought_signature, state.open))
            else:
                emit(Extra(state.open, {"thoughtSignature": part.thought_signature}))
            emit(PartEnd(state.open))
            state.open = None

    def _media(self, state: CandidateState, emit: Emit, blob: Blob, part: Part) -> None:
        number = state.new_part()
        state.open = None
        kind = (blob.mime_type or "file").partition("/")[0]
        emit(MediaDelta(kind, blob.mime_type, blob.data or blob.file_uri or "", number))
        rest = {"thought": part.thought, "thoughtSignature": part.thought_signature}
        if kept := {key: value for key, value in rest.items() if value}:
            emit(Extra(number, kept))
        self._beside(emit, part, number)

    # ---- Function calls.

    def _function_call(self, state: CandidateState, emit: Emit, call: FunctionCall, signature: str | None) -> None:
        """A whole call, or with `willContinue` the start of one, or more of the one that grows."""
        state.open = None
        key = state.growing
        if key is None or (call.name and not (call.id and call.id == state.calls.calls[key].wire_id)):
            self._end_growing(state, emit)
            if call == _END_MARK:
                return
            key = state.growing = state.calls.open(emit, call.id, call.name)
            state.pieces = PartialArgs(given=call.args or {})
        if signature:
            emit(Extra(None, {"thoughtSignature": signature}, state.calls.id_of(key)))
        for piece in call.partial_args or ():
            self._grow(state, emit, piece)
        if not call.will_continue:
            self._end_growing(state, emit)

    def _grow(self, state: CandidateState, emit: Emit, piece: PartialArg) -> None:
        depth = len(steps_of(piece.json_path or ""))
        if depth > self._limits.json_depth:
            emit(LimitHit("json_depth", depth))
            return
        state.pieces.add(piece)
        if state.pieces.size > self._limits.arguments_bytes:
            emit(LimitHit("arguments_bytes", state.pieces.size))

    def _end_growing(self, state: CandidateState, emit: Emit, *, whole: bool = True) -> None:
        """The call that grows gets no more. It is cut if its end is no end of a call, or inside a text that was to go on."""
        key, state.growing = state.growing, None
        if key is None:
            return
        if whole and state.pieces.open is None:
            state.calls.write(emit, key, state.pieces.text())
            state.calls.end(emit, key)
        elif text := state.pieces.cut_text():
            state.calls.write(emit, key, text)


_COUNTS = tuple(path[-1] for paths in USAGE_PATHS.values() for path in paths)
"""The counts that are read. One that is none is told where all of a chunk is looked at."""
_END_MARK = FunctionCall()
