"""Lines of our own events to events: each is what it says."""

from collections.abc import Mapping
from typing import Any

from ...events import ChatStreamEvent, Notice, Unknown
from ..decoder import Decoder
from ..lenient import lenient
from .chunks import KINDS


class EventsDecoder(Decoder[Any]):
    """See the module. It remembers nothing."""

    chunk_type = ChatStreamEvent  # type: ignore[assignment]  # a union of structs, which msgspec decodes by their tags

    def _read(self, chunk: Any, event: str) -> None:
        if not isinstance(chunk, Notice):
            self.silent = False
        self._emits[0](chunk)

    def _fit(self, value: Mapping[str, Any]) -> Any:
        """An event that does not fit its type: with what fits, or else as an unknown one."""
        kind = KINDS.get(str(value.get("type")))
        if kind is None:
            return Unknown(str(value.get("type")))
        try:
            return lenient(value, kind, self._tell_misfit)
        except TypeError:  # a field without which it says nothing
            return Unknown(f"{value.get('type')} without its fields")
