"""A response as a person reads it: its parts in order, each under a heading, then why it ended and what it cost.

Made for reading and not for parsing: control characters are written out, long opaque data is shortened, and whoever
wants every byte takes `--json`. Bound: one copy of the message as text. Used by `assemble` and `demo`.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, assert_never

from ..errors import InvalidToolCallJson
from ..messages import (
    CitationPart,
    FinishReason,
    MediaPart,
    Part,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    TokenUsage,
    ToolCall,
)
from ..response import AccumulatedResponse
from .terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Screen, harmless, one_line

LABEL = 9
"""Columns for the names of the facts at the end."""
OPAQUE = 400
"""Characters shown of a provider's block, a citation or a URL."""
_BLANK_LINES = "\r\n"


def render(response: AccumulatedResponse, screen: Screen, *, errors: bool = True) -> str:
    """The whole response as text, for `screen`; without `errors` where they are told right below."""
    sections = []
    for is_text, parts in groupby(response.message.content, lambda part: isinstance(part, TextPart)):
        run = tuple(parts)
        sections += [_text(run, screen)] if is_text else [_part(part, screen) for part in run]
    sections += [_dropped(error, screen) for error in response.errors if isinstance(error, InvalidToolCallJson)]
    sections.append(_end(response, screen, errors))
    return "\n\n".join([section for section in sections if section]) + "\n"


# ---- Parts.


def _text(parts: tuple[Part, ...], screen: Screen) -> str:
    """Neighbouring text parts read as one: providers cut a sentence in three to cite its middle."""
    texts = [part for part in parts if isinstance(part, TextPart)]
    citations = sum([len(part.citations) for part in texts])
    cited = f" ({citations} citation{'s' if citations > 1 else ''})" if citations else ""
    text = "".join([part.text for part in texts])
    return _section(screen, f"text{cited}", text, CYAN) if text or cited else ""


def _part(part: Part, screen: Screen) -> str:
    match part:
        case TextPart():
            return _text((part,), screen)
        case ReasoningPart():
            return _reasoning(part, screen)
        case RefusalPart():
            return _section(screen, "refusal", part.text, RED)
        case ToolCall():
            return _section(screen, f"tool call {one_line(part.name)} ({one_line(part.id)})", _arguments(part), GREEN)
        case MediaPart():
            what = one_line(f"{part.kind}, {part.mime}" if part.mime else part.kind)
            return _section(screen, what, _media(part.data), YELLOW)
        case CitationPart():
            return _section(screen, "citation", _opaque(part.data), YELLOW)
        case ProviderPart():
            return _section(screen, f"{one_line(part.kind)} (the provider's own)", _opaque(part.data), YELLOW)
        case _:
            assert_never(part)


def _section(screen: Screen, title: str, body: str, colour: int) -> str:
    return f"{screen.heading(title, BOLD, colour)}\n{harmless(body.strip(_BLANK_LINES))}".rstrip("\n")


def _reasoning(part: ReasoningPart, screen: Screen) -> str:
    if part.redacted is not None:
        return screen.heading(f"reasoning, redacted by the provider ({_characters(part.redacted)})", BOLD, DIM)
    signed = f" (signed, {_characters(part.signature)})" if part.signature else ""
    body = "\n".join([screen.paint(harmless(line), DIM) for line in part.text.strip(_BLANK_LINES).split("\n")])
    heading = screen.heading(f"reasoning{signed}", BOLD, DIM)
    return f"{heading}\n{body}" if body else heading if signed else ""


def _arguments(call: ToolCall) -> str:
    """Pretty JSON; a custom tool's text as it is, and as it came what Python does not print (an integer beyond all bounds)."""
    if call.kind == "custom":
        return call.arguments_raw
    try:
        return json.dumps(call.arguments, indent=2, ensure_ascii=False)
    except (TypeError, ValueError):
        return call.arguments_raw


def _media(data: str) -> str:
    return data[:OPAQUE] if data.startswith(("http:", "https:")) else f"{_characters(data)} of data; --json has them"


def _opaque(data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= OPAQUE else f"{text[:OPAQUE]} ... ({len(text):,} characters; --json has them)"


def _dropped(error: InvalidToolCallJson, screen: Screen) -> str:
    name = one_line(error.name) if error.name else "without a name"
    title = f"tool call {name} ({one_line(error.call_id)}), dropped: {error.cause}"
    return _section(screen, title, error.raw_arguments, RED)


# ---- The end.


def _end(response: AccumulatedResponse, screen: Screen, errors: bool) -> str:
    title, colour = ("not whole", RED) if response.errors else ("whole", GREEN) if response.complete else ("empty", YELLOW)
    rows = [_row(name, value, screen) for name, value in _facts(response, errors) if value]
    return "\n".join([screen.heading(title, BOLD, colour), *rows])


def _row(name: str, value: str, screen: Screen) -> str:
    label = f"{name:{LABEL}}"
    return screen.paint(label, DIM) + screen.wrapped(one_line(value), label).removeprefix(label)


def _facts(response: AccumulatedResponse, errors: bool) -> Iterator[tuple[str, str | None]]:
    yield "finish", _finish(response.finish_reason, response.raw_finish_reason)
    yield "tokens", _usage(response.usage) if response.usage is not None else None
    yield "model", ", ".join([one_line(name) for name in (response.model, response.provider) if name])
    yield "id", response.id
    for channel, records in (response.logprobs or {}).items():
        yield "logprobs", f"of {len(records):,} tokens of {channel}"
    yield "extra", ", ".join(response.extra)
    for error in response.errors if errors else ():
        yield "error", error.what()
    for note in response.diagnostics:
        where = f" ({note.where})" if note.where else ""
        yield "note", f"{note.code}: {note.message}{where}" + (f", {note.count} times" if note.count > 1 else "")


def _finish(reason: FinishReason | None, raw: str | None) -> str:
    if reason is None:
        return "none came" if raw is None else f"not counted (the provider said {raw!r})"
    return reason.value if raw in (None, reason.value) else f"{reason.value} (the provider said {raw!r})"


def _usage(usage: TokenUsage) -> str:
    """Input counts the cached tokens too, however the provider does; what was not reported is not shown."""
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    cache = [f"{count:,} {what}" for count, what in ((read, "read from cache"), (written, "written to cache")) if count]
    thought = [f"{usage.reasoning_tokens:,} for reasoning"] if usage.reasoning_tokens else []
    counts: tuple[tuple[int | None, str, list[str]], ...] = (
        (usage.input_total, "in", cache),
        (usage.output_tokens, "out", thought),
        (usage.total_tokens, "in all", []),
    )
    shown = [
        f"{count:,} {what}" + (f" ({', '.join(details)})" if details else "")
        for count, what, details in counts
        if count is not None
    ]
    return ", ".join(shown)


def _characters(text: str) -> str:
    return f"{len(text):,} characters"
