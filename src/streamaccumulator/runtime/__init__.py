"""Turns against a real model: HTTP, and the state machine of a run."""

from .model import HttpChatModel, Model, Retries, Timeouts
from .turn import Outcome, State, resolve

__all__ = ["HttpChatModel", "Model", "Outcome", "Retries", "State", "Timeouts", "resolve"]
