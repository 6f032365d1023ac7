"""The table of a run: total, reachable, and the diagram of the docs."""

import re
from itertools import product
from pathlib import Path

import pytest

from streamaccumulator.runtime.turn import ENDS, START, TABLE, Outcome, State, diagram, resolve

DOCS = Path(__file__).parents[2] / "docs/runtime.md"


@pytest.mark.parametrize(("state", "outcome"), list(product(State, Outcome)))
def test_every_pair_leads_somewhere(state: State, outcome: Outcome) -> None:
    after = resolve(state, outcome)
    if state in ENDS:
        assert after is state
    else:
        assert after is TABLE[state].get(outcome, State.FAILED)


def test_every_state_has_a_row_or_is_an_end() -> None:
    assert set(TABLE) | ENDS == set(State)
    assert not set(TABLE) & ENDS


def test_every_outcome_has_business_somewhere() -> None:
    assert {outcome for row in TABLE.values() for outcome in row} == set(Outcome)


def test_every_state_is_reached_and_reaches_an_end() -> None:
    reached, todo = set(), [START]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += TABLE.get(state, {}).values()
    assert reached == set(State)
    ending = set(ENDS)
    for _ in State:
        ending |= {state for state, row in TABLE.items() if ending & set(row.values())}
    assert ending == set(State)


def test_tools_run_only_after_an_answer_and_each_turn_that_has_one_is_persisted() -> None:
    """What leads to the tools, and where a turn may end with something said."""
    assert {state for state, row in TABLE.items() if State.EXECUTING_TOOLS in row.values()} == {
        State.PROCESSING_RESPONSE,
        State.CHECKING_POLICY,
    }
    assert {state for state, row in TABLE.items() if State.COMPLETED in row.values()} == {State.PERSISTING}
    assert {state for state, row in TABLE.items() if State.CALLING_MODEL in row.values()} == {State.BUILDING_CONTEXT}


def test_the_docs_have_the_diagram_of_the_table() -> None:
    shown = re.search(r"```mermaid\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == diagram()
