"""Reading token counts: where each may stand in a provider's usage object, as a table; the first whole number counts."""

from collections.abc import Mapping
from typing import Any

from ..messages import TokenUsage

Paths = Mapping[str, tuple[tuple[str, ...], ...]]
"""For each field of TokenUsage the paths at which a provider may put it."""


def usage_of(raw: dict[str, Any], paths: Paths, *, input_includes_cache: bool | None) -> TokenUsage:
    """A usage object in our terms; a count that is nowhere is None, never 0."""
    counts: dict[str, Any] = {name: _count_at(raw, places) for name, places in paths.items()}
    return TokenUsage(**counts, input_includes_cache=input_includes_cache, raw=raw)


def _count_at(raw: dict[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    for path in paths:
        value: Any = raw
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal() and len(value) < 20):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
