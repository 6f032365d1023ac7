"""Messages to a request of OpenAI Responses: https://platform.openai.com/docs/api-reference/responses/create

Each part goes back as the item it came in, with the item's id: texts of one item together, reasoning with its summary, its
content and its encrypted content, and what the provider ran itself as it is. What was cut is refused, and left out: reasoning that
no item follows, and items that are in progress. `store` and `include` are the caller's, by `extra`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...messages import MediaPart, Part, ProviderPart, ReasoningPart, RefusalPart, TextPart, ToolCall
from ..media_source import source_of
from ..requests import Converter, Json, Options, Result, arguments_text, described, text_of, under

_CALLS = {"custom": ("custom_tool_call", "input", "custom_tool_call_output")}
_FUNCTION = ("function_call", "arguments", "function_call_output")


class OpenAIResponsesRequest(Converter):
    """See the module. Items are kept in `messages`."""

    key_names = ("OPENAI_API_KEY",)
    options: ClassVar[dict[str, tuple[str, ...]]] = {"max_tokens": ("max_output_tokens",), "temperature": ("temperature",)}
    choices: ClassVar[dict[str, Any]] = {"auto": "auto", "none": "none", "required": "required"}

    def system(self, parts: Sequence[Part]) -> None:
        """Instructions stand where they were said."""
        self.messages.append({"role": "system", "content": text_of(parts)})

    def user(self, parts: Sequence[Part]) -> None:
        plain = all(isinstance(part, TextPart) and not part.extra for part in parts)
        content = text_of(parts) if plain else [self._input(part) for part in parts]
        if content:
            self.messages.append(
                {"role": "user", "content": [it for it in content if it] if isinstance(content, list) else content}
            )

    def _input(self, part: Part) -> Json | None:
        if isinstance(part, TextPart | RefusalPart):
            return {"type": "input_text", "text": part.text, **part.extra}
        return {**part.data, **part.extra} if isinstance(part, ProviderPart) else self._media_input(part)

    def _media_input(self, part: Part) -> Json | None:
        if not isinstance(part, MediaPart) or part.kind == "audio":
            return self.left_out(part)
        source = source_of(part)
        if part.kind == "image":
            return {"type": "input_image", "image_url": source.data_url, "detail": "auto", **part.extra}
        where = {"file_url": source.url} if source.url is not None else {"file_data": source.data_url, "filename": "file"}
        return {"type": "input_file", **where, **part.extra}

    def takes_back(self, part: MediaPart) -> bool:
        return part.extra.get("type") == "image_generation_call"

    def is_unfinished(self, part: ProviderPart) -> bool:
        return part.data.get("status") == "in_progress"

    def is_refused_at_the_end(self, parts: Sequence[Part]) -> bool:
        """Reasoning is a block where nothing of it was shown."""
        last = parts[-1]
        return isinstance(last, ReasoningPart) or (isinstance(last, ProviderPart) and last.data.get("type") == "reasoning")

    def assistant(self, parts: Sequence[Part]) -> None:
        before: Json = {}
        for part in parts:
            if isinstance(part, TextPart | RefusalPart):
                before = self._said(before, part)
            elif isinstance(part, ReasoningPart):
                before = self._thought(before, part)
            else:
                before = {}
                self.messages += self.blocks([part])

    def _said(self, before: Json, part: TextPart | RefusalPart) -> Json:
        """A text of a message item: another of the one before, or of a new one. Without an id the API wants the short form."""
        if not part.extra.get("id"):
            self.messages.append({"role": "assistant", "content": part.text})
            return {}
        if before.get("type") != "message" or before["id"] != part.extra["id"]:
            before = {"type": "message", "role": "assistant", "content": []}
            self.messages.append(before)
        before.update(_beside(part.extra))
        if isinstance(part, RefusalPart):
            before["content"].append({"type": "refusal", "refusal": part.text})
        else:
            before["content"].append({"type": "output_text", "text": part.text, "annotations": list(part.citations)})
        return before

    def _thought(self, before: Json, part: ReasoningPart) -> Json:
        """A text of a reasoning item, or what is encrypted of it."""
        if before.get("type") != "reasoning" or before.get("id") != part.extra.get("id") or part.signature:
            before = {"type": "reasoning", "summary": []}
            self.messages.append(before)
        before.update(_beside(part.extra))
        if part.text:
            summary = part.extra.get("field") != "reasoning_text"
            entry = {"type": "summary_text" if summary else "reasoning_text", "text": part.text}
            before.setdefault("summary" if summary else "content", []).append(entry)
        if part.signature:
            before["encrypted_content"] = part.signature
        return before

    def call(self, call: ToolCall) -> Json | None:
        kind, key, _ = _CALLS.get(call.kind, _FUNCTION)
        return {"type": kind, "call_id": call.id, "name": call.name, key: arguments_text(call), **call.extra}

    def media(self, part: MediaPart) -> Json | None:
        """An image that the provider made."""
        return {**part.extra, "result": part.data}

    def results(self, results: Sequence[Result]) -> None:
        for result in results:
            kind = _CALLS.get(result.call.kind, _FUNCTION)[2]
            plain = all(isinstance(part, TextPart) for part in result.parts)
            output = result.told_text if plain else [it for part in result.parts if (it := self._input(part)) is not None]
            self.messages.append({"type": kind, "call_id": result.call.id, "output": output})

    def body(self, options: Options) -> Json:
        body: Json = {"model": options.model, "input": [_with_status(item) for item in self.messages], "stream": options.stream}
        if options.tools:
            body["tools"] = [
                {"type": "function", "parameters": None, "strict": None, **described(tool, "parameters")} for tool in options.tools
            ]
        return body

    def named_choice(self, name: str) -> Any:
        return {"type": "function", "name": name}

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The base URL ends in the version: `https://api.openai.com/v1`."""
        return under(base_url, "responses")


def _with_status(item: Json) -> Json:
    """A message item has to say how it ended; one that was cut does not."""
    return {**item, "status": "incomplete"} if item.get("type") == "message" and "status" not in item else item


def _beside(extra: Mapping[str, Any]) -> Json:
    """The keys of an item that were kept with its first text."""
    return {key: value for key, value in extra.items() if key != "field"}
