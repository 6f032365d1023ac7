"""Known faults of other libraries: which call a fragment belongs to, and what its id and name are.

Each row is one stream that ends with `tool_calls`: the fragments, the calls (id, name, arguments), the diagnostics.
"""

from typing import Any

import pytest

from streamaccumulator import (
    ChatStreamEvent,
    FinishReason,
    ToolCall,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallName,
    ToolCallStart,
    accumulate,
)

from ..wire import call, codes, delta, events_of, finish, read
from .shapes import calls, gemini, ids, read_gemini, responses

A1 = {"a": 1}


def entries(*found: dict[str, Any]) -> bytes:
    """One delta with exactly these entries of tool calls."""
    return delta(tool_calls=list(found))


def entry(index: int | None, id: str | None = None, **function: Any) -> dict[str, Any]:
    """One entry; the index is always said, also as null."""
    return {"index": index, **({"id": id} if id else {}), "type": "function", "function": function}


ROWS: dict[str, tuple[list[bytes], list[tuple[str, str, Any]], set[str]]] = {
    "B035": (
        [call(None, "c1", "f", '{"a":'), entries({"index": None, "function": {"arguments": "1}"}})],
        [("c1", "f", A1)],
        set(),
    ),
    "B037": (
        [call(1, "c1", "f", ""), call(4, "c2", "g", "{}"), call(1, arguments="{}")],
        [("c1", "f", {}), ("c2", "g", {})],
        set(),
    ),
    "B038": (
        [call(0, "c1", "f", '{"a":1}'), call(0, "c2", "g", '{"b":2}')],
        [("c1", "f", A1), ("c2", "g", {"b": 2})],
        set(),
    ),
    "B039": (
        [call(0, "r1", "f", ""), call(0, "r2", "", '{"a"'), call(0, "r3", None, ":1}")],
        [("r1", "f", A1)],
        set(),
    ),
    "B041": (
        [entries(entry(0, "c1", name="f"), {"index": 0, "function": {"arguments": '{"a"'}}), call(0, arguments=":1}")],
        [("c1", "f", A1)],
        set(),
    ),
    "B042": (
        [call(0, "c1", "f", ""), call(0, "", "", '{"a"'), call(0, "", "", ":1}")],
        [("c1", "f", A1)],
        set(),
    ),
    "B043": (
        [call(0, "c1", "f", '{"a"'), call(0, "c1", None, ":1"), call(0, "c1", None, "}")],
        [("c1", "f", A1)],
        set(),
    ),
    "B043 with its name": (
        [call(0, "c1", "f", '{"a"'), call(0, "c1", "f", ":1"), call(0, "c1", "f", "}")],
        [("c1", "f", A1)],
        set(),
    ),
    "B044": (
        [call(0, None, "now", ""), call(0, arguments="{}")],
        [("call_1", "now", {})],
        set(),
    ),
    "B045": (
        [call(0, "c1", None, '{"cmd"'), call(0, None, "bash", ':"ls"}')],
        [("c1", "bash", {"cmd": "ls"})],
        set(),
    ),
    "B048": (
        [call(0, "c1", "my_search", ""), call(0, None, "my_search", "{}")],
        [("c1", "my_search", {})],
        set(),
    ),
    "B052": (
        [entries(entry(0, "c1", name="f", arguments=None), entry(1, "c2", name="g", arguments='{"b":2}'))],
        [("c1", "f", {}), ("c2", "g", {"b": 2})],
        set(),
    ),
    "B066": (
        [call(0, "c1", "f", '{"a"'), call(1, "c2", "g", '{"b"'), call(0, arguments=":1}"), call(1, arguments=":2}")],
        [("c1", "f", A1), ("c2", "g", {"b": 2})],
        set(),
    ),
    "B071": (
        [call(0, "f:0", "f", '{"a":1}'), call(1, "f:0", "f", '{"a":2}')],
        [("f:0", "f", A1), ("call_1", "f", {"a": 2})],
        {"duplicate_id"},
    ),
    "B073": (
        [call(0, "c1", "f", ""), call(1, arguments='{"z":1}')],
        [("c1", "f", {"z": 1})],
        {"index_mismatch"},
    ),
    "B076": (
        [call(0, "c1", "f", '{"city":"Bonn"}')],
        [("c1", "f", {"city": "Bonn"})],
        set(),
    ),
}


@pytest.mark.parametrize(("fragments", "expected", "told"), ROWS.values(), ids=ROWS)
def test_the_calls_of(fragments: list[bytes], expected: list[tuple[str, str, Any]], told: set[str]) -> None:
    response = read(*fragments, finish("tool_calls"))
    assert [(found.id, found.name, found.arguments) for found in response.tool_calls] == expected
    assert (response.errors, codes(response)) == ((), told)
    assert (response.complete, response.finish_reason) == (True, FinishReason.TOOL_CALLS)
    assert response.message.content == response.tool_calls


def id_of(event: ChatStreamEvent) -> str | None:
    return event.id if isinstance(event, ToolCallStart | ToolCallArgumentDelta | ToolCallEnd) else None


def test_b044_a_minted_id_is_the_same_from_start_to_end_and_marked() -> None:
    data = call(0, None, "now", "") + call(0, arguments="{}") + finish("tool_calls")
    (found,) = accumulate(data).tool_calls
    assert {id_of(event) for event in events_of(data)} - {None} == {found.id}
    assert found.minted


def test_b045_the_name_that_came_late_is_an_event_of_its_own() -> None:
    events = events_of(call(0, "c1", None, '{"cmd"') + call(0, None, "bash", ':"ls"}') + finish("tool_calls"))
    assert [event for event in events if isinstance(event, ToolCallStart)] == [ToolCallStart("c1")]
    assert [event for event in events if isinstance(event, ToolCallName)] == [ToolCallName("c1", "bash")]


def test_b071_the_id_of_the_wire_is_told_where_another_was_made() -> None:
    response = read(call(0, "f:0", "f", "{}"), call(1, "f:0", "f", "{}"), finish("tool_calls"))
    assert [found.minted for found in response.tool_calls] == [False, True]
    assert "'f:0'" in response.diagnostics[0].message


def test_b067_arguments_of_responses_go_by_item_and_are_answered_by_call() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "f"}
    where = {"item_id": "fc_1", "output_index": 0}
    response = read(
        responses("output_item.added", output_index=0, item={**item, "arguments": ""}),
        responses("function_call_arguments.delta", **where, delta='{"a":1}'),
        responses("function_call_arguments.done", **where, arguments='{"a":1}'),
        responses("output_item.done", output_index=0, item={**item, "arguments": '{"a":1}'}),
        responses("completed", response={"id": "r", "status": "completed", "output": []}),
        protocol="openai-responses",
    )
    assert response.tool_calls == (ToolCall("call_9", "f", A1, '{"a":1}', extra={"id": "fc_1"}),)
    assert response.diagnostics == ()


def test_b069_each_call_of_gemini_is_one_call() -> None:
    response = read_gemini(
        gemini({"functionCall": {"name": "f", "args": {"c": "A"}}}),
        gemini({"functionCall": {"name": "f", "args": {"c": "B"}}}),
        gemini({"functionCall": {"id": "own", "name": "f", "args": {"c": "C"}}}),
        gemini(finish="STOP"),
    )
    assert calls(response) == [("f", {"c": letter}) for letter in "ABC"]
    assert [found.minted for found in response.tool_calls] == [True, True, False]
    assert len(set(ids(response))) == 3
    assert ids(response)[2] == "own"


def test_b070_arguments_of_gemini_that_come_as_paths() -> None:
    def growing(**leaf: Any) -> bytes:
        return gemini({"functionCall": {"partialArgs": [{"jsonPath": "$.city", **leaf}], "willContinue": True}})

    response = read_gemini(
        gemini({"functionCall": {"name": "w", "willContinue": True}}),
        growing(stringValue="Par", willContinue=True),
        growing(stringValue="is"),
        gemini({"functionCall": {}}),
        gemini(finish="STOP"),
    )
    assert calls(response) == [("w", {"city": "Paris"})]
    assert response.complete


def test_b074_calls_written_as_text_stay_text() -> None:
    response = read(delta(content="<tool_"), delta(content='call>{"name":"f","arguments":{}}</tool_call>'), finish("stop"))
    assert response.text == '<tool_call>{"name":"f","arguments":{}}</tool_call>'
    assert (response.tool_calls, response.finish_reason) == ((), FinishReason.STOP)


def test_b075_text_before_a_call_hides_nothing() -> None:
    response = read(delta(content="\n\n"), call(0, "c1", "f", "{}"), finish("tool_calls"))
    assert (response.text, calls(response)) == ("\n\n", [("f", {})])


def test_b077_a_call_in_the_legacy_form() -> None:
    response = read(
        delta(role="assistant", function_call={"name": "f"}),
        delta(function_call={"arguments": '{"a"'}),
        delta(function_call={"arguments": ":1}"}),
        finish("function_call"),
    )
    assert calls(response) == [("f", A1)]
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "function_call")
    assert response.complete
