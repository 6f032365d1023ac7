"""Calls while they grow: the view of one, and the error at the very delta after which it can be no JSON."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import (
    AsyncChatStream,
    ChatStream,
    ChatStreamEvent,
    Finish,
    FinishReason,
    InvalidToolCallJson,
    JsonGrowth,
    Limits,
    StreamAccumulator,
    ToolCall,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallStart,
    aaccumulate,
    accumulate,
)

from .test_partial_json import SIZES, STYLES, VALUES, Replayed, almost, can_be_json, pieces, same
from .wire import codes

CAPTURE = Path(__file__).parent / "captures/anthropic-messages/tools-parallel.sse"
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=3)
WAYS = st.sampled_from(["once", "after {}", "again", "restated"])


def told(text: str, sizes: list[int], way: str) -> list[str]:
    """The deltas of a server that tells the arguments in one of the ways there are."""
    parts = pieces(text, sizes)
    return {
        "once": parts,
        "after {}": ["{}", *parts],
        "again": [*parts, text],
        "restated": ["".join(parts[: at + 1]) for at in range(len(parts))],
    }[way]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def started(**options: Any) -> StreamAccumulator:
    accumulator = StreamAccumulator(**options)
    accumulator.observe(ToolCallStart("c1", "f"))
    return accumulator


@given(OBJECTS, SIZES, WAYS, st.sampled_from(STYLES), st.integers(0, 5))
def test_the_view_is_the_same_whoever_looked_before(value: Any, sizes: list[int], way: str, style: Any, first_look: int) -> None:
    """Watched from any delta on, it shows what somebody sees who looks for the first time; and its growths make it."""
    accumulator, replayed = started(), Replayed()
    view = accumulator.tool_call("c1")
    for at, delta in enumerate(told(json.dumps(value, **style), sizes, way)):
        accumulator.observe(ToolCallArgumentDelta("c1", delta))
        if at < first_look:
            continue
        fresh = StreamAccumulator.load(accumulator.dump()).tool_call("c1")
        assert same(view.arguments, fresh.arguments)
        replayed.add(view.growth())
        assert same(replayed.value, view.arguments)
        assert view.state == "open"
    accumulator.observe(ToolCallEnd("c1"))
    assert (view.state, same(view.arguments, json.loads(json.dumps(value)))) == ("ready", True)


@given(st.lists(almost().map(lambda text: text[:20]) | st.sampled_from(["{}", '{"a":1}', "{", " ", "null"]), max_size=5))
def test_fail_fast_raises_at_the_first_delta_after_which_nothing_can_be_json(deltas: list[str]) -> None:
    """Nor what a server may have sent again: the document that would count at the end."""
    accumulator = started(fail_fast=True)
    text, dead = "", False
    for delta in deltas:
        text += delta
        expected = None
        call = accumulator._calls["c1"]
        try:
            accumulator.observe(ToolCallArgumentDelta("c1", delta))
        except InvalidToolCallJson as error:
            expected = error
        hopeful = can_be_json(text) or any(
            can_be_json(document) if not alone or call.extends else is_json(document) for document, alone in call.retold(text)
        )
        assert (expected is not None) == (not hopeful and not dead) or dead
        if expected is not None:
            assert (expected.raw_arguments, expected.cause, expected.offset is not None) == (text, "malformed", True)
        dead = dead or not hopeful
        if any(alone for _, alone in call.retold(text)):
            return  # a whole second telling: whatever follows is the end's to judge


def test_fail_fast_says_where_and_what_came_and_nothing_is_lost() -> None:
    accumulator = started(fail_fast=True)
    for delta in ('{"city": ', '"New", ', '"n": oops'):
        if "oops" not in delta:
            accumulator.observe(ToolCallArgumentDelta("c1", delta))
            continue
        with pytest.raises(InvalidToolCallJson) as caught:
            accumulator.observe(ToolCallArgumentDelta("c1", delta))
    error = caught.value
    assert (error.call_id, error.name, error.offset, error.cause) == ("c1", "f", 21, "malformed")
    assert str(error).startswith(
        """call 'c1' to 'f' is not usable (malformed) at byte 21, after '{"city": "New", "n": ': 'o' where a value"""
    )
    assert error.response is not None
    assert [one.call_id for one in error.response.errors if isinstance(one, InvalidToolCallJson)] == ["c1"]
    assert (accumulator.tool_call("c1").state, accumulator.tool_call("c1").arguments) == ("invalid", {"city": "New"})
    accumulator.observe(ToolCallArgumentDelta("c1", ' and more"}'))  # it is told once, and the text goes on
    assert accumulator.tool_call("c1").arguments_raw == '{"city": "New", "n": oops and more"}'


def test_fail_fast_leaves_the_verdict_to_a_parser_of_the_callers_own() -> None:
    accumulator = started(fail_fast=True, parse_arguments=lambda text: {"repaired": text})
    accumulator.observe(ToolCallArgumentDelta("c1", "{oops"))
    accumulator.observe(ToolCallEnd("c1"))
    assert accumulator.tool_call("c1").arguments == {"repaired": "{oops"}


def test_fail_fast_goes_on_after_a_dump() -> None:
    accumulator = started(fail_fast=True)
    accumulator.observe(ToolCallArgumentDelta("c1", '{"a":'))
    loaded = StreamAccumulator.load(accumulator.dump())
    with pytest.raises(InvalidToolCallJson) as caught:
        loaded.observe(ToolCallArgumentDelta("c1", "}"))
    assert caught.value.offset == 5


def test_too_deep_is_told_at_its_delta() -> None:
    accumulator = started(fail_fast=True, limits=Limits(json_depth=2))
    accumulator.observe(ToolCallArgumentDelta("c1", '{"a":['))
    with pytest.raises(InvalidToolCallJson, match="nested deeper than 2 levels"):
        accumulator.observe(ToolCallArgumentDelta("c1", "["))


def test_a_call_of_bare_text_grows_as_it_is() -> None:
    accumulator = StreamAccumulator(fail_fast=True)
    accumulator.observe(ToolCallStart("c1", "f", "custom"))
    view = accumulator.tool_call("c1")
    assert (view.growth(), view.arguments) == ((), "")
    events: list[ChatStreamEvent] = [ToolCallArgumentDelta("c1", "*** Begin"), ToolCallArgumentDelta("c1", " {")]
    for event in events:
        accumulator.observe(event)
    assert (view.growth(), view.arguments, view.state) == ((JsonGrowth((), "*** Begin {", True),), "*** Begin {", "open")
    accumulator.observe(ToolCallArgumentDelta("c1", "\n"))
    assert view.growth() == (JsonGrowth((), "\n", False),)
    assert view.growth() == ()


def test_what_is_shown_is_a_copy() -> None:
    accumulator = started()
    accumulator.observe(ToolCallArgumentDelta("c1", '{"a":["x'))
    view = accumulator.tool_call("c1")
    view.arguments["a"].clear()
    assert view.arguments == {"a": ["x"]}
    accumulator.observe(ToolCallArgumentDelta("c1", '"]}'))
    accumulator.observe(ToolCallEnd("c1"))
    view.arguments["a"].clear()
    assert accumulator.snapshot().tool_calls[0].arguments == {"a": ["x"]}


# ---- on_tool_call: a call is handed over when its end is structural, once.


def handed_by(events: list[ChatStreamEvent]) -> tuple[StreamAccumulator, list[tuple[int, str, Any]]]:
    """What was handed over: after how many events, which call, with which arguments."""
    found: list[tuple[int, str, Any]] = []
    seen = 0
    accumulator = StreamAccumulator(on_tool_call=lambda call: found.append((seen, call.id, call.arguments)))
    for event in events:
        seen += 1
        accumulator.observe(event)
    return accumulator, found


def test_a_call_is_handed_over_at_its_end_and_not_when_its_text_happens_to_parse() -> None:
    accumulator, found = handed_by(
        [
            ToolCallStart("c1", "f"),
            ToolCallArgumentDelta("c1", '{"a":1}'),  # whole JSON, and yet more may come
            ToolCallArgumentDelta("c1", " "),
            ToolCallStart("c2", "g"),
            ToolCallArgumentDelta("c2", '{"b":'),
            ToolCallEnd("c1"),
            ToolCallArgumentDelta("c2", "2}"),
            ToolCallEnd("c2"),
            Finish(FinishReason.TOOL_CALLS, "tool_calls"),
        ]
    )
    assert found == [(6, "c1", {"a": 1}), (8, "c2", {"b": 2})]
    accumulator.finalize()
    assert len(found) == 2


def test_a_call_that_is_not_usable_is_never_handed_over() -> None:
    accumulator, found = handed_by(
        [
            ToolCallStart("bad", "f"),
            ToolCallArgumentDelta("bad", "oops"),
            ToolCallEnd("bad"),
            ToolCallStart("cut", "f"),
            ToolCallArgumentDelta("cut", '{"a":'),
        ]
    )
    accumulator.finalize(strict=False)
    assert found == []


@pytest.mark.parametrize(
    ("reason", "expected"),
    [(FinishReason.TOOL_CALLS, [(3, "c1", {})]), (FinishReason.LENGTH, []), (FinishReason.CONTENT_FILTER, []), (None, [])],
)
def test_a_call_without_arguments_waits_for_the_reason_that_proves_it_whole(reason: Any, expected: Any) -> None:
    accumulator, found = handed_by([ToolCallStart("c1", "f"), ToolCallEnd("c1"), *([Finish(reason)] if reason is not None else [])])
    response = accumulator.finalize(strict=False)
    assert found == expected
    assert [call.id for call in response.tool_calls] == [id for _, id, _ in expected]


def test_a_call_whose_end_nobody_told_is_handed_over_by_finalize() -> None:
    accumulator, found = handed_by(
        [ToolCallStart("c1", "f"), ToolCallArgumentDelta("c1", "{}"), Finish(FinishReason.TOOL_CALLS, "tool_calls")]
    )
    assert found == []
    accumulator.finalize()
    accumulator.finalize()
    assert found == [(3, "c1", {})]


def test_a_call_that_grows_after_it_was_handed_over_is_told() -> None:
    accumulator, found = handed_by(
        [
            ToolCallStart("c1", "f"),
            ToolCallArgumentDelta("c1", '{"a":1}'),
            ToolCallEnd("c1"),
            ToolCallArgumentDelta("c1", " "),
            ToolCallEnd("c1"),
            Finish(FinishReason.TOOL_CALLS, "tool_calls"),
        ]
    )
    assert found == [(3, "c1", {"a": 1})]
    assert "call_changed" in codes(accumulator.finalize())


def test_what_is_handed_over_is_the_callers_own_and_what_it_raises_is_too() -> None:
    def take(call: ToolCall) -> None:
        call.arguments["a"] = "changed"
        raise LookupError(call.id)

    accumulator = StreamAccumulator(on_tool_call=take)
    accumulator.observe(ToolCallStart("c1", "f"))
    accumulator.observe(ToolCallArgumentDelta("c1", '{"a":1}'))
    with pytest.raises(LookupError, match="c1"):
        accumulator.observe(ToolCallEnd("c1"))
    accumulator.observe(Finish(FinishReason.TOOL_CALLS, "tool_calls"))
    assert accumulator.finalize().tool_calls[0].arguments == {"a": 1}


def test_what_was_handed_over_is_so_after_a_dump() -> None:
    accumulator, found = handed_by([ToolCallStart("c1", "f"), ToolCallArgumentDelta("c1", '{"a":1}'), ToolCallEnd("c1")])
    again: list[str] = []
    loaded = StreamAccumulator.load(accumulator.dump(), on_tool_call=lambda call: again.append(call.id))
    loaded.observe(ToolCallStart("c2", "g"))
    loaded.observe(ToolCallArgumentDelta("c2", "{}"))
    loaded.observe(ToolCallEnd("c2"))
    loaded.observe(Finish(FinishReason.TOOL_CALLS, "tool_calls"))
    loaded.finalize()
    assert ([id for _, id, _ in found], again) == (["c1"], ["c2"])


def test_the_drivers_hand_calls_over() -> None:
    capture = CAPTURE.read_bytes()
    expected = [call.id for call in accumulate(capture).tool_calls]
    assert len(expected) > 1

    async def asynchronous(seen: list[str]) -> None:
        await aaccumulate(capture, on_tool_call=lambda call: seen.append(call.id))

    async def by_events(seen: list[str]) -> None:
        async with AsyncChatStream(capture, on_tool_call=lambda call: seen.append(call.id)) as stream:
            await stream.finalize()

    for run in (asynchronous, by_events):
        seen: list[str] = []
        asyncio.run(run(seen))
        assert seen == expected
    one, other = list[str](), list[str]()
    accumulate(capture, on_tool_call=lambda call: one.append(call.id))
    with ChatStream(capture, on_tool_call=lambda call: other.append(call.id)) as stream:
        stream.finalize()
    assert one == other == expected


# ---- Whoever looks, and how often, changes nothing.

LOOKS: dict[str, tuple[dict[str, Any], Callable[[StreamAccumulator], object]]] = {
    "nobody": ({}, lambda accumulator: None),
    "snapshot": ({}, lambda accumulator: accumulator.snapshot()),
    "state": ({}, lambda accumulator: accumulator.tool_call("c1").state),
    "arguments": ({}, lambda accumulator: accumulator.tool_call("c1").arguments),
    "growth": ({}, lambda accumulator: accumulator.tool_call("c1").growth()),
    "dump": ({}, lambda accumulator: accumulator.dump()),
    "on_tool_call": ({"on_tool_call": lambda call: None}, lambda accumulator: None),
}
PIECES = st.lists(
    st.sampled_from(["{}", "null", "[]", '{"a":1}', '{"a": 1}', '{"a":', "1}", " ", '{"a":[', '{"a":[1]}', "end", "end", "end"]),
    max_size=24,
)


@given(PIECES, st.sampled_from([FinishReason.TOOL_CALLS, FinishReason.LENGTH, None]))
def test_whoever_looks_the_response_is_the_same(told: list[str], reason: FinishReason | None) -> None:
    found = {}
    for name, (options, look) in LOOKS.items():
        accumulator = started(**options)
        for piece in told:
            accumulator.observe(ToolCallEnd("c1") if piece == "end" else ToolCallArgumentDelta("c1", piece))
            look(accumulator)
        if reason is not None:
            accumulator.observe(Finish(reason, reason.value))
        look(accumulator)
        response = accumulator.finalize(strict=False)
        kept = [one for one in response.diagnostics if one.code != "call_changed"]  # which only tells who had been handed it
        found[name] = (response.message, response.errors, response.finish_reason, kept)
    assert all(one == found["nobody"] for one in found.values())


@given(PIECES)
def test_a_saved_call_goes_on_as_the_one_that_was_saved(told: list[str]) -> None:
    for fail_fast in (False, True):
        accumulator = saved = started(fail_fast=fail_fast)
        for piece in told:
            event = ToolCallEnd("c1") if piece == "end" else ToolCallArgumentDelta("c1", piece)
            raised = []
            for one in (accumulator, saved):
                try:
                    one.observe(event)
                except InvalidToolCallJson as error:
                    raised.append(error)
            assert len(raised) in (0, 2) if accumulator is not saved else True
            saved = StreamAccumulator.load(saved.dump())
            assert saved.snapshot() == accumulator.snapshot()
            assert saved.tool_call("c1").state == accumulator.tool_call("c1").state
        assert saved.finalize(strict=False) == accumulator.finalize(strict=False)


def test_arguments_told_and_ended_many_times_over_are_one_document() -> None:
    accumulator = started()
    for document in ['{"a":1}', '{"a": 1}'] * 3:
        accumulator.observe(ToolCallArgumentDelta("c1", document))
        accumulator.observe(ToolCallEnd("c1"))
    accumulator.observe(Finish(FinishReason.TOOL_CALLS, "tool_calls"))
    response = accumulator.finalize()
    assert (response.tool_calls[0].arguments, response.tool_calls[0].arguments_raw) == ({"a": 1}, '{"a": 1}')
    assert "resent_arguments" in codes(response)


@pytest.mark.parametrize("told", [["{}", "null"], ["null", "null"], ["null"], [" "]])
def test_arguments_that_are_none_are_an_empty_object_however_often_they_are_told(told: list[str]) -> None:
    accumulator = started()
    for delta in told:
        accumulator.observe(ToolCallArgumentDelta("c1", delta))
    accumulator.observe(ToolCallEnd("c1"))
    loaded = StreamAccumulator.load(accumulator.dump())
    for one in (accumulator, loaded):
        one.observe(Finish(FinishReason.TOOL_CALLS, "tool_calls"))
        assert one.finalize().tool_calls[0].arguments == {}


@pytest.mark.parametrize("blank", ["\u00a0", "\x0c", "null\u00a0", "\u3000null"])
def test_white_space_that_json_does_not_know_is_no_json(blank: str) -> None:
    accumulator = started()
    accumulator.observe(ToolCallArgumentDelta("c1", blank))
    accumulator.observe(Finish(FinishReason.TOOL_CALLS, "tool_calls"))
    with pytest.raises(InvalidToolCallJson):
        accumulator.finalize()
    with pytest.raises(InvalidToolCallJson):
        started(fail_fast=True).observe(ToolCallArgumentDelta("c1", blank))


def test_a_server_that_restates_where_a_value_may_begin_is_seen_through_at_the_end() -> None:
    accumulator = started()
    view = accumulator.tool_call("c1")
    replayed = Replayed()
    for delta in ('{"b":[', '{"b":[1,2]}'):
        accumulator.observe(ToolCallArgumentDelta("c1", delta))
        replayed.add(view.growth())
    accumulator.observe(ToolCallEnd("c1"))
    replayed.add(view.growth())
    assert (view.state, view.arguments, replayed.value) == ("ready", {"b": [1, 2]}, {"b": [1, 2]})


def test_what_a_callback_raises_costs_no_other_call() -> None:
    handed: list[str] = []

    def take(call: ToolCall) -> None:
        handed.append(call.id)
        if call.id == "c1":
            raise KeyError(call.id)

    accumulator = started(on_tool_call=take)
    accumulator.observe(ToolCallStart("c2", "f"))
    accumulator.observe(Finish(FinishReason.TOOL_CALLS, "tool_calls"))
    with pytest.raises(KeyError):
        accumulator.finalize()
    assert [call.id for call in accumulator.finalize().tool_calls] == handed == ["c1", "c2"]


def test_bare_text_grows_in_whole_characters() -> None:
    accumulator = StreamAccumulator()
    accumulator.observe(ToolCallStart("c1", "f", "custom"))
    view, told = accumulator.tool_call("c1"), []
    for delta in ("a\ud83d", "\ude00b", "\ud83d"):
        accumulator.observe(ToolCallArgumentDelta("c1", delta))
        told.append("".join([grown.added for grown in view.growth()]))
    accumulator.observe(ToolCallEnd("c1"))
    told.append("".join([grown.added for grown in view.growth()]))
    assert told == ["a", "\U0001f600b", "", "\ufffd"]
    assert "".join(told) == view.arguments


def test_a_call_without_arguments_is_open_until_it_is_known_that_this_was_all() -> None:
    for reason, state, calls in ((FinishReason.TOOL_CALLS, "ready", 1), (FinishReason.LENGTH, "cut", 0)):
        accumulator = started()
        accumulator.observe(ToolCallEnd("c1"))
        view = accumulator.tool_call("c1")
        assert (view.state, accumulator.snapshot().tool_calls) == ("open", ())
        accumulator.observe(Finish(reason, reason.value))
        accumulator.finalize(strict=False)
        assert (view.state, len(accumulator.finalize(strict=False).tool_calls)) == (state, calls)


def test_a_call_that_fail_fast_gave_up_stays_invalid() -> None:
    accumulator = started(fail_fast=True)
    with pytest.raises(InvalidToolCallJson):
        accumulator.observe(ToolCallArgumentDelta("c1", "{x"))
    for event in (
        ToolCallArgumentDelta("c1", "y"),
        ToolCallEnd("c1"),
        ToolCallArgumentDelta("c1", "{}"),
        Finish(FinishReason.STOP, "stop"),
    ):
        accumulator.observe(event)
        view = accumulator.tool_call("c1")
        assert (view.state, len(accumulator.snapshot().errors)) == ("invalid", 1)
    assert view.arguments_raw == "{xy{}"


def test_fail_fast_goes_on_after_a_load_for_calls_that_had_ended() -> None:
    accumulator = started(fail_fast=True)
    accumulator.observe(ToolCallArgumentDelta("c1", "{}"))
    accumulator.observe(ToolCallEnd("c1"))
    loaded = StreamAccumulator.load(accumulator.dump())
    with pytest.raises(InvalidToolCallJson):
        loaded.observe(ToolCallArgumentDelta("c1", "zzz"))


def test_a_small_call_beyond_the_limit_is_not_handed_over() -> None:
    handed: list[ToolCall] = []
    accumulator = started(limits=Limits(arguments_bytes=10), on_tool_call=handed.append)
    accumulator.observe(ToolCallArgumentDelta("c1", json.dumps({"a": "x" * 30})))
    accumulator.observe(ToolCallEnd("c1"))
    assert (handed, accumulator.stopped, accumulator.tool_call("c1").state) == ([], True, "open")
    assert accumulator.finalize(strict=False).tool_calls == ()
    assert accumulator.tool_call("c1").state == "cut"
