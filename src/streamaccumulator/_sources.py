"""What a driver can read: how to get items (bytes or parsed payloads) out of whatever the caller has.

By duck typing alone: no client library is imported. The first way that fits is taken, decoded bytes before raw ones.
Only `stream` uses this.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

READ = 65536
"""Bytes asked of a file or pipe at a time; a pipe gives what it has."""


def read_sync(source: Any) -> Iterator[Any]:
    """The items of a source that needs no event loop. Raises TypeError if it is nothing that can be read."""
    if isinstance(source, bytes | bytearray | memoryview | str):
        return iter([source])
    if isinstance(source, Mapping):
        events = source.get("stream", source.get("body"))  # boto3's converse_stream and invoke_model_with_response_stream
        if not hasattr(events, "__iter__") or isinstance(events, str | bytes | Mapping):
            raise TypeError("a mapping is one payload, not a stream; give a list of them, or use parse_response for a whole body")
        return iter(events)
    for method, arguments in (("iter_bytes", ()), ("iter_raw", ()), ("iter_content", (None,))):
        opened = getattr(source, method, None)
        if callable(opened):
            return iter(opened(*arguments))
    for method in ("read1", "read"):
        read = getattr(source, method, None)
        if callable(read):
            return _pieces(read)
    try:
        return iter(source)
    except TypeError:
        raise TypeError(_NOT_READABLE.format(type(source).__name__)) from None


def read_async(source: Any) -> AsyncIterator[Any]:
    """The items of any source, with `async for`. Raises TypeError if it is nothing that can be read."""
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


_NOT_READABLE = (
    "cannot read a {} as a stream: give bytes, a binary file, an iterable of bytes, dicts or SDK objects, or an HTTP response"
)


def close_sync(*closables: Any) -> None:
    """Close an iterator and the source it came from, each once; what has no `close` needs none."""
    for closable in _distinct(closables):
        close = getattr(closable, "close", None)
        if callable(close):
            close()


async def close_async(*closables: Any) -> None:
    """The same for sources with `aclose`; one with only `close` is closed by that, awaited where it asks for it."""
    for closable in _distinct(closables):
        close = getattr(closable, "aclose", None) or getattr(closable, "close", None)
        if callable(close):
            waiting = close()
            if hasattr(waiting, "__await__"):
                await waiting


def _distinct(closables: tuple[Any, ...]) -> list[Any]:
    """A generator is its own iterator, and is closed once."""
    return list({id(closable): closable for closable in closables}.values())
