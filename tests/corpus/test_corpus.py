"""Every recorded stream of the corpus gives its expected message, however it is cut, replayed or looked at.

One test a property over all streams, because a failure must name every stream that fails, not the first.
"""

import random
from pathlib import Path

import msgspec
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    InvalidToolCallJson,
    StreamAccumulator,
    ToolCall,
    Truncated,
    accumulate,
    accumulate_choices,
)

from ..wire import cuts, events_of, fold
from .exceptions import EXCEPTIONS, UNREAD
from .figures import rows, wrong
from .streams import COUNTS, Stream, need_corpus, streams

pytestmark = pytest.mark.usefixtures("corpus")


@pytest.fixture(scope="module")
def corpus() -> None:
    need_corpus()


def test_the_corpus_is_whole() -> None:
    found = {protocol: sum(stream.protocol == protocol for stream in streams()) for protocol in COUNTS}
    assert found == COUNTS


def test_every_stream_gives_the_expected_message() -> None:
    assert wrong() == set(EXCEPTIONS)


def test_the_figures_stand_in_the_docs() -> None:
    assert "\n".join(rows()) in (Path(__file__).parents[2] / "docs" / "protocols.md").read_text()


def test_every_stream_without_an_expectation_is_read() -> None:
    """Each gives a message and a reason, but for the one that is no model's stream."""
    unread = []
    for stream in streams():
        if stream.expected is None:
            response = accumulate(stream.data, stream.ours, strict=False)
            if not response.complete or not (response.message.content or response.usage or response.extra):
                unread.append(stream.file)
    assert unread == list(UNREAD)


def test_the_protocol_is_recognised() -> None:
    wrong = [s.file for s in streams() if accumulate(s.data, strict=False) != accumulate(s.data, s.ours, strict=False)]
    assert not wrong


def test_every_choice_gives_the_expected_message() -> None:
    wrong = []
    for stream in streams():
        for choice in (stream.expected or {}).get("choices", ()):
            response = accumulate_choices(stream.data, stream.ours, strict=False)[choice["index"]]
            if (response.text, response.raw_finish_reason) != (choice["text"], choice["finish_reason_raw"]):
                wrong.append((stream.file, choice["index"]))
    assert not wrong


def test_a_cut_call_is_told_and_not_made() -> None:
    """Each call that the manifest knows to be broken is an error of ours, and the message is not complete."""
    wrong = []
    for stream in streams():
        calls = stream.expected["tool_calls"] if stream.expected is not None else ()
        broken = {call["id"] for call in calls if call["arguments"] is None and call["arguments_raw"] and not call.get("kind")}
        response = accumulate(stream.data, stream.ours, strict=False)
        told = {error.call_id for error in response.errors if isinstance(error, InvalidToolCallJson)}
        if not broken <= told or (broken and response.complete):
            wrong.append(stream.file)
    assert not wrong


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_how_the_bytes_are_cut_never_matters(size: int) -> None:
    wrong = []
    for stream in streams():
        whole = accumulate(stream.data, stream.ours, strict=False)
        if accumulate(cuts(stream.data, size), stream.ours, strict=False) != whole:
            wrong.append(stream.file)
    assert not wrong


def test_replaying_the_events_gives_an_equal_response() -> None:
    wrong = [s.file for s in streams() if fold(events_of(s.data, s.ours)) != accumulate(s.data, s.ours, strict=False)]
    assert not wrong


def test_looking_between_all_events_changes_nothing() -> None:
    wrong = []
    for stream in streams():
        accumulator = StreamAccumulator()
        events = events_of(stream.data, stream.ours)
        for event in events:
            accumulator.observe(event)
            accumulator.snapshot()
        if accumulator.finalize(strict=False) != fold(events):
            wrong.append(stream.file)
    assert not wrong


def test_a_round_trip_through_json_gives_an_equal_response() -> None:
    wrong = []
    for stream in streams():
        response = accumulate(stream.data, stream.ours, strict=False)
        if AccumulatedResponse.from_json(response.to_json()) != response:
            wrong.append(stream.file)
    assert not wrong


def _is_part_of(call: ToolCall, whole: ToolCall | None) -> bool:
    """Whether a call is the whole stream's; provider keys beside it may still have been to come."""
    return whole is not None and msgspec.structs.replace(call, extra=whole.extra) == whole


def _promises_kept(stream: Stream, whole: AccumulatedResponse, end: int) -> bool:
    part = accumulate(stream.data[:end], stream.ours, strict=False)
    text_is_prefix = whole.text.startswith(part.text.removesuffix("\N{REPLACEMENT CHARACTER}"))
    reasoning_is_prefix = whole.reasoning.startswith(part.reasoning.removesuffix("\N{REPLACEMENT CHARACTER}"))
    whole_calls = {call.id: call for call in whole.tool_calls}
    invented = [call for call in part.tool_calls if not _is_part_of(call, whole_calls.get(call.id))]
    looks_whole = part.complete and part.raw_finish_reason is None
    silent = not part.errors and part.finish_reason is None
    return text_is_prefix and reasoning_is_prefix and not invented and not looks_whole and not silent


def test_a_stream_cut_at_any_byte_never_looks_whole() -> None:
    """Text and reasoning are prefixes, no call is invented, and without a finish reason it is Truncated or worse.

    The places are drawn from a fixed seed for each stream: some of its last 200 bytes, and 50 anywhere.
    """
    wrong = []
    for stream in streams():
        data = stream.data
        whole = accumulate(data, stream.ours, strict=False)
        draw = random.Random(stream.file)
        places = {*range(max(0, len(data) - 200), len(data), 17), *[draw.randrange(1, len(data)) for _ in range(50)]}
        wrong += [(stream.file, end) for end in places if not _promises_kept(stream, whole, end)]
    assert not wrong


def test_a_stream_cut_before_its_finish_reason_is_truncated() -> None:
    wrong = []
    for stream in streams():
        if stream.expected is None or stream.expected["finish_reason_raw"] is None:
            continue
        events = events_of(stream.data, stream.ours)
        before = [event for event in events if type(event).__name__ not in ("Finish", "StreamError")]
        if not any(isinstance(error, Truncated) for error in fold(before).errors):
            wrong.append(stream.file)
    assert not wrong
