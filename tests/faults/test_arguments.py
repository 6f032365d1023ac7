"""Known faults of other libraries: arguments that are empty, resent, objects, cut or broken."""

from typing import Any

import pytest

from streamaccumulator import ChatStream, FinishReason, InvalidToolCallJson, ToolCallArgumentDelta, accumulate

from ..wire import call, codes, finish, read
from .shapes import bad_call, block, calls, json_delta, message, ollama

A1 = {"a": 1}
DONE_LINE = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


def test_b054_arguments_that_are_an_object() -> None:
    entry = {"function": {"name": "f", "arguments": A1}}
    response = ollama({"message": {"role": "assistant", "content": "", "tool_calls": [entry]}, "done": False}, DONE_LINE)
    assert [(found.name, found.arguments, found.arguments_raw) for found in response.tool_calls] == [("f", A1, '{"a":1}')]
    chat = read(call(0, "c1", "f", A1), finish("tool_calls"))
    assert [(found.arguments, found.arguments_raw) for found in chat.tool_calls] == [(A1, '{"a":1}')]


def test_b055_an_empty_input_in_the_start_of_a_block_is_no_argument() -> None:
    tool = block(0, json_delta(""), json_delta('{"a":1}'), type="tool_use", id="t1", name="f", input={})
    response = message(tool, stop="tool_use")
    assert [(found.id, found.arguments, found.arguments_raw) for found in response.tool_calls] == [("t1", A1, '{"a":1}')]
    assert response.diagnostics == ()


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(["{}", '{"a":1}'], id="B055"),
        pytest.param(["{}", '{"a"', ":1}"], id="B055 in pieces"),
        pytest.param(["", '{"a":', "1}", '{"a":1}'], id="B057"),
        pytest.param(['{"a"', '{"a":1', '{"a":1}'], id="B058"),
    ],
)
def test_what_was_sent_again_is_taken_once_and_told(pieces: list[str]) -> None:
    first, *others = pieces
    response = read(call(0, "c1", "f", first), *[call(0, arguments=piece) for piece in others], finish("tool_calls"))
    assert [(found.arguments, found.arguments_raw) for found in response.tool_calls] == [(A1, '{"a":1}')]
    assert (codes(response), response.errors) == ({"resent_arguments"}, ())


@pytest.mark.parametrize("raw", ["", " ", "\n\t "])
def test_b060_no_arguments_are_an_empty_object(raw: str) -> None:
    response = read(call(0, "c1", "now", raw), finish("tool_calls"))
    assert [(found.name, found.arguments, found.arguments_raw) for found in response.tool_calls] == [("now", {}, raw)]
    assert response.complete


@pytest.mark.parametrize("given", [{"input": {}}, {}], ids=["empty", "absent"])
def test_b060_a_block_without_input_is_a_call(given: dict[str, Any]) -> None:
    response = message(block(0, type="tool_use", id="t1", name="now", **given), stop="tool_use")
    assert [(found.name, found.arguments, found.arguments_raw) for found in response.tool_calls] == [("now", {}, "")]


@pytest.mark.parametrize("raw", ["none", "{", "{}}", "()", ","])
def test_b060_anything_else_that_is_no_json_is_not_empty(raw: str) -> None:
    response = read(call(0, "c1", "now", raw), finish("tool_calls"))
    assert (response.tool_calls, bad_call(response).raw_arguments) == ((), raw)


def test_b062_arguments_cut_by_the_length_limit_are_no_call() -> None:
    response = read(call(0, "c1", "write", '{"path":"a.md"'), finish("length"))
    assert (response.finish_reason, response.tool_calls, response.complete) == (FinishReason.LENGTH, (), False)
    error = bad_call(response)
    assert (error.call_id, error.name, error.cause, error.raw_arguments) == ("c1", "write", "cut", '{"path":"a.md"')


def test_b063_malformed_arguments_are_told_with_place_and_text() -> None:
    response = read(call(0, "c1", "f", '{"a":Dave}'), finish("tool_calls"))
    error = bad_call(response)
    assert (response.tool_calls, error.offset, error.raw_arguments, error.cause) == ((), 5, '{"a":Dave}', "malformed")


def test_b064_a_missing_last_brace_is_told_and_not_added() -> None:
    response = read(call(0, "c1", "f", '{"id": 42'), finish("tool_calls"))
    error = bad_call(response)
    assert (response.tool_calls, error.cause, error.offset) == ((), "cut", 9)
    assert error.message == "the text ends before the JSON is closed"


def test_b064_a_caller_may_repair() -> None:
    data = call(0, "c1", "f", '{"id": 42') + finish("tool_calls")
    (found,) = accumulate(data, parse_arguments=lambda text: {"repaired": text}).tool_calls
    assert (found.arguments, found.arguments_raw) == ({"repaired": '{"id": 42'}, '{"id": 42')


def test_b167_the_text_of_arguments_grows_in_sight() -> None:
    data = call(0, "c1", "f", '{"city":"N') + call(0, arguments='ew"}') + finish("tool_calls")
    with ChatStream(data) as stream:
        grown = [stream.tool_call("c1").arguments_raw for event in stream if isinstance(event, ToolCallArgumentDelta)]
    assert grown == ['{"city":"N', '{"city":"New"}']
    assert calls(stream.finalize()) == [("f", {"city": "New"})]


def test_b171_a_call_cut_in_a_string_is_named_and_kept_out_of_the_message() -> None:
    data = call(0, "c1", "f", '{"a":"unterminated') + finish("length")
    with pytest.raises(InvalidToolCallJson, match="'c1'") as caught:
        accumulate(data)
    assert caught.value.response is not None
    assert caught.value.response.message.content == ()
    assert calls(caught.value.response) == []


def test_arguments_restated_with_each_delta_are_as_deep_as_the_document() -> None:
    whole = '{"a": {"b": "' + "x" * 200 + '"}}'
    restated = [call(0, arguments=whole[: at + 1]) for at in range(len(whole))]
    response = read(call(0, "c1", "f", ""), *restated, finish("tool_calls"))
    assert calls(response) == [("f", {"a": {"b": "x" * 200}})]
