"""Known faults of other libraries: the JSON of arguments, with its control characters, numbers and depth."""

import json
from functools import partial

import pytest

from streamaccumulator import AccumulatedResponse, ChatStream, FinishReason, InvalidToolCallJson, accumulate

from ..wire import anthropic, call, delta, finish, read
from .shapes import END, MESSAGE, bad_call, block, calls, counts, gemini, json_delta, ollama, read_gemini, text_delta

RAW = '{"t":"line1\nline2\tx"}'
BIG = 2512292042121000001


def test_b138_control_characters_in_a_string_are_told_and_the_text_is_intact() -> None:
    data = call(0, "c1", "edit", RAW) + finish("tool_calls")
    with pytest.raises(InvalidToolCallJson) as caught:
        accumulate(data)
    error = caught.value
    assert (error.name, error.offset, error.raw_arguments, error.cause) == ("edit", 11, RAW, "malformed")


def test_b138_a_caller_may_take_them() -> None:
    data = call(0, "c1", "edit", RAW) + finish("tool_calls")
    (found,) = accumulate(data, parse_arguments=partial(json.loads, strict=False)).tool_calls
    assert (found.arguments, found.arguments_raw) == ({"t": "line1\nline2\tx"}, RAW)


def test_b140_halves_of_an_escape_in_two_pieces_are_one_character() -> None:
    first, second = '{"e":"\\ud83e', '\\udd80"}'
    data = call(0, "c1", "f", first) + call(0, arguments=second) + finish("tool_calls")
    response = accumulate(data)
    assert calls(response) == [("f", {"e": "\U0001f980"})]
    assert AccumulatedResponse.from_json(response.to_json()) == response


def test_b142_digits_of_long_numbers_are_kept() -> None:
    raw = f'{{"id":{BIG}}}'
    response = read(call(0, "c1", "f", raw), finish("tool_calls"))
    cut = read(call(0, "c1", "f", raw[:12]), call(0, arguments=raw[12:]), finish("tool_calls"))
    for one in (response, cut):
        assert (calls(one), one.tool_calls[0].arguments_raw) == ([("f", {"id": BIG})], raw)


def test_b142_also_where_arguments_are_an_object() -> None:
    entry = {"function": {"name": "f", "arguments": {"id": BIG}}}
    last = {"message": {"role": "assistant", "content": "", "tool_calls": [entry]}, "done": True, "done_reason": "stop"}
    for response in (
        ollama(last),
        read_gemini(gemini({"functionCall": {"name": "f", "args": {"id": BIG}}}, finish="STOP")),
    ):
        assert (calls(response), response.tool_calls[0].arguments_raw) == ([("f", {"id": BIG})], f'{{"id":{BIG}}}')
        assert str(BIG) in response.to_json()
        assert AccumulatedResponse.from_json(response.to_json()) == response


@pytest.mark.parametrize("depth", [200, 5000, 100_000])
def test_b143_deep_arguments_are_one_bad_call(depth: int) -> None:
    raw = '{"x":' * depth + "0" + "}" * depth
    response = read(delta(content="a"), call(0, "c1", "f", raw), call(1, "c2", "g", "{}"), finish("tool_calls"))
    error = bad_call(response)
    assert (response.text, calls(response)) == ("a", [("g", {})])
    assert (error.call_id, error.raw_arguments) == ("c1", raw)
    assert "json_depth" in error.message
    assert AccumulatedResponse.from_json(response.to_json()) == response


def test_b143_depth_that_comes_as_an_object() -> None:
    nested = '{"x":' * 5000 + "0" + "}" * 5000
    data = b'{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":%s}}]},"done":true}\n' % nested.encode()
    response = read(data, protocol="ollama")
    assert response.errors
    assert response.tool_calls == ()


BROKEN = '{"k": Dave, "n":1}'
STREAM = (
    MESSAGE
    + block(0, json_delta(BROKEN), type="tool_use", id="t1", name="f", input={})
    + block(1, text_delta("after"), type="text", text="")
    + block(2, json_delta("{}"), type="tool_use", id="t2", name="g", input={})
    + anthropic("message_delta", delta={"stop_reason": "tool_use"}, usage={"input_tokens": 3, "output_tokens": 7})
    + END
)


def test_b145_one_broken_call_stops_no_iteration() -> None:
    with ChatStream(STREAM, "anthropic-messages") as stream:
        for _ in stream:
            pass
    with pytest.raises(InvalidToolCallJson) as caught:
        stream.finalize()
    error, response = caught.value, caught.value.response
    assert (error.call_id, error.name, error.offset, error.raw_arguments) == ("t1", "f", 6, BROKEN)
    assert response is not None
    assert (response.text, calls(response), response.finish_reason) == ("after", [("g", {})], FinishReason.TOOL_CALLS)
    assert (response.raw_finish_reason, counts(response)) == ("tool_use", (3, 7, None))
