"""The numbers of events: however they come, they are told as a plain table of all of them would tell."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from streamaccumulator import ChatStreamEvent, Notice, TextDelta
from streamaccumulator.framing.columns import Found
from streamaccumulator.protocols.openai_responses import numbers as module
from streamaccumulator.protocols.openai_responses.numbers import Numbers
from streamaccumulator.protocols.plain import growing
from streamaccumulator.protocols.resent import Sent

KIND = "response.output_text.delta"


def written(texts: list[str], each: str = "x") -> bytes:
    """Texts that are all `x` as JSON."""
    return "[{}]".format(",".join([f'"{each}"' for _ in texts])).encode()


class Table:
    """All events by their number, and nothing clever."""

    def __init__(self) -> None:
        self.seen: dict[int, str] = {}
        self.newest = -1
        self.ignored = False

    def told(self, number: int, text: str) -> list[str] | None:
        """The codes of what is told of an event; None: it is left out as well."""
        if self.ignored:
            return []
        if self.seen.get(number) == text:
            return None
        if number in self.seen or not 0 <= number <= self.newest + 100_000:
            self.ignored = True
            return []
        gap = number > self.newest + 1 and (self.seen or number > 1)
        self.seen[number] = text
        self.newest = max(self.newest, number)
        return ["sequence_gap"] if gap else []


EVENTS = st.lists(
    st.tuples(st.one_of(st.integers(0, 12), st.sampled_from([-1, 100_005, 200_011])), st.sampled_from("ab")), max_size=30
)


@given(EVENTS)
def test_one_by_one_they_are_told_as_a_table_tells(events: list[tuple[int, str]]) -> None:
    numbers, table = Numbers(), Table()
    for number, text in events:
        told: list[ChatStreamEvent] = []
        news = numbers.ignored or numbers.is_news(number, crc32(text.encode()), told.append)
        codes = [event.code for event in told if isinstance(event, Notice)]
        expected = table.told(number, text)
        assert news is (expected is not None)
        assert codes == (["repeated_event"] if expected is None else expected)
        assert numbers.ignored is table.ignored
        if not table.ignored:
            assert (numbers.newest, numbers.count) == (table.newest, len(table.seen))


@given(EVENTS, st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.integers(0, 3), st.booleans()), max_size=6))
def test_those_of_runs_are_remembered_as_the_others(events: list[tuple[int, str]], runs: list[tuple[int, bool, int, bool]]) -> None:
    short, long = Numbers(), Numbers()
    check = crc32(KIND.encode())
    for number, text in events:
        if not short.ignored:
            short.is_news(number, crc32(text.encode(), check), print)
            long.is_news(number, crc32(text.encode(), check), print)
    for size, at_once, off, escaped in runs:
        growth = short.growth(KIND, Sent(), growing(TextDelta, None))
        first = short.newest + 1 + off
        texts, which = ["x"] * size, range(first, first + size)
        if at_once:
            taken = growth.many(Found(texts, which, written(texts, "\\u0078" if escaped else "x"))) is not None
        else:
            taken = None not in [growth.one(text, number) for text, number in zip(texts, which, strict=True)]
        assert taken is (short.ignored or (off == 0 and long.count > 0))
        if taken and not short.ignored:
            assert all(long.is_news(number, crc32(b"x", check), print) for number in which)
            assert (short.newest, short.count) == (long.newest, long.count)
    assert short.counted() == long.counted()
    assert short == long


def test_too_many_are_not_remembered() -> None:
    numbers = Numbers()
    growth = numbers.growth(KIND, Sent(), growing(TextDelta, None))
    assert numbers.is_news(0, 5, print)
    texts = ["x"] * (module.MOST - 2)
    assert growth.many(Found(texts, range(1, module.MOST - 1), written(texts))) is not None
    assert growth.many(Found(["x"] * 2, range(module.MOST - 1, module.MOST + 1), written(["x"] * 2))) is None
    assert growth.one("x", module.MOST - 1) is not None
    assert growth.one("x", module.MOST) is None
    assert numbers.is_news(module.MOST, 5, print)
    assert numbers.ignored
