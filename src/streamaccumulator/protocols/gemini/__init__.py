"""Gemini, of the Gemini API and of Vertex AI: `streamGenerateContent`, as server-sent events or as one JSON array.

https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from .. import Protocol
from .decoder import GeminiDecoder
from .request import GeminiRequest

PROTOCOL = Protocol("gemini", GeminiDecoder, converter=GeminiRequest)
