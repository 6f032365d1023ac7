"""Anthropic Messages, and the servers that speak it.

https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

from .. import Protocol
from .decoder import AnthropicMessagesDecoder
from .request import AnthropicMessagesRequest

PROTOCOL = Protocol("anthropic-messages", AnthropicMessagesDecoder, converter=AnthropicMessagesRequest)
