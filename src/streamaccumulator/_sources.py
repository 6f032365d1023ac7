"""What a driver can read: how to get items (bytes or parsed payloads) out of whatever the caller has.

By duck typing alone: no client library is imported. The first way that fits is taken, decoded bytes before raw ones.
Only `stream` uses this.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from ._log import logger

READ = 65536
"""Bytes asked of a file or pipe at a time; a pipe gives what it has."""


def read_sync(source: Any) -> Iterator[Any]:
    """The items of a source that needs no event loop. Raises TypeError if it is nothing that can be read."""
    if isinstance(source, bytes | bytearray | memoryview | str):
        return iter([source])
    if isinstance(source, Mapping):
        events = events_of(source)
        if not hasattr(events, "__iter__") or isinstance(events, str | bytes | Mapping):
            raise TypeError("a mapping is one payload, not a stream; give a list of them, or use parse_response for a whole body")
        return iter(events)
    if _is_only(source, "__aiter__", "__iter__"):
        raise TypeError(f"{_kind(source)} gives its bytes only to `async`: use aaccumulate or AsyncChatStream")
    for method in ("iter_bytes", "iter_raw"):
        opened = getattr(source, method, None)
        if callable(opened):
            return iter(opened())
    if callable(getattr(source, "iter_content", None)):
        return _of_requests(source)
    for method in ("read1", "read"):
        read = getattr(source, method, None)
        if callable(read):
            return _pieces(read)
    try:
        return iter(source)
    except TypeError:
        raise TypeError(_not_readable(source)) from None


def read_async(source: Any, idle_timeout: float | None = None) -> AsyncIterator[Any]:
    """The items of any source, with `async for`. Raises TypeError if it is nothing that can be read.

    With `idle_timeout` (seconds) waiting longer than that for an item raises TimeoutError.
    """
    items = _read_async(source)
    return items if idle_timeout is None else _impatient(items, source, idle_timeout)


async def _impatient(items: AsyncIterator[Any], source: Any, seconds: float) -> AsyncIterator[Any]:
    from asyncio import timeout  # whoever imports this library and does not wait pays nothing for it

    try:
        while True:
            try:
                async with timeout(seconds):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            except TimeoutError as over:
                raise TimeoutError(f"no data for {seconds:g} seconds") from over
            yield item
    finally:
        if items is not source:  # which whoever opened it closes
            await close_async(items)


def _read_async(source: Any) -> AsyncIterator[Any]:
    if _is_only(source, "__iter__", "__aiter__"):
        return _waiting(read_sync(source))
    for method in ("aiter_bytes", "aiter_raw"):
        opened = getattr(source, method, None)
        if callable(opened):
            return aiter(opened())
    content = getattr(source, "content", None)
    if callable(getattr(content, "iter_any", None)):
        return aiter(content.iter_any())  # type: ignore[union-attr]  # just seen to be there
    if hasattr(source, "__aiter__"):
        return aiter(source)
    return _waiting(read_sync(source))


def events_of(reply: Mapping[str, Any]) -> Any:
    """The stream in what boto3's converse_stream and invoke_model_with_response_stream return."""
    return reply.get("stream", reply.get("body"))


def content_type_of(source: Any) -> str:
    """The content type of an HTTP response; empty for a source that has none."""
    get = getattr(getattr(source, "headers", None), "get", None)
    said = get("content-type") if callable(get) else None
    return said if isinstance(said, str) else ""


def provider_error_in(failure: BaseException) -> Mapping[str, Any] | None:
    """The provider's own error object, where a client raised it from within the stream: an SDK's `body`, or botocore's
    `response["Error"]`."""
    body = getattr(failure, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error")
        return inner if isinstance(inner, Mapping) else body
    response = getattr(failure, "response", None)
    said = response.get("Error") if isinstance(response, Mapping) else None
    return {"code": said.get("Code"), "message": said.get("Message")} if isinstance(said, Mapping) else None


async def _waiting(items: Iterator[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


def _pieces(read: Callable[[int], Any]) -> Iterator[Any]:
    while data := read(READ):
        yield data


def _of_requests(response: Any) -> Iterator[Any]:
    """The body of requests' response as it arrives. Its `iter_content` waits for the end of a body that is not chunked, and
    loses what came before the connection died; urllib3's `read1` beneath it does neither. A body read before is there still.
    """
    raw = getattr(response, "raw", None)
    read1 = getattr(raw, "read1", None)
    came = False
    if callable(read1) and hasattr(raw, "read_chunked"):  # urllib3's, of version 2 or newer
        while data := read1(READ, decode_content=True):
            came = True
            yield data
    if not came:
        yield from response.iter_content(None)


def _is_only(source: Any, this: str, other: str) -> bool:
    """Whether a source, or the stream beneath an HTTP response, can be iterated in one way and not in the other."""
    inner = getattr(source, "stream", None)
    return any(hasattr(type(one), this) and not hasattr(type(one), other) for one in (source, inner))


def _kind(source: Any) -> str:
    return f"an object of type {type(source).__name__}"


def _not_readable(source: Any) -> str:
    hint = ""
    if hasattr(source, "__await__"):
        hint = "; it is to be awaited first"
    elif hasattr(source, "__fspath__"):
        hint = "; open it first: open(path, 'rb')"
    return (
        f"cannot read {_kind(source)} as a stream: give bytes, a binary file, an iterable of bytes, dicts or SDK objects, "
        f"or an HTTP response{hint}"
    )


def close_sync(*closables: Any) -> None:
    """Close an iterator and the source it came from, each once; what has no `close` needs none."""
    for closable in _distinct(closables):
        close = getattr(closable, "close", None)
        if callable(close):
            try:
                close()
            except Exception as failure:  # noqa: BLE001  # whatever a client raises, the response is there and worth more
                logger("stream").warning("closing the source raised %s", type(failure).__name__)


async def close_async(*closables: Any) -> None:
    """The same for sources with `aclose`; one with only `close` is closed by that, awaited where it asks for it."""
    for closable in _distinct(closables):
        close = getattr(closable, "aclose", None) or getattr(closable, "close", None)
        if callable(close):
            try:
                waiting = close()
                if hasattr(waiting, "__await__"):
                    await waiting
            except Exception as failure:  # noqa: BLE001  # as above; CancelledError passes
                logger("stream").warning("closing the source raised %s", type(failure).__name__)


def _distinct(closables: tuple[Any, ...]) -> list[Any]:
    """A generator is its own iterator, and is closed once; of boto3's reply it is the stream that can be closed."""
    found = [events_of(closable) if isinstance(closable, Mapping) else closable for closable in closables]
    return list({id(closable): closable for closable in found}.values())
