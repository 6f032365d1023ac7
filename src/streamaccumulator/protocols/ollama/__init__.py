"""Ollama's own wire: `/api/chat` and `/api/generate`, a JSON object a line.

https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from .. import Protocol
from .decoder import OllamaDecoder
from .request import OllamaRequest

PROTOCOL = Protocol("ollama", OllamaDecoder, converter=OllamaRequest)
