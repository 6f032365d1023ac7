"""Walks over strings and JSON values that need no parser: whole characters, copies, depth. No walk uses the stack."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


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
    return rebuilt(value, whole)


def mended(value: T, kind: type[T]) -> T:
    """A value of msgspec's types, itself where it can be encoded, else with every string in it mended."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.convert(mend_deeply(msgspec.to_builtins(value)), kind)
    return value


def copied(value: Any) -> Any:
    """The same JSON value in lists and objects of its own."""
    return rebuilt(value, str) if isinstance(value, list | dict) else value


def rebuilt(value: Any, text: Callable[[str], str]) -> Any:
    """The value in boxes of its own, with `text` of every string. Walks without recursion, whatever stack is left."""
    holder = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        box, key = todo.pop()
        item = box[key]
        if isinstance(item, str):
            box[key] = text(item)
        elif isinstance(item, list | tuple):
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
