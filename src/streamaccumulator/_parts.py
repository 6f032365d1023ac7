"""The parts of a message while they are being built: where the accumulator keeps content.

A part's text is a run of at most `RUN` pieces that is folded into a block when it is full, or when a piece is wide; so
appending costs the same however long the text is, and what is not yet folded is small. They are structs, so that what is
being built can be saved (`_building`). Only `accumulator` uses this.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ._json import parse
from ._values import depth_of, is_torn, mend, nests_deeper, whole
from .errors import InvalidToolCallJson, JsonProblem
from .messages import CitationPart, MediaPart, Part, ProviderPart, ReasoningPart, RefusalPart, TextPart, ToolCall

ParseArguments = Callable[[str], Any]
"""Turns the text of a call's arguments into a value; raises ValueError if it cannot."""

OnToolCall = Callable[[ToolCall], object]
"""Is given each whole call, once. What it raises passes to whoever observed; what it returns is left."""

RUN = 32
"""Pieces joined at a time: measured flat to 10 MB, and a live stream of 500 deltas (2 KB) holds 5.5 KB."""
WIDE = 1024
"""Characters from which on a piece is folded at once, so that unfolded text stays under 64 KiB a part."""


class Pieces(msgspec.Struct, eq=False, omit_defaults=True):
    """Text that grows: `run` holds the newest pieces, `blocks` the folded ones, `size` the UTF-8 bytes folded so far."""

    run: list[str] = []
    blocks: list[str] = []
    size: int = 0
    torn: bool = False

    def fold(self) -> int:
        """Join the run into a block; returns its UTF-8 bytes."""
        block = "".join(self.run)
        self.run.clear()
        self.blocks.append(block)
        if block.isascii():
            size = len(block)
        else:
            self.torn = self.torn or is_torn(block)
            size = len(block.encode("utf-8", "surrogatepass"))
        self.size += size
        return size

    def text(self) -> str:
        """All of it, one join; surrogate pairs that were cut apart are whole again, a lone one is U+FFFD."""
        run = "".join(self.run)
        text = "".join([*self.blocks, run])
        return mend(text) if self.torn or is_torn(run) else text


class Builder(Pieces, eq=False, kw_only=True):
    """A part that has started. `number` is the decoder's name for it, `open` false once its end was told."""

    number: int | None = None
    open: bool = True
    extra: dict[str, Any] = {}

    def growing(self) -> list[Pieces]:
        """Everything of it that grows."""
        return [self]

    def build(self) -> Part | None:
        """The part as it stands; None where there is nothing to keep."""
        raise NotImplementedError  # each kind says what it becomes


class TextBuilder(Builder, eq=False, kw_only=True, tag="text"):
    """Visible text. `repeats` counts the deltas that began with all text before them; -1 once one did not."""

    citations: list[dict[str, Any]] = []
    last: str = ""
    repeats: int = 0

    def watch_repeats(self, delta: str) -> bool:
        """Whether this is the third delta of a server that sends everything so far with each."""
        if len(delta) > len(self.last) and delta.startswith(self.last):
            self.repeats += 1
            self.last = delta
        else:
            self.repeats, self.last = -1, ""
        return self.repeats == 3

    def build(self) -> TextPart:
        return TextPart(self.text(), tuple(self.citations), self.extra)


class ReasoningBuilder(Builder, eq=False, kw_only=True, tag="reasoning"):
    """Reasoning, with its signature, or encrypted."""

    signature: Pieces = msgspec.field(default_factory=Pieces)
    redacted: str | None = None

    def growing(self) -> list[Pieces]:
        return [self, self.signature]

    def build(self) -> ReasoningPart:
        return ReasoningPart(self.text(), self.signature.text() or None, self.redacted, self.extra)


class RefusalBuilder(Builder, eq=False, kw_only=True, tag="refusal"):
    """The text of a refusal."""

    def build(self) -> RefusalPart:
        return RefusalPart(self.text(), self.extra)


class CitationBuilder(Builder, eq=False, kw_only=True, tag="citation"):
    """A citation without a text."""

    data: dict[str, Any] = {}

    def build(self) -> CitationPart:
        return CitationPart(self.data, self.extra)


class MediaBuilder(Builder, eq=False, kw_only=True, tag="media"):
    """An image, a sound or a file."""

    kind: str = ""
    mime: str | None = None

    def build(self) -> MediaPart:
        return MediaPart(whole(self.kind), self.mime, self.text(), self.extra)


class BlockBuilder(Builder, eq=False, kw_only=True, tag="block"):
    """A provider block and the texts that grow under its keys; a key marked as JSON is parsed where it can be."""

    kind: str = ""
    data: dict[str, Any] = {}
    grown: dict[str, tuple[Pieces, bool]] = {}

    def under(self, key: str, json: bool) -> Pieces:
        """The text under `key`; one that the block started with is its beginning."""
        if key not in self.grown:
            pieces = Pieces()
            begun = self.data.get(key)
            if isinstance(begun, str) and not json:
                pieces.run.append(begun)
            self.grown[key] = (pieces, json)
        return self.grown[key][0]

    def growing(self) -> list[Pieces]:
        return [self, *[pieces for pieces, _ in self.grown.values()]]

    def build(self) -> ProviderPart:
        data = dict(self.data)
        for key, (pieces, json) in self.grown.items():
            text = pieces.text()
            try:
                data[key] = parse(text) if json else text
            except JsonProblem:
                data[key] = text
        return ProviderPart(self.kind, data, self.extra)


MOST_TELLINGS = 16
"""How often a server may send the arguments of one call, and end it, before that is taken for an end with each delta."""

_WHITE = " \t\n\r"
"""White space, as JSON has it."""
_BLANK = ("", "null")


def is_blank(text: str) -> bool:
    """Whether these arguments are none: nothing, white space, or a JSON null."""
    return text.strip(_WHITE) in _BLANK


def _equal(one: str, other: str) -> bool:
    """Whether two texts are JSON documents of one value, however they are written."""
    try:
        return bool(parse(one) == parse(other))
    except JsonProblem:
        return False


class CallBuilder(Builder, eq=False, kw_only=True, tag="call"):
    """One call. Beside its text, which is all that came, it keeps what tells a resent text from a broken one (`_document`).

    What a text is worth is found when somebody asks (`judged`), from the text and those marks alone: whoever asks, and how
    often, changes nothing.
    """

    id: str
    name: str | None
    kind: str
    minted: bool
    first: str = ""
    """The first delta that is more than white space."""
    last: str = ""
    """The last such that was folded."""
    extends: bool = True
    """Whether each delta so far restated the one before."""
    tellings: list[int] = []
    """Where it went on after an end: the blocks there were. No more than MOST_TELLINGS and one."""
    ended: bool = False
    dead: int = 0
    """The characters there were when `fail_fast` gave it up, or 0. What comes after them is kept, and changes nothing."""
    handed: bool = False
    """Whether it was handed over, by `on_tool_call`."""

    document: str | None = None
    """Once judged: the one document among several tellings; None where that is all of the text."""
    value: Any = None
    blank: bool = False
    """Whether there are no arguments."""
    problem: InvalidToolCallJson | None = None
    judging: Any = None
    """How to judge it (the caller's parser and the depth), until somebody asks; None if that was done."""
    live: Any = None
    """What follows it for whoever looks: LiveArguments or LiveText of `_live`, which stands on this module."""

    @property
    def newest(self) -> str:
        """The last delta that is more than white space."""
        return next((delta for delta in reversed(self.run) if delta.strip(_WHITE)), self.last)

    @property
    def raw(self) -> str:
        """The text of the arguments: of several tellings, once judged, the one that counts."""
        return self.text() if self.document is None else self.document

    def fold(self) -> int:
        self.last = self.newest
        return Pieces.fold(self)

    def end(self, parse_arguments: ParseArguments | None, max_depth: int) -> None:
        """The arguments are whole."""
        self.ended, self.judging = True, (parse_arguments, max_depth)

    def reopen(self) -> None:
        """More is coming after all: what was judged no longer counts. Its text is folded, as `end` came after a fold."""
        if len(self.tellings) <= MOST_TELLINGS:
            self.tellings.append(len(self.blocks))
        self.ended = self.blank = False
        self.value = self.problem = self.judging = self.document = None

    def watch_resend(self, delta: str) -> None:
        """While each delta restated the one before: whether the next one, not yet added, does."""
        if not self.newest:
            self.first = delta
        elif not delta.startswith(self.newest):
            self.extends = False

    def may_be_cut(self, open_at_the_end: bool) -> bool:
        """Whether these arguments, although they can be read, may be the beginning of what the model wanted to write.

        Without an end mark of their own that is so for bare text and for a bare number; blank text never proves anything.
        """
        if self.kind == "custom":
            return open_at_the_end
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return self.blank or (open_at_the_end and number)

    def judged(self) -> "CallBuilder":
        """Itself; if it has ended, with the value of its arguments, or what is wrong with them."""
        if self.judging is not None:
            (parse_arguments, max_depth), self.judging = self.judging, None
            if self.kind == "custom":
                self.value = self.text()
            else:
                self._judge(parse_arguments, max_depth)
            if not self.name and self.problem is None:
                self.fail("the call never got a name", "unnamed")
        return self

    def _judge(self, parse_arguments: ParseArguments | None, max_depth: int) -> None:
        text = self.text()[: self.dead or None]
        document, self.value, fault = self._document(text)
        self.document = None if document is text else document
        self.blank = is_blank(document)
        if self.blank:
            self.value = {}
        elif nests_deeper(document, max_depth) if fault is not None else depth_of(self.value) > max_depth:
            self.fail(f"nested deeper than {max_depth} levels (limit json_depth)", "malformed")
        elif parse_arguments is not None:
            try:
                self.value = parse_arguments(document)
            except Exception as raised:  # noqa: BLE001  # the caller's own parser: whatever it raises is its verdict
                self.fail(f"parse_arguments raised {type(raised).__name__}: {raised}", "malformed")
        elif fault is not None:
            self.fail(fault.message, "cut" if fault.cut else "malformed", fault.offset, text)

    def _document(self, text: str) -> tuple[str, Any, JsonProblem | None]:
        """The one document among what was sent: all of it, or where that is no JSON, the one that a server resent."""
        try:
            return text, parse(text), None
        except JsonProblem as fault:
            for document, _ in () if self.dead else self.retold(text):
                try:
                    return document, parse(document), None
                except JsonProblem:
                    continue
            return text, None, fault

    def retold(self, text: str) -> list[tuple[str, bool]]:
        """What may be the one document in a text that is no JSON, as a server sent it more than once; and whether it is the
        newest delta alone."""
        newest = self.newest
        before = text.rstrip(_WHITE).removesuffix(newest.rstrip(_WHITE))
        found = [(text.lstrip(_WHITE)[2:], False)] if self.first == "{}" else []
        if before and (before.strip(_WHITE) == "{}" or before == newest or self.extends or self._repeats(before, newest)):
            found.append((newest, True))
        return found

    def _repeats(self, before: str, newest: str) -> bool:
        """Whether everything before the newest delta says the same, in one telling or in several that had ended."""
        if len(self.tellings) > MOST_TELLINGS:
            return False
        ends = [len("".join(self.blocks[:at])) for at in self.tellings]
        starts = [0, *[end for end in ends if end < len(before)]]
        tellings = [before[start:end] for start, end in zip(starts, [*starts[1:], len(before)], strict=True)]
        return all(_equal(telling, newest) for telling in tellings)

    def fail(self, message: str, cause: str, offset: int | None = None, text: str | None = None) -> InvalidToolCallJson:
        """This call is not to be made. `text` is what was judged, where it is not all of it."""
        self.ended, self.judging, self.value = True, None, None
        text = self.raw if text is None else text
        self.problem = InvalidToolCallJson(whole(self.id), self.name, whole(message), offset, text, cause)
        return self.problem

    def build(self) -> ToolCall | None:
        self.judged()
        if not self.ended or self.problem is not None:
            return None
        return ToolCall(whole(self.id), self.name or "", self.value, self.raw, whole(self.kind), self.minted, self.extra)


AnyBuilder = TextBuilder | ReasoningBuilder | RefusalBuilder | CitationBuilder | MediaBuilder | BlockBuilder | CallBuilder
