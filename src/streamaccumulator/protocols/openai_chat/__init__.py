"""OpenAI Chat Completions and every look-alike.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from .. import Protocol
from .decoder import OpenAIChatDecoder
from .request import OpenAIChatRequest

PROTOCOL = Protocol("openai-chat", OpenAIChatDecoder, converter=OpenAIChatRequest)
