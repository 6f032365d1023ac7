"""Reasoning between tags in the text: taken out wherever it is cut, and nothing else is."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import (
    AsyncChatStream,
    ChatStream,
    ChatStreamEvent,
    Citation,
    Extra,
    Finish,
    PartEnd,
    ReasoningDelta,
    StreamAccumulator,
    StreamDecoder,
    TextDelta,
    ThinkTags,
    ToolCallStart,
    Truncated,
    Usage,
    aaccumulate,
    accumulate,
    accumulate_choices,
    parse_response,
    tee,
)
from streamaccumulator.messages import TokenUsage

from .wire import chat, delta, finish, sse

TAGS = ThinkTags()


def told(*events: ChatStreamEvent | str, tags: ThinkTags = TAGS) -> list[ChatStreamEvent]:
    """What a stage makes of events; a str is a text delta."""
    found: list[ChatStreamEvent] = []
    stage = tags.stage(found.append)
    for event in events:
        stage(TextDelta(event) if isinstance(event, str) else event)
    stage.flush()
    return found


def said(events: list[ChatStreamEvent]) -> tuple[str, str]:
    """Reasoning and text."""
    return (
        "".join([event.delta for event in events if isinstance(event, ReasoningDelta)]),
        "".join([event.delta for event in events if isinstance(event, TextDelta)]),
    )


def naive(text: str, tags: ThinkTags) -> tuple[str, str]:
    """The same of the whole text, with a regular expression."""
    text = tags.open + text if tags.inside else text
    pattern = f"{re.escape(tags.open)}(.*?)(?:{re.escape(tags.close)}|\\Z)"
    return "".join(re.findall(pattern, text, re.DOTALL)), re.sub(pattern, "", text, flags=re.DOTALL)


PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<", ">", "think", "</", "<thi", "nk>", "a", "é\n", "<<think>>", ""]), max_size=12
)


@given(PIECES, st.integers(1, 9), st.sampled_from([TAGS, ThinkTags("[T]", "[/T]"), ThinkTags(inside=True), ThinkTags("aa", "ab")]))
def test_any_text_cut_anywhere_is_taken_apart_as_the_whole_is(pieces: list[str], size: int, tags: ThinkTags) -> None:
    text = "".join(pieces)
    assert said(told(*[text[at : at + size] for at in range(0, len(text), size)], tags=tags)) == naive(text, tags)


def test_no_more_is_held_back_than_may_be_a_tag() -> None:
    found: list[ChatStreamEvent] = []
    stage = TAGS.stage(found.append)
    for piece, events in [
        ("a <", [TextDelta("a ")]),
        ("b", [TextDelta("<b")]),
        ("<thi", []),
        ("nk", []),
        (">", []),
        ("x", [PartEnd(), ReasoningDelta("x", -1)]),
        ("</thin", []),
        ("g", [ReasoningDelta("</thing", -1)]),
        ("</think>y", [PartEnd(-1), TextDelta("y", -2)]),
    ]:
        found.clear()
        stage(TextDelta(piece))
        assert found == events, piece


def test_what_stands_beside_the_text_does_not_tear_a_tag_and_other_parts_do() -> None:
    usage = Usage(TokenUsage(1, 2))
    assert told("<thi", usage, "nk>x") == [usage, ReasoningDelta("x", -1)]
    start = ToolCallStart("c1", "f")
    assert told("<thi", start, "nk>x") == [TextDelta("<thi"), start, TextDelta("nk>x")]
    assert told(TextDelta("<thi", 1), TextDelta("nk>x", 2)) == [TextDelta("<thi", 1), TextDelta("nk>x", 2)]


def test_an_empty_tag_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one letter"):
        ThinkTags("")


# ---- In a stream.

WIRE = [delta(content="<thi"), delta(content="nk>secret</th"), delta(content="ink>answer"), finish("stop"), b"data: [DONE]\n\n"]


def readers() -> Iterator[Any]:
    async def by_async_events() -> Any:
        async with AsyncChatStream(WIRE, think_tags=TAGS) as stream:
            return await stream.finalize()

    def by_tee() -> Any:
        accumulator = StreamAccumulator()
        assert list(tee(WIRE, accumulator, think_tags=TAGS)) == WIRE
        return accumulator.finalize()

    def by_events() -> Any:
        with ChatStream(WIRE, think_tags=TAGS) as stream:
            return stream.finalize()

    yield lambda: accumulate(WIRE, think_tags=TAGS)
    yield lambda: asyncio.run(aaccumulate(WIRE, think_tags=TAGS))
    yield lambda: accumulate_choices(WIRE, think_tags=TAGS)[0]
    yield lambda: asyncio.run(by_async_events())
    yield by_events
    yield by_tee


@pytest.mark.parametrize("reader", list(readers()))
def test_every_driver_takes_tags(reader: Any) -> None:
    response = reader()
    assert (response.reasoning, response.text, response.complete) == ("secret", "answer", True)
    assert [type(part).__name__ for part in response.message.content] == ["ReasoningPart", "TextPart"]


def test_without_the_stage_the_text_is_as_it_came() -> None:
    response = accumulate(WIRE)
    assert (response.reasoning, response.text) == ("", "<think>secret</think>answer")


def test_an_unstreamed_body_gives_the_same() -> None:
    message = {"role": "assistant", "content": "<think>secret</think>answer"}
    body = {"id": "x1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    response = parse_response(body, think_tags=TAGS)
    assert (response.reasoning, response.text) == ("secret", "answer")


def test_a_cut_stream_keeps_what_was_held_back() -> None:
    response = accumulate([delta(content="a<thi")], think_tags=TAGS, strict=False)
    assert (response.text, [type(error) for error in response.errors]) == ("a<thi", [Truncated])
    response = accumulate([delta(content="<think>so far</th")], think_tags=TAGS, strict=False)
    assert (response.reasoning, response.text) == ("so far</th", "")


def test_choices_do_not_share_a_tag() -> None:
    wire = chat(*[{"index": at, "delta": {"content": text}} for at, text in enumerate(["<thi", "nk>b"])])
    wire += chat(*[{"index": at, "delta": {"content": text}, "finish_reason": "stop"} for at, text in enumerate(["nk>a", ""])])
    found = accumulate_choices(wire, think_tags=TAGS)
    assert [(found[at].reasoning, found[at].text) for at in (0, 1)] == [("a", ""), ("", "nk>b")]


def test_saved_within_a_tag_it_goes_on() -> None:
    data = b"".join(WIRE)
    for at in range(len(data)):
        decoder = StreamDecoder(think_tags=TAGS)
        events = decoder.feed(data[:at])
        decoder = StreamDecoder.load(decoder.dump())
        events += [*decoder.feed(data[at:]), *decoder.close()]
        assert said(events) == ("secret", "answer")
        assert sum([isinstance(event, Finish) for event in events]) == 1


def test_other_protocols_have_it_too() -> None:
    wire = sse({"candidates": [{"content": {"role": "model", "parts": [{"text": "<think>s</think>t"}]}, "finishReason": "STOP"}]})
    assert accumulate(wire, "gemini", think_tags=TAGS).reasoning == "s"


# ---- Each stretch is a part of its own, in every protocol.


def parts_of(response: Any) -> list[tuple[str, str]]:
    return [(type(part).__name__.removesuffix("Part"), part.text) for part in response.message.content]


def gemini(*texts: str) -> list[bytes]:
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]} for text in texts]
    return [*[sse(chunk) for chunk in chunks], sse({"candidates": [{"finishReason": "STOP"}]})]


def claude(*texts: str) -> list[bytes]:
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts]
    return [
        sse({"type": "message_start", "message": {"id": "m1"}}),
        sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        *[sse(one) for one in deltas],
        sse({"type": "content_block_stop", "index": 0}),
        sse({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        sse({"type": "message_stop"}),
    ]


def responses(*texts: str) -> list[bytes]:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    return [
        sse({"type": "response.created", "response": {"id": "r1"}}),
        sse({"type": "response.output_item.added", "output_index": 0, "item": item}),
        *[sse({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": text}) for text in texts],
        sse({"type": "response.completed", "response": {"id": "r1", "status": "completed"}}),
    ]


def openai(*texts: str) -> list[bytes]:
    return [*[delta(content=text) for text in texts], finish("stop")]


each_wire = pytest.mark.parametrize("wire", [openai, claude, gemini, responses])


@each_wire
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<think>a</think>b<think>c</think>d", [("Reasoning", "a"), ("Text", "b"), ("Reasoning", "c"), ("Text", "d")]),
        ("hi <think>a</think>b", [("Text", "hi "), ("Reasoning", "a"), ("Text", "b")]),
        ("hello<think></think>world", [("Text", "helloworld")]),
        ("<think>a</think>", [("Reasoning", "a")]),
        ("a <thi", [("Text", "a <thi")]),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 99])
def test_each_stretch_is_a_part_in_the_order_in_which_it_was_told(
    wire: Any, text: str, parts: list[tuple[str, str]], size: int
) -> None:
    response = accumulate(wire(*[text[at : at + size] for at in range(0, len(text), size)]), think_tags=TAGS)
    assert (parts_of(response), response.diagnostics, response.complete) == (parts, (), True)


def test_what_is_said_of_a_text_waits_for_the_text() -> None:
    response = accumulate(responses("<think>", "a</think>", "b"), think_tags=TAGS)
    assert parts_of(response) == [("Reasoning", "a"), ("Text", "b")]
    assert [part.extra for part in response.message.content] == [{}, {"id": "msg_1"}]
    source = Citation({"url": "u"})
    assert told("<thi", source, "s>") == [TextDelta("<this>"), source]
    assert told(TextDelta("<think>a", 1), Extra(1, {"id": "m"}), PartEnd(1)) == [
        ReasoningDelta("a", -1),
        Extra(-1, {"id": "m"}),
        PartEnd(-1),
    ]
    assert told(TextDelta("a<think>b</think>c", 1), Citation({}, 1))[-1] == Citation({}, -2)


def test_a_stream_that_is_left_keeps_what_was_held_back() -> None:
    with ChatStream([delta(content="a"), delta(content="b <"), delta(content="c")], think_tags=TAGS) as stream:
        for event in stream:
            if event == TextDelta("b "):
                break
    assert stream.finalize(strict=False).text == "ab <"


def test_a_stage_saved_anywhere_goes_on_as_it_was() -> None:
    wire = responses("<thi", "nk>a", "</think", ">", "b <", "think>c</think>d")
    whole = accumulate(wire, think_tags=TAGS)
    for cut in range(len(wire)):
        decoder = StreamDecoder("openai-responses", think_tags=TAGS)
        accumulator = StreamAccumulator()
        for at, piece in enumerate(wire):
            if at == cut:
                decoder = StreamDecoder.load(decoder.dump())
            for event in decoder.feed(piece):
                accumulator.observe(event)
        for event in decoder.close():
            accumulator.observe(event)
        assert accumulator.finalize() == whole
