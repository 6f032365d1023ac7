"""A structured output while it grows: the value of the text, or of a call's arguments, in the shape of a type."""

from typing import Any, Generic, TypeVar

from ._views import Views
from .accumulator import StreamAccumulator
from .events import ChatStreamEvent, Finish, TextDelta, ToolCallArgumentDelta, ToolCallEnd, ToolCallName, ToolCallStart
from .partial_json import PartialJson

T = TypeVar("T")

_OF_CALLS = ToolCallStart | ToolCallName | ToolCallArgumentDelta | ToolCallEnd


class Growing(Generic[T]):
    """What `partial` of a stream shows: after each event a new view, where it grew. It may begin in the middle of the stream."""

    def __init__(self, accumulator: StreamAccumulator, kind: type[T], tool: str | None) -> None:
        self._accumulator = accumulator
        self._kind = kind
        self._tool = tool
        self._text = PartialJson()
        self._text.feed(accumulator.snapshot().text)
        self._call: str | None = None
        for id in accumulator.call_ids:
            self._choose(id)
        self._views = Views()
        self._newest: Any = None

    def after(self, event: ChatStreamEvent) -> T | None:
        """The view after an event, which the accumulator has observed; None where it is as before, or nothing is sure yet."""
        value = self._value(event)
        if value is None or value == self._newest:
            return None
        self._newest = value
        shown: T = self._views.of(value, self._kind)
        return shown

    def _choose(self, id: str) -> None:
        if self._call is None and id in self._accumulator.call_ids and self._tool in (None, self._accumulator.tool_call(id).name):
            self._call = id

    def _value(self, event: ChatStreamEvent) -> Any:
        if isinstance(event, _OF_CALLS):
            self._choose(event.id)
        elif isinstance(event, TextDelta):
            self._text.feed(event.delta)
        elif isinstance(event, Finish):
            self._text.close()  # a bare number is whole now
        else:
            return None
        if self._call is not None:
            return self._accumulator.tool_call(self._call).arguments if getattr(event, "id", self._call) == self._call else None
        return self._text.value if self._tool is None else None
