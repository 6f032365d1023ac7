"""The corners of JSON that msgspec refuses each in its own way, settled once for arguments and payloads alike.

`parse` is strict: no NaN, no repair, exact integers. It costs one msgspec parse; only a text that msgspec refuses is
read again by the standard library, which takes a lone surrogate and says where a fault is. Used by the accumulator
for arguments and by the protocols for payloads that surprise their typed decoder.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Never

import msgspec

_decode = msgspec.json.Decoder().decode
DEEPEST = 512
"""Levels of nesting in a payload beyond which no parser is asked: each has its own limit, and its own way to fail."""
MAX_DIGITS = 4300
"""Digits of an integer that Python converts by default; a longer one is no number anybody meant."""


class JsonProblem(ValueError):
    """Why a text is not one JSON document. `offset` is in UTF-8 bytes; `cut` says that more text could still mend it."""

    def __init__(self, message: str, offset: int | None, cut: bool) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.cut = cut


def parse(text: str) -> Any:
    """The value of one strict JSON document. Raises JsonProblem for anything else."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as refusal:
        return _second_opinion(text, refusal)


def _second_opinion(text: str, refusal: Exception) -> Any:
    try:
        return mend_deeply(json.loads(text, parse_constant=_refuse_constant, parse_float=_finite))
    except json.JSONDecodeError as fault:
        offset = len(text[: fault.pos].encode("utf-8", "surrogatepass"))
        if _was_cut(text, refusal):
            raise JsonProblem("the text ends before the JSON is closed", len(text.encode("utf-8", "replace")), True) from None
        raise JsonProblem(fault.msg.removesuffix(" at"), offset, False) from None
    except RecursionError:
        raise JsonProblem("nested too deeply to read", None, False) from None
    except ValueError as fault:
        raise JsonProblem(str(fault).partition(";")[0], None, False) from None


def _was_cut(text: str, refusal: Exception) -> bool:
    """msgspec says `truncated`, or complains about a number or word at the very end of what there is."""
    words = str(refusal)
    return "truncated" in words or ("trailing" not in words and words.endswith(f"(byte {len(text.encode('utf-8', 'replace'))})"))


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is out of range")
    return value


def parse_payload(data: bytes) -> tuple[Any, str]:
    """A wire payload, as tolerantly as loses nothing, and what was odd about it (empty if nothing).

    Bytes that are no UTF-8 become U+FFFD, numbers beyond any range stay text. Raises JsonProblem if it is no JSON.
    """
    odd = ""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        text, odd = data.decode("utf-8", "replace"), f"invalid UTF-8 at byte {fault.start}; such bytes are now U+FFFD"
    if nests_deeper(text, DEEPEST):
        raise JsonProblem("nested too deeply to read", None, False)
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
        raise JsonProblem("nested too deeply to read", None, False) from None
    except ValueError as fault:
        raise JsonProblem(str(fault), None, False) from None
    return value, odd


def _tolerant(text: str, *, strict: bool = True) -> Any:
    return json.loads(text, strict=strict, parse_constant=_refuse_constant, parse_float=_float_or_text, parse_int=_int_or_text)


def _float_or_text(digits: str) -> float | str:
    value = float(digits)
    return digits if math.isinf(value) else value


def _int_or_text(digits: str) -> int | str:
    return digits if len(digits) > MAX_DIGITS else int(digits)


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


def mend(text: str) -> str:
    """`text` with surrogate pairs joined and each surrogate left alone replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_torn(text: str) -> bool:
    """Whether `text` holds a surrogate, so that it cannot be encoded."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def whole(text: str) -> str:
    """`text` itself where it can be encoded, else mended."""
    return mend(text) if is_torn(text) else text


def mend_deeply(value: Any) -> Any:
    """The same value with every string in it mended."""
    return _rebuilt(value, whole)


def copied(value: Any) -> Any:
    """The same JSON value in lists and objects of its own."""
    return _rebuilt(value, str) if isinstance(value, list | dict) else value


def _rebuilt(value: Any, text: Callable[[str], str]) -> Any:
    """The value in boxes of its own, with `text` of every string. Walks without recursion, whatever stack is left."""
    holder = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        box, key = todo.pop()
        item = box[key]
        if isinstance(item, str):
            box[key] = text(item)
        elif isinstance(item, list):
            box[key] = new_list = list(item)
            todo += [(new_list, at) for at in range(len(new_list))]
        elif isinstance(item, dict):
            box[key] = new = {text(name) if isinstance(name, str) else name: inner for name, inner in item.items()}
            todo += [(new, name) for name in new]
    return holder[0]


_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)', re.DOTALL)
_BRACKET = re.compile(r"[\[{\]}]")


def nests_deeper(text: str, limit: int) -> bool:
    """Whether a JSON text, whole or cut, opens more than `limit` levels. Linear, and free for a text with few brackets."""
    if text.count("{") + text.count("[") <= limit:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            return True
    return False


def depth_of(value: Any) -> int:
    """How many levels of lists and objects are inside one another; walks without recursion."""
    deepest = 0
    level: list[Any] = [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        deepest += 1
        level = [item for box in level for item in (box.values() if isinstance(box, dict) else box)]
    return deepest
