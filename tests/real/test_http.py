"""The drivers over real HTTP on loopback, with the clients people use, whole and broken."""

import asyncio
import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
import requests

from streamaccumulator import (
    AccumulatedResponse,
    AsyncChatStream,
    ChatStream,
    MalformedChunk,
    TextDelta,
    Truncated,
    aaccumulate,
    accumulate,
)

from ..wire import codes, cuts, delta, finish
from .conftest import still_open
from .server import Script, serving

R = TypeVar("R")


def run(main: Coroutine[Any, Any, R]) -> R:
    """Run it, and see that it left no task and no async generator of ours behind."""

    async def watched() -> R:
        try:
            return await main
        finally:
            assert not still_open()
            await asyncio.sleep(0)  # httpx2 drops its own inner generator when decompressing fails; the loop closes that one
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(watched())


CAPTURE = (Path(__file__).parents[1] / "captures/openai-chat/reasoning-text-tools.sse").read_bytes()
WHOLE = accumulate(CAPTURE)


def by_httpx2(url: str, timeout: float = 5) -> AccumulatedResponse:
    with httpx2.Client(timeout=timeout) as client, client.stream("GET", url) as response:
        return accumulate(response)


def by_httpx2_async(url: str, timeout: float = 5) -> AccumulatedResponse:
    async def read() -> AccumulatedResponse:
        async with httpx2.AsyncClient(timeout=timeout) as client, client.stream("GET", url) as response:
            return await aaccumulate(response)

    return run(read())


def by_requests(url: str, timeout: float = 5) -> AccumulatedResponse:
    with requests.get(url, stream=True, timeout=timeout) as response:
        return accumulate(response)


def by_http_client(url: str, timeout: float = 5) -> AccumulatedResponse:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout)
    try:
        connection.request("GET", "/")
        with connection.getresponse() as response:
            return accumulate(response)
    finally:
        connection.close()


def by_events(url: str, timeout: float = 5) -> AccumulatedResponse:
    with httpx2.Client(timeout=timeout) as client, client.stream("GET", url) as response, ChatStream(response) as stream:
        for _ in stream:
            pass
        assert response.is_closed
        return stream.finalize()


def by_events_async(url: str, timeout: float = 5) -> AccumulatedResponse:
    async def read() -> AccumulatedResponse:
        async with httpx2.AsyncClient(timeout=timeout) as client, client.stream("GET", url) as response:
            async with AsyncChatStream(response) as stream:
                async for _ in stream:
                    pass
            assert response.is_closed
            return await stream.finalize()

    return run(read())


Client = Callable[..., AccumulatedResponse]
CLIENTS: list[Client] = [by_httpx2, by_httpx2_async, by_requests, by_http_client, by_events, by_events_async]
DECODING: list[Client] = [client for client in CLIENTS if client is not by_http_client]
"""Those that decompress what they read."""
each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)


@each_client
@pytest.mark.parametrize("size", [7, 1000])
def test_a_whole_stream_is_read(client: Client, size: int) -> None:
    with serving(Script(list(cuts(CAPTURE[:4000] if size == 7 else CAPTURE, size)))) as url:
        if size == 7:
            with pytest.raises(Truncated):
                client(url)
        else:
            assert client(url) == WHOLE


@each_client
def test_a_connection_closed_inside_a_chunk_is_truncated_with_its_cause_and_all_that_came(client: Client) -> None:
    with serving(Script([delta(content="Hel"), delta(content="lo")], end="broken")) as url, pytest.raises(Truncated) as caught:
        client(url)
    assert caught.value.response is not None
    assert caught.value.response.text == "Hello"
    if client is not by_http_client:  # its read1 gives an early end of the connection as an end of the body
        assert caught.value.reason == "transport"
        assert caught.value.__cause__ is not None


@each_client
def test_a_connection_closed_between_two_chunks_is_truncated_with_its_cause_and_all_that_came(client: Client) -> None:
    with serving(Script([delta(content="Hel"), delta(content="lo")], end="closed")) as url, pytest.raises(Truncated) as caught:
        client(url)
    assert caught.value.response is not None
    assert caught.value.response.text == "Hello"
    if client is not by_http_client:
        assert caught.value.reason == "transport"
        assert caught.value.__cause__ is not None


@each_client
def test_a_server_killed_in_mid_stream_is_truncated_and_keeps_what_came(client: Client) -> None:
    command = [sys.executable, "-m", "tests.real.server", "text/event-stream", delta(content="Hel").decode(), 'data: {"cut']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        killer = threading.Timer(0.3, server.kill)
        killer.start()
        with pytest.raises(Truncated) as caught:
            client(url)
        killer.join()
    assert caught.value.response is not None
    assert caught.value.response.text == "Hel"


@pytest.mark.parametrize("client", DECODING, ids=lambda client: client.__name__)
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
class TestCompressed:
    """A body that the client decompresses as it comes."""

    def test_a_whole_one_is_read(self, client: Client, encoding: str) -> None:
        with serving(Script(list(cuts(CAPTURE, 1000)), encoding=encoding)) as url:
            assert client(url) == WHOLE

    def test_one_that_fails_at_the_end_is_truncated_with_its_cause_and_all_that_came(self, client: Client, encoding: str) -> None:
        script = Script([delta(content="Hel"), delta(content="lo")], "corrupt", encoding=encoding)
        with serving(script) as url, pytest.raises(Truncated) as caught:
            client(url)
        assert caught.value.reason == "transport"
        assert caught.value.__cause__ is not None
        assert caught.value.response is not None
        assert caught.value.response.text == "Hello"

    def test_one_that_fails_after_the_finish_reason_is_only_a_note(self, client: Client, encoding: str) -> None:
        with serving(Script([delta(content="Hello"), finish("stop")], "corrupt", encoding=encoding)) as url:
            response = client(url)
        assert (response.text, response.complete) == ("Hello", True)
        assert "broken_after_finish" in codes(response)

    def test_one_without_its_end_is_truncated_and_keeps_what_came(self, client: Client, encoding: str) -> None:
        script = Script([delta(content="Hel"), delta(content="lo")], "unfinished", encoding=encoding)
        with serving(script) as url, pytest.raises(Truncated) as caught:
            client(url)
        assert caught.value.response is not None
        assert caught.value.response.text == "Hello"


def test_a_client_that_does_not_decompress_is_told_so() -> None:
    with serving(Script([CAPTURE], encoding="gzip")) as url, pytest.raises(MalformedChunk, match="gzip"):
        by_http_client(url)


@each_client
def test_a_body_of_announced_length_is_read_and_its_early_end_keeps_what_came(client: Client) -> None:
    with serving(Script([CAPTURE], sized=True)) as url:
        assert client(url) == WHOLE
    pieces = [delta(content="Hel"), delta(content="lo")]
    with serving(Script(pieces, end="broken", sized=True)) as url, pytest.raises(Truncated) as caught:
        client(url)
    assert caught.value.response is not None
    assert caught.value.response.text == "Hello"


def test_a_body_that_requests_has_read_already_is_still_a_source() -> None:
    with serving(Script([CAPTURE])) as url:
        assert accumulate(requests.get(url, timeout=5)) == WHOLE


def test_a_source_of_the_other_kind_says_which_call_reads_it() -> None:
    async def wrong(url: str) -> None:
        async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
            with pytest.raises(TypeError, match="aaccumulate"):
                accumulate(response)

    async def right(url: str) -> AccumulatedResponse:
        with httpx2.Client() as client, client.stream("GET", url) as response:
            return await aaccumulate(response)

    with serving(Script([CAPTURE])) as url:
        run(wrong(url))
        assert run(right(url)) == WHOLE


@each_client
def test_a_connection_that_breaks_after_the_finish_reason_is_only_a_note(client: Client) -> None:
    with serving(Script([delta(content="Hello"), finish("stop")], end="broken")) as url:
        assert client(url).complete


@pytest.mark.parametrize("client", [by_httpx2, by_httpx2_async, by_requests], ids=lambda client: client.__name__)
def test_the_clients_own_read_timeout_is_the_idle_timeout(client: Client) -> None:
    script = Script([])
    script.pieces = _Then([delta(content="Hel")], script.release)
    with serving(script) as url:
        with pytest.raises(Truncated) as caught:
            client(url, timeout=0.2)
        script.release.set()
    assert caught.value.reason == "idle_timeout"
    assert caught.value.response is not None
    assert caught.value.response.text == "Hel"


def test_a_stall_is_truncated_after_the_idle_timeout_and_nothing_stays_open() -> None:
    async def one_call(url: str) -> AccumulatedResponse:
        async with httpx2.AsyncClient(timeout=None) as client, client.stream("GET", url) as response:
            return await aaccumulate(response, idle_timeout=0.2)

    async def watched(url: str) -> AccumulatedResponse:
        async with httpx2.AsyncClient(timeout=None) as client, client.stream("GET", url) as response:
            async with AsyncChatStream(response, idle_timeout=0.2) as stream:
                found = [event async for event in stream]
            assert any(isinstance(event, TextDelta) for event in found)
            assert response.is_closed
            return await stream.finalize()

    for read in (one_call, watched):
        script = Script([])
        script.pieces = _Then([delta(content="Hel")], script.release)
        with serving(script) as url:
            with pytest.raises(Truncated, match=r"no data for 0\.2 seconds") as caught:
                run(read(url))
            script.release.set()
        assert caught.value.reason == "idle_timeout"
        assert caught.value.response is not None
        assert caught.value.response.text == "Hel"


def test_a_stream_that_keeps_coming_never_meets_the_idle_timeout() -> None:
    async def read(url: str) -> AccumulatedResponse:
        async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
            return await aaccumulate(response, idle_timeout=5)

    with serving(Script(list(cuts(CAPTURE, 1000)))) as url:
        assert run(read(url)) == WHOLE


class _Then(list[bytes]):
    """Pieces, then a wait until the test is done."""

    def __init__(self, pieces: list[bytes], release: threading.Event) -> None:
        super().__init__([*pieces, b": end\n\n"])
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        for at, piece in enumerate(super().__iter__()):
            if at == len(self) - 1:
                self._release.wait(5)
            yield piece


def test_leaving_early_closes_the_connection() -> None:
    script = Script([delta(content="Hel")], end="silent")
    with serving(script) as url, httpx2.Client() as client, client.stream("GET", url) as response:
        with ChatStream(response) as stream:
            for event in stream:
                if isinstance(event, TextDelta):
                    break
        assert response.is_closed
        assert script.left.wait(5), "the server did not notice"
        assert stream.finalize(strict=False).text == "Hel"


def test_leaving_early_closes_the_connection_also_asynchronously_and_when_cancelled() -> None:
    async def read(script: Script, url: str, cancel: bool) -> AccumulatedResponse:
        async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
            seen = asyncio.Event()

            async def watch() -> None:
                async with AsyncChatStream(response) as stream:
                    streams.append(stream)
                    async for event in stream:
                        if isinstance(event, TextDelta):
                            seen.set()
                            if not cancel:
                                break

            streams: list[AsyncChatStream] = []
            task = asyncio.create_task(watch())
            await asyncio.wait_for(seen.wait(), 5)
            if cancel:
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                await task
            assert response.is_closed
            assert await asyncio.to_thread(script.left.wait, 5), "the server did not notice"
            return await streams[0].finalize(strict=False)

    for cancel in (False, True):
        script = Script([delta(content="Hel")], end="silent")
        with serving(script) as url:
            response = run(read(script, url, cancel))
        assert response.text == "Hel"
        assert [error.reason for error in response.errors if isinstance(error, Truncated)] == ["cancelled"]


def test_a_pipe_gives_its_events_while_the_writer_still_holds_it() -> None:
    reader, writer = os.pipe()
    with open(reader, "rb") as source, ChatStream(source) as stream:
        os.write(writer, delta(content="Hel"))
        assert TextDelta("Hel") in [next(stream), next(stream)]
        os.write(writer, finish("stop"))
        os.close(writer)
        assert stream.finalize().text == "Hel"
