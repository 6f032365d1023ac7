"""Runs, with scripted answers on the wire of one protocol: each test is one story."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    AsyncChatStream,
    FinishReason,
    InvalidToolCallJson,
    MediaPart,
    Message,
    ProviderError,
    SystemMessage,
    TextDelta,
    TextPart,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolMessage,
    ToolSpec,
    Truncated,
    UserMessage,
    to_request,
)
from streamaccumulator.runtime import (
    AgentEvent,
    AgentRuntime,
    Discarded,
    MemorySessions,
    RunFinished,
    RunOutput,
    RuntimePolicy,
    SqliteSessions,
    State,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    tool,
)
from streamaccumulator.runtime.sessions import INTERRUPTED, SavedTurn, ToolExecution
from streamaccumulator.runtime.telling import CANCELLED, GO_ON

from ..wire import DONE, anthropic, call, chat, delta, finish

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def said(text: str, reason: str = "stop") -> list[bytes]:
    return [*[delta(content=piece) for piece in text], finish(reason), chat(usage=USAGE), DONE]


def called(*calls: tuple[str, str, str], text: str = "") -> list[bytes]:
    """An answer with calls: id, name, arguments."""
    pieces = [call(at, id, name, arguments) for at, (id, name, arguments) in enumerate(calls)]
    return [*[delta(content=text)][: len(text)], *pieces, finish("tool_calls"), chat(usage=USAGE), DONE]


class Scripted:
    """A model that gives one answer after another, and remembers what it was asked. A piece may be a wait, or a failure."""

    def __init__(self, *answers: Iterable[Any], wire: str = "openai-chat") -> None:
        self._wire = wire
        self._answers = [list(answer) for answer in answers]
        self.asked: list[list[Message]] = []
        self.tools: Sequence[ToolSpec] = ()
        self.closed = 0

    def stream(self, messages: Sequence[Message | AccumulatedResponse], tools: Sequence[ToolSpec] = ()) -> AsyncChatStream:
        to_request(messages, "openai-chat", model="m")  # whatever is asked is a conversation that a provider takes
        self.asked.append([message for message in messages if not isinstance(message, AccumulatedResponse)])
        self.tools = tools
        return AsyncChatStream(self._pieces(self._answers.pop(0)), self._wire)

    async def _pieces(self, pieces: list[Any]) -> AsyncIterator[bytes]:
        try:
            for piece in pieces:
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                elif isinstance(piece, Exception):
                    raise piece
                else:
                    yield piece
        finally:
            self.closed += 1


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


def run(model: Scripted, *tools: Callable[..., Any], input: Any = "Go", **policy: Any) -> RunOutput:
    return AgentRuntime(model, tools, RuntimePolicy(**policy)).run_sync(input)


def listen(runtime: AgentRuntime, input: Any = "Go", session: str | None = None) -> list[AgentEvent]:
    async def main() -> list[AgentEvent]:
        return [event async for event in runtime.run_stream(input, session)]

    return asyncio.run(main())


def codes(output: RunOutput) -> list[str]:
    return [problem.code for problem in output.problems]


# ---- What goes well.


def test_an_answer() -> None:
    model = Scripted(said("Hello"))
    output = run(model, input=[SystemMessage("Be short."), UserMessage("Hi")])
    assert (output.state, output.text, output.finish_reason, output.iterations) == (State.COMPLETED, "Hello", FinishReason.STOP, 1)
    assert output.messages == (SystemMessage("Be short."), UserMessage("Hi"), output.message)
    assert output.usage is not None
    assert output.usage.output_tokens == 5
    assert not output.problems
    assert model.closed == 1


def test_tools_and_round_again() -> None:
    model = Scripted(called(("c1", "add", '{"a": 1, "b": 2}'), ("c2", "add", '{"a": 3, "b": 4}')), said("3 and 7"))
    output = run(model, add)
    assert output.state is State.COMPLETED
    assert [one.name for one in model.tools] == ["add"]
    assert model.asked[1][-2:] == [ToolMessage("c1", "3"), ToolMessage("c2", "7")]
    assert [(one.call_id, one.content, one.state) for one in output.executions] == [("c1", "3", "done"), ("c2", "7", "done")]
    assert output.usage is not None
    assert output.usage.total_tokens == 30
    assert [type(message) for message in output.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
        AssistantMessage,
    ]


def test_everything_is_told_live() -> None:
    model = Scripted(called(("c1", "add", '{"a": 1, "b": 2}'), text="x"), said("3"))
    events = listen(AgentRuntime(model, [add]))
    kinds = [type(event) for event in events]
    ours = [kind for kind in kinds if kind.__module__.startswith("streamaccumulator.runtime")]
    assert ours == [TurnStarted, ToolStarted, ToolFinished, TurnFinished, TurnStarted, TurnFinished, RunFinished]
    assert kinds.index(ToolCallArgumentDelta) < kinds.index(ToolStarted)
    assert kinds.index(TextDelta) > kinds.index(TurnStarted)
    last = events[-1]
    assert isinstance(last, RunFinished)
    model = Scripted(called(("c1", "add", '{"a": 1, "b": 2}'), text="x"), said("3"))
    again = run(model, add)
    same = [msgspec.structs.replace(one, executions=()) for one in (last.output, again)]
    assert same[0] == same[1]


def test_calls_of_a_turn_run_at_once_and_results_keep_their_order() -> None:
    both = threading.Barrier(2, timeout=5)

    def first() -> str:
        both.wait()
        time.sleep(0.05)
        return "1"

    async def second() -> str:
        await asyncio.to_thread(both.wait)
        return "2"

    model = Scripted(called(("c1", "first", "{}"), ("c2", "second", "{}")), said("ok"))
    output = run(model, first, second)
    assert [one.content for one in output.executions] == ["1", "2"]
    assert model.asked[1][-2:] == [ToolMessage("c1", "1"), ToolMessage("c2", "2")]


def test_only_so_many_at_once() -> None:
    now, most = 0, 0

    async def busy() -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    model = Scripted(called(*[(f"c{at}", "busy", "{}") for at in range(9)]), said("ok"))
    run(model, busy, max_parallel_tools=2)
    assert most == 2


def test_errors_of_tools_go_to_the_model() -> None:
    def fails() -> None:
        raise LookupError("not there")

    async def slow() -> None:
        await asyncio.sleep(60)

    calls = [("c1", "fails", "{}"), ("c2", "slow", "{}"), ("c3", "nope", "{}"), ("c4", "add", '{"a": "x"}')]
    model = Scripted(called(*calls), said("ok"))
    output = run(model, fails, slow, add, tool_timeout=0.05)
    assert output.state is State.COMPLETED
    results = [message for message in model.asked[1] if isinstance(message, ToolMessage)]
    assert [result.is_error for result in results] == [True] * 4
    texts = [str(result.content) for result in results]
    assert texts[:3] == [
        "LookupError: not there",
        "there was no result within 0.05 seconds",
        "there is no tool 'nope'; there are: fails, slow, add",
    ]
    assert "Expected `int`, got `str`" in texts[3]


# ---- What goes wrong.


def tool_use(at: int, id: str, json: str) -> list[bytes]:
    block = {"type": "tool_use", "id": id, "name": "add", "input": {}}
    return [
        anthropic("content_block_start", index=at, content_block=block),
        anthropic("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": json}),
    ]


def test_a_cut_answer_is_kept_its_whole_calls_run_and_the_model_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    cut = [
        anthropic("message_start", message={"id": "m1", "type": "message", "role": "assistant", "content": []}),
        anthropic("content_block_start", index=0, content_block={"type": "text", "text": "Let me"}),
        *tool_use(1, "c1", '{"a": 1, "b": 2}'),
        anthropic("content_block_stop", index=1),
        *tool_use(2, "c2", '{"a": 3, "b": 4}'),
        OSError("gone"),
    ]
    model = Scripted(cut, said("3"), wire="auto")
    output = run(model, add)
    assert output.state is State.COMPLETED
    assert sorted(codes(output)) == ["InvalidToolCallJson", "Truncated"]
    result, refusal = model.asked[1][-2:]
    assert result == ToolMessage("c1", "3")
    assert isinstance(refusal, UserMessage)
    assert "c2" in str(refusal.content)
    assert [one.call_id for one in output.executions] == ["c1"]
    assert "Let me" in caplog.text


def test_where_the_wire_marks_no_end_of_a_call_none_of_a_cut_answer_runs() -> None:
    cut = [delta(content="Let me"), call(0, "c1", "add", '{"a": 1, "b": 2}'), call(1, "c2", "add", '{"a": 3'), OSError("gone")]
    model = Scripted(cut, said("3"))
    output = run(model, add)
    assert not output.executions
    assert [str(message.content).count("did not run") for message in model.asked[1][-2:]] == [1, 1]


def test_a_cut_text_goes_on() -> None:
    model = Scripted([delta(content="Hello "), OSError("gone")], said("world"))
    output = run(model)
    assert (output.state, output.text, codes(output)) == (State.COMPLETED, "Hello world", ["Truncated"])
    assert [message.content for message in model.asked[1][-2:]] == [(TextPart("Hello "),), GO_ON]


def test_an_answer_of_which_nothing_came_is_asked_for_again() -> None:
    model = Scripted([], said("Hi"))
    output = run(model)
    assert (output.state, output.text, output.iterations) == (State.COMPLETED, "Hi", 2)
    assert model.asked[1] == [UserMessage("Go")]


def test_nothing_twice_is_no_answer() -> None:
    model = Scripted([], [], said("Hi"))
    output = run(model)
    assert (output.state, output.iterations, codes(output)) == (State.FAILED, 2, ["no_answer"])
    output = run(Scripted([], [delta(content="H")], [], said("i")))
    assert (output.state, output.text) == (State.COMPLETED, "Hi")


def test_what_is_no_answer_of_a_model_ends_the_run() -> None:
    output = run(Scripted([b"<html>Log in</html>"], said("Hi")))
    assert (output.state, output.iterations, codes(output)) == (State.FAILED, 1, ["MalformedChunk"])


def test_a_message_that_paused_goes_back_and_goes_on() -> None:
    """With nothing said in between."""

    def part(text: str, reason: str) -> list[bytes]:
        return [
            anthropic("message_start", message={"id": "m1", "type": "message", "role": "assistant", "content": []}),
            anthropic("content_block_start", index=0, content_block={"type": "text", "text": text}),
            anthropic("content_block_stop", index=0),
            anthropic("message_delta", delta={"stop_reason": reason}),
            anthropic("message_stop"),
        ]

    model, sessions = Scripted(part("Searching. ", "pause_turn"), part("Found.", "end_turn"), wire="auto"), MemorySessions()
    output = AgentRuntime(model, sessions=sessions).run_sync("Go", "s")
    assert (output.state, output.text, output.problems) == (State.COMPLETED, "Searching. Found.", ())
    assert model.asked[1] == [UserMessage("Go"), AssistantMessage((TextPart("Searching. "),))]
    assert len(sessions.load("s")) == 2


@pytest.mark.parametrize("failure", [OSError("gone"), TimeoutError()])
@pytest.mark.parametrize("on_truncated", ["continue", "retry", "fail"])
def test_where_nobody_answers_the_run_ends(failure: Exception, on_truncated: str) -> None:
    """Whether to ask again is the model's to know, and it has."""
    output = run(Scripted([failure], said("Hi")), on_truncated=on_truncated)
    assert (output.state, output.text, output.iterations, codes(output)) == (State.FAILED, "", 1, ["Truncated"])


def test_by_policy_a_cut_answer_is_discarded() -> None:
    model = Scripted([delta(content="Hel")], said("Hi"))
    events = listen(AgentRuntime(model, policy=RuntimePolicy(on_truncated="retry", log_partial_text=False)))
    assert [event for event in events if isinstance(event, Discarded)] == [Discarded(1)]
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.output.text, last.output.state) == ("Hi", State.COMPLETED)
    assert model.asked[1] == [UserMessage("Go")]


def test_or_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    model = Scripted([delta(content="Hel")])
    output = run(model, on_truncated="fail", log_partial_text=False)
    assert (output.state, output.text) == (State.FAILED, "Hel")
    assert isinstance(output.problems[0].error, Truncated)
    assert "Hel" not in caplog.text


def test_at_most_so_much_of_a_cut_answer_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    run(Scripted([delta(content="x" * 5000)]), on_truncated="fail")
    assert caplog.text.count("x") < 2100


def test_a_call_that_is_no_json_is_refused_and_the_others_run() -> None:
    model = Scripted(called(("c1", "add", '{"a": oops'), ("c2", "add", '{"a": 1, "b": 1}')), said("2"))
    output = run(model, add)
    assert (output.state, codes(output)) == (State.COMPLETED, ["InvalidToolCallJson"])
    assert isinstance(output.problems[0].error, InvalidToolCallJson)
    result, refusal = model.asked[1][-2:]
    assert result == ToolMessage("c2", "2")
    assert isinstance(refusal, UserMessage)
    assert "c1" in str(refusal.content)
    assert "did not run" in str(refusal.content)


def test_an_empty_answer_is_an_answer() -> None:
    """The session keeps what was asked, and the next run goes on after it."""
    model, sessions = Scripted([finish("stop"), DONE], said("Yes")), MemorySessions()
    output = AgentRuntime(model, sessions=sessions).run_sync("Go", "s")
    assert (output.state, output.text, output.iterations) == (State.COMPLETED, "", 1)
    assert AgentRuntime(model, sessions=sessions).run_sync("And?", "s").text == "Yes"
    assert model.asked[1] == [UserMessage("Go"), UserMessage("And?")]
    assert [turn.closed for turn in sessions.load("s")] == [True, True]


def test_half_of_a_character_stops_nothing(tmp_path: Path) -> None:
    """In what is asked, and in what a tool gives: it is U+FFFD, as in what a model says."""

    def name() -> list[TextPart]:
        return [TextPart("caf\udce9")]

    def fails() -> None:
        raise OSError("caf\udce9")

    sessions = SqliteSessions(tmp_path / "sessions")
    model = Scripted(called(("c1", "name", "{}"), ("c2", "fails", "{}")), said("x"), said("y"))
    runtime = AgentRuntime(model, [name, fails], sessions=sessions)
    output = runtime.run_sync("a\ud800", "s")
    assert (output.state, output.messages[0]) == (State.COMPLETED, UserMessage("a\ufffd"))
    assert [one.content for one in output.executions] == [(TextPart("caf\ufffd"),), "OSError: caf\ufffd"]
    output = runtime.run_sync([UserMessage((TextPart("b\ud800"), MediaPart("image", "image/png", "AA==")))], "s")
    assert output.messages[-2] == UserMessage((TextPart("b\ufffd"), MediaPart("image", "image/png", "AA==")))
    assert [turn.input for turn in sessions.load("s") if turn.input] == [(output.messages[0],), (output.messages[-2],)]
    sessions.close()


def test_an_answer_at_its_bound_stops_or_goes_on() -> None:
    assert run(Scripted(said("Hel", "length"))).text == "Hel"
    output = run(Scripted(said("Hel", "length"), said("lo")), on_length="continue")
    assert (output.text, output.finish_reason) == ("Hello", FinishReason.STOP)


def test_a_providers_error_ends_the_run() -> None:
    error = b'data: {"error": {"type": "overloaded", "message": "Later."}}\n\n'
    output = run(Scripted([delta(content="Hel"), error]))
    assert (output.state, output.text) == (State.FAILED, "Hel")
    assert isinstance(output.problems[0].error, ProviderError)


def test_messages_that_no_provider_takes() -> None:
    output = run(Scripted(said("")), input=[AssistantMessage(()), UserMessage("x")])
    assert output.state is State.COMPLETED

    class Refusing(Scripted):
        def stream(self, *args: Any, **more: Any) -> AsyncChatStream:
            raise ValueError("no")

    output = run(Refusing())
    assert (output.state, codes(output), output.iterations) == (State.FAILED, ["request_refused"], 0)


# ---- Policy.


def test_bounds_of_a_run() -> None:
    calls = [called((f"c{at}", "add", f'{{"a": {at}, "b": 1}}')) for at in range(4)]
    output = run(Scripted(*calls), add, max_iterations=2)
    assert (output.state, codes(output), output.iterations) == (State.FAILED, ["max_iterations"], 2)
    assert len(output.executions) == 2
    output = run(Scripted(*calls), add, max_tokens=20)
    assert (output.state, codes(output), output.iterations) == (State.FAILED, ["max_tokens"], 2)
    output = run(Scripted(), input="x" * 1000, max_context_bytes=500)
    assert (output.state, codes(output), output.iterations) == (State.FAILED, ["context_over_budget"], 0)


def test_the_same_call_again_and_again_is_refused() -> None:
    again = [called(("c1", "add", '{"a": 1, "b": 1}')) for _ in range(4)]
    output = run(Scripted(*again, said("2")), add, max_same_calls=2)
    assert [one.state for one in output.executions] == ["done", "done", "refused", "refused"]
    assert codes(output) == ["same_call_again"] * 2
    other = called(("c1", "add", '{"a": 2, "b": 1}'))
    output = run(Scripted(again[0], other, again[1], other, said("2")), add, max_same_calls=1)
    assert [one.state for one in output.executions] == ["done"] * 4
    output = run(Scripted(again[0], said("I", "length"), again[1], said("2")), add, max_same_calls=1, on_length="continue")
    assert [one.state for one in output.executions] == ["done"] * 2


def test_a_model_that_is_too_slow() -> None:
    output = run(Scripted([delta(content="Hel"), 60.0]), model_timeout=0.05, on_truncated="fail")
    assert (output.state, output.text) == (State.FAILED, "Hel")
    assert codes(output)[0] == "model_timeout"


# ---- Cancelling.


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


@pytest.mark.parametrize("policy", ["max_iterations", "max_parallel_tools", "max_same_calls"])
def test_bounds_that_allow_nothing_are_refused(policy: str) -> None:
    with pytest.raises(ValueError, match=policy):
        msgspec.structs.replace(RuntimePolicy(), **{policy: 0})


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


# ---- Sessions.


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
