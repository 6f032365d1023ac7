"""What holds for any sequence of events and any cut of any stream, tried at random."""

import pickle
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import (
    AccumulatedResponse,
    ChatStreamEvent,
    Finish,
    FinishReason,
    InvalidToolCallJson,
    Limits,
    StreamAccumulator,
    TextDelta,
    TokenUsage,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallView,
    Truncated,
    accumulate,
)
from streamaccumulator.events import Deltas, ReasoningDelta, encode_event

from .wire import events_of, fold

TEXT = st.sampled_from(["", "a", "é", "\U0001f980", "\ud83e", "\udd80", "x" * 2000, '{"a":', "1}", "{}", "null", "\0"])
IDS = st.sampled_from(["c1", "c2", "", "call_1", "\ud83e"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
COUNT = st.none() | st.integers(0, 9)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    bool: st.booleans(),
    int: st.integers(0, 3),
    bytes: st.binary(max_size=3),
    str | None: st.none() | TEXT,
    int | None: st.none() | st.integers(0, 3),
    dict[str, Any]: st.dictionaries(TEXT, JSON, max_size=2),
    FinishReason: st.sampled_from(FinishReason),
    TokenUsage: st.builds(TokenUsage, COUNT, COUNT, COUNT, raw=st.dictionaries(TEXT, JSON, max_size=2)),
}


def _events(kind: type[Any]) -> st.SearchStrategy[Any]:
    fields = {field.name: IDS if field.name in ("id", "call") else VALUES[field.type] for field in msgspec.structs.fields(kind)}
    return st.builds(kind, **fields)


KINDS: tuple[type[Any], ...] = ChatStreamEvent.__args__
EVENTS = st.lists(st.sampled_from(KINDS).flatmap(_events), max_size=12)
CALLS = st.lists(
    st.one_of(*[_events(kind) for kind in (TextDelta, ToolCallStart, ToolCallArgumentDelta, ToolCallEnd, Finish)]), max_size=16
)


@given(EVENTS | CALLS)
def test_any_events_give_a_response_that_survives_everything(events: list[ChatStreamEvent]) -> None:
    response = fold(events)
    assert AccumulatedResponse.from_json(response.to_json()) == response
    assert pickle.loads(pickle.dumps(response)) == response
    assert (response.complete is False) or (not response.errors and response.finish_reason is not None)


@given(EVENTS | CALLS)
def test_looking_never_changes_anything(events: list[ChatStreamEvent]) -> None:
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.observe(event)
        snapshot = accumulator.snapshot()
        assert not any(isinstance(error, Truncated) for error in snapshot.errors)
        assert not {call.id for call in snapshot.tool_calls} & set(accumulator.open_calls)
        for id in accumulator.open_calls:
            assert accumulator.tool_call(id).state == "open"
            assert isinstance(accumulator.tool_call(id).arguments_raw, str)
    assert accumulator.finalize(strict=False) == fold(events)


@given(EVENTS)
def test_events_written_as_json_and_read_back_give_an_equal_response(events: list[ChatStreamEvent]) -> None:
    try:
        lines = [encode_event(event) for event in events]
    except UnicodeEncodeError:  # half a character by hand; a decoder never writes one
        return
    read = [msgspec.json.decode(line, type=ChatStreamEvent) for line in lines]
    assert fold(read) == fold(events)


@given(CALLS)
def test_a_call_is_whole_or_told_and_never_both(events: list[ChatStreamEvent]) -> None:
    response = fold(events)
    made = [call.id for call in response.tool_calls]
    told = [error.call_id for error in response.errors if isinstance(error, InvalidToolCallJson)]
    started = {event.id for event in events if isinstance(event, ToolCallStart)}
    assert len(set(made)) == len(made)
    assert not set(made) & set(told)
    assert len(made) + len(told) == len(started)


FILES = sorted((Path(__file__).parent / "captures").glob("*/*.sse"))


@given(st.sampled_from(FILES), st.lists(st.integers(1, 3000), min_size=1, max_size=20))
def test_a_real_stream_cut_anywhere_gives_the_same_events(path: Path, sizes: list[int]) -> None:
    data = path.read_bytes()
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[at : at + size])
        at += size
    assert events_of(pieces) == events_of(data)


@given(st.sampled_from(FILES), st.integers(1, 30_000))
def test_a_real_stream_cut_short_is_a_prefix_and_never_looks_whole(path: Path, end: int) -> None:
    data = path.read_bytes()
    part, whole = accumulate(data[:end], strict=False), accumulate(data, strict=False)
    assert whole.text.startswith(part.text)
    assert all(call in whole.tool_calls for call in part.tool_calls)
    assert part.errors or part.complete
    assert not part.complete or part.raw_finish_reason == whole.raw_finish_reason


@given(EVENTS | CALLS, st.integers(0, 16))
def test_saving_and_loading_changes_nothing(events: list[ChatStreamEvent], at: int) -> None:
    accumulator = StreamAccumulator()
    for event in events[:at]:
        accumulator.observe(event)
    loaded = StreamAccumulator.load(accumulator.dump())
    assert loaded.dump() == accumulator.dump()
    assert loaded.snapshot() == accumulator.snapshot()
    for event in events[at:]:
        loaded.observe(event)
    assert loaded.finalize(strict=False) == fold(events)
    again = StreamAccumulator.load(loaded.dump())
    assert again.finalize(strict=False) == fold(events)
    assert {id: view.state for id, view in _views(again)} == {id: view.state for id, view in _views(loaded)}


def _views(accumulator: StreamAccumulator) -> list[tuple[str, ToolCallView]]:
    ids = [error.call_id for error in accumulator.snapshot().errors if isinstance(error, InvalidToolCallJson)]
    calls = [call.id for call in accumulator.snapshot().tool_calls]
    return [(id, accumulator.tool_call(id)) for id in [*ids, *calls] if "\ufffd" not in id]


PIECES = st.lists(
    st.sampled_from(["a", "{", "}", "[1]", "é", "\U0001f980", "\ud83e", "\udd80", "x" * 300, "", "y" * 2000]),
    min_size=1,
    max_size=50,
)


@st.composite
def _deltas(draw: st.DrawFn) -> Deltas:
    texts = draw(PIECES)
    kind: Any = draw(st.sampled_from([TextDelta, ReasoningDelta, ToolCallArgumentDelta]))
    if kind is not ToolCallArgumentDelta:
        return Deltas(kind, draw(st.none() | st.integers(0, 1)), texts)
    ids = st.sampled_from(["c1", "c2", "c3"])
    return Deltas(kind, draw(ids | st.lists(ids, min_size=len(texts), max_size=len(texts))), texts)


@given(
    st.lists(_deltas() | st.builds(ToolCallEnd, st.sampled_from(["c1", "c2"])), max_size=8),
    st.sampled_from([Limits(), Limits(arguments_bytes=2000), Limits(message_bytes=3000), Limits(arguments_bytes=140_000)]),
)
def test_deltas_are_what_their_events_are_one_by_one(script: list[Any], limits: Limits) -> None:
    together, single = StreamAccumulator(limits=limits), StreamAccumulator(limits=limits)
    for accumulator in (together, single):
        for id in ("c1", "c2"):
            accumulator.observe(ToolCallStart(id, "f"))
    for step in script:
        events = step if isinstance(step, Deltas) else [step]
        together.observe_all(events)
        for event in events:
            single.observe(event)
        assert together.stopped == single.stopped
    assert together.finalize(strict=False) == single.finalize(strict=False)
