"""Messages to a request of Cohere's chat, version 2: https://docs.cohere.com/reference/chat-stream

The plan before the calls goes back as `tool_plan`, citations with the message.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..._json import to_bytes
from ...messages import CitationPart, MediaPart, Part, ReasoningPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import InPlace, Json, Options, Result, arguments_text, function_tool, under


class CohereRequest(InPlace):
    """See the module."""

    takes_unsigned = True
    key_names = ("CO_API_KEY",)
    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "max_tokens": ("max_tokens",),
        "temperature": ("temperature",),
        "seed": ("seed",),
    }
    choices: ClassVar[dict[str, Any]] = {"none": "NONE", "required": "REQUIRED"}

    def assistant(self, parts: Sequence[Part]) -> None:
        message: Json = {"role": "assistant"}
        plans = [part for part in parts if _is_plan(part)]
        calls = [part for part in parts if isinstance(part, ToolCall)]
        cited = [part for part in parts if isinstance(part, CitationPart)]
        if plans:
            message["tool_plan"] = "".join([part.text for part in plans if isinstance(part, ReasoningPart)])
        if content := self.blocks([part for part in parts if not (_is_plan(part) or isinstance(part, ToolCall | CitationPart))]):
            message["content"] = content
        if calls:
            message["tool_calls"] = self.blocks(calls)
        texts = [part for part in parts if isinstance(part, TextPart)]
        citations = [citation for part in texts for citation in part.citations] + [part.data for part in cited]
        if citations:
            message["citations"] = citations
        self.messages.append(message)

    def takes_back(self, part: MediaPart) -> bool:
        return False

    def reasoning(self, part: ReasoningPart) -> Json | None:
        return {"type": "thinking", "thinking": part.text} if part.text else self.left_out(part)

    def call(self, call: ToolCall) -> Json | None:
        written = to_bytes(self.object_of(call)).decode() if call.kind == "custom" else arguments_text(call)
        function = {"name": call.name, "arguments": written}
        return {"id": call.id, "type": "function", "function": function, **call.extra}

    def media(self, part: MediaPart) -> Json | None:
        if part.kind != "image":
            return self.left_out(part)
        return {"type": "image_url", "image_url": {"url": source_of(part).data_url, **part.extra}}

    def results(self, results: Sequence[Result]) -> None:
        for result in results:
            for part in result.parts:
                if not isinstance(part, TextPart):
                    self.left_out(part)
            self.messages.append({"role": "tool", "tool_call_id": result.call.id, "content": result.told_text})

    def body(self, options: Options) -> Json:
        body: Json = {"model": options.model, "messages": self.messages, "stream": options.stream}
        if options.tools:
            body["tools"] = [function_tool(tool) for tool in options.tools]
            for tool in body["tools"]:
                if tool["function"].pop("strict", None):
                    body["strict_tools"] = True
        return body

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL has no version: `https://api.cohere.com`."""
        return under(base_url, "chat", "v2")


def _is_plan(part: Part) -> bool:
    return isinstance(part, ReasoningPart) and part.extra.get("field") == "tool_plan"
