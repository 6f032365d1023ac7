"""What is compared with the manifest, stream by stream and field by field, and how much of it is right."""

from collections.abc import Callable
from functools import cache
from typing import Any

from streamaccumulator import AccumulatedResponse, MediaPart, ProviderPart, ReasoningPart, TextPart, accumulate

from .exceptions import EXCEPTIONS, UNREAD
from .streams import COUNTS, streams


def _calls(response: AccumulatedResponse) -> list[Any]:
    return [(None if call.minted else call.id, call.name, call.arguments) for call in response.tool_calls]


def _expected_calls(expected: dict[str, Any]) -> list[Any]:
    """The calls that should be there: not those the manifest marks as having no valid arguments.

    Blank text is a call without arguments unless the model was stopped while it wrote that call, the last one.
    """
    bounded = expected["finish_reason_raw"] in ("length", "max_tokens", "MAX_TOKENS", None)
    found = []
    for at, call in enumerate(expected["tool_calls"]):
        arguments = call["arguments_raw"] if call.get("kind") == "custom" else call["arguments"]
        if arguments is None and call["arguments_raw"] == "" and not (bounded and at == len(expected["tool_calls"]) - 1):
            arguments = {}
        if arguments is not None:
            found.append((call["id"], call["name"], arguments))
    return found


def _other_items(response: AccumulatedResponse) -> list[str]:
    """The kinds of what the provider did itself; an item of reasoning that says nothing is none, an image is one."""
    kinds = [
        part.kind if isinstance(part, ProviderPart) else str(part.extra.get("type"))
        for part in response.message.content
        if isinstance(part, ProviderPart | MediaPart)
    ]
    return [kind for kind in kinds if kind != "reasoning"]


def _expected_reason(expected: dict[str, Any]) -> str | None:
    """Responses has a status and its details, Gemini may number its words; in ours each is the one word that says why."""
    said = expected["finish_reason_raw"]
    if isinstance(said, dict):
        said = (said["incomplete_details"] or {}).get("reason") or said["status"]
    return None if said is None else str(said)


FIELDS: dict[str, tuple[Callable[[AccumulatedResponse], Any], Callable[[dict[str, Any]], Any]]] = {
    "text": (lambda r: r.text, lambda e: e["text"]),
    "reasoning": (lambda r: r.reasoning, lambda e: e.get("tool_plan", "") + e["reasoning"]),
    "tool_calls": (_calls, _expected_calls),
    "finish_reason_raw": (lambda r: r.raw_finish_reason, _expected_reason),
    "usage_raw": (lambda r: r.usage.raw if r.usage else None, lambda e: e["usage_raw"] or None),
    "refusal": (lambda r: r.refusal, lambda e: e.get("refusal", "")),
    "text_parts": (
        lambda r: [part.text for part in r.message.content if isinstance(part, TextPart) and part.text],
        lambda e: e.get("text_parts"),
    ),
    "reasoning_parts": (
        lambda r: [part.text for part in r.message.content if isinstance(part, ReasoningPart)],
        lambda e: e.get("reasoning_parts"),
    ),
    "citations": (
        lambda r: sum(len(part.citations) for part in r.message.content if isinstance(part, TextPart)),
        lambda e: e.get("citations"),
    ),
    "other_items": (_other_items, lambda e: [item["type"] for item in e["other_items"]] if "other_items" in e else None),
}
"""What is compared: how a field is read from our response, and what the manifest expects (None: it does not say).

Cohere's `tool_plan` is reasoning here; a usage object without a key reports nothing.
"""


_ALWAYS = ("finish_reason_raw", "usage_raw")
"""Fields of which None is an expectation: no reason came, no usage came."""


@cache
def wrong() -> set[tuple[str, str]]:
    """The streams and fields in which we differ from the manifest."""
    found = set()
    for stream in streams():
        if stream.expected is None:
            continue
        response = accumulate(stream.data, stream.ours, strict=False)
        for field, (ours, theirs) in FIELDS.items():
            expected = theirs(stream.expected)
            if (expected is not None or field in _ALWAYS) and ours(response) != expected:
                found.add((stream.file, field))
    return found


def rows() -> list[str]:
    """The figures by protocol, as the rows of a table: streams, with an expectation, right, argued exceptions, read without one."""
    found = ["| protocol | streams | with an expected message | as expected | argued otherwise | read without one | no message |"]
    found.append("|---|---|---|---|---|---|---|")
    for protocol, count in COUNTS.items():
        files = {stream.file: stream for stream in streams() if stream.protocol == protocol}
        expected = [file for file, stream in files.items() if stream.expected is not None]
        differ = {file for file, _ in wrong() if file in files}
        argued = {file for file, _ in EXCEPTIONS if file in files}
        unread = [file for file in files if file in UNREAD]
        others = count - len(expected) - len(unread)
        figures = (count, len(expected), len(expected) - len(differ), len(argued), others, len(unread))
        found.append(f"| {protocol} | {' | '.join([str(figure) for figure in figures])} |")
    return found
