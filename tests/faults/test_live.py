"""Known faults of other libraries: arguments looked at while they arrive."""

from typing import Any

import pytest

from streamaccumulator import ChatStream, FinishReason, JsonGrowth, StreamAccumulator, ToolCallArgumentDelta, ToolCallView
from streamaccumulator.partial_json import PartialJson

from ..wire import call, cuts, events_of, finish
from .shapes import bad_call


def view_after(*arguments: str) -> ToolCallView:
    """The view of one call that has these arguments so far."""
    accumulator = StreamAccumulator()
    wire = b"".join([call(0, "c1", "f", ""), *[call(0, arguments=piece) for piece in arguments]])
    for event in events_of([wire]):
        if type(event).__name__ not in ("ToolCallEnd", "Finish"):
            accumulator.observe(event)
    return accumulator.tool_call("c1")


def live(*arguments: str) -> Any:
    return view_after(*arguments).arguments


def test_b062_a_cut_call_is_shown_only_where_it_is_asked_for() -> None:
    with ChatStream([call(0, "c1", "write", '{"path":"a.md"'), finish("length")]) as stream:
        response = stream.finalize(strict=False)
        assert (response.finish_reason, response.tool_calls, bad_call(response).cause) == (FinishReason.LENGTH, (), "cut")
        view = stream.tool_call("c1")
    assert (view.state, view.arguments) == ("cut", {"path": "a.md"})


@pytest.mark.parametrize(
    ("id", "so_far", "shown"),
    [
        ("B134", '{"k":"str\\', {"k": "str"}),
        ("B134", '{"k":"str\\u00', {"k": "str"}),
        ("B134", '{"k":"has \\"q', {"k": 'has "q'}),
        ("B135", '{"f":1.', {}),
        ("B135", '{"a":[1, 2', {"a": [1]}),
        ("B135", '{"n":12', {}),
        ("B137", '{"a":"hel', {"a": "hel"}),
        ("B137", '{"o":{"i":"wor', {"o": {"i": "wor"}}),
        ("B137", '{"l":["x","y', {"l": ["x", "y"]}),
        ("B140", '{"e":"\\ud83e', {"e": ""}),
        ("B142", '{"id":2512292042121000001,', {"id": 2512292042121000001}),
        ("B167", '{"city":"N', {"city": "N"}),
    ],
)
def test_what_is_shown_of_open_arguments(id: str, so_far: str, shown: object) -> None:
    assert live(so_far) == live(*so_far) == shown


def test_b135_earlier_members_never_vanish_and_the_last_number_is_exact_at_the_end() -> None:
    text = '{"a":[1,2.5],"n":12345678901234567890,"b":[true,{"x":-1e2}]}'
    seen: list[Any] = []
    with ChatStream([call(0, "c1", "f", ""), *[call(0, arguments=letter) for letter in text], finish("tool_calls")]) as stream:
        for event in stream:
            if isinstance(event, ToolCallArgumentDelta):
                seen.append(stream.tool_call("c1").arguments or {})
        final = stream.finalize().tool_calls[0].arguments
    assert final == {"a": [1, 2.5], "n": 12345678901234567890, "b": [True, {"x": -100.0}]}
    for before, after in zip(seen, [*seen[1:], final], strict=True):
        assert list(before) == list(after)[: len(before)]
        assert [after[key] for key in list(before)[:-1]] == [before[key] for key in list(before)[:-1]]


def test_b140_the_second_half_makes_the_character() -> None:
    assert live('{"e":"\\ud83e', '\\udd80"}') == {"e": "\U0001f980"}


def test_b146_looking_after_every_delta_reads_each_letter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = 0
    feed = PartialJson.feed

    def counted(self: PartialJson, text: str) -> None:
        nonlocal fed
        fed += len(text)
        feed(self, text)

    monkeypatch.setattr(PartialJson, "feed", counted)
    raw = '{"text":"' + "x" * 100_000 + '"}'
    grown = 0
    pieces = [call(0, arguments=piece.decode()) for piece in cuts(raw.encode(), 20)]
    with ChatStream([call(0, "c1", "f", ""), *pieces, finish("tool_calls")]) as stream:
        for event in stream:
            if isinstance(event, ToolCallArgumentDelta):
                view = stream.tool_call("c1")
                grown += sum([len(growth.added) for growth in view.growth() if growth.path == ("text",)])
        assert stream.tool_call("c1").state == "ready"
    assert (fed, grown) == (len(raw), 100_000)


def test_b146_who_does_not_look_pays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartialJson, "feed", lambda self, text: pytest.fail("read, though nobody looked"))
    with ChatStream([call(0, "c1", "f", '{"a":'), call(0, arguments="1}"), finish("tool_calls")]) as stream:
        assert [stream.tool_call("c1").arguments_raw for event in stream if isinstance(event, ToolCallArgumentDelta)] == [
            '{"a":',
            '{"a":1}',
        ]
        assert stream.tool_call("c1").arguments == {"a": 1}


def test_b167_arguments_grow_in_sight() -> None:
    wire = [call(0, "c1", "f", '{"city":"N'), call(0, arguments='ew"}'), finish("tool_calls")]
    with ChatStream(wire) as stream:
        seen = [
            (stream.tool_call("c1").arguments, stream.tool_call("c1").growth())
            for event in stream
            if isinstance(event, ToolCallArgumentDelta)
        ]
        assert stream.finalize().tool_calls[0].arguments == {"city": "New"}
    assert seen == [
        ({"city": "N"}, (JsonGrowth((), {}, True), JsonGrowth(("city",), "N", True))),
        ({"city": "New"}, (JsonGrowth(("city",), "ew", False),)),
    ]
