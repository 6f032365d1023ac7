"""Values as types that somebody asked for: validated where they are whole, and as they stand where they still grow.

Types are dataclasses, msgspec Structs, TypedDicts, Pydantic models (by duck typing: `model_validate`, `model_construct`) and
whatever else msgspec converts: https://jcristharif.com/msgspec/supported-types.html
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from ._json import parse
from .errors import JsonProblem, StructuredOutputError

if TYPE_CHECKING:
    from .response import AccumulatedResponse

T = TypeVar("T")


def validated(value: Any, kind: type[T]) -> T:
    """A JSON value as `kind`. Raises StructuredOutputError, which names the field, and TypeError for a type that is none."""
    validate = getattr(kind, "model_validate", None)
    if callable(validate):
        try:
            model: T = validate(value)
        except ValueError as fault:
            raise _of_pydantic(fault, kind) from fault
        return model
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as fault:
        message, _, place = str(fault).partition(" - at `")
        raise StructuredOutputError(name_of(kind), place.rstrip("`") or "$", message) from fault


def of_response(response: "AccumulatedResponse", kind: type[T], tool: str | None) -> T:
    """The structured output of a whole response: see `AccumulatedResponse.parse`."""

    def none(message: str) -> StructuredOutputError:
        return StructuredOutputError(name_of(kind), "$", message)

    if not response.complete:
        raise none(f"the response is not whole: {response.gravest_error or 'it has not ended'}")
    calls = [call for call in response.tool_calls if tool in (None, call.name)]
    if len(calls) == 1:
        return calls[0].parse(kind)
    if calls or tool is not None:
        raise none(f"there are {len(calls)} calls" + (f" to {tool!r}" if tool is not None else ""))
    try:
        value = parse(response.text)
    except JsonProblem as fault:
        if response.refusal:
            raise none(f"the model refused: {response.refusal}") from fault
        raise none(f"the text is no JSON, at byte {fault.offset}: {fault.message}") from fault
    return validated(value, kind)


def _of_pydantic(fault: ValueError, kind: Any) -> StructuredOutputError:
    details = getattr(fault, "errors", None)
    first = details()[0] if callable(details) else {}
    path = "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in first.get("loc", ())])
    return StructuredOutputError(name_of(kind), f"${path}", str(first.get("msg", fault)))


def name_of(kind: Any) -> str:
    """What to call a type."""
    return getattr(kind, "__name__", str(kind))


# ---- Growing: a view of what has come, without validation.


def view(value: Any, kind: Any) -> Any:
    """A growing JSON value in the shape of `kind`: what has not come is its default or None; nothing is checked or converted.

    An object becomes an instance of the class that belongs there (its own `__init__` and validators do not run), a list a list
    of what belongs in it; anything else is as it came.
    """
    kind = _plain(kind)
    if isinstance(value, list):
        return _list(value, kind)
    if not isinstance(value, dict):
        return value
    if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping):
        of = (*get_args(kind), Any, Any)[1]
        return {key: view(item, of) for key, item in value.items()}
    make = _maker(kind) if isinstance(kind, type) else None
    return make(value) if make is not None else value


def _list(value: list[Any], kind: Any) -> Any:
    arguments = get_args(kind)
    origin = get_origin(kind)
    if not (isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset) and arguments):
        return value
    if origin is tuple and Ellipsis not in arguments:
        kinds = [*arguments, *[Any] * len(value)]
        return [view(item, of) for item, of in zip(value, kinds, strict=False)]
    return [view(item, arguments[0]) for item in value]


def _plain(kind: Any) -> Any:
    """The one type in an annotation: without Annotated, and without None beside it. Of several, none is chosen."""
    while get_origin(kind) is typing.Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, types.UnionType):
        others = [one for one in get_args(kind) if one is not type(None)]
        return _plain(others[0]) if len(others) == 1 else Any
    return kind


Maker = Callable[[dict[str, Any]], Any]


@cache
def _maker(kind: type) -> Maker | None:
    """What makes an instance out of an object's members; None for a type that is no class of fields."""
    if isinstance(getattr(kind, "model_fields", None), dict):
        return _of_model(kind)
    if dataclasses.is_dataclass(kind):
        return _of_dataclass(kind)
    if issubclass(kind, msgspec.Struct):
        return _of_struct(kind)
    if typing.is_typeddict(kind):
        hints = get_type_hints(kind)
        return lambda members: {key: view(value, hints.get(key, Any)) for key, value in members.items()}
    return None


def _of_dataclass(kind: Any) -> Maker:
    hints = get_type_hints(kind)

    def make(members: dict[str, Any]) -> Any:
        made = object.__new__(kind)
        for field in dataclasses.fields(kind):
            value = view(members[field.name], hints[field.name]) if field.name in members else _default(field)
            object.__setattr__(made, field.name, value)
        return made

    return make


def _default(field: Any) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _of_struct(kind: type[msgspec.Struct]) -> Maker:
    hints = get_type_hints(kind)
    names = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    # A subclass, as a Struct can be made in no other way than by its `__init__`, which would call `__post_init__`.
    quiet = msgspec.defstruct(
        kind.__name__, [], bases=(kind,), namespace={"__post_init__": lambda self: None}, module=kind.__module__
    )

    def make(members: dict[str, Any]) -> Any:
        given = {field.name: view(members[name], hints[field.name]) for name, field in names.items() if name in members}
        missing = {field.name: None for field in names.values() if field.required and field.name not in given}
        return quiet(**given, **missing)

    return make


def _of_model(kind: Any) -> Maker:
    fields = {info.alias or name: (name, info) for name, info in kind.model_fields.items()}

    def make(members: dict[str, Any]) -> Any:
        given = {name: view(members[key], info.annotation) for key, (name, info) in fields.items() if key in members}
        missing = {name: None for name, info in fields.values() if info.is_required() and name not in given}
        return kind.model_construct(set(given), **missing, **given)

    return make
