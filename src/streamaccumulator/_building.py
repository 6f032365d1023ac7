"""What an accumulator is building: the parts of the message, what went wrong, what was odd, and what it all costs.

The store beneath `accumulator`, which says what each event does to it. Every bound of `Limits` is kept here.
"""

from typing import Any, TypeVar, cast

import msgspec

from ._log import logger
from ._parts import AnyBuilder, Builder, CallBuilder, ParseArguments
from ._values import depth_of, mend_deeply, whole
from .errors import GRAVITY, AccumulatorError, ErrorTwin, LimitExceeded, from_twin, to_twin
from .events import Started
from .limits import Limits
from .messages import FinishReason, TokenUsage
from .response import Diagnostic

B = TypeVar("B", bound=Builder)


_MOST_NOTES = 256
"""Kinds of notices kept one by one: ours are fewer, a stream of events may make up any."""


class SavedBuilding(msgspec.Struct, kw_only=True):
    """A Building as plain values: parts as they are, whatever points to one by its place among them."""

    limits: Limits
    parts: list[AnyBuilder]
    current: int | None
    open: list[int]
    numbered: list[int]
    by_number: dict[int, int]
    extra: dict[str, Any]
    problems: list[ErrorTwin | int]
    """What went wrong, in the order in which it was met: errors, and the calls that have one."""
    told: dict[str, int]
    notes: dict[str, Diagnostic]
    identity: Started
    finish: FinishReason | None
    raw_finish: str | None
    usage: TokenUsage | None
    usage_raw: dict[str, Any]
    logprobs: dict[str, list[Any]] | None
    bytes: int
    began: bool
    deaf: bool


class Building:
    """Parts by number and by kind, calls by id, problems in the order in which they were met."""

    __slots__ = (
        "_began",
        "_by_number",
        "_bytes",
        "_calls",
        "_current",
        "_deaf",
        "_extra",
        "_finish",
        "_identity",
        "_limits",
        "_logprobs",
        "_notes",
        "_numbered",
        "_open",
        "_parts",
        "_problems",
        "_raw_finish",
        "_told",
        "_usage",
        "_usage_raw",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts: list[Builder] = []
        self._current: Builder | None = None  # the part written last
        self._open: dict[type[Builder], Builder] = {}
        self._numbered: dict[tuple[type[Builder], int], Builder] = {}
        self._by_number: dict[int, Builder] = {}
        self._calls: dict[str, CallBuilder] = {}
        self._extra: dict[str, Any] = {}
        self._problems: dict[int, AccumulatorError | CallBuilder] = {}  # by identity
        self._told: dict[type[AccumulatorError], int] = {}  # how many of each kind; the first of a kind is always kept
        self._notes: dict[str, Diagnostic] = {}
        self._identity = Started()
        self._finish: FinishReason | None = None
        self._raw_finish: str | None = None
        self._usage: TokenUsage | None = None
        self._usage_raw: dict[str, Any] = {}
        self._logprobs: dict[str, list[Any]] | None = None
        self._bytes = 0
        self._began = False  # whether anything came that is part of a response
        self._deaf = False  # whether events are no longer heard

    def _saved(self) -> SavedBuilding:
        """All of it as plain values. What was judged of calls are left out: `_restore` judges them again."""
        place = {id(part): at for at, part in enumerate(self._parts)}
        bare: dict[str, Any] = {"document": None, "value": None, "problem": None, "judging": None, "live": None}
        parts = [msgspec.structs.replace(part, **bare) if isinstance(part, CallBuilder) else part for part in self._parts]
        return SavedBuilding(
            limits=self._limits,
            parts=cast("list[AnyBuilder]", parts),
            current=place[id(self._current)] if self._current is not None else None,
            open=[place[id(part)] for part in self._open.values()],
            numbered=[place[id(part)] for part in self._numbered.values()],
            by_number={number: place[id(part)] for number, part in self._by_number.items()},
            extra=self._extra,
            problems=[
                place[id(problem)] if isinstance(problem, CallBuilder) else to_twin(problem) for problem in self._problems.values()
            ],
            told={kind.__name__: count for kind, count in self._told.items()},
            notes=self._notes,
            identity=self._identity,
            finish=self._finish,
            raw_finish=self._raw_finish,
            usage=self._usage,
            usage_raw=self._usage_raw,
            logprobs=self._logprobs,
            bytes=self._bytes,
            began=self._began,
            deaf=self._deaf,
        )

    def _restore(self, saved: SavedBuilding, parse_arguments: ParseArguments | None) -> None:
        """Be what was saved. Raises LookupError if a place in it is none."""
        parts: list[Builder] = list(saved.parts)
        self._parts = parts
        self._current = parts[saved.current] if saved.current is not None else None
        self._open = {type(part): part for part in [parts[at] for at in saved.open]}
        self._numbered = {(type(part), part.number or 0): part for part in [parts[at] for at in saved.numbered]}
        self._by_number = {number: parts[at] for number, at in saved.by_number.items()}
        self._calls = {part.id: part for part in parts if isinstance(part, CallBuilder)}
        for call in self._calls.values():
            if call.ended:
                call.end(parse_arguments, self._limits.json_depth)
        self._extra = saved.extra
        problems = [self._call_at(one) if isinstance(one, int) else from_twin(one) for one in saved.problems]
        self._problems = {id(problem): problem for problem in problems}
        kinds = {kind.__name__: kind for kind in GRAVITY}
        self._told = {kinds[name]: count for name, count in saved.told.items()}
        self._notes = saved.notes
        self._identity = saved.identity
        self._finish, self._raw_finish = saved.finish, saved.raw_finish
        self._usage, self._usage_raw = saved.usage, saved.usage_raw
        self._logprobs = saved.logprobs
        self._bytes, self._began, self._deaf = saved.bytes, saved.began, saved.deaf

    def _call_at(self, place: int) -> CallBuilder:
        call = self._parts[place]
        if not isinstance(call, CallBuilder):
            raise LookupError(f"part {place} is no call")
        return call

    def _find(self, kind: type[B], number: int | None) -> B | None:
        """The part of that kind and number; with None the open one of that kind."""
        part = self._open.get(kind) if number is None else self._numbered.get((kind, number))
        return part if isinstance(part, kind) else None

    def _part_of(self, kind: type[B], number: int | None, delta: str) -> B | None:
        """The part a delta belongs to, started if need be. None: an empty delta starts nothing, or a limit was hit."""
        if not delta:
            return None
        part = self._find(kind, number)
        if part is None:
            return self._new_part(kind(number=number))
        if not part.open:
            self._note("delta_after_end", "text came for a part that had ended, and was added to it", f"part {number}")
        self._current = part
        return part

    def _new_part(self, part: B) -> B | None:
        self._began = True
        if len(self._parts) >= self._limits.parts:
            self._hit("parts", len(self._parts) + 1)
            return None
        self._parts.append(part)
        self._current = self._open[type(part)] = part
        if part.number is not None:
            self._numbered[type(part), part.number] = self._by_number[part.number] = part
        return part

    def _known_call(self, id: str) -> CallBuilder | None:
        call = self._calls.get(id)
        if call is None:
            self._note("unknown_call", "something for a call that never started was dropped", id)
        return call

    def _reopen(self, call: CallBuilder) -> None:
        """More came for a call that had ended."""
        self._problems.pop(id(call), None)
        if call.handed:
            self._note("call_changed", "more came for a call that had been handed over as whole", call.id)
        call.reopen()

    def _opaque(self, data: dict[str, Any]) -> dict[str, Any]:
        """Provider data as it will be kept: counted, encodable, not too deep. Costs one JSON encoding."""
        try:
            encoded = msgspec.json.encode(data)
        except UnicodeEncodeError:
            if depth_of(data) <= self._limits.json_depth:
                return self._opaque(mend_deeply(data))
            self._hit("json_depth", depth_of(data))
            return {}
        except RecursionError:
            self._hit("json_depth", depth_of(data))
            return {}
        except TypeError:  # made by hand of things that are no JSON: keep what they say of themselves
            return self._opaque(msgspec.to_builtins(data, enc_hook=repr, str_keys=True))
        brackets = encoded.count(b"{") + encoded.count(b"[")
        if brackets > self._limits.json_depth and depth_of(data) > self._limits.json_depth:
            self._hit("json_depth", depth_of(data))
            return {}
        self._spend(len(encoded))
        return data

    def _spend(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._limits.message_bytes:
            self._hit("message_bytes", self._bytes)

    def _hit(self, limit: str, value: int) -> None:
        if not self._deaf:
            self._deaf = self._began = True
            self._problem(LimitExceeded(limit, value))

    def _problem(self, problem: AccumulatorError | CallBuilder) -> None:
        self._problems[id(problem)] = problem

    def _complain(self, error: AccumulatorError) -> None:
        told = self._told.get(type(error), 0)
        if told < max(1, self._limits.errors):
            self._told[type(error)] = told + 1
            self._problem(error)
        else:
            self._note("more_errors", f"errors after the first {self._limits.errors} are only counted")

    def _note(self, code: str, message: str, where: str = "") -> None:
        known = self._notes.get(code)
        if known is None and len(self._notes) >= _MOST_NOTES:
            code, message, where = "more_notices", "notices of further kinds are only counted", ""
            known = self._notes.get(code)
        if known is None:
            self._notes[code] = Diagnostic(whole(code), whole(message), whole(where))
            logger("accumulator").info("%s: %s", code, message)
        else:
            self._notes[code] = msgspec.structs.replace(known, count=known.count + 1)
