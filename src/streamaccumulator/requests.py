"""Messages back to what a provider takes: signatures, order and arguments intact, nothing left out in silence.

The rules of a conversation are in `_conversation`, the form of each protocol in `protocols/NAME/request.py`; both are loaded
by the first request.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ._record import Record
from .messages import AssistantMessage, Message, ToolSpec
from .protocols import Protocol
from .response import AccumulatedResponse, Diagnostic


class Request(Record, frozen=True):
    """One request: its JSON `body`, and `notices` of what was left out or changed on purpose."""

    protocol: Protocol
    model: str
    stream: bool
    body: dict[str, Any]
    notices: tuple[Diagnostic, ...] = ()

    def url(self, base_url: str) -> str:
        """Where it is posted to, under the base URL that the provider's own SDK takes."""
        assert self.protocol.converter is not None
        url: str = self.protocol.converter().endpoint(base_url, self.model, self.stream)
        return url

    def headers(self, api_key: str) -> dict[str, str]:
        """The headers that the provider wants: key, version, content type."""
        assert self.protocol.converter is not None
        headers: dict[str, str] = self.protocol.converter().headers(api_key)
        return headers


def to_request(
    messages: Iterable[Message | AccumulatedResponse],
    protocol: str | Protocol,
    *,
    model: str,
    tools: Iterable[ToolSpec] = (),
    tool_choice: str | dict[str, Any] | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    stream: bool = True,
    temperature: float | None = None,
    seed: int | None = None,
    extra: dict[str, Any] | None = None,
    source: str | Sequence[str | None] | None = None,
    broken_calls: Literal["refuse", "drop"] = "refuse",
    missing_results: Literal["refuse", "interrupted"] = "refuse",
) -> Request:
    """The request that continues a conversation.

    `tool_choice` is `auto`, `none`, `required`, the name of a tool, or the provider's own object. `max_tokens` is in tokens.
    `extra` is merged deeply into the body, and wins.

    `source` is the protocol the messages were assembled from, or a list with one for each message; None is the protocol of the
    request. What only the source understands (signatures, provider blocks) is left out of another's request, and told.

    A response may stand for its message. `broken_calls` says what becomes of the calls it lost (`InvalidToolCallJson`):
    `refuse` raises RequestError, `drop` leaves them out. `missing_results` says the same of a call without its result:
    `interrupted` gives it one that says so. Raises UnknownProtocol, and ValueError for a protocol that has no requests.
    """
    from ._conversation import Options, request_of  # whoever only reads streams does not load what they need

    options = Options(model, tuple(tools), tool_choice, max_tokens, stream, temperature, seed)
    choices = (broken_calls, missing_results)
    found, body, notices = request_of(list(messages), protocol, system, source, choices, options, extra or {})
    return Request(found, model, stream, body, notices)


def to_request_message(
    message: AssistantMessage | AccumulatedResponse,
    protocol: str | Protocol,
    *,
    source: str | None = None,
    broken_calls: Literal["refuse", "drop"] = "refuse",
) -> list[dict[str, Any]]:
    """What one assistant message is in a request's list of messages: one entry, several items for Responses, none if it is empty.

    For whoever keeps the provider's own history. Ids stay as they are, so calls without ids of the provider's may repeat in it.
    """
    from ._conversation import entries_of  # whoever only reads streams does not load what they need

    return entries_of(message, protocol, source, broken_calls)
