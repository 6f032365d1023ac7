"""StreamDecoder: bytes or payloads in, events out; finding out the protocol; bytes that are no stream."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streamaccumulator import (
    Finish,
    LimitExceeded,
    Limits,
    MalformedChunk,
    Protocol,
    ProtocolUnknown,
    Started,
    StreamBroken,
    StreamDecoder,
    TextDelta,
    Truncated,
    UnknownProtocol,
    Unreadable,
    accumulate,
    parse_response,
)
from streamaccumulator.protocols import names, protocol_named, recognise

from .wire import DONE, anthropic, chat, codes, cuts, delta, events_of, finish, sse

CAPTURES = Path(__file__).parent / "captures"

HELLO = delta(content="Hi") + finish("stop") + DONE
CLAUDE = (
    anthropic("message_start", message={"id": "m", "model": "c", "content": []})
    + anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"})
    + anthropic("message_delta", delta={"stop_reason": "end_turn"})
)


def test_events_come_as_soon_as_their_frame_is_whole() -> None:
    decoder = StreamDecoder("openai-chat")
    data = delta(content="Hi")
    assert decoder.feed(data[:-1]) == []
    assert TextDelta("Hi") in decoder.feed(data[-1:])
    assert decoder.feed(b"") == []


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: data.decode()])
def test_bytes_of_any_kind_are_taken(kind: Any) -> None:
    decoder = StreamDecoder("openai-chat")
    assert [type(event).__name__ for event in decoder.feed(kind(HELLO))] == ["Started", "TextDelta", "Extra", "Finish", "Extra"]


def test_a_payload_that_was_parsed_already_is_taken() -> None:
    class Chunk:
        def model_dump(self, **how: Any) -> dict[str, Any]:
            assert how == {"by_alias": True, "exclude_unset": True}
            return {"choices": [{"delta": {"content": "a"}}]}

    class Dumpable:
        def to_dict(self) -> dict[str, Any]:
            return {"choices": [{"delta": {"content": "b"}}]}

    decoder = StreamDecoder("openai-chat")
    events = decoder.feed({"id": "x", "choices": [{"delta": {"content": "c"}}]})
    events += decoder.feed(Chunk()) + decoder.feed(Dumpable())
    assert [event.delta for event in events if isinstance(event, TextDelta)] == ["c", "a", "b"]
    with pytest.raises(TypeError, match="not int"):
        decoder.feed(3)


def test_a_sink_gets_every_choice_and_nothing_is_returned() -> None:
    found: dict[int, list[Any]] = {}
    decoder = StreamDecoder("openai-chat", sink=lambda choice: found.setdefault(choice, []).append)
    data = chat({"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}})
    assert decoder.feed(data) == []
    assert [event.delta for events in found.values() for event in events if isinstance(event, TextDelta)] == ["a", "b"]
    assert decoder.choices == {0, 1}


# ---- Which protocol.


@pytest.mark.parametrize(("data", "name"), [(HELLO, "openai-chat"), (CLAUDE, "anthropic-messages")])
def test_auto_gives_what_the_named_protocol_gives(data: bytes, name: str) -> None:
    assert events_of(data, "auto") == events_of(data, name)
    assert events_of(cuts(data, 3), "auto") == events_of(data, name)


@pytest.mark.parametrize("early", [b": ping\n\n", b"data: [DONE]\n\n", sse({"type": "ping"}), b"data: null\n\n", b"\xef\xbb\xbf"])
def test_auto_waits_for_a_payload_that_says_something(early: bytes) -> None:
    response = accumulate(early + CLAUDE, strict=False)
    assert (response.text, response.complete) == ("Hi", True)


def test_auto_takes_parsed_payloads_too() -> None:
    payloads = [{"type": "ping"}, {"type": "message_start", "message": {"id": "m"}}, {"type": "message_stop"}]
    assert accumulate(payloads, strict=False).id == "m"


def test_a_stream_of_no_known_protocol_says_what_was_seen() -> None:
    with pytest.raises(UnknownProtocol, match=r"'odd'.*thing") as caught:
        accumulate(sse({"thing": 1}, event="odd"))
    assert caught.value.response is not None
    many = events_of(sse(*[{"thing": at} for at in range(40)]))
    assert [type(event) for event in many] == [ProtocolUnknown]
    with pytest.raises(UnknownProtocol, match="keys thing"):
        accumulate([{"thing": 1}])


def test_a_name_that_is_none_lists_those_that_are() -> None:
    with pytest.raises(UnknownProtocol, match=r"openai-chat, .*, auto"):
        StreamDecoder("openai")
    assert [protocol_named(name).name for name in names()] == list(names())


@pytest.mark.parametrize("payload", [{}, {"type": 3}, {"type": "ping"}, {"object": "list"}])
def test_payloads_that_give_nothing_away(payload: Mapping[str, Any]) -> None:
    assert recognise(payload) is None


def test_an_outsiders_protocol_works_like_ours() -> None:
    ours = protocol_named("openai-chat")
    theirs = Protocol("theirs", ours.decoder, ours.framer)
    assert accumulate(HELLO, theirs) == accumulate(HELLO)


# ---- Bytes that are no stream.


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"<!doctype html><html>502 Bad Gateway</html>", "HTML"),
        (gzip.compress(HELLO), "gzip"),
        (b": ping\n\n: ping\n\n", "keep-alives"),
        (b"Internal Server Error", "without one readable event"),
        (DONE, "without one readable event"),
        (b"\n\n", "without one readable event"),
        (b"\xff" * 100, "without one readable event"),
    ],
)
@pytest.mark.parametrize("protocol", ["auto", "openai-chat", "anthropic-messages"])
def test_bytes_without_an_event_are_malformed_and_say_what_they_look_like(data: bytes, says: str, protocol: str) -> None:
    with pytest.raises(MalformedChunk, match=says) as caught:
        accumulate(data, protocol)
    assert caught.value.raw == data[:256]


def test_no_bytes_at_all_are_an_empty_stream() -> None:
    assert codes(accumulate(b"")) == {"empty_stream"}
    assert codes(accumulate([])) == {"empty_stream"}


def test_one_json_body_where_a_stream_was_asked_for_is_read() -> None:
    body = {"id": "x1", "choices": [{"index": 0, "message": {"content": "hey"}, "finish_reason": "stop"}]}
    for text in (json.dumps(body), "\n " + json.dumps(body, indent=2)):
        response = accumulate(cuts(text.encode(), 5))
        assert (response.text, response.complete) == ("hey", True)
    assert parse_response(json.dumps(body).encode()).text == "hey"


def test_lines_of_json_without_data_are_read_as_frames() -> None:
    data = b'{"id":"x1","choices":[{"delta":{"content":"a"}}]}\n\n{"id":"x1","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
    response = accumulate(data, "openai-chat")
    assert (response.text, codes(response)) == ("a", set())
    response = accumulate(b": keep-alive\n\n" + data, "openai-chat")
    assert (response.text, codes(response)) == ("a", {"bare_json"})


def test_lines_without_their_ends_are_told() -> None:
    for stream in ("openai-chat/text.sse", "anthropic-messages/text.sse"):
        lines = (CAPTURES / stream).read_bytes().splitlines()
        for protocol in ("auto", stream.partition("/")[0]):
            with pytest.raises(MalformedChunk, match="not lines"):
                accumulate(lines, protocol)


def test_another_protocol_than_the_named_one_is_told() -> None:
    data = (CAPTURES / "openai-chat/text.sse").read_bytes()
    with pytest.raises(Truncated, match="looks like openai-chat, and was read as anthropic-messages") as caught:
        accumulate(data, "anthropic-messages")
    assert caught.value.response is not None
    assert "other_protocol" in codes(caught.value.response)
    payloads = [json.loads(line[6:]) for line in data.splitlines() if line.startswith(b"data: {")]
    with pytest.raises(Truncated, match="looks like openai-chat"):
        accumulate(payloads, "gemini")


def test_a_protocol_is_a_name_or_a_protocol() -> None:
    with pytest.raises(TypeError, match="not NoneType"):
        accumulate(b"", None)  # type: ignore[arg-type]  # what a caller without a type checker may do


def test_a_body_over_the_limit_is_told_once_however_it_is_cut() -> None:
    body = b'{"id": "' + b"x" * 500 + b'"}'
    for size in (1, 100, 1000):
        with pytest.raises(LimitExceeded) as caught:
            accumulate(cuts(body, size), "openai-chat", limits=Limits(frame_bytes=100))
        assert caught.value == LimitExceeded("frame_bytes", 101)


@pytest.mark.parametrize("body", [{"nothing": "known"}, [], "[1, 2]", b"", b"not json", "{"])
def test_a_body_that_is_none_is_an_error_or_empty(body: Any) -> None:
    if body == b"":
        assert codes(parse_response(body)) == {"empty_stream"}
    elif isinstance(body, list):
        with pytest.raises(TypeError):
            parse_response(body)
    else:
        with pytest.raises((UnknownProtocol, MalformedChunk, Truncated)):
            parse_response(body)


# ---- The end.


def test_a_last_frame_without_its_blank_line_is_used_when_it_is_whole() -> None:
    response = accumulate(delta(content="a") + finish("stop").rstrip(b"\n"), "openai-chat")
    assert (response.complete, codes(response)) == (True, {"unended_frame"})


def test_a_last_frame_that_was_cut_is_lost_and_told() -> None:
    before = accumulate(delta(content="a") + finish("stop")[:-20], "openai-chat", strict=False)
    assert (before.text, before.errors, codes(before)) == ("a", (Truncated(),), {"unended_frame", "cut_frame"})
    after = accumulate(delta(content="a") + finish("stop") + b"data: [DO", "openai-chat")
    assert (after.complete, codes(after)) == (True, {"unended_frame", "cut_frame"})


def test_a_stream_cut_in_its_first_frame_is_truncated() -> None:
    for protocol in ("openai-chat", "auto"):
        assert accumulate(delta(content="a")[:40], protocol, strict=False).errors == (Truncated(),)


def test_fail_tells_why_after_what_was_whole() -> None:
    decoder = StreamDecoder("openai-chat")
    decoder.feed(delta(content="a") + finish("stop").rstrip(b"\n"))
    events = decoder.fail("transport", "reset")
    assert any(isinstance(event, Finish) for event in events)
    assert events[-1] == StreamBroken("transport", "reset")
    assert [type(event) for event in StreamDecoder("openai-chat").fail("transport")] == [StreamBroken]


def test_offsets_are_bytes_of_the_stream() -> None:
    data = b": hi\n\n" + delta(content="a")
    (unreadable,) = [event for event in events_of(data + b"data: {]\n\n", "openai-chat") if isinstance(event, Unreadable)]
    assert unreadable == Unreadable(len(data), "no JSON: Expecting property name enclosed in double quotes", b"{]")


def test_the_first_event_says_who_answers() -> None:
    assert events_of(HELLO)[0] == Started("x1", "m1")
