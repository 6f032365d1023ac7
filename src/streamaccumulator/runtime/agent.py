"""AgentRuntime: runs of a model with tools, as many at once as one likes. What a run does is `run.py`, its ways `turn.py`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from .._values import mended, whole
from ..messages import Message, UserMessage
from .events import AgentEvent, RunOutput, RuntimePolicy
from .model import Model
from .run import Emit, Run
from .sessions import MemorySessions, Sessions
from .tools import Tool, by_name

Input = str | Message | Sequence[Message] | None
"""What a run is asked: text is a user's message. None: go on with the session where it stopped."""


class AgentRuntime:
    """A model, tools and a policy. A run asks the model, runs what it calls, and goes round until it answers.

    `tools` are Tools or functions. `sessions` keep conversations between runs; a run without a session id is forgotten.

    Raises ValueError for two tools of one name, and TypeError for a function that cannot be one.
    """

    def __init__(
        self,
        model: Model,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        policy: RuntimePolicy = RuntimePolicy(),
        sessions: Sessions | None = None,
    ) -> None:
        self._model = model
        self._tools = by_name(tools)
        self._policy = policy
        self._sessions = sessions
        self._runs: set[Run] = set()

    async def run(self, input: Input = None, session_id: str | None = None) -> RunOutput:
        """Run to the end. Whatever the model, a tool or the policy does is told in the output, whose `state` says how it ended.

        With a session its turns come before the input; a turn that was stopped among its tools is ended first. Runs of one session
        wait for one another. Raises ValueError where there is nothing to run, and what the sessions raise when they are loaded.
        """
        return await self._drive(input, session_id, _nobody)

    async def run_stream(self, input: Input = None, session_id: str | None = None) -> AsyncIterator[AgentEvent]:
        """The same, with all that happens as it happens; the last event is RunFinished, with the output.

        The run waits for whoever reads. Leaving it (`aclose`) is as if the process was killed: what was saved stays.
        """
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue(maxsize=1)
        task = asyncio.create_task(self._drive(input, session_id, events.put))
        task.add_done_callback(lambda _: events.put_nowait(None) if events.empty() else None)  # wakes a reader who waits
        try:
            while not (task.done() and events.empty()):
                if (event := await events.get()) is not None:
                    yield event
            await task  # raises what ended it
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def run_sync(self, input: Input = None, session_id: str | None = None) -> RunOutput:
        """As `run`, where there is no event loop. Raises RuntimeError where there is one."""
        return asyncio.run(self.run(input, session_id))

    def cancel(self, session_id: str | None = None) -> None:
        """Stop the runs of a session, or all, at once: the stream is closed, tools are left, and what came is kept and saved.

        From any thread. The runs end with the state CANCELLED.
        """
        for run in list(self._runs):
            if session_id in (None, run.session_id):
                run.cancel()

    async def _drive(self, input: Input, session_id: str | None, emit: Emit) -> RunOutput:
        if session_id is not None and self._sessions is None:
            raise ValueError("a session id needs sessions: AgentRuntime(..., sessions=MemorySessions())")
        sessions = MemorySessions() if session_id is None or self._sessions is None else self._sessions
        run = Run(self._model, self._tools, self._policy, sessions, session_id, _messages(input), emit)
        self._runs.add(run)
        try:
            return await run.drive()
        finally:
            self._runs.discard(run)


def _messages(input: Input) -> Sequence[Message]:
    if input is None:
        return ()
    if isinstance(input, str):
        return (UserMessage(whole(input)),)
    return mended((input,) if isinstance(input, Message) else tuple(input), tuple[Message, ...])


async def _nobody(event: AgentEvent) -> None:
    """Nobody listens."""
