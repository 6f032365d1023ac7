"""The command `run`: a question to a real model, with tools, live in the terminal.

The visible text goes to standard output as it comes; reasoning, tools and whatever goes wrong go to standard error. Ctrl-C stops
the model at once and keeps what came; a second one ends the program. The key is read from the environment and shown nowhere.
"""

import asyncio
import contextlib
import importlib
import os
import signal
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from ..errors import GRAVITY, UnknownProtocol
from ..events import ReasoningDelta, TextDelta
from ..runtime import (
    AgentEvent,
    AgentRuntime,
    HttpChatModel,
    Problem,
    RunFinished,
    RunOutput,
    RuntimePolicy,
    SqliteSessions,
    State,
    ToolFinished,
    ToolStarted,
)
from ..runtime.tools import by_name
from .reading import INTERRUPTED, STATUS, UNANSWERED, WHOLE, WrongUse, tell
from .terminal import CYAN, DIM, Screen, harmless, one_line

SESSION = "streamacc"
"""The id of the one session in a file."""
_SHOWN = 200
"""Characters shown of a call's arguments and of its result."""


def run(arguments: Namespace) -> int:
    """Ask the question, run the tools, go round, and print what the model says."""
    question = _question(arguments.question)
    model = _model(arguments)
    try:
        tools = by_name([_tool(name) for name in arguments.tool])
    except WrongUse:
        raise
    except Exception as fault:  # whatever is wrong with a function that cannot be a tool
        raise WrongUse(f"{type(fault).__name__}: {fault}") from fault
    policy = RuntimePolicy(max_iterations=arguments.max_iterations)
    try:
        sessions = SqliteSessions(arguments.session) if arguments.session is not None else None
    except (sqlite3.Error, ValueError) as fault:
        raise WrongUse(f"cannot use the session file {arguments.session}: {fault}") from fault
    try:
        runtime = AgentRuntime(model, tools.values(), policy, sessions)
        output = asyncio.run(_shown(runtime, question, SESSION if sessions is not None else None))
    except sqlite3.Error as fault:
        raise WrongUse(f"cannot use the session file {arguments.session}: {fault}") from fault
    finally:
        if sessions is not None:
            sessions.close()
    return _status(output)


def _question(given: str) -> str:
    if given != "-":
        question = given
    elif sys.stdin is None:
        raise WrongUse("the question was to come by standard input, which is closed")
    else:
        question = sys.stdin.read()
    if not question.strip():
        raise WrongUse("there is no question")
    return question


def _model(arguments: Namespace) -> HttpChatModel:
    options: dict[str, Any] = {"max_tokens": arguments.max_tokens, "system": arguments.system}
    key = None
    if arguments.key_from is not None:
        key = os.environ.get(arguments.key_from)
        if not key:
            raise WrongUse(f"the environment has no {arguments.key_from} to read the key from")
    try:
        return HttpChatModel(arguments.protocol, arguments.base_url, arguments.model, key, options=options)
    except (UnknownProtocol, ValueError) as fault:
        raise WrongUse(str(fault)) from fault
    except ModuleNotFoundError as missing:
        raise WrongUse(f"asking a model needs {missing.name}: pip install 'streamaccumulator[http]'") from missing


def _tool(name: str) -> Callable[..., Any]:
    """The function of `module:function`; the module may lie in the current folder."""
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise WrongUse(f"{name!r} names no tool: give module:function")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as fault:  # a module may do anything while it is loaded
        raise WrongUse(f"there is no tool {name}: {type(fault).__name__}: {fault}") from fault
    if not callable(found):
        raise WrongUse(f"{name} is no function, and no tool")
    return found


async def _shown(runtime: AgentRuntime, question: str, session: str | None) -> RunOutput:
    """Run, and show what happens. The first interrupt stops the run, not the program."""
    loop, show = asyncio.get_running_loop(), _Show()

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)  # so that the next one is Python's own
        runtime.cancel()

    with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # no such handlers on this system, or in this thread
        loop.add_signal_handler(signal.SIGINT, stop)
    async for event in runtime.run_stream(question, session):
        if isinstance(event, RunFinished):
            show.end()
            return event.output
        show(event)
    raise AssertionError("a run ends in its output")


class _Show:
    """Writes what happens, only ever forward."""

    def __init__(self) -> None:
        self._text = Screen(sys.stdout)
        self._aside = Screen(sys.stderr) if sys.stderr is not None else None
        self._in_text = False
        self._in_reasoning = False

    def __call__(self, event: AgentEvent) -> None:
        if isinstance(event, TextDelta):
            self._end_reasoning()
            self._text.write_exact(event.delta)
            self._in_text = not event.delta.endswith("\n")
        elif isinstance(event, ReasoningDelta) and self._aside is not None:
            self._aside.write(self._aside.paint(harmless(event.delta.replace("\n", " ")), DIM))
            self._in_reasoning = True
        elif isinstance(event, ToolStarted):
            self._line(f"{event.call.name} {one_line(event.call.arguments_raw, _SHOWN)}")
        elif isinstance(event, ToolFinished):
            execution = event.execution
            said = execution.content if isinstance(execution.content, str) else f"{len(execution.content)} parts"
            self._line(f"{execution.name}: {'error: ' if execution.is_error else ''}{one_line(said, _SHOWN)}")
        elif isinstance(event, Problem):
            self.end()
            tell(event.message)

    def end(self) -> None:
        """End the line that is being written."""
        self._end_reasoning()
        if self._in_text:
            self._text.write("\n")
            self._in_text = False

    def _end_reasoning(self) -> None:
        if self._in_reasoning and self._aside is not None:
            self._aside.write("\n")
        self._in_reasoning = False

    def _line(self, line: str) -> None:
        self.end()
        if self._aside is not None:
            self._aside.write(self._aside.paint(f"  {one_line(line, 3 * _SHOWN)}", CYAN) + "\n")


def _status(output: RunOutput) -> int:
    if output.state is State.COMPLETED:
        return WHOLE
    if output.state is State.CANCELLED:
        return INTERRUPTED
    errors = [problem.error for problem in output.problems if problem.error is not None]
    last = output.response.errors if output.response is not None else ()
    own = [error for error in errors if error in last]
    return STATUS[type(min(own, key=lambda error: GRAVITY.index(type(error))))] if own else UNANSWERED
