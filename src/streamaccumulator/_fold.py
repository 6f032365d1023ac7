"""Reading a source to its end, straight into accumulators: one, or one for each choice. And how a source's failure is told.

Only `stream` uses this.
"""

from collections.abc import Callable
from typing import Any

from . import _sources
from ._parts import OnToolCall, ParseArguments
from ._sinks import only_first
from ._stream_decoder import StreamDecoder
from .accumulator import StreamAccumulator
from .errors import GRAVITY, AccumulatorError
from .events import ChatStreamEvent
from .limits import Limits
from .protocols import Protocol
from .protocols.surrogates import Emit
from .response import AccumulatedResponse
from .think_tags import ThinkTags
from .timings import StreamTimings


def reason_of_failure(failure: Exception) -> tuple[str, str]:
    """Why a source failed, as StreamBroken tells it. A client's own read timeout is the idle timeout."""
    seen: BaseException | None = failure
    idle = False
    while seen is not None and not idle:
        idle = isinstance(seen, TimeoutError) or "timeout" in type(seen).__name__.lower()
        seen = seen.__cause__ or seen.__context__  # requests wraps it in a ConnectionError
    return "idle_timeout" if idle else "transport", f"{type(failure).__name__}: {failure}"[:200]


def finalized(accumulator: StreamAccumulator, strict: bool, cause: Exception | None) -> AccumulatedResponse:
    try:
        return accumulator.finalize(strict=strict)
    except AccumulatorError as error:
        if cause is None:
            raise
        raise error from cause


class Fold:
    """A stream folded straight into accumulators, without events in between: one, or one for each choice."""

    def __init__(
        self,
        protocol: str | Protocol,
        limits: Limits,
        parse_arguments: ParseArguments | None,
        fail_fast: bool,
        on_tool_call: OnToolCall | None = None,
        think_tags: ThinkTags | None = None,
        timings: StreamTimings | None = None,
        *,
        every_choice: bool = False,
        source: Any = None,
    ) -> None:
        def new_accumulator(choice: int) -> Emit:
            accumulator = StreamAccumulator(
                limits=limits, parse_arguments=parse_arguments, fail_fast=fail_fast, on_tool_call=on_tool_call
            )
            self.accumulators[choice] = accumulator
            return accumulator.observe if timings is None else _timed(accumulator.observe, timings)

        self._timings = timings
        self.accumulators: dict[int, StreamAccumulator] = {}
        sink = new_accumulator if every_choice else only_first(new_accumulator(0))
        self.decoder = StreamDecoder(
            protocol,
            limits=limits,
            sink=sink,
            content_type=_sources.content_type_of(source),
            think_tags=think_tags,
            bulk=self.accumulators[0].observe_all if timings is None and not every_choice else None,
        )
        self.decoder.unhurried = timings is None and on_tool_call is None and not fail_fast
        self.cause: Exception | None = None
        self.first = self.accumulators[0]
        self.feed: Callable[[object], object] = self.decoder.feed if timings is None else self._timed_feed

    @property
    def stopped(self) -> bool:
        """Whether a limit was hit in every choice; one that hears no more costs nothing beside the others."""
        return self.first._deaf and all(accumulator.stopped for accumulator in self.accumulators.values())

    def _timed_feed(self, item: object) -> None:
        if self._timings is not None:
            self._timings.chunk()
        self.decoder.feed(item)

    def left(self) -> None:
        """Nothing more is read."""
        if self._timings is not None:
            self._timings.end()

    def fail(self, failure: Exception) -> None:
        """The source broke, which is no news where a limit was hit in what was read before."""
        self.decoder.catch_up()
        if self.stopped:
            return
        self.cause = failure
        self.decoder.fail(*reason_of_failure(failure), _sources.provider_error_in(failure))

    def response(self, strict: bool) -> AccumulatedResponse:
        return finalized(self.accumulators[0], strict, self.cause)

    def responses(self, strict: bool) -> dict[int, AccumulatedResponse]:
        met = self.decoder.choices or {0}
        found = {choice: self.accumulators[choice].finalize(strict=False) for choice in sorted(met)}
        worst = [(GRAVITY.index(type(error)), choice, error) for choice, one in found.items() for error in one.errors]
        if strict and worst:
            _, choice, error = min(worst, key=lambda item: item[:2])
            raised = error.bound(found[choice])
            raised.choices = found
            raise raised from self.cause
        return found


def _timed(emit: Emit, timings: StreamTimings) -> Emit:
    def timed(event: ChatStreamEvent) -> None:
        timings.event(event)
        emit(event)

    return timed


def read_all(source: Any, fold: Fold) -> None:
    items = _sources.read_sync(source)
    feed, first = fold.feed, fold.first
    ended = False
    try:
        while not (first._deaf and fold.stopped):
            try:
                item = next(items)
            except StopIteration:
                ended = True
                fold.decoder.close()
                break
            except Exception as failure:  # noqa: BLE001  # whatever a client raises, the stream is broken; KeyboardInterrupt passes
                fold.fail(failure)
                break
            feed(item)
    finally:
        fold.left()
        if not ended:
            _sources.close_sync(items, source)


async def aread_all(source: Any, fold: Fold, idle_timeout: float | None = None) -> None:
    items = _sources.read_async(source, idle_timeout)
    feed, first = fold.feed, fold.first
    ended = False
    try:
        while not (first._deaf and fold.stopped):
            try:
                item = await anext(items)
            except StopAsyncIteration:
                ended = True
                fold.decoder.close()
                break
            except Exception as failure:  # noqa: BLE001  # whatever a client raises, the stream is broken; CancelledError passes
                fold.fail(failure)
                break
            feed(item)
    finally:
        fold.left()
        if not ended:
            await _sources.close_async(items, source)
