"""Messages to a request of Gemini: https://ai.google.dev/api/generate-content

Each part goes back unmerged with its `thoughtSignature`, also an empty one: https://ai.google.dev/gemini-api/docs/thought-signatures
A call that came without an id goes back without one, as does its result: they are matched by name and order.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from ...messages import MediaPart, Part, ReasoningPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import Converter, Json, Options, Result, under


class GeminiRequest(Converter):
    """See the module."""

    takes_unsigned = True
    key_names = (
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
    )
    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "max_tokens": ("generationConfig", "maxOutputTokens"),
        "temperature": ("generationConfig", "temperature"),
        "seed": ("generationConfig", "seed"),
    }
    choices: ClassVar[dict[str, Any]] = {"auto": {"mode": "AUTO"}, "none": {"mode": "NONE"}, "required": {"mode": "ANY"}}
    choice_at = ("toolConfig", "functionCallingConfig")

    def user(self, parts: Sequence[Part]) -> None:
        self.say("user", self.blocks(parts), "parts")

    def assistant(self, parts: Sequence[Part]) -> None:
        self.say("model", self.blocks(parts), "parts")

    def text(self, part: TextPart) -> Json | None:
        self.left_out_citations(part)
        return {"text": part.text, **part.extra}

    def reasoning(self, part: ReasoningPart) -> Json | None:
        thought = {"thought": True} if part.text else {}
        signature = {"thoughtSignature": part.signature} if part.signature else {}
        return {"text": part.text, **thought, **signature, **part.extra}

    def call(self, call: ToolCall) -> Json | None:
        return {"functionCall": {**_id_of(call), "name": call.name, "args": self.object_of(call)}, **call.extra}

    def media(self, part: MediaPart) -> Json | None:
        source = source_of(part)
        if source.url is not None:
            return {"fileData": {"mimeType": source.mime, "fileUri": source.url}, **part.extra}
        return {"inlineData": {"mimeType": source.mime, "data": source.base64}, **part.extra}

    def results(self, results: Sequence[Result]) -> None:
        blocks = []
        for result in results:
            for part in result.parts:
                if not isinstance(part, TextPart):
                    self.left_out(part)
            response = {"error" if result.is_error else "output": result.text}
            blocks.append({"functionResponse": {**_id_of(result.call), "name": result.call.name, "response": response}})
        self.say("user", blocks, "parts")

    def body(self, options: Options) -> Json:
        body: Json = {"contents": self.messages}
        if self.system_texts:
            body["systemInstruction"] = {"parts": [{"text": text} for text in self.system_texts]}
        if options.tools:
            declared = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
                for tool in options.tools
            ]
            body["tools"] = [{"functionDeclarations": declared}]
            if any(tool.strict for tool in options.tools):
                self._note("option_left_out", "the protocol has no place for strict, which was left out")
        return body

    def named_choice(self, name: str) -> Any:
        return {"mode": "ANY", "allowedFunctionNames": [name]}

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL has no version, `https://generativelanguage.googleapis.com`, or one of its own, as Vertex AI's has."""
        path = model if "/" in model else f"models/{model}"
        return under(base_url, f"{path}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}", "v1beta")

    @staticmethod
    def headers(api_key: str) -> dict[str, str]:
        """https://ai.google.dev/gemini-api/docs/api-key"""
        return {**({"x-goog-api-key": api_key} if api_key else {}), "Content-Type": "application/json"}


def _id_of(call: ToolCall) -> Json:
    return {} if call.minted else {"id": call.id}
