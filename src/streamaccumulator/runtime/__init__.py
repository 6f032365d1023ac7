"""Turns against a real model: HTTP, tools, and the state machine of a run."""

from .model import HttpChatModel, Model, Retries, Timeouts
from .tools import Tool, ToolResult, tool
from .turn import Outcome, State, resolve

__all__ = ["HttpChatModel", "Model", "Outcome", "Retries", "State", "Timeouts", "Tool", "ToolResult", "resolve", "tool"]
