"""The names OpenTelemetry has for what a response says, in one table.

https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/gen-ai-spans.md
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .messages import TokenUsage

if TYPE_CHECKING:
    from .response import AccumulatedResponse
    from .timings import StreamTimings

VERSION = "1.41.0"
"""Of the semantic conventions that the table follows."""

Value = str | int | float | list[str]

OF_RESPONSE: dict[str, Callable[["AccumulatedResponse"], Value | None]] = {
    "gen_ai.response.id": lambda response: response.id,
    "gen_ai.response.model": lambda response: response.model,
    "gen_ai.response.finish_reasons": lambda response: [reason] if (reason := _reason(response)) else None,
    "error.type": lambda response: type(response.gravest_error).__name__ if response.gravest_error is not None else None,
}
OF_USAGE: dict[str, Callable[[TokenUsage], int | None]] = {
    "gen_ai.usage.input_tokens": lambda usage: usage.input_total,  # cached ones are to be counted in it
    "gen_ai.usage.output_tokens": lambda usage: usage.output_total,  # and so is reasoning
    "gen_ai.usage.cache_read.input_tokens": lambda usage: usage.cache_read_tokens,
    "gen_ai.usage.cache_creation.input_tokens": lambda usage: usage.cache_write_tokens,
    "gen_ai.usage.reasoning.output_tokens": lambda usage: usage.reasoning_tokens,
}
OF_TIMINGS: dict[str, Callable[["StreamTimings"], float | None]] = {
    "gen_ai.response.time_to_first_chunk": lambda timings: timings.time_to_first_chunk,
}


def _reason(response: "AccumulatedResponse") -> str | None:
    """The provider's own word."""
    return response.raw_finish_reason or (response.finish_reason.value if response.finish_reason is not None else None)


def attributes(response: "AccumulatedResponse", timings: "StreamTimings | None") -> dict[str, Value]:
    """What is known, by its name; what is not known has none."""
    found: dict[str, Value | None] = {name: of(response) for name, of in OF_RESPONSE.items()}
    if response.usage is not None:
        found |= {name: count(response.usage) for name, count in OF_USAGE.items()}
    if timings is not None:
        found |= {name: seconds(timings) for name, seconds in OF_TIMINGS.items()}
    return {name: value for name, value in found.items() if value is not None}
