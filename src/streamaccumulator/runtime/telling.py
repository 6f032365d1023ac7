"""What an answer comes to, and what the model is told of what it cannot see: cut answers, refused calls."""

from collections.abc import Sequence

from ..errors import InvalidToolCallJson, LimitExceeded, MalformedChunk, ProviderError, Truncated, UnknownProtocol
from ..messages import ToolCall, UserMessage
from ..response import AccumulatedResponse
from .sessions import SavedTurn, ToolExecution
from .turn import Outcome

GO_ON = "Your answer was cut off. Go on exactly where it ended, and repeat nothing of it."
REFUSED = "{why}. It did not run: make it again, whole, if it is still needed."
CANCELLED = "cancelled: this call did not run"
NOT_RUN = "the run ended before this call was run"
SAME_AGAIN = "refused: this call was made with the same arguments in {times} turns in a row; do something else"


def came(response: AccumulatedResponse, begun: bool) -> Outcome:
    """What came of a call of the model. Where its source failed before it had begun, nobody answers: that is no cut answer."""
    kinds = [type(error) for error in response.errors]
    failed = [error for error in response.errors if isinstance(error, Truncated) and error.reason != "cancelled"]
    if any(kind in (UnknownProtocol, LimitExceeded, ProviderError) for kind in kinds) or (failed and not begun):
        return Outcome.PROVIDER_ERROR
    if MalformedChunk in kinds and is_empty(response):
        return Outcome.PROVIDER_ERROR  # what came is no answer of a model
    nothing = any(note.code == "empty_stream" for note in response.diagnostics)
    if nothing or any(kind in (Truncated, MalformedChunk) for kind in kinds):
        return Outcome.TRUNCATED
    return Outcome.RESPONSE


def is_empty(response: AccumulatedResponse) -> bool:
    """Whether nothing was said, and nothing is known of a call."""
    return not response.message.content and not any(isinstance(error, InvalidToolCallJson) for error in response.errors)


def paused(response: AccumulatedResponse) -> bool:
    """Whether the provider wants its own message back, to go on with it."""
    return any(note.code == "paused" for note in response.diagnostics)


def text_of(response: AccumulatedResponse | None, turns: Sequence[SavedTurn]) -> str:
    """The visible text of the last answer, and before it that of the turns it went on from."""
    if response is None:
        return ""
    texts, before = [response.text], list(turns)
    if before and before[-1].response is response:
        before.pop()
    while before and (before[-1].after == (UserMessage(GO_ON),) or paused(before[-1].response)):
        texts.append(before.pop().response.text)
    return "".join(reversed(texts))


def refused(call: ToolCall, why: str) -> ToolExecution:
    return ToolExecution(call.id, call.name, "refused", why, True)


def refusal(error: InvalidToolCallJson) -> UserMessage:
    """What the model is told of a call that could not be used."""
    return UserMessage(REFUSED.format(why=f"Your {error.what()}"))
