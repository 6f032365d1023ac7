"""A model behind HTTP: its request is sent, its answer read as a stream. The only room that opens connections.

Whatever is asked again is asked before the first event of an answer; after it, what came would be said twice. Keys are read
from the environment, sent as the protocol wants it, and never logged, shown, or kept in an error.
"""

import asyncio
import http.client
import os
import random
import re
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from .._json import parse
from .._log import logger
from .._record import Record
from .._values import rebuilt
from ..errors import JsonProblem
from ..limits import Limits
from ..messages import Message, ToolSpec
from ..requests import Request, to_request
from ..response import AccumulatedResponse
from ..stream import AsyncChatStream
from ..think_tags import ThinkTags

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_ERROR_BYTES = 65536
"""Bytes read of an answer that is an error."""
_PASSING = frozenset({408, 429, 529})
"""Statuses, beside those of 500 and above, after which the same request may be taken."""


class Model(Protocol):
    """Whatever answers a conversation: HttpChatModel, or an object of one's own.

    One that has a `protocol` (its name) is told, as `source=`, which messages of a session are of another; see `to_request`.
    """

    def stream(self, messages: Sequence[Message | AccumulatedResponse], tools: Sequence[ToolSpec] = ()) -> AsyncChatStream:
        """The answer, as a stream that was not read yet."""


class Retries(Record, frozen=True):
    """How often a request that failed is sent again, and the waits before, in seconds.

    The first wait is about `first`, each further one twice as long. What the provider says in `Retry-After` goes before; where it
    asks for more than `longest` seconds, nothing is sent again.
    """

    most: int = 2
    first: float = 0.5
    longest: float = 60.0

    def wait(self, number: int, said: float | None) -> float | None:
        """Seconds to wait before retry `number`, counted from 0; None: there is none."""
        if number >= self.most or (said is not None and said > self.longest):
            return None
        if said is not None:
            return said
        return min(self.longest, self.first * 2.0**number) * random.uniform(0.5, 1)


class Timeouts(Record, frozen=True):
    """Bounds in seconds; None is none. `total` counts from the first attempt to the end of the answer, waits included."""

    connect: float | None = 10.0
    idle: float | None = 120.0
    """Between one piece of the answer and the next; also until the first, which is long where a model reasons unseen."""
    total: float | None = None


class HttpChatModel:
    """A model under a base URL, as the provider's own SDK takes it, in any protocol that has requests.

    `api_key` None is looked for in the environment, under the names that the provider's SDK uses; an empty one is not sent. What
    stands in `options` goes to `to_request` with every request: `max_tokens`, `temperature`, `seed`, `tool_choice`, `extra`, ...
    `headers` are sent beside the protocol's own. `client`: an `httpx2.AsyncClient` to use and leave open, for pools, proxies or
    certificates; without one each answer has a connection of its own.

    Raises UnknownProtocol for a name that is none, ValueError for a protocol without requests, or for a key or a header with
    characters that HTTP cannot carry, ModuleNotFoundError without the extra `http`, and TypeError for an option that `to_request`
    does not have.
    """

    def __init__(
        self,
        protocol: str,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        retries: Retries = Retries(),
        timeouts: Timeouts = Timeouts(),
        limits: Limits = Limits(),
        think_tags: ThinkTags | None = None,
        client: "httpx2.AsyncClient | None" = None,
    ) -> None:
        import httpx2  # noqa: F401  # an extra, seen to be there; whoever brings a model of his own has no need of it

        self.protocol = protocol
        self.base_url = base_url
        self.model = model
        self._api_key = _sendable(api_key, "the API key") if api_key is not None else None
        self._options = dict(options or {})
        self._headers = {name: _sendable(value, f"the header {name}") for name, value in (headers or {}).items()}
        self._retries = retries
        self._timeouts = timeouts
        self._limits = limits
        self._think_tags = think_tags
        self._client = client
        to_request([], protocol, model=model, **self._options)
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:  # a port that is none raises
            raise ValueError("a base URL begins with http:// or https://, and a host")

    def __repr__(self) -> str:
        return f"HttpChatModel({self.protocol!r}, {_shown(self.base_url)!r}, {self.model!r})"

    def stream(
        self,
        messages: Sequence[Message | AccumulatedResponse],
        tools: Sequence[ToolSpec] = (),
        *,
        source: Sequence[str | None] | None = None,
    ) -> AsyncChatStream:
        """The answer to a conversation; nothing is sent before it is read. `source` as for `to_request`.

        A call that was broken is left out, and one without its result is told to be interrupted. Raises what `to_request` raises.
        An HTTP error is a ProviderError of the response, whose `raw` has it as `http_status`.
        """
        request = to_request(
            messages,
            self.protocol,
            model=self.model,
            tools=tools,
            source=source,
            broken_calls="drop",
            missing_results="interrupted",
            **self._options,
        )
        answer = _Answer(self, request)
        stream = AsyncChatStream(answer, request.protocol, limits=self._limits, think_tags=self._think_tags)
        answer.stream = weakref.ref(stream)  # which holds the answer: whoever drops it unread drops both
        return stream

    def key_of(self, request: Request) -> str:
        """The key that is sent."""
        if self._api_key is not None:
            return self._api_key
        assert request.protocol.converter is not None
        names: Sequence[str] = request.protocol.converter().key_names
        return next((_sendable(os.environ[name], name) for name in names if os.environ.get(name)), "")


_SECRET = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)
"""Names of headers of which nothing is shown."""
_WORD = re.compile(r"[^\s;,]{8,}")
"""What may be a secret in a key or in such a header: `Bearer` is none, nor the `none` that local servers are given."""


def _sendable(value: str, what: str) -> str:
    """A header's value without the blanks around it. Raises ValueError, which does not quote it, for one that none can carry."""
    value = value.strip()
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"{what} holds a character that no HTTP header can carry")
    return value


def _shown(url: str) -> str:
    """A URL without what may be secret: a password, a query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Refused(Exception):
    """The provider answered with an HTTP error. The stream takes `body` for the provider's error object."""

    def __init__(self, status: int, body: dict[str, Any], retry_after: float | None) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.body = body
        self.retry_after = retry_after


class _TookTooLong(Exception):
    """An answer is not there within the total."""


class _Answer:
    """The bytes of one answer, from as many requests as it takes until it begins."""

    stream: "weakref.ref[AsyncChatStream]"

    def __init__(self, model: HttpChatModel, request: Request) -> None:
        self._model = model
        self._request = request
        self._key = model.key_of(request)
        kept = [word for name, value in model._headers.items() if _SECRET.search(name) for word in _WORD.findall(value)]
        self._secrets = [*_WORD.findall(self._key), *kept]
        self._deadline: float | None = None

    def _has_begun(self) -> bool:
        stream = self.stream()
        return stream is None or stream.begun

    def _masked(self, said: str) -> str:
        """What a provider said, without the secrets that were sent: some repeat them."""
        for secret in self._secrets:
            said = said.replace(secret, "***")
        return said

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = self._model._timeouts.total
        self._deadline = asyncio.get_running_loop().time() + total if total is not None else None
        import httpx2  # an extra, which the model has seen to be there

        number = 0
        while True:
            try:
                async with AsyncExitStack() as stack:
                    reply = await self._sent(stack)
                    pieces: Any = reply.aiter_bytes()
                    await stack.enter_async_context(aclosing(pieces))
                    kind = reply.headers.get("content-type", "text/")
                    is_text = kind.startswith("text/") or "json" in kind  # and no frames with checksums
                    while (piece := await self._in_time(anext(pieces, None))) is not None:
                        secret = is_text and not self._has_begun()  # an error may be in it, which repeats the key
                        yield self._masked(piece.decode("latin-1")).encode("latin-1") if secret else piece
                return
            except (_Refused, httpx2.TransportError) as failure:
                wait = self._wait_after(failure, number)
                if wait is None:
                    raise
                what = failure if isinstance(failure, _Refused) else type(failure).__name__  # whose text may name anything
                logger("runtime").info("asking again in %.1f seconds: %s", wait, what)
            await self._in_time(asyncio.sleep(wait))
            if (stream := self.stream()) is not None:
                stream.reconnected()
            number += 1

    def _wait_after(self, failure: Exception, number: int) -> float | None:
        """How long to wait before the next request; None: there is none, or none within the total."""
        if self._has_begun():
            return None
        import httpx2  # an extra, which the model has seen to be there

        if isinstance(failure, _Refused) and failure.status not in _PASSING and failure.status < 500:
            return None
        if isinstance(failure, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):  # nothing can be sent so, ever
            return None
        wait = self._model._retries.wait(number, getattr(failure, "retry_after", None))
        over = wait is not None and self._deadline is not None and asyncio.get_running_loop().time() + wait >= self._deadline
        return None if over else wait

    async def _sent(self, stack: AsyncExitStack) -> "httpx2.Response":
        """The reply to one request. Raises _Refused if it is an error."""
        import httpx2  # an extra, which the model has seen to be there

        model, bounds = self._model, self._model._timeouts
        client = model._client
        if client is None:
            client = await stack.enter_async_context(httpx2.AsyncClient())
        timeout = httpx2.Timeout(connect=bounds.connect, read=bounds.idle, write=bounds.idle, pool=bounds.connect)
        headers = {**self._request.headers(self._key), **model._headers}
        url = self._request.url(model.base_url)
        request = client.build_request("POST", url, json=self._request.body, headers=headers, timeout=timeout)
        reply = await self._in_time(client.send(request, stream=True, follow_redirects=False))  # the key is for this host
        stack.push_async_callback(reply.aclose)
        if not reply.is_success:
            head = bytearray()
            with suppress(httpx2.HTTPError, _TookTooLong):  # the status says enough
                await self._in_time(_read_head(reply, head))
            said = rebuilt(_error_in(bytes(head), reply.status_code), self._masked)
            raise _Refused(reply.status_code, said, retry_after(reply.headers.get("retry-after")))
        return reply

    async def _in_time(self, what: Awaitable[T]) -> T:
        """What is waited for. Raises _TookTooLong if it is not there within the total."""
        try:
            async with asyncio.timeout_at(self._deadline) as scope:
                return await what
        except TimeoutError as over:
            if not scope.expired():
                raise
            raise _TookTooLong(f"the answer took longer than {self._model._timeouts.total:g} seconds") from over


async def _read_head(reply: "httpx2.Response", head: bytearray) -> None:
    pieces: Any = reply.aiter_bytes()
    async with aclosing(pieces):
        async for piece in pieces:
            head += piece
            if len(head) >= _ERROR_BYTES:
                break


def _error_in(body: bytes, status: int) -> dict[str, Any]:
    """The error object of an HTTP error's body, with the status; of what is no JSON its beginning."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = parse(text)
    except JsonProblem:
        value = None
    if isinstance(value, list) and value:
        value = value[0]
    inner = value.get("error") if isinstance(value, dict) else None
    if isinstance(inner, dict):
        said = inner
    elif isinstance(value, dict):
        said = {**value, "message": inner} if isinstance(inner, str) else value
    else:
        phrase = http.client.responses.get(status, "")
        said = {"message": f"{status} {phrase}".strip() + (f": {text[:400]}" if text else "")}
    kind = {} if any(said.get(key) not in (None, "", "error") for key in ("type", "code", "status")) else {"type": f"http_{status}"}
    return {**said, **kind, "http_status": status}


def retry_after(header: str | None) -> float | None:
    """Seconds that the header `Retry-After` asks to wait: a number of them, or a date. None if it says neither.

    https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
