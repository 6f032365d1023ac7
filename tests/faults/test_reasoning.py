"""Known faults of other libraries: reasoning under its names, signatures, encrypted blocks, thoughts."""

from typing import Any

import pytest

from streamaccumulator import ChatStream, ReasoningPart, TextDelta, TextPart, ThinkTags, ToolCall, accumulate

from ..wire import call, delta, events_of, finish, read
from .shapes import block, calls, gemini, message, read_gemini


def test_b101_reasoning_content_beside_a_call() -> None:
    response = accumulate(
        delta(reasoning_content="th") + delta(reasoning_content="ink") + call(0, "c1", "f", "{}") + finish("tool_calls")
    )
    assert (response.reasoning, calls(response)) == ("think", [("f", {})])
    assert response.message.content[0] == ReasoningPart("think", extra={"field": "reasoning_content"})


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_text"])
def test_b102_each_name_is_read_and_remembered(field: str) -> None:
    response = accumulate(delta(**{field: "a", "content": None}) + delta(**{field: "b"}) + delta(content="c") + finish("stop"))
    assert response.message.content == (ReasoningPart("ab", extra={"field": field}), TextPart("c"))


def test_b102_the_same_under_two_names_counts_once() -> None:
    pieces = [delta(reasoning=piece, reasoning_content=piece) for piece in "ab"]
    response = read(*pieces, finish("stop"))
    assert (response.reasoning, response.diagnostics) == ("ab", ())


def test_b103_a_signature_in_a_delta_of_its_own() -> None:
    thinking = {"type": "thinking_delta", "thinking": "hm"}
    signed = {"type": "signature_delta", "signature": "SIG"}
    response = message(block(0, thinking, signed, type="thinking", thinking="", signature=""))
    assert response.message.content == (ReasoningPart("hm", "SIG"),)


def test_b105_each_block_of_thinking_keeps_its_own_signature() -> None:
    def thinking(index: int, text: str, signature: str) -> bytes:
        deltas: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": text},
            {"type": "signature_delta", "signature": signature},
        ]
        return block(index, *deltas, type="thinking", thinking="", signature="")

    tool = block(1, type="tool_use", id="t1", name="f", input={})
    response = message(thinking(0, "alpha", "S1"), tool, thinking(2, "beta", "S2"), stop="tool_use")
    assert response.message.content == (ReasoningPart("alpha", "S1"), ToolCall("t1", "f"), ReasoningPart("beta", "S2"))


def test_b106_encrypted_thinking_that_is_whole_at_its_start() -> None:
    response = message(block(0, type="redacted_thinking", data="ENC"))
    assert response.message.content == (ReasoningPart("", None, "ENC"),)
    assert response.text == ""


def test_b108_tags_of_thinking_in_the_text_are_left_alone() -> None:
    pieces = ["<thi", "nk>secret</th", "ink>answer"]
    data = b"".join([delta(content=piece) for piece in pieces]) + finish("stop")
    response = accumulate(data)
    assert (response.text, response.reasoning) == ("<think>secret</think>answer", "")
    assert [event.delta for event in events_of(data) if isinstance(event, TextDelta)] == pieces


def test_b108_with_tags_on_nothing_leaks_at_any_step() -> None:
    data = [delta(content=piece) for piece in ("<thi", "nk>secret</th", "ink>answer")]
    shown = []
    with ChatStream([*data, finish("stop")], think_tags=ThinkTags()) as stream:
        for _ in stream:
            shown.append((stream.snapshot().reasoning, stream.snapshot().text))
    assert shown[-1] == ("secret", "answer")
    for reasoning, text in shown:
        assert "secret".startswith(reasoning)
        assert "answer".startswith(text)


def test_b110_pieces_of_one_detail_are_one_block() -> None:
    def detail(**fields: Any) -> bytes:
        return delta(reasoning_details=[{"type": "reasoning.text", "index": 0, **fields}])

    response = accumulate(detail(text="a", signature=None) + detail(text="b") + detail(signature="S") + finish("stop"))
    (part,) = response.message.content
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.signature, part.extra["type"], part.extra["index"]) == ("ab", "S", "reasoning.text", 0)


def test_b112_signatures_of_thoughts_stay_on_their_part() -> None:
    response = read_gemini(
        gemini({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "TS1"}),
        gemini({"text": "", "thoughtSignature": "TS2"}),
        gemini(finish="STOP"),
    )
    called, signed = response.message.content
    assert isinstance(called, ToolCall)
    assert (called.name, called.arguments, called.extra) == ("f", {}, {"thoughtSignature": "TS1"})
    assert signed == ReasoningPart("", "TS2")


def test_b114_the_flag_of_a_part_says_whether_it_is_a_thought() -> None:
    response = read_gemini(gemini({"text": "plan", "thought": True}), gemini({"text": "done"}), gemini(finish="STOP"))
    assert response.message.content == (ReasoningPart("plan"), TextPart("done"))
    assert read(gemini({"text": "plan", "thought": True}), protocol="gemini").text == ""
