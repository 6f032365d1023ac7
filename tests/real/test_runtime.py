"""Runs against a real llama.cpp server: several turns with real tools in three protocols, and everything that can break."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamaccumulator import AssistantMessage, TextDelta, ToolMessage, Truncated
from streamaccumulator.runtime import (
    AgentRuntime,
    HttpChatModel,
    RunFinished,
    RunOutput,
    RuntimePolicy,
    SqliteSessions,
    State,
)

from .test_llama import Llama, start
from .test_requests import PROTOCOLS


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    server = start(tmp_path_factory.mktemp("llama"))
    yield server
    server.stop()


def model_of(url: str, protocol: str = "openai-chat", **options: Any) -> HttpChatModel:
    given = {"max_tokens": 200, "extra": {"seed": 7}, **options}
    return HttpChatModel(protocol, url + PROTOCOLS[protocol], "tiny", "", options=given)


async def get_weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather of a city."""
    return {"city": city, "days": days, "degrees": 18}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("question", ["Say it.", "Say it. <reason>"])
def test_runs_of_several_turns_with_tools(llama: Llama, protocol: str, question: str) -> None:
    """Each request after the first holds what the model said, and its results: the server takes them."""
    model = model_of(llama.url, protocol, tool_choice="required")
    output = AgentRuntime(model, [get_weather], RuntimePolicy(max_iterations=3, max_same_calls=99)).run_sync(question)
    assert [problem.code for problem in output.problems] == ["max_iterations"]
    assert output.iterations == 3
    calls = [call for message in output.messages if isinstance(message, AssistantMessage) for call in message.tool_calls]
    assert len(calls) >= 3
    assert all(one.state == "done" for one in output.executions)
    assert [message.tool_call_id for message in output.messages if isinstance(message, ToolMessage)] == [call.id for call in calls]
    if "<reason>" in question:
        assert output.message.reasoning
    ended = AgentRuntime(model_of(llama.url, protocol)).run_sync([*output.messages])
    assert ended.state is State.COMPLETED
    assert ended.message.content


def test_parallel_calls(llama: Llama) -> None:
    """Chance decides how many calls there are: of the seeds here at least one gives several, and the server takes their results."""
    policy, found = RuntimePolicy(max_iterations=2, max_same_calls=99), []
    for seed in range(20):
        model = model_of(llama.url, tool_choice="required", extra={"seed": seed, "parallel_tool_calls": True})
        output = AgentRuntime(model, [get_weather], policy).run_sync("Say it.")
        first = next(message for message in output.messages if isinstance(message, AssistantMessage))
        if len(first.tool_calls) > 1:
            found.append(first)
            assert output.iterations == 2
            results = [message.tool_call_id for message in output.messages if isinstance(message, ToolMessage)]
            assert results[: len(first.tool_calls)] == [call.id for call in first.tool_calls]
    assert found


def test_ten_runs_at_once(llama: Llama) -> None:
    runtime = AgentRuntime(model_of(llama.url, tool_choice="required"), [get_weather], RuntimePolicy(max_iterations=2))

    async def main() -> list[RunOutput]:
        return list(await asyncio.gather(*[runtime.run("Say it.") for _ in range(10)]))

    outputs = asyncio.run(main())
    assert {output.iterations for output in outputs} == {2}
    assert all(output.executions for output in outputs)


def test_a_server_that_is_killed_in_mid_answer(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = start(tmp_path_factory.mktemp("killed"))
    runtime = AgentRuntime(model_of(server.url, max_tokens=100_000), policy=RuntimePolicy(on_truncated="fail"))

    async def main() -> RunOutput:
        count = 0
        async for event in runtime.run_stream("Say it. <long>"):
            count += isinstance(event, TextDelta)
            if count == 5:
                server.process.kill()
            if isinstance(event, RunFinished):
                return event.output
        raise AssertionError("a run ends in its output")

    try:
        output = asyncio.run(main())
    finally:
        server.stop()
    assert output.state is State.FAILED
    assert output.text
    assert isinstance(output.problems[0].error, Truncated)


def test_a_client_that_cancels(llama: Llama, tmp_path: Path) -> None:
    sessions = SqliteSessions(tmp_path / "sessions")
    runtime = AgentRuntime(model_of(llama.url, max_tokens=100_000), sessions=sessions)

    async def main() -> RunOutput:
        async for event in runtime.run_stream("Say it. <long>", "s"):
            if isinstance(event, TextDelta):
                runtime.cancel("s")
            if isinstance(event, RunFinished):
                return event.output
        raise AssertionError("a run ends in its output")

    output = asyncio.run(main())
    assert output.state is State.CANCELLED
    assert output.text
    assert [turn.response.text for turn in sessions.load("s")] == [output.text]
    again = AgentRuntime(model_of(llama.url), sessions=sessions).run_sync("Once more.", "s")
    assert again.state is State.COMPLETED
    sessions.close()


KILLED = """
import sys, time
from streamaccumulator.runtime import AgentRuntime, HttpChatModel, RuntimePolicy, SqliteSessions

def get_weather(city: str, days: int = 1) -> str:
    with open(sys.argv[3], "a") as file:
        file.write("ran\\n")
    if sys.argv[4] == "hang":
        print("in the tool", flush=True)
        time.sleep(600)
    return "18 degrees"

options = {"max_tokens": 200, "extra": {"seed": 7}, "tool_choice": "required"}
model = HttpChatModel("openai-chat", sys.argv[1] + "/v1", "tiny", "", options=options)
policy = RuntimePolicy(max_iterations=2, max_same_calls=99)
runtime = AgentRuntime(model, [get_weather], policy, SqliteSessions(sys.argv[2]))
output = runtime.run_sync("Say it." if sys.argv[4] == "hang" else None, "s")
print(output.state, [one.state for one in output.executions], flush=True)
"""


def test_a_process_that_is_killed_goes_on_and_runs_no_tool_twice(llama: Llama, tmp_path: Path) -> None:
    path, log = tmp_path / "sessions", tmp_path / "log"
    command = [sys.executable, "-c", KILLED, llama.url, str(path), str(log)]
    with subprocess.Popen([*command, "hang"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "in the tool"
        sessions = SqliteSessions(path)
        (turn,) = sessions.load("s")
        while log.read_text().count("ran") < len(turn.response.tool_calls):  # until all calls of the turn are in the tool
            time.sleep(0.01)
        process.kill()
        process.wait()
    before = log.read_text().count("ran")
    (turn,) = sessions.load("s")
    assert not turn.closed
    assert {one.state for one in turn.executions} == {"started"}
    subprocess.run([*command, "go on"], check=True, timeout=60)
    first, *others = sessions.load("s")
    assert first.closed
    assert {one.state for one in first.executions} == {"interrupted"}
    assert len(first.executions) == before
    assert log.read_text().count("ran") - before == sum(len(turn.executions) for turn in others)
    assert len(others) == 2
    sessions.close()
