"""Columns: many frames cut apart at once say what each of them says alone, or nothing is said."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator.framing.columns import Found
from streamaccumulator.framing.moulds import Blank, Mould
from streamaccumulator.framing.sse import SSEFramer

LEAD = b"event: e\ndata: "
ORDERS = {
    "number first": b'{"type":"t","n":7,"delta":"text","pad":"ab","end":1}',
    "number last": b'{"type":"t","delta":"text","pad":"ab","n":7}',
    "number between": b'{"type":"t","delta":"text","n":7,"pad":"ab"}',
    "padding first": b'{"pad":"ab","delta":"text","n":7}',
    "text alone": b'{"type":"t","delta":"text"}',
    "text and count": b'{"delta":"text","count":3,"n":7}',
    "serial first": b'{"type":"t","s":5,"delta":"text","pad":"ab","end":1}',
    "serial last": b'{"type":"t","delta":"text","pad":"ab","s":5}',
    "serial between": b'{"type":"t","delta":"text","s":5,"pad":"ab"}',
}
KINDS: dict[bytes, Any] = {b'"text"': "text", b"7": "number", b'"ab"': "padding", b"3": "count", b"5": "serial"}


def mould(document: bytes) -> Mould:
    found = [(document.find(value), value, kind) for value, kind in KINDS.items()]
    blanks = [Blank(at, at + len(value), kind) for at, value, kind in sorted(found) if at >= 0]
    made = Mould(document, blanks, print, print)
    made.framed(LEAD, b"data: ", b"\n\n")
    return made


def written(*texts: str) -> bytes:
    return "[{}]".format(",\n".join([f'"{text}"' for text in texts])).encode()


def run(made: Mould, frames: bytes) -> tuple[Found, int] | None:
    return made.run(frames, 0, len(frames))


def frame(document: bytes, text: str = "text", number: str = "7", pad: str = "ab", count: str = "3") -> bytes:
    filled = document.replace(b":7", f":{number}".encode()).replace(b":3", f":{count}".encode())
    filled = filled.replace(b":5", f":{number}".encode())
    return LEAD + filled.replace(b'"text"', f'"{text}"'.encode()).replace(b'"ab"', f'"{pad}"'.encode()) + b"\n\n"


@pytest.mark.parametrize("document", ORDERS.values(), ids=ORDERS)
def test_frames_of_any_order_are_cut_apart(document: bytes) -> None:
    frames = [frame(document, f"w{at}", str(at), "x" * (at % 3)) for at in range(8, 13)]
    numbers = range(8, 13) if b":5" in document else tuple(range(8, 13)) if b"7" in document else None
    texts = tuple(f"w{at}" for at in range(8, 13))
    assert run(mould(document), b"".join(frames)) == (
        Found(texts, numbers, written(*texts)),
        len(b"".join(frames)),
    )


@pytest.mark.parametrize("document", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(
    "other",
    [
        b"event: other\ndata: {}\n\n",
        b"data: {}\n\n",
        b"\n",
        b": comment\n\n",
    ],
)
def test_what_follows_is_left(document: bytes, other: bytes) -> None:
    alike = frame(document, "a", "7") + frame(document, "b", "8")
    found = run(mould(document), alike + other)
    assert found is not None
    assert (found[0].texts, found[1]) == (("a", "b"), len(alike))


@pytest.mark.parametrize("document", [document for document in ORDERS.values() if b":5" in document])
@pytest.mark.parametrize(
    ("numbers", "whole"),
    [
        ("7", True),
        ("0 1 2", True),
        ("8 9 10 11", True),
        ("998 999 1000", True),
        ("7 7", False),
        ("7 9", False),
        ("8 7", False),
        ("7 8 8", False),
        ("07 8", False),
        ("7 08", False),
        ("00", False),
        ("9 1", False),
        ("7" * 5000, False),
    ],
)
def test_serial_numbers_are_each_one_more(document: bytes, numbers: str, whole: bool) -> None:
    frames = b"".join([frame(document, "a", number) for number in numbers.split()])
    found = run(mould(document), frames)
    assert (found is not None and found[1] == len(frames)) is whole
    if found is not None and found[0].numbers is not None:
        assert [str(number) for number in found[0].numbers] == numbers.split()[: len(found[0].texts)]


DOCUMENT = ORDERS["number first"]


@pytest.mark.parametrize(
    "odd",
    [
        frame(DOCUMENT).replace(b'"type"', b'"typo"'),
        frame(DOCUMENT).replace(b'"end"', b'"eNd"'),
        frame(DOCUMENT, text=""),
        frame(DOCUMENT, text='a","pad":"b'),
        frame(DOCUMENT, text="a\\"),
        frame(DOCUMENT, text="\\ud83d"),
        frame(DOCUMENT, text="\\x"),
        frame(DOCUMENT, text="\t"),
        frame(DOCUMENT, number="07"),
        frame(DOCUMENT, number="-7"),
        frame(DOCUMENT, number="7" * 5000),
        frame(DOCUMENT, pad="\\n"),
        frame(DOCUMENT, pad='a","x":"b'),
        frame(DOCUMENT).replace(b"text", b"\xff"),
        frame(DOCUMENT).replace(b"ab", b"\xff"),
        frame(DOCUMENT)[:-3],
    ],
)
def test_what_is_odd_ends_it_or_undoes_it(odd: bytes) -> None:
    made = mould(DOCUMENT)
    assert run(made, odd) is None
    before, after = frame(DOCUMENT, "a"), frame(DOCUMENT, "b")
    assert run(made, odd + after) is None
    found = run(made, before + odd + after)
    assert found is None or (found[0].texts, found[1]) == (("a",), len(before))


PIECES = st.lists(
    st.sampled_from(['"', "\\", "a", "\\n", '\\"', "7", "é", '","n":8,"delta":"', '"}', "\n", "\n\n", "event: e\ndata: "]),
    max_size=4,
)


@given(st.sampled_from(list(ORDERS.values())), st.lists(st.tuples(PIECES, st.integers(0, 1200), PIECES), min_size=1, max_size=6))
def test_each_frame_says_what_it_says_alone(document: bytes, drawn: list[tuple[list[str], int, list[str]]]) -> None:
    made = mould(document)
    frames = [frame(document, "".join(text), str(number), "".join(pad)) for text, number, pad in drawn]
    found = run(made, b"".join(frames))
    if found is None:
        return
    (texts, numbers, json), size = msgspec.structs.astuple(found[0]), found[1]
    assert msgspec.json.decode(json) == list(texts)
    assert b"".join(frames)[size - 2 : size] == b"\n\n"
    whole = b"".join(frames)[:size].split(LEAD)[1:]
    assert len(whole) == len(texts)
    for at, rest in enumerate(whole):
        values = made.one(LEAD + rest)
        assert values is not None
        assert values[made.text_at] == texts[at]
        if numbers is not None and made.number_at is not None:
            assert values[made.number_at] == numbers[at]


def test_a_framer_tells_the_rest_as_frames_with_their_places() -> None:
    frames = [frame(DOCUMENT, "a"), frame(DOCUMENT, "b"), frame(DOCUMENT, "c").replace(b"end", b"eNd"), b"data: {}\n\n"]
    told: list[Any] = []
    framer = SSEFramer(lambda data, event, offset: told.append((data, event, offset)), told.append)

    def many(made: Mould, found: Any, newest: bytes, start: int) -> bool:
        told.append((found, newest[start:]))
        return True

    framer.on_many = many
    framer._led = framer._leads(LEAD)
    framer.expect(mould(DOCUMENT))
    framer.feed(b"".join(frames))
    (found, newest), *rest = told
    assert found == Found(("a", "b"), (7, 7), written("a", "b"))
    assert newest.strip() == frames[1][len(LEAD) :].strip()
    assert rest == [
        (frames[2][len(LEAD) : -2], "e", len(frames[0] + frames[1])),
        (b"{}", "", len(b"".join(frames[:3]))),
    ]


ODD = [
    b"data: {}\n\n",
    b": comment\n\n",
    b"event: e\r\ndata: {}\r\n\r\n",
    b"\n",
    frame(DOCUMENT, text=""),
    frame(DOCUMENT, pad="\\n"),
]


@given(
    st.lists(st.one_of(st.text("ab\\né", max_size=4), st.sampled_from(ODD)), max_size=12),
    st.lists(st.integers(1, 400), max_size=12),
)
def test_a_framer_tells_the_same_at_the_same_places_however_reads_are_cut(drawn: list[str | bytes], sizes: list[int]) -> None:
    frames = [one if isinstance(one, bytes) else frame(DOCUMENT, one.replace("\\", "\\\\")) for one in drawn]
    wire = b"".join([frame(DOCUMENT, "first"), *frames, frame(DOCUMENT, "last")])
    alike = mould(DOCUMENT)

    def told(reads: list[bytes], expected: Mould | None) -> list[Any]:
        found: list[Any] = []

        def one(made: Mould, values: Any, whole: bytes, start: int) -> bool:
            found.append(values[made.text_at])
            return True

        def many(made: Mould, those: Found, newest: bytes, start: int) -> bool:
            found.extend(those.texts)
            return True

        def alone(data: bytes, event: str, offset: int) -> None:
            assert wire[offset:].lstrip(b"\n").startswith((LEAD, b"data: ", b": comment", b"event: e\r"))
            values = alike.one(LEAD + data + b"\n\n") if event == "e" else None
            found.append((data, event, offset) if values is None else values[alike.text_at])

        framer = SSEFramer(alone, found.append)
        framer.on_one, framer.on_many = one, many
        framer._led = framer._leads(LEAD)
        framer.expect(expected)
        for read in reads:
            framer.feed(read)
        framer.close()
        return found

    reads, at = [], 0
    for size in sizes:
        reads.append(wire[at : at + size])
        at += size
    whole = told([wire], None)
    assert told([*reads, wire[at:]], mould(DOCUMENT)) == whole
    assert told([wire], mould(DOCUMENT)) == whole
