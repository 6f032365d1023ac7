"""The arguments of a call while they grow, for whoever looks. Nobody else pays: the first look makes a reader, and from then on
`observe` gives it each new delta.
"""

from collections.abc import Callable
from typing import Any, Literal

from ._parts import CallBuilder
from ._values import copied, mend
from .errors import JsonProblem
from .partial_json import JsonGrowth, PartialJson

_OFTEN = 4
"""Ends of a call after which it is followed, so that it need not be judged at each."""


class LiveArguments:
    """A reader of one call's arguments, which also follows a server that sends them more than once (`CallBuilder.retold`)."""

    __slots__ = ("_max_depth", "_restated", "reader")

    def __init__(self, call: CallBuilder, max_depth: int) -> None:
        self._max_depth = max_depth
        self._begin(call)

    def _begin(self, call: CallBuilder) -> None:
        """Read what came so far."""
        text = call.text()
        self.reader = self._read(text)
        self._restated = False  # whether the reader has the last delta alone, as each restates the one before
        if self.reader.problem is None:
            return
        for document, alone in call.retold(text):
            reader = self._read(document)
            if reader.problem is None and (not alone or call.extends or self._is_whole(document)):
                self.reader, self._restated = reader, alone and call.extends
                return

    def _read(self, text: str) -> PartialJson:
        reader = PartialJson(self._max_depth)
        reader.feed(text)
        return reader

    def _is_whole(self, text: str) -> bool:
        reader = self._read(text)
        reader.close()
        return reader.complete

    def follow(self, call: CallBuilder, delta: str) -> JsonProblem | None:
        """One more delta, which the call has already. Returns the fault if it is the one after which nothing can be JSON.

        A reader that fails is made anew from all that came, which costs a pass, but happens at most a few times: then each
        delta restates the one before and is read alone, or the call is dead for good.
        """
        if self.reader.problem is not None:
            return None
        if self._restated and call.extends:
            self.reader = self._read(delta)
        else:
            self.reader.feed(delta)
            if self.reader.problem is not None or self._restated:
                self._begin(call)
        return self.reader.problem

    def settle(self, call: CallBuilder) -> None:
        """The call has ended: of several tellings it may be another one that counts than the one that was read."""
        if call.document is not None and not self.reader.complete:
            self.reader = self._read(call.document)


def is_cut_short(call: CallBuilder) -> bool:
    """Whether a call that ends often is surely not whole where it is said to end now, so that it need not be judged."""
    if call.live is None and len(call.tellings) == _OFTEN and call.kind != "custom" and call.judging is not None:
        call.live = LiveArguments(call, call.judging[1])
    return (
        call.judging is not None
        and not call.extends
        and isinstance(call.live, LiveArguments)
        and call.live.reader.problem is None
        and call.live.reader.within
    )


class LiveText:
    """The same for a call whose input is bare text: what of it was not asked for yet."""

    __slots__ = ("_told", "_untold")

    def __init__(self, call: CallBuilder) -> None:
        self._untold = ["".join([*call.blocks, *call.run])]
        self._told = False

    def follow(self, call: CallBuilder, delta: str) -> None:
        """One more delta."""
        self._untold.append(delta)  # any text is right

    def growth(self, ended: bool) -> tuple[JsonGrowth, ...]:
        """What came since last asked; half a character waits for the other half while there may be one."""
        text = "".join(self._untold)
        half = text[-1:] if not ended and "\ud800" <= text[-1:] <= "\udbff" else ""
        text = mend(text[: len(text) - len(half)])
        self._untold = [half] if half else []
        if not text:
            return ()
        growth = JsonGrowth((), text, not self._told)
        self._told = True
        return (growth,)


class ToolCallView:
    """One call as it stands, read from the accumulator each time: looking never changes anything."""

    __slots__ = ("_call", "_is_unsure", "_max_depth")

    def __init__(self, call: CallBuilder, max_depth: int, is_unsure: Callable[[CallBuilder], bool]) -> None:
        self._call = call
        self._max_depth = max_depth
        self._is_unsure = is_unsure

    @property
    def id(self) -> str:
        """The call's id, unique within the stream."""
        return self._call.id

    @property
    def name(self) -> str | None:
        """The tool's name; None until it has come."""
        return self._call.name

    @property
    def state(self) -> Literal["open", "ready", "invalid", "cut"]:
        """`open` while arguments may come, `ready` when they are whole, `invalid` when they are no JSON (or the call has no
        name), `cut` when they ended too soon. Only a call that is `ready` is to be made."""
        call = self._call
        if not call.ended:
            return "open"
        if is_cut_short(call):
            return "cut"
        if self._is_unsure(call):
            return "open"
        problem = call.judged().problem
        return "ready" if problem is None else "cut" if problem.cause == "cut" else "invalid"

    @property
    def arguments_raw(self) -> str:
        """The text of the arguments so far; costs one join."""
        return self._call.raw

    @property
    def arguments(self) -> Any:
        """The arguments as far as they have come, as `PartialJson.value` shows them: to be looked at, not to be acted upon.

        Of a call that is `ready` they are the final ones, a copy; of one that is `invalid` or `cut`, what came before the fault.
        While they grow, what has ended in them is shared between one look and the next (see `PartialJson.value`): change none.
        """
        if self.state == "ready":
            return copied(self._call.value)
        return self._call.text() if self._call.kind == "custom" else self._live().value

    def growth(self) -> tuple[JsonGrowth, ...]:
        """What came of the arguments since last asked, the first time all; costs what it tells. All views of a call are one.

        Done one after the other, the growths give `arguments` (but a bare number at the top, which ends only with the call, and
        arguments that are none).
        """
        call = self._call
        if call.kind != "custom":
            return self._live().growth()
        if call.live is None:
            call.live = LiveText(call)
        found: tuple[JsonGrowth, ...] = call.live.growth(call.ended)
        return found

    def _live(self) -> PartialJson:
        call = self._call
        if call.live is None:
            call.live = LiveArguments(call, self._max_depth)
        live: LiveArguments = call.live
        if call.ended and not is_cut_short(call):
            live.settle(call.judged())
        return live.reader
