"""What look-alikes, proxies and broken servers make of the two most spoken protocols: each test one habit."""

from collections import ChainMap, UserDict
from types import MappingProxyType
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatedResponse,
    ChatStream,
    Finish,
    FinishReason,
    InvalidToolCallJson,
    LimitExceeded,
    Limits,
    MalformedChunk,
    Notice,
    ProviderError,
    ProviderPart,
    ReasoningPart,
    accumulate,
    accumulate_choices,
    parse_response,
)
from streamaccumulator.events import encode_event

from ..wire import DONE, anthropic, call, chat, codes, cuts, delta, events_of, finish, fold, read, sse

MESSAGE = anthropic("message_start", message={"id": "m1", "model": "c", "content": [], "usage": {}})
END = anthropic("message_delta", delta={"stop_reason": "tool_use"}) + anthropic("message_stop")


def tool_use(index: int, id: str, name: str, given: dict[str, Any]) -> bytes:
    return anthropic("content_block_start", index=index, content_block={"type": "tool_use", "id": id, "name": name, "input": given})


def calls(response: AccumulatedResponse) -> list[tuple[str, Any]]:
    return [(found.name, found.arguments) for found in response.tool_calls]


# ---- Anthropic Messages: an input that came with the start is never lost.


def test_a_block_whose_index_is_used_again_keeps_its_input() -> None:
    response = read(MESSAGE, tool_use(0, "t1", "f", {"x": 1}), tool_use(0, "t2", "g", {"y": 1}), END, protocol="anthropic-messages")
    assert calls(response) == [("f", {"x": 1}), ("g", {"y": 1})]


def test_a_second_message_leaves_the_inputs_of_the_first() -> None:
    response = read(MESSAGE, tool_use(0, "t1", "f", {"x": 1}), MESSAGE, END, protocol="anthropic-messages")
    assert (calls(response), codes(response)) == ([("f", {"x": 1})], {"second_response"})


def test_a_reader_that_leaves_at_the_finish_reason_has_the_input() -> None:
    with ChatStream([MESSAGE + tool_use(0, "t1", "f", {"x": 1}), END], "anthropic-messages") as stream:
        for event in stream:
            if isinstance(event, Finish):
                break
    assert calls(stream.finalize()) == [("f", {"x": 1})]


def test_keys_of_any_block_and_of_the_stop_are_kept() -> None:
    response = read(
        MESSAGE,
        anthropic("content_block_start", index=0, content_block={"type": "text", "text": "a", "cache": 1}),
        anthropic("content_block_stop", index=0),
        anthropic("message_delta", delta={"stop_reason": "end_turn"}),
        anthropic("message_stop", **{"amazon-bedrock-invocationMetrics": {"latency": 3}}),
        protocol="anthropic-messages",
    )
    assert response.message.content[0].extra == {"cache": 1}
    assert response.extra == {"amazon-bedrock-invocationMetrics": {"latency": 3}}


def test_an_error_keeps_what_stands_beside_it() -> None:
    error = anthropic("error", error={"type": "overloaded_error", "message": "busy"}, request_id="r1")
    response = read(MESSAGE, error, protocol="anthropic-messages")
    assert response.errors == (
        ProviderError("overloaded_error", "busy", {"type": "overloaded_error", "message": "busy", "request_id": "r1"}),
    )


# ---- OpenAI chat.


def test_bare_text_in_a_choice_is_text() -> None:
    assert read(chat({"index": 0, "text": "Hello", "finish_reason": "stop"})).text == "Hello"
    assert read(chat({"index": 0, "text": "Hello", "delta": {"content": "Hello"}}), finish("stop")).text == "Hello"


@pytest.mark.parametrize("bound", ["length", "content_filter"])
def test_what_was_being_written_when_a_bound_came_is_no_call_unless_it_closed(bound: str) -> None:
    custom = delta(tool_calls=[{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sql", "input": "DELETE FROM t"}}])
    for cut in (custom, call(0, "c1", "f", "12"), call(0, "c1", "f", "")):
        response = read(cut, finish(bound))
        assert calls(response) == []
        assert [error.cause for error in response.errors if isinstance(error, InvalidToolCallJson)] == ["cut"]
    assert calls(read(call(0, "c1", "f", '{"a": 1}'), finish(bound))) == [("f", {"a": 1})]
    assert calls(read(custom, call(1, "c2", "f", "{}"), finish(bound))) == [("sql", "DELETE FROM t"), ("f", {})]


def test_blank_arguments_at_done_without_a_reason_prove_nothing() -> None:
    assert calls(read(call(0, "c1", "f"), DONE)) == []
    assert calls(read(call(0, "c1", "f"), call(1, "c2", "g", "{}"), DONE)) == [("f", {}), ("g", {})]


def test_an_error_of_one_choice_is_not_the_others() -> None:
    data = chat({"index": 0, "delta": {"content": "A"}}, {"index": 1, "delta": {"content": "B"}})
    data += finish("stop") + chat({"index": 1, "delta": {}, "finish_reason": "error"})
    assert accumulate(data).complete
    both = accumulate_choices(data, strict=False)
    assert [one.finish_reason for one in both.values()] == [FinishReason.STOP, FinishReason.ERROR]


def test_keys_that_we_do_not_model_are_kept_where_they_belong() -> None:
    entry = {
        "id": "f",
        "function": {"name": "f", "arguments": "{}", "thought_signature": "T"},
        "provider_specific_fields": {"a": 1},
    }
    message = {"content": "a", "reasoning_opaque": "O", "context": {"citations": [1]}, "tool_calls": [entry]}
    body = {"id": "x", "created": 0, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    streamed = delta(**{**message, "tool_calls": [{**entry, "index": 0}]}) + finish("stop")
    for response in (parse_response(body), read(streamed)):
        assert response.tool_calls[0].extra == {"thought_signature": "T", "provider_specific_fields": {"a": 1}}
        assert {"reasoning_opaque": "O", "context": {"citations": [1]}}.items() <= response.extra.items()
    assert "created" not in parse_response(body).extra


def test_a_later_call_keeps_its_keys_too() -> None:
    second = {"index": 1, "id": "g", "function": {"name": "g", "arguments": "{}"}, "extra_content": {"s": 1}}
    response = read(delta(content="a"), call(0, "f", "f", "{}"), delta(tool_calls=[second]), finish("tool_calls"))
    assert [found.extra for found in response.tool_calls] == [{}, {"extra_content": {"s": 1}}]


def test_equal_ids_of_an_unstreamed_message_are_two_calls() -> None:
    entries = [{"id": "f:0", "function": {"name": "f", "arguments": f'{{"a":{n}}}'}} for n in (1, 2)]
    response = parse_response({"choices": [{"message": {"tool_calls": entries}, "finish_reason": "tool_calls"}]})
    assert calls(response) == [("f", {"a": 1}), ("f", {"a": 2})]


def test_a_name_at_the_index_of_an_ended_call_is_another_call() -> None:
    rounds = [call(0, None, "f", '{"a":1}'), finish("tool_calls"), call(0, None, "f", '{"b":2}'), finish("tool_calls")]
    assert calls(read(*rounds)) == [("f", {"a": 1}), ("f", {"b": 2})]


def test_a_whole_message_after_its_deltas_is_no_more_text() -> None:
    whole = chat({"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"})
    response = read(delta(content="Hel"), delta(content="lo"), whole)
    assert (response.text, response.complete, codes(response)) == ("Hello", True, {"repeated_message"})


def test_deltas_that_repeat_everything_are_joined_and_told() -> None:
    response = read(*[delta(content="Hello you all"[:size]) for size in (3, 5, 9, 13)], finish("stop"))
    assert (response.text, codes(response)) == ("HelHelloHello youHello you all", {"cumulative_text"})


@pytest.mark.parametrize(
    ("word", "reason"),
    [("network_error", FinishReason.ERROR), ("sensitive", FinishReason.CONTENT_FILTER), ("MAX_TOKENS", FinishReason.LENGTH)],
)
def test_words_of_other_servers(word: str, reason: FinishReason) -> None:
    response = read(delta(content="a"), finish(word))
    assert (response.finish_reason, response.raw_finish_reason) == (reason, word)


@pytest.mark.parametrize("blank", ["", {}, None])
def test_a_blank_error_is_none(blank: Any) -> None:
    assert read(chat({"index": 0, "delta": {"content": "a"}}, error=blank), finish("stop")).complete


def test_counts_in_other_types_are_counts() -> None:
    response = read(finish("stop"), sse({"choices": [], "usage": {"prompt_tokens": 12.0, "completion_tokens": "3"}}))
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (12, 3)


def test_raw_control_characters_in_a_payload_are_kept_and_told() -> None:
    response = read(b'data: {"choices":[{"index":0,"delta":{"content":"a\x0cb"}}]}\n\n', finish("stop"))
    assert (response.text, codes(response)) == ("a\x0cb", {"odd_payload"})


def test_an_error_glued_to_a_frame_or_in_a_field_is_an_error() -> None:
    for tail in (b'{"error":{"message":"ctx","code":400}}\n\n', b'error: {"code":400,"message":"ctx"}\n\n', b"error: ctx\n\n"):
        for before in (delta(content="par"), delta(content="par")[:-1]):
            response = read(before, tail)
            assert (response.text, response.finish_reason) == ("par", FinishReason.ERROR)
            assert "ctx" in str(response.errors[0])


@pytest.mark.parametrize("body", [b'{"detail":"Unauthorized"}', b'{"message":"Unauthorized"}', b'{"error":"Unauthorized"}'])
def test_a_body_that_is_an_error_and_nothing_else(body: bytes) -> None:
    with pytest.raises(ProviderError, match="Unauthorized"):
        accumulate(body, "openai-chat")


@pytest.mark.parametrize("body", [b"null", b"42", b"[]", b'"x"', b"true"])
def test_a_body_that_is_no_response(body: bytes) -> None:
    with pytest.raises(MalformedChunk):
        parse_response(body, "openai-chat")


def test_an_array_of_chunks_is_a_stream() -> None:
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in "ab"]
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
    response = accumulate(repr([*chunks, last]).replace("'", '"').encode())
    assert (response.text, response.usage is not None) == ("ab", True)


def test_reasoning_details_share_a_part_with_the_text_they_belong_to() -> None:
    response = read(
        delta(reasoning="abc"),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "E"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "S"}]),
        delta(reasoning_details=[{"type": "reasoning.custom", "payload": "P"}]),
        finish("stop"),
    )
    parts = [(part.text, part.signature, part.redacted) for part in response.message.content if isinstance(part, ReasoningPart)]
    assert parts == [("abc", "S", None), ("", None, "E")]
    blocks = [part for part in response.message.content if isinstance(part, ProviderPart)]
    assert [(block.kind, block.data["payload"]) for block in blocks] == [("reasoning.custom", "P")]


# ---- What a stream may cost.


def test_what_is_not_folded_counts_too() -> None:
    with pytest.raises(LimitExceeded, match="message_bytes"):
        accumulate(delta(content="a" * 1000) * 60 + finish("stop"), limits=Limits(message_bytes=50))
    with pytest.raises(LimitExceeded, match="arguments_bytes"):
        accumulate(
            call(0, "c", "f", '"' + "a" * 1000) + call(0, None, None, '"') + finish("stop"), limits=Limits(arguments_bytes=50)
        )


def test_a_stream_of_endless_choices_is_stopped() -> None:
    data = b"".join([chat({"index": index, "delta": {"content": "a"}}) for index in range(9)])
    with pytest.raises(LimitExceeded, match="choices"):
        accumulate(data, limits=Limits(choices=4))


def test_what_a_caller_does_to_a_look_changes_nothing() -> None:
    with ChatStream(call(0, "c", "f", '{"a": [1]}') + finish("stop") + sse({"choices": [], "extra": {"b": 1}})) as stream:
        for _ in stream:
            for found in stream.snapshot().tool_calls:
                found.arguments["a"].append(2)
                assert stream.tool_call("c").arguments.pop("a") == [1]
            stream.snapshot().extra.clear()
    response = stream.finalize()
    assert (calls(response), response.extra["extra"]) == ([("f", {"a": [1]})], {"b": 1})


# ---- What broke once under mutated streams.


def test_half_a_character_in_an_id_loses_no_arguments() -> None:
    head = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a\\ud800","function":{"name":"rm"}}]}}]}\n\n'
    assert calls(read(head, call(0, None, None, '{"path":"x"}'), finish("tool_calls"))) == [("rm", {"path": "x"})]
    entry = '{"index":%d,"id":"@ud80%d","function":{"name":"f","arguments":"{}"}}'.replace("@", chr(92))
    twins = [f'data: {{"choices":[{{"delta":{{"tool_calls":[{entry % (n, n)}]}}}}]}}\n\n' for n in (0, 1)]
    response = read(*[twin.encode() for twin in twins], finish("tool_calls"))
    assert len({found.id for found in response.tool_calls}) == 2


@pytest.mark.parametrize("depth", [300, 513, 600, 990, 3000])
@pytest.mark.parametrize("inner", ["", '"\\ud800"'])
def test_depth_beside_the_message_is_told_and_the_message_kept(depth: int, inner: str) -> None:
    deep = "[" * depth + inner + "]" * depth
    for payload in (
        f'{{"zzz":{deep},"choices":[{{"delta":{{"content":"hi"}}}}]}}',
        f'{{"choices":[],"error":{{"message":{deep}}}}}',
    ):
        response = read(f"data: {payload}\n\n".encode())
        assert AccumulatedResponse.from_json(response.to_json()) == response
        assert response.errors


def test_choices_beyond_the_limit_in_one_chunk() -> None:
    data = chat(*[{"index": index, "delta": {"content": "x"}, "finish_reason": "stop"} for index in range(200)])
    assert read(data).errors == (LimitExceeded("choices", 129),)
    assert len(accumulate_choices(data, strict=False)) == 128


def test_a_limit_in_one_choice_is_not_the_others_however_the_bytes_are_cut() -> None:
    data = delta(content="a") + chat({"index": 1, "delta": {"content": "x" * 2000}}) + delta(content="b") + finish("stop")
    for source in (data, cuts(data, 1)):
        found = accumulate_choices(source, strict=False, limits=Limits(message_bytes=100))
        assert (found[0].text, found[0].complete, found[1].complete) == ("ab", True, False)


def test_the_first_error_of_each_kind_is_kept() -> None:
    response = read(b"data: {x\n\n" * 300, finish("stop"), sse({"error": {"type": "overloaded", "message": "x"}}))
    assert response.finish_reason is FinishReason.ERROR
    assert [error for error in response.errors if isinstance(error, ProviderError)]
    assert "more_errors" in codes(response)


def test_mappings_that_are_no_dicts_are_payloads() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    for payload in (UserDict(chunk), MappingProxyType(chunk), ChainMap(chunk)):
        assert accumulate([payload], "openai-chat").text == "hi"


def test_names_and_words_count_against_the_limit() -> None:
    for data in (call(0, "c", "f" * 2000, "{}"), finish("x" * 2000), chat({"index": 0, "delta": {}}, model="m" * 2000)):
        assert LimitExceeded in [type(error) for error in read(data, finish("stop"), limits=Limits(message_bytes=1000)).errors]


def test_a_call_that_ends_with_each_delta_is_judged_as_one_that_ends_once() -> None:
    pieces = [call(0, "c", "f", '{"a":"')] + [call(0, None, None, "x") + finish("tool_calls")] * 20 + [call(0, None, None, '"}')]
    with ChatStream(b"".join([*pieces, finish("tool_calls")])) as stream:
        for _ in stream:
            assert stream.snapshot().message.content is not None
    assert stream.finalize() == read(*pieces, finish("tool_calls"))
    assert calls(stream.finalize()) == [("f", {"a": "x" * 20})]


def test_events_of_torn_payloads_can_be_written_down() -> None:
    torn = b'data: {"choices":[],"usage":{"x":"\\ud800"},"y":"\\udc00"}\n\n'
    for event in events_of(delta(content="a") + torn, "openai-chat"):
        encode_event(event)


def test_an_error_that_was_told_before_a_choice_came_is_that_choices_too() -> None:
    late = chat({"index": 1, "delta": {"content": "a"}, "finish_reason": "stop"})
    for before, kind in (
        (b"data: {garbage\n\n", MalformedChunk),
        (sse({"error": {"type": "overloaded", "message": "m"}}), ProviderError),
    ):
        for protocol in ("openai-chat", "auto"):
            with pytest.raises(kind):
                accumulate_choices(before + late, protocol)


def test_a_limit_ends_all_choices_wherever_the_bytes_are_cut() -> None:
    data = delta(content="x" * 300)[:-1] + chat({"index": 1, "delta": {}, "finish_reason": "stop"})
    for size in (1, 50, 10_000):
        with pytest.raises(LimitExceeded, match="frame_bytes"):
            accumulate_choices(cuts(data, size), "openai-chat", limits=Limits(frame_bytes=200))


def test_halves_of_a_character_wait_for_each_other_while_another_part_ends() -> None:
    response = read(
        MESSAGE,
        *[
            b'data: {"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"%s"}}\n\n' % (index, text)
            for index, text in ((0, b"a\\ud83e"), (1, b"c"))
        ],
        anthropic("content_block_stop", index=1),
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\udd80b"}}\n\n',
        END,
        protocol="anthropic-messages",
    )
    assert response.text == "a🦀bc"


def test_keys_stay_with_their_choice_beside_one_that_is_none() -> None:
    data = sse({"choices": [7, {"index": 0, "zz": 1, "finish_reason": "stop"}, {"index": 1, "yy": 1}]})
    both = accumulate_choices(data, "openai-chat", strict=False)
    assert [one.extra for one in both.values()] == [{"zz": 1}, {"yy": 1}]


def test_kinds_of_notices_without_end_are_counted() -> None:
    response = fold([Notice(f"code{n}", "m") for n in range(1000)])
    assert len(response.diagnostics) < 300
    assert "more_notices" in codes(response)
