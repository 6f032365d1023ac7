"""Every recorded call watched while it grows: what is shown is always the beginning of what it becomes, and what jiter shows."""

from typing import Any

import jiter
import pytest

from streamaccumulator import StreamAccumulator, ToolCall, ToolCallArgumentDelta

from ..test_partial_json import Replayed, consistent, same
from ..wire import events_of, fold
from .streams import need_corpus, streams

pytestmark = pytest.mark.usefixtures("corpus")
_BESIDE_JITER = 20_000
"""Bytes of arguments up to which jiter is asked after each delta, as it reads them all again each time."""


@pytest.fixture(scope="module")
def corpus() -> None:
    need_corpus()


def test_every_call_is_shown_as_the_beginning_of_what_it_becomes() -> None:
    """After every delta: each finished member equal, each open string a prefix; and the growths give the same."""
    wrong, looked = [], 0
    for stream in streams():
        events = events_of(stream.data, stream.ours)
        final = {call.id: call for call in fold(events).message.content if isinstance(call, ToolCall) and call.kind != "custom"}
        accumulator = StreamAccumulator()
        grown: dict[str, Replayed] = {}
        for event in events:
            accumulator.observe(event)
            if not isinstance(event, ToolCallArgumentDelta) or event.id not in final:
                continue
            looked += 1
            view = accumulator.tool_call(event.id)
            replayed = grown.setdefault(event.id, Replayed())
            replayed.add(view.growth())
            shown = view.arguments
            if not same(replayed.value, shown) or not (shown is None or consistent(shown, final[event.id].arguments)):
                wrong.append((stream.file, event.id))
    assert not wrong
    assert looked > 1_500


def test_every_call_is_shown_as_jiter_shows_it_but_for_numbers() -> None:
    wrong, compared = [], 0
    for stream in streams():
        accumulator = StreamAccumulator()
        for event in events_of(stream.data, stream.ours):
            accumulator.observe(event)
            if isinstance(event, ToolCallArgumentDelta):
                view = accumulator.tool_call(event.id)
                if accumulator._calls[event.id].kind == "custom":
                    continue
                raw = view.arguments_raw
                if 0 < len(raw) <= _BESIDE_JITER and raw[-1] not in "0123456789+-.eE\\u" and "\ufffd" not in raw:
                    compared += 1
                    if not same(view.arguments, _jiter(raw, view.arguments)):
                        wrong.append((stream.file, event.id, raw))
    assert not wrong
    assert compared > 1_500


def _jiter(raw: str, ours: Any) -> Any:
    try:
        return jiter.from_json(raw.encode(), partial_mode="trailing-strings")
    except ValueError:
        return ours if not raw.strip() else "jiter refuses it"
