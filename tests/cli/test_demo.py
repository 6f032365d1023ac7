"""`streamacc demo`: what it promises is what it plays, on a terminal, in a log, with and without rich."""

import re

import pytest

from streamaccumulator import FinishReason, InvalidToolCallJson, Truncated, accumulate
from streamaccumulator.cli import demo, main
from streamaccumulator.cli.demo import ACTS, arriving, reads_of, stream_of

from .running import Ran, on_terminal, run

RECORDED, TWIN, WRITTEN, CUT = ACTS


@pytest.fixture(scope="module")
def log() -> Ran:
    """The demo as a log of continuous integration holds it."""
    return run("demo", "--speed", "0")


def test_in_a_log_it_is_plain(log: Ran) -> None:
    assert (log.status, log.err) == (0, "")
    assert not set(log.out) & {0x1B, 0x0D, 0x08}
    assert all(act.title in log.out.decode() for act in ACTS)
    assert not [line for line in log.out.decode().splitlines() if line.endswith(" ")]


def test_pieces_are_ticked_off_as_they_arrive_and_interleaved_calls_are_seen_to_be(log: Ran) -> None:
    text = log.out.decode()
    assert "\n  text           A good plan│ 🚲! I look│" in text
    assert re.search(r'\n  get_forecast   \{"ci│ty": "Má│\n  plan_route .*\n  get_forecast   laga", "d│\n  plan_route', text)


def test_every_act_ends_as_it_says(log: Ran) -> None:
    text = log.out.decode()
    assert text.count("── whole ─") == 2
    assert "✓ The same message as in 1, part for part." in text
    assert text.count("── not whole ─") == 1
    assert "with exit status 3:\ntruncated: the stream ended without a finish reason; kept: 76 characters of text" in text
    assert "── tool call plan_route (toolu_demo_route), dropped: cut ─" in text


def test_the_recordings_of_two_protocols_hold_the_same_message() -> None:
    first, second = (accumulate(stream_of(act)) for act in (RECORDED, TWIN))
    assert first.text == second.text
    assert first.reasoning == second.reasoning
    assert [call.arguments for call in first.tool_calls] == [call.arguments for call in second.tool_calls]


def test_the_written_stream_has_what_its_title_says() -> None:
    response = accumulate(list(reads_of(WRITTEN)))
    assert response.message.content[0].signature  # type: ignore[union-attr]  # it is the reasoning
    assert "🚲" in response.text
    assert [call.name for call in response.tool_calls] == ["get_forecast", "plan_route"]
    assert response.finish_reason is FinishReason.TOOL_CALLS
    assert response.usage is not None
    assert response.usage.output_tokens == 187
    assert any(read.endswith("🚲".encode()[:2]) for read in reads_of(WRITTEN)), "a read ends inside the emoji"


def test_the_cut_is_inside_the_second_call_and_the_first_is_kept() -> None:
    response = accumulate(list(reads_of(CUT)), strict=False)
    assert [call.name for call in response.tool_calls] == ["get_forecast"]
    truncated, dropped = response.errors
    assert isinstance(truncated, Truncated)
    assert isinstance(dropped, InvalidToolCallJson)
    assert (dropped.name, dropped.cause) == ("plan_route", "cut")


@pytest.mark.parametrize("act", ACTS)
def test_the_reads_are_small_and_lose_nothing(act: demo.Act) -> None:
    reads = list(reads_of(act))
    assert b"".join(reads) == stream_of(act)
    assert max([len(read) for read in reads]) <= act.size


def test_the_script_takes_under_ten_seconds() -> None:
    assert sum([act.seconds for act in ACTS]) < 9


@pytest.mark.parametrize(("speed", "seconds"), [(1.0, WRITTEN.seconds), (2.0, WRITTEN.seconds / 2), (0.0, 0.0)])
def test_an_act_lasts_as_long_as_the_script_says(monkeypatch: pytest.MonkeyPatch, speed: float, seconds: float) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("streamaccumulator.cli.demo.time.sleep", pauses.append)
    assert b"".join(arriving(WRITTEN, speed)) == stream_of(WRITTEN)
    assert sum(pauses) == pytest.approx(seconds)


def test_an_interrupt_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("streamaccumulator.cli.demo.time.sleep", interrupt)
    assert main(["demo"]) == 130
    assert ACTS[1].title not in capsys.readouterr().out


def test_a_stream_that_does_not_end_as_promised_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "ACTS", [RECORDED._replace(until=b"Every")])
    assert main(["demo", "--speed", "0"]) == 0
    monkeypatch.setattr(demo.Act, "status", 0)
    assert main(["demo", "--speed", "0"]) == 1


def test_on_a_terminal_the_message_is_drawn_in_place() -> None:
    pytest.importorskip("termios")
    shown = on_terminal("demo", "--speed", "0")
    assert shown.status == 0
    assert "\x1b[?25l" in shown.screen
    assert "│" not in shown.screen
    assert "dropped: cut" in shown.screen


def test_on_a_terminal_without_rich_it_is_ticked_off() -> None:
    pytest.importorskip("termios")
    shown = on_terminal("demo", "--speed", "0", rich=False)
    assert shown.status == 0
    assert "\x1b[?25l" not in shown.screen
    assert "│" in shown.screen
