"""The values a caller keeps: errors, responses, messages, events, limits. Equal, copyable, picklable, printable, JSON."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest

import streamaccumulator as sa
from streamaccumulator.errors import GRAVITY
from streamaccumulator.events import encode_event
from streamaccumulator.messages import merge_deeply

MEGABYTE = "x" * 1_000_000

ERRORS: list[sa.AccumulatorError] = [
    sa.Truncated(),
    sa.Truncated("transport", "reset by peer"),
    sa.InvalidToolCallJson("c1", "f", "'D' where a value belongs", 5, '{"a":Dave}', "malformed"),
    sa.InvalidToolCallJson("c1", None, "the call never got a name", cause="unnamed"),
    sa.ProviderError("overloaded_error", "busy", {"type": "overloaded_error", "list": [1, {"a": None}]}),
    sa.MalformedChunk(17, "no JSON", b"\xff\x00{"),
    sa.LimitExceeded("frame_bytes", 67108865),
    sa.UnknownProtocol("html"),
]

RESPONSE = sa.AccumulatedResponse(
    message=sa.AssistantMessage(
        (
            sa.ReasoningPart("think", "SIG", extra={"field": "reasoning"}),
            sa.TextPart("héllo", ({"url": "u"},)),
            sa.RefusalPart("no"),
            sa.ToolCall("c1", "f", {"n": 2**70, "x": 1.5, "deep": [{"a": None}]}, '{"n":...}', minted=True),
            sa.CitationPart({"url": "v"}),
            sa.MediaPart("image", "image/png", "AAAA"),
            sa.ProviderPart("server_tool_use", {"id": "s", "input": {}}),
        )
    ),
    finish_reason=sa.FinishReason.TOOL_CALLS,
    raw_finish_reason="tool_use",
    usage=sa.TokenUsage(1, 2, 3, 4, 5, 6, True, {"prompt_tokens": 1, "details": {"cached": None}}),
    id="i",
    model="m",
    provider="p",
    complete=True,
    errors=tuple(ERRORS),
    diagnostics=(sa.Diagnostic("code", "message", "byte 7", 3),),
    logprobs={"content": [{"token": "a", "logprob": -0.5}]},
    extra={"service_tier": "x"},
)


# ---- Errors.


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_an_error_is_a_value(error: sa.AccumulatorError) -> None:
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error)), error.bound(RESPONSE)):
        assert twin == error
        assert hash(twin) == hash(error)
        assert type(twin) is type(error)
    assert error != sa.AccumulatorClosed()
    assert error != "error"


def test_errors_of_one_kind_with_other_fields_differ() -> None:
    assert len(set(ERRORS)) == len(ERRORS)
    assert sa.Truncated("end") != sa.Truncated("transport")


def test_a_bound_error_carries_its_response_through_a_pickle() -> None:
    bound = sa.Truncated().bound(RESPONSE)
    again = pickle.loads(pickle.dumps(bound))
    assert again.response == RESPONSE
    assert sa.Truncated().response is None


def test_texts_name_the_tool_the_position_and_the_cause_and_what_was_kept() -> None:
    assert str(ERRORS[2]) == "call 'c1' to 'f' is not usable (malformed) at byte 5, after '{\"a\":': 'D' where a value belongs"
    assert str(ERRORS[3]) == "call 'c1' to a tool without a name is not usable (unnamed): the call never got a name"
    assert str(ERRORS[4]) == "the provider reported an error: overloaded_error: busy"
    assert str(ERRORS[5]) == "the frame at byte 17 could not be read: no JSON"
    assert str(ERRORS[6]) == "the stream passed the limit frame_bytes with 67108865"
    assert str(sa.Truncated().bound(RESPONSE)) == (
        "truncated: the stream ended without a finish reason; "
        "kept: 5 characters of text, 5 characters of reasoning, 2 characters of refusal, 1 whole tool call, 3 other parts "
        "(2 unusable tool calls)"
    )
    assert str(sa.Truncated().bound(sa.AccumulatedResponse())).endswith("; kept: nothing")


def test_texts_and_reprs_never_hold_what_the_model_said() -> None:
    error = sa.InvalidToolCallJson("c1", "f", "'D' where a value belongs", 5, MEGABYTE).bound(RESPONSE)
    assert "héllo" not in str(error)
    assert len(str(error)) < 400
    assert len(repr(error)) < 400


def test_every_kind_that_finalize_raises_has_its_gravity_and_its_twin() -> None:
    kinds = set(sa.AccumulatorError.__subclasses__()) - {sa.AccumulatorClosed}
    assert kinds == set(GRAVITY) == {type(error) for error in ERRORS}


# ---- Responses.


def test_a_response_is_equal_after_every_round_trip() -> None:
    assert sa.AccumulatedResponse.from_json(RESPONSE.to_json()) == RESPONSE
    assert sa.AccumulatedResponse.from_dict(RESPONSE.to_dict()) == RESPONSE
    assert sa.AccumulatedResponse.from_json(json.dumps(RESPONSE.to_dict())) == RESPONSE
    for twin in (copy.copy(RESPONSE), copy.deepcopy(RESPONSE), pickle.loads(pickle.dumps(RESPONSE))):
        assert twin == RESPONSE


def test_json_carries_its_version_and_reading_nonsense_says_so() -> None:
    assert json.loads(RESPONSE.to_json())["version"] == 1
    with pytest.raises(msgspec.DecodeError):
        sa.AccumulatedResponse.from_json("{")
    with pytest.raises(msgspec.ValidationError, match=r"\$\.message"):
        sa.AccumulatedResponse.from_json('{"message": 3}')
    with pytest.raises(msgspec.ValidationError):
        sa.AccumulatedResponse.from_json('{"errors": [{"type": "nonsense"}]}')


def test_the_published_schema_is_the_one_of_the_code() -> None:
    published = json.loads((Path(__file__).parents[1] / "docs" / "response.schema.json").read_text())
    assert published == json.loads(json.dumps(sa.AccumulatedResponse.json_schema()))


def test_the_schema_knows_every_part_and_every_error() -> None:
    definitions = sa.AccumulatedResponse.json_schema()["$defs"]
    kinds = {d["properties"]["type"]["enum"][0] for d in definitions.values() if "type" in d.get("properties", {})}
    assert {"text", "reasoning", "tool_call", "provider_block", "truncated", "provider_error", "limit_exceeded"} <= kinds


def test_views_of_the_message() -> None:
    assert (RESPONSE.text, RESPONSE.reasoning, RESPONSE.refusal) == ("héllo", "think", "no")
    assert [call.id for call in RESPONSE.tool_calls] == ["c1"]


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        RESPONSE.id = "other"  # type: ignore[misc]  # the point of the test


@pytest.mark.parametrize(
    "value",
    [
        sa.TextDelta(MEGABYTE),
        sa.TextPart(MEGABYTE),
        sa.ToolCall("c", "f", {"k": MEGABYTE, "l": [MEGABYTE] * 100}, MEGABYTE),
        sa.AccumulatedResponse(message=sa.AssistantMessage((sa.TextPart(MEGABYTE),) * 100)),
        sa.Extra(None, {MEGABYTE: MEGABYTE}),
        sa.Unreadable(0, MEGABYTE, MEGABYTE.encode()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_repr_is_short_whatever_the_value_holds(value: object) -> None:
    assert len(repr(value)) < 1000
    assert repr(value).startswith(type(value).__name__)


def test_a_repr_shows_what_is_not_default() -> None:
    assert repr(sa.TextPart("a")) == "TextPart(text='a')"
    assert repr(sa.TokenUsage(input_tokens=0)) == "TokenUsage(input_tokens=0)"


# ---- Messages and usage.


def test_each_message_kind_has_one_role() -> None:
    messages: list[sa.Message] = [
        sa.SystemMessage("be brief"),
        sa.UserMessage((sa.TextPart("hi"), sa.MediaPart("image", None, "data:..."))),
        sa.AssistantMessage((sa.TextPart("yes"),)),
        sa.ToolMessage("c1", "42"),
    ]
    encoded = msgspec.json.encode(messages)
    assert [message["role"] for message in json.loads(encoded)] == ["system", "user", "assistant", "tool"]
    assert msgspec.json.decode(encoded, type=list[sa.Message]) == messages


def test_input_total_knows_how_the_provider_counts() -> None:
    inside = sa.TokenUsage(100, cache_read_tokens=80, input_includes_cache=True)
    beside = sa.TokenUsage(20, cache_read_tokens=80, cache_write_tokens=5, input_includes_cache=False)
    assert (inside.input_total, beside.input_total, sa.TokenUsage().input_total) == (100, 105, None)
    total = inside + beside
    assert (total.input_tokens, total.cache_read_tokens, total.input_total) == (205, 160, 205)


def test_adding_usages_keeps_what_was_not_reported() -> None:
    total = sa.TokenUsage(1, None, 3) + sa.TokenUsage(2, 5, None)
    assert (total.input_tokens, total.output_tokens, total.total_tokens, total.reasoning_tokens) == (3, 5, 3, None)
    assert sa.TokenUsage(0) != sa.TokenUsage()


def test_merging_is_deep_and_null_erases_nothing() -> None:
    assert merge_deeply({"a": {"x": 1}, "b": [1], "c": 0}, {"a": {"y": None}, "b": [2], "c": None, "d": None}) == {
        "a": {"x": 1, "y": None},
        "b": [2],
        "c": 0,
        "d": None,
    }


# ---- Events.


def _example(kind: type[Any]) -> Any:
    """An event of this kind with some value in each required field."""
    values: dict[Any, Any] = {str: "s", int: 3, dict[str, Any]: {"k": [1]}, sa.FinishReason: sa.FinishReason.STOP}
    values |= {sa.TokenUsage: sa.TokenUsage(1), str | None: "m", int | None: 2}
    return kind(**{field.name: values[field.type] for field in msgspec.structs.fields(kind) if field.required})


EVENT_KINDS: tuple[type[Any], ...] = sa.ChatStreamEvent.__args__


@pytest.mark.parametrize("kind", EVENT_KINDS, ids=lambda kind: kind.__name__)
def test_an_event_is_equal_after_json_and_pickle_and_has_its_own_tag(kind: type[Any]) -> None:
    event = _example(kind)
    assert msgspec.json.decode(encode_event(event), type=sa.ChatStreamEvent) == event
    assert pickle.loads(pickle.dumps(event)) == event
    assert json.loads(encode_event(event))["type"] == kind.__struct_config__.tag


@pytest.mark.parametrize("kind", EVENT_KINDS, ids=lambda kind: kind.__name__)
def test_events_that_hold_only_scalars_cost_the_collector_nothing(kind: type[Any]) -> None:
    holds_a_container = any("dict" in str(field.type) or field.type is sa.TokenUsage for field in msgspec.structs.fields(kind))
    assert kind.__struct_config__.gc is holds_a_container


@pytest.mark.parametrize("kind", EVENT_KINDS, ids=lambda kind: kind.__name__)
def test_the_accumulator_takes_every_event(kind: type[Any]) -> None:
    accumulator = sa.StreamAccumulator()
    accumulator.observe(_example(kind))
    assert not any(d.code == "unknown_event" for d in accumulator.snapshot().diagnostics) or kind is sa.Unknown


def test_limits_are_frozen_and_changed_one_by_one() -> None:
    assert sa.Limits(tool_calls=8).frame_bytes == sa.Limits().frame_bytes == 64 * 1024 * 1024
