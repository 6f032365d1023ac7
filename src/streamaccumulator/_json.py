"""The corners of JSON that msgspec refuses each in its own way, settled once for arguments and payloads alike.

`parse` is strict: no NaN, no repair, exact integers. It costs one msgspec parse; only a text that msgspec refuses is
read again by `partial_json`, which takes a lone surrogate and says where a fault is. Used by the accumulator
for arguments and by the protocols for payloads that surprise their typed decoder.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Never

import msgspec

from ._values import depth_of, nests_deeper
from .errors import JsonProblem
from .partial_json import PartialJson
from .partial_json.machine import number_of

_decode = msgspec.json.Decoder().decode
DEEPEST = 512
"""Levels of nesting in a payload beyond which no parser is asked: each has its own limit, and its own way to fail."""


def parse(text: str) -> Any:
    """The value of one strict JSON document. Raises JsonProblem for anything else."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return _second_opinion(text)


def _second_opinion(text: str) -> Any:
    """What the reader that tells everything says: the value of a text with half a character in it, or what is wrong."""
    reader = PartialJson(DEEPEST)
    reader.feed(text)
    reader.close()
    if reader.problem is not None:
        raise reader.problem
    return reader.value


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")


def parse_payload(data: bytes) -> tuple[Any, str]:
    """A wire payload, as tolerantly as loses nothing, and what was odd about it (empty if nothing).

    Bytes that are no UTF-8 become U+FFFD, numbers beyond any range stay text. Raises JsonProblem if it is no JSON.
    """
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return _tolerated(data)
    if _opens_many(data) and depth_of(value) > DEEPEST:
        raise _too_deep()
    return value, ""


def _opens_many(data: bytes) -> bool:
    """Whether there are more than DEEPEST brackets that open. `bytes.count` and `bytes.split` take longer than the parser."""
    return sum([len(data) - len(data.replace(bracket, b"", DEEPEST + 1)) for bracket in (b"{", b"[")]) > DEEPEST


def _too_deep() -> JsonProblem:
    return JsonProblem("nested too deeply to read", None, False)


def _tolerated(data: bytes) -> tuple[Any, str]:
    """What a strict reader refuses."""
    odd = ""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        text, odd = data.decode("utf-8", "replace"), f"invalid UTF-8 at byte {fault.start}; such bytes are now U+FFFD"
    if nests_deeper(text, DEEPEST):
        raise _too_deep()
    try:
        try:
            value = _tolerant(text)
        except json.JSONDecodeError as fault:
            if not fault.msg.startswith("Invalid control character"):
                raise
            value, odd = _tolerant(text, strict=False), odd or "a control character that JSON wants escaped; it was kept"
    except json.JSONDecodeError as fault:
        raise JsonProblem(fault.msg.removesuffix(" at"), len(text[: fault.pos].encode("utf-8", "surrogatepass")), False) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as fault:
        raise JsonProblem(str(fault), None, False) from None
    return value, odd


def _tolerant(text: str, *, strict: bool = True) -> Any:
    return json.loads(text, strict=strict, parse_constant=_refuse_constant, parse_float=_float_or_text, parse_int=_int_or_text)


def _float_or_text(digits: str) -> float | str:
    value = float(digits)
    return digits if math.isinf(value) else value


def _int_or_text(digits: str) -> int | str:
    number = number_of(digits)
    return digits if number is None else number


def bytes_of(data: str | bytes | bytearray | memoryview) -> bytes:
    """Text as its UTF-8, anything else as it is."""
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)


def to_bytes(value: Mapping[str, Any] | list[Any]) -> bytes:
    """A parsed payload, or a part of one, as the JSON it came from. What is no JSON becomes bytes that are none."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except (UnicodeEncodeError, RecursionError, ValueError):
        try:
            return json.dumps(value, default=_plain).encode()
        except (RecursionError, ValueError):
            return b"(no JSON)"


def _plain(value: object) -> object:
    """What JSON has no word for: a mapping as an object, anything else as what it says of itself."""
    return dict(value) if isinstance(value, Mapping) else str(value)
