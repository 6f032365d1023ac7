"""Moulds: of a frame that is alike another, the values; of anything else, nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator.framing.columns import Found
from streamaccumulator.framing.moulds import Blank, Mould

DOCUMENT = b'{"id":"x","n":7,"delta":"text","pad":"ab","end":1}'


def mould(*values: tuple[bytes, str], document: bytes = DOCUMENT) -> Mould:
    """A mould of a document with blanks where these values stand."""
    blanks = []
    for value, kind in values:
        start = document.index(value)
        blanks.append(Blank(start, start + len(value), kind))  # type: ignore[arg-type]  # any of the kinds
    made = Mould(document, blanks, print, print)
    made.framed(b"data: ", b"data: ", b"\n\n")
    return made


TEXT = (b'"text"', "text")
ALL = mould((b"7", "number"), TEXT, (b'"ab"', "padding"))


def document(
    number: object = 7, text: str = '"text"', pad: str = '"ab"', between: str = ',"delta":', after: str = ',"pad":'
) -> bytes:
    return f'{{"id":"x","n":{number}{between}{text}{after}{pad},"end":1}}'.encode()


def many(made: Mould, *documents: bytes) -> Any:
    return made.many([b"data: " + one for one in documents])


def one(made: Mould, whole: bytes) -> Any:
    return made.one(b"data: " + whole + b"\n\n")


def test_the_values_of_frames_that_are_alike() -> None:
    assert one(ALL, document(8, '"a\\"\\u00e9"', '"c"')) == (8, 'a"é', "c")
    assert many(ALL, document(), document(9, '"\\n"', '""')) == Found(("text", "\n"), (7, 9), b'["text",\n"\\n"]')
    assert one(mould(TEXT), DOCUMENT) == ("text",)
    assert many(mould(TEXT), DOCUMENT, DOCUMENT) == Found(("text", "text"), None, b'["text",\n"text"]')


@pytest.mark.parametrize(
    "other",
    [
        document("07"),
        document('"7"'),
        document("7.5"),
        document("7,7"),
        document(text="5"),
        document(text='"a","b"'),
        document(text='"a"b"'),
        document(text='"a'),
        document(text="'a'"),
        document(text='"a\\"'),
        document(text='"a\\ud83d"'),
        document(pad="5"),
        document(pad="[]"),
        document(between=',"delta2":'),
        document(between=","),
        document(after=","),
        document(between=',"pad":', after=',"delta":'),
        document(between=',"delta":"a","pad":"b","delta":'),
        document().replace(b'"x"', b'"y"'),
        document().replace(b'"end":1', b'"end":2'),
        document()[:-1],
        b"",
        b"{}",
        DOCUMENT[:10],
        document(text='"a\nb"'),
        document(text='"a"\n'),
        document(text='\r"a"'),
        document() + b"\n\ndata: " + document(),
    ],
)
def test_whatever_is_not_alike_is_none(other: bytes) -> None:
    assert one(ALL, other) is None
    if b"\n" not in other and b"\r" not in other:  # no line of data has them
        assert many(ALL, other) is None
        assert many(ALL, document(), other, document()) is None


def test_two_that_are_not_alike_do_not_make_up_for_each_other() -> None:
    both = document(text='"a","pad":"b"', after=',"pad":'), document(after=",")
    assert many(ALL, *both) is None
    assert many(ALL, document(text='"a\\"'), document(text='b"')) is None
    assert many(ALL, document(text='"a\\"'), document(text='"b"'), document(text='"c","d"')) is None
    twice = mould((b'"text"', "text"), (b'"ab"', "padding"), (b"1", "count"))
    swapped = b'{"id":"x","n":7,"delta":"text","end":"ab","pad":1}'
    assert many(twice, swapped, swapped) is None


def test_an_empty_text_is_left_to_whoever_reads_frames() -> None:
    assert many(ALL, document(), document(text='""')) is None


def test_how_many_begin_and_end_alike() -> None:
    lines = [b"data: " + one for one in (document(), document(8), b"{}", document())]
    assert ALL.like(lines) == 2
    assert ALL.like(lines[:1]) == 1
    assert ALL.like(lines[2:]) == ALL.like([]) == 0


PIECES = st.lists(
    st.sampled_from(['"', "\\", ",", "a", "\\n", "]", "[", "\n", ',"delta":', ',"pad":', "7", " ", "é", '","']), max_size=6
)


@given(st.lists(st.tuples(PIECES, PIECES), min_size=1, max_size=4))
def test_what_is_read_is_what_a_json_decoder_reads(pieces: list[tuple[list[str], list[str]]]) -> None:
    import json

    documents = [document(text=f'"{"".join(text)}"', pad=f'"{"".join(pad)}"') for text, pad in pieces]
    rows = []
    for whole in documents:
        row = one(ALL, whole)
        rows.append(row)
        if row is not None:
            read = json.loads(whole)
            assert row == (read["n"], read["delta"], read["pad"])
            assert list(read) == ["id", "n", "delta", "pad", "end"]
    found = many(ALL, *documents) if not any(b"\n" in whole for whole in documents) else None
    if found is not None:
        assert (found.texts, found.numbers) == (tuple(row[1] for row in rows), tuple(row[0] for row in rows))
