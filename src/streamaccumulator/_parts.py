"""The parts of a message while they are being built: where the accumulator keeps content.

A part's text is a run of at most `RUN` pieces that is folded into a block when it is full, or when a piece is wide; so
appending costs the same however long the text is, and what is not yet folded is small. Only `accumulator` uses this.
"""

from collections.abc import Callable
from typing import Any, Literal

from ._json import JsonProblem, copied, is_torn, mend, nests_deeper, parse, whole
from .errors import InvalidToolCallJson
from .messages import CitationPart, MediaPart, Part, ProviderPart, ReasoningPart, RefusalPart, TextPart, ToolCall

RUN = 64
"""Pieces joined at a time: measured flat to 10 MB, and 500 deltas of a live stream fit in under 6 KB."""
WIDE = 1024
"""Characters from which on a piece is folded at once, so that unfolded text stays under 64 KiB a part."""


class Pieces:
    """Text that grows: `run` holds the newest pieces, `blocks` the folded ones, `size` the UTF-8 bytes folded so far."""

    __slots__ = ("blocks", "run", "size", "torn")

    def __init__(self) -> None:
        self.run: list[str] = []
        self.blocks: list[str] = []
        self.size = 0
        self.torn = False

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


class Builder(Pieces):
    """A part that has started. `number` is the decoder's name for it, `open` false once its end was told."""

    __slots__ = ("extra", "number", "open")

    def __init__(self, number: int | None) -> None:
        super().__init__()
        self.number = number
        self.open = True
        self.extra: dict[str, Any] = {}

    def growing(self) -> list[Pieces]:
        """Everything of it that grows."""
        return [self]

    def build(self) -> Part | None:
        """The part as it stands; None where there is nothing to keep."""
        raise NotImplementedError  # each kind says what it becomes


class TextBuilder(Builder):
    """Visible text. `repeats` counts the deltas that began with all text before them; -1 once one did not."""

    __slots__ = ("citations", "last", "repeats")

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.citations: list[dict[str, Any]] = []
        self.last = ""
        self.repeats = 0

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


class ReasoningBuilder(Builder):
    """Reasoning, with its signature, or encrypted."""

    __slots__ = ("redacted", "signature")

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.signature = Pieces()
        self.redacted: str | None = None

    def growing(self) -> list[Pieces]:
        return [self, self.signature]

    def build(self) -> ReasoningPart:
        return ReasoningPart(self.text(), self.signature.text() or None, self.redacted, self.extra)


class RefusalBuilder(Builder):
    """The text of a refusal."""

    __slots__ = ()

    def build(self) -> RefusalPart:
        return RefusalPart(self.text(), self.extra)


class CitationBuilder(Builder):
    """A citation without a text."""

    __slots__ = ("data",)

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.data: dict[str, Any] = {}

    def build(self) -> CitationPart:
        return CitationPart(self.data, self.extra)


class MediaBuilder(Builder):
    """An image, a sound or a file."""

    __slots__ = ("kind", "mime")

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.kind = ""
        self.mime: str | None = None

    def build(self) -> MediaPart:
        return MediaPart(whole(self.kind), self.mime, self.text(), self.extra)


class BlockBuilder(Builder):
    """A provider block and the texts that grow under its keys; a key marked as JSON is parsed where it can be."""

    __slots__ = ("data", "grown", "kind")

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.kind = ""
        self.data: dict[str, Any] = {}
        self.grown: dict[str, tuple[Pieces, bool]] = {}

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


EAGER = 4
"""Ends of one call that are each judged at once; beyond that each would cost a parse of everything so far."""

_BLANK = ("", "null")


def _equal(one: str, other: str) -> bool:
    """Whether two texts are JSON documents of one value, however they are written."""
    try:
        return bool(parse(one) == parse(other))
    except JsonProblem:
        return False


class CallBuilder(Builder):
    """One call. Beside its text it keeps what tells a resent text from a broken one (`_document`)."""

    __slots__ = (
        "_judging",
        "ended",
        "endings",
        "extends",
        "first",
        "id",
        "kind",
        "last",
        "minted",
        "name",
        "problem",
        "resent",
        "value",
    )

    def __init__(self, id: str, name: str | None, kind: str, minted: bool) -> None:
        super().__init__(None)
        self.endings = 0  # how often it has ended: a server may end it with each delta
        self._judging: tuple[Callable[[str], Any] | None, int] | None = None  # how to judge it, while that is put off
        self.id = id
        self.name = name or None
        self.kind = kind
        self.minted = minted
        self.first = self.last = ""
        self.extends = True
        self.reopen()

    def reopen(self) -> None:
        """More is coming after all: what was judged no longer counts."""
        self.ended = False
        self._judging = None
        self.value: Any = None
        self.problem: InvalidToolCallJson | None = None
        self.resent = False

    def watch_resend(self, delta: str) -> None:
        """Remember the first and the last non-empty delta, and whether each so far restated the one before."""
        if not self.last:
            self.first = delta
        elif self.extends and not delta.startswith(self.last):
            self.extends = False
        self.last = delta

    @property
    def blank(self) -> bool:
        """Whether there are no arguments: nothing, white space, or a JSON null."""
        return self.text().strip() in _BLANK

    def may_be_cut(self, open_at_the_end: bool) -> bool:
        """Whether these arguments, although they can be read, may be the beginning of what the model wanted to write.

        Without an end mark of their own that is so for bare text and for a bare number; blank text never proves anything.
        """
        if self.kind == "custom":
            return open_at_the_end
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return self.blank or (open_at_the_end and number)

    def end(self, parse_arguments: Callable[[str], Any] | None, max_depth: int) -> None:
        """The arguments are whole. They are judged now; of a call that ends again and again, when somebody looks."""
        self.endings += 1
        if self.endings <= EAGER:
            self.judge(parse_arguments, max_depth)
        else:
            self.ended, self._judging = True, (parse_arguments, max_depth)

    def judged(self) -> "CallBuilder":
        """Itself, with what was put off done."""
        if self._judging is not None:
            judging, self._judging = self._judging, None
            self.judge(*judging)
        return self

    def judge(self, parse_arguments: Callable[[str], Any] | None, max_depth: int) -> None:
        """The arguments are whole: parse them once, and keep the value or what is wrong with them."""
        self.ended = True
        text = self.text()
        if self.kind == "custom":
            self.value = text
        elif text.strip() in _BLANK:
            self.value = {}
        elif nests_deeper(text, max_depth):
            self.fail(f"nested deeper than {max_depth} levels (limit json_depth)", "malformed")
        else:
            self._parse(text, parse_arguments)
        if not self.name and self.problem is None:
            self.fail("the call never got a name", "unnamed")

    def _parse(self, text: str, parse_arguments: Callable[[str], Any] | None) -> None:
        document, self.value, fault = self._document(text)
        self.resent = document is not text
        self.run, self.blocks, self.torn = [], [document], False
        if parse_arguments is not None:
            try:
                self.value = parse_arguments(document)
            except Exception as raised:  # noqa: BLE001  # the caller's own parser: whatever it raises is its verdict
                self.fail(f"parse_arguments raised {type(raised).__name__}: {raised}", "malformed")
        elif fault is not None:
            self.fail(fault.message, "cut" if fault.cut else "malformed", fault.offset)

    def _document(self, text: str) -> tuple[str, Any, JsonProblem | None]:
        """The one document among what was sent: all of it, or where that is no JSON, the one that a server resent."""
        try:
            return text, parse(text), None
        except JsonProblem as fault:
            before = text[: len(text) - len(self.last)]
            resent = [text[2:]] if self.first == "{}" else []
            if before and (before.strip() == "{}" or before == self.last or self.extends or _equal(before, self.last)):
                resent.append(self.last)
            for document in resent:
                try:
                    return document, parse(document), None
                except JsonProblem:
                    continue
            return text, None, fault

    def fail(self, message: str, cause: str, offset: int | None = None) -> None:
        """This call is not to be made."""
        self.ended = True
        self.value = None
        self.problem = InvalidToolCallJson(whole(self.id), self.name, whole(message), offset, self.text(), cause)

    def build(self) -> ToolCall | None:
        self.judged()
        if not self.ended or self.problem is not None:
            return None
        return ToolCall(whole(self.id), self.name or "", self.value, self.text(), whole(self.kind), self.minted, self.extra)


class ToolCallView:
    """One call as it stands, read from the accumulator each time: looking never changes anything."""

    __slots__ = ("_call",)

    def __init__(self, call: CallBuilder) -> None:
        self._call = call

    @property
    def id(self) -> str:
        """The call's id, unique within the stream."""
        return self._call.id

    @property
    def name(self) -> str | None:
        """The tool's name; None until it has come."""
        return self._call.name

    @property
    def state(self) -> Literal["open", "ready", "invalid"]:
        """`open` while arguments may come, `ready` when they were parsed, `invalid` when they cannot be."""
        call = self._call.judged()
        return "open" if not call.ended else "ready" if call.problem is None else "invalid"

    @property
    def arguments_raw(self) -> str:
        """The text of the arguments so far; costs one join."""
        return self._call.text()

    @property
    def arguments(self) -> Any:
        """The parsed arguments of a call that is `ready`, else None; a copy, which is the caller's own."""
        return copied(self._call.value) if self.state == "ready" else None
