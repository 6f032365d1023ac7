"""Arguments that Gemini streams as leaves of a JSON document, rebuilt into its text.

https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc

Each piece names a leaf by its path (`$.items[0].name`) and gives a value or more of its text. The document is kept here
until its end is told: what has not ended is given as text that is cut, so that it never looks whole.
"""

import re
from typing import Any

import msgspec

from ..._json import to_bytes
from .chunks import PartialArg

_STEP = re.compile(r"""\.?([^.\[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]""")


class PartialArgs(msgspec.Struct):
    """One call's arguments so far, as lists of (path, pieces) in the order in which the paths came."""

    given: dict[str, Any] = {}
    """What came as a whole object before the pieces."""
    leaves: dict[str, list[Any]] = {}
    size: int = 0
    """Characters of text so far."""

    def add(self, piece: PartialArg) -> None:
        """One more piece: text is appended to the text of its path, any other value replaces what was there."""
        path = piece.json_path or "$"
        if path not in self.leaves:
            self.size += len(path)
        if piece.string_value is not None:
            pieces = self.leaves.setdefault(path, [""])
            if not isinstance(pieces[0], str):
                self.leaves[path] = pieces = [""]
            pieces.append(piece.string_value)
            self.size += len(piece.string_value)
        else:
            numbers = (piece.number_value, piece.bool_value)
            self.leaves[path] = [next((value for value in numbers if value is not None), None)]

    def text(self) -> str:
        """The document as JSON text."""
        document: dict[str, Any] = dict(self.given)
        for path, pieces in self.leaves.items():
            _put(document, steps_of(path), "".join(pieces) if isinstance(pieces[0], str) else pieces[0])
        return to_bytes(document).decode()

    def cut_text(self) -> str:
        """The same without its last bracket, which never came."""
        return self.text()[:-1] if self.leaves or self.given else ""


def steps_of(path: str) -> list[str | int]:
    """The keys and indexes of a path such as `$.a[0]['b c']`."""
    found = _STEP.findall(path.removeprefix("$"))
    return [int(index[:9]) if index else key or quoted or double for key, index, quoted, double in found]


def _put(document: dict[str, Any], steps: list[str | int], value: Any) -> None:
    """Set a leaf, making the objects and lists on the way; an index past the end of its list appends."""
    box: Any = document
    for at, step in enumerate(steps):
        last = at == len(steps) - 1
        inner: Any = value if last else [] if isinstance(steps[at + 1], int) else {}
        if isinstance(box, list):
            place: Any = step if isinstance(step, int) and step < len(box) else len(box)
            if place == len(box):
                box.append(inner)
        else:
            place = str(step)
            box.setdefault(place, inner)
        if last or not isinstance(box[place], dict | list):
            box[place] = inner
        box = box[place]
