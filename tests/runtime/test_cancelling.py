"""Runs that are cancelled or left: at once, and with nothing lost, late, or run twice."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from streamaccumulator import (
    AssistantMessage,
    TextDelta,
    ToolCallEnd,
    UserMessage,
)
from streamaccumulator.runtime import (
    AgentRuntime,
    MemorySessions,
    RunFinished,
    RunOutput,
    RuntimePolicy,
    SqliteSessions,
    State,
    ToolFinished,
    ToolStarted,
)
from streamaccumulator.runtime.sessions import INTERRUPTED, SavedTurn, ToolExecution
from streamaccumulator.runtime.telling import CANCELLED

from ..wire import anthropic, delta
from .scripted import Scripted, add, called, said, tool_use


def cancelled_at(kind: type, runtime: AgentRuntime, session: str | None = None) -> RunOutput:
    async def main() -> RunOutput:
        async for event in runtime.run_stream("Go", session):
            if isinstance(event, kind):
                runtime.cancel(session)
            if isinstance(event, RunFinished):
                return event.output
        raise AssertionError("a run ends in its output")

    return asyncio.run(asyncio.wait_for(main(), 10))


def test_cancelling_closes_the_stream_and_keeps_what_came() -> None:
    model, sessions = Scripted([delta(content="Hel"), 60.0], said("Yes")), MemorySessions()
    runtime = AgentRuntime(model, sessions=sessions)
    output = cancelled_at(TextDelta, runtime, "s")
    assert (output.state, output.text, model.closed) == (State.CANCELLED, "Hel", 1)
    assert [turn.response.text for turn in sessions.load("s")] == ["Hel"]
    assert runtime.run_sync("And?", "s").text == "Yes"
    assert [type(message) for message in model.asked[1]] == [UserMessage, AssistantMessage, UserMessage]


def test_cancelling_among_tools() -> None:
    stopped = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    model = Scripted(called(("c1", "slow", "{}"), ("c2", "add", '{"a": 1, "b": 1}'), ("c3", "slow", "{}")), said("Yes"))
    sessions = MemorySessions()
    runtime = AgentRuntime(model, [slow, add], RuntimePolicy(max_parallel_tools=2), sessions)
    output = cancelled_at(ToolFinished, runtime, "s")
    assert output.state is State.CANCELLED
    assert [one.state for one in output.executions][:2] == ["interrupted", "done"]
    assert stopped
    (turn,) = sessions.load("s")
    assert turn.closed
    assert {one.content for one in turn.executions} <= {INTERRUPTED, "2", CANCELLED}
    assert len(turn.executions) == 3
    assert runtime.run_sync(None, "s").text == "Yes"


def test_each_tool_that_started_is_told_to_have_ended() -> None:
    """Those of a cancelled run too, and those that never started."""

    async def slow() -> None:
        await asyncio.sleep(60)

    runtime = AgentRuntime(
        Scripted(called(("c1", "add", '{"a": 1, "b": 1}'), ("c2", "slow", "{}"), ("c3", "add", '{"a": 2, "b": 1}'))),
        [slow, add],
        RuntimePolicy(max_parallel_tools=1),
    )

    async def main() -> tuple[list[str], list[tuple[str, str]]]:
        began: list[str] = []
        ended: list[tuple[str, str]] = []
        async for event in runtime.run_stream("Go"):
            if isinstance(event, ToolStarted):
                began.append(event.call.id)
                if event.call.id == "c2":
                    runtime.cancel()
            elif isinstance(event, ToolFinished):
                ended.append((event.execution.call_id, event.execution.state))
        return began, ended

    began, ended = asyncio.run(main())
    assert began == ["c1", "c2"]
    assert ended == [("c1", "done"), ("c2", "interrupted"), ("c3", "refused")]


def test_a_run_whose_loop_is_gone_hinders_no_other() -> None:
    runtime = AgentRuntime(Scripted([60.0], [60.0]))
    lost = asyncio.new_event_loop()
    task = lost.create_task(runtime.run("Go"))
    lost.run_until_complete(asyncio.sleep(0.01))
    lost.close()

    async def main() -> RunOutput:
        running = asyncio.create_task(runtime.run("Go"))
        await asyncio.sleep(0.01)
        runtime.cancel()
        return await running

    assert asyncio.run(main()).state is State.CANCELLED
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # no part of its type; it is no news here
    task.get_coro().close()


def test_cancelling_a_run_that_waits_for_its_session() -> None:
    sessions = MemorySessions()
    release = sessions.take("s")
    assert release is not None
    runtime = AgentRuntime(Scripted(), sessions=sessions)

    async def main() -> RunOutput:
        waiting = asyncio.create_task(runtime.run("Go", "s"))
        await asyncio.sleep(0)
        runtime.cancel("s")
        return await asyncio.wait_for(waiting, 5)

    output = asyncio.run(main())
    assert (output.state, output.iterations, output.messages) == (State.CANCELLED, 0, (UserMessage("Go"),))
    release()


class SlowSessions(MemorySessions):
    """Each commit takes a while; what was committed, and whether the session was still taken."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, bool]] = []
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
        self.reached.set()
        self.go_on.wait(10)
        super().save_execution(session_id, number, execution)
        self.log.append((execution.state, self.take(session_id) is None))


@pytest.mark.parametrize("how", ["cancel", "leave"])
def test_no_commit_comes_late(how: str) -> None:
    """Whoever stops a run in the middle of a commit waits for it: it stands before whatever comes after, and is the run's."""
    sessions = SlowSessions()
    runtime = AgentRuntime(Scripted(called(("c1", "add", '{"a": 1, "b": 2}'))), [add], sessions=sessions)

    async def main() -> None:
        task = asyncio.create_task(runtime.run("Go", "s"))
        await asyncio.to_thread(sessions.reached.wait, 10)
        for _ in range(2):  # being stopped twice is no different
            runtime.cancel() if how == "cancel" else task.cancel()
            await asyncio.sleep(0.02)
        assert not task.done()
        sessions.go_on.set()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled() == (how == "leave")

    asyncio.run(main())
    assert sessions.log == [("started", True)]
    (turn,) = sessions.load("s")
    assert [one.state for one in turn.executions] == ["refused" if how == "cancel" else "started"]  # it did not run
    assert turn.closed == (how == "cancel")


def test_a_result_that_is_there_when_a_run_is_cancelled_stays() -> None:
    runtime: AgentRuntime

    class CancelledMeanwhile(MemorySessions):
        def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
            if execution.state == "done":
                runtime.cancel()
                time.sleep(0.05)
            super().save_execution(session_id, number, execution)

    sessions = CancelledMeanwhile()
    runtime = AgentRuntime(Scripted(called(("c1", "add", '{"a": 1, "b": 2}'))), [add], sessions=sessions)
    output = runtime.run_sync("Go", "s")
    assert output.state is State.CANCELLED
    assert [(one.state, one.content) for one in output.executions] == [("done", "3")]
    assert sessions.load("s")[0].executions == output.executions


def test_calls_that_were_cancelled_never_run(tmp_path: Path) -> None:
    """Also where the process dies right after: a turn is closed with all that it has, at once."""

    class Dies(SqliteSessions):
        dead = False

        def save_turn(self, session_id: str, turn: SavedTurn) -> None:
            super().save_turn(session_id, turn)
            self.dead = turn.closed

        def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
            assert not self.dead

    call = [*tool_use(0, "c1", '{"a": 1, "b": 2}'), anthropic("content_block_stop", index=0), 60.0]
    sessions = Dies(tmp_path / "sessions")
    runtime = AgentRuntime(Scripted(call, wire="anthropic-messages"), [add], sessions=sessions)
    assert cancelled_at(ToolCallEnd, runtime, "s").state is State.CANCELLED
    (turn,) = sessions.load("s")
    assert turn.closed
    assert [(one.call_id, one.state) for one in turn.executions] == [("c1", "refused")]
    sessions.close()


def test_cancelling_from_another_thread_before_anything_came() -> None:
    model, sessions = Scripted([60.0]), MemorySessions()
    runtime = AgentRuntime(model, sessions=sessions)
    timer = threading.Timer(0.1, runtime.cancel)
    timer.start()
    output = runtime.run_sync("Go", "s")
    timer.join()
    assert (output.state, output.text) == (State.CANCELLED, "")
    assert sessions.load("s") == []


def test_leaving_the_stream_of_a_run_stops_it() -> None:
    model = Scripted([delta(content="Hel"), 60.0])

    async def main() -> None:
        events = AgentRuntime(model).run_stream("Go")
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()  # type: ignore[attr-defined]  # an async generator, as `aclosing` takes it
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert model.closed == 1
