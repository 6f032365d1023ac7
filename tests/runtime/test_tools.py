"""Functions as tools: what a model is told of them, what they get, and what it hears of every failure."""

import asyncio
import contextvars
import dataclasses
import datetime
import enum
import json
import math
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, Optional

import msgspec
import pydantic
import pytest

from streamaccumulator import MediaPart, TextPart, ToolCall
from streamaccumulator.runtime import Tool, ToolResult, tool
from streamaccumulator.runtime.tools import by_name


def run(one: Tool | Callable[..., Any], timeout: float | None = None, **arguments: Any) -> ToolResult:
    made = one if isinstance(one, Tool) else tool(one)
    return asyncio.run(made.run(ToolCall("c1", made.spec.name, arguments, json.dumps(arguments)), timeout))


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@dataclasses.dataclass
class Place:
    city: str
    at: tuple[float, float] | None = None


class Model(pydantic.BaseModel):
    size: int


@tool
def weather(place: Place, days: Annotated[int, msgspec.Meta(ge=1, le=7), "how many days"] = 1, unit: Unit = Unit.C) -> str:
    """The weather of a place.

    In short words.
    """
    return f"{place.city} {days} {unit.name}"


def test_a_model_is_told_the_signature() -> None:
    assert weather.spec.name == "weather"
    assert weather.spec.description == "The weather of a place.\n\nIn short words."
    schema = weather.spec.parameters
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    days = schema["properties"]["days"]
    assert days == {"type": "integer", "minimum": 1, "maximum": 7, "default": 1, "description": "how many days"}
    assert schema["properties"]["place"] == {"$ref": "#/$defs/Place"}
    assert set(schema["$defs"]) == {"Place", "Unit"}


def test_it_stays_a_function() -> None:
    assert weather(Place("Oslo"), 2) == "Oslo 2 C"


def test_arguments_are_converted() -> None:
    assert run(weather, place={"city": "Lima", "at": [1, 2.5]}, days=3, unit="fahrenheit") == ToolResult("Lima 3 F")

    def when(day: datetime.date, how: Literal["a", "b"], others: set[int]) -> list[Any]:
        return [day.year, how, sorted(others)]

    assert run(when, day="2026-01-02", how="b", others=[2, 1, 2]).content == '[2026,"b",[1,2]]'


def test_a_pydantic_model_is_an_argument_too() -> None:
    def make(model: Model) -> Model:
        return Model(size=model.size + 1)

    assert run(make, model={"size": 4}) == ToolResult('{"size":5}')
    assert tool(make).spec.parameters["properties"]["model"]["properties"]["size"]["type"] == "integer"
    assert run(make, model={"size": "x"}).is_error


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "at $.place: Object missing required field `place`"),
        ({"place": {"city": 5}}, "at $.place.city: Expected `str`, got `int`"),
        ({"place": {"city": "x"}, "days": 9}, "at $.days: Expected `int` <= 7"),
        ({"place": {"city": "x"}, "day": 1}, "Object contains unknown field `day`"),
    ],
)
def test_arguments_that_do_not_fit_are_told(arguments: dict[str, Any], told: str) -> None:
    result = run(weather, **arguments)
    assert result.is_error
    assert told in str(result.content)


@pytest.mark.parametrize("arguments", [None, [], "text", 5])
def test_arguments_that_are_no_object(arguments: Any) -> None:
    call = ToolCall("c1", "weather", arguments, "...")
    assert asyncio.run(weather.run(call)).is_error


def test_sync_and_async_tools_that_raise() -> None:
    def sync(x: int) -> float:
        return 1 / x

    async def asynchronous(x: int) -> float:
        return 1 / x

    def leaves() -> None:
        raise SystemExit(3)

    assert run(sync, x=0) == run(asynchronous, x=0) == ToolResult("ZeroDivisionError: division by zero", True)
    assert run(sync, x=2) == run(asynchronous, x=2) == ToolResult("0.5")
    assert run(leaves) == ToolResult("RuntimeError: SystemExit(3)", True)


def test_a_timeout_of_the_tools_own_is_no_other() -> None:
    async def fails() -> None:
        raise TimeoutError("the database")

    assert run(fails, timeout=5) == ToolResult("TimeoutError: the database", True)


def test_what_takes_too_long_is_left() -> None:
    release, seen = threading.Event(), threading.Event()

    def sync() -> None:
        release.wait(10)
        seen.set()

    async def asynchronous() -> None:
        await asyncio.sleep(10)

    began = time.monotonic()
    assert run(sync, timeout=0.1) == run(asynchronous, timeout=0.1) == ToolResult("there was no result within 0.1 seconds", True)
    assert run(tool(timeout=0.05)(asynchronous), timeout=9).content == "there was no result within 0.05 seconds"
    assert time.monotonic() - began < 5
    release.set()  # its loop is closed: nobody hears it, and nothing is raised
    assert seen.wait(5)
    for thread in [one for one in threading.enumerate() if one.name == "tool"]:
        thread.join(5)


def test_sync_tools_do_not_hold_up_one_another() -> None:
    both = threading.Barrier(2, timeout=5)

    def meet() -> int:
        return both.wait()

    async def two() -> list[ToolResult]:
        made = tool(meet)
        return list(await asyncio.gather(*[made.run(ToolCall(str(at), "meet")) for at in range(2)]))

    assert sorted(str(result.content) for result in asyncio.run(two())) == ["0", "1"]


def test_context_reaches_a_thread() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

    def ask() -> str:
        return who.get()

    token = who.set("somebody")
    try:
        assert run(ask) == ToolResult("somebody")
    finally:
        who.reset(token)


@pytest.mark.parametrize(
    ("given", "content"),
    [
        (None, "null"),
        ("", ""),
        ({"a": 1}, '{"a":1}'),
        (Place("x"), '{"city":"x","at":null}'),
        ([], "[]"),
        (TextPart("x"), (TextPart("x"),)),
        ([TextPart("x"), MediaPart("image", "image/png", "AA")], (TextPart("x"), MediaPart("image", "image/png", "AA"))),
        (complex(1, 2), '"(1+2j)"'),
    ],
)
def test_what_a_tool_gives(given: Any, content: Any) -> None:
    def give() -> Any:
        return given

    assert run(give) == ToolResult(content)


def test_a_default_is_that_of_the_function() -> None:
    def f(sizes: list[int] = [1, 2], name: str | None = None) -> Any:  # noqa: B006  # such functions are what is tested
        return [sizes, name]

    assert run(f).content == "[[1,2],null]"
    assert tool(f).spec.parameters["required"] == []


class Room(pydantic.BaseModel):
    beds: int = 1
    inner: "Room | None" = None


class House(pydantic.BaseModel):
    rooms: list[Room]


def test_models_within_models_can_be_resolved() -> None:
    """Each reference of the schema names something in it."""

    def build(house: House, attic: Room, others: list[House]) -> str:
        return f"{house.rooms[0].beds} {attic.beds} {len(others)}"

    parameters = tool(build).spec.parameters
    named = set(re.findall('"#/\\$defs/([^"]*)"', json.dumps(parameters)))
    assert named == set(parameters["$defs"])
    assert len(named) == 2
    assert json.dumps(parameters).count("$defs") == 1 + json.dumps(parameters).count("#/$defs/")
    house = {"rooms": [{"beds": 3}]}
    assert run(build, house=house, attic={"inner": {}}, others=[house]) == ToolResult("3 1 1")


def test_a_custom_call_has_its_text_for_the_one_argument() -> None:
    def query(sql: str) -> str:
        return sql.lower()

    def two(a: str, b: str) -> None: ...

    call = ToolCall("c1", "query", "SELECT {", "SELECT {", kind="custom")
    assert asyncio.run(tool(query).run(call)) == ToolResult("select {")
    assert asyncio.run(tool(two).run(call)).is_error


class Point(msgspec.Struct):
    x: int = 1


def test_a_default_of_any_kind() -> None:
    """What is no JSON, or could be changed, is no part of the schema."""
    some, points = object(), [Point(3)]

    def f(
        at: Point = Point(2),
        many: list[Point] = points,
        day: datetime.date = datetime.date(2020, 1, 1),
        any: Any = some,
        most: float = math.inf,
    ) -> Any:
        return [at.x, many[0].x, day, any is some, most > 1]

    assert run(f).content == '[2,3,"2020-01-01",true,true]'
    properties = tool(f).spec.parameters["properties"]
    assert {name: shape.get("default") for name, shape in properties.items()} == {
        "at": None,
        "many": None,
        "day": "2020-01-01",
        "any": None,
        "most": None,
    }


class Weather:
    """Looks out of the window."""

    def __call__(self, city: Annotated[str, "where"], days: int = 1) -> str:
        return f"{city} {days}"

    async def later(self, city: str) -> str:
        """Looks later."""
        return city


def test_whatever_can_be_called_is_a_tool() -> None:
    for one, name, said in (
        (Weather(), "Weather", "Looks out of the window."),
        (Weather().later, "later", "Looks later."),
        (partial(Weather(), days=5), "Weather", "Looks out of the window."),
        (partial(partial(weather.function, unit=Unit.F), Place("x")), "weather", weather.spec.description),
    ):
        made = tool(one)
        assert (made.spec.name, made.spec.description) == (name, said)
    assert tool(Weather()).spec.parameters["properties"]["city"] == {"type": "string", "description": "where"}
    assert tool(partial(Weather(), days=5)).spec.parameters["properties"]["days"]["default"] == 5
    assert run(partial(Weather(), days=5), city="Ulm") == ToolResult("Ulm 5")
    assert run(Weather().later, city="Ulm") == ToolResult("Ulm")


def test_a_tool_may_have_the_name_of_its_arguments_type() -> None:
    def look(at: Point) -> int:
        return at.x

    for name in ("Point", "Point_arguments"):
        parameters = tool(name=name)(look).spec.parameters
        assert parameters["properties"] == {"at": {"$ref": "#/$defs/Point"}}
        assert parameters["$defs"]["Point"]["properties"] == {"x": {"type": "integer", "default": 1}}


def test_descriptions_anywhere_in_a_type() -> None:
    def f(
        a: Annotated[int, "A"] | None,
        b: dict[str, list[Annotated[int, "B"]]],
        c: Annotated[list[Annotated[Literal["x", "y"], "C"]], "D"],
        d: Optional[Annotated[str, "E"]] = None,  # noqa: UP045  # such functions are what is tested
    ) -> None: ...

    properties = tool(f).spec.parameters["properties"]
    assert properties["a"]["anyOf"][0] == {"type": "integer", "description": "A"}
    assert properties["b"]["additionalProperties"]["items"] == {"type": "integer", "description": "B"}
    assert properties["c"] == {"type": "array", "items": {"enum": ["x", "y"], "description": "C"}, "description": "D"}
    assert properties["d"]["anyOf"][0] == {"type": "string", "description": "E"}


def test_what_cannot_be_a_tool() -> None:
    def star(*names: str) -> None: ...

    def positional(x: int, /) -> None: ...

    def keywords(**names: str) -> None: ...

    for function in (star, positional, keywords):
        with pytest.raises(TypeError, match="cannot give by name"):
            tool(function)

    def opaque(x: threading.Thread) -> None: ...

    with pytest.raises(TypeError):
        tool(opaque)


def test_names() -> None:
    named = tool(name="look-up", description="Looks.")(weather.function)
    assert (named.spec.name, named.spec.description) == ("look-up", "Looks.")
    assert list(by_name([weather, named])) == ["weather", "look-up"]
    for unnamed in (lambda: None, partial(lambda x: x, 1)):
        with pytest.raises(ValueError, match="no provider takes '<lambda>'"):
            tool(unnamed)
    with pytest.raises(ValueError, match="two tools"):
        by_name([weather, weather.function])


def test_cancelling_passes_through() -> None:
    async def forever() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        async with asyncio.timeout(0.05):
            await tool(forever).run(ToolCall("c", "forever"))

    with pytest.raises(TimeoutError):
        asyncio.run(main())


@pytest.mark.parametrize("failure", [asyncio.CancelledError("others"), SystemExit(3)])
def test_what_only_a_tool_wants_to_end_ends_nothing_else(failure: BaseException) -> None:
    async def gives_up() -> None:
        raise failure

    def gives_up_in_a_thread() -> None:
        raise failure

    told = run(gives_up)
    assert (told.content, told.is_error) == (f"{type(failure).__name__}: {failure}", True)
    assert run(gives_up_in_a_thread).is_error
