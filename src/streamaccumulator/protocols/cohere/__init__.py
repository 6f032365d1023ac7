"""Cohere's chat, version 2.

https://docs.cohere.com/reference/chat-stream
"""

from .. import Protocol
from .decoder import CohereDecoder
from .request import CohereRequest

PROTOCOL = Protocol("cohere", CohereDecoder, converter=CohereRequest)
