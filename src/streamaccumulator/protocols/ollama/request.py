"""Messages to a request of Ollama's own `/api/chat`: https://github.com/ollama/ollama/blob/main/docs/api.md

A message has one text, one reasoning, its calls and its images. Arguments are objects; a result names its tool.
"""

from collections.abc import Sequence
from typing import ClassVar

from ...messages import MediaPart, Part, ReasoningPart, RefusalPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import Converter, Json, Options, Result, function_tool, text_of, under


class OllamaRequest(Converter):
    """See the module."""

    takes_unsigned = True
    key_names = ("OLLAMA_API_KEY",)
    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "max_tokens": ("options", "num_predict"),
        "temperature": ("options", "temperature"),
        "seed": ("options", "seed"),
    }

    def system(self, parts: Sequence[Part]) -> None:
        """Instructions stand where they were said."""
        self._message("system", parts)

    def user(self, parts: Sequence[Part]) -> None:
        self._message("user", parts)

    def assistant(self, parts: Sequence[Part]) -> None:
        self._message("assistant", parts)

    def _message(self, role: str, parts: Sequence[Part]) -> None:
        message: Json = {"role": role, "content": text_of(parts)}
        thinking = "".join([part.text for part in parts if isinstance(part, ReasoningPart)])
        images = [data for part in parts if isinstance(part, MediaPart) and (data := self._image(part)) is not None]
        calls = self.blocks([part for part in parts if isinstance(part, ToolCall)])
        beside = {"thinking": thinking, "images": images, "tool_calls": calls}
        for part in parts:
            if isinstance(part, TextPart):
                self.left_out_citations(part)
            elif not isinstance(part, ReasoningPart | RefusalPart | MediaPart | ToolCall):
                self.left_out(part)
        self.messages.append({**message, **{key: value for key, value in beside.items() if value}})

    def _image(self, part: MediaPart) -> str | None:
        source = source_of(part)
        if part.kind != "image" or source.base64 is None:
            self.left_out(part)
        return source.base64 if part.kind == "image" else None

    def call(self, call: ToolCall) -> Json | None:
        id = {} if call.minted else {"id": call.id}
        return {**id, "function": {"name": call.name, "arguments": self.object_of(call)}, **call.extra}

    def results(self, results: Sequence[Result]) -> None:
        for result in results:
            call = result.call
            self._message("tool", [TextPart(result.told_text), *[part for part in result.parts if isinstance(part, MediaPart)]])
            id = {} if call.minted else {"tool_call_id": call.id}
            self.messages[-1].update({"tool_name": call.name, **id})

    def body(self, options: Options) -> Json:
        body: Json = {"model": options.model, "messages": self.messages, "stream": options.stream}
        if options.tools:
            body["tools"] = [function_tool(tool) for tool in options.tools]
        return body

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL is the server's: `http://localhost:11434`."""
        return under(base_url, "api/chat")
