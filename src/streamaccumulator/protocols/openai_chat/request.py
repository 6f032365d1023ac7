"""Messages to a request of OpenAI Chat Completions: https://platform.openai.com/docs/api-reference/chat/create

Look-alikes differ in where reasoning stands: it goes back under the field it came in, byte for byte, as do the keys of a call
that only its server knows. Reasoning without such a field is left out: OpenAI refuses what it does not know.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from ...messages import MediaPart, Part, ProviderPart, ReasoningPart, RefusalPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import InPlace, Json, Options, Result, arguments_text, function_tool, text_of, under

_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_IN_DETAILS = {"reasoning.summary": "summary"}
"""Where an entry of `reasoning_details` has its text; elsewhere it is `text`."""


class OpenAIChatRequest(InPlace):
    """See the module."""

    ids = re.compile(r"[a-zA-Z0-9]{9}")  # the only ids that Mistral takes; OpenAI takes any of 40 characters
    key_names = ("OPENAI_API_KEY",)
    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "max_tokens": ("max_tokens",),
        "temperature": ("temperature",),
        "seed": ("seed",),
    }
    choices: ClassVar[dict[str, Any]] = {"auto": "auto", "none": "none", "required": "required"}

    def assistant(self, parts: Sequence[Part]) -> None:
        message: Json = {"role": "assistant", "content": self._content(parts)}
        if refusal := "".join([part.text for part in parts if isinstance(part, RefusalPart)]):
            message["refusal"] = refusal
        for part in parts:
            if isinstance(part, ReasoningPart):
                self._reasoning(message, part)
            elif isinstance(part, ToolCall):
                self._call(message, part)
            elif isinstance(part, ProviderPart) and not _is_content(part):
                self._block(message, part)
        self.messages.append(message)

    def is_refused_at_the_end(self, parts: Sequence[Part]) -> bool:
        """Reasoning stands beside the content, which is wanted: without any, nor calls, the message is refused."""
        return all(isinstance(part, ReasoningPart) and not _is_content(part) for part in parts)

    def _content(self, parts: Sequence[Part]) -> str | list[Json] | None:
        """The text, or the list that Mistral sends where reasoning or other blocks stand among it."""
        inside = [part for part in parts if isinstance(part, TextPart) or _is_content(part)]
        for part in parts:
            if isinstance(part, TextPart):
                self.left_out_citations(part)
            elif not isinstance(part, RefusalPart | ReasoningPart | ToolCall | ProviderPart):
                self.left_out(part)
        if all(isinstance(part, TextPart) for part in inside):
            return text_of(inside) or None
        return self.blocks(inside)

    def _reasoning(self, message: Json, part: ReasoningPart) -> None:
        field, kind = part.extra.get("field"), part.extra.get("type")
        if field in _FIELDS and part.text:
            message[field] = message.get(field, "") + part.text
        if isinstance(kind, str):
            text = "" if field else part.text
            said = {_IN_DETAILS.get(kind, "text"): text, "signature": part.signature, "data": part.redacted}
            entry = {**part.extra, **{key: value for key, value in said.items() if value}}
            entry.pop("field", None)
            message.setdefault("reasoning_details", []).append(entry)
        elif field not in (*_FIELDS, "content"):
            self._note("reasoning_left_out", "reasoning that came under no field was left out: there is none to send it in")

    def _call(self, message: Json, call: ToolCall) -> None:
        if call.extra.get("legacy") == "function_call":
            message["function_call"] = {"name": call.name, "arguments": arguments_text(call)}
            return
        custom = call.kind == "custom"
        what = {"name": call.name, "input" if custom else "arguments": arguments_text(call)}
        kind = "custom" if custom else "function"
        message.setdefault("tool_calls", []).append({"id": call.id, "type": kind, kind: what, **call.extra})

    def _block(self, message: Json, part: ProviderPart) -> None:
        """Sound is named by its id alone; a kind of reasoning we do not know is one of the details."""
        if part.kind == "audio" and part.data.get("id"):
            message["audio"] = {"id": part.data["id"]}
        elif part.kind.startswith("reasoning."):
            message.setdefault("reasoning_details", []).append({**part.data, **part.extra})
        else:
            self.left_out(part)

    def reasoning(self, part: ReasoningPart) -> Json | None:
        """Reasoning within content: https://docs.mistral.ai/capabilities/reasoning/"""
        signature = {"signature": part.signature} if part.signature else {}
        return {"type": "thinking", "thinking": [{"type": "text", "text": part.text}], **signature}

    def media(self, part: MediaPart) -> Json | None:
        """https://platform.openai.com/docs/api-reference/chat/create#chat-create-messages"""
        source = source_of(part)
        if part.kind == "image":
            return {"type": "image_url", "image_url": {"url": source.data_url, **part.extra}}
        if part.kind == "audio" and source.base64 is not None:
            return {
                "type": "input_audio",
                "input_audio": {"data": source.base64, "format": _SOUNDS.get(source.format, source.format)},
            }
        if source.base64 is not None:
            return {"type": "file", "file": {"file_data": source.data_url, "filename": "file", **part.extra}}
        return self.left_out(part)

    def results(self, results: Sequence[Result]) -> None:
        for result in results:
            for part in result.parts:
                if not isinstance(part, TextPart):
                    self.left_out(part)
            if result.call.extra.get("legacy") == "function_call":
                self.messages.append({"role": "function", "name": result.call.name, "content": result.told_text})
            else:
                self.messages.append({"role": "tool", "tool_call_id": result.call.id, "content": result.told_text})

    def body(self, options: Options) -> Json:
        body: Json = {"model": options.model, "messages": self.messages, "stream": options.stream}
        if options.stream:
            body["stream_options"] = {"include_usage": True}
        if options.tools:
            body["tools"] = [function_tool(tool) for tool in options.tools]
        return body

    def named_choice(self, name: str) -> Any:
        return {"type": "function", "function": {"name": name}}

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL ends in the version: `https://api.openai.com/v1`."""
        return under(base_url, "chat/completions")


_SOUNDS = {"mpeg": "mp3", "x-wav": "wav"}


def _is_content(part: Part) -> bool:
    """Whether it stood in a list of content."""
    if isinstance(part, ReasoningPart):
        return part.extra.get("field") == "content"
    return isinstance(part, ProviderPart) and part.kind != "audio" and not part.kind.startswith("reasoning.")
