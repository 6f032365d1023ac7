"""Saving a stream and going on: dumps that are none, other processes, other connections."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from random import Random

import msgspec
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AsyncChatStream,
    ChatStream,
    Decoder,
    Notice,
    Protocol,
    StreamAccumulator,
    StreamDecoder,
    TextDelta,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallStart,
    UnreadableDump,
    accumulate,
)

from .protocols.captures import captures
from .wire import DONE, chat, codes, cuts, delta, finish, sse

CHUNKS = [delta(content="Hel"), delta(content="lo"), finish("stop"), DONE]


def numbered(first: int = 0) -> list[bytes]:
    """A stream whose server-sent events have ids."""
    return [f"id: {number}\n".encode() + chunk for number, chunk in enumerate(CHUNKS)][first:]


OTHER_PROCESS = """
import base64, json, sys
from streamaccumulator import ChatStream
for line in sys.stdin:
    dump, rest = [base64.b64decode(text) for text in json.loads(line)]
    print(ChatStream.load(dump, [rest]).finalize(strict=False).to_json())
"""


def _asked_for(pieces: list[bytes]) -> Iterator[bytes]:
    """The pieces, each gone from the list once it was asked for."""
    while pieces:
        yield pieces.pop(0)


def test_another_process_goes_on_at_any_byte_and_event() -> None:
    random, lines, expected = Random(4), [], []
    for capture in captures():
        for _ in range(3):
            at = random.randrange(len(capture.data))
            rest = [capture.data[:at], capture.data[at:]]
            with ChatStream(_asked_for(rest)) as stream:
                for _ in range(random.randrange(4)):
                    next(stream, None)
                lines.append(json.dumps([base64.b64encode(part).decode() for part in (stream.dump(), b"".join(rest))]))
                expected.append(accumulate(capture.data, strict=False))
    assert len(lines) > 100
    done = subprocess.run([sys.executable, "-c", OTHER_PROCESS], input="\n".join(lines), capture_output=True, text=True, check=True)
    assert [AccumulatedResponse.from_json(line) for line in done.stdout.splitlines()] == expected


def test_the_async_stream_goes_on_too() -> None:
    import asyncio

    async def read() -> AccumulatedResponse:
        async with AsyncChatStream(CHUNKS) as stream:
            await anext(stream)
            dump = stream.dump()
        return await AsyncChatStream.load(dump, CHUNKS[1:], idle_timeout=5).finalize()

    assert asyncio.run(read()) == accumulate(CHUNKS)


def test_a_dump_of_a_stream_that_ended_is_of_one_that_has_ended() -> None:
    stream = ChatStream(CHUNKS)
    response = stream.finalize()
    loaded = ChatStream.load(stream.dump(), [delta(content="more")])
    assert list(loaded) == []
    assert loaded.finalize() == response


def dump() -> bytes:
    accumulator = StreamAccumulator()
    accumulator.observe(TextDelta("Hi"))
    return accumulator.dump()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no dump"),
        (b'{"type": "text"}', "no dump"),
        (b"\0" * 1000, "no dump"),
        (dump()[:-1], "damaged"),
        (dump() + b"x", "damaged"),
        (dump().replace(b"Hi", b"Ho"), "checksum"),
        (dump().replace(b"accumulator 1 ", b"accumulator 2 "), "version 2"),
        (StreamDecoder().dump(), "a dump of decoder, where one of accumulator belongs"),
    ],
)
def test_what_is_no_dump_says_so(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableDump, match=why):
        StreamAccumulator.load(data)


@pytest.mark.parametrize("at", range(0, len(dump()), 7))
def test_any_damage_is_noticed(at: int) -> None:
    data = bytearray(dump())
    data[at] ^= 4
    with pytest.raises(UnreadableDump):
        StreamAccumulator.load(bytes(data))


def test_calls_are_parsed_again_by_the_parser_that_is_given() -> None:
    accumulator = StreamAccumulator(parse_arguments=lambda text: ("first", text))
    for event in (ToolCallStart("c", "f"), ToolCallArgumentDelta("c", "1"), ToolCallEnd("c")):
        accumulator.observe(event)
    loaded = StreamAccumulator.load(accumulator.dump(), parse_arguments=lambda text: ("second", text))
    assert loaded.tool_call("c").arguments == ("second", "1")
    assert StreamAccumulator.load(accumulator.dump()).tool_call("c").arguments == 1


class Say(msgspec.Struct):
    say: str = ""


class ParrotDecoder(Decoder[Say]):
    chunk_type = Say

    def _read(self, chunk: Say, event: str) -> None:
        self.to_all(TextDelta(chunk.say))


def test_an_outsiders_protocol_is_given_again() -> None:
    protocol = Protocol("parrot", ParrotDecoder)
    decoder = StreamDecoder(protocol)
    decoder.feed(b'data: {"say"')
    loaded = StreamDecoder.load(decoder.dump(), protocol=protocol)
    assert loaded.feed(b': "Hi"}\n\n') == [TextDelta("Hi")]
    with pytest.raises(UnreadableDump, match="parrot"):
        StreamDecoder.load(decoder.dump())
    with pytest.raises(UnreadableDump, match="'openai-chat', where one of 'parrot' belongs"):
        StreamDecoder.load(StreamDecoder("openai-chat").dump(), protocol=protocol)


# ---- A new connection.


def reconnected(first: bytes, second: list[bytes]) -> tuple[AccumulatedResponse, set[str]]:
    decoder = StreamDecoder("openai-chat")
    events = decoder.feed(first)
    decoder = StreamDecoder.load(decoder.dump())
    decoder.reconnected()
    accumulator = StreamAccumulator()
    for event in [*events, *decoder.feed(b"".join(second)), *decoder.close()]:
        accumulator.observe(event)
    response = accumulator.finalize(strict=False)
    return response, codes(response)


@pytest.mark.parametrize("again", [0, 1, 2])
@pytest.mark.parametrize("cut", [0, 1, 9, 60])
def test_what_a_new_connection_sends_again_is_left_out(again: int, cut: int) -> None:
    """The first connection gives events 0 and 1 and `cut` bytes of 2; the second goes on from any of them."""
    whole = b"".join(numbered()[:2])
    response, told = reconnected(whole + numbered()[2][:cut], numbered(again))
    assert (response.text, response.complete) == ("Hello", True)
    assert told == ({"repeated_event"} if again < 2 else set())


def test_a_gap_between_connections_is_told() -> None:
    response, told = reconnected(b"".join(numbered()[:2]), numbered(3))
    assert (response.text, response.complete) == ("Hello", False)
    assert told == {"sequence_gap"}


def test_ids_that_name_no_event_leave_nothing_out() -> None:
    """Some servers give every event the id of the message; two equal deltas are two."""
    same = [b"id: x\n" + delta(content="ha") for _ in range(3)]
    response, told = reconnected(b"".join(same[:2]), [same[2], finish("stop")])
    assert (response.text, told) == ("hahaha", set())


def test_where_to_go_on_from() -> None:
    decoder = StreamDecoder()
    assert (decoder.last_event_id, decoder.sequence_number) == ("", None)
    decoder.feed(b"".join(numbered()[:2]) + numbered()[2][:10])
    assert (decoder.last_event_id, decoder.sequence_number) == ("1", None)
    decoder = StreamDecoder("openai-responses")
    decoder.feed(sse(*[{"type": "response.output_text.delta", "delta": "a", "sequence_number": n} for n in range(4)]))
    assert decoder.sequence_number == 3
    assert StreamDecoder.load(decoder.dump()).sequence_number == 3


def test_repeats_are_the_same_however_the_bytes_are_cut() -> None:
    first, second = b"".join(numbered()[:2]), b"".join(numbered(1))
    for size in (1, 2, 5, 1000):
        decoder = StreamDecoder("openai-chat")
        events = [event for piece in cuts(first, size) for event in decoder.feed(piece)]
        decoder.reconnected()
        events += [event for piece in cuts(second, size) for event in decoder.feed(piece)]
        assert [event.delta for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
        assert [event.where for event in events if isinstance(event, Notice)] == ["id 1"]


def test_the_lines_of_other_framings_begin_anew_too() -> None:
    line = chat({"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"})[6:-2] + b"\n"
    for whole in (line, b"[" + line + b"]"):
        decoder = StreamDecoder("openai-chat")
        decoder.feed(whole[:40])
        decoder.reconnected()
        assert [event.delta for event in [*decoder.feed(whole), *decoder.close()] if isinstance(event, TextDelta)] == ["Hi"]
