"""The live value of a document that is still arriving: cut anywhere, never a guess, refused at the first byte that cannot be."""

import json
import sys
from typing import Any

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import JsonGrowth, JsonProblem, PartialJson
from streamaccumulator.partial_json import machine, states

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(10**18, 10**40) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.text("\\\"\n\u2028\0🦀é/u", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
STYLES: list[dict[str, Any]] = [{}, {"ensure_ascii": False}, {"indent": 1}, {"separators": (",", ":")}]
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def pieces(text: str, sizes: list[int]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(text):
        found.append(text[at : at + sizes[len(found) % len(sizes)]])
        at += len(found[-1])
    return found


def fed(*texts: str) -> PartialJson:
    reader = PartialJson()
    for text in texts:
        reader.feed(text)
    return reader


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types: 1, 1.0 and True are three things."""
    return repr(one) == repr(other)


def consistent(live: Any, final: Any, *, last: bool = True) -> bool:
    """Whether `final` can grow out of `live`: what has ended is equal, and only what came last may still grow."""
    if isinstance(live, str) and isinstance(final, str):
        return final.startswith(live) if last else live == final
    if isinstance(live, list) and isinstance(final, list):
        ends = [last and at == len(live) - 1 for at in range(len(live))]
        return (last or len(live) == len(final)) and all(map(_consistent, live, final, ends))
    if isinstance(live, dict) and isinstance(final, dict):
        ends = [last and at == len(live) - 1 for at in range(len(live))]
        return (last or len(live) == len(final)) and all(
            key in final and consistent(live[key], final[key], last=end) for key, end in zip(live, ends, strict=True)
        )
    return same(live, final)


def _consistent(live: Any, final: Any, last: bool) -> bool:
    return consistent(live, final, last=last)


class Replayed:
    """A value made of growths alone."""

    def __init__(self) -> None:
        self.value: Any = None

    def add(self, growths: tuple[JsonGrowth, ...]) -> None:
        for growth in growths:
            holder: Any = {"": self.value}
            key: Any = ""
            for step in growth.path:
                holder, key = holder[key], step
            if isinstance(holder, list) and key == len(holder):
                holder.append(growth.added)
            else:
                holder[key] = growth.added if growth.starts else holder[key] + growth.added
            if not growth.path:
                self.value = holder[""]


# ---- Any document, cut anywhere.


@given(VALUES, st.sampled_from(STYLES), SIZES, st.integers(0, 3))
def test_any_document_cut_anywhere_gives_its_value_and_grows_into_it(value: Any, style: Any, sizes: list[int], ask: int) -> None:
    text = json.dumps(value, **style)
    final = json.loads(text)
    reader, replayed = PartialJson(), Replayed()
    for at, piece in enumerate(pieces(text, sizes)):
        reader.feed(piece)
        assert reader.problem is None
        live = reader.value
        assert live is None or consistent(live, final)
        if at >= ask:
            replayed.add(reader.growth())
            assert same(replayed.value, live)
    reader.close()
    assert reader.complete
    assert reader.path is None
    assert same(reader.value, final)
    replayed.add(reader.growth())
    assert same(replayed.value, final)


@given(VALUES, st.sampled_from(STYLES))
def test_letter_by_letter_it_is_as_in_one_piece(value: Any, style: Any) -> None:
    text = json.dumps(value, **style)
    reader = PartialJson()
    for at, letter in enumerate(text):
        reader.feed(letter)
        whole = fed(text[: at + 1])
        assert (same(reader.value, whole.value), reader.path, reader.complete) == (True, whole.path, whole.complete)
        reader_closed, whole_closed = fed(*text[: at + 1]), fed(text[: at + 1])
        reader_closed.close()
        whole_closed.close()
        assert repr(reader_closed.problem) == repr(whole_closed.problem)


@given(VALUES, st.sampled_from(STYLES), st.data())
def test_it_shows_what_jiter_shows_but_for_numbers(value: Any, style: Any, data: st.DataObject) -> None:
    text = json.dumps(value, **style)
    cut = text[: data.draw(st.integers(1, len(text)))]
    if not as_jiter(cut):
        raise AssertionError(cut)


def as_jiter(text: str) -> bool:
    """Whether the live value of a text is jiter's, where its end is in no number and in no escape, and something is sure."""
    if text[-1:] in "0123456789+-.eE\\u" or not text.strip():
        return True
    try:
        other = jiter.from_json(text.encode("utf-8", "surrogatepass"), partial_mode="trailing-strings")
    except ValueError:
        return fed(text).value is None or "\\ud" in text  # a surrogate alone, which jiter refuses
    return same(fed(text).value, other)


# ---- The first byte that cannot be.

_WORDS = ["rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l"]
_TOKENS = ["", '"', '\\"', *["0" * n + '"' for n in range(1, 5)], "0", *_WORDS]
_VALUES = ["", "0", ":0", '"":0', "0:0"]


def can_be_json(text: str) -> bool:
    """The slow oracle: whether any way of ending the text makes it JSON. Every way that there is, is tried."""
    closing: list[str] = []
    inside = False
    for at, letter in enumerate(text):
        if letter == '"' and not (inside and (len(text[:at]) - len(text[:at].rstrip("\\"))) % 2):
            inside = not inside
        elif not inside and letter in "{[":
            closing.append("}" if letter == "{" else "]")
        elif not inside and letter in "}]" and closing:
            closing.pop()
    end = "".join(reversed(closing))
    for token in _TOKENS:
        for value in _VALUES:
            try:
                json.loads(text + token + value + end, parse_constant=_refuse)
            except ValueError:
                continue
            return True
    return False


def _refuse(word: str) -> None:
    raise ValueError(word)


ALPHABET = '{}[]",:\\/u0129aeEtrfnls.+- \n\x01N'


@st.composite
def almost(draw: st.DrawFn) -> str:
    """A document with a few letters changed, or letters without any sense."""
    text = json.dumps(draw(VALUES), **draw(st.sampled_from(STYLES)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(ALPHABET, max_size=2)) + text[at + draw(st.integers(0, 2)) :]
    return text


@given(almost() | st.text(ALPHABET, max_size=12), SIZES)
def test_it_refuses_at_the_first_byte_after_which_nothing_can_be_json(text: str, sizes: list[int]) -> None:
    first_bad = next((at for at in range(len(text)) if not can_be_json(text[: at + 1])), None)
    reader = PartialJson()
    read = 0
    for piece in pieces(text, sizes):
        reader.feed(piece)
        read += len(piece)
        assert (reader.problem is not None) == (first_bad is not None and read > first_bad), (read, first_bad)
    if first_bad is not None:
        assert reader.problem is not None
        assert (reader.problem.offset, reader.problem.cut) == (len(text[:first_bad].encode("utf-8", "surrogatepass")), False)
        return
    reader.close()
    try:
        final = json.loads(text)
    except ValueError:
        assert reader.problem is not None
        assert (reader.problem.cut, reader.problem.offset) == (True, len(text.encode("utf-8", "surrogatepass")))
    else:
        assert reader.complete
        assert same(reader.value, final) or "\\ud" in text.lower()


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("x", 0, "'x' where a value belongs"),
        ('{"a" 1}', 5, "'1' where ':' belongs"),
        ('{"é": 1 "b"', 9, "'\"' where ',' or '}' belongs"),
        ("[1 2]", 3, "'2' where ',' or ']' belongs"),
        ("[1,]", 3, "']' where a value belongs"),
        ('{"a":1,}', 7, "'}' where a key belongs"),
        ("{a:1}", 1, "'a' where a key or '}' belongs"),
        ("01", 1, "'1' where the end belongs"),
        ("-x", 1, "'x' where a digit belongs"),
        ("[1.e5]", 3, "'e' where a digit belongs"),
        ("nulx", 3, "'x' where 'l' belongs"),
        ('"\\x"', 2, "'x' where the rest of an escape belongs"),
        ('"\\u12g4"', 5, "'g' where the rest of an escape belongs"),
        ('"a\nb"', 2, "U+000A where no bare control character belongs"),
        ("{} {}", 3, "'{' where the end belongs"),
        ("[NaN]", 1, "'N' where a value or ']' belongs"),
        ("[1e999]", 1, "a number is out of range"),
        ("[" + "1" * 4301 + "]", 1, "an integer has more than 4300 digits"),
        ("[" * 129, 128, "nested deeper than 128 levels"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, offset: int, message: str) -> None:
    for reader in (fed(text), fed(*text)):
        assert isinstance(reader.problem, JsonProblem)
        assert (reader.problem.message, reader.problem.offset, reader.problem.cut) == (message, offset, False)
        before = reader.value
        reader.feed("[1, 2")
        assert reader.value == before, "nothing is read after a problem"


def test_cut_is_not_malformed_and_says_where() -> None:
    reader = fed('{"é": "x')
    assert not reader.problem
    reader.close()
    assert isinstance(reader.problem, JsonProblem)
    assert (reader.problem.cut, reader.problem.offset) == (True, 9)
    assert reader.value == {"é": "x"}


# ---- What is shown, and what is not yet.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("  ", None),
        ("12", None),
        ("tru", None),
        ("true", True),
        ("null", None),
        ('"', ""),
        ('"hel', "hel"),
        ("[", []),
        ("[1", []),
        ("[1,", [1]),
        ("[1, 2", [1]),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": "', {"a": ""}),
        ('{"a": "x", "b": tr', {"a": "x"}),
        ('{"n": 12', {}),
        ('{"n": 12 ', {"n": 12}),
        ('{"f": 1.', {}),
        ('{"l":["x","y', {"l": ["x", "y"]}),
        ('{"o":{"i":"wor', {"o": {"i": "wor"}}),
        ('{"k":"str\\', {"k": "str"}),
        ('{"k":"str\\u00', {"k": "str"}),
        ('{"k":"has \\"q', {"k": 'has "q'}),
        ('{"k":"a\\u0000b', {"k": "a\0b"}),
        ('{"e":"\\ud83e', {"e": ""}),
        ('{"e":"\\ud83e\\udd80', {"e": "🦀"}),
        ('{"e":"\\ud83ex', {"e": "\ufffdx"}),
        ('{"e":"\\udd80', {"e": "\ufffd"}),
        ('{"e":"\\ud83e"', {"e": "\ufffd"}),
        ('{"a":1,"b":2,"a":"x', {"a": "x", "b": 2}),
        ('{"id":2512292042121000001,', {"id": 2512292042121000001}),
    ],
)
def test_the_value_so_far(text: str, value: object) -> None:
    assert same(fed(text).value, value)
    assert same(fed(*text).value, value)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("1", ()),
        ('{"a', ()),
        ('{"a":', ()),
        ('{"a":"x', ("a",)),
        ('{"a":[1,2', ("a", 1)),
        ('{"a":[1,2,', ("a",)),
        ('{"a":{"b":{"c":tr', ("a", "b", "c")),
        ("{}", None),
    ],
)
def test_which_path_is_open(text: str, path: object) -> None:
    assert fed(text).path == path


def test_growth_reads_as_what_came_since_last_asked() -> None:
    reader = fed('{"path":"a.md","text":"He')
    assert reader.growth() == (
        JsonGrowth((), {}, True),
        JsonGrowth(("path",), "a.md", True),
        JsonGrowth(("text",), "He", True),
    )
    reader.feed("llo")
    reader.feed(" you")
    assert reader.growth() == (JsonGrowth(("text",), "llo you", False),)
    assert reader.growth() == ()
    reader.feed('!","lines":[1,')
    assert reader.growth() == (
        JsonGrowth(("text",), "!", False),
        JsonGrowth(("lines",), [], True),
        JsonGrowth(("lines", 0), 1, True),
    )


def test_what_is_open_is_shown_as_a_copy_and_what_has_ended_is_shared() -> None:
    reader = fed('{"ended":[1],"a":[1,{"b":"x')
    shown = reader.value
    assert reader.value["ended"] is shown["ended"]
    shown["a"][1]["b"] = 0
    shown["a"].clear()
    assert reader.value == {"ended": [1], "a": [1, {"b": "x"}]}
    for growth in reader.growth():
        if isinstance(growth.added, list):
            growth.added.append("mine")
    assert reader.value == {"ended": [1], "a": [1, {"b": "x"}]}


def test_a_bare_number_ends_with_the_text() -> None:
    reader = fed("12")
    assert (reader.value, reader.complete) == (None, False)
    reader.close()
    assert (reader.value, reader.complete, reader.problem) == (12, True, None)


# ---- What it costs: counted, never timed.


def test_no_character_is_looked_at_twice() -> None:
    """The regular expression that reads strings is the only one that may scan much: it is given each character once."""
    scanned = 0

    class Counting:
        def match(self, text: str, at: int) -> Any:
            nonlocal scanned
            found = states.BODY.match(text, at)
            scanned += found.end() - at if found is not None else 0
            return found

    text = json.dumps({"text": "a line\n" * 3000, "more": ["x\ty"] * 3000})
    patch = pytest.MonkeyPatch()
    patch.setattr(machine, "BODY", Counting())
    try:
        reader = PartialJson()
        for piece in pieces(text, [4]):
            reader.feed(piece)
            reader.growth()
    finally:
        patch.undo()
    assert reader.complete
    assert scanned <= len(text)


def test_an_open_string_is_kept_in_few_pieces() -> None:
    reader = fed('"')
    for _ in range(100_000):
        reader.feed("abcd")
    assert reader._open is not None
    assert len(reader._open) < 100_000 / 64 + 64
    assert reader.value == "abcd" * 100_000


def test_what_adds_nothing_is_no_growth() -> None:
    document = PartialJson()
    document.feed('"a')
    document.growth()
    for piece in ("", "\\ud83d"):
        document.feed(piece)
        assert document.growth() == ()


def test_a_process_that_allows_fewer_digits_is_told_as_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "get_int_max_str_digits", lambda: 700)
    problem = fed("[" + "9" * 800 + "]").problem
    assert problem is not None
    assert (problem.message, problem.offset) == ("an integer has more than 700 digits", 1)
    assert fed("[-" + "9" * 700 + "]").problem is None
