"""Known faults of other libraries: bytes, lines and events, and bodies that are no stream."""

import gzip
import json
import zlib

import pytest

from streamaccumulator import MalformedChunk, ProviderError, StreamDecoder, TextDelta, Truncated, accumulate

from ..wire import DONE, anthropic, chat, codes, cuts, delta, finish, read, sse
from .shapes import lines

STOP = finish("stop")
HELLO = delta(content="Hel") + delta(content="lo") + STOP + DONE
LAST = chat({"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"})


def chunk(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}


LINE_ENDS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
"""What Unicode takes for the end of a line and the wire does not."""


@pytest.mark.parametrize("mark", LINE_ENDS, ids=[f"U+{ord(mark):04X}" for mark in LINE_ENDS])
def test_b116_only_cr_and_lf_end_a_line(mark: str) -> None:
    payload = json.dumps(chunk(f"a{mark}b"), ensure_ascii=False).replace(json.dumps(mark)[1:-1], mark)
    assert mark in payload
    for data in (f"data: {payload}\n\n".encode(), f"{payload}\n".encode()):
        response = accumulate(data, "openai-chat")
        assert (response.text, response.complete) == (f"a{mark}b", True)


def test_b116_a_name_of_an_event_may_hold_them_too() -> None:
    data = anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": "a\u2028b"})
    renamed = data.replace(b"event: content_block_delta", "event: x\u2028y".encode())
    assert read(renamed, protocol="anthropic-messages").text == "a\u2028b"


def test_b118_characters_cut_apart_are_whole() -> None:
    data = delta(content="\U0001f980") + delta(reasoning_content="\u20ac\u00e9") + STOP
    response = accumulate(cuts(data, 1))
    assert (response.text, response.reasoning) == ("\U0001f980", "\u20ac\u00e9")
    assert response == accumulate(data)


def test_b119_no_cut_of_the_bytes_matters() -> None:
    data = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n' + b"\n" + STOP + DONE
    expected = accumulate(data)
    assert (expected.text, expected.complete) == ("a", True)
    for at in range(len(data) + 1):
        assert accumulate([data[:at], data[at:]]) == expected
    for size in range(1, 30):
        assert accumulate(cuts(data, size)) == expected


@pytest.mark.parametrize("end", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
def test_b120_other_line_ends_are_the_same(end: bytes) -> None:
    assert accumulate(HELLO.replace(b"\n", end)) == accumulate(HELLO)


def test_b120_events_come_one_by_one() -> None:
    decoder = StreamDecoder("openai-chat")
    frames = [frame.replace(b"\n", b"\r\n") for frame in (delta(content="a"), delta(content="b"))]
    seen = [[event.delta for event in decoder.feed(frame) if isinstance(event, TextDelta)] for frame in frames]
    assert seen == [["a"], ["b"]]


def test_b123_the_space_after_the_colon_is_optional() -> None:
    data = b'data:{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata:[DONE]\n\n'
    response = accumulate(data)
    assert (response.text, response.raw_finish_reason, response.diagnostics) == ("a", "stop", ())


def test_b125_comments_are_no_events() -> None:
    comments = [b": OPENROUTER PROCESSING\n\n", b":\n\n", b": ping\n\n"]
    data = comments[0] + comments[1] + delta(content="Hel") + comments[2] + delta(content="lo") + STOP + comments[1] + DONE
    assert accumulate(data) == accumulate(HELLO)


def test_b126_events_without_data_add_nothing() -> None:
    data = b"id: 7\n" + delta(content="Hel") + b": ping\n\n" + b"retry: 3000\n\n" + b"data:\n\n" + b"event: x\n\n"
    assert accumulate(data + delta(content="lo") + STOP) == accumulate(HELLO)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_b128_a_whole_last_event_without_its_blank_line_is_used_and_told(end: bytes) -> None:
    response = accumulate(delta(content="a") + LAST[:-2] + end)
    assert (response.text, response.raw_finish_reason, response.complete) == ("ab", "stop", True)
    assert codes(response) == {"unended_frame"}


def test_b128_a_cut_last_event_is_none() -> None:
    data = delta(content="a") + LAST[:-5]
    response = accumulate(data, strict=False)
    assert (response.text, response.finish_reason, response.complete) == ("a", None, False)
    assert response.errors == (Truncated("end"),)
    assert "cut_frame" in codes(response)


def test_b129_one_event_in_several_lines() -> None:
    data = b'data: {"choices":\ndata: [{"index":0,"delta":{"content":"a"}}]}\n\n'
    assert accumulate(data + STOP).text == "a"


@pytest.mark.parametrize("before", [b"", delta(content="par")], ids=["alone", "after an event"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
@pytest.mark.parametrize("protocol", ["auto", "openai-chat"])
def test_b130_an_error_without_its_framing_is_an_error(before: bytes, end: bytes, protocol: str) -> None:
    body = b'{"error":{"message":"context too long","code":400}}'
    with pytest.raises(ProviderError) as caught:
        accumulate(before + body + end, protocol)
    assert caught.value.message == "context too long"
    assert caught.value.raw["code"] == 400
    assert caught.value.response is not None
    assert caught.value.response.text == ("par" if before else "")


WHOLE = {
    "id": "x1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hey"}, "finish_reason": "stop"}],
}


@pytest.mark.parametrize("protocol", ["auto", "openai-chat"])
def test_b131_a_body_where_a_stream_was_asked_for(protocol: str) -> None:
    for data in (json.dumps(WHOLE).encode(), json.dumps(WHOLE, indent=2).encode(), sse(WHOLE) + DONE):
        response = accumulate(data, protocol)
        assert (response.text, response.raw_finish_reason, response.id, response.complete) == ("hey", "stop", "x1", True)


def test_b131_a_body_of_another_protocol() -> None:
    body = {"type": "message", "id": "m", "role": "assistant", "stop_reason": "end_turn"}
    response = accumulate(lines({**body, "content": [{"type": "text", "text": "hey"}]}))
    assert (response.text, response.complete) == ("hey", True)


@pytest.mark.parametrize("protocol", ["auto", "openai-chat", "anthropic-messages"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_b133_compressed_bytes_are_told_for_what_they_are(protocol: str, size: int) -> None:
    for data in (gzip.compress(HELLO, mtime=0), zlib.compress(HELLO)):
        with pytest.raises(MalformedChunk, match="compressed"):
            accumulate(cuts(data, size), protocol)
