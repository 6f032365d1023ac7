"""The rules of a conversation that hold for every provider: whose a result is, what a call's id is, what is broken.

* Results follow the message with their calls directly, in the order of the calls. One that stands after another user message
  is moved there; one for no call of the last assistant message, and a second one for a call, are left out and told.
* Two calls of a conversation never share an id: an id we minted, which repeats from turn to turn, and a provider's id that was
  there before, become one by its number in the conversation (`call00001`: nine letters and digits, which every provider takes).
  An id depends only on what stands before it, so that the request of a longer conversation begins the same.
* A call of another protocol keeps its id where the protocol of the request can take it.

Only `requests` uses this.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ._values import copied, is_torn, mend, rebuilt
from .errors import InvalidToolCallJson, RequestError
from .messages import (
    AssistantMessage,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    merge_deeply,
)
from .protocols import Protocol, names, protocol_named
from .protocols.requests import Converter, Result
from .protocols.requests import Options as Options
from .response import AccumulatedResponse, Diagnostic

INTERRUPTED = "interrupted: there is no result"
"""What `missing_results="interrupted"` says for a call without a result."""


def request_of(
    messages: Sequence[Message | AccumulatedResponse],
    protocol: str | Protocol,
    system: str | None,
    source: str | Sequence[str | None] | None,
    choices: tuple[str, str],
    options: Options,
    extra: dict[str, Any],
) -> tuple[Protocol, dict[str, Any], tuple[Diagnostic, ...]]:
    """The protocol, the body and the notices of a request."""
    found, converter = converter_of(protocol)
    writer = _Writer(converter, found.name, *choices)
    sources = [source] * len(messages) if source is None or isinstance(source, str) else list(source)
    if len(sources) != len(messages):
        raise ValueError(f"there are {len(messages)} messages and {len(sources)} sources")
    if system:
        converter.system([TextPart(system)])
    for message, origin in zip(messages, sources, strict=True):
        writer.write(message, origin)
    writer.close()
    body = converter.finish_body(converter.body(options), options)

    def sendable(text: str) -> str:
        if not is_torn(text):
            return text
        converter.notice("lone_surrogate", "half of a character, which no request can carry, was made U+FFFD")
        return mend(text)

    return found, rebuilt(merge_deeply(body, extra), sendable), converter.notices


def entries_of(
    message: AssistantMessage | AccumulatedResponse, protocol: str | Protocol, source: str | None, broken_calls: str
) -> list[dict[str, Any]]:
    """What one assistant message becomes."""
    found, converter = converter_of(protocol)
    writer = _Writer(converter, found.name, broken_calls, "refuse")
    parts = converter.sayable(writer.parts_of(writer.unwrapped(message).content, source))
    if parts:
        converter.assistant(parts)
    own: list[dict[str, Any]] = copied(converter.messages)
    return own


def converter_of(protocol: str | Protocol) -> tuple[Protocol, Converter]:
    """A protocol and a converter for one request. Raises UnknownProtocol, and ValueError if it has none."""
    found = protocol_named(protocol) if isinstance(protocol, str) else protocol
    if found.converter is None:
        able = [name for name in names() if protocol_named(name).converter is not None]
        raise ValueError(f"messages cannot be turned into a request of {found.name}; they can for {', '.join(able)}")
    converter: Converter = found.converter()
    return found, converter


class _Writer:
    """Messages, one after another, to a converter. Results wait until all that follow their calls were seen."""

    def __init__(self, converter: Converter, protocol: str, broken_calls: str, missing_results: str) -> None:
        self._converter = converter
        self._protocol = protocol
        self._broken_calls = broken_calls
        self._missing_results = missing_results
        self._taken: set[str] = set()
        self._numbered = 0
        self._calls: dict[str, ToolCall] = {}
        """The calls that wait for their results, by the ids that the caller knows."""
        self._results: dict[str, Result] = {}
        self._waiting: list[tuple[SystemMessage | UserMessage, str | None]] = []
        """What was said while calls waited."""

    def write(self, message: Message | AccumulatedResponse, source: str | None) -> None:
        """One more message."""
        if isinstance(message, AssistantMessage | AccumulatedResponse):
            self._settle()
            self._assistant(self.unwrapped(message), source)
        elif isinstance(message, ToolMessage):
            self._result(message, source)
        elif self._calls:
            self._waiting.append((message, source))
        else:
            self._other(message, source)

    def close(self) -> None:
        """No more comes."""
        self._settle()

    def unwrapped(self, message: AssistantMessage | AccumulatedResponse) -> AssistantMessage:
        """The message of a response. Raises RequestError if it lost a call, and that is not to be passed over."""
        if isinstance(message, AssistantMessage):
            return message
        for error in message.errors:
            if not isinstance(error, InvalidToolCallJson):
                continue
            if self._broken_calls == "refuse":
                said = f'{error.what()}; with broken_calls="drop" the request goes without it'
                raise RequestError(said, error.call_id)
            self._converter.notice("broken_call_left_out", "a call that is not usable was left out", error.call_id)
        return message.message

    def parts_of(self, content: str | tuple[Part, ...], source: str | None) -> tuple[Part, ...]:
        """The parts of a message that can go at all."""
        parts = (TextPart(content),) if isinstance(content, str) else content
        if source not in (None, self._protocol):
            parts = self._converter.domestic(parts)
        return self._converter.worth_saying(parts)

    def _assistant(self, message: AssistantMessage, source: str | None) -> None:
        foreign = source not in (None, self._protocol)
        parts: list[Part] = []
        for part in self._converter.uncut(self._converter.sayable(self.parts_of(message.content, source))):
            if isinstance(part, ToolCall):
                call = msgspec.structs.replace(part, id=self._id(part, foreign))
                self._calls[part.id] = call
                parts.append(call)
            else:
                parts.append(part)
        if parts:
            self._converter.assistant(parts)
        else:
            self._converter.notice("empty_message", "a message in which there is nothing to send was left out")

    def _id(self, call: ToolCall, foreign: bool) -> str:
        id = call.id
        if call.minted or id in self._taken or (foreign and not self._converter.ids.fullmatch(id)):
            while True:
                self._numbered += 1
                id = f"call{self._numbered:05}"
                if id not in self._taken:
                    break
        self._taken.add(id)
        return id

    def _result(self, message: ToolMessage, source: str | None) -> None:
        id, notice = message.tool_call_id, self._converter.notice
        call = self._calls.get(id)
        if call is None:
            notice("result_left_out", "a result for no call of the assistant's last message was left out", id)
        elif id in self._results:
            notice("result_left_out", "a second result for a call was left out", id)
        else:
            if self._waiting:
                notice("result_moved", "a result was moved to its call, which it must follow directly", id)
            self._results[id] = Result(call, self.parts_of(message.content, source), message.is_error)

    def _settle(self) -> None:
        """All results that come have come: they are written, and then what was said among them."""
        found = []
        for id, call in self._calls.items():
            result = self._results.get(id)
            if result is None:
                if self._missing_results == "refuse":
                    what = f"the call {id[:80]!r} to {call.name[:80]!r} has no result"
                    raise RequestError(f'{what}; with missing_results="interrupted" it is given one that says so', id)
                self._converter.notice("result_made_up", "a call without a result was given one that says so", id)
                result = Result(call, (TextPart(INTERRUPTED),), True)
            found.append(result)
        if found:
            self._converter.results(found)
        waiting = self._waiting
        self._calls, self._results, self._waiting = {}, {}, []
        for message, source in waiting:
            self._other(message, source)

    def _other(self, message: SystemMessage | UserMessage, source: str | None) -> None:
        parts = self.parts_of(message.content, source)
        if not parts:
            self._converter.notice("empty_message", "a message in which there is nothing to send was left out")
        elif isinstance(message, SystemMessage):
            self._converter.system(parts)
        else:
            self._converter.user(parts)
