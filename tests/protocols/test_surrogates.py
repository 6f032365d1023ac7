"""Halves of characters: whatever field they come in, what is handed out can be written down as UTF-8."""

import json
from typing import Any

import msgspec
import pytest

from streamaccumulator.events import encode_event
from streamaccumulator.protocols.events.chunks import KINDS

from ..wire import events_of


def _fields(kind: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind) if str in getattr(field.type, "__args__", (field.type,))]


def _line(kind: str, /, **strange: Any) -> bytes:
    fields = {
        field.encode_name: 0 if field.type is int else {} if "dict" in str(field.type) or field.name == "usage" else "x"
        for field in msgspec.structs.fields(KINDS[kind])
        if field.required
    }
    if kind == "finish":
        fields["reason"] = "stop"
    return json.dumps({"type": kind, **fields, **strange}).encode() + b"\n"


CASES = [(kind, field) for kind, struct in KINDS.items() for field in _fields(struct)]


@pytest.mark.parametrize(("kind", "field"), CASES, ids=lambda value: value)
@pytest.mark.parametrize(("before", "half", "after"), [("", 0xD83E, ""), ("", 0xDD80, ""), ("a", 0xD83E, "b")])
def test_a_half_in_any_field_of_any_event_can_be_written_down(kind: str, field: str, before: str, half: int, after: str) -> None:
    strange = before + chr(half) + after
    lines = _line("text_delta", delta="t") + _line(kind, **{field: strange}) + _line(kind, **{field: strange})
    events = events_of(lines, "events")
    read_again = events_of(b"".join(encode_event(event) + b"\n" for event in events), "events")
    assert read_again == events
