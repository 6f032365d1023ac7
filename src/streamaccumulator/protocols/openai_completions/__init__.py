"""OpenAI's legacy text completions, and the other wires that stream bare text.

https://platform.openai.com/docs/api-reference/completions
"""

from .. import Protocol
from .decoder import OpenAICompletionsDecoder

PROTOCOL = Protocol("openai-completions", OpenAICompletionsDecoder)
