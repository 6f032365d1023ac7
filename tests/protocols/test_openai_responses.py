"""OpenAI Responses: items and parts, what is said twice, what is left out, resumed streams, and its ends."""

from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    FinishReason,
    MediaPart,
    ProviderError,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    Truncated,
    accumulate,
    parse_response,
)

from ..wire import codes, sse


def ev(kind: str, **fields: Any) -> bytes:
    return sse({"type": f"response.{kind}", **fields}, event=f"response.{kind}")


def done(*output: Any, status: str = "completed", **fields: Any) -> bytes:
    return ev(status, response={"id": "r1", "model": "m", "status": status, "output": list(output), **fields})


def text(delta: str, item: str | None = "m1", index: int | None = 0, **fields: Any) -> bytes:
    where = {key: value for key, value in (("item_id", item), ("output_index", index)) if value is not None}
    return ev("output_text.delta", delta=delta, content_index=0, **where, **fields)


def item(kind: str, id: str, index: int = 0, **fields: Any) -> bytes:
    return ev("output_item.added", output_index=index, item={"type": kind, "id": id, **fields})


def item_done(kind: str, id: str, index: int = 0, **fields: Any) -> bytes:
    return ev("output_item.done", output_index=index, item={"type": kind, "id": id, **fields})


def read(*pieces: bytes) -> AccumulatedResponse:
    return accumulate(b"".join(pieces), "openai-responses", strict=False)


CREATED = ev("created", response={"id": "r1", "model": "m", "status": "in_progress", "output": []})
FC: dict[str, Any] = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "f"}
WHOLE_TEXT = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}


def test_a_message_as_it_is_documented() -> None:
    response = read(
        CREATED,
        item("message", "m1", role="assistant", content=[]),
        ev("content_part.added", item_id="m1", output_index=0, content_index=0, part={"type": "output_text", "text": ""}),
        text("Hel"),
        text("lo"),
        ev("output_text.done", item_id="m1", output_index=0, content_index=0, text="Hello"),
        ev("content_part.done", item_id="m1", output_index=0, content_index=0, part={"type": "output_text", "text": "Hello"}),
        item_done("message", "m1", role="assistant", phase="final", content=WHOLE_TEXT["content"]),
        done(WHOLE_TEXT, usage={"input_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}}, instructions="echo"),
    )
    assert response.message.content == (TextPart("Hello", (), {"id": "m1", "phase": "final"}),)
    assert (response.finish_reason, response.raw_finish_reason, response.id, response.model) == ("stop", "completed", "r1", "m")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.reasoning_tokens) == (3, 2)
    assert (response.extra, response.diagnostics) == ({"status": "completed"}, ())


@pytest.mark.parametrize(
    "pieces",
    [
        [text("Hel"), text("lo"), done()],  # nothing but deltas, and an empty output (B030)
        [done(WHOLE_TEXT)],  # nothing but the terminal response
        [item("message", "m1"), item_done("message", "m1", content=WHOLE_TEXT["content"]), done()],
        [ev("output_text.done", item_id="m1", output_index=0, content_index=0, text="Hello"), done()],
        [text("Hel"), done(WHOLE_TEXT)],  # the rest of a text whose deltas stopped
        [text("Hel", None), text("lo", None), done(WHOLE_TEXT)],
        [text("Hel", index=None), text("lo", index=None), done(WHOLE_TEXT)],
        [item("message", "m1"), text("Hel", "another"), text("lo", "third"), done(WHOLE_TEXT)],  # ids that rotate
        [text("Hel"), text("lo"), done(), b"data: [DONE]\n\n"],
    ],
)
def test_whatever_is_left_out_the_text_is_there_once(pieces: list[bytes]) -> None:
    response = read(*pieces)
    assert (response.text, response.complete) == ("Hello", True)


def test_a_whole_that_contradicts_its_deltas_is_told_and_the_deltas_count() -> None:
    response = read(text("Good"), text("bye"), done(WHOLE_TEXT))
    assert (response.text, "resent_text_differs" in codes(response)) == ("Goodbye", True)


def test_calls_by_deltas_by_done_alone_or_with_their_start() -> None:
    arguments = '{"a": 1}'
    deltas = [ev("function_call_arguments.delta", item_id="fc1", output_index=0, delta=piece) for piece in ('{"a"', ": 1}")]
    whole = ev("function_call_arguments.done", item_id="fc1", output_index=0, arguments=arguments)
    started = item(kind="function_call", id="fc1", call_id="c1", name="f", arguments="")
    ended = item_done("function_call", "fc1", call_id="c1", name="f", arguments=arguments)
    expected = [ToolCall("c1", "f", {"a": 1}, arguments, extra={"id": "fc1"})]
    for pieces in (
        [started, *deltas, whole, ended],
        [started, *deltas, whole],
        [started, whole],
        [started, ended],
        [item("function_call", "fc1", call_id="c1", name="f", arguments=arguments), ended],
        [item("function_call", "fc1", call_id="c1", name="f", arguments=arguments), *deltas, whole, ended],
        [],
    ):
        assert list(read(*pieces, done({**FC, "arguments": arguments})).tool_calls) == expected


def test_a_call_whose_start_was_lost_gets_its_name_at_the_end() -> None:
    delta = ev("function_call_arguments.delta", item_id="fc1", output_index=0, delta="{}")
    response = read(delta, item_done("function_call", "fc1", call_id="c1", name="f", arguments="{}"), done())
    assert [(call.name, call.arguments, call.minted) for call in response.tool_calls] == [("f", {}, True)]
    assert "item_not_started" in codes(response)


def test_a_call_that_was_incomplete_is_no_call() -> None:
    incomplete = {"incomplete_details": {"reason": "max_output_tokens"}}
    response = read(
        item("function_call", "fc1", call_id="c1", name="f", arguments=""),
        ev("function_call_arguments.delta", item_id="fc1", output_index=0, delta='{"a'),
        item_done("function_call", "fc1", call_id="c1", name="f", arguments='{"a', status="incomplete"),
        done({**FC, "arguments": '{"a', "status": "incomplete"}, status="incomplete", **incomplete),
    )
    assert (response.tool_calls, response.finish_reason, response.raw_finish_reason) == ((), "length", "max_output_tokens")
    assert [error.what() for error in response.errors] == [
        "call 'c1' to 'f' is not usable (cut) at byte 3, after '{\"a': the text ends before the JSON is closed"
    ]


def test_a_custom_tool_call_is_its_text() -> None:
    response = read(
        item("custom_tool_call", "ct1", call_id="c1", name="sql", input=""),
        ev("custom_tool_call_input.delta", item_id="ct1", output_index=0, delta="SELECT"),
        ev("custom_tool_call_input.done", item_id="ct1", output_index=0, input="SELECT 1"),
        item_done("custom_tool_call", "ct1", call_id="c1", name="sql", input="SELECT 1"),
        done(),
    )
    assert response.tool_calls == (ToolCall("c1", "sql", "SELECT 1", "SELECT 1", "custom", extra={"id": "ct1"}),)


def test_reasoning_in_summaries_and_in_full_with_what_must_go_back() -> None:
    response = read(
        item("reasoning", "rs1", summary=[], encrypted_content="stub"),
        *[
            ev("reasoning_summary_text.delta", item_id="rs1", output_index=0, summary_index=index, delta=delta)
            for index, delta in ((0, "On"), (0, "e"), (1, "Two"))
        ],
        item_done("reasoning", "rs1", summary=[{"type": "summary_text", "text": "One"}], encrypted_content="ENC"),
        item("reasoning", "rs2", 1, summary=[], content=[]),
        ev("reasoning_text.delta", item_id="rs2", output_index=1, content_index=0, delta="Full"),
        item_done("reasoning", "rs2", 1, summary=[], content=[{"type": "reasoning_text", "text": "Full"}]),
        item_done("reasoning", "rs3", 2, summary=[], encrypted_content="ONLY"),
        item_done("reasoning", "rs4", 3, summary=[]),
        done(),
    )
    assert response.message.content == (
        ReasoningPart("One", "ENC", None, {"id": "rs1", "field": "summary_text"}),
        ReasoningPart("Two", None, None, {"id": "rs1", "field": "summary_text"}),
        ReasoningPart("Full", None, None, {"id": "rs2", "field": "reasoning_text"}),
        ReasoningPart("", "ONLY", None, {"id": "rs3"}),
        ProviderPart("reasoning", {"type": "reasoning", "id": "rs4", "summary": []}),
    )
    assert response.diagnostics == ()


def test_refusals_and_annotations_belong_to_their_item() -> None:
    citation = {"type": "url_citation", "url": "https://example.org"}
    content = [{"type": "output_text", "text": "See", "annotations": [citation, {"type": "late"}]}]
    response = read(
        item("message", "m1", content=[]),
        text("See"),
        ev("output_text.annotation.added", item_id="m1", output_index=0, content_index=0, annotation=citation),
        item_done("message", "m1", content=content),
        item("message", "m2", 1, content=[]),
        ev("refusal.delta", item_id="m2", output_index=1, content_index=0, delta="No"),
        ev("refusal.done", item_id="m2", output_index=1, content_index=0, refusal="No."),
        done(),
    )
    assert response.message.content == (
        TextPart("See", (citation, {"type": "late"}), {"id": "m1"}),
        RefusalPart("No.", {"id": "m2"}),
    )


def test_what_the_provider_ran_stays_in_its_place_with_its_last_state() -> None:
    response = read(
        item("code_interpreter_call", "ci1", status="in_progress", code=""),
        ev("code_interpreter_call.interpreting", item_id="ci1", output_index=0),
        ev("code_interpreter_call_code.delta", item_id="ci1", output_index=0, delta="print("),
        item("message", "m1", 1, content=[]),
        text("4", index=1),
        item_done("code_interpreter_call", "ci1", status="completed", code="print(2+2)", outputs=[1]),
        item("image_generation_call", "ig1", 2),
        item_done("image_generation_call", "ig1", 2, result="aGk=", output_format="webp"),
        done(),
    )
    code, four, image = response.message.content
    assert isinstance(code, ProviderPart)
    assert (code.kind, code.data["code"], code.data["status"]) == ("code_interpreter_call", "print(2+2)", "completed")
    assert isinstance(four, TextPart)
    assert isinstance(image, MediaPart)
    assert (image.mime, image.data, image.extra["id"]) == ("image/webp", "aGk=", "ig1")


def test_pieces_of_what_the_provider_ran_are_kept_when_the_stream_is_cut() -> None:
    response = read(
        CREATED,
        item("mcp_call", "mc1", name="search", arguments=""),
        ev("mcp_call_arguments.delta", item_id="mc1", output_index=0, delta='{"q":'),
    )
    (block,) = response.message.content
    assert isinstance(block, ProviderPart)
    assert block.data["arguments"] == '{"q":'
    assert response.tool_calls == ()


def test_an_event_that_repeats_its_number_is_skipped_and_a_gap_is_told() -> None:
    numbered = [text(delta, sequence_number=number) for number, delta in enumerate("Hello", start=1)]
    assert read(*numbered[:4], *numbered[2:], done(sequence_number=9)).text == "Hello"
    gap = read(*numbered[:2], *numbered[4:], done())
    assert (gap.text, codes(gap) >= {"sequence_gap"}) == ("Heo", True)


def test_numbers_that_say_nothing_lose_nothing() -> None:
    assert read(*[text(delta, sequence_number=0) for delta in "Hello"], done()).text == "Hello"


def test_a_stream_that_starts_late_gives_what_it_can() -> None:
    response = read(text("lo", sequence_number=7), ev("output_text.done", item_id="m1", output_index=0, text="Hello"), done())
    assert (response.text, response.complete) == ("lo", True)
    assert codes(response) >= {"sequence_gap", "item_not_started", "resent_text_differs"}


@pytest.mark.parametrize(
    ("end", "reason", "raw"),
    [
        (done(status="incomplete", incomplete_details={"reason": "content_filter"}), FinishReason.CONTENT_FILTER, "content_filter"),
        (done(status="incomplete"), FinishReason.UNKNOWN, "incomplete"),
        (ev("incomplete", response={"id": "r1"}), FinishReason.UNKNOWN, "incomplete"),
        (done(status="failed", error={"code": "server_error", "message": "boom"}), FinishReason.ERROR, "failed"),
        (done(status="cancelled"), FinishReason.ERROR, "cancelled"),
    ],
)
def test_its_other_ends(end: bytes, reason: FinishReason, raw: str) -> None:
    response = read(text("a"), end)
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("a", reason, raw)
    assert (reason is FinishReason.ERROR) == any(isinstance(error, ProviderError) for error in response.errors)


def test_an_error_event_and_the_failed_response_that_repeats_it_are_one_error() -> None:
    error = sse({"type": "error", "code": "rate_limit", "message": "slow down", "sequence_number": 2}, event="error")
    response = read(CREATED, error, done(status="failed", error={"code": "rate_limit", "message": "slow down"}))
    assert [str(error) for error in response.errors] == ["the provider reported an error: rate_limit: slow down"]


def test_without_its_terminal_event_it_is_truncated() -> None:
    with pytest.raises(Truncated):
        accumulate(CREATED + text("a"))


def test_an_unknown_event_and_an_unknown_content_are_kept_or_counted() -> None:
    response = read(ev("mystery", a=1), item_done("message", "m1", content=[{"type": "hologram", "x": 1}]), done())
    assert codes(response) == {"unknown_event"}
    assert response.message.content == (ProviderPart("hologram", {"type": "hologram", "x": 1}, {"id": "m1"}),)


def test_a_call_is_one_call_whatever_names_it() -> None:
    started = item("function_call", "fc1", call_id="c1", name="pay", arguments="")
    piece = ev("function_call_arguments.delta", item_id="fc1", output_index=0, delta='{"a":1}')
    whole = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"a":1}'}
    for pieces in (
        [started, started, piece, done({**whole, "id": "fc1"})],  # its start came twice
        [started, piece, done({**whole, "id": "other"})],  # the whole response has ids of its own
        [started, piece, done(whole)],
        [item("reasoning", "rs", 0), item("function_call", "fc1", 1, call_id="c1", name="pay"), piece, done({**whole, "id": "x"})],
        [
            sse({"type": "response.output_item.added", "item": {**whole, "arguments": ""}}),
            sse({"type": "response.output_item.done", "item": whole}),
            done(),
        ],
    ):
        assert [(call.id, call.arguments) for call in read(*pieces).tool_calls] == [("c1", {"a": 1})]


def test_two_call_ids_at_one_index_are_two_calls() -> None:
    wholes = [item_done("function_call", f"fc{n}", call_id=f"c{n}", name="pay", arguments="{}") for n in (1, 2)]
    response = read(*wholes, done())
    assert [call.id for call in response.tool_calls] == ["c1", "c2"]


def test_texts_of_a_response_with_other_ids_are_not_said_twice() -> None:
    wholes = [{"type": "message", "id": f"x{n}", "content": [{"type": "output_text", "text": text}]} for n, text in enumerate("AB")]
    response = read(item("message", "m1"), text("A"), item("message", "m2", 1), text("B", "m2", 1), done(*wholes))
    assert (response.text, len(response.message.content)) == ("AB", 2)
    late = {"type": "message", "id": "new", "content": [{"type": "output_text", "text": "N"}]}
    known = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "A"}]}
    assert sorted(read(item("message", "m1"), text("A"), done(late, known)).text) == ["A", "N"]


def test_arguments_that_contradict_each_other_are_no_call_unless_they_mean_the_same() -> None:
    started = item("function_call", "fc1", call_id="c1", name="pay", arguments="")
    piece = ev("function_call_arguments.delta", item_id="fc1", output_index=0, delta='{"amount":1}')
    for said, calls in (('{"amount": 1}', 1), ('{"amount":100}', 0)):
        response = read(started, piece, done({**FC, "arguments": said}))
        assert (len(response.tool_calls), len(response.errors)) == (calls, 1 - calls)


def test_a_call_that_never_got_arguments_before_a_bound_is_no_call() -> None:
    response = read(
        item("function_call", "fc1", call_id="c1", name="pay", arguments=""),
        item("message", "m1", 1),
        text("a", index=1),
        done(
            {**FC, "arguments": "", "status": "incomplete"}, status="incomplete", incomplete_details={"reason": "max_output_tokens"}
        ),
    )
    assert (response.tool_calls, response.complete) == ((), False)


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_a_body_of_a_response_that_still_runs_is_no_end(status: str) -> None:
    body = {"id": "r", "object": "response", "status": status, "output": [WHOLE_TEXT]}
    with pytest.raises(Truncated) as caught:
        parse_response(body)
    assert caught.value.response is not None
    assert caught.value.response.text == "Hello"


def test_numbers_never_lose_an_error_an_end_or_an_event_that_came_late() -> None:
    numbered = {number: text(delta, sequence_number=number) for number, delta in enumerate("Hello", start=1)}
    late = read(numbered[1], numbered[3], numbered[2], done(sequence_number=1))
    assert (sorted(late.text), late.complete) == (sorted("Hel"), True)
    error = sse({"type": "error", "code": "x", "message": "boom", "sequence_number": 1})
    assert read(numbered[1], numbered[2], error).finish_reason is FinishReason.ERROR
    restarted = [text(delta, sequence_number=number) for number, delta in ((1, "A"), (2, "B"), (1, "C"), (2, "D"))]
    assert read(*restarted, done(sequence_number=3)).text == "ABCD"


def test_a_delta_we_do_not_model_is_counted_and_log_probabilities_come_once() -> None:
    probability = [{"token": "Hello", "logprob": 0.0}]
    whole = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Hello", "logprobs": probability}]}
    response = read(item("message", "m1"), ev("output_audio.delta", item_id="m1", output_index=0, delta="aGk="), done(whole))
    assert (codes(response), response.logprobs) == ({"unknown_event"}, {"content": probability})
    assert read(item("message", "m1"), text("Hello", logprobs=probability), done(whole)).logprobs == {"content": probability}
