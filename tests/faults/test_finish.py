"""Known faults of other libraries: why the model stopped, and streams that never say so."""

from collections.abc import Iterator

import pytest

from streamaccumulator import ChatStream, Finish, FinishReason, ToolCallEnd, Truncated, Usage, accumulate

from ..wire import DONE, call, chat, codes, delta, events_of, finish, read, sse
from .shapes import calls, counts, gemini, read_gemini, responses


def test_b078_stop_beside_a_whole_call_means_the_call() -> None:
    response = read(call(0, "c1", "f", "{}"), finish("stop"))
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "stop")
    assert calls(response) == [("f", {})]


def test_b079_a_second_reason_ends_nothing_twice() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    last = chat({"index": 0, "delta": {}, "finish_reason": "stop"}, usage=usage)
    data = call(0, "c1", "f", "{}") + finish("tool_calls") + last
    response = accumulate(data)
    assert calls(response) == [("f", {})]
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "tool_calls")
    assert (codes(response), counts(response)) == ({"second_finish"}, (1, 1, 2))
    assert sum(isinstance(event, ToolCallEnd) for event in events_of(data)) == 1


def test_b081_a_blank_or_absent_reason_is_none() -> None:
    data = chat({"index": 0, "delta": {"content": "a"}, "finish_reason": ""}) + chat({"index": 0, "delta": {"content": "b"}})
    assert not [event for event in events_of(data, "openai-chat") if isinstance(event, Finish)]
    assert read(data).finish_reason is None
    response = accumulate(data + finish("stop"))
    assert (response.text, response.raw_finish_reason, response.diagnostics) == ("ab", "stop", ())


def test_b082_an_unknown_reason_is_unknown() -> None:
    response = accumulate(delta(content="a") + finish("weird_reason"))
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("a", FinishReason.UNKNOWN, "weird_reason")


def test_b084_the_last_text_may_come_with_the_reason() -> None:
    response = accumulate(delta(content="Hel") + chat({"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}))
    assert (response.text, response.raw_finish_reason) == ("Hello", "stop")


def test_b084_the_last_arguments_may_come_with_the_reason() -> None:
    last = {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}
    response = accumulate(
        call(0, "c1", "f", '{"a":') + chat({"index": 0, "delta": last, "finish_reason": "tool_calls"}),
    )
    assert calls(response) == [("f", {"a": 1})]


def test_b086_an_answer_after_the_first_reason_is_read() -> None:
    empty = sse({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})
    response = read_gemini(empty, gemini({"text": "real answer"}), empty)
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("real answer", FinishReason.STOP, "STOP")
    assert response.complete


def test_b087_a_stream_that_only_ends_is_truncated() -> None:
    data = delta(content="The answer is")
    with pytest.raises(Truncated) as caught:
        accumulate(data)
    partial = caught.value.response
    assert partial is not None
    assert partial == accumulate(data, strict=False)
    assert (partial.text, partial.finish_reason, partial.raw_finish_reason) == ("The answer is", None, None)
    assert (partial.complete, partial.errors) == (False, (Truncated("end"),))


def test_b089_an_incomplete_response_ends_like_any_other() -> None:
    usage = {"input_tokens": 3, "output_tokens": 9, "total_tokens": 12}
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    response = read(
        responses("output_text.delta", item_id="m1", output_index=0, content_index=0, delta="par"),
        responses("incomplete", response={"id": "r1", "status": "incomplete", **details, "usage": usage}),
        protocol="openai-responses",
    )
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("par", FinishReason.LENGTH, "max_output_tokens")
    assert counts(response) == (3, 9, 12)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_b089_a_failed_response_keeps_text_and_usage(status: str) -> None:
    usage = {"input_tokens": 3, "output_tokens": 9, "total_tokens": 12}
    response = read(
        responses("output_text.delta", item_id="m1", output_index=0, content_index=0, delta="par"),
        responses(status, response={"id": "r1", "status": status, "usage": usage}),
        protocol="openai-responses",
    )
    assert (response.text, response.finish_reason, counts(response)) == ("par", FinishReason.ERROR, (3, 9, 12))


USAGE = chat(usage={"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3})


def test_b091_complete_is_known_while_the_socket_stays_open() -> None:
    def source() -> Iterator[bytes]:
        yield delta(content="a") + finish("stop") + USAGE
        raise AssertionError("nobody asked for more")

    with ChatStream(source(), "openai-chat") as stream:
        for event in stream:
            if isinstance(event, Usage):
                break
        assert stream.accumulator.done
        assert stream.snapshot().complete
    response = stream.finalize()
    assert (response.text, response.complete, counts(response)) == ("a", True, (2, 1, 3))


def test_b091_a_late_failure_of_the_transport_is_a_note() -> None:
    def source() -> Iterator[bytes]:
        yield delta(content="a") + finish("stop") + USAGE
        raise ConnectionResetError("reset")

    response = accumulate(source(), "openai-chat")
    assert (response.text, response.complete, counts(response)) == ("a", True, (2, 1, 3))
    assert codes(response) == {"broken_after_finish"}


def test_b091_the_end_mark_is_not_needed() -> None:
    data = delta(content="a") + finish("stop")
    assert accumulate(data) == accumulate(data + DONE)
