"""Structured output: typed once it is whole, and a view of it while it grows, for every kind of type people write."""

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date
from itertools import pairwise
from typing import Any, Generic, NamedTuple, NewType, Optional, TypedDict, TypeVar

import msgspec
import pydantic
import pytest

from streamaccumulator import (
    AsyncChatStream,
    ChatStream,
    ChatStreamEvent,
    Finish,
    FinishReason,
    StructuredOutputError,
    TextDelta,
    ToolCall,
    ToolCallArgumentDelta,
    accumulate,
)
from streamaccumulator.events import encode_event

from .wire import call, delta, finish


class Line(msgspec.Struct):
    name: str
    price: float


class Bill(msgspec.Struct, kw_only=True, rename="camel"):
    bill_number: int
    lines: list[Line]
    due: date | None = None
    paid: bool = False

    def __post_init__(self) -> None:
        if self.bill_number < 0:
            raise ValueError("a bill has a number")


@dataclass(frozen=True, slots=True)
class LineData:
    name: str
    price: float


@dataclass
class BillData:
    billNumber: int  # noqa: N815  # as it is on the wire
    lines: list[LineData]
    due: Optional[date] = None  # noqa: UP045  # people write it so
    paid: bool = False
    notes: dict[str, LineData] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.billNumber < 0:
            raise ValueError("a bill has a number")


class LineDict(TypedDict):
    name: str
    price: float


class BillDict(TypedDict, total=False):
    billNumber: int
    lines: list[LineDict]
    due: date
    paid: bool


class LineModel(pydantic.BaseModel):
    name: str
    price: float


class BillModel(pydantic.BaseModel):
    bill_number: int = pydantic.Field(alias="billNumber", ge=0)
    lines: list[LineModel]
    due: date | None = None
    paid: bool = False


TEXT = '{"billNumber": 7, "lines": [{"name": "tea", "price": 2.5}, {"name": "milk", "price": 1}], "due": "2026-12-24"}'
BAD = '{"billNumber": 7, "lines": [{"name": "tea", "price": 2.5}, {"name": "milk", "price": "much"}]}'
KINDS = [Bill, BillData, BillDict, BillModel]
each_kind = pytest.mark.parametrize("kind", KINDS)


def as_text(text: str, size: int = 1000) -> bytes:
    return b"".join([delta(content=text[at : at + size]) for at in range(0, len(text), size)]) + finish("stop")


def as_call(text: str, size: int = 1000) -> bytes:
    pieces = [call(0, arguments=text[at : at + size]) for at in range(0, len(text), size)]
    return b"".join([call(0, "c1", "bill", ""), *pieces]) + finish("tool_calls")


each_way = pytest.mark.parametrize("way", [as_text, as_call])
Way = Callable[..., bytes]


def plain(value: Any) -> Any:
    """What is in an instance of any of the types, as objects and lists by the names on the wire."""
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json", by_alias=True, warnings=False)
    return json.loads(msgspec.json.encode(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value))


# ---- Whole: validated.


@each_kind
@each_way
def test_a_whole_output_is_of_the_type(kind: Any, way: Way) -> None:
    found = accumulate(way(TEXT)).parse(kind)
    assert kind is BillDict or isinstance(found, kind)
    assert plain(found)["lines"] == [{"name": "tea", "price": 2.5}, {"name": "milk", "price": 1}]
    due = found["due"] if kind is BillDict else found.due
    assert due == date(2026, 12, 24)


@each_kind
@each_way
def test_an_error_names_the_field(kind: Any, way: Way) -> None:
    with pytest.raises(StructuredOutputError) as caught:
        accumulate(way(BAD)).parse(kind)
    assert caught.value.path in ("$.lines[1].price", "$.lines.1.price")
    assert caught.value.type_name == kind.__name__
    assert isinstance(caught.value.__cause__, ValueError)
    assert str(caught.value).startswith(f"no {kind.__name__}, at $.lines[1].price: ")


def test_the_call_of_a_name_is_taken_where_there_are_several() -> None:
    wire = call(0, "c1", "note", '{"a":1}') + call(1, "c2", "bill", TEXT) + finish("tool_calls")
    response = accumulate(wire)
    assert response.parse(Bill, tool="bill").bill_number == 7
    with pytest.raises(StructuredOutputError, match="there are 2 calls"):
        response.parse(Bill)
    with pytest.raises(StructuredOutputError, match="there are 0 calls to 'other'"):
        response.parse(Bill, tool="other")


def test_any_type_that_msgspec_converts_will_do() -> None:
    assert accumulate(as_text("[1, 2]")).parse(list[int]) == [1, 2]
    assert accumulate(as_text('{"1": "a"}')).parse(dict[int, str]) == {1: "a"}
    call_ = ToolCall("c1", "f", {"a": [1]})
    parsed = call_.parse(dict[str, Any])
    parsed["a"].clear()
    assert call_.arguments == {"a": [1]}


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (delta(content=TEXT[:20]), "the response is not whole: .*truncated"),
        (delta(content=TEXT[:20]) + finish("length"), "the text is no JSON, at byte 20: the text ends before the JSON is closed"),
        (as_text("Sure: " + TEXT), "the text is no JSON, at byte 0: 'S' where a value belongs"),
        (delta(refusal="I will not.") + finish("stop"), "the model refused: I will not."),
        (as_text(""), "the text is no JSON"),
    ],
)
def test_what_is_no_output_says_why(wire: bytes, message: str) -> None:
    with pytest.raises(StructuredOutputError, match=f"(?i){message}"):
        accumulate(wire, strict=False).parse(Bill)


# ---- Growing: the shape of it, and no validation.


@each_kind
@each_way
@pytest.mark.parametrize("size", [1, 7])
def test_views_grow_into_the_whole(kind: Any, way: Way, size: int) -> None:
    wire = [way(TEXT, size)]
    with ChatStream(wire) as stream:
        seen = list(stream.partial(kind))
        whole = stream.finalize().parse(kind)
    assert all(isinstance(shown, dict if kind is BillDict else kind) for shown in seen)
    assert plain(seen[-1]) == plain(whole)
    names = [[line.get("name") for line in plain(shown).get("lines") or []] for shown in seen]
    for before, after in pairwise(names):
        assert len(before) <= len(after)
        assert all(str(later or "").startswith(earlier or "") for earlier, later in zip(before, after, strict=False))

    async def read() -> list[Any]:
        async with AsyncChatStream(wire) as stream:
            return [shown async for shown in stream.partial(kind)]

    assert [plain(shown) for shown in asyncio.run(read())] == [plain(shown) for shown in seen]


def first(kind: Any, text: str, **options: Any) -> Any:
    with ChatStream([delta(content=text)]) as stream:
        return next(stream.partial(kind, **options))


@pytest.mark.parametrize("kind", [Bill, BillData, BillModel])
def test_what_has_not_come_is_its_default_or_none(kind: Any) -> None:
    shown = first(kind, '{"lines": [{"na')
    number = shown.billNumber if kind is BillData else shown.bill_number
    assert (number, shown.due, shown.paid) == (None, None, False)
    (line,) = shown.lines
    assert (line.name, line.price) == (None, None)


@pytest.mark.parametrize("kind", [Bill, BillData, BillModel])
def test_nothing_is_checked_while_it_grows(kind: Any) -> None:
    shown = first(kind, '{"billNumber": -1, "lines": "none", "due": "soon", "unknown": 1')
    assert (shown.lines, shown.due) == ("none", "soon")


def test_a_view_knows_its_nested_types_and_leaves_the_rest() -> None:
    class Mixed(TypedDict):
        by_name: dict[str, LineData]
        either: LineData | LineModel
        pair: tuple[LineData, int]
        many: tuple[LineData, ...]
        anything: list[Any]

    shown = first(
        Mixed,
        '{"by_name": {"a": {"name": "x"}}, "either": {"name": "x"}, "pair": [{"name": "x"}, 1], '
        '"many": [{"name": "x"}], "anything": [{}], "more": {}',
    )
    line = LineData.__new__(LineData)
    object.__setattr__(line, "name", "x")
    object.__setattr__(line, "price", None)
    assert shown["by_name"] == {"a": line}
    assert shown["pair"] == [line, 1]
    assert shown["many"] == [line]
    assert (shown["either"], shown["anything"], shown["more"]) == ({"name": "x"}, [{}], {})


def test_views_come_only_where_something_grew_and_of_the_one_output() -> None:
    wire = [
        delta(content="Here it is:"),
        call(0, "c1", "note", '{"a":"x"}'),
        call(1, "c2", "bill", '{"paid":true'),
        call(1, arguments=" "),
        call(1, arguments=","),
        call(1, arguments='"due":"2026'),
        call(1, arguments='-12-24"}'),
        finish("tool_calls"),
    ]
    with ChatStream(wire) as stream:
        assert [(shown.paid, shown.due) for shown in stream.partial(Bill, tool="bill")] == [
            (True, None),
            (True, "2026"),
            (True, "2026-12-24"),
        ]
    with ChatStream([delta(content="no JSON"), finish("stop")]) as stream:
        assert list(stream.partial(Bill)) == []


T = TypeVar("T")


class Box(msgspec.Struct, Generic[T]):
    content: T


def test_a_generic_type_is_validated() -> None:
    assert accumulate(as_text('{"content": 1}')).parse(Box[int]).content == 1


# ---- Types of other libraries within one another, strictness, and where a fault is.


@pydantic.dataclasses.dataclass
class Checked:
    n: int = pydantic.Field(gt=0)
    names: list[str] = pydantic.Field(default_factory=list)
    said: str = pydantic.Field(default="d", alias="Said")


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    when: date
    pair: tuple[int, int]


class HasModels(msgspec.Struct):
    lines: list[LineModel]
    by_name: dict[str, LineModel] = {}
    best: LineModel | None = None


@dataclass
class DataWithModels:
    lines: list[LineModel]


def test_a_dataclass_of_pydantic_is_validated_as_one() -> None:
    assert accumulate(as_text('{"n": 1, "Said": "x"}')).parse(Checked) == Checked(n=1, Said="x")
    with pytest.raises(StructuredOutputError, match=r"at \$\.n: "):
        accumulate(as_text('{"n": -1}')).parse(Checked)
    shown = first(Checked, '{"n": -1, "Said": "so fa')
    assert (shown.n, shown.names, shown.said) == (-1, [], "so fa")


def test_a_strict_model_reads_json_as_json() -> None:
    assert accumulate(as_text('{"when": "2024-01-01", "pair": [1, 2]}')).parse(Strict).when == date(2024, 1, 1)


@pytest.mark.parametrize(
    ("kind", "text", "path"),
    [
        (list[LineModel], '[{"name": "tea", "price": "x"}]', "$[0].price"),
        (LineModel | None, '{"name": "tea", "price": "x"}', "$.price"),
        (LineModel | LineData, '{"name": "tea"}', None),
        (HasModels, '{"lines": [{"name": "tea", "price": "x"}]}', "$.lines[0].price"),
        (DataWithModels, '{"lines": [{"name": "tea", "price": "x"}]}', "$.lines[0].price"),
        (dict[str, LineModel], '{"a.b": {"name": "tea", "price": "x"}}', "$['a.b'].price"),
        (Line, '{"name": "tea"}', "$.price"),
        (LineModel, '{"name": "tea"}', "$.price"),
    ],
)
def test_models_stand_anywhere_and_the_fault_is_named_there(kind: Any, text: str, path: str | None) -> None:
    right = text.replace('"x"', "1").replace('"tea"}', '"tea", "price": 1}')
    assert accumulate(as_text(right)).parse(kind) is not None
    with pytest.raises(StructuredOutputError) as caught:
        accumulate(as_text(text)).parse(kind)
    assert path is None or caught.value.path == path


def test_a_dataclass_of_pydantic_within_a_struct_is_refused_rather_than_left_unchecked() -> None:
    class Mixed(msgspec.Struct):
        one: Checked

    with pytest.raises(TypeError, match="nobody would validate"):
        accumulate(as_text("{}")).parse(Mixed)


class Quoting(msgspec.Struct):
    said: str

    def __post_init__(self) -> None:
        raise ValueError(self.said)


class Within(msgspec.Struct):
    one: Quoting


def test_no_output_can_forge_the_path() -> None:
    for kind, text, path in (
        (Quoting, '{"said": "z - at `$.hacked`"}', "$"),
        (Within, '{"one": {"said": "z - at `$.hacked`"}}', "$.one"),
    ):
        with pytest.raises(StructuredOutputError) as caught:
            accumulate(as_text(text)).parse(kind)
        assert (caught.value.path, caught.value.message) == (path, "z - at `$.hacked`")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_number_that_may_go_on_is_no_output(reason: str) -> None:
    response = accumulate(delta(content="12") + finish(reason))
    with pytest.raises(StructuredOutputError, match="may have gone on"):
        response.parse(int)
    assert accumulate(as_text("12")).parse(int) == 12
    assert accumulate(delta(content="[12]") + finish(reason)).parse(list[int]) == [12]


# ---- Views, beyond the plain.


def test_views_may_begin_in_the_middle_of_a_stream() -> None:
    wire = [delta(content='{"done":'), delta(content=' {"done": true}}'), finish("stop")]
    with ChatStream(wire) as stream:
        next(event for event in stream if type(event).__name__ == "TextDelta")
        assert list(stream.partial(dict)) == [{"done": {"done": True}}]
    lines = [delta(content='[{"a": "x"}, '), delta(content='{"a": "y"}'), delta(content="]"), finish("stop")]
    begun = ChatStream(lines[:1])
    next(begun.partial(list))
    assert list(ChatStream.load(begun.dump(), lines[1:]).partial(list))[-1] == [{"a": "x"}, {"a": "y"}]
    calls = [call(0, "c1", "f", '{"a":'), call(0, arguments="[1"), call(0, arguments=",2]}"), finish("tool_calls")]
    with ChatStream(calls) as stream:
        next(event for event in stream if type(event).__name__ == "ToolCallArgumentDelta")
        assert list(stream.partial(dict))[-1] == {"a": [1, 2]}


def test_a_bare_number_is_shown_when_it_is_sure() -> None:
    with ChatStream([delta(content="1"), delta(content="2"), finish("stop")]) as stream:
        assert list(stream.partial(int)) == [12]


def test_an_event_of_a_call_that_never_started_shows_nothing() -> None:
    events: list[ChatStreamEvent] = [ToolCallArgumentDelta("nope", "{}"), TextDelta('{"a":1}'), Finish(FinishReason.STOP, "stop")]
    with ChatStream([encode_event(event) + b"\n" for event in events], "events") as stream:
        assert list(stream.partial(dict)) == [{"a": 1}]


def test_a_call_named_late_is_shown_from_then_on() -> None:
    wire = [call(0, "c1", None, '{"a":1,'), call(0, None, "bill", '"b":2}'), finish("tool_calls")]
    with ChatStream(wire) as stream:
        assert list(stream.partial(dict, tool="bill"))[-1] == {"a": 1, "b": 2}


new_type: Callable[..., Any] = NewType  # mypy 2.4 fails inside on a NewType of a Struct


class Pair(NamedTuple):
    left: Line
    right: int


class Row(msgspec.Struct, array_like=True):
    line: Line
    n: int


class Lines(pydantic.RootModel[list[LineModel]]):
    pass


class ByName(pydantic.RootModel[dict[str, LineModel]]):
    pass


class Aliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", populate_by_name=True)
    a: str = pydantic.Field(validation_alias=pydantic.AliasChoices("x", "y"))
    b: str = "b"


@dataclass
class GenericData(Generic[T]):
    items: list[T]


class UnsetLines(msgspec.Struct):
    lines: list[Line] | msgspec.UnsetType = msgspec.UNSET


class Kinds(TypedDict):
    box: Box[Line]
    many: GenericData[Line]
    pair: Pair
    row: Row
    lines: Lines
    by_name: ByName
    unset: UnsetLines
    some: Collection[Line]


def test_a_view_knows_every_way_to_name_a_type() -> None:
    line = '{"name": "x"}'
    shown = first(
        Kinds,
        f'{{"box": {{"content": {line}}}, "many": {{"items": [{line}]}}, "pair": [{line}], "row": [{line}, 1], '
        f'"lines": [{line}], "by_name": {{"k": {line}}}, "unset": {{"lines": [{line}]}}, "some": [{line}], ',
    )
    found = [
        shown["box"].content,
        shown["many"].items[0],
        first(new_type("Name", Line), line),
        shown["pair"].left,
        shown["row"].line,
        shown["unset"].lines[0],
        shown["some"][0],
    ]
    assert [(type(one), one.name, one.price) for one in found] == [(Line, "x", None)] * len(found)
    assert (type(shown["box"]), type(shown["pair"]), shown["pair"].right, type(shown["row"])) == (Box, Pair, None, Row)
    assert isinstance(shown["lines"].root[0], LineModel)
    assert isinstance(shown["by_name"].root["k"], LineModel)
    for text in ('{"x": "1", "other": 2}', '{"y": "1", "other": 2}', '{"a": "1", "other": 2}'):
        model = first(Aliased, text)
        assert (model.a, model.b, model.__pydantic_extra__, model.model_fields_set) == ("1", "b", {"other": 2}, {"a"})


def test_a_view_runs_nothing_of_the_class() -> None:
    class Watchful(pydantic.BaseModel):
        a: str
        b: int

        def model_post_init(self, context: Any, /) -> None:
            raise AssertionError("not to be called")

    assert first(Watchful, '{"a": "x"').a == "x"


def test_the_last_view_is_equal_to_the_output() -> None:
    for kind in (Line, LineData, LineModel):
        with ChatStream([as_text('{"name": "tea", "price": 2.5}', 4)]) as stream:
            seen = list(stream.partial(kind))
            assert (type(seen[-1]), seen[-1]) == (kind, stream.finalize().parse(kind))


def test_the_views_of_what_has_ended_are_made_once() -> None:
    wire = [delta(content=piece) for piece in ('[{"name": "a"}', ', {"name": "b"}', ', {"name": "c"')]
    with ChatStream(wire) as stream:
        seen = list(stream.partial(list[Line]))
    assert [len(one) for one in seen] == [1, 2, 3]
    assert seen[0][0] is seen[1][0] is seen[2][0]
