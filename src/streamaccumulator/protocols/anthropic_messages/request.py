"""Messages to a request of Anthropic Messages: https://docs.anthropic.com/en/api/messages

Blocks go back in their order, thinking with its signature byte for byte; without one it came from a server that signs nothing
(llama.cpp). Results come first in the user's next message. What was cut is refused, and left out: thinking at the end, and calls
that the server was to run. Those stay where nothing follows: that is how one that paused (`pause_turn`) is told to go on.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from ...messages import MediaPart, ProviderPart, ReasoningPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import Converter, Json, Options, Result, described, under

DEFAULT_MAX_TOKENS = 8192
"""The protocol wants a bound in each request; every model of today can write as much."""


class AnthropicMessagesRequest(Converter):
    """See the module."""

    ids = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    takes_blank = False
    ends_in_reasoning = False
    key_names = ("ANTHROPIC_API_KEY",)
    options: ClassVar[dict[str, tuple[str, ...]]] = {"max_tokens": ("max_tokens",), "temperature": ("temperature",)}
    choices: ClassVar[dict[str, Any]] = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}

    def takes_back(self, part: MediaPart) -> bool:
        return False

    def is_unfinished(self, part: ProviderPart) -> bool:
        return part.kind in _RUN_THERE and not isinstance(part.data.get("input"), dict)

    def say(self, role: str, content: list[Json], key: str = "content") -> None:
        if content and role == "user" and self.messages and self.messages[-1]["role"] == "assistant":
            self._end(self.messages[-1])
        super().say(role, content, key)

    def _end(self, message: Json) -> None:
        """What the user answers holds no call without its result; one beside the user's own runs when theirs are there."""
        blocks: list[Json] = message["content"]
        if any(block["type"] == "tool_use" for block in blocks):
            return
        answered = {block.get("tool_use_id") for block in blocks}
        kept = [block for block in blocks if block["type"] not in _RUN_THERE or block["id"] in answered]
        if len(kept) < len(blocks):
            self._note("unfinished_left_out", "a call that the server was to run, and that has no result, was left out")
        while kept and kept[-1]["type"] in _THINKING:
            kept.pop()
        message["content"] = kept
        if not kept:
            self.messages.pop()

    def text(self, part: TextPart) -> Json | None:
        citations = {"citations": list(part.citations)} if part.citations else {}
        return {"type": "text", "text": part.text, **citations, **part.extra}

    def reasoning(self, part: ReasoningPart) -> Json | None:
        if part.redacted:
            return {"type": "redacted_thinking", "data": part.redacted, **part.extra}
        return {"type": "thinking", "thinking": part.text, "signature": part.signature or "", **part.extra}

    def call(self, call: ToolCall) -> Json | None:
        return {"type": "tool_use", "id": call.id, "name": call.name, "input": self.object_of(call), **call.extra}

    def media(self, part: MediaPart) -> Json | None:
        """https://docs.anthropic.com/en/docs/build-with-claude/vision and .../pdf-support"""
        source = source_of(part)
        kind = "image" if part.kind == "image" else "document" if source.mime == "application/pdf" else None
        if kind is None:
            return self.left_out(part)
        if source.url is not None:
            return {"type": kind, "source": {"type": "url", "url": source.url}, **part.extra}
        return {"type": kind, "source": {"type": "base64", "media_type": source.mime, "data": source.base64}, **part.extra}

    def results(self, results: Sequence[Result]) -> None:
        blocks: list[Json] = []
        for result in results:
            block: Json = {"type": "tool_result", "tool_use_id": result.call.id}
            if content := self.blocks(result.parts):
                plain = len(content) == 1 and content[0].keys() == {"type", "text"}
                block["content"] = content[0]["text"] if plain else content
            if result.is_error:
                block["is_error"] = True
            blocks.append(block)
        self.say("user", blocks)

    def body(self, options: Options) -> Json:
        body: Json = {"model": options.model, "max_tokens": DEFAULT_MAX_TOKENS, "messages": self.messages, "stream": options.stream}
        if self.system_texts:
            body["system"] = "\n\n".join(self.system_texts)
        if options.tools:
            body["tools"] = [{"input_schema": tool.parameters, **described(tool, "input_schema")} for tool in options.tools]
        return body

    def named_choice(self, name: str) -> Any:
        return {"type": "tool", "name": name}

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL has no version: `https://api.anthropic.com`."""
        return under(base_url, "messages", "v1")

    @staticmethod
    def headers(api_key: str) -> dict[str, str]:
        """https://docs.anthropic.com/en/api/versioning"""
        key = {"x-api-key": api_key} if api_key else {}
        return {**key, "anthropic-version": "2023-06-01", "Content-Type": "application/json"}


_RUN_THERE = ("server_tool_use", "mcp_tool_use")
_THINKING = ("thinking", "redacted_thinking")
