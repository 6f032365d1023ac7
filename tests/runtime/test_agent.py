"""Runs, with scripted answers on the wire of one protocol: each test is one story."""

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streamaccumulator import (
    AssistantMessage,
    AsyncChatStream,
    FinishReason,
    InvalidToolCallJson,
    MediaPart,
    ProviderError,
    SystemMessage,
    TextDelta,
    TextPart,
    ToolCallArgumentDelta,
    ToolMessage,
    Truncated,
    UserMessage,
)
from streamaccumulator.runtime import (
    AgentRuntime,
    Discarded,
    MemorySessions,
    RunFinished,
    RuntimePolicy,
    SqliteSessions,
    State,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from streamaccumulator.runtime.telling import GO_ON

from ..wire import DONE, anthropic, call, delta, finish
from .scripted import Scripted, add, called, codes, listen, run, said, tool_use

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


@pytest.mark.parametrize("policy", ["max_iterations", "max_parallel_tools", "max_same_calls"])
def test_bounds_that_allow_nothing_are_refused(policy: str) -> None:
    with pytest.raises(ValueError, match=policy):
        msgspec.structs.replace(RuntimePolicy(), **{policy: 0})
