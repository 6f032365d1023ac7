"""Known faults of other libraries: what a chunk of chat may hold, lack and repeat."""

import copy
import json
from typing import Any

import pytest

from streamaccumulator import (
    FinishReason,
    PartEnd,
    ReasoningPart,
    RefusalPart,
    TextDelta,
    TextPart,
    ToolCall,
    accumulate,
    accumulate_choices,
)

from ..wire import DONE, call, chat, codes, delta, events_of, finish, read, sse
from .shapes import calls, counts, responses


def test_b001_a_chunk_without_any_choice_is_read_and_makes_none() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    data = delta(role="assistant", content="hi") + finish("stop") + chat(usage=usage) + DONE
    response = accumulate(data)
    assert (response.text, response.raw_finish_reason, counts(response), response.complete) == ("hi", "stop", (3, 1, 4), True)
    assert list(accumulate_choices(data)) == [0]


@pytest.mark.parametrize("odd", [{}, {"choices": None}, {"choices": []}], ids=["absent", "null", "empty"])
def test_b002_a_chunk_that_knows_no_choices_is_passed_over_but_kept(odd: dict[str, Any]) -> None:
    chunk = sse({"id": "x1", "object": "chat.completion.chunk", "cost": "0", **odd})
    response = accumulate(delta(content="ok") + chunk + finish("stop") + DONE, "openai-chat")
    assert (response.text, response.finish_reason, response.extra["cost"]) == ("ok", FinishReason.STOP, "0")


def test_b003_blank_identity_in_a_preamble_never_counts() -> None:
    blank = {"id": "", "object": "", "created": 0, "model": "", "choices": []}
    filtered = [{"prompt_index": 0}]
    response = accumulate(sse({**blank, "prompt_filter_results": filtered}) + delta(content="A") + finish("stop"))
    assert (response.text, response.id, response.model) == ("A", "x1", "m1")
    assert response.extra["prompt_filter_results"] == filtered


def test_b004_a_choice_without_a_delta_after_the_end() -> None:
    offsets = {"check_offset": 9, "start_offset": 9, "end_offset": 12}
    late = {"index": 0, "finish_reason": None, "content_filter_offsets": offsets}
    blank = {"id": "", "object": "", "created": 0, "model": "", "choices": [late], "usage": None}
    response = accumulate(delta(content="A") + finish("stop") + sse(blank))
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("A", FinishReason.STOP, "stop")
    assert response.extra["content_filter_offsets"] == offsets


def test_b007_closing_twice_doubles_no_word() -> None:
    response = accumulate(delta(content="a") + finish("stop") * 2)
    assert (response.raw_finish_reason, response.model, response.id, response.text) == ("stop", "m1", "x1", "a")
    assert (response.extra, response.diagnostics) == ({"created": 1}, ())


def test_b008_choices_that_interleave_stay_apart() -> None:
    data = (
        chat({"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "A"}})
        + chat({"index": 1, "delta": {"content": "2"}, "finish_reason": "stop"})
        + chat({"index": 0, "delta": {"content": "1"}, "finish_reason": "length"})
    )
    both = accumulate_choices(data)
    assert {at: (one.text, one.raw_finish_reason) for at, one in both.items()} == {0: ("A1", "length"), 1: ("B2", "stop")}


def test_b008_the_same_call_index_in_two_choices_is_two_calls() -> None:
    def piece(choice: int, **fields: Any) -> dict[str, Any]:
        return {"index": choice, "delta": {"tool_calls": [{"index": 0, **fields}]}}

    data = (
        chat(piece(1, id="c1", function={"name": "g", "arguments": "["}), piece(0, id="c0", function={"name": "f"}))
        + chat(piece(0, function={"arguments": '{"a":0}'}), piece(1, function={"arguments": "1]"}))
        + chat(*[{"index": choice, "delta": {}, "finish_reason": "tool_calls"} for choice in (0, 1)])
    )
    assert [calls(one) for _, one in sorted(accumulate_choices(data).items())] == [[("f", {"a": 0})], [("g", [1])]]


def test_b009_content_as_typed_parts_and_as_a_string_in_one_stream() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response = accumulate(
        delta(content=[thinking]) + delta(content=[{"type": "text", "text": "yes"}]) + delta(content="!") + finish("stop")
    )
    assert (response.reasoning, response.text) == ("hm", "yes!")


def test_b012_all_text_so_far_in_each_delta_is_joined_and_told() -> None:
    response = accumulate(delta(content="Hel") + delta(content="Hello") + delta(content="Hello you") + finish("stop"))
    assert (response.text, codes(response)) == ("HelHelloHello you", {"cumulative_text"})


def test_b014_three_channels_in_one_delta() -> None:
    entry = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    response = accumulate(delta(reasoning_content="r", content="t", tool_calls=[entry]) + finish("tool_calls"))
    assert [type(part) for part in response.message.content] == [ReasoningPart, TextPart, ToolCall]
    assert (response.reasoning, response.text, calls(response)) == ("r", "t", [("f", {})])


def test_b015_a_refusal_in_chat_is_a_refusal_and_no_text() -> None:
    response = accumulate(delta(role="assistant", refusal="I ") + delta(refusal="cannot.") + finish("stop"))
    assert response.message.content == (RefusalPart("I cannot."),)
    assert (response.refusal, response.text, codes(response)) == ("I cannot.", "", set())


@pytest.mark.parametrize("end", [b"", responses("completed", response={"id": "r", "status": "completed", "output": []})])
def test_b015_a_refusal_in_responses_is_a_refusal_and_no_text(end: bytes) -> None:
    piece = responses("refusal.delta", item_id="m1", output_index=0, content_index=0, delta="No.")
    response = read(piece, end, protocol="openai-responses")
    assert (response.refusal, response.text, response.complete) == ("No.", "", bool(end))
    assert "empty_stream" not in codes(response)


def test_b017_log_probabilities_are_appended_and_what_was_given_is_left_alone() -> None:
    records = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -0.2}]
    said: list[Any] = [{"content": records[:1]}, None, {"content": records[1:]}]
    payloads: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": "."}, "logprobs": one}]} for one in said]
    payloads.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    before = copy.deepcopy(payloads)
    response = accumulate(payloads, "openai-chat")
    assert response.logprobs == {"content": records}
    assert response.logprobs is not None
    response.logprobs["content"][0]["token"] = "changed"
    assert payloads == before
    assert accumulate(delta(content="a") + finish("stop")).logprobs is None


def test_b019_keys_of_a_call_that_nobody_models_stay_with_it() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "S1"}}}
    entry = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **extra}
    response = accumulate(delta(tool_calls=[entry]) + finish("tool_calls"))
    assert response.tool_calls == (ToolCall("c1", "f", {}, "{}", extra=extra),)


def test_b030_text_that_goes_on_after_a_call_goes_to_no_ended_part() -> None:
    data = delta(content="a") + call(0, "c1", "f", "{}") + delta(content="b") + finish("tool_calls")
    ended: set[int | None] = set()
    for event in events_of(data):
        if isinstance(event, PartEnd):
            ended.add(event.part)
        assert not (isinstance(event, TextDelta) and event.part in ended)
    response = accumulate(data)
    assert (response.text, calls(response)) == ("ab", [("f", {})])


def test_b031_what_two_streams_call_the_same_is_not_the_same() -> None:
    streams: list[dict[str, Any]] = [
        json.loads(delta(content=text)[6:]) | {"id": id} for text, id in (("first", "x1"), ("second", "x2"))
    ]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    found = [accumulate([stream, end]) for stream in streams]
    assert [(one.id, one.text) for one in found] == [("x1", "first"), ("x2", "second")]
    assert codes(accumulate([*streams, end])) == {"second_response"}


def test_b034_empty_text_makes_no_part() -> None:
    response = accumulate(delta(role="assistant", content="") + call(0, "c1", "f", '{"q":1}') + finish("stop"))
    assert response.message.content == (ToolCall("c1", "f", {"q": 1}, '{"q":1}'),)
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "stop")
