"""StreamAccumulator with events given by hand: each bullet of its contract, and each merge rule, as a small story."""

import logging
from typing import Any

import pytest

from streamaccumulator import (
    AccumulatorClosed,
    BlockDelta,
    ChatStreamEvent,
    Citation,
    CitationPart,
    Extra,
    Finish,
    FinishReason,
    InvalidToolCallJson,
    LimitExceeded,
    Limits,
    LogProbs,
    MediaDelta,
    MediaPart,
    Notice,
    PartEnd,
    ProviderBlock,
    ProviderPart,
    ReasoningDelta,
    ReasoningPart,
    ReasoningSignature,
    RedactedReasoning,
    RefusalDelta,
    RefusalPart,
    Started,
    StreamAccumulator,
    StreamBroken,
    StreamError,
    TextDelta,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallName,
    ToolCallStart,
    Truncated,
    Unknown,
    Usage,
)

from .wire import codes, fold

STOP = Finish(FinishReason.STOP, "stop")
LENGTH = Finish(FinishReason.LENGTH, "length")


def call(id: str, *arguments: str, name: str | None = "f", end: bool = True) -> list[ChatStreamEvent]:
    ended = [ToolCallEnd(id)] if end else []
    return [ToolCallStart(id, name), *[ToolCallArgumentDelta(id, piece) for piece in arguments], *ended]


# ---- Order and parts.


def test_parts_stand_in_the_order_in_which_they_started() -> None:
    response = fold(
        [
            ReasoningDelta("think"),
            TextDelta("a"),
            *call("c1", '{"x":', "1}"),
            TextDelta("b"),
            RefusalDelta("no"),
            ProviderBlock("search", {"type": "search"}),
            STOP,
        ]
    )
    assert response.message.content == (
        ReasoningPart("think"),
        TextPart("ab"),
        ToolCall("c1", "f", {"x": 1}, '{"x":1}'),
        RefusalPart("no"),
        ProviderPart("search", {"type": "search"}),
    )


def test_a_part_end_makes_the_next_text_another_part() -> None:
    response = fold([TextDelta("a"), PartEnd(), TextDelta("b"), STOP])
    assert response.message.content == (TextPart("a"), TextPart("b"))
    assert response.text == "ab"


def test_numbered_parts_may_overlap() -> None:
    response = fold([TextDelta("a", 1), TextDelta("x", 2), TextDelta("b", 1), PartEnd(1), TextDelta("y", 2), PartEnd(2), STOP])
    assert response.message.content == (TextPart("ab"), TextPart("xy"))


def test_text_for_a_numbered_part_that_ended_is_kept_and_told() -> None:
    response = fold([TextDelta("a", 1), PartEnd(1), TextDelta("b", 1), STOP])
    assert response.text == "ab"
    assert codes(response) == {"delta_after_end"}


def test_empty_deltas_make_no_part() -> None:
    response = fold([TextDelta(""), ReasoningDelta(""), RefusalDelta(""), PartEnd(3), STOP])
    assert response.message.content == ()


def test_each_reasoning_block_keeps_its_own_signature_byte_for_byte() -> None:
    response = fold(
        [
            ReasoningDelta("alpha", 1),
            ReasoningSignature("S1", 1),
            PartEnd(1),
            RedactedReasoning("ENC", 2),
            ReasoningDelta("beta", 3),
            ReasoningSignature("S", 3),
            ReasoningSignature("2", 3),
            STOP,
        ]
    )
    assert response.message.content == (
        ReasoningPart("alpha", "S1"),
        ReasoningPart(redacted="ENC"),
        ReasoningPart("beta", "S2"),
    )
    assert response.reasoning == "alphabeta"


def test_citations_belong_to_their_text_or_stand_alone() -> None:
    response = fold([Citation({"url": "a"}), TextDelta("fact"), Citation({"url": "b"}), Citation({"url": "c"}, 7), STOP])
    assert response.message.content == (
        CitationPart({"url": "a"}),
        TextPart("fact", ({"url": "b"},)),
        TextPart("", ({"url": "c"},)),
    )


def test_pieces_of_media_are_joined() -> None:
    response = fold([MediaDelta("image", "image/png", "AA"), MediaDelta("image", None, "BB"), MediaDelta("audio", None, "C"), STOP])
    assert response.message.content == (MediaPart("image", "image/png", "AABB"), MediaPart("audio", None, "C"))


def test_a_provider_block_is_kept_whole_with_what_grew_in_it() -> None:
    response = fold(
        [
            ProviderBlock("server_tool_use", {"id": "s", "input": {}}, 1),
            BlockDelta(1, "input", '{"q":', json=True),
            BlockDelta(1, "input", '"x"}', json=True),
            ProviderBlock("compaction", {"content": "so "}, 2),
            BlockDelta(2, "content", "far"),
            ProviderBlock("cut", {}, 3),
            BlockDelta(3, "input", '{"q":', json=True),
            BlockDelta(9, "input", "x"),
            STOP,
        ]
    )
    assert [part.data for part in response.message.content if isinstance(part, ProviderPart)] == [
        {"id": "s", "input": {"q": "x"}},
        {"content": "so far"},
        {"input": '{"q":'},
    ]
    assert codes(response) == {"unknown_part"}


def test_log_probabilities_append_by_channel_and_inputs_are_not_shared() -> None:
    first = {"content": [{"token": "a"}], "refusal": None}
    response = fold([LogProbs(first), LogProbs({"content": None}), LogProbs({"content": [{"token": "b"}]}), STOP])
    assert response.logprobs == {"content": [{"token": "a"}, {"token": "b"}]}
    assert first == {"content": [{"token": "a"}], "refusal": None}
    assert fold([TextDelta("a"), STOP]).logprobs is None


def test_extras_go_to_the_response_the_part_or_the_call() -> None:
    response = fold(
        [
            TextDelta("a", 1),
            Extra(1, {"k": 1}),
            *call("c1"),
            Extra(None, {"sig": "S"}, "c1"),
            Extra(None, {"tier": "x", "deep": {"a": 1}}),
            Extra(None, {"deep": {"b": None}, "tier": None}),
            Extra(5, {"lost": True}),
            STOP,
        ]
    )
    text, tool = response.message.content
    assert isinstance(text, TextPart)
    assert isinstance(tool, ToolCall)
    assert (text.extra, tool.extra) == ({"k": 1}, {"sig": "S"})
    assert response.extra == {"tier": "x", "deep": {"a": 1, "b": None}, "lost": True}
    assert codes(response) == {"unknown_part"}


def test_identity_is_the_first_value_that_is_not_empty() -> None:
    response = fold([Started("", None), Started("i1", "m1"), Started("i2", "", "P"), STOP])
    assert (response.id, response.model, response.provider) == ("i1", "m1", "P")


# ---- Calls.


@pytest.mark.parametrize("text", ["", "  \n", "null", " null "])
def test_blank_arguments_are_an_empty_object(text: str) -> None:
    (found,) = fold([*call("c1", text), STOP]).tool_calls
    assert (found.arguments, found.arguments_raw) == ({}, text)


def test_arguments_are_any_json_value_and_integers_stay_exact() -> None:
    found = fold([*call("c1", "[1, 2512292042121000001, 123456789012345678901234567890]"), *call("c2", '"x"'), STOP]).tool_calls
    assert found[0].arguments == [1, 2512292042121000001, 123456789012345678901234567890]
    assert found[1].arguments == "x"


@pytest.mark.parametrize(
    ("text", "cause", "offset"),
    [
        ('{"a":Dave}', "malformed", 5),
        ('{"a":1} x', "malformed", 8),
        ('{"é":NaN}', "malformed", 6),
        ('{"a":1e999}', "malformed", 5),
        ("{'a':1}", "malformed", 1),
        ('{"a":"x\ny"}', "malformed", 7),
        ('{"id": 42', "cut", 9),
        ('{"a":"é', "cut", 8),
        ('{"a":1.', "cut", 7),
        ('{"a":-', "cut", 6),
        ('{"a":tr', "cut", 7),
        ('{"a":"\\u00', "cut", 10),
        ("[" * 5000, "malformed", None),  # deeper than any limit, whatever else is wrong with it
        ('{"a":"' + "[" * 500, "cut", 506),  # brackets in a string are no nesting
    ],
)
def test_bad_arguments_are_told_as_cut_or_malformed_and_the_call_is_not_made(text: str, cause: str, offset: int | None) -> None:
    response = fold([*call("bad", text), *call("good", "{}"), STOP])
    (error,) = response.errors
    assert isinstance(error, InvalidToolCallJson)
    assert (error.call_id, error.name, error.raw_arguments, error.cause, error.offset) == ("bad", "f", text, cause, offset)
    assert [found.id for found in response.tool_calls] == ["good"]
    assert not response.complete


def test_arguments_deeper_than_the_limit_are_refused_though_they_are_json() -> None:
    nested = '{"x":' * 200 + "0" + "}" * 200
    response = fold([*call("c1", nested), STOP])
    (error,) = response.errors
    assert "json_depth" in str(error)
    assert fold([*call("c1", "[" + "{}," * 500 + "0]"), STOP]).errors == ()  # many, but not deep


def test_a_lone_escaped_surrogate_is_json_and_becomes_the_replacement_character() -> None:
    (found,) = fold([*call("c1", r'{"e":"\ud83e","ok":"\ud83e\udd80"}'), STOP]).tool_calls
    assert found.arguments == {"e": "\ufffd", "ok": "\U0001f980"}
    assert found.arguments_raw == r'{"e":"\ud83e","ok":"\ud83e\udd80"}'


def test_a_call_without_a_name_is_an_error_and_a_late_name_mends_it() -> None:
    (error,) = fold([*call("c1", "{}", name=None), STOP]).errors
    assert isinstance(error, InvalidToolCallJson)
    assert error.cause == "unnamed"
    late = fold([*call("c1", "{}", name=None), ToolCallName("c1", "g"), STOP])
    assert [found.name for found in late.tool_calls] == ["g"]
    assert late.errors == ()


def test_a_custom_tool_gets_its_text_unparsed() -> None:
    (found,) = fold([ToolCallStart("c1", "sh", "custom"), ToolCallArgumentDelta("c1", "ls {"), ToolCallEnd("c1"), STOP]).tool_calls
    assert (found.kind, found.arguments) == ("custom", "ls {")


def test_open_calls_are_judged_at_the_end_only_after_finish() -> None:
    open_call = call("c1", '{"a":1}', end=False)
    assert [found.arguments for found in fold([*open_call, STOP]).tool_calls] == [{"a": 1}]
    assert fold(open_call).tool_calls == ()


def test_a_delta_after_the_end_reopens_the_call() -> None:
    accumulator = StreamAccumulator()
    for event in [*call("c1", '{"a":'), ToolCallArgumentDelta("c1", "1}")]:
        accumulator.observe(event)
    assert accumulator.open_calls == ("c1",)
    assert accumulator.snapshot().errors == ()
    accumulator.observe(STOP)
    assert [found.arguments for found in accumulator.finalize().tool_calls] == [{"a": 1}]


@pytest.mark.parametrize("end", [LENGTH, Finish(FinishReason.CONTENT_FILTER, "content_filter"), None])
def test_blank_arguments_of_the_call_being_written_when_a_bound_came_are_cut(end: Finish | None) -> None:
    events = [*call("c1"), *call("c2"), *([end] if end else [])]
    response = fold(events)
    assert [found.id for found in response.tool_calls] == ["c1"]
    assert [error.cause for error in response.errors if isinstance(error, InvalidToolCallJson)] == ["cut"]


def test_blank_arguments_are_whole_when_text_was_written_after_them() -> None:
    assert [found.id for found in fold([TextDelta("a"), *call("c1"), TextDelta("b"), LENGTH]).tool_calls] == ["c1"]


@pytest.mark.parametrize(
    ("pieces", "raw"),
    [
        (["{}", '{"a":1}'], '{"a":1}'),  # a placeholder, then the arguments
        (["{}", '{"a"', ":1}"], '{"a":1}'),
        (['{"a":', "1}", '{"a":1}'], '{"a":1}'),  # the whole again at the end
        (['{"a"', '{"a":1', '{"a":1}'], '{"a":1}'),  # everything so far with each delta
    ],
)
def test_resent_arguments_are_taken_once_and_told(pieces: list[str], raw: str) -> None:
    response = fold([*call("c1", *pieces), STOP])
    assert [(found.arguments, found.arguments_raw) for found in response.tool_calls] == [({"a": 1}, raw)]
    assert codes(response) == {"resent_arguments"}


@pytest.mark.parametrize("pieces", [['{"a":1}', '{"b":2}'], ['{"a":', "{}"], ['{"a":1', "}}"], ["{}", "{}{}"]])
def test_anything_else_that_is_no_json_is_not_repaired(pieces: list[str]) -> None:
    response = fold([*call("c1", *pieces), STOP])
    assert response.tool_calls == ()
    assert [error.raw_arguments for error in response.errors if isinstance(error, InvalidToolCallJson)] == ["".join(pieces)]


def test_plain_append_is_the_default_where_it_is_json() -> None:
    (found,) = fold([*call("c1", "1", "12"), STOP]).tool_calls
    assert found.arguments == 112


def test_a_callers_own_parser_is_used_and_its_failure_is_the_calls() -> None:
    def parse(text: str) -> Any:
        if "boom" in text:
            raise KeyError("boom")
        return {"parsed": text}

    accumulator = StreamAccumulator(parse_arguments=parse)
    for event in [*call("c1", "{not json"), *call("c2", "boom"), *call("c3"), STOP]:
        accumulator.observe(event)
    response = accumulator.finalize(strict=False)
    assert [found.arguments for found in response.tool_calls] == [{"parsed": "{not json"}, {}]
    assert "KeyError" in str(response.errors[0])


def test_fail_fast_raises_at_the_end_of_the_call_and_the_rest_can_go_on() -> None:
    accumulator = StreamAccumulator(fail_fast=True)
    for event in [TextDelta("a"), *call("c1", '{"a', end=False)]:
        accumulator.observe(event)
    with pytest.raises(InvalidToolCallJson) as caught:
        accumulator.observe(ToolCallEnd("c1"))
    assert caught.value.response is not None
    assert caught.value.response.text == "a"
    accumulator.observe(STOP)
    assert accumulator.finalize(strict=False).finish_reason is FinishReason.STOP


def test_the_view_of_a_call_follows_it() -> None:
    accumulator = StreamAccumulator()
    accumulator.observe(ToolCallStart("c1", None))
    view = accumulator.tool_call("c1")
    assert (view.id, view.name, view.state, view.arguments_raw, view.arguments) == ("c1", None, "open", "", None)
    accumulator.observe(ToolCallName("c1", "f"))
    accumulator.observe(ToolCallArgumentDelta("c1", '{"a":1'))
    assert (view.name, view.arguments_raw) == ("f", '{"a":1')
    accumulator.observe(ToolCallArgumentDelta("c1", "}"))
    accumulator.observe(ToolCallEnd("c1"))
    assert (view.state, view.arguments) == ("ready", {"a": 1})
    with pytest.raises(KeyError):
        accumulator.tool_call("c2")


# ---- Finish, usage, end.


def test_stop_never_replaces_another_reason_otherwise_the_last_wins() -> None:
    again = fold([Finish(FinishReason.TOOL_CALLS, "tool_calls"), STOP])
    assert (again.finish_reason, again.raw_finish_reason, codes(again)) == (
        FinishReason.TOOL_CALLS,
        "tool_calls",
        {"second_finish"},
    )
    assert fold([STOP, LENGTH]).finish_reason is FinishReason.LENGTH
    assert codes(fold([STOP, STOP])) == set()


@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.UNKNOWN])
def test_only_stop_is_read_as_tool_calls_when_there_are_calls(reason: FinishReason) -> None:
    assert fold([*call("c1", "{}"), Finish(reason, "word")]).finish_reason is reason
    assert fold([*call("c1", "{]"), STOP]).finish_reason is FinishReason.STOP


def test_usage_is_a_running_total_field_by_field() -> None:
    response = fold(
        [
            Usage(TokenUsage(20, 1, cache_read_tokens=5, raw={"in": 20, "d": {"a": 8}, "n": None})),
            Usage(TokenUsage(None, 9, 29, raw={"in": None, "out": 9, "d": {"b": 1}})),
            STOP,
        ]
    )
    assert response.usage == TokenUsage(20, 9, 29, cache_read_tokens=5, raw={"in": 20, "out": 9, "d": {"a": 8, "b": 1}, "n": None})
    assert fold([STOP]).usage is None


def test_usage_ends_nothing_and_text_after_finish_is_read() -> None:
    accumulator = StreamAccumulator()
    done = []
    events: list[ChatStreamEvent] = [Usage(TokenUsage(1)), STOP, TextDelta("late")]
    for event in events:
        accumulator.observe(event)
        done.append(accumulator.done)
    assert done == [False, True, True]
    assert accumulator.finalize().text == "late"


def test_a_broken_source_is_truncated_before_finish_and_a_note_after_it() -> None:
    before = fold([TextDelta("a"), StreamBroken("transport", "reset")])
    assert before.errors == (Truncated("transport", "reset"),)
    after = fold([TextDelta("a"), STOP, StreamBroken("transport", "reset")])
    assert after.complete
    assert codes(after) == {"broken_after_finish"}


def test_finish_with_an_error_is_not_complete() -> None:
    assert not fold([TextDelta("a"), STOP, StreamError("e", "m")]).complete
    assert not fold([TextDelta("a"), Finish(FinishReason.ERROR, "error")]).complete


def test_observe_after_finalize_is_the_callers_fault() -> None:
    accumulator = StreamAccumulator()
    accumulator.finalize()
    with pytest.raises(AccumulatorClosed):
        accumulator.observe(TextDelta("a"))
    assert accumulator.snapshot() is accumulator.finalize()


def test_a_snapshot_holds_no_open_call_and_never_a_truncated() -> None:
    accumulator = StreamAccumulator()
    for event in [TextDelta("a"), *call("c1", '{"a":', end=False), StreamBroken("transport")]:
        accumulator.observe(event)
    snapshot = accumulator.snapshot()
    assert (snapshot.text, snapshot.tool_calls, snapshot.errors, snapshot.finish_reason) == ("a", (), (), None)
    assert accumulator.open_calls == ("c1",)


# ---- Nonsense, and what it costs.


def test_events_that_make_no_sense_are_counted_and_never_raise() -> None:
    class Strange:
        pass

    events: list[Any] = [
        ToolCallArgumentDelta("nobody", "x"),
        ToolCallEnd("nobody"),
        ToolCallName("nobody", "f"),
        ToolCallStart("c1", "f"),
        ToolCallStart("c1", "g"),
        Unknown("new_thing"),
        Strange(),
        Notice("code", "message", "byte 3"),
        STOP,
    ]
    response = fold(events)
    assert {d.code: d.count for d in response.diagnostics} == {
        "unknown_call": 3,
        "repeated_call_start": 1,
        "unknown_event": 2,
        "code": 1,
    }


def test_each_kind_of_oddity_is_logged_once_without_model_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "streamaccumulator")
    fold([TextDelta("secret words"), *[ToolCallEnd("nobody") for _ in range(50)], STOP])
    assert [record.name for record in caplog.records] == ["streamaccumulator.accumulator"]
    assert "secret" not in caplog.text


LIMITS: list[tuple[str, Limits, list[ChatStreamEvent]]] = [
    ("message_bytes", Limits(message_bytes=10), [TextDelta("é" * 2000)]),
    ("message_bytes", Limits(message_bytes=10), [Extra(None, {"k": "v" * 20})]),
    ("message_bytes", Limits(message_bytes=100), [TextDelta("ab") for _ in range(64)]),
    ("arguments_bytes", Limits(arguments_bytes=10), call("c1", "x" * 2000)),
    ("tool_calls", Limits(tool_calls=1), [*call("c1"), *call("c2")]),
    ("parts", Limits(parts=2), [TextDelta("a", 1), TextDelta("b", 2), TextDelta("c", 3)]),
    ("json_depth", Limits(json_depth=4), [Extra(None, {"a": {"b": {"c": {"d": [1]}}}})]),
]


@pytest.mark.parametrize(("limit", "limits", "events"), LIMITS)
def test_a_limit_keeps_what_came_before_and_nothing_after(limit: str, limits: Limits, events: list[ChatStreamEvent]) -> None:
    accumulator = StreamAccumulator(limits=limits)
    for event in [RefusalDelta("before"), *events, RefusalDelta("after"), STOP]:
        accumulator.observe(event)
    assert accumulator.stopped
    with pytest.raises(LimitExceeded) as caught:
        accumulator.finalize()
    assert caught.value.limit == limit
    assert caught.value.response is not None
    assert caught.value.response.refusal == "before"
    assert caught.value.response.finish_reason is None


def test_errors_beyond_the_limit_are_only_counted() -> None:
    from streamaccumulator import Unreadable

    accumulator = StreamAccumulator(limits=Limits(errors=3))
    for at in range(10):
        accumulator.observe(Unreadable(at, "no JSON"))
    response = accumulator.finalize(strict=False)
    assert len(response.errors) == 3
    assert {d.code: d.count for d in response.diagnostics} == {"more_errors": 7}


def test_surrogates_cut_apart_are_joined_and_a_lone_one_is_replaced() -> None:
    response = fold([TextDelta("a\ud83e"), TextDelta("\udd80b\ud83e"), STOP])
    assert response.text == "a\U0001f980b\ufffd"
    assert fold([Extra(None, {"k\ud83e": ["\ud83e"]}), STOP]).extra == {"k\ufffd": ["\ufffd"]}
    assert response.to_json()


def test_many_pieces_are_joined_in_order() -> None:
    pieces = [f"{at}," for at in range(5000)]
    response = fold([*[TextDelta(piece) for piece in pieces], STOP])
    assert response.text == "".join(pieces)


def test_several_events_are_merged_as_they_would_be_one_by_one() -> None:
    events: list[ChatStreamEvent] = [
        ToolCallStart("c1", "f"),
        *[ToolCallArgumentDelta("c1", piece) for piece in '{"a": 1}'],
        TextDelta("x"),
        ToolCallEnd("c1"),
    ]
    one, other = StreamAccumulator(), StreamAccumulator()
    for event in events:
        one.observe(event)
    other.observe_all(events)
    assert one.finalize(strict=False) == other.finalize(strict=False)
    with pytest.raises(AccumulatorClosed):
        other.observe_all([TextDelta("late")])


def test_what_stands_before_the_event_that_raises_is_merged() -> None:
    accumulator = StreamAccumulator(fail_fast=True)
    with pytest.raises(InvalidToolCallJson):
        accumulator.observe_all([TextDelta("a"), ToolCallStart("c1", "f"), ToolCallArgumentDelta("c1", "no"), TextDelta("b")])
    assert accumulator.snapshot().text == "a"


def test_nothing_is_merged_after_a_limit_was_hit() -> None:
    accumulator = StreamAccumulator(limits=Limits(message_bytes=2000))
    accumulator.observe_all([TextDelta("x" * 1500), TextDelta("y" * 1500), TextDelta("z" * 1500)])
    assert accumulator.finalize(strict=False).text == "x" * 1500 + "y" * 1500
