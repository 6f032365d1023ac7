"""StreamAccumulator: the events of one stream in, one response out.

It knows no provider. It keeps all content: strings as runs of at most 32 pieces that are joined into blocks, so a
delta costs the same at the start and after ten megabytes, and memory is the message plus what is open. Looking
(`snapshot`, `tool_call`) never changes what the next event does. One stream belongs to one thread.

The rules of merging are the handlers below, one per event, listed in `_HANDLERS`; what they build is in `_building`;
what a stream's end means is in `_settle`, how it all reads as a response in `_look`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import msgspec

from . import events as ev
from ._building import Building, SavedBuilding
from ._dump import read, write
from ._live import LiveArguments, ToolCallView, is_cut_short
from ._parts import (
    RUN,
    WIDE,
    BlockBuilder,
    Builder,
    CallBuilder,
    CitationBuilder,
    MediaBuilder,
    OnToolCall,
    ParseArguments,
    Pieces,
    ReasoningBuilder,
    RefusalBuilder,
    TextBuilder,
)
from ._values import whole
from .errors import (
    AccumulatorClosed,
    InvalidToolCallJson,
    JsonProblem,
    LimitExceeded,
    MalformedChunk,
    ProviderError,
    Truncated,
    UnknownProtocol,
    UnreadableDump,
)
from .limits import Limits
from .messages import AssistantMessage, FinishReason, Part, ToolCall, merge_into
from .response import AccumulatedResponse, Diagnostic, own, unshared

_ENDED_BY_BOUND = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)
_UNFOLDED = 4 * RUN * WIDE
"""Bytes that a part may hold unfolded, and so uncounted."""
_PERHAPS_CUT = (None, FinishReason.ERROR, *_ENDED_BY_BOUND)


class SavedAccumulator(msgspec.Struct):
    """A StreamAccumulator as plain values."""

    building: SavedBuilding
    fail_fast: bool
    final: dict[str, Any] | None


class StreamAccumulator(Building):
    """Merges the events of one stream into one response.

    `limits` bounds what a stream may cost. `parse_arguments` replaces the strict JSON parse of a call's arguments (a
    repair library, say); what it raises makes the call an `InvalidToolCallJson`. With `fail_fast`, `observe` raises
    that error at the very delta after which the arguments can no longer become JSON (with `parse_arguments`: when they have
    ended), instead of keeping it for `finalize`: to stop paying for what cannot be used. `on_tool_call` is given each call
    once, a copy, as soon as the stream has said that it is whole, so that it can be made while the model still writes.
    """

    __slots__ = ("_early", "_fail_fast", "_final", "_on_tool_call", "_parse")

    def __init__(
        self,
        *,
        limits: Limits = Limits(),
        parse_arguments: ParseArguments | None = None,
        fail_fast: bool = False,
        on_tool_call: OnToolCall | None = None,
    ) -> None:
        super().__init__(limits)
        self._parse = parse_arguments
        self._on_tool_call = on_tool_call
        self._fail_fast = fail_fast
        self._early = fail_fast and parse_arguments is None  # what a parser of the caller's own takes is not known before the end
        self._final: AccumulatedResponse | None = None

    # ---- What a caller uses.

    def observe(self, event: ev.ChatStreamEvent) -> None:
        """Merge one event.

        Raises AccumulatorClosed after `finalize`; with `fail_fast` also InvalidToolCallJson. Nothing else: an event
        that makes no sense is counted in `.diagnostics`.
        """
        if self._deaf:
            if self._final is not None:
                raise AccumulatorClosed()
            return
        handler = _HANDLERS.get(event.__class__)
        if handler is None:
            self._unknown(ev.Unknown(type(event).__name__))
        else:
            handler(self, event)

    def observe_all(self, events: Iterable[ev.ChatStreamEvent]) -> None:
        """Merge several events. Raises as `observe`, after it has merged those before the one that raises."""
        if type(events) is ev.Deltas and self._extends(events):
            return
        handler_of = _HANDLERS.get
        for event in events:
            handler = handler_of(event.__class__)
            if handler is None or self._deaf:
                self.observe(event)
            else:
                handler(self, event)

    def snapshot(self) -> AccumulatedResponse:
        """The response so far: every ended call, no open one, never a Truncated. Costs one join and copy of what it shows."""
        return self._final if self._final is not None else unshared(self._look(final=False))

    def finalize(self, *, strict: bool = True) -> AccumulatedResponse:
        """The whole response. Idempotent; afterwards `observe` raises AccumulatorClosed.

        With `strict` (the default) raises the gravest of what went wrong: UnknownProtocol, LimitExceeded, ProviderError,
        Truncated, MalformedChunk, InvalidToolCallJson, in that order; the error carries `.response`, which lists all
        in `.errors`. With `strict=False` returns that response instead.
        """
        if self._final is None:
            self._settle()
            self._final = self._look(final=True)
            self._deaf = True
        self._hand_over_all()
        response = self._final
        if strict and (gravest := response.gravest_error) is not None:
            raise gravest.bound(response)
        return response

    def dump(self) -> bytes:
        """What came so far, to go on from with `load`, in another process too. Costs one pass over the message.

        `parse_arguments` and `on_tool_call` are not in it, and are to be given to `load` again; what was handed over is in it.
        """
        final = self._final.to_dict() if self._final is not None else None
        return write("accumulator", SavedAccumulator(self._saved(), self._fail_fast, final))

    @classmethod
    def load(cls, data: bytes, *, parse_arguments: ParseArguments | None = None, on_tool_call: OnToolCall | None = None) -> Self:
        """The accumulator of a `dump`: the next event does to it what it would have done to the one that was saved.

        The calls that had ended are parsed again. Raises UnreadableDump if `data` is no dump, of another version or damaged.
        """
        saved = read("accumulator", data, SavedAccumulator)
        self = cls(
            limits=saved.building.limits,
            parse_arguments=parse_arguments,
            fail_fast=saved.fail_fast,
            on_tool_call=on_tool_call,
        )
        try:
            self._restore(saved.building, parse_arguments)
            self._final = AccumulatedResponse.from_dict(saved.final) if saved.final is not None else None
        except (LookupError, ValueError) as fault:
            raise UnreadableDump(f"the state in it cannot be read: {fault}") from fault
        for call in self._calls.values():
            self._watch(call)
        if self._final is not None:  # the end may have said of a call what its text does not
            calls = {whole(call.id): call for call in self._calls.values()}
            for error in self._final.errors:
                if isinstance(error, InvalidToolCallJson):
                    calls[error.call_id].fail(error.message, error.cause, error.offset, error.raw_arguments)
        return self

    def tool_call(self, id: str) -> ToolCallView:
        """A live view of one call. Raises KeyError if no call of that id has started."""
        return ToolCallView(self._calls[id], self._limits.json_depth, self._is_unsure)

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The ids of all calls, in the order in which they started."""
        return tuple(self._calls)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of the calls whose arguments have not ended, in the order in which they started."""
        return tuple([call.id for call in self._calls.values() if not call.ended])

    @property
    def done(self) -> bool:
        """True after Finish: the model has said why it stopped. Usage and late text may still follow."""
        return self._finish is not None

    @property
    def stopped(self) -> bool:
        """True when a limit was hit or `finalize` was called: reading on is of no use."""
        return self._deaf

    def _extends(self, deltas: ev.Deltas) -> bool:
        """Merge deltas of the part that was written last, as their handler would one by one, far from every limit. False, with
        nothing done, if any of them is to be looked at.
        """
        part, texts = self._current, deltas.texts
        if type(deltas.to) is list:
            return self._extend_in_turns(deltas.to, texts)
        if type(part) is CallBuilder:
            alike = part.id == deltas.to and not (part.extends or part.ended or part.live is not None)
        elif type(part) is TextBuilder:
            alike = part.number == deltas.to and deltas.kind is ev.TextDelta and part.repeats < 0
        else:
            alike = type(part) is ReasoningBuilder and part.number == deltas.to and deltas.kind is ev.ReasoningDelta
        if not alike or part is None or self._deaf or not all(texts):
            return False
        size = len("".join(texts))
        most = _UNFOLDED + 4 * size
        if self._bytes + most > self._limits.message_bytes or (
            type(part) is CallBuilder and part.size + most > self._limits.arguments_bytes
        ):
            return False
        part.run += texts
        if len(part.run) >= RUN or size >= WIDE:
            self._fold(part)
        return True

    def _extend_in_turns(self, ids: list[str], texts: Sequence[str]) -> bool:
        """The same for the arguments of several calls, far from every limit, so that the order among them says nothing."""
        size = sum(map(len, texts))
        if self._deaf or not all(texts) or (size >= WIDE and max(map(len, texts)) >= WIDE):
            return False
        calls, distinct, most = self._calls, set(ids), _UNFOLDED + 4 * size
        if self._bytes + most * len(distinct) > self._limits.message_bytes:
            return False
        append = {}
        for id in distinct:
            call = calls.get(id)
            if call is None or call.extends or call.ended or call.live is not None:
                return False
            if call.size + most > self._limits.arguments_bytes:
                return False
            append[id] = call.run.append
        for id, text in zip(ids, texts, strict=True):
            append[id](text)
        for id in distinct:
            if len(calls[id].run) >= RUN:
                self._fold(calls[id])
        self._current = calls[ids[-1]]
        return True

    def _fold(self, part: Builder) -> None:
        self._spend(part.fold())
        if isinstance(part, CallBuilder) and part.size > self._limits.arguments_bytes:
            self._hit("arguments_bytes", part.size)

    # ---- One handler per event: the merge rules.

    # The current part is checked by exact class, which costs a third of isinstance and narrows as well.

    def _text(self, event: ev.TextDelta) -> None:
        part = self._current
        if type(part) is not TextBuilder or part.number != event.part:
            part = self._part_of(TextBuilder, event.part, event.delta)
            if part is None:
                return
        delta = event.delta
        if part.repeats >= 0 and part.watch_repeats(delta):
            self._note("cumulative_text", "each delta repeats all text before it; they were joined as they came")
        run = part.run
        run.append(delta)  # as `_add` does, without the call
        if len(run) >= RUN or len(delta) >= WIDE:
            self._spend(part.fold())

    def _reasoning(self, event: ev.ReasoningDelta) -> None:
        part = self._current
        if type(part) is not ReasoningBuilder or part.number != event.part:
            part = self._part_of(ReasoningBuilder, event.part, event.delta)
            if part is None:
                return
        self._add(part, event.delta)

    def _add(self, pieces: Pieces, delta: str) -> None:
        run = pieces.run
        run.append(delta)
        if len(run) >= RUN or len(delta) >= WIDE:
            self._spend(pieces.fold())

    def _signature(self, event: ev.ReasoningSignature) -> None:
        if not event.signature:
            return
        part = self._find(ReasoningBuilder, event.part) or self._new_part(ReasoningBuilder(number=event.part))
        if part is not None:
            self._add(part.signature, event.signature)

    def _redacted(self, event: ev.RedactedReasoning) -> None:
        if part := self._new_part(ReasoningBuilder(number=event.part)):
            part.redacted = whole(event.data)
            part.open = False
            self._spend(len(event.data))

    def _refusal(self, event: ev.RefusalDelta) -> None:
        if part := self._part_of(RefusalBuilder, event.part, event.delta):
            self._add(part, event.delta)

    def _citation(self, event: ev.Citation) -> None:
        data = self._opaque(event.data)
        text = self._find(TextBuilder, event.part)
        if text is None and event.part is not None:
            text = self._new_part(TextBuilder(number=event.part))
        if text is not None:
            text.citations.append(data)
        elif part := self._new_part(CitationBuilder(number=event.part)):
            part.data = data

    def _log_probs(self, event: ev.LogProbs) -> None:
        self._began = True
        kept = self._logprobs if self._logprobs is not None else {}
        for channel, records in self._opaque(event.data).items():
            if isinstance(records, list):
                kept.setdefault(channel, []).extend(records)
            elif records is not None:
                kept.setdefault(channel, []).append(records)
        self._logprobs = kept or None

    def _media(self, event: ev.MediaDelta) -> None:
        part = self._find(MediaBuilder, event.part)
        if part is None or part.kind != event.kind:
            part = self._new_part(MediaBuilder(number=event.part))
        if part is not None:
            part.kind, part.mime = event.kind, part.mime or whole(event.mime or "") or None
            self._current = part
            self._add(part, event.data)

    def _part_end(self, event: ev.PartEnd) -> None:
        part = self._current if event.part is None else self._by_number.get(event.part)
        if part is None or isinstance(part, CallBuilder):
            return  # the end of a part that had no content, which is no part
        part.open = False
        if self._open.get(type(part)) is part:
            del self._open[type(part)]
        if self._current is part:
            self._current = None

    def _block(self, event: ev.ProviderBlock) -> None:
        part = self._find(BlockBuilder, event.part) if event.part is not None else None
        part = part or self._new_part(BlockBuilder(number=event.part))
        if part is not None:
            part.kind = whole(event.kind)
            part.data = self._opaque(event.data)
            part.grown.clear()

    def _block_delta(self, event: ev.BlockDelta) -> None:
        part = self._find(BlockBuilder, event.part)
        if part is None:
            self._note("unknown_part", "a piece of a provider block that never started was dropped", str(event.part))
        else:
            pieces = part.under(whole(event.key), event.json)
            self._add(pieces, event.delta)
            if len(part.grown) > _FEW_KEYS:
                self._spend(pieces.fold())

    def _call_start(self, event: ev.ToolCallStart) -> None:
        if event.id in self._calls:
            self._note("repeated_call_start", "a call was started twice under one id; the first start counts", event.id)
            return
        if len(self._calls) >= self._limits.tool_calls:
            self._hit("tool_calls", len(self._calls) + 1)
            return
        call = self._new_part(CallBuilder(id=event.id, name=whole(event.name or "") or None, kind=event.kind, minted=event.minted))
        if call is not None:
            self._calls[event.id] = call
            self._watch(call)
            self._spend(len(event.id) + len(call.name or ""))

    def _call_name(self, event: ev.ToolCallName) -> None:
        if (call := self._known_call(event.id)) is not None and not call.name:
            if call.ended and not call.dead:
                self._reopen(call)
            call.name = whole(event.name)
            self._spend(len(call.name))

    def _arguments(self, event: ev.ToolCallArgumentDelta) -> None:
        call = self._current
        if type(call) is not CallBuilder or call.id != event.id:
            call = self._calls.get(event.id) or self._known_call(event.id)
            if call is None:
                return
            self._current = call
        delta = event.delta
        if not delta:
            return
        if call.ended:
            if call.dead:
                self._add(call, delta)
                return
            self._reopen(call)
        run = call.run
        if call.extends:
            call.watch_resend(delta)
        run.append(delta)  # as `_add` does, without the call
        if len(run) >= RUN or len(delta) >= WIDE:
            self._fold(call)
        if call.live is not None:
            fault = call.live.follow(call, delta)
            if fault is not None and self._early:
                self._give_up(call, fault)

    def _call_end(self, event: ev.ToolCallEnd) -> None:
        call = self._known_call(event.id)
        if call is None or call.ended:
            return
        self._spend_rest(call)
        if self._deaf:
            return
        call.end(self._parse, self._limits.json_depth)
        self._problem(call)  # if it is one: that is found when somebody asks
        if self._fail_fast and (problem := call.judged().problem) is not None:
            raise problem.bound(self.snapshot())
        self._hand_over(call)

    def _watch(self, call: CallBuilder) -> None:
        """With `fail_fast`, read the arguments as they come."""
        if self._early and call.kind != "custom":
            call.live = LiveArguments(call, self._limits.json_depth)

    def _give_up(self, call: CallBuilder, fault: JsonProblem) -> None:
        """These arguments can no longer become JSON, whatever follows."""
        call.dead = len(call.text())
        problem = call.fail(fault.message, "malformed", fault.offset)
        self._problem(call)
        raise problem.bound(self.snapshot())

    def _is_unsure(self, call: CallBuilder) -> bool:
        """Whether a call that has ended has no arguments, and no finish reason says yet that this was all of them."""
        return self._final is None and self._finish in _PERHAPS_CUT and call.judged().blank

    def _hand_over(self, call: CallBuilder) -> None:
        """Give a call that is sure to be whole to `on_tool_call`, unless it was before."""
        if self._on_tool_call is None or call.handed or not call.ended or is_cut_short(call):
            return
        made = call.build()
        if made is None or self._is_unsure(call):
            return
        call.handed = True
        self._on_tool_call(own(made))

    def _hand_over_all(self) -> None:
        if self._on_tool_call is not None:
            for call in list(self._calls.values()):
                self._hand_over(call)

    def _finished(self, event: ev.Finish) -> None:
        self._began = True
        raw = whole(event.raw if event.raw is not None else event.reason.value)
        if self._finish is not None and raw != self._raw_finish:
            self._note("second_finish", f"finish reasons {(self._raw_finish or '')[:80]!r} and {raw[:80]!r} both came")
        if self._finish is None or event.reason is not FinishReason.STOP:
            self._finish, self._raw_finish = event.reason, raw
            self._spend(len(raw))
        if self._finish not in _PERHAPS_CUT:
            self._hand_over_all()

    def _count_usage(self, event: ev.Usage) -> None:
        self._began = True
        usage = event.usage
        if usage.raw:
            merge_into(self._usage_raw, self._opaque(usage.raw))
            usage = msgspec.structs.replace(usage, raw={})
        self._usage = usage if self._usage is None else self._usage.merged(usage)

    def _start(self, event: ev.Started) -> None:
        self._began = True
        known = self._identity
        self._identity = ev.Started(
            known.id or whole(event.id or "") or None,
            known.model or whole(event.model or "") or None,
            known.provider or whole(event.provider or "") or None,
        )
        if self._identity != known:
            self._spend(len(event.id or "") + len(event.model or "") + len(event.provider or ""))

    def _keep_extra(self, event: ev.Extra) -> None:
        self._began = True
        owner = self._calls.get(event.call or "") if event.part is None else self._by_number.get(event.part)
        if owner is None and (event.call is not None or event.part is not None):
            where = event.call or f"part {event.part}"
            self._note("unknown_part", "keys for a part that never started were kept with the response", where)
        data = self._opaque(event.data)
        merge_into(self._extra if owner is None else owner.extra, data)

    def _stream_error(self, event: ev.StreamError) -> None:
        self._began = True
        self._spend(len(event.kind) + len(event.message))
        self._complain(ProviderError(whole(event.kind), whole(event.message), self._opaque(event.raw)))

    def _broken(self, event: ev.StreamBroken) -> None:
        if self._finish is not None:
            what = "reading was stopped" if event.reason == "cancelled" else f"the source failed ({event.reason})"
            self._note("broken_after_finish", f"{what} after the message was done: {event.message}")
        else:
            self._complain(Truncated(whole(event.reason), whole(event.message)))

    def _protocol_unknown(self, event: ev.ProtocolUnknown) -> None:
        self._complain(UnknownProtocol(whole(event.seen)))

    def _unreadable(self, event: ev.Unreadable) -> None:
        self._complain(MalformedChunk(event.offset, whole(event.reason), event.raw))

    def _limit_hit(self, event: ev.LimitHit) -> None:
        self._hit(whole(event.limit), event.value)

    def _notice(self, event: ev.Notice) -> None:
        self._note(event.code, event.message, event.where)

    def _unknown(self, event: ev.Unknown) -> None:
        self._began = True
        self._note("unknown_event", f"an event of unknown kind was left out: {event.kind[:80]}")

    # ---- The end.

    def _settle(self) -> None:
        """Nothing more comes: judge the calls that are still open, and tell a stream that never said why it stopped."""
        for part in self._parts:
            self._spend_rest(part)
        limited = any(isinstance(problem, LimitExceeded) for problem in self._problems.values())
        finished = self._finish not in (None, FinishReason.ERROR) and not limited
        ended_badly = any(isinstance(problem, _EXCUSES) for problem in self._problems.values())
        if self._began and self._finish is None and not ended_badly:
            odd = self._notes.get("other_protocol")
            self._problem(Truncated(message=odd.message if odd is not None else ""))
        for call in self._calls.values():
            open_at_the_end = not call.ended
            being_written = (call is self._current or open_at_the_end) and (not finished or self._finish in _ENDED_BY_BOUND)
            if open_at_the_end and finished:
                call.end(self._parse, self._limits.json_depth)
            elif open_at_the_end:
                call.fail("the stream ended before the call did", "cut")
            if being_written and call.judged().problem is None and call.may_be_cut(open_at_the_end):
                call.fail("the model was stopped while it wrote this call", "cut")
            self._problem(call)

    def _spend_rest(self, part: Builder) -> None:
        """Count what a part has not folded yet."""
        for pieces in part.growing():
            if pieces.run:
                self._spend(pieces.fold())
        if isinstance(part, CallBuilder) and part.size > self._limits.arguments_bytes:
            self._hit("arguments_bytes", part.size)

    def _part_as_it_stands(self, builder: Builder, final: bool) -> Part | None:
        if not final and isinstance(builder, CallBuilder) and builder.ended and self._is_unsure(builder):
            return None
        return builder.build()

    def _look(self, final: bool) -> AccumulatedResponse:
        """The response as it stands; changes nothing."""
        parts = tuple([part for builder in self._parts if (part := self._part_as_it_stands(builder, final)) is not None])
        errors = tuple(
            [
                error
                for problem in self._problems.values()
                if (error := problem.problem if isinstance(problem, CallBuilder) else problem) is not None
                and (final or not isinstance(error, Truncated))
            ]
        )
        notes = dict(self._notes)
        for call in self._calls.values():
            if call.document is not None:
                count = notes["resent_arguments"].count + 1 if "resent_arguments" in notes else 1
                notes["resent_arguments"] = Diagnostic("resent_arguments", _RESENT, whole(call.id), count)
        reason = self._finish
        if any(isinstance(error, LimitExceeded) for error in errors):
            reason = None
        elif any(isinstance(error, ProviderError) for error in errors):
            reason = FinishReason.ERROR
        elif reason is FinishReason.STOP and any(isinstance(part, ToolCall) for part in parts):
            reason = FinishReason.TOOL_CALLS
        elif final and not self._began and not errors:
            reason = FinishReason.STOP
            notes["empty_stream"] = Diagnostic("empty_stream", "the stream held nothing at all")
        return AccumulatedResponse(
            message=AssistantMessage(parts),
            finish_reason=reason,
            raw_finish_reason=self._raw_finish,
            usage=None if self._usage is None else msgspec.structs.replace(self._usage, raw=self._usage_raw),
            id=self._identity.id,
            model=self._identity.model,
            provider=self._identity.provider,
            complete=self._finish not in (None, FinishReason.ERROR) and not errors,
            errors=errors,
            diagnostics=tuple(notes.values()),
            logprobs=None if self._logprobs is None else {channel: list(kept) for channel, kept in self._logprobs.items()},
            extra=self._extra,
        )


_FEW_KEYS = 8
"""Keys of a block that may each hold unfolded text; with more, each piece is folded and counted as it comes."""

_RESENT = "a server sent the arguments of a call more than once; the whole document among them was taken"

_EXCUSES = (UnknownProtocol, LimitExceeded, ProviderError, Truncated)
"""Errors beside which a missing finish reason is no news."""

_HANDLERS: dict[type, Callable[[StreamAccumulator, Any], None]] = {
    ev.TextDelta: StreamAccumulator._text,
    ev.ReasoningDelta: StreamAccumulator._reasoning,
    ev.ToolCallArgumentDelta: StreamAccumulator._arguments,
    ev.ToolCallStart: StreamAccumulator._call_start,
    ev.ToolCallName: StreamAccumulator._call_name,
    ev.ToolCallEnd: StreamAccumulator._call_end,
    ev.Finish: StreamAccumulator._finished,
    ev.Usage: StreamAccumulator._count_usage,
    ev.Started: StreamAccumulator._start,
    ev.ReasoningSignature: StreamAccumulator._signature,
    ev.RedactedReasoning: StreamAccumulator._redacted,
    ev.RefusalDelta: StreamAccumulator._refusal,
    ev.Citation: StreamAccumulator._citation,
    ev.LogProbs: StreamAccumulator._log_probs,
    ev.MediaDelta: StreamAccumulator._media,
    ev.PartEnd: StreamAccumulator._part_end,
    ev.ProviderBlock: StreamAccumulator._block,
    ev.BlockDelta: StreamAccumulator._block_delta,
    ev.Extra: StreamAccumulator._keep_extra,
    ev.StreamError: StreamAccumulator._stream_error,
    ev.StreamBroken: StreamAccumulator._broken,
    ev.ProtocolUnknown: StreamAccumulator._protocol_unknown,
    ev.Unreadable: StreamAccumulator._unreadable,
    ev.Notice: StreamAccumulator._notice,
    ev.LimitHit: StreamAccumulator._limit_hit,
    ev.Unknown: StreamAccumulator._unknown,
}
