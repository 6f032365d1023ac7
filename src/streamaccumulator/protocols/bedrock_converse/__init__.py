"""Bedrock Converse: AWS frames, boto3's dicts, lines of JSON, the lists of events in invocation logs.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

from .. import Protocol
from .decoder import BedrockConverseDecoder
from .request import BedrockConverseRequest

PROTOCOL = Protocol("bedrock-converse", BedrockConverseDecoder, converter=BedrockConverseRequest)
