"""What a run tells while it goes, and what it comes to. The model's own events stand between them as they come."""

from typing import Literal

from .._record import Record
from ..errors import AccumulatorError
from ..events import ChatStreamEvent
from ..messages import AssistantMessage, FinishReason, Message, TokenUsage, ToolCall
from ..response import AccumulatedResponse
from .sessions import ToolExecution
from .turn import State


class RuntimePolicy(Record, frozen=True, kw_only=True):
    """What a run may cost, and what becomes of answers that are cut. Times are in seconds; None is no bound.

    Raises ValueError for a number of iterations, tools or calls below 1.
    """

    max_iterations: int = 10
    """Answers of the model in one run."""
    max_tokens: int | None = None
    """Input and output tokens of one run, as the provider counts them: when they are spent, the model is not asked again."""
    max_context_bytes: int | None = None
    """Bytes of the messages as JSON: a longer conversation is not sent."""
    model_timeout: float | None = None
    """For one answer, to its end. Later it counts as cut."""
    tool_timeout: float | None = 120.0
    """For one call, of tools without a timeout of their own."""
    max_parallel_tools: int = 8
    max_same_calls: int = 5
    """Turns in a row in which a call with the same arguments is run; then it is refused, and the model told so."""
    on_truncated: Literal["continue", "retry", "fail"] = "continue"
    """An answer that was cut: `continue` keeps it, runs the calls that had ended, and asks the model to go on; `retry` throws it
    away, without running anything, and asks again; `fail` ends the run."""
    on_length: Literal["stop", "continue"] = "stop"
    """An answer without calls that reached its bound of tokens: whether the model is asked to go on."""
    log_partial_text: bool = True
    """Whether the first 2,000 characters of a cut answer are logged."""

    def __post_init__(self) -> None:
        for name in ("max_iterations", "max_parallel_tools", "max_same_calls"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, and has to be 1 or more")


class Problem(Record, frozen=True, tag="problem"):
    """Something went wrong, and what is told of it. `error` is the stream's own, where it is one."""

    code: str
    message: str
    turn: int
    call_id: str = ""
    error: AccumulatorError | None = None


class TurnStarted(Record, frozen=True, tag="turn_started"):
    """The model is asked. Turns are counted over the whole session."""

    turn: int


class TurnFinished(Record, frozen=True, tag="turn_finished"):
    """A turn stands: its answer, and all calls have ended."""

    turn: int
    response: AccumulatedResponse


class Discarded(Record, frozen=True, tag="discarded"):
    """What came of this turn so far does not count: the model is asked again."""

    turn: int


class ToolStarted(Record, frozen=True, tag="tool_started"):
    """A call is being run."""

    turn: int
    call: ToolCall


class ToolFinished(Record, frozen=True, tag="tool_finished"):
    """A call has ended, or was refused."""

    turn: int
    execution: ToolExecution


class RunOutput(Record, frozen=True):
    """What a run came to. Look at `state`: what is not COMPLETED has told its problems."""

    state: State
    response: AccumulatedResponse | None
    """The last answer, as far as it came; None if the model was not asked."""
    text: str
    """The visible text of the end: of the last answer, and of those before that it went on from."""
    messages: tuple[Message, ...]
    """The whole conversation, with what the session held before."""
    usage: TokenUsage | None
    """Of all answers of this run, discarded ones too; None if none was reported."""
    executions: tuple[ToolExecution, ...]
    """Of this run, in the order of the calls."""
    problems: tuple[Problem, ...]
    iterations: int
    """Answers of the model in this run."""

    @property
    def message(self) -> AssistantMessage:
        """The last answer's message."""
        return self.response.message if self.response is not None else AssistantMessage()

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped."""
        return self.response.finish_reason if self.response is not None else None


class RunFinished(Record, frozen=True, tag="run_finished"):
    """The last event."""

    output: RunOutput


AgentEvent = TurnStarted | TurnFinished | Discarded | ToolStarted | ToolFinished | Problem | RunFinished | ChatStreamEvent
"""What `run_stream` gives: what the runtime does, and between it the events of the model's answers."""
