"""The live value of one JSON document that is still arriving, in text cut anywhere.

`feed` costs what is new, however long the document is; nothing is read twice, guessed or repaired. What a document is and
is not is strict JSON (https://www.rfc-editor.org/rfc/rfc8259), as `json.loads` reads it: exact integers, of two equal keys the
last; but no NaN. Half of a character (an escaped surrogate without its other half) is U+FFFD.

`states` says what may come where, `machine` reads by it, `reader` is what a caller uses.
"""

from .machine import JsonGrowth
from .reader import PartialJson

__all__ = ["JsonGrowth", "PartialJson"]
