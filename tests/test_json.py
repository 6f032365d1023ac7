"""How deep a payload may nest is looked at only where it has the brackets for it."""

import pytest

from streamaccumulator._json import DEEPEST, parse_payload
from streamaccumulator.errors import JsonProblem


@pytest.mark.parametrize("lists", [0, 1, 255, 256, 257, 511, 512, 513, 700])
@pytest.mark.parametrize("objects", [0, 1, 256, 257, 511, 512, 513, 700])
def test_a_payload_is_too_deep_beyond_a_bound(lists: int, objects: int) -> None:
    payload = b'{"a":' * objects + b"[" * lists + b"1" + b"]" * lists + b"}" * objects
    if lists + objects <= DEEPEST:
        assert parse_payload(payload)[1] == ""
    else:
        with pytest.raises(JsonProblem):
            parse_payload(payload)


def test_many_brackets_are_not_deep() -> None:
    assert len(parse_payload(b"[" + b'[1],{"a":2},' * 2000 + b'"[[[{{{"]')[0]) == 4001
