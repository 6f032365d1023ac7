"""Chunks of OpenAI Chat Completions, and of everything that looks like them, to events.

Within one delta the channels are read in the order reasoning, content, refusal, tool calls, and the finish reason last:
servers put the last piece of text and the reason into one chunk.
"""

from typing import Any

from ...events import (
    BlockDelta,
    Citation,
    Extra,
    LogProbs,
    MediaDelta,
    Notice,
    ProviderBlock,
    ReasoningDelta,
    ReasoningSignature,
    RedactedReasoning,
    RefusalDelta,
    Started,
    TextDelta,
    Usage,
)
from ...messages import FinishReason
from ..counts import usage_of
from ..decoder import Decoder, reason_of
from ..plain import Growth, growing
from ..raw import object_at, objects_at, text_at
from ..surrogates import Emit
from .chunks import (
    BLANKS,
    FINISH_REASONS,
    MODELLED,
    MODELLED_IN_CALL,
    MODELLED_IN_CHOICE,
    MODELLED_IN_DELTA,
    MODELLED_IN_FUNCTION,
    USAGE_PATHS,
    Choice,
    Chunk,
    Delta,
    Function,
    PlainChunk,
    ToolCallDelta,
)
from .state import ChoiceState, DetailKey, State

_BOUNDS = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)


class OpenAIChatDecoder(Decoder[Chunk]):
    """See the module. One stream, any number of choices."""

    chunk_type = Chunk
    plain_type = PlainChunk
    blanks = BLANKS
    state_type = State
    state: State

    @property
    def choices(self) -> set[int]:
        return set(self.state.choices)

    def _said(self, chunk: PlainChunk) -> tuple[str | None, int | None]:
        """The text of the one channel that has some; of a call also its index."""
        if len(chunk.choices) != 1:
            return None, None
        delta = chunk.choices[0].delta
        texts = [text for text in (delta.content, delta.reasoning_content, delta.reasoning) if text]
        if delta.tool_calls is None:
            return (texts[0] if len(texts) == 1 else None), None
        if texts or len(delta.tool_calls) != 1:
            return None, None
        return delta.tool_calls[0].function.arguments, delta.tool_calls[0].index

    def _growth(self, chunk: PlainChunk) -> Growth | None:
        state, delta = self.state, chunk.choices[0].delta
        if chunk.id != state.id or chunk.model != state.model or 0 not in state.choices:
            return None
        choice = state.choices[0]
        if delta.tool_calls is not None:
            return choice.calls.growth_by_index()
        if not delta.content:
            part = choice.reasoning
            return growing(ReasoningDelta, part) if part is not None else None
        return growing(TextDelta, None) if state.streams else None

    def _read(self, chunk: Chunk, event: str) -> None:
        state = self.state
        plain = state.started and bool(chunk.choices)
        if not state.started or chunk.id != state.id or chunk.model != state.model:
            self._identify(chunk)
        for place, choice in enumerate(chunk.choices or ()):
            self._choice(choice, place)
            if choice.finish_reason or choice.delta is None or choice.content_filter_results:
                plain = False
            if choice.usage:
                self._usage(choice.usage)
        if chunk.usage:
            self._usage(chunk.usage)
        if not plain or state.opened:
            self._beside_the_choices(chunk)
        if chunk.error:
            self._error(chunk.error)
        elif not chunk.choices:
            self._perhaps_an_error(chunk)

    def _perhaps_an_error(self, chunk: Chunk) -> None:
        """A body that is an error and nothing else: one that says so, or an HTTP error's, read as a stream."""
        raw = self._untyped()
        if raw.get("object") == "error" or (chunk.choices is None and (raw.get("detail") or text_at(raw, "message"))):
            self._error(raw)

    def _usage(self, raw: dict[str, Any]) -> None:
        self.to_all(Usage(usage_of(raw, USAGE_PATHS, input_includes_cache=True, output_includes_reasoning=True)))

    # ---- What belongs to the whole response.

    def _identify(self, chunk: Chunk) -> None:
        """Who answers. The first non-empty values count; a second id is a second response in the same stream."""
        state = self.state
        if chunk.id and state.known.id and chunk.id != state.known.id and not state.second_told:
            state.second_told = True
            self.to_all(Notice("second_response", "the response id changed in mid-stream: this may be two responses"))
        state.id, state.model = chunk.id, chunk.model
        known = Started(
            state.known.id or chunk.id or None,
            state.known.model or chunk.model or None,
            state.known.provider or text_at(self._untyped(), "provider"),
        )
        if known != state.known or not state.started:
            state.started, state.known = True, known
            self.to_all(known)

    def _beside_the_choices(self, chunk: Chunk) -> None:
        """The keys that we do not model, read where a chunk is more than one more delta: the first, the last, the odd."""
        source = self._untyped()
        groq = object_at(source, "x_groq")  # where Groq once put its usage
        if not chunk.usage and (usage := object_at(groq, "usage")):
            self._usage(dict(usage))
        for emit in self._emits.values():
            self._keep_unmodelled(MODELLED if source.get("created") else MODELLED | {"created"}, source, emit)
        raw_choices = objects_at(source, "choices")
        for raw, choice in zip(raw_choices, chunk.choices or (), strict=False):
            if (to_choice := self._emits.get(choice.index or 0)) is not None:  # None: beyond the limit of choices
                self._keep_unmodelled(MODELLED_IN_CHOICE, raw, to_choice)
                self._keep_unmodelled(MODELLED_IN_DELTA, object_at(raw, "delta") or object_at(raw, "message"), to_choice)
        for place, at, index, id in self.state.opened:
            raw = raw_choices[place] if place < len(raw_choices) else {}
            calls = objects_at(object_at(raw, "delta") or object_at(raw, "message"), "tool_calls")
            call = calls[at] if at < len(calls) else {}
            self._keep_unmodelled(MODELLED_IN_CALL, call, self._emits[index], id)
            self._keep_unmodelled(MODELLED_IN_FUNCTION, object_at(call, "function"), self._emits[index], id)
        self.state.opened.clear()

    def _stream_end(self) -> None:
        """`data: [DONE]`: calls are whole, but it says nothing of why the model stopped."""
        for index, choice in self.state.choices.items():
            choice.calls.end_all(self._emits[index], but_latest=choice.bounded or choice.calls.latest_is_blank)

    # ---- One choice.

    def _choice(self, choice: Choice, place: int) -> None:
        index = choice.index or 0
        state = self.state.choices.get(index)
        if state is None:
            if not self._meet(index):
                return
            state = self.state.choices[index] = ChoiceState()
        emit = self._emits[index]
        delta = choice.delta if choice.delta is not None else self._message(state, emit, choice)
        if delta is not None:
            self._delta(state, choice, delta, place)
        if choice.logprobs is not None and any(choice.logprobs.values()):
            emit(LogProbs(choice.logprobs))
        if choice.error and not choice.finish_reason:
            self._error(choice.error, emit)
        if choice.finish_reason:
            self._finish(state, emit, choice)
        elif choice.delta is None and choice.message is not None:
            state.calls.end_all(emit)  # an unstreamed message is whole

    def _delta(self, state: ChoiceState, choice: Choice, delta: Delta, place: int) -> None:
        emit = self._emits[choice.index or 0]
        if delta.reasoning_content or delta.reasoning or delta.reasoning_text or delta.reasoning_details:
            self._reasoning(state, emit, delta)
        content = delta.content
        if content:
            if choice.delta is not None:
                state.streamed = True
                self.state.streams = self.state.streams or not choice.index
            if isinstance(content, str):
                emit(TextDelta(content))
            else:
                self._content_parts(state, emit, content)
        if delta.refusal:
            emit(RefusalDelta(delta.refusal))
        if delta.tool_calls:
            self._tool_calls(state, emit, choice, delta.tool_calls, place)
        if delta.function_call is not None:
            self._legacy_call(state, emit, delta.function_call)
        if delta.annotations or delta.images or delta.audio:
            self._attachments(state, emit, delta)

    def _message(self, state: ChoiceState, emit: Emit, choice: Choice) -> Delta | None:
        """What a choice without a delta says: an unstreamed message, or bare text. After deltas it only repeats them."""
        message = choice.message if choice.message is not None else Delta(content=choice.text) if choice.text else None
        if state.streamed and message is not None and choice.message is not None:
            emit(Notice("repeated_message", "a whole message came after its deltas; the deltas count"))
            return None
        return message

    def _finish(self, state: ChoiceState, emit: Emit, choice: Choice) -> None:
        raw = choice.finish_reason or ""
        reason = reason_of(FINISH_REASONS, raw)
        state.bounded = state.bounded or reason in _BOUNDS
        if reason is not FinishReason.ERROR:
            state.calls.end_all(emit, but_latest=state.bounded)
        self._finished(emit, FINISH_REASONS, raw, choice.error)

    def _content_parts(self, state: ChoiceState, emit: Emit, parts: list[Any]) -> None:
        """Content as a list of typed parts, as Mistral sends it: https://docs.mistral.ai/capabilities/reasoning/"""
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else None
            if isinstance(part, str):
                if part:
                    emit(TextDelta(part))
            elif kind == "text" and isinstance(part.get("text"), str):
                if part["text"]:
                    emit(TextDelta(part["text"]))
            elif kind == "thinking":
                thinking = part.get("thinking")
                pieces = thinking if isinstance(thinking, list) else [{"text": thinking}]
                texts = [piece.get("text") for piece in pieces if isinstance(piece, dict)]
                self._plain_reasoning(state, emit, "".join([text for text in texts if isinstance(text, str)]), "content")
                if isinstance(part.get("signature"), str) and part["signature"] and state.reasoning:
                    emit(ReasoningSignature(part["signature"], state.reasoning))
            elif kind == "reference":
                emit(Citation(part))
            elif isinstance(part, dict):
                emit(ProviderBlock(str(kind), part, state.new_part()))
            else:
                emit(Notice("unexpected_type", f"{type(part).__name__} where a content part belongs", "$.choices[].delta.content"))

    def _attachments(self, state: ChoiceState, emit: Emit, delta: Delta) -> None:
        for annotation in delta.annotations or ():
            emit(Citation(annotation))
        for image in delta.images or ():
            url = image.get("image_url")
            source = url.get("url") if isinstance(url, dict) else url
            if isinstance(source, str):
                mime = source[5:].partition(";")[0] if source.startswith("data:") else None
                emit(MediaDelta("image", mime, source, state.new_part()))
            else:
                emit(ProviderBlock(str(image.get("type")), image, state.new_part()))
        if delta.audio:
            self._audio(state, emit, delta.audio)

    def _audio(self, state: ChoiceState, emit: Emit, audio: dict[str, Any]) -> None:
        """Sound comes as pieces of base64 and of its transcript: https://platform.openai.com/docs/guides/audio"""
        grows = {key: audio[key] for key in ("data", "transcript") if isinstance(audio.get(key), str)}
        rest = {key: value for key, value in audio.items() if key not in grows and value is not None}
        if state.audio is None:
            state.audio = state.new_part()
            emit(ProviderBlock("audio", rest, state.audio))
        elif rest:
            emit(Extra(state.audio, rest))
        for key, piece in grows.items():
            if piece:
                emit(BlockDelta(state.audio, key, piece))

    # ---- Reasoning, under its names.

    def _reasoning(self, state: ChoiceState, emit: Emit, delta: Delta) -> None:
        """The same text under two names counts once: a plain field says the text, the details say whose it is."""
        fields = {
            "reasoning_content": delta.reasoning_content,
            "reasoning": delta.reasoning,
            "reasoning_text": delta.reasoning_text,
        }
        field, text = next(((name, value) for name, value in fields.items() if value), ("reasoning_details", ""))
        details = delta.reasoning_details or []
        said = "".join([_detail_text(detail) for detail in details])
        if any(other and other != text for other in (*fields.values(), said) if text):
            emit(Notice("reasoning_conflict", f"a delta has other reasoning beside `{field}`, which counts"))
        in_details = bool(said) and text in ("", said)
        if text and not in_details:
            self._plain_reasoning(state, emit, text, field)
        for detail in details:
            self._detail(state, emit, detail, _detail_text(detail) if in_details else "")

    def _plain_reasoning(self, state: ChoiceState, emit: Emit, text: str, field: str) -> None:
        if not text:
            return
        opened = state.reasoning is None
        if state.reasoning is None:
            state.reasoning = state.new_part()
        emit(ReasoningDelta(text, state.reasoning))
        if opened:
            emit(Extra(state.reasoning, {"field": field}))

    def _detail(self, state: ChoiceState, emit: Emit, detail: dict[str, Any], text: str) -> None:
        """One entry of OpenRouter's list: https://openrouter.ai/docs/use-cases/reasoning-tokens"""
        kind, id = str(detail.get("type")), detail.get("id") or None
        at = f"{kind}/{detail.get('index')}"
        key = state.details.get(at)
        if key is None or (id is not None and key.id is not None and id != key.id):
            key = state.details[at] = DetailKey(self._detail_part(state, kind))
        key.id = key.id or (str(id) if id is not None else None)
        signature, data = detail.get("signature"), detail.get("data")
        if text:
            emit(ReasoningDelta(text, key.part))
        if isinstance(signature, str) and signature:
            emit(ReasoningSignature(signature, key.part))
        if isinstance(data, str) and data:
            emit(RedactedReasoning(data, key.part))
        new = {
            name: value
            for name, value in detail.items()
            if name not in _DETAIL_CONTENT and name not in key.told and value is not None
        }
        if kind not in _DETAIL_KINDS and not key.told and not text:
            emit(ProviderBlock(kind, detail, key.part))
            key.told.update(new)
        elif new and (text or signature or data or key.told):
            key.told.update(new)
            emit(Extra(key.part, new))

    def _detail_part(self, state: ChoiceState, kind: str) -> int:
        """Encrypted reasoning is a part of its own; the first readable block shares the part of the plain fields."""
        if kind == "reasoning.encrypted":
            return state.new_part()
        if kind not in _DETAIL_KINDS:
            return state.new_part()
        if state.reasoning is None or state.reasoning_claimed:
            state.reasoning = state.new_part()
        state.reasoning_claimed = True
        return state.reasoning

    # ---- Tool calls.

    def _tool_calls(self, state: ChoiceState, emit: Emit, choice: Choice, deltas: list[ToolCallDelta], place: int) -> None:
        calls = state.calls
        for at, delta in enumerate(deltas):
            function, custom = delta.function, delta.custom
            started = len(calls.calls)
            index = at if delta.index is None and choice.delta is None else delta.index
            if custom is not None:
                call = calls.fragment(emit, index, delta.id, custom.name, "custom")
                calls.write(emit, call, custom.input)
            else:
                call = calls.fragment(emit, index, delta.id, function.name if function else None)
                if function is not None:
                    calls.write(emit, call, function.arguments)
            if len(calls.calls) > started:
                self.state.opened.append((place, at, choice.index or 0, calls.id_of(call)))

    def _legacy_call(self, state: ChoiceState, emit: Emit, function: Function) -> None:
        """`function_call`, the form before tools: one call, without id or index, marked so that it can go back as it came."""
        new = not state.calls.calls
        call = state.calls.fragment(emit, 0, None, function.name)
        if new:
            emit(Extra(None, {"legacy": "function_call"}, state.calls.id_of(call)))
        state.calls.write(emit, call, function.arguments)


_DETAIL_KINDS = ("reasoning.text", "reasoning.summary", "reasoning.encrypted")
_DETAIL_CONTENT = frozenset({"text", "summary", "signature", "data"})


def _detail_text(detail: dict[str, Any]) -> str:
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""
