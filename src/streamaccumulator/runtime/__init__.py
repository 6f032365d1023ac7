"""Turns against a real model: AgentRuntime, its model behind HTTP, tools, sessions, and the state machine of a run."""

from .agent import AgentRuntime
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
from .model import HttpChatModel, Model, Retries, Timeouts
from .sessions import MemorySessions, SavedTurn, Sessions, SqliteSessions, ToolExecution
from .tools import Tool, ToolResult, tool
from .turn import Outcome, State, resolve

__all__ = [
    "AgentEvent",
    "AgentRuntime",
    "Discarded",
    "HttpChatModel",
    "MemorySessions",
    "Model",
    "Outcome",
    "Problem",
    "Retries",
    "RunFinished",
    "RunOutput",
    "RuntimePolicy",
    "SavedTurn",
    "Sessions",
    "SqliteSessions",
    "State",
    "Timeouts",
    "Tool",
    "ToolExecution",
    "ToolFinished",
    "ToolResult",
    "ToolStarted",
    "TurnFinished",
    "TurnStarted",
    "resolve",
    "tool",
]
