"""Which call a fragment belongs to, and what its id is: the rule case by case, then members of the kind at random."""

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import AccumulatedResponse, InvalidToolCallJson

from ..wire import call, codes, delta, finish, read

F = ("f", {"a": 1})
G = ("g", {"b": 2})


class Case(NamedTuple):
    what: str
    fragments: list[bytes]
    calls: list[tuple[str, str, object]]
    codes: set[str]


CASES = [
    Case("no index: the next fragment continues the last call", [call(id="c1", name="f", arguments='{"a":'), call(arguments="1}")], [("c1", *F)], set()),
    Case("no index: another id and name is another call", [call(id="c1", name="f", arguments='{"a":1}'), call(id="c2", name="g", arguments='{"b":2}')], [("c1", *F), ("c2", *G)], set()),
    Case("no index: a known id finds its call", [call(id="c1", name="f", arguments='{"a"'), call(id="c2", name="g", arguments='{"b":2}'), call(id="c1", arguments=":1}")], [("c1", *F), ("c2", *G)], set()),
    Case("indices are keys, not positions", [call(1, "c1", "f", ""), call(4, "c2", "g", '{"b":2}'), call(1, arguments='{"a":1}')], [("c1", *F), ("c2", *G)], set()),
    Case("one index, another id and a name: another call", [call(0, "c1", "f", '{"a":1}'), call(0, "c2", "g", '{"b":2}')], [("c1", *F), ("c2", *G)], set()),
    Case("one index, fresh ids without a name: one call", [call(0, "r1", "f", ""), call(0, "r2", "", '{"a"'), call(0, "r3", arguments=":1}")], [("r1", *F)], set()),
    Case("blank id and name are not said", [call(0, "c1", "f", ""), call(0, "", "", '{"a"'), call(0, "", "", ":1}")], [("c1", *F)], set()),
    Case("a repeated id is not a second one", [call(0, "c1", "f", '{"a"'), call(0, "c1", arguments=":1}")], [("c1", *F)], set()),
    Case("a repeated name is not a second one", [call(0, "c1", "f", '{"a"'), call(0, name="f", arguments=":1}")], [("c1", *F)], set()),
    Case("a repeated id and name without index is one call", [call(id="c1", name="f", arguments='{"a"'), call(id="c1", name="f", arguments=":1}")], [("c1", *F)], set()),
    Case("no id: one is minted", [call(0, name="f", arguments=""), call(0, arguments='{"a":1}')], [("call_1", *F)], set()),
    Case("no id, two calls: two are minted", [call(0, name="f", arguments='{"a":1}'), call(1, name="g", arguments='{"b":2}')], [("call_1", *F), ("call_2", *G)], set()),
    Case("a minted id gives way to one the provider took", [call(0, "call_1", "f", '{"a":1}'), call(1, name="g", arguments='{"b":2}')], [("call_1", *F), ("call_2", *G)], set()),
    Case("a provider's id that equals a minted one is still new", [call(0, name="f", arguments='{"a":1}'), call(1, "call_1", "g", '{"b":2}')], [("call_1", *F), ("call_2", *G)], {"duplicate_id"}),
    Case("the name comes late", [call(0, "c1", arguments='{"a"'), call(0, name="f", arguments=":1}")], [("c1", *F)], set()),
    Case("the names of two calls come late", [call(0, "c1", arguments='{"a"'), call(1, "c2", arguments='{"b"'), call(0, name="f", arguments=":1}"), call(1, name="g", arguments=":2}")], [("c1", *F), ("c2", *G)], set()),
    Case("the id comes late", [call(0, name="f", arguments='{"a"'), call(0, "c1", arguments=":1}")], [("call_1", *F)], {"late_id"}),
    Case("two calls have one id", [call(0, "f:0", "f", '{"a":1}'), call(1, "f:0", "g", '{"b":2}')], [("f:0", *F), ("call_1", *G)], {"duplicate_id"}),
    Case("fragments interleave", [call(0, "c1", "f", '{"a"'), call(1, "c2", "g", '{"b"'), call(0, arguments=":1}"), call(1, arguments=":2}")], [("c1", *F), ("c2", *G)], set()),
    Case("arguments under another index than the call", [call(0, "c1", "f", ""), call(1, arguments='{"a":'), call(1, arguments="1}")], [("c1", *F)], {"index_mismatch"}),
    Case("a known id under another index", [call(0, "c1", "f", '{"a":'), call(1, "c1", arguments="1}")], [("c1", *F)], set()),
    Case("another name at the same index", [call(0, "c1", "f", '{"a":'), call(0, name="g", arguments="1}")], [("c1", *F)], {"name_conflict"}),
    Case("two entries of one index in one chunk", [delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "f"}}, {"index": 0, "function": {"arguments": '{"a"'}}]), call(0, arguments=":1}")], [("c1", *F)], set()),
    Case("arguments after the finish reason", [call(0, "c1", "f", '{"a":'), finish("tool_calls"), call(0, arguments="1}")], [("c1", *F)], set()),
]  # fmt: skip  # one case a line reads as the table it is


def found(response: AccumulatedResponse) -> list[tuple[str, str, object]]:
    return [(one.id, one.name, one.arguments) for one in response.tool_calls]


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_which_call_a_fragment_belongs_to(case: Case) -> None:
    response = read(*case.fragments, finish("tool_calls"))
    assert found(response) == case.calls
    assert codes(response) == case.codes


def test_a_minted_id_says_so() -> None:
    response = read(call(0, "call_1", "f", "{}"), call(1, name="g", arguments="{}"), finish("tool_calls"))
    assert [(one.id, one.minted) for one in response.tool_calls] == [("call_1", False), ("call_2", True)]


def test_a_fragment_that_names_nothing_is_a_call_without_a_name() -> None:
    (error,) = read(call(0, arguments="{}"), finish("tool_calls")).errors
    assert isinstance(error, InvalidToolCallJson)
    assert (error.cause, error.raw_arguments) == ("unnamed", "{}")


class Quirks(NamedTuple):
    """How a server of the kind deviates, so that members nobody listed are tried."""

    indexed: bool
    ids: bool
    repeat_id: bool
    repeat_name: bool
    blank: bool
    base: int


QUIRKS = st.builds(
    Quirks, indexed=st.booleans(), ids=st.booleans(), repeat_id=st.booleans(), repeat_name=st.booleans(), blank=st.booleans(),
    base=st.integers(0, 7),
)  # fmt: skip
ARGUMENTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=8), min_size=1, max_size=3)


@given(QUIRKS, st.lists(st.tuples(ARGUMENTS, st.integers(1, 9)), min_size=1, max_size=4), st.booleans())
def test_any_mix_of_quirks_gives_the_calls_that_were_made(
    quirks: Quirks, calls: list[tuple[dict[str, object], int]], interleaved: bool
) -> None:
    """Calls with or without index and id, repeated or blank identity, cut into pieces, one after another or mixed."""
    streams = []
    for at, (arguments, size) in enumerate(calls):
        text = json.dumps(arguments, ensure_ascii=False)
        pieces = [text[place : place + size] for place in range(0, len(text), size)]
        fragments = []
        for place, piece in enumerate(pieces):
            first = place == 0
            id = f"id{at}" if quirks.ids and (first or quirks.repeat_id) else "" if quirks.blank and not first else None
            name = f"n{at}" if first or (quirks.repeat_name and (quirks.indexed or id)) else "" if quirks.blank else None
            fragments.append(call(quirks.base + at * 2 if quirks.indexed else None, id, name, piece))
        streams.append(fragments)
    if interleaved and quirks.indexed:
        longest = max([len(fragments) for fragments in streams])
        wire = [fragments[place] for place in range(longest) for fragments in streams if place < len(fragments)]
    else:
        wire = [fragment for fragments in streams for fragment in fragments]
    response = read(*wire, finish("tool_calls"))
    assert [(one.name, one.arguments) for one in response.tool_calls] == [(f"n{at}", made) for at, (made, _) in enumerate(calls)]
    assert response.complete
