"""OpenAI Responses, and the servers that speak it.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from .. import Protocol
from .decoder import OpenAIResponsesDecoder
from .request import OpenAIResponsesRequest

PROTOCOL = Protocol("openai-responses", OpenAIResponsesDecoder, converter=OpenAIResponsesRequest)
