"""A value that still grows in the shape of a type that somebody asked for: nothing is checked, converted or guessed.

An object becomes an instance of the class that belongs there, made without its `__init__` and validators, a list a list of what
belongs in it; anything else is as it came. What has not come is its default or None.
"""

import collections.abc
import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from ._typed import is_pydantic, remembered

Make = Callable[[Any, Any], Any]
"""Gives the view of a value as a type."""
Maker = Callable[[dict[str, Any], Make], Any]
"""Makes an instance out of an object's members, each seen by Make."""


class Views:
    """The views of one value, one after the other. What has ended in it is the same object each time, and so is its view."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Any, Any, Any]] = {}
        self._before = self._seen

    def of(self, value: Any, kind: Any) -> Any:
        """The newest value, as `kind`."""
        self._before, self._seen = self._seen, {}
        return self._view(value, kind)

    def _view(self, value: Any, kind: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        known = self._before.get(id(value))
        if known is None or known[0] is not value or known[1] is not kind:
            known = (value, kind, self._made(value, _plain(kind)))
        self._seen[id(value)] = known
        return known[2]

    def _made(self, value: Any, kind: Any) -> Any:
        make = _maker(kind)
        if make is not None and getattr(get_origin(kind) or kind, "__pydantic_root_model__", False):
            return make({"root": value}, self._view)
        if isinstance(value, list):
            return self._list(value, kind)
        if make is not None:
            return make(value, self._view)
        if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping):
            of = (*get_args(kind), Any, Any)[1]
            return {key: self._view(item, of) for key, item in value.items()}
        return value

    def _list(self, value: list[Any], kind: Any) -> Any:
        origin, arguments = get_origin(kind), get_args(kind)
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            shown = self._each(value, get_type_hints(kind).values())
            return tuple.__new__(kind, [*shown, *[None] * (len(kind._fields) - len(shown))])
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__struct_config__.array_like:
            names = [field.encode_name for field in msgspec.structs.fields(kind)]
            made = _maker(kind)
            return made(dict(zip(names, value, strict=False)), self._view) if made is not None else value
        if not (isinstance(origin, type) and issubclass(origin, collections.abc.Iterable) and arguments):
            return value
        if origin is tuple and Ellipsis not in arguments:
            return self._each(value, arguments)
        return [self._view(item, arguments[0]) for item in value]

    def _each(self, value: list[Any], kinds: Iterable[Any]) -> list[Any]:
        return [self._view(item, of) for item, of in zip(value, [*kinds, *[Any] * len(value)], strict=False)]


def _plain(kind: Any) -> Any:
    """The one type in an annotation: without Annotated, NewType, and None or UNSET beside it. Of several, none is chosen."""
    while (inner := getattr(kind, "__supertype__", getattr(kind, "__value__", None))) is not None:
        kind = inner
    if get_origin(kind) is typing.Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        others = [one for one in get_args(kind) if one not in (type(None), msgspec.UnsetType)]
        return _plain(others[0]) if len(others) == 1 else Any
    return kind


@remembered
def _maker(kind: Any) -> Maker | None:
    """What makes an instance; None for a type that is no class of fields. Of a generic class with its parameters filled in."""
    of = get_origin(kind) or kind
    if not isinstance(of, type):
        return None
    if is_pydantic(of):
        return _of_pydantic(of if of is kind else kind)
    if typing.is_typeddict(of):
        hints = _hints(kind)
        return lambda members, view: {key: view(value, hints.get(key, Any)) for key, value in members.items()}
    if dataclasses.is_dataclass(of):
        return _of_dataclass(kind)
    return _of_struct(kind) if issubclass(of, msgspec.Struct) else None


def _hints(kind: Any) -> dict[str, Any]:
    """The types of a class's fields; where it is generic, of the parameters it was given."""
    of = get_origin(kind) or kind
    given: dict[Any, Any] = dict(zip(getattr(of, "__parameters__", ()), get_args(kind), strict=False))
    return {name: _filled(hint, given) for name, hint in get_type_hints(of).items()}


def _filled(hint: Any, given: dict[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return given.get(hint, Any)
    open_ones = getattr(hint, "__parameters__", ())
    return hint[tuple([given.get(one, Any) for one in open_ones])] if open_ones and not isinstance(hint, type) else hint


def _of_dataclass(kind: Any) -> Maker:
    hints, of = _hints(kind), get_origin(kind) or kind
    fields = dataclasses.fields(of)

    def make(members: dict[str, Any], view: Make) -> Any:
        made = object.__new__(of)
        for field in fields:
            value = view(members[field.name], hints[field.name]) if field.name in members else _default(field)
            object.__setattr__(made, field.name, value)
        return made

    return make


def _default(field: Any) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _of_struct(kind: Any) -> Maker:
    hints, of = _hints(kind), get_origin(kind) or kind
    names = {field.encode_name: field for field in msgspec.structs.fields(of)}
    shown = of
    if hasattr(of, "__post_init__"):  # a Struct can be made only by its `__init__`, which calls it
        shown = msgspec.defstruct(
            of.__name__, [], bases=(of,), namespace={"__post_init__": lambda self: None}, module=of.__module__
        )

    def make(members: dict[str, Any], view: Make) -> Any:
        given = {field.name: view(members[name], hints[field.name]) for name, field in names.items() if name in members}
        missing = {field.name: None for field in names.values() if field.required and field.name not in given}
        return shown(**given, **missing)

    return make


def _of_pydantic(kind: Any) -> Maker:
    """A model or dataclass of Pydantic's, set up as its own `model_construct` does it, without what that runs."""
    fields = kind.__pydantic_fields__
    by_key = {key: (name, info) for name, info in fields.items() for key in _keys_of(kind, name, info)}
    is_model = hasattr(kind, "model_fields")
    keeps_others = is_model and kind.model_config.get("extra") == "allow"

    def make(members: dict[str, Any], view: Make) -> Any:
        given = {by_key[key][0]: view(value, by_key[key][1].annotation) for key, value in members.items() if key in by_key}
        missing = {
            name: None if info.is_required() else info.get_default(call_default_factory=True, validated_data=given)
            for name, info in fields.items()
            if name not in given
        }
        made = object.__new__(kind)
        object.__setattr__(made, "__dict__", {name: {**missing, **given}[name] for name in fields})
        if is_model:
            others = {key: value for key, value in members.items() if key not in by_key} if keeps_others else None
            object.__setattr__(made, "__pydantic_fields_set__", set(given))
            object.__setattr__(made, "__pydantic_extra__", others)
            object.__setattr__(made, "__pydantic_private__", None)
        return made

    return make


def _keys_of(kind: Any, name: str, info: Any) -> Collection[str]:
    """The keys under which a field may come."""
    alias = info.validation_alias if info.validation_alias is not None else info.alias
    if alias is None:
        return (name,)
    config = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", {})
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    keys = [one for one in getattr(alias, "choices", [alias]) if isinstance(one, str)]
    return (*keys, name) if by_name else keys
