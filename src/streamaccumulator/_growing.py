"""A structured output while it grows: the value of the text, or of a call's arguments, in the shape of a type."""

from typing import Any, Generic, TypeVar

from ._typed import view
from .accumulator import StreamAccumulator
from .events import ChatStreamEvent, TextDelta, ToolCallArgumentDelta
from .partial_json import PartialJson

T = TypeVar("T")


class Growing(Generic[T]):
    """What `partial` of a stream shows: after each event a new view, where it grew."""

    def __init__(self, accumulator: StreamAccumulator, kind: type[T], tool: str | None) -> None:
        self._accumulator = accumulator
        self._kind = kind
        self._tool = tool
        self._text = PartialJson()
        self._call: str | None = None
        self._newest: Any = None

    def after(self, event: ChatStreamEvent) -> T | None:
        """The view after an event, which the accumulator has observed; None where it is as before, or nothing is sure yet."""
        value = self._value(event)
        if value is None or value == self._newest:
            return None
        self._newest = value
        shown: T = view(value, self._kind)
        return shown

    def _value(self, event: ChatStreamEvent) -> Any:
        if isinstance(event, ToolCallArgumentDelta):
            call = self._accumulator.tool_call(event.id)
            if self._call is None and self._tool in (None, call.name):
                self._call = event.id
            return call.arguments if event.id == self._call else None
        if isinstance(event, TextDelta) and self._call is None and self._tool is None:
            self._text.feed(event.delta)
            return self._text.value
        return None
