"""One target a promise: each takes a protocol, the bytes of a stream and a source of chance, and raises if it is broken."""

import contextlib
import copy
import pickle
from collections.abc import Callable
from random import Random
from typing import Any
from zlib import crc32

from streamaccumulator import (
    AccumulatedResponse,
    AccumulatorError,
    ChatStream,
    Limits,
    StreamAccumulator,
    StreamDecoder,
    UnreadableDump,
    accumulate,
    accumulate_choices,
    parse_response,
)
from streamaccumulator.events import encode_event
from streamaccumulator.framing.aws_event_stream import AWSEventStreamFramer
from streamaccumulator.framing.frames import Framer
from streamaccumulator.framing.json_array import JSONArrayFramer
from streamaccumulator.framing.ndjson import NDJSONFramer
from streamaccumulator.framing.sse import SSEFramer
from streamaccumulator.protocols import names

from .mutate import chopped, value_changed

Target = Callable[[str, bytes, Random], None]
SMALL = Limits(frame_bytes=700, message_bytes=900, arguments_bytes=60, tool_calls=3, parts=6, json_depth=6, errors=3, choices=2)


def _named(protocol: str, rng: Random) -> str:
    return protocol if protocol in names() and rng.random() < 0.6 else rng.choice(["auto", *names()])


def framing(protocol: str, data: bytes, rng: Random) -> None:
    """How the bytes are cut never changes the frames, nor what is told of them."""
    limits = rng.choice([Limits(), Limits(frame_bytes=100)])
    for kind in (SSEFramer, NDJSONFramer, JSONArrayFramer, AWSEventStreamFramer):
        whole = _frames(kind, [data], limits)
        assert _frames(kind, chopped(data, rng), limits) == whole, kind.__name__


def _frames(kind: type[Framer], pieces: Any, limits: Limits) -> list[Any]:
    found: list[Any] = []
    framer = kind(lambda *frame: found.append(frame), found.append, limits)
    for piece in pieces:
        framer.feed(piece)
    framer.close()
    return found


def pipeline(protocol: str, data: bytes, rng: Random) -> None:
    """A response or an AccumulatorError; the same whole, cut, watched, replayed, written down and read back."""
    name, limits = _named(protocol, rng), rng.choice([Limits(), Limits(), SMALL])
    response = accumulate(data, name, strict=False, limits=limits)
    assert accumulate(chopped(data, rng), name, strict=False, limits=limits) == response, "cut"
    decoder, events = StreamDecoder(name, limits=limits), []
    for piece in chopped(data, rng):
        events += decoder.feed(piece)
    events += decoder.close()
    accumulator = StreamAccumulator(limits=limits)
    for event in events:
        accumulator.observe(event)
        accumulator.snapshot()
    assert accumulator.finalize(strict=False) == response, "replayed and looked at"
    assert AccumulatedResponse.from_json(response.to_json()) == response, "JSON"
    assert AccumulatedResponse.from_dict(response.to_dict()) == response, "dict"
    assert pickle.loads(pickle.dumps(response)) == copy.deepcopy(response) == response, "pickle, copy"
    lines = b"".join([encode_event(event) + b"\n" for event in events])
    if response.message.content and limits == Limits():
        assert accumulate(lines, "events", strict=False) == response, "events written down"
    raised = False
    with contextlib.suppress(AccumulatorError):
        raised = True
        accumulate(data, name, limits=limits)
        raised = False
    assert raised == bool(response.errors)
    assert response.complete is False or (response.raw_finish_reason is not None and not response.errors)


def drivers(protocol: str, data: bytes, rng: Random) -> None:
    """Every way of reading gives the same: events one by one, all choices, an unstreamed body, a tool's view."""
    name = _named(protocol, rng)
    with ChatStream(chopped(data, rng), name) as stream:
        for _ in stream:
            for id in stream.accumulator.open_calls:
                assert stream.tool_call(id).state == "open"
    response = accumulate(data, name, strict=False)
    assert stream.finalize(strict=False) == response
    every = accumulate_choices(data, name, strict=False)
    assert accumulate_choices(chopped(data, rng), name, strict=False) == every
    body = parse_response(data, name, strict=False)
    assert AccumulatedResponse.from_json(body.to_json()) == body


def saving(protocol: str, data: bytes, rng: Random) -> None:
    """Saved and loaded anywhere, a stream goes on as if nothing had been; a dump that is damaged is told."""
    name, limits = _named(protocol, rng), rng.choice([Limits(), SMALL])
    pieces = list(chopped(data, rng))
    here = rng.randint(0, len(pieces))
    stream, never_saved = ChatStream(iter(pieces[:here]), name, limits=limits), accumulate(data, name, strict=False, limits=limits)
    _read_without_its_end(stream, rng)
    dump = stream.dump()
    left = pieces[here:] if not stream.accumulator.stopped else []
    assert ChatStream.load(dump, iter(left)).finalize(strict=False) == never_saved
    with contextlib.suppress(UnreadableDump):
        assert ChatStream.load(_damaged(dump, rng), iter(left)).finalize(strict=False) == never_saved
    with contextlib.suppress(UnreadableDump):
        StreamAccumulator.load(_forged(stream.accumulator.dump(), rng))
    with contextlib.suppress(UnreadableDump):
        StreamDecoder.load(_forged(stream._session.decoder.dump(), rng))


def _read_without_its_end(stream: ChatStream, rng: Random) -> None:
    """Hand the stream all its pieces, and take some of its events, without telling it that this was the end."""
    session = stream._session
    for piece in stream._items:
        session.push(piece)
        while session.pending and rng.random() < 0.8:
            session.take()


def _damaged(dump: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(dump))
    return rng.choice(
        [dump[:at], dump[:at] + bytes([dump[at] ^ (1 << rng.randrange(8))]) + dump[at + 1 :], dump[at:], dump + b"\n"]
    )


def _forged(dump: bytes, rng: Random) -> bytes:
    """A dump with one value of its state changed, and a head that fits it."""
    head, _, body = dump.partition(b"\n")
    body = value_changed(body, b"", rng)
    words = head.split(b" ")
    return b" ".join([*words[:3], f"{crc32(body):08x} {len(body)}".encode()]) + b"\n" + body


TARGETS: dict[str, Target] = {target.__name__: target for target in (framing, pipeline, drivers, saving)}
