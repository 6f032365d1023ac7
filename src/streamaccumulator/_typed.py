"""Values as types that somebody asked for, validated.

Types are dataclasses, msgspec Structs, TypedDicts, Pydantic models and dataclasses (by duck typing: no import of Pydantic is made
here), and whatever else msgspec converts: https://jcristharif.com/msgspec/supported-types.html
"""

import dataclasses
import re
import sys
import typing
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from ._json import parse, to_bytes
from .errors import JsonProblem, StructuredOutputError
from .messages import FinishReason

if TYPE_CHECKING:
    from .response import AccumulatedResponse

T = TypeVar("T")
R = TypeVar("R")

_PLACE = re.compile(r" - at `([^`]*)`\Z")
_MISSING = re.compile(r"Object missing required field `([^`]*)`\Z")


def validated(value: Any, kind: type[T]) -> T:
    """A JSON value as `kind`. Raises StructuredOutputError, which names the field, and TypeError for a type that is none."""
    validate = _validator_of(kind)
    try:
        checked: T = (
            validate(value) if validate is not None else msgspec.convert(value, kind, str_keys=True, dec_hook=_model_within)
        )
    except msgspec.ValidationError as fault:
        raise _of_msgspec(fault, kind) from fault
    except ValueError as fault:
        path, message = _first_of(fault)
        raise StructuredOutputError(name_of(kind), f"${path}", message) from fault
    return checked


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
    bounded = response.finish_reason in (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)
    if bounded and isinstance(value, int | float) and not isinstance(value, bool):
        raise none(f"the model was stopped ({response.raw_finish_reason}) where the number may have gone on")
    return validated(value, kind)


def name_of(kind: Any) -> str:
    """What to call a type."""
    return getattr(kind, "__name__", str(kind))


# ---- Which validator a type has.


def remembered(of: Callable[[Any], R]) -> Callable[[Any], R]:
    """A function of a type, asked once for each of those used last; of an annotation that has no hash, each time."""
    kept = lru_cache(maxsize=256)(of)

    def ask(kind: Any) -> R:
        try:
            hash(kind)
        except TypeError:
            return of(kind)
        return kept(kind)

    return ask


def is_pydantic(kind: Any) -> bool:
    """Whether a type is a model or a dataclass of Pydantic's."""
    return isinstance(kind, type) and hasattr(kind, "__pydantic_validator__")


@remembered
def _validator_of(kind: Any) -> Callable[[Any], Any] | None:
    """What validates a type that is not msgspec's alone: as JSON where that can be, as strict models take other things only so."""
    of_json = getattr(kind, "model_validate_json", None)
    if callable(of_json):
        return lambda value: of_json(to_bytes(value))
    of_value = getattr(kind, "model_validate", None)
    if callable(of_value):
        return of_value  # type: ignore[no-any-return]  # whatever has a method of this name is taken at its word
    within = list(_kinds_within(kind, set()))
    if not any(is_pydantic(one) for one in within):
        return None
    if any(issubclass(one, msgspec.Struct) for one in within):
        if any(is_pydantic(one) and dataclasses.is_dataclass(one) for one in within):
            raise TypeError(f"{name_of(kind)} has a dataclass of Pydantic's within a Struct, which nobody would validate")
        return None  # msgspec's, with the models within it
    adapter = sys.modules["pydantic"].TypeAdapter(kind)
    return lambda value: adapter.validate_json(to_bytes(value))


def _kinds_within(kind: Any, seen: set[Any]) -> Iterator[type]:
    """All classes that an annotation names, and those of their fields."""
    for one in get_args(kind):
        yield from _kinds_within(one, seen)
    kind = get_origin(kind) or kind
    if not isinstance(kind, type) or kind in seen:
        return
    seen.add(kind)
    yield kind
    has_fields = dataclasses.is_dataclass(kind) or typing.is_typeddict(kind) or issubclass(kind, msgspec.Struct)
    if has_fields and not is_pydantic(kind):
        for hint in get_type_hints(kind).values():
            yield from _kinds_within(hint, seen)


def _model_within(kind: type, value: Any) -> Any:
    """A model within a type of msgspec's."""
    validate = _validator_of(kind)
    if validate is None:
        raise TypeError(f"{kind.__name__} is no type that can be asked for")
    return validate(value)


# ---- Where a fault is.


def _of_msgspec(fault: msgspec.ValidationError, kind: Any) -> StructuredOutputError:
    """What msgspec tells in words: the fault, then its place. What a class of the caller's raised stands before, as it is."""
    text, cause = str(fault), fault.__cause__
    said = str(cause) if cause is not None else ""
    place = _PLACE.search(text, len(said)) if text.startswith(said) else None
    path, message = (place[1] if place is not None else "$"), text[: place.start() if place is not None else None]
    if isinstance(cause, ValueError):
        inner, message = _first_of(cause)
        path += inner
    elif cause is None and (missing := _MISSING.match(message)) is not None:
        path += _step(missing[1])
    return StructuredOutputError(name_of(kind), path, message)


def _first_of(fault: ValueError) -> tuple[str, str]:
    """The path and the message of a model's first fault; of any other error its text."""
    details = getattr(fault, "errors", None)
    first = details()[0] if callable(details) else {}
    return "".join([_step(step) for step in first.get("loc", ())]), str(first.get("msg", fault))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{step!r}]"
