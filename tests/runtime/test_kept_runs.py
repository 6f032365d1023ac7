"""Runs with sessions: going on, ending what was stopped, waiting for one another; and whatever ends a run by force."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from streamaccumulator import (
    AssistantMessage,
    UserMessage,
    to_request,
)
from streamaccumulator.runtime import (
    AgentRuntime,
    MemorySessions,
    RunFinished,
    RunOutput,
    SqliteSessions,
    State,
    tool,
)
from streamaccumulator.runtime.sessions import INTERRUPTED, SavedTurn, ToolExecution

from ..wire import delta
from .scripted import Scripted, add, called, codes, listen, run, said


def test_a_session_goes_on(tmp_path: Path) -> None:
    model = Scripted(called(("c1", "add", '{"a": 1, "b": 2}')), said("3"), said("Yes"))
    sessions = SqliteSessions(tmp_path / "s")
    AgentRuntime(model, [add], sessions=sessions).run_sync("Go", "a")
    output = AgentRuntime(model, [add], sessions=sessions).run_sync("And?", "a")
    assert [type(message).__name__[:4] for message in model.asked[2]] == ["User", "Assi", "Tool", "Assi", "User"]
    assert len(output.messages) == 6
    assert not output.executions
    sessions.close()


def test_a_turn_that_was_stopped_among_its_tools_is_ended(tmp_path: Path) -> None:
    """What has ended does not run again, what had started is interrupted, what had not runs."""
    ran = []

    @tool
    def note(x: int) -> str:
        ran.append(x)
        return f"ran {x}"

    sessions = SqliteSessions(tmp_path / "s")
    model = Scripted(called(*[(f"c{at}", "note", f'{{"x": {at}}}') for at in range(3)]))
    response = asyncio.run(model.stream([UserMessage("Go")]).finalize())
    sessions.save_turn("a", SavedTurn(1, (UserMessage("Go"),), response))
    sessions.save_execution("a", 1, ToolExecution("c0", "note", "done", "ran 0"))
    sessions.save_execution("a", 1, ToolExecution("c1", "note"))
    model = Scripted(said("ok"))
    output = AgentRuntime(model, [note], sessions=sessions).run_sync("And?", "a")
    assert ran == [2]
    assert [one.state for one in output.executions] == ["done", "interrupted", "done"]
    assert [str(message.content) for message in model.asked[0] if not isinstance(message, AssistantMessage)] == [
        "Go",
        "ran 0",
        INTERRUPTED,
        "ran 2",
        "And?",
    ]
    assert [turn.closed for turn in sessions.load("a")] == [True, True]
    assert [one.state for one in sessions.load("a")[0].executions] == ["done", "interrupted", "done"]
    sessions.close()


def test_runs_of_one_session_wait_for_one_another() -> None:
    model, sessions = Scripted([0.1, *said("1")], said("2")), MemorySessions()
    runtime = AgentRuntime(model, sessions=sessions)

    async def main() -> list[RunOutput]:
        return list(await asyncio.gather(runtime.run("first", "s"), runtime.run("second", "s")))

    first, second = asyncio.run(main())
    assert (first.text, second.text) == ("1", "2")
    assert [len(asked) for asked in model.asked] == [1, 3]


def test_a_session_that_cannot_be_saved() -> None:
    class Full(MemorySessions):
        def save_turn(self, session_id: str, turn: SavedTurn) -> None:
            raise OSError("the disk is full")

    class FullForTools(MemorySessions):
        def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
            raise OSError("the disk is full")

    calls = called(("c1", "add", "{}"), ("c2", "add", "{}"))
    output = AgentRuntime(Scripted(calls), [add], sessions=FullForTools()).run_sync("Go", "s")
    assert output.state is State.FAILED
    assert [(one.call_id, one.state) for one in output.executions] == [("c1", "refused"), ("c2", "refused")]
    to_request(output.messages, "openai-chat", model="m")  # which wants a result for each call
    for answer in (said("Hi"), called(("c1", "add", "{}"))):
        output = AgentRuntime(Scripted(answer), [add], sessions=Full()).run_sync("Go", "s")
        assert (output.state, codes(output)) == (State.FAILED, ["session_not_saved"])
        assert output.message.content
        assert output.message in output.messages


class Quits(BaseException):
    """No Exception, so that nobody takes it for one."""


def test_what_ends_a_run_by_force_ends_its_events_too() -> None:
    class Raises(MemorySessions):
        def save_turn(self, session_id: str, turn: SavedTurn) -> None:
            raise Quits

    with pytest.raises(Quits):
        listen(AgentRuntime(Scripted(said("Hi")), sessions=Raises()), session="s")


def test_a_source_that_was_cancelled_by_others_is_a_cut_answer() -> None:
    """Nobody cancelled the run: its model gave up."""

    class GivesUp(Scripted):
        async def _pieces(self, pieces: list[Any]) -> AsyncIterator[bytes]:
            async for piece in super()._pieces(pieces):
                yield piece
            if not self._answers:
                return
            raise asyncio.CancelledError

    output = run(GivesUp([delta(content="Hello ")], said("world")))
    assert (output.state, output.text, codes(output)) == (State.COMPLETED, "Hello world", ["Truncated"])
    events = listen(AgentRuntime(GivesUp([delta(content="Hello ")], said("world"))))
    assert isinstance(events[-1], RunFinished)


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="needs sessions"):
        AgentRuntime(Scripted()).run_sync("Go", "s")
    with pytest.raises(ValueError, match="nothing to go on with"):
        AgentRuntime(Scripted(), sessions=MemorySessions()).run_sync(None, "s")

    async def main() -> None:
        with pytest.raises(ValueError, match="nothing to go on with"):
            await anext(AgentRuntime(Scripted()).run_stream())

    asyncio.run(main())
