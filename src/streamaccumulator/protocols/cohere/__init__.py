"""Cohere's chat, version 2.

https://docs.cohere.com/reference/chat-stream
"""

from .. import Protocol
from .decoder import CohereDecoder

PROTOCOL = Protocol("cohere", CohereDecoder)
