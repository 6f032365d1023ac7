"""Reading token counts: where each may stand in a provider's usage object, as a table; the first whole number counts."""

from collections.abc import Mapping
from typing import Any

from ..messages import TokenUsage

Paths = Mapping[str, tuple[tuple[str, ...], ...]]
"""For each field of TokenUsage the paths at which a provider may put it."""


def usage_of(
    raw: dict[str, Any], paths: Paths, *, input_includes_cache: bool | None, output_includes_reasoning: bool | None = None
) -> TokenUsage:
    """A usage object in our terms; a count that is nowhere is None, never 0.

    The last two say how the provider counts. Look-alikes count reasoning in their own ways: where there is a sum, that decides.
    """
    counts: dict[str, Any] = {name: _count_at(raw, places) for name, places in paths.items()}
    counted = _sum_includes_reasoning(**counts)
    if counted is not None:
        output_includes_reasoning = counted
    return TokenUsage(
        **counts, input_includes_cache=input_includes_cache, output_includes_reasoning=output_includes_reasoning, raw=raw
    )


def _sum_includes_reasoning(
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    total_tokens: int | None = None,
    reasoning_tokens: int | None = None,
    **others: int | None,
) -> bool | None:
    """Whether the total says that reasoning is in the output (True) or beside it; None if it says nothing."""
    if input_tokens is None or output_tokens is None or not reasoning_tokens:
        return None
    sums = {input_tokens + output_tokens: True, input_tokens + output_tokens + reasoning_tokens: False}
    return sums.get(total_tokens) if total_tokens is not None else None


def _count_at(raw: dict[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    for path in paths:
        value: Any = raw
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            continue
        if (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal() and len(value) < 20):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
