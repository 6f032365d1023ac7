"""Gemini's Interactions API, which streams the steps of an interaction.

https://ai.google.dev/gemini-api/docs/interactions
"""

from .. import Protocol
from .decoder import GeminiInteractionsDecoder

PROTOCOL = Protocol("gemini-interactions", GeminiInteractionsDecoder)
