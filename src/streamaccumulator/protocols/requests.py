"""What every conversion of messages to a provider's request shares: one rule, one place.

A protocol's `request.py` says how each part and message is written; here is what of a part may go at all, and where the
options stand. Whatever is left out is told. Used by `_conversation`, which settles ids and results before.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from .._json import parse, to_bytes
from .._log import logger
from .._record import Record
from ..errors import JsonProblem
from ..messages import (
    CitationPart,
    MediaPart,
    Part,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolSpec,
)
from ..response import Diagnostic

Json = dict[str, Any]


class Options(Record, frozen=True):
    """What is asked for beside the messages; None is not said."""

    model: str
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    max_tokens: int | None = None
    stream: bool = True
    temperature: float | None = None
    seed: int | None = None


_NO_TEXT = "The result has no text, and this model can be told only text."


class Result(Record, frozen=True):
    """The result of one call, which is there."""

    call: ToolCall
    parts: tuple[Part, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """All its text."""
        return text_of(self.parts)

    @property
    def told_text(self) -> str:
        """All its text, which says itself that it is an error: for protocols that have no mark for one."""
        text = self.text or (_NO_TEXT if self.parts else "")
        return f"Error: {text}" if self.is_error and not text.lower().startswith("error") else text


class Converter:
    """One conversation on its way into the body of one protocol's request. One object for one request."""

    ids: ClassVar[re.Pattern[str]] = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    """The ids of calls from other protocols that it takes as they are."""
    takes_unsigned: ClassVar[bool] = False
    """Whether reasoning of other protocols can be sent, which has no signature here."""
    takes_blank: ClassVar[bool] = True
    """Whether text of white space alone can be sent."""
    ends_in_reasoning: ClassVar[bool] = True
    """Whether an assistant's message may end in reasoning; elsewhere the model was cut, and such a message is refused."""
    options: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Where an option stands in the body; one that is not here cannot be carried."""
    choices: ClassVar[dict[str, Any]] = {}
    """The words of `tool_choice` as the wire has them."""
    choice_at: ClassVar[tuple[str, ...]] = ("tool_choice",)
    key_names: ClassVar[tuple[str, ...]] = ()
    """The environment variables in which the provider's own SDK looks for the key, the first one first."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.system_texts: list[str] = []
        self._notes: dict[tuple[str, str], Diagnostic] = {}

    # ---- What each protocol says for itself.

    def system(self, parts: Sequence[Part]) -> None:
        """Instructions. Here: beside the messages, where the protocol has one place for all."""
        if self.messages:
            self._note("system_moved", "instructions in mid-conversation were moved to its beginning")
        if text := text_of(parts):
            self.system_texts.append(text)

    def user(self, parts: Sequence[Part]) -> None:
        """What the user says."""
        self.say("user", self.blocks(parts))

    def assistant(self, parts: Sequence[Part]) -> None:
        """What the model said."""
        self.say("assistant", self.blocks(parts))

    def sayable(self, parts: Iterable[Part]) -> list[Part]:
        """The parts of an assistant's message that have a place in the protocol."""
        found = []
        for part in parts:
            if isinstance(part, MediaPart) and not self.takes_back(part):
                self.left_out(part)
            else:
                found.append(part)
        return found

    def takes_back(self, part: MediaPart) -> bool:
        """Whether an assistant's message may hold this image."""
        return True

    def uncut(self, parts: Sequence[Part]) -> list[Part]:
        """The parts without what was cut so that the provider refuses a conversation with it."""
        found: list[Part] = []
        for part in parts:
            if isinstance(part, ProviderPart) and self.is_unfinished(part):
                self._note("unfinished_left_out", "a provider's block that was cut was left out")
            else:
                found.append(part)
        while found and self.is_refused_at_the_end(found):
            found.pop()
            self._note("reasoning_left_out", "reasoning that nothing follows was left out: it would be refused")
        return found

    def is_unfinished(self, part: ProviderPart) -> bool:
        """Whether a block was cut, by what stands in it."""
        return False

    def is_refused_at_the_end(self, parts: Sequence[Part]) -> bool:
        """Whether a message may not end with the last of the parts."""
        return isinstance(parts[-1], ReasoningPart) and not self.ends_in_reasoning

    def results(self, results: Sequence[Result]) -> None:
        """The results of all calls of the message before, in the order of the calls."""
        raise NotImplementedError  # each protocol has its own form

    def body(self, options: Options) -> Json:
        """The messages, tools and whatever else the protocol asks for; `finish_body` adds the options."""
        raise NotImplementedError  # each protocol has its own form

    def named_choice(self, name: str) -> Any:
        """`tool_choice` where it names a tool; None where the protocol has no word for it."""
        return None

    @staticmethod
    def endpoint(base_url: str, model: str, stream: bool) -> str:
        """The URL that takes the request, under the base URL that the provider's SDK takes."""
        raise NotImplementedError  # each protocol has its own path

    @staticmethod
    def headers(api_key: str) -> dict[str, str]:
        """The headers that the request needs; with an empty key none for it."""
        return bearer(api_key)

    # ---- Parts, one method a kind; None is left out.

    def text(self, part: TextPart) -> Json | None:
        """Visible text."""
        return {"type": "text", "text": part.text, **part.extra}

    def reasoning(self, part: ReasoningPart) -> Json | None:
        """Reasoning, as it came."""
        return self.left_out(part)

    def refusal(self, part: RefusalPart) -> Json | None:
        """A refusal: its text, where the protocol has no channel for it."""
        return self.text(TextPart(part.text))

    def call(self, call: ToolCall) -> Json | None:
        """A call that stands among other parts."""
        return self.left_out(call)

    def citation(self, part: CitationPart) -> Json | None:
        """A citation that belongs to no text."""
        return self.left_out(part)

    def media(self, part: MediaPart) -> Json | None:
        """An image, sound or file."""
        return self.left_out(part)

    def provider(self, part: ProviderPart) -> Json | None:
        """A block that only its provider understands, as it came."""
        return {**part.data, **part.extra}

    # ---- What they share.

    def say(self, role: str, content: list[Json], key: str = "content") -> None:
        """Add blocks to the conversation; those of one role after another are one message, as roles must alternate."""
        if not content:
            return
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1][key] += content
        else:
            self.messages.append({"role": role, key: content})

    def blocks(self, parts: Iterable[Part]) -> list[Json]:
        """What the parts become, in their order."""
        return [block for part in parts if (block := _WRITERS[type(part)](self, part)) is not None]

    def left_out(self, part: Part) -> Json | None:
        """A part that the protocol has no place for: None, and told."""
        self._note("part_left_out", f"the protocol has no place for {_NAMES[type(part)]}, which was left out")
        return None

    def left_out_citations(self, part: TextPart) -> None:
        """The citations of a text, where the protocol has no place for them."""
        if part.citations:
            self._note("part_left_out", f"the protocol has no place for {_NAMES[CitationPart]}, which was left out")

    def domestic(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """What another protocol's parts are here: without what only that one understands."""
        return tuple([found for part in parts if (found := self._domestic(part)) is not None])

    def _domestic(self, part: Part) -> Part | None:
        if isinstance(part, ProviderPart | CitationPart) or (isinstance(part, TextPart) and part.citations):
            name = _NAMES[ProviderPart if isinstance(part, ProviderPart) else CitationPart]
            self._note("foreign_left_out", f"{name} of another protocol was left out")
        if isinstance(part, ReasoningPart):
            kept = part.text if self.takes_unsigned else ""
            if part.signature or part.redacted or not kept:
                what = "the signature of reasoning" if kept else "reasoning"
                self._note("foreign_left_out", f"{what} of another protocol was left out")
            return ReasoningPart(kept) if kept else None
        if isinstance(part, ProviderPart | CitationPart):
            return None
        if isinstance(part, TextPart):
            return TextPart(part.text)
        return msgspec.structs.replace(part, extra={})

    def worth_saying(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """The parts without those that hold nothing: providers refuse empty text."""
        return tuple([part for part in parts if self._is_worth_saying(part)])

    def _is_worth_saying(self, part: Part) -> bool:
        if isinstance(part, ReasoningPart):
            return bool(part.text or part.signature or part.redacted)
        if not isinstance(part, TextPart | RefusalPart):
            return True
        if part.text and not part.text.strip() and not self.takes_blank and not part.extra:
            self._note("blank_left_out", "text of white space alone was left out")
            return False
        return bool(part.text or part.extra)

    # ---- The body.

    def finish_body(self, body: Json, options: Options) -> Json:
        """The body with the options in their places."""
        for name in ("max_tokens", "temperature", "seed"):
            value = getattr(options, name)
            if value is not None:
                self._put(body, self.options.get(name), value, name)
        choice: Any = options.tool_choice
        if isinstance(choice, str):
            choice = self.choices[choice] if choice in self.choices else None if choice in _WORDS else self.named_choice(choice)
        if options.tool_choice is not None:
            self._put(body, self.choice_at if choice is not None else None, choice, "tool_choice")
        return body

    def _put(self, body: Json, path: tuple[str, ...] | None, value: Any, name: str) -> None:
        if path is None:
            self._note("option_left_out", f"the protocol has no place for {name}, which was left out")
            return
        for key in path[:-1]:
            body = body.setdefault(key, {})
        body[path[-1]] = value

    def object_of(self, call: ToolCall) -> Json:
        """The arguments of a call as the object that the wire wants; what is none is put into one."""
        if isinstance(call.arguments, dict):
            return call.arguments
        self._note("arguments_wrapped", "arguments that are no object were put into one, under `input`", call.id)
        return {"input": call.arguments}

    def _note(self, code: str, message: str, where: str = "") -> None:
        known = self._notes.get((code, message))
        if known is None:
            known = Diagnostic(code, message, where, 0)
            logger("requests").info("%s: %s", code, message)
        self._notes[code, message] = msgspec.structs.replace(known, count=known.count + 1)

    def notice(self, code: str, message: str, where: str = "") -> None:
        """Tell of something that was done on purpose."""
        self._note(code, message, where)

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """What was left out or done on purpose, in the order in which it was met."""
        return tuple(self._notes.values())


_WORDS = ("auto", "none", "required")

_WRITERS: dict[type, Callable[[Converter, Any], Json | None]] = {
    TextPart: lambda converter, part: converter.text(part),
    ReasoningPart: lambda converter, part: converter.reasoning(part),
    RefusalPart: lambda converter, part: converter.refusal(part),
    ToolCall: lambda converter, part: converter.call(part),
    CitationPart: lambda converter, part: converter.citation(part),
    MediaPart: lambda converter, part: converter.media(part),
    ProviderPart: lambda converter, part: converter.provider(part),
}
_NAMES: dict[type, str] = {
    TextPart: "text",
    ReasoningPart: "reasoning",
    RefusalPart: "a refusal",
    ToolCall: "a call",
    CitationPart: "a citation",
    MediaPart: "an image, sound or file",
    ProviderPart: "a provider's block",
}


class InPlace(Converter):
    """Where instructions stand where they were said, and what a user says is a string if it is text and nothing more."""

    def system(self, parts: Sequence[Part]) -> None:
        self.messages.append({"role": "system", "content": text_of(parts)})

    def user(self, parts: Sequence[Part]) -> None:
        plain = all(isinstance(part, TextPart) and not part.extra for part in parts)
        content = text_of(parts) if plain else self.blocks(parts)
        if content:
            self.messages.append({"role": "user", "content": content})


def text_of(parts: Iterable[Part]) -> str:
    """All text of the parts, joined with nothing between."""
    return "".join([part.text for part in parts if isinstance(part, TextPart | RefusalPart)])


def arguments_text(call: ToolCall) -> str:
    """The arguments of a call as text: exactly as received, where that is the document that they are."""
    if call.kind == "custom":
        return call.arguments if isinstance(call.arguments, str) else call.arguments_raw
    try:
        if parse(call.arguments_raw) == call.arguments:
            return call.arguments_raw
    except JsonProblem:
        pass  # blank, or sent again and again: what it means is what goes back
    return to_bytes(call.arguments).decode()


def bearer(api_key: str) -> dict[str, str]:
    """The headers of most providers; without a key none for it, as local servers want it."""
    return {**({"Authorization": f"Bearer {api_key}"} if api_key else {}), "Content-Type": "application/json"}


def under(base_url: str, path: str, version: str = "") -> str:
    """A path under the base URL, and under a version where the base URL has none."""
    base = base_url.rstrip("/")
    versioned = not version or any(_VERSION.fullmatch(piece) for piece in urlsplit(base).path.split("/"))
    return f"{base}/{path}" if versioned else f"{base}/{version}/{path}"


_VERSION = re.compile(r"v\d+[a-z0-9]*")


def function_tool(tool: ToolSpec) -> Json:
    """A tool as OpenAI's chat and its look-alikes have it."""
    return {"type": "function", "function": described(tool, "parameters")}


def described(tool: ToolSpec, schema: str) -> Json:
    """A tool's fields, its JSON Schema under the name the wire has for it."""
    said: Mapping[str, Any] = {"name": tool.name, "description": tool.description, schema: tool.parameters, "strict": tool.strict}
    return {key: value for key, value in said.items() if value is not None and value != ""}
