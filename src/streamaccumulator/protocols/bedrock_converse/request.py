"""Messages to a request of Bedrock Converse: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html

The body is the one of the HTTP request: the model stands in its URL, and bytes are base64 text, as they came.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from ...messages import MediaPart, ProviderPart, ReasoningPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import Converter, Json, Options, Result, described, under


class BedrockConverseRequest(Converter):
    """See the module."""

    ids = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    takes_blank = False
    ends_in_reasoning = False
    key_names = ("AWS_BEARER_TOKEN_BEDROCK",)
    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "max_tokens": ("inferenceConfig", "maxTokens"),
        "temperature": ("inferenceConfig", "temperature"),
    }
    choices: ClassVar[dict[str, Any]] = {"auto": {"auto": {}}, "required": {"any": {}}}
    choice_at = ("toolConfig", "toolChoice")

    def text(self, part: TextPart) -> Json | None:
        if part.citations:
            return {"citationsContent": {"content": [{"text": part.text}], "citations": list(part.citations)}}
        return {"text": part.text}

    def reasoning(self, part: ReasoningPart) -> Json | None:
        if part.redacted:
            return {"reasoningContent": {"redactedContent": part.redacted}}
        signature = {"signature": part.signature} if part.signature else {}
        return {"reasoningContent": {"reasoningText": {"text": part.text, **signature}}}

    def call(self, call: ToolCall) -> Json | None:
        return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": self.object_of(call), **call.extra}}

    def is_unfinished(self, part: ProviderPart) -> bool:
        return part.kind == "toolResult" and "content" not in part.data

    def provider(self, part: ProviderPart) -> Json | None:
        bare = part.data.keys() == {part.kind} and not isinstance(part.data[part.kind], dict)
        return dict(part.data) if bare else {part.kind: {**part.data, **part.extra}}

    def media(self, part: MediaPart) -> Json | None:
        """https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html"""
        source = source_of(part)
        known = part.kind == "image" or source.format in _DOCUMENTS
        in_s3 = source.url is not None and source.url.startswith("s3://")
        if not known or (source.url is not None and not in_s3):
            return self.left_out(part)
        where = {"s3Location": {"uri": source.url}} if in_s3 else {"bytes": source.base64}
        if part.kind == "image":
            return {"image": {"format": source.format, "source": where}}
        return {"document": {"format": source.format, "name": "document", "source": where, **part.extra}}

    def results(self, results: Sequence[Result]) -> None:
        blocks: list[Json] = []
        for result in results:
            block: Json = {"toolUseId": result.call.id, "content": self.blocks(result.parts)}
            if result.is_error:
                block["status"] = "error"
            blocks.append({"toolResult": block})
        self.say("user", blocks)

    def body(self, options: Options) -> Json:
        body: Json = {"messages": self.messages}
        if self.system_texts:
            body["system"] = [{"text": text} for text in self.system_texts]
        if options.tools:
            body["toolConfig"] = {"tools": [{"toolSpec": _spec(described(tool, "inputSchema"))} for tool in options.tools]}
        elif names := self._called():
            self._note("tools_made_up", "the tools of earlier calls were named again, without which they would be refused")
            body["toolConfig"] = {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": _ANY}}} for name in names]}
        return body

    def _called(self) -> list[str]:
        """The names of all calls in the conversation, each once."""
        blocks = [block for message in self.messages for block in message["content"]]
        return list(dict.fromkeys([block["toolUse"]["name"] for block in blocks if "toolUse" in block]))

    def named_choice(self, name: str) -> Any:
        return {"tool": {"name": name}}

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL is the runtime's: `https://bedrock-runtime.us-east-1.amazonaws.com`."""
        return under(base_url, f"model/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}")


_ANY = {"type": "object"}
_DOCUMENTS = ("pdf", "csv", "html", "plain")


def _spec(said: Json) -> Json:
    return {**said, "inputSchema": {"json": said["inputSchema"]}}
