"""Structured output: typed once it is whole, and a view of it while it grows, for every kind of type people write."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date
from itertools import pairwise
from typing import Any, Generic, Optional, TypedDict, TypeVar

import msgspec
import pydantic
import pytest

from streamaccumulator import AsyncChatStream, ChatStream, StructuredOutputError, ToolCall, accumulate

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
