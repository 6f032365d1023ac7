"""One run: what is done in each state of the table. `turn.resolve` says which state is next, and nothing here does."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from .._log import logger
from ..errors import AccumulatorError, InvalidToolCallJson
from ..messages import FinishReason, Message, TokenUsage, ToolCall, UserMessage
from ..response import AccumulatedResponse
from ..stream import AsyncChatStream
from .events import (
    AgentEvent,
    Discarded,
    Problem,
    RunFinished,
    RunOutput,
    RuntimePolicy,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from .held import Held
from .model import Model
from .sessions import SavedTurn, Sessions, ToolExecution
from .telling import CANCELLED, GO_ON, NOT_RUN, SAME_AGAIN, came, is_empty, paused, refusal, refused, text_of
from .tools import Tool
from .turn import ENDS, START, Outcome, State, resolve

T = TypeVar("T")
Emit = Callable[[AgentEvent], Awaitable[object]]

_LOGGED = 2000
"""Characters of a cut answer that are logged."""


class _Stopped(Exception):
    """What was waited for is not waited for any more: cancelled, or too late."""


class Run:
    """One run of a session. Memory: the conversation."""

    def __init__(
        self,
        model: Model,
        tools: Mapping[str, Tool],
        policy: RuntimePolicy,
        sessions: Sessions,
        session_id: str | None,
        input: Sequence[Message],
        emit: Emit,
    ) -> None:
        self.session_id = session_id
        self._model = model
        self._tools = tools
        self._policy = policy
        self._session = Held(sessions, session_id or "")
        self._emit = emit
        self._input = tuple(input)
        self._turns: list[SavedTurn] = []
        self._before = 0
        """Turns that were there, and closed, when the run began."""
        self._open: SavedTurn | None = None
        """The turn that is not closed yet."""
        self._resumed = False
        """Whether the open turn is of an earlier run, so that the input comes after it."""
        self._executions: dict[str, ToolExecution] = {}
        """Those of the open turn, by the ids of its calls."""
        self._told: set[str] = set()
        """The calls of the open turn whose end was told."""
        self._stream: AsyncChatStream | None = None
        self._response: AccumulatedResponse | None = None
        self._answer = Outcome.RESPONSE
        self._then = Outcome.PERSISTED
        """What comes of persisting, if nothing goes wrong."""
        self._usage: TokenUsage | None = None
        self._problems: list[Problem] = []
        self._iterations = 0
        self._empty_in_a_row = 0
        """Answers, up to the newest, of which nothing came."""
        self._in_a_row: dict[tuple[str, str], int] = {}
        """Turns in a row, up to the newest, in which a call was made."""
        self._cancelled = False
        self._scope: asyncio.Timeout | None = None
        self._loop = asyncio.get_running_loop()

    def cancel(self) -> None:
        """Stop whatever is waited for. From any thread."""
        with suppress(RuntimeError):  # the loop was closed, and the run with it
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._cancelled = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(0)

    async def drive(self) -> RunOutput:
        """From the first state to an end."""
        state = State.CANCELLED
        try:
            if await self._session.take(lambda: self._cancelled):
                await self._resume()
                state = START
                while state not in ENDS:
                    state = resolve(state, await _DOES[state](self))
        finally:
            self._session.release()
        output = self._output(state)
        await self._emit(RunFinished(output))
        return output

    async def _resume(self) -> None:
        """What the session holds. A turn that was stopped among its tools is open still."""
        self._turns = await self._session.load()
        if self._turns and not self._turns[-1].closed:
            self._open, self._resumed = self._turns.pop(), True
            self._response = self._open.response
            self._executions = {one.call_id: one.ended() for one in self._open.executions}
            self._count(self._open.response)
        elif not self._input and not (self._turns and self._goes_on(self._turns[-1])):
            raise ValueError("there is nothing to go on with: give an input")
        self._before = len(self._turns)

    # ---- CHECKING_POLICY and BUILDING_CONTEXT.

    async def _check(self) -> Outcome:
        policy, usage = self._policy, self._usage
        spent = (usage.input_total or 0) + (usage.output_total or 0) if usage is not None else 0
        if self._cancelled:
            return Outcome.CANCELLED
        if self._open is not None:
            self._then = Outcome.PERSISTED
            return Outcome.UNFINISHED_TURN
        if self._iterations >= policy.max_iterations:
            await self._tell("max_iterations", f"the model was asked {self._iterations} times, and may not be again")
            return Outcome.POLICY_EXHAUSTED
        if policy.max_tokens is not None and spent >= policy.max_tokens:
            await self._tell("max_tokens", f"{spent} tokens are spent, of {policy.max_tokens}")
            return Outcome.POLICY_EXHAUSTED
        return Outcome.OK

    async def _build(self) -> Outcome:
        messages = self._messages()
        most = self._policy.max_context_bytes
        if most is not None and (size := len(msgspec.json.encode(messages))) > most:
            await self._tell("context_over_budget", f"the messages are {size} bytes of JSON, and may be {most}")
            return Outcome.CONTEXT_OVER_BUDGET
        specs = [one.spec for one in self._tools.values()]
        sources = [turn.source for turn in self._turns for _ in turn.messages] + [None] * len(self._input)
        foreign = any(source not in (None, self._protocol) for source in sources)
        more: dict[str, Any] = {"source": sources} if foreign and self._protocol is not None else {}
        try:
            self._stream = self._model.stream(messages, specs, **more)
        except (ValueError, AccumulatorError) as fault:
            await self._tell("request_refused", str(fault))
            return Outcome.REQUEST_REFUSED
        return Outcome.OK

    @property
    def _protocol(self) -> str | None:
        """What the model says its protocol is; one that does not gets its messages as they are."""
        return getattr(self._model, "protocol", None)

    # ---- CALLING_MODEL.

    async def _call(self) -> Outcome:
        assert self._stream is not None
        self._iterations += 1
        await self._emit(TurnStarted(self._number))
        seconds = self._policy.model_timeout
        deadline = self._loop.time() + seconds if seconds is not None else None
        late = False
        async with self._stream as stream:
            try:
                while (event := await self._bounded(lambda: anext(stream, None), deadline)) is not None:
                    await self._emit(event)
            except _Stopped:
                late = not self._cancelled and deadline is not None and self._loop.time() >= deadline
            except InvalidToolCallJson:  # of a stream that fails fast: what came is there
                pass
        self._response = await stream.finalize(strict=False)
        if self._response.usage is not None:
            self._usage = self._response.usage if self._usage is None else self._usage + self._response.usage
        if late:
            await self._tell("model_timeout", f"the answer took longer than {seconds:g} seconds")
        for error in self._response.errors:
            await self._tell(type(error).__name__, str(error), getattr(error, "call_id", ""), error)
        self._answer = came(self._response, stream.begun)
        if self._cancelled:
            self._begin_turn(self._response, ())
            await self._stop_calls(self._response.tool_calls)
            return Outcome.CANCELLED
        self._empty_in_a_row = self._empty_in_a_row + 1 if is_empty(self._response) else 0
        if self._answer is Outcome.TRUNCATED and self._empty_in_a_row > 1:
            await self._tell("no_answer", "nothing came of the model, and nothing when it was asked again")
            return Outcome.PROVIDER_ERROR
        return self._answer

    async def _bounded(self, what: Callable[[], Awaitable[T]], deadline: float | None = None) -> T:
        """What is waited for, until the deadline, or until the run is cancelled, or it is itself: then _Stopped."""
        if self._cancelled:
            raise _Stopped
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        try:
            async with asyncio.timeout_at(deadline) as scope:
                self._scope = scope
                return await what()
        except TimeoutError:
            if not scope.expired():
                raise
            raise _Stopped from None
        except asyncio.CancelledError:
            if task.cancelling() > before:
                raise
            raise _Stopped from None  # nobody cancelled this task: what it waited for was
        finally:
            self._scope = None

    # ---- PROCESSING_RESPONSE.

    async def _process(self) -> Outcome:
        response, policy = self._response, self._policy
        assert response is not None
        cut = self._answer is Outcome.TRUNCATED
        if cut:
            self._log(response)
            if policy.on_truncated == "fail":
                return Outcome.GIVEN_UP
            if policy.on_truncated == "retry":
                await self._emit(Discarded(self._number))
                return Outcome.DISCARDED
        longer = response.finish_reason is FinishReason.LENGTH and policy.on_length == "continue"
        after: list[Message] = [refusal(error) for error in response.errors if isinstance(error, InvalidToolCallJson)]
        if not response.tool_calls and not after and (cut or longer) and response.message.content:
            after = [UserMessage(GO_ON)]
        turn = self._begin_turn(response, tuple(after))
        goes_on = self._goes_on(turn) or (cut and not response.message.content)
        self._then = Outcome.PERSISTED if goes_on else Outcome.ANSWERED
        if response.tool_calls:
            try:
                await self._session.save_turn(turn)
            except Exception as fault:  # noqa: BLE001  # whatever a store raises, the answer is there and is told
                return await self._fault(fault)
            return Outcome.WITH_CALLS
        return Outcome.GO_ON if goes_on else Outcome.WITHOUT_CALLS

    def _log(self, response: AccumulatedResponse) -> None:
        begins = f"; it begins: {response.text[:_LOGGED]}" if self._policy.log_partial_text else ""
        logger("runtime").warning("an answer was cut: %s%s", response.gravest_error or "nothing came", begins)

    def _begin_turn(self, response: AccumulatedResponse, after: tuple[Message, ...]) -> SavedTurn:
        self._open = SavedTurn(self._number, self._input, response, self._protocol, after)
        self._executions, self._told = {}, set()
        self._count(response)
        return self._open

    def _count(self, response: AccumulatedResponse) -> None:
        """In how many turns in a row each call was made."""
        keys = {(call.name, call.arguments_raw) for call in response.tool_calls}
        self._in_a_row = {key: self._in_a_row.get(key, 0) + 1 for key in keys}

    @staticmethod
    def _goes_on(turn: SavedTurn) -> bool:
        """Whether the model is asked again after a turn."""
        return bool(turn.response.tool_calls or turn.after or paused(turn.response))

    # ---- EXECUTING_TOOLS.

    async def _execute(self) -> Outcome:
        """The calls that have no result yet, at once; their results in the order of the calls."""
        assert self._open is not None
        gate = asyncio.Semaphore(self._policy.max_parallel_tools)
        missing = [call for call in self._open.response.tool_calls if call.id not in self._executions]
        waiting = [self._run_tool(call, gate) for call in missing]

        async def all_of_them() -> None:
            async with asyncio.TaskGroup() as group:
                for one in waiting:
                    group.create_task(one)

        try:
            await self._bounded(all_of_them)
        except _Stopped:
            for one in waiting:
                one.close()
            await self._stop_calls(missing)
            return Outcome.CANCELLED
        except ExceptionGroup as faults:
            return await self._fault(faults.exceptions[0])
        return Outcome.OK

    async def _stop_calls(self, calls: Sequence[ToolCall]) -> None:
        """What becomes of the calls of a run that was cancelled; each has its end told, once."""
        self._then = Outcome.CANCELLED
        for call in calls:
            ended = self._executions.get(call.id, refused(call, CANCELLED)).ended()
            self._executions[call.id] = ended
            if call.id not in self._told:
                await self._emit(ToolFinished(self._number, ended))

    async def _run_tool(self, call: ToolCall, gate: asyncio.Semaphore) -> None:
        async with gate:
            began, number = time.monotonic(), self._number
            one, times = self._tools.get(call.name), self._in_a_row[(call.name, call.arguments_raw)]
            if one is None:
                known = ", ".join(self._tools) or "none"
                ended = refused(call, f"there is no tool {call.name!r}; there are: {known}")
            elif times > self._policy.max_same_calls:
                ended = refused(call, SAME_AGAIN.format(times=times))
                await self._tell("same_call_again", f"{call.name}: {ended.content}", call.id)
            else:
                started = ToolExecution(call.id, call.name)
                await self._session.save_execution(number, started)
                self._executions[call.id] = started
                await self._emit(ToolStarted(number, call))
                result = await one.run(call, self._policy.tool_timeout)
                ended = ToolExecution(call.id, call.name, "done", result.content, result.is_error, time.monotonic() - began)
            self._executions[call.id] = ended
            await self._session.save_execution(number, ended)
            self._told.add(call.id)
            await self._emit(ToolFinished(number, ended))

    # ---- PERSISTING.

    async def _persist(self) -> Outcome:
        """The turn is closed, with what its tools came to. One that was cut before anything was said is none."""
        assert self._open is not None
        order = [call.id for call in self._open.response.tool_calls]
        executions = tuple([self._executions[id].ended() for id in order])
        turn = msgspec.structs.replace(self._open, executions=executions, closed=True)
        if turn.response.message.content or turn.after or self._then is Outcome.ANSWERED:
            try:
                await self._session.save_turn(turn)
            except Exception as fault:  # noqa: BLE001  # whatever a store raises, the answer is there and is told
                return await self._fault(fault)
            self._turns.append(turn)
            self._input = self._input if self._resumed else ()
            await self._emit(TurnFinished(turn.number, turn.response))
        self._open, self._resumed = None, False
        return self._then

    # ---- What is told.

    @property
    def _number(self) -> int:
        return len(self._turns) + 1

    def _messages(self) -> list[Message]:
        return [*[message for turn in self._turns for message in turn.messages], *self._input]

    async def _tell(self, code: str, message: str, call_id: str = "", error: AccumulatorError | None = None) -> None:
        problem = Problem(code, message, self._number, call_id, error)
        self._problems.append(problem)
        await self._emit(problem)

    async def _fault(self, fault: BaseException) -> Outcome:
        logger("runtime").error("a session could not be saved", exc_info=fault)
        await self._tell("session_not_saved", f"{type(fault).__name__}: {fault}")
        return Outcome.FAULT

    def _output(self, state: State) -> RunOutput:
        rest = list(self._input)
        executions = [one for turn in self._turns[self._before :] for one in turn.executions]
        if self._open is not None:  # what could not be saved is told all the same
            found, calls = self._executions, self._open.response.tool_calls
            ended = tuple([found.get(call.id, refused(call, NOT_RUN)).ended() for call in calls])
            turn = msgspec.structs.replace(self._open, executions=ended)
            executions += ended
            rest = [*turn.messages, *(rest if self._resumed else ())]
        return RunOutput(
            state,
            self._response,
            text_of(self._response, self._turns[self._before :]),
            (*[message for turn in self._turns for message in turn.messages], *rest),
            self._usage,
            tuple(executions),
            tuple(self._problems),
            self._iterations,
        )


_DOES: dict[State, Callable[[Run], Awaitable[Outcome]]] = {
    State.CHECKING_POLICY: Run._check,
    State.BUILDING_CONTEXT: Run._build,
    State.CALLING_MODEL: Run._call,
    State.PROCESSING_RESPONSE: Run._process,
    State.EXECUTING_TOOLS: Run._execute,
    State.PERSISTING: Run._persist,
}
