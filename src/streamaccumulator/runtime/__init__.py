"""Turns against a real model: HTTP, tools, sessions, and the state machine of a run."""

from .model import HttpChatModel, Model, Retries, Timeouts
from .sessions import MemorySessions, SavedTurn, Sessions, SqliteSessions, ToolExecution
from .tools import Tool, ToolResult, tool
from .turn import Outcome, State, resolve

__all__ = [
    "HttpChatModel",
    "MemorySessions",
    "Model",
    "Outcome",
    "Retries",
    "SavedTurn",
    "Sessions",
    "SqliteSessions",
    "State",
    "Timeouts",
    "Tool",
    "ToolExecution",
    "ToolResult",
    "resolve",
    "tool",
]
