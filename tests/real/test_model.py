"""HttpChatModel against a real server on loopback: what it sends, what it sends again and when not, and what it never tells."""

import asyncio
import email.utils
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    MalformedChunk,
    Message,
    ProviderError,
    TextDelta,
    ToolCall,
    ToolSpec,
    Truncated,
    UnknownProtocol,
    UserMessage,
    accumulate,
)
from streamaccumulator.protocols import names, protocol_named
from streamaccumulator.runtime import HttpChatModel, Retries, Timeouts
from streamaccumulator.runtime.model import retry_after

from ..wire import DONE, delta, finish
from .server import Script, serving
from .test_http import run

CAPTURE = (Path(__file__).parents[1] / "captures/openai-chat/reasoning-text-tools.sse").read_bytes()
WITH_REQUESTS = [name for name in names() if protocol_named(name).converter is not None]
QUICK = Retries(most=2, first=0.01)
ASKED: list[Message | AccumulatedResponse] = [UserMessage("Say it.")]


def answer(model: HttpChatModel, **given: Any) -> AccumulatedResponse:
    async def read() -> AccumulatedResponse:
        async with model.stream(ASKED, **given) as stream:
            return await stream.finalize(strict=False)

    return run(read())


def chat_model(url: str, key: str | None = "secret-key", **given: Any) -> HttpChatModel:
    return HttpChatModel("openai-chat", f"{url}/v1", "m1", key, **{"retries": QUICK, **given})


@pytest.fixture
def script() -> Script:
    return Script([CAPTURE])


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    with serving(script) as found:
        yield found


def test_an_answer_is_that_of_its_bytes(script: Script, url: str) -> None:
    model = chat_model(url, options={"max_tokens": 5, "system": "Be short."}, headers={"x-mine": "1"})
    assert answer(model, tools=[ToolSpec("f")]) == accumulate(CAPTURE)
    ((path, headers, body),) = script.seen
    assert (path, headers["authorization"], headers["x-mine"]) == ("/v1/chat/completions", "Bearer secret-key", "1")
    sent = json.loads(body)
    assert (sent["model"], sent["max_tokens"], sent["stream"]) == ("m1", 5, True)
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["tools"][0]["function"]["name"] == "f"


def test_nothing_is_sent_before_it_is_read(script: Script, url: str) -> None:
    chat_model(url).stream(ASKED)
    assert not script.seen


@pytest.mark.parametrize("name", WITH_REQUESTS)
def test_a_key_of_the_environment_goes_where_the_protocol_wants_it(
    name: str, script: Script, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And without one nothing stands there."""
    converter = protocol_named(name).converter
    assert converter is not None
    for variable in converter().key_names:
        monkeypatch.delenv(variable, raising=False)
    answer(HttpChatModel(name, url, "m1"))
    monkeypatch.setenv(converter().key_names[-1], "key-of-the-environment")
    answer(HttpChatModel(name, url, "m1"))
    answer(HttpChatModel(name, url, "m1", ""))
    without, given, silenced = [headers for _, headers, _ in script.seen]
    holders = [key for key, value in given.items() if "key-of-the-environment" in value]
    assert len(holders) == 1
    assert not set(holders) & (set(without) | set(silenced))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529, 0])
def test_what_may_pass_is_sent_again(status: int, script: Script, url: str) -> None:
    script.refusals = [(status, {}, b"{}")] * 2
    assert answer(chat_model(url)) == accumulate(CAPTURE)
    bodies = {body for _, _, body in script.seen}
    assert (len(script.seen), len(bodies)) == (3, 1)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
def test_what_stays_is_not(status: int, script: Script, url: str) -> None:
    script.refusals = [(status, {}, b'{"error": {"message": "No.", "type": "a_kind"}}')]
    (error,) = answer(chat_model(url)).errors
    assert error == ProviderError("a_kind", "No.", {"message": "No.", "type": "a_kind", "http_status": status})
    assert len(script.seen) == 1


def test_only_so_often(script: Script, url: str) -> None:
    script.refusals = [(503, {}, b"")] * 9
    (error,) = answer(chat_model(url)).errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message) == ("http_503", "503 Service Unavailable")
    assert len(script.seen) == 3


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}', "overloaded_error", "Overloaded"),
        (b'[{"error": {"code": 400, "message": "Bad", "status": "INVALID_ARGUMENT"}}]', "400", "Bad"),
        (b'{"error": "model not found"}', "http_400", "model not found"),
        (b'{"message": "invalid api token"}', "http_400", "invalid api token"),
        (b'{"detail": "Not Found"}', "http_400", "Not Found"),
        (b"<html>no</html>", "http_400", "400 Bad Request: <html>no</html>"),
        (b"[]", "http_400", "400 Bad Request: []"),
        (b"", "http_400", "400 Bad Request"),
        (b"\xff" * 100_000, "http_400", "400 Bad Request: " + "\ufffd" * 400),
    ],
)
def test_the_error_of_any_body(body: bytes, kind: str, message: str, script: Script, url: str) -> None:
    script.refusals = [(400, {}, body)]
    (error,) = answer(chat_model(url)).errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message, error.raw["http_status"]) == (kind, message, 400)


@pytest.mark.parametrize("headers", [{"content-length": "1000"}, {"content-encoding": "gzip"}])
def test_the_status_says_enough_where_the_body_is_broken(headers: dict[str, str], script: Script, url: str) -> None:
    script.refusals = [(401, headers, b'{"error": {"mess')]
    (error,) = answer(chat_model(url)).errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.raw["http_status"]) == ("http_401", 401)
    assert len(script.seen) == 1
    script.refusals = [(503, headers, b"{")]
    assert answer(chat_model(url)).complete


def test_an_error_whose_body_never_ends_is_told_within_the_bound() -> None:
    async def stalling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 No\r\ncontent-length: 1000\r\n\r\nwait")
        await writer.drain()
        await reader.read()
        writer.close()
        left.set()

    left = asyncio.Event()

    async def main() -> AccumulatedResponse:
        async with await asyncio.start_server(stalling, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            model = chat_model(f"http://127.0.0.1:{port}", timeouts=Timeouts(total=0.2))
            response = await model.stream(ASKED).finalize(strict=False)
            await left.wait()
            return response

    (error,) = asyncio.run(main()).errors
    assert isinstance(error, ProviderError)
    assert (error.message, error.raw["http_status"]) == ("403 Forbidden: wait", 403)


def test_a_wait_that_the_provider_asks_for_is_waited(script: Script, url: str) -> None:
    script.refusals = [(429, {"retry-after": "0.3"}, b"{}")]
    began = time.monotonic()
    assert answer(chat_model(url)).complete
    assert time.monotonic() - began >= 0.3


def test_one_that_is_too_long_is_not(script: Script, url: str) -> None:
    script.refusals = [(429, {"retry-after": "3600"}, b"{}")]
    assert isinstance(answer(chat_model(url)).gravest_error, ProviderError)
    assert len(script.seen) == 1


def test_what_a_header_asks_for() -> None:
    assert retry_after("7") == 7
    assert retry_after("-7") == 0
    assert retry_after("soon") is None
    assert retry_after("nan") is None
    assert retry_after(None) is None
    in_a_minute = retry_after(email.utils.formatdate(time.time() + 60, usegmt=True))
    assert in_a_minute is not None
    assert 50 < in_a_minute <= 60
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after("Mon, 01 Jan 99999999999999999999 00:00:00 GMT") is None
    assert retry_after("Mon, 01 Jan 2020 00:00:00 +9999999999") is None


def test_waits_double_and_end() -> None:
    retries = Retries(most=4, first=1, longest=3)
    waits = [retries.wait(number, None) for number in range(5)]
    assert [wait is not None and most / 2 <= wait <= most for wait, most in zip(waits, (1, 2, 3, 3), strict=False)] == [True] * 4
    assert waits[4] is None
    assert (retries.wait(0, 2.5), retries.wait(0, 3.5)) == (2.5, None)


def test_a_connection_lost_before_the_first_event_is_made_again(script: Script, url: str) -> None:
    """A comment, and half an event, are none."""
    script.refusals = [(1, {}, b": ping\n\n"), (1, {}, b"data: {")]
    assert answer(chat_model(url)) == accumulate(CAPTURE)
    assert len(script.seen) == 3


def test_what_the_lost_connection_sent_says_nothing_of_the_next(script: Script, url: str) -> None:
    """Half of a JSON body, and then an answer in events."""
    script.refusals = [(1, {"content-type": "application/json"}, b'{"error": {"mess')]
    assert answer(chat_model(url)) == accumulate(CAPTURE)
    assert len(script.seen) == 2


def test_one_lost_after_it_is_not(script: Script, url: str) -> None:
    script.refusals = [(1, {}, delta(content="Hel"))]
    response = answer(chat_model(url))
    assert response.text == "Hel"
    assert isinstance(response.gravest_error, Truncated)
    assert response.gravest_error.reason == "transport"
    assert len(script.seen) == 1


def test_nobody_there() -> None:
    with serving(Script([])) as url:
        pass
    (error,) = answer(chat_model(url)).errors
    assert isinstance(error, Truncated)
    assert "ConnectError" in error.message


def test_no_answer_at_all_is_not_asked_for_again(url: str, script: Script) -> None:
    """It is whole: the server said so. What it means is told."""
    script.refusals = [(200, {}, b"<html>")]
    assert isinstance(answer(chat_model(url)).gravest_error, MalformedChunk)
    assert len(script.seen) == 1


class TestBounds:
    @pytest.fixture
    def script(self) -> Script:
        return Script([delta(content="Hel")], "silent")

    def test_idle(self, script: Script) -> None:
        script.pieces_for = lambda path: _slow([delta(content="Hel"), DONE])  # type: ignore[method-assign]  # one that waits
        with serving(script) as url:
            response = answer(chat_model(url, timeouts=Timeouts(idle=0.1)))
        assert response.text == "Hel"
        assert isinstance(response.gravest_error, Truncated)
        assert response.gravest_error.reason == "idle_timeout"

    def test_total(self, url: str) -> None:
        """The comments of a server that says nothing end no wait."""
        response = answer(chat_model(url, timeouts=Timeouts(total=0.3)))
        assert response.text == "Hel"
        assert isinstance(response.gravest_error, Truncated)
        assert "longer than 0.3 seconds" in response.gravest_error.message

    def test_what_failed_is_told_at_once_where_no_wait_fits_into_the_total(self, script: Script, url: str) -> None:
        script.refusals = [(503, {"retry-after": "30"}, b"")]
        (error,) = answer(chat_model(url, timeouts=Timeouts(total=5))).errors
        assert isinstance(error, ProviderError)
        assert error.raw["http_status"] == 503
        assert len(script.seen) == 1

    def test_leaving_closes_the_connection(self, script: Script, url: str) -> None:
        async def read() -> AccumulatedResponse:
            async with chat_model(url).stream(ASKED) as stream:
                async for event in stream:
                    if isinstance(event, TextDelta):
                        break
            return await stream.finalize(strict=False)

        response = run(read())
        assert script.left.wait(5)
        assert response.text == "Hel"
        assert response.gravest_error == Truncated("cancelled", "the stream was left before its end")

    def test_cancelling_passes_through(self, script: Script, url: str) -> None:
        async def read() -> None:
            async with asyncio.timeout(0.2), chat_model(url).stream(ASKED) as stream:
                await stream.finalize()

        with pytest.raises(TimeoutError):
            run(read())
        assert script.left.wait(5)


def _slow(pieces: list[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        time.sleep(0.4)


def test_the_key_is_nowhere(script: Script, url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    script.refusals = [(503, {}, b""), (401, {}, b'{"error": {"message": "Incorrect API key provided: secret-key"}}')]
    model = chat_model(url)
    (error,) = answer(model).errors
    assert isinstance(error, ProviderError)
    assert error.message == "Incorrect API key provided: ***"
    assert "secret-key" not in f"{caplog.text} {model!r} {error!r} {error.raw}"
    assert "asking again" in caplog.text


def test_secrets_among_the_headers_are_nowhere_either(script: Script, url: str) -> None:
    script.refusals = [(401, {}, b'{"error": {"message": "x-org-token=t0psecret!, Bearer s3cretvalue, beta-feature"}}')]
    headers = {"x-org-token": " t0psecret!", "Authorization": "Bearer s3cretvalue", "x-beta": "beta-feature"}
    (error,) = answer(chat_model(url, headers=headers)).errors
    assert isinstance(error, ProviderError)
    assert error.message == "x-org-token=***, Bearer ***, beta-feature"


def test_the_url_is_shown_without_its_secrets() -> None:
    model = HttpChatModel("openai-chat", "https://me:pass@host:8443/v1?key=secret", "m", "k")
    assert repr(model) == "HttpChatModel('openai-chat', 'https://host:8443/v1', 'm')"


def test_a_key_is_sent_without_its_line_end(script: Script, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As files and shells add one."""
    assert answer(chat_model(url, "secret-key\n")).complete
    monkeypatch.setenv("OPENAI_API_KEY", " other-key\r\n")
    assert answer(chat_model(url, None)).complete
    assert [headers["authorization"] for _, headers, _ in script.seen] == ["Bearer secret-key", "Bearer other-key"]


@pytest.mark.parametrize("key", ["sec\nret", "secr\u00e9t", "sec\x00ret"])
def test_what_no_header_carries_is_not_quoted(key: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"key": key}, {"headers": {"x-mine": key}}):
        with pytest.raises(ValueError, match="no HTTP header can carry") as refused:
            chat_model(url, **wrong)
        assert "sec" not in str(refused.value)
    monkeypatch.setenv("OPENAI_API_KEY", key.replace("\0", "\x7f"))
    with pytest.raises(ValueError, match="OPENAI_API_KEY holds"):
        chat_model(url, None).stream(ASKED)


def test_what_can_never_be_sent_is_tried_once(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (error,) = answer(chat_model(url, headers={"no name": "x"})).errors
    assert isinstance(error, Truncated)
    assert "LocalProtocolError" in error.message
    assert "asking again" not in caplog.text


def test_an_error_within_a_stream_does_not_show_the_key_either(script: Script, url: str) -> None:
    script.pieces = [b'data: {"error": {"message": "Incorrect API key provided: secret-key", "type": "auth"}}\n\n']
    (error,) = answer(chat_model(url)).errors
    assert isinstance(error, ProviderError)
    assert error.message == "Incorrect API key provided: ***"


@pytest.mark.parametrize("key", ["1", "null", "none", "error"])
def test_what_is_no_secret_spoils_no_error(key: str, script: Script, url: str) -> None:
    """Servers that want no key are given one all the same, by those who think they do."""
    script.refusals = [(400, {}, b'{"error": {"message": "none of 1", "code": 401, "param": null}}')]
    (error,) = answer(chat_model(url, key)).errors
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message) == ("401", "none of 1")


def test_no_redirect_takes_the_key_along(script: Script, url: str) -> None:
    """Also where the client would follow one."""
    script.refusals = [(307, {"location": f"{url}/elsewhere"}, b"")]

    async def read() -> AccumulatedResponse:
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            return await chat_model(url, client=client).stream(ASKED).finalize(strict=False)

    (error,) = run(read()).errors
    assert isinstance(error, ProviderError)
    assert error.raw["http_status"] == 307
    assert len(script.seen) == 1


def test_a_client_of_ones_own_is_used_and_left_open(script: Script, url: str) -> None:
    async def read() -> tuple[AccumulatedResponse, bool]:
        async with httpx2.AsyncClient(headers={"x-client": "mine"}) as client:
            stream = chat_model(url, client=client).stream(ASKED)
            return await stream.finalize(), client.is_closed

    response, closed = run(read())
    assert response.complete
    assert not closed
    assert script.seen[0][1]["x-client"] == "mine"


def test_what_cannot_be_a_model() -> None:
    with pytest.raises(UnknownProtocol):
        HttpChatModel("no-such", "http://localhost", "m")
    with pytest.raises(ValueError, match="cannot be turned into a request"):
        HttpChatModel("openai-completions", "http://localhost", "m")
    for wrong in ("localhost:8000", "http:///v1", "http://localhost:0", "ftp://localhost"):
        with pytest.raises(ValueError, match="begins with http"):
            HttpChatModel("openai-chat", wrong, "m")
    with pytest.raises(ValueError, match="out of range"):
        HttpChatModel("openai-chat", "http://localhost:99999", "m")
    with pytest.raises(TypeError, match="max_tokns"):
        HttpChatModel("openai-chat", "http://localhost", "m", options={"max_tokns": 5})


def test_history_of_another_protocol_and_calls_without_results(script: Script, url: str) -> None:
    """A conversation that was stopped among its tools goes on."""
    history: list[Message | AccumulatedResponse] = [
        *ASKED,
        AssistantMessage((ToolCall("call_1", "f", {}, "{}", minted=True),)),
        UserMessage("And?"),
    ]

    async def read() -> AccumulatedResponse:
        return await chat_model(url).stream(history, source=[None, "anthropic-messages", None]).finalize()

    assert run(read()).complete
    sent = json.loads(script.seen[0][2])["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert "interrupted" in sent[2]["content"]


def test_a_stream_says_whether_it_has_begun(url: str) -> None:
    async def read() -> list[bool]:
        stream = chat_model(url).stream(ASKED)
        before = stream.begun
        await anext(stream)
        after = stream.begun
        await stream.aclose()
        return [before, after]

    assert run(read()) == [False, True]


def test_one_that_failed_before_has_not() -> None:
    async def read() -> bool:
        with serving(Script([])) as url:
            pass
        stream = chat_model(url).stream(ASKED)
        await stream.finalize(strict=False)
        return stream.begun

    assert run(read()) is False


def test_finish_then_silence_is_whole(script: Script) -> None:
    script.pieces, script.end = [delta(content="Hi"), finish("stop"), DONE], "broken"
    with serving(script) as url:
        response = answer(chat_model(url))
    assert response.complete
    assert response.text == "Hi"
