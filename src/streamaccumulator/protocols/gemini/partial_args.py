"""Arguments that Gemini streams as leaves of a JSON document, rebuilt into its text.

https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc

Each piece names a leaf by its path (`$.items[0].name`) and gives a value or more of its text. The document is kept here
until its end is told: what has not ended is given as text that is cut, so that it never looks whole.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ..._json import to_bytes
from ...limits import Limits
from ..plain import Growth
from .chunks import PartialArg

_STEP = re.compile(r"""\.?([^.\[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]""")


class PartialArgs(msgspec.Struct):
    """One call's arguments so far, as lists of (path, pieces) in the order in which the paths came."""

    given: dict[str, Any] = {}
    """What came as a whole object before the pieces."""
    leaves: dict[str, list[Any]] = {}
    size: int = 0
    """Characters of paths and text so far, and one for each piece."""
    open: str | None = None
    """The path whose text is still to be continued."""

    def add(self, piece: PartialArg) -> None:
        """One more piece: text is appended to the text of its path, any other value replaces what was there."""
        path = piece.json_path or "$"
        self.size += 1 if path in self.leaves else len(path) + 1
        self.open = path if piece.will_continue else None
        if piece.string_value is not None:
            pieces = self.leaves.setdefault(path, [""])
            if not isinstance(pieces[0], str):
                self.leaves[path] = pieces = [""]
            pieces.append(piece.string_value)
            self.size += len(piece.string_value)
        else:
            numbers = (piece.number_value, piece.bool_value)
            self.leaves[path] = [next((value for value in numbers if value is not None), None)]

    def growth(self, path: str, limits: Limits) -> Growth | None:
        """More of the text of a path that is to be continued, as long as it is within the limit. Nothing is told of it yet."""
        pieces, most = self.leaves.get(path), limits.arguments_bytes
        if path != self.open or pieces is None or not isinstance(pieces[0], str):
            return None

        def more(texts: Sequence[str]) -> bool:
            size = self.size + len(texts) + sum(map(len, texts))
            if size > most:
                return False
            pieces.extend(texts)
            self.size = size
            return True

        return Growth(
            lambda text, number: True if more((text,)) else None,
            lambda found: () if more(found.texts) else None,
        )

    def text(self) -> str:
        """The document as JSON text."""
        document: dict[str, Any] = dict(self.given)
        for path, pieces in self.leaves.items():
            _put(document, steps_of(path), "".join(pieces) if isinstance(pieces[0], str) else pieces[0])
        return to_bytes(_with_lists(document)).decode()

    def cut_text(self) -> str:
        """The same without its last bracket, which never came."""
        return self.text()[:-1] if self.leaves or self.given else ""


class _Items(dict[int, Any]):
    """A list while it is built: its leaves may come in any order, and some items may have none."""


def steps_of(path: str) -> list[str | int]:
    """The keys and indexes of a path such as `$.a[0]['b c']`."""
    found = _STEP.findall(path.removeprefix("$"))
    return [int(index[:9]) if index else key or quoted or double for key, index, quoted, double in found]


def _put(document: dict[str, Any], steps: list[str | int], value: Any) -> None:
    """Set a leaf, making the objects and lists on the way."""
    box: Any = document
    for at, step in enumerate(steps):
        inner: Any = value if at == len(steps) - 1 else _Items() if isinstance(steps[at + 1], int) else {}
        key = step if isinstance(box, _Items) and isinstance(step, int) else len(box) if isinstance(box, _Items) else str(step)
        if at == len(steps) - 1 or not isinstance(box.get(key), dict):
            box[key] = inner
        box = box[key]


def _with_lists(value: Any) -> Any:
    """The document with lists for what was built as one; an item without a leaf is empty, as its neighbours are."""
    if isinstance(value, _Items):
        last = max(value)
        places = range(last + 1) if last < 2 * len(value) + _MOST_EMPTY else sorted(value)
        empty: Any = {} if all(isinstance(item, dict) for item in value.values()) else None
        return [_with_lists(value.get(place, empty)) for place in places]
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return value


_MOST_EMPTY = 1000
"""Items without a leaf that are filled in; beyond that an index is no place in a list that anybody meant."""
