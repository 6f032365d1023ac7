"""Assembling a copy of a stream that passes through: for proxies and gateways.

What passes is handed on as it came, before the copy is looked at. Nothing that goes wrong in the copy (no stream, a limit, a
bug of ours) disturbs it: the copy's faults are the accumulator's to tell.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from . import _sources
from ._fold import reason_of_failure
from ._log import logger
from ._sinks import only_first
from ._stream_decoder import StreamDecoder
from .accumulator import StreamAccumulator
from .limits import Limits
from .protocols import Protocol
from .think_tags import ThinkTags


class _Copy:
    """The side that assembles. It never raises."""

    def __init__(
        self,
        source: Any,
        accumulator: StreamAccumulator,
        protocol: str | Protocol,
        limits: Limits,
        think_tags: ThinkTags | None,
    ) -> None:
        self._accumulator = accumulator
        sink, content_type = only_first(self._observe), _sources.content_type_of(source)
        self._decoder = StreamDecoder(protocol, limits=limits, sink=sink, content_type=content_type, think_tags=think_tags)
        self._deaf = False

    def _observe(self, event: Any) -> None:
        if not self._accumulator.stopped:
            self._accumulator.observe(event)

    def take(self, item: object) -> None:
        self._try(self._decoder.feed, item)

    def end(self) -> None:
        self._try(self._decoder.close)

    def fail(self, failure: BaseException) -> None:
        if isinstance(failure, Exception):
            self._try(self._decoder.fail, *reason_of_failure(failure), _sources.provider_error_in(failure))
        else:  # the reader left, or was cancelled
            self._try(self._decoder.fail, "cancelled", "the stream was left before its end")

    def _try(self, step: Any, *given: Any) -> None:
        if self._deaf or self._accumulator.stopped:
            return
        try:
            step(*given)
        except Exception as raised:  # noqa: BLE001  # whatever it is, the bytes go on; what came is in the accumulator
            self._deaf = True
            logger("tee").warning("assembling a copy raised %s; the stream goes on without it", type(raised).__name__)


def tee(
    source: Any,
    accumulator: StreamAccumulator,
    protocol: str | Protocol = "auto",
    *,
    limits: Limits = Limits(),
    think_tags: ThinkTags | None = None,
) -> Iterator[Any]:
    """The items of a source, untouched and at once, while `accumulator` gets the events of choice 0 of a copy.

    After the last item (or after the iterator was closed early, which closes the source) `accumulator.finalize()` gives the
    response. An error of the source is raised as it is, and told to the accumulator. The source may be anything that
    ChatStream reads. Raises TypeError for what cannot be read, and UnknownProtocol for a name that is none, at the call.
    """
    copy = _Copy(source, accumulator, protocol, limits, think_tags)
    return _pass_on(_sources.read_sync(source), source, copy)


def _pass_on(items: Iterator[Any], source: Any, copy: _Copy) -> Iterator[Any]:
    try:
        for item in items:
            try:
                yield item
            finally:
                copy.take(item)
        copy.end()
    except BaseException as failure:
        copy.fail(failure)
        raise
    finally:
        _sources.close_sync(items, source)


def atee(
    source: Any,
    accumulator: StreamAccumulator,
    protocol: str | Protocol = "auto",
    *,
    limits: Limits = Limits(),
    think_tags: ThinkTags | None = None,
) -> AsyncIterator[Any]:
    """As `tee`, for whatever AsyncChatStream reads."""
    copy = _Copy(source, accumulator, protocol, limits, think_tags)
    return _apass_on(_sources.read_async(source), source, copy)


async def _apass_on(items: AsyncIterator[Any], source: Any, copy: _Copy) -> AsyncIterator[Any]:
    try:
        async for item in items:
            try:
                yield item
            finally:
                copy.take(item)
        copy.end()
    except BaseException as failure:
        copy.fail(failure)
        raise
    finally:
        await _sources.close_async(items, source)
