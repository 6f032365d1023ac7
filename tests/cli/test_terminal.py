"""On a terminal: nothing a model says can steer it, and a message can be watched while it grows."""

import contextlib
import io
import json
import re
from typing import Any

import pytest

pytest.importorskip("termios", reason="pseudo-terminals are a thing of POSIX")

from rich.console import Console

from streamaccumulator import (
    AccumulatedResponse,
    ChatStreamEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallArgumentDelta,
    ToolCallEnd,
    ToolCallStart,
    accumulate,
)
from streamaccumulator.cli import main
from streamaccumulator.cli.live import ROWS, TAIL, LiveView
from streamaccumulator.cli.terminal import Screen, harmless, one_line

from ..wire import DONE, call, delta, finish, sse
from .running import on_terminal, run

EVIL = "\x1b[2J\x1b]0;owned\x07 \x7f \x9b31m \r \u202etxt\u202c tab\there\nand a line"
STREAM = (
    delta(reasoning_content=EVIL)
    + delta(content=EVIL)
    + call(0, f"call{EVIL}", f"tool{EVIL}", json.dumps({EVIL: EVIL}, ensure_ascii=False))
    + call(1, "call_bad", f"bad{EVIL}", f"{{{EVIL}")
    + sse({"error": {"message": EVIL, "type": EVIL}})
    + finish("tool_calls")
    + DONE
)
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ANIMATION = re.compile(r"\x1b\[(\?25[lh]|[0-9]*[ABCDHJK])|\r")
OURS = re.compile(r"\x1b\[[0-9;]*m")
"""Colours: the only sequence that is sent where nothing is drawn in place."""


@pytest.mark.parametrize("arguments", [["assemble"], ["assemble", "--text"], ["assemble", "--json"], ["events"]])
def test_nothing_a_model_says_reaches_the_terminal_raw(arguments: list[str]) -> None:
    shown = on_terminal(*arguments, stdin=STREAM)
    assert not STEERING.search(OURS.sub("", shown.screen))
    assert "\\u001b[2J" in shown.screen
    assert "\\u009b31m" in shown.screen
    assert "tab" in shown.screen


def test_nothing_a_model_says_reaches_the_live_drawing_raw() -> None:
    screen = on_terminal("assemble", "--live", stdin=STREAM).screen
    assert not STEERING.search(OURS.sub("", ANIMATION.sub("", screen)))


def test_json_on_a_terminal_is_still_the_same_json() -> None:
    stream = delta(content=EVIL) + finish("stop")
    shown = on_terminal("assemble", "--json", stdin=stream)
    assert AccumulatedResponse.from_json(shown.screen) == accumulate(stream)


def test_a_pipe_gets_the_exact_text() -> None:
    stream = delta(content=f"{EVIL}\r\n") + finish("stop")
    assert run("assemble", "--text", stdin=stream).out.decode() == f"{EVIL}\r\n"


def test_text_ends_its_line_on_a_terminal_only() -> None:
    stream = delta(content="Hello") + finish("stop")
    assert on_terminal("assemble", "--text", stdin=stream).screen == "Hello\n"
    assert run("assemble", "--text", stdin=stream).out == b"Hello"


def test_no_color_is_heeded() -> None:
    stream = delta(content="Hello") + finish("stop")
    assert "\x1b[" in on_terminal("assemble", stdin=stream).screen
    assert "\x1b[" not in on_terminal("assemble", stdin=stream, NO_COLOR="1").screen
    assert "\x1b[" not in on_terminal("assemble", stdin=stream, TERM="dumb").screen


def test_a_fault_is_told_once_below_what_came() -> None:
    screen = on_terminal("assemble", stdin=delta(content="Half"), NO_COLOR="1").screen
    assert re.search(r"── not whole ─+\n", screen)
    assert screen.count("truncated") == 1
    assert "\n\nstreamacc: truncated: the stream ended" in screen
    assert max([len(line) for line in screen.splitlines()]) <= 80


def test_what_fits_on_no_line_is_not_broken() -> None:
    name = "m" * 100
    stream = sse({"id": "x", "model": name, "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    assert f"\nmodel    {name}\n" in on_terminal("assemble", stdin=stream, NO_COLOR="1").screen


# ---- Live.


def test_the_message_is_drawn_while_it_grows_and_the_drawing_leaves_nothing_behind() -> None:
    stream = delta(content="Hello there") + call(0, "call_a", "look", '{"at": 1}') + finish("tool_calls")
    shown = on_terminal("assemble", "--live", "--text", stdin=stream, piped=True)
    assert (shown.status, shown.out) == (0, b"Hello there")
    drawn = OURS.sub("", shown.screen)
    assert "Hello there" in drawn
    assert '{"at": 1} ✓' in drawn
    assert drawn.endswith("\x1b[1A\x1b[2K")


def test_without_a_terminal_live_is_plain() -> None:
    stream = delta(content="Hello") + finish("stop")
    assert run("assemble", "--live", stdin=stream) == run("assemble", stdin=stream)
    assert run("assemble", "--live", stdin=stream, rich=False) == run("assemble", stdin=stream)


def test_live_without_rich_says_what_to_install_and_shows_the_pieces() -> None:
    shown = on_terminal("assemble", "--live", stdin=delta(content="Hello") + finish("stop"), rich=False)
    assert shown.status == 0
    assert "pip install rich" in shown.screen
    assert "Hello" in shown.screen.partition("piece by piece")[2].partition("finish")[0]


def drawn(*events: ChatStreamEvent, height: int = 24) -> str:
    view = LiveView(screen())
    for event in events:
        view(event)
    console = Console(file=io.StringIO(), width=80, height=height)
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def screen(**options: Any) -> Screen:
    return Screen(io.TextIOWrapper(io.BytesIO(), encoding="utf-8", **options))


def test_the_drawing_shows_each_part_in_a_row_and_where_it_grows() -> None:
    shown = drawn(
        ReasoningDelta("Hm"),
        ToolCallStart("a", "look"),
        ToolCallStart("b", "listen"),
        ToolCallArgumentDelta("b", '{"to'),
        ToolCallArgumentDelta("a", "{}"),
        ToolCallEnd("a"),
    )
    rows = [line.split() for line in shown.splitlines()[:3]]
    assert rows == [["reasoning", "Hm"], ["look", "{}", "✓"], ["listen", '{"to▌']]
    assert "6 events" in shown


def test_the_drawing_keeps_to_the_newest_lines_that_fit() -> None:
    shown = drawn(TextDelta("\n".join([f"line {number}" for number in range(100)])), height=10).splitlines()
    assert "line 99" in shown[-2]
    assert len(shown) <= 10


def test_the_drawing_costs_the_same_however_long_the_message() -> None:
    view = LiveView(screen())
    for number in range(3 * ROWS):
        view(TextDelta("x" * TAIL, number))
        view(TextDelta("end", number))
    assert len(view._drawn) == ROWS
    assert {len(row.text) for row in view._drawn.values()} == {TAIL}


# ---- The screen.


def test_harmless_leaves_what_people_write_alone() -> None:
    text = "Zürich 東京 🚲 👩\u200d👧 نص عربي\u200c\n\tend"
    assert harmless(text) == text
    assert one_line("a\n b\t\x1bc") == "a b \\u001bc"
    assert one_line("x" * 5000, 100) == f"{'x' * 50} ... {'x' * 50}"


def test_a_terminal_without_our_characters_gets_ascii() -> None:
    class Latin(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    file = Latin(io.BytesIO(), encoding="latin-1")
    latin = Screen(file)
    latin.write(f"{latin.heading('text')}\nZürich 🚲")
    written = file.buffer
    assert isinstance(written, io.BytesIO)
    assert re.fullmatch(r"-- text -+\nZürich \\U0001f6b2", OURS.sub("", written.getvalue().decode("latin-1")))


def test_somebody_may_capture_what_is_printed() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["demo", "--speed", "0"]) == 0
    assert "whole" in out.getvalue()


def test_a_short_write_is_continued() -> None:
    class Narrow(io.BytesIO):
        def write(self, data: Any, /) -> int:
            return super().write(bytes(data)[:7])

    file = io.TextIOWrapper(Narrow(), encoding="utf-8")
    Screen(file).write("a text of more than seven bytes")
    written = file.buffer
    assert isinstance(written, io.BytesIO)
    assert written.getvalue() == b"a text of more than seven bytes"
