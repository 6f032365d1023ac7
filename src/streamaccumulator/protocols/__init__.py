"""The wire protocols: one folder each, one row each in the registry below.

To add one: a folder with `chunks.py` (what the wire holds) and `decoder.py` (chunk to events), its `PROTOCOL` in
the folder's `__init__`, a row here, and a folder of captures for the conformance suite. A protocol is imported when it
is first used.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .._record import Record
from ..errors import UnknownProtocol
from ..framing.sse import SSEFramer
from ..limits import Limits
from .decoder import Decoder, Sink

__all__ = ["Decoder", "Protocol", "Sink", "names", "protocol_named", "recognise"]


class Protocol(Record, frozen=True):
    """One wire protocol: how its bytes are framed and what its payloads mean. An outsider's works like ours."""

    name: str
    decoder: Callable[[Sink, Limits], Decoder[Any]]
    framer: Callable[..., SSEFramer] = SSEFramer


class _Row(Record, frozen=True):
    """Where a protocol lives and what its first payloads look like."""

    module: str
    types: tuple[str, ...] = ()
    """Beginnings of the payload's `type` or, where it has none, of the frame's `event:` name."""
    keys: tuple[str, ...] = ()
    """Keys of which a payload has one."""


_ROWS = {
    "anthropic-messages": _Row("anthropic_messages", types=("message_", "content_block_", "message", "error")),
    "openai-chat": _Row("openai_chat", keys=("choices", "error")),
}


def names() -> tuple[str, ...]:
    """The names of all protocols, as `protocol=` takes them."""
    return tuple(_ROWS)


def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises UnknownProtocol if there is none."""
    row = _ROWS.get(name)
    if row is None:
        raise UnknownProtocol(f"there is no protocol {name!r}; there are {', '.join([*names(), 'auto'])}")
    found: Protocol = import_module(f".{row.module}", __name__).PROTOCOL
    return found


def recognise(payload: Mapping[str, Any], event: str = "") -> Protocol | None:
    """The protocol that a stream's early payload gives away, or None: keep-alives give nothing away."""
    kind = payload.get("type") or event
    for name, row in _ROWS.items():
        if isinstance(kind, str) and kind.startswith(row.types) and row.types:
            return protocol_named(name)
        if any(key in payload for key in row.keys):
            return protocol_named(name)
    return None
