"""The drivers: where a source meets a decoder and an accumulator. The only loops, and the only I/O.

`ChatStream` and `AsyncChatStream` read a source and hand its events out as they come; both are a loop around
`Session`, which holds all that happens between two reads, so that they cannot drift apart. `accumulate`,
`aaccumulate` and `accumulate_choices` read to the end and give the response; `parse_response` takes a whole body.
"""

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from . import _sources
from ._fold import Fold, aread_all, read_all
from ._live import ToolCallView
from ._parts import OnToolCall, ParseArguments
from ._session import Session
from ._stream_decoder import StreamDecoder
from .accumulator import StreamAccumulator
from .events import ChatStreamEvent
from .limits import Limits
from .protocols import Protocol
from .response import AccumulatedResponse
from .think_tags import ThinkTags
from .timings import StreamTimings

T = TypeVar("T")


class _Driver:
    """What both drivers offer beside their loop."""

    def __init__(
        self,
        source: Any,
        protocol: str | Protocol = "auto",
        *,
        limits: Limits = Limits(),
        parse_arguments: ParseArguments | None = None,
        fail_fast: bool = False,
        on_tool_call: OnToolCall | None = None,
        think_tags: ThinkTags | None = None,
        timings: StreamTimings | None = None,
    ) -> None:
        accumulator = StreamAccumulator(
            limits=limits, parse_arguments=parse_arguments, fail_fast=fail_fast, on_tool_call=on_tool_call
        )
        content_type = _sources.content_type_of(source)
        decoder = StreamDecoder(protocol, limits=limits, content_type=content_type, think_tags=think_tags)
        self._begin(source, Session(accumulator, decoder, timings))

    def _begin(self, source: Any, session: Session) -> None:
        self._source = source
        self._session = session
        self._closed = False
        self._open()

    def _open(self) -> None:
        raise NotImplementedError  # each driver opens the source in its own way

    @property
    def accumulator(self) -> StreamAccumulator:
        """What merges the events that were handed out."""
        return self._session.accumulator

    @property
    def begun(self) -> bool:
        """Whether any event came: from then on, asking the provider again would say things twice."""
        return self._session.begun

    def snapshot(self) -> AccumulatedResponse:
        """The response as far as its events were handed out."""
        return self._session.accumulator.snapshot()

    def tool_call(self, id: str) -> ToolCallView:
        """A live view of one call. Raises KeyError if no call of that id has started."""
        return self._session.accumulator.tool_call(id)

    # ---- Saving it, and going on: in another process, or on another connection.

    def dump(self) -> bytes:
        """All that came so far, to go on from with `load`, in another process too. Costs one pass over the message.

        Take it while the stream is read: of one that was left or has ended, it is the dump of an ended one.
        """
        return self._session.dump()

    def reconnected(self) -> None:
        """To be called before the first bytes of a new connection to the same answer are read.

        What the lost connection cut of an event is forgotten, as the server sends that event again; events that were there
        already are left out (by `sequence_number`, or by the `id` of server-sent events), and a gap is told.
        """
        self._session.decoder.reconnected()

    @property
    def last_event_id(self) -> str:
        """The `id` of the newest server-sent event that came whole, for the `Last-Event-ID` of a new request; empty without."""
        return self._session.decoder.last_event_id

    @property
    def sequence_number(self) -> int | None:
        """The newest `sequence_number` of OpenAI Responses, for the `starting_after` of a new request; None without."""
        return self._session.decoder.sequence_number


class ChatStream(_Driver):
    """Read a source and hand out its events as they come; `finalize` gives the response.

    The source may be bytes, a binary file or pipe, an iterable of bytes, dicts or SDK objects, or an HTTP response
    (`iter_bytes`, `iter_raw`, `iter_content`). Iterating raises nothing of the stream's own (with `fail_fast`:
    InvalidToolCallJson); what went wrong is told by `finalize`. A blocked read cannot be woken: use the client's own
    read timeout, which ends in a Truncated of reason `idle_timeout`. Use it with `with`: leaving closes the source.
    """

    def _open(self) -> None:
        self._items = _sources.read_sync(self._source)

    @classmethod
    def load(
        cls,
        data: bytes,
        source: Any,
        *,
        protocol: Protocol | None = None,
        parse_arguments: ParseArguments | None = None,
        on_tool_call: OnToolCall | None = None,
    ) -> Self:
        """The stream of a `dump`, going on with `source`: whatever follows the last byte (or payload) that was read before.

        Where it is another connection, which begins with a whole event, call `reconnected` first. `protocol`, `parse_arguments` and
        `on_tool_call` are not in a dump: give an outsider's protocol, and your functions, again. Raises UnreadableDump if `data` is
        no dump, of another version, or damaged.
        """
        self = cls.__new__(cls)
        self._begin(source, Session.load(data, protocol, parse_arguments, on_tool_call))
        return self

    def __iter__(self) -> Iterator[ChatStreamEvent]:
        return self

    def __next__(self) -> ChatStreamEvent:
        session = self._session
        while not session.pending:
            if session.ended:
                raise StopIteration
            try:
                item = next(self._items)
            except StopIteration:
                session.end()
            except Exception as failure:  # noqa: BLE001  # whatever a client raises, the stream is broken; KeyboardInterrupt passes
                session.fail(failure)
            else:
                session.push(item)
        event = session.take()
        if session.accumulator.stopped:
            self.close()
        return event

    def partial(self, kind: type[T], *, tool: str | None = None) -> Iterator[T]:
        """Read on, and give the structured output as it grows: a new view, in the shape of `kind`, for each event that adds to it.

        It is taken from the first call (or the first to `tool`), else from the text. Nothing is checked or converted, no validator
        or `__init__` runs, and what has not come is its default or None; a view costs a copy of what it shows. What is whole
        `finalize().parse(kind)` gives. Of a text that is no JSON there are no views.
        """
        from ._growing import Growing  # whoever wants no types does not load what they need

        growing = Growing(self.accumulator, kind, tool)
        for event in self:
            if (shown := growing.after(event)) is not None:
                yield shown

    def finalize(self, *, strict: bool = True) -> AccumulatedResponse:
        """Read what is left, unless the stream was left or has ended, and give the response.

        Raises as `StreamAccumulator.finalize`; an error of the source is the `__cause__`.
        """
        for _ in self:
            pass
        return self._session.finalize(strict)

    def close(self) -> None:
        """Leave the stream: the source is closed, once, and nothing more is read."""
        self._session.leave()
        if not self._closed:
            self._closed = True
            _sources.close_sync(self._items, self._source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncChatStream(_Driver):
    """As ChatStream, with `async for` and `async with`, for sources with `aiter_bytes`, `aiter_raw`, `content.iter_any`
    or `__aiter__`; a source that needs no waiting is fine too. Cancellation passes through.

    `idle_timeout`: seconds to wait for the next piece; longer is a Truncated of reason `idle_timeout`. None waits forever.
    """

    def __init__(
        self,
        source: Any,
        protocol: str | Protocol = "auto",
        *,
        limits: Limits = Limits(),
        parse_arguments: ParseArguments | None = None,
        fail_fast: bool = False,
        on_tool_call: OnToolCall | None = None,
        think_tags: ThinkTags | None = None,
        timings: StreamTimings | None = None,
        idle_timeout: float | None = None,
    ) -> None:
        self._idle_timeout = idle_timeout
        super().__init__(
            source,
            protocol,
            limits=limits,
            parse_arguments=parse_arguments,
            fail_fast=fail_fast,
            on_tool_call=on_tool_call,
            think_tags=think_tags,
            timings=timings,
        )

    def _open(self) -> None:
        self._items = _sources.read_async(self._source, self._idle_timeout)

    @classmethod
    def load(
        cls,
        data: bytes,
        source: Any,
        *,
        protocol: Protocol | None = None,
        parse_arguments: ParseArguments | None = None,
        on_tool_call: OnToolCall | None = None,
        idle_timeout: float | None = None,
    ) -> Self:
        """As ChatStream.load."""
        self = cls.__new__(cls)
        self._idle_timeout = idle_timeout
        self._begin(source, Session.load(data, protocol, parse_arguments, on_tool_call))
        return self

    def __aiter__(self) -> AsyncIterator[ChatStreamEvent]:
        return self

    async def __anext__(self) -> ChatStreamEvent:
        session = self._session
        while not session.pending:
            if session.ended:
                raise StopAsyncIteration
            try:
                item = await anext(self._items)
            except StopAsyncIteration:
                session.end()
            except Exception as failure:  # noqa: BLE001  # whatever a client raises, the stream is broken; CancelledError passes
                session.fail(failure)
            else:
                session.push(item)
        event = session.take()
        if session.accumulator.stopped:
            await self.aclose()
        return event

    async def partial(self, kind: type[T], *, tool: str | None = None) -> AsyncIterator[T]:
        """As ChatStream.partial."""
        from ._growing import Growing  # whoever wants no types does not load what they need

        growing = Growing(self.accumulator, kind, tool)
        async for event in self:
            if (shown := growing.after(event)) is not None:
                yield shown

    async def finalize(self, *, strict: bool = True) -> AccumulatedResponse:
        """As ChatStream.finalize."""
        async for _ in self:
            pass
        return self._session.finalize(strict)

    async def aclose(self) -> None:
        """As ChatStream.close."""
        self._session.leave()
        if not self._closed:
            self._closed = True
            await _sources.close_async(self._items, self._source)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


# ---- One call.


def accumulate(
    source: Any,
    protocol: str | Protocol = "auto",
    *,
    strict: bool = True,
    limits: Limits = Limits(),
    parse_arguments: ParseArguments | None = None,
    fail_fast: bool = False,
    on_tool_call: OnToolCall | None = None,
    think_tags: ThinkTags | None = None,
    timings: StreamTimings | None = None,
) -> AccumulatedResponse:
    """Read a source to its end and give the one complete message.

    The source may be anything that ChatStream reads. With several choices this is choice 0, and a diagnostic says that
    there were others. Raises as `StreamAccumulator.finalize`; with `strict=False` returns what came instead, with all
    that went wrong in `.errors`. Raises TypeError for a source that cannot be read.
    """
    fold = Fold(protocol, limits, parse_arguments, fail_fast, on_tool_call, think_tags, timings, source=source)
    read_all(source, fold)
    return fold.response(strict)


async def aaccumulate(
    source: Any,
    protocol: str | Protocol = "auto",
    *,
    strict: bool = True,
    limits: Limits = Limits(),
    parse_arguments: ParseArguments | None = None,
    fail_fast: bool = False,
    on_tool_call: OnToolCall | None = None,
    think_tags: ThinkTags | None = None,
    timings: StreamTimings | None = None,
    idle_timeout: float | None = None,
) -> AccumulatedResponse:
    """As `accumulate`, for whatever AsyncChatStream reads."""
    fold = Fold(protocol, limits, parse_arguments, fail_fast, on_tool_call, think_tags, timings, source=source)
    await aread_all(source, fold, idle_timeout)
    return fold.response(strict)


def accumulate_choices(
    source: Any,
    protocol: str | Protocol = "auto",
    *,
    strict: bool = True,
    limits: Limits = Limits(),
    parse_arguments: ParseArguments | None = None,
    fail_fast: bool = False,
    think_tags: ThinkTags | None = None,
) -> dict[int, AccumulatedResponse]:
    """As `accumulate`, for a stream with several choices: a response for each index that came, by index.

    With `strict` the gravest error of all choices is raised; its `.response` is that choice's, its `.choices` all of them.
    """
    fold = Fold(protocol, limits, parse_arguments, fail_fast, think_tags=think_tags, every_choice=True, source=source)
    read_all(source, fold)
    return fold.responses(strict)


async def aaccumulate_choices(
    source: Any,
    protocol: str | Protocol = "auto",
    *,
    strict: bool = True,
    limits: Limits = Limits(),
    parse_arguments: ParseArguments | None = None,
    fail_fast: bool = False,
    think_tags: ThinkTags | None = None,
    idle_timeout: float | None = None,
) -> dict[int, AccumulatedResponse]:
    """As `accumulate_choices`, for whatever AsyncChatStream reads."""
    fold = Fold(protocol, limits, parse_arguments, fail_fast, think_tags=think_tags, every_choice=True, source=source)
    await aread_all(source, fold, idle_timeout)
    return fold.responses(strict)


def parse_response(
    body: object,
    protocol: str | Protocol = "auto",
    *,
    strict: bool = True,
    limits: Limits = Limits(),
    parse_arguments: ParseArguments | None = None,
    think_tags: ThinkTags | None = None,
) -> AccumulatedResponse:
    """The response of an unstreamed body (bytes, str, a mapping, an SDK object), equal to the streamed one.

    Raises as `accumulate`.
    """
    fold = Fold(protocol, limits, parse_arguments, False, think_tags=think_tags)
    fold.decoder.feed_body(body)
    return fold.response(strict)
