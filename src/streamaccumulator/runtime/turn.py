"""The state machine of a run: which state follows, by what came of the one before. One table, pure, and total.

A run goes round: each time is a turn, one answer of the model and the calls it made. `resolve` alone says where it goes, for
every pair of a state and an outcome; a pair that has no business to occur is FAILED. `make diagram` writes the table as the
diagram of `docs/runtime.md`.
"""

import enum
from collections.abc import Iterator


class State(enum.StrEnum):
    """Where a run is."""

    CHECKING_POLICY = "checking_policy"
    """May the model be asked once more?"""
    BUILDING_CONTEXT = "building_context"
    """What it is asked: the messages, as a request."""
    CALLING_MODEL = "calling_model"
    """The answer's stream is read into a StreamAccumulator."""
    PROCESSING_RESPONSE = "processing_response"
    """What the answer asks for."""
    EXECUTING_TOOLS = "executing_tools"
    """The calls run."""
    PERSISTING = "persisting"
    """The turn is committed."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(enum.StrEnum):
    """What came of a state."""

    OK = "ok"
    """Nothing stands in the way."""
    UNFINISHED_TURN = "unfinished_turn"
    """The session was stopped among the tools of a turn."""
    POLICY_EXHAUSTED = "policy_exhausted"
    """The model may not be asked again."""
    CONTEXT_OVER_BUDGET = "context_over_budget"
    """The messages are more than the policy allows."""
    REQUEST_REFUSED = "request_refused"
    """The messages are no conversation that a provider would take."""
    RESPONSE = "response"
    """A whole answer, or one with a call that cannot be used."""
    TRUNCATED = "truncated"
    """An answer that was cut, or of which a part could not be read."""
    PROVIDER_ERROR = "provider_error"
    """No answer: the provider, the connection, or the bytes, say so."""
    WITH_CALLS = "with_calls"
    """There are calls to run."""
    WITHOUT_CALLS = "without_calls"
    """There are none: this is what was asked for."""
    GO_ON = "go_on"
    """There are none, and the model is to say more: it was cut, reached its bound, or made a call that was refused."""
    DISCARDED = "discarded"
    """A cut answer is thrown away, to be asked for again."""
    GIVEN_UP = "given_up"
    """A cut answer is the end, by policy."""
    PERSISTED = "persisted"
    """The turn stands, and the model is asked again."""
    ANSWERED = "answered"
    """The turn stands, and is the last."""
    CANCELLED = "cancelled"
    """Somebody wants no more of it."""
    FAULT = "fault"
    """The session could not be read or written."""


START = State.CHECKING_POLICY
ENDS = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})

TABLE: dict[State, dict[Outcome, State]] = {
    State.CHECKING_POLICY: {
        Outcome.OK: State.BUILDING_CONTEXT,
        Outcome.UNFINISHED_TURN: State.EXECUTING_TOOLS,
        Outcome.POLICY_EXHAUSTED: State.FAILED,
        Outcome.CANCELLED: State.CANCELLED,
    },
    State.BUILDING_CONTEXT: {
        Outcome.OK: State.CALLING_MODEL,
        Outcome.CONTEXT_OVER_BUDGET: State.FAILED,
        Outcome.REQUEST_REFUSED: State.FAILED,
    },
    State.CALLING_MODEL: {
        Outcome.RESPONSE: State.PROCESSING_RESPONSE,
        Outcome.TRUNCATED: State.PROCESSING_RESPONSE,
        Outcome.PROVIDER_ERROR: State.FAILED,
        Outcome.CANCELLED: State.PERSISTING,
    },
    State.PROCESSING_RESPONSE: {
        Outcome.WITH_CALLS: State.EXECUTING_TOOLS,
        Outcome.WITHOUT_CALLS: State.PERSISTING,
        Outcome.GO_ON: State.PERSISTING,
        Outcome.DISCARDED: State.CHECKING_POLICY,
        Outcome.GIVEN_UP: State.FAILED,
        Outcome.FAULT: State.FAILED,
    },
    State.EXECUTING_TOOLS: {
        Outcome.OK: State.PERSISTING,
        Outcome.CANCELLED: State.PERSISTING,
        Outcome.FAULT: State.FAILED,
    },
    State.PERSISTING: {
        Outcome.PERSISTED: State.CHECKING_POLICY,
        Outcome.ANSWERED: State.COMPLETED,
        Outcome.CANCELLED: State.CANCELLED,
        Outcome.FAULT: State.FAILED,
    },
}
"""What has business to occur. An end has no outcome."""


def resolve(state: State, outcome: Outcome) -> State:
    """The state after `state`, of which `outcome` came. An end stays what it is."""
    if state in ENDS:
        return state
    return TABLE[state].get(outcome, State.FAILED)


def diagram() -> str:
    """The table as a state diagram of Mermaid: https://mermaid.js.org/syntax/stateDiagram.html"""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "stateDiagram-v2"
    yield f"    [*] --> {START.name}"
    for state, row in TABLE.items():
        reached: dict[State, list[str]] = {}
        for outcome, after in row.items():
            reached.setdefault(after, []).append(outcome.value.replace("_", " "))
        for after, said in reached.items():
            yield f"    {state.name} --> {after.name}: {', '.join(said)}"
    for end in sorted(ENDS):
        yield f"    {end.name} --> [*]"
