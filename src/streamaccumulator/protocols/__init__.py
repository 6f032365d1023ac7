"""The wire protocols: one folder each, one row each in the registry below.

To add one: a folder with `chunks.py` (what the wire holds), `decoder.py` (chunk to events) and `request.py` (messages to a
request), its `PROTOCOL` in the folder's `__init__`, a row here, and a folder of captures for the conformance suite. A
protocol is imported when it is first used.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from .._record import Record
from ..errors import UnknownProtocol
from ..framing.frames import Framer
from ..limits import Limits
from .decoder import Decoder, Sink

__all__ = ["Decoder", "Protocol", "Sink", "names", "protocol_named", "recognise"]


class Protocol(Record, frozen=True):
    """One wire protocol: what its payloads mean. An outsider's works like ours.

    `framer` is for bytes whose framing their beginning does not tell; None, as all of ours have, is for the others.
    """

    name: str
    decoder: Callable[[Sink, Limits], Decoder[Any]]
    framer: Callable[..., Framer] | None = None
    converter: Callable[[], Any] | None = None
    """Makes the Converter of one request (`protocols/requests.py`); None: messages cannot be turned back into its requests."""


class _Row(Record, frozen=True):
    """Where a protocol lives and what its payloads look like. Rows are asked in order."""

    module: str
    words: str = ""
    """What the payload says it is, or its frame's event: a pattern for the beginning of one of `_SELF_DESCRIPTION`."""
    paths: tuple[str, ...] = ()
    """Keys, joined by dots, of which a payload has one; a list on the way is entered at its first item."""
    faint: tuple[str, ...] = ()
    """The same, for payloads in which no protocol recognises more."""


_SELF_DESCRIPTION = ("type", "object", "event_type")

_ROWS = {
    "openai-chat": _Row("openai_chat", "chat[._]completion", ("choices.delta", "choices.message"), ("choices", "error")),
    "openai-responses": _Row("openai_responses", r"response\.|response$", ("sequence_number",)),
    "anthropic-messages": _Row("anthropic_messages", "message_|content_block_|message$|error$"),
    "gemini": _Row("gemini", "", ("candidates", "promptFeedback", "usageMetadata")),
    "bedrock-converse": _Row(
        "bedrock_converse",
        "(messageStart|contentBlock(Start|Delta|Stop)|messageStop|metadata)$",
        ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "output.message"),
    ),
    "cohere": _Row("cohere", "(message|content|tool-call|tool-plan|citation)-", ("message.content.type", "message.tool_plan")),
    "ollama": _Row("ollama", "", ("done",)),
    "openai-completions": _Row(
        "openai_completions",
        "text_completion",
        ("choices.text", "results.generated_text", "outputs.text", "outputText", "generation", "completion", "is_finished"),
    ),
    "gemini-interactions": _Row("gemini_interactions", r"interaction(\.|$)|(step|content)\."),
    "events": _Row("events", "(started|notice|unreadable|limit_hit|protocol_unknown|stream_error|stream_broken|unknown)$"),
}


def names() -> tuple[str, ...]:
    """The names of all protocols, as `protocol=` takes them."""
    return tuple(_ROWS)


@cache
def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises UnknownProtocol if there is none."""
    row = _ROWS.get(name)
    if row is None:
        raise UnknownProtocol(f"there is no protocol {name!r}; there are {', '.join([*names(), 'auto'])}")
    found: Protocol = import_module(f".{row.module}", __name__).PROTOCOL
    return found


def recognise(payload: Mapping[str, Any], event: str = "", *, sure: bool = False) -> Protocol | None:
    """The protocol that a stream's early payload gives away, or None: keep-alives give nothing away.

    `sure` asks for more than a faint sign, which several protocols may have.
    """
    words = (event if event != "message" else "", *[payload.get(key) for key in _SELF_DESCRIPTION])
    said = [text for text in words if isinstance(text, str)]
    for name, row in _ROWS.items():
        if row.words and any(re.match(row.words, text) for text in said):
            return protocol_named(name)
        if any(_has(payload, path) for path in row.paths):
            return protocol_named(name)
    if sure:
        return None
    faint = next((name for name, row in _ROWS.items() if any(_has(payload, path) for path in row.faint)), None)
    return protocol_named(faint) if faint else None


def _has(payload: object, path: str) -> bool:
    for key in path.split("."):
        if isinstance(payload, list):
            payload = payload[0] if payload else None
        if not isinstance(payload, Mapping) or key not in payload:
            return False
        payload = payload[key]
    return True
