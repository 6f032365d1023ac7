"""Looking into a payload that is not typed: what is there if it is of the kind asked for, else nothing."""

from collections.abc import Mapping
from typing import Any


def text_at(raw: Mapping[str, Any], key: str) -> str | None:
    """The text under a key; None if it is no text, or empty."""
    value = raw.get(key)
    return value if isinstance(value, str) and value else None


def object_at(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; an empty one if it is none."""
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def list_at(raw: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key; an empty one if it is none."""
    value = raw.get(key)
    return value if isinstance(value, list) else []


def objects_at(raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects in the list under a key."""
    return [item for item in list_at(raw, key) if isinstance(item, Mapping)]
