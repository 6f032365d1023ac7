"""Building a wire struct from a payload that does not fit its types: the one path for surprises.

A field that fits is kept; a number for a string, and the like, is converted where nothing is lost; anything else
takes the field's default and is told with its path. Below this no decoder ever meets a surprise.
"""

import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

S = TypeVar("S", bound=msgspec.Struct)
Tell = Callable[[str, str], None]
"""Called with the path of a field and what was met there."""

_UNFIT = object()


def lenient(value: Mapping[str, Any], kind: type[S], tell: Tell, path: str = "$") -> S:
    """The struct of type `kind` that holds whatever of `value` fits it; `tell` hears of the rest."""
    fitting = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in value:
            fitted = _fit(value[field.encode_name], field.type, tell, f"{path}.{field.encode_name}")
            if fitted is not _UNFIT:
                fitting[field.name] = fitted
    return kind(**fitting)


def _fit(value: Any, kind: Any, tell: Tell, path: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError):
        pass
    for option in get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,):
        fitted = _fit_one(value, option, tell, path)
        if fitted is not _UNFIT:
            return fitted
    tell(path, f"{type(value).__name__} where {_name(kind)} belongs")
    return _UNFIT


def _fit_one(value: Any, kind: Any, tell: Tell, path: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return lenient(value, kind, tell, path) if isinstance(value, Mapping) else _UNFIT
    if get_origin(kind) is list and isinstance(value, list):
        (item_kind,) = get_args(kind)
        items = [_fit(item, item_kind, tell, f"{path}[{at}]") for at, item in enumerate(value)]
        return [item for item in items if item is not _UNFIT]
    if (kind is str and isinstance(value, str)) or (get_origin(kind) is dict and isinstance(value, dict)):
        return value  # refused for half a character in it, which the surrogate stage will mend
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        tell(path, "a number where a string belongs; converted")
        return msgspec.json.encode(value).decode()
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is int and isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20:
        tell(path, "a string where a number belongs; converted")
        return int(value)
    return _UNFIT


def _name(kind: Any) -> str:
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return " or ".join([getattr(option, "__name__", str(option)) for option in options if option is not types.NoneType])
