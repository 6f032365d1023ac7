"""`streamacc assemble`: what is printed where, and the exit status for every way a stream can end."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streamaccumulator import AccumulatedResponse, accumulate
from streamaccumulator.cli import main

from ..wire import DONE, call, delta, finish, sse
from .running import PATIENCE, command, environment, run, started

HELLO = delta(content="Hel") + delta(content="lo 🚲") + finish("stop") + DONE
WEATHER = call(0, "call_a", "get_weather", '{"city": "Mála') + call(0, arguments='ga"}')
CUT = delta(content="Half an ans")
FAILED = CUT + sse({"error": {"message": "the server is\nout of memory", "type": "overloaded"}})
BAD_CALL = WEATHER + call(1, "call_b", "send", '{"to": oops}') + finish("tool_calls") + DONE
MALFORMED = CUT + b"data: {nope\n\n" + finish("stop") + DONE
ENDLESS = CUT + b"".join([call(index, f"call_{index}", "again", "{}") for index in range(1025)]) + finish("tool_calls")
FOREIGN = sse({"what": "is this"})

ENDS = [
    pytest.param(HELLO, 0, "", id="whole"),
    pytest.param(b"", 3, "held nothing at all", id="nothing"),
    pytest.param(CUT, 3, "truncated: the stream ended without a finish reason; kept: 11 characters of text", id="cut"),
    pytest.param(FAILED, 4, "overloaded: the server is out of memory; kept: 11 characters of text", id="provider error"),
    pytest.param(BAD_CALL, 5, "'send' is not usable (malformed)", id="bad call"),
    pytest.param(MALFORMED, 6, "It begins: {nope", id="malformed"),
    pytest.param(ENDLESS, 7, "the limit tool_calls with 1025; kept: 11 characters of text", id="limit"),
    pytest.param(FOREIGN, 8, "Name the protocol with --protocol", id="unknown protocol"),
]


@pytest.mark.parametrize(("stream", "status", "told"), ENDS)
@pytest.mark.parametrize("form", ["--json", "--text", None])
def test_every_end_has_its_exit_status_and_what_came_is_printed(stream: bytes, status: int, told: str, form: str | None) -> None:
    ran = run("assemble", *([form] if form else []), stdin=stream)
    came = accumulate(stream, strict=False)
    assert ran.status == status
    if form == "--json":
        assert AccumulatedResponse.from_json(ran.out) == came
    elif form == "--text":
        assert ran.out == came.text.encode()
    else:
        assert came.text in ran.out.decode()
        assert ("── not whole ─" in ran.out.decode()) == bool(came.errors)
    assert told in ran.err
    assert ran.err.count("\n") == bool(told), "one paragraph, or none"


def test_the_readable_form_shows_the_whole_message() -> None:
    stream = delta(reasoning_content="Let me look.") + delta(content="One moment.") + WEATHER + finish("tool_calls") + DONE
    shown = run("assemble", stdin=stream).out.decode()
    assert shown == (
        f"── reasoning {'─' * 75}\nLet me look.\n\n"
        f"── text {'─' * 80}\nOne moment.\n\n"
        f"── tool call get_weather (call_a) {'─' * 54}\n" + '{\n  "city": "Málaga"\n}\n\n'
        f"── whole {'─' * 79}\n"
        "finish   tool_calls\nmodel    m1\nid       x1\nextra    created\n"
    )


def test_the_bare_text_is_printed_as_it_comes() -> None:
    with subprocess.Popen(
        command("assemble", "--text"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(delta(content="Hel"))
        process.stdin.flush()
        assert process.stdout.read(3) == b"Hel"
        process.stdin.write(delta(content="lo") + finish("stop"))
        process.stdin.close()
        assert process.stdout.read() == b"lo"
    assert process.returncode == 0


def test_a_dropped_call_is_shown_with_its_raw_text_beside_the_one_that_is_kept() -> None:
    shown = run("assemble", stdin=BAD_CALL).out.decode()
    assert "── tool call get_weather (call_a) ─" in shown
    assert "── tool call send (call_b), dropped: malformed ─" in shown
    assert '\n{"to": oops}\n' in shown


def test_a_complaint_names_the_gravest_error_first_and_counts_what_it_leaves_out() -> None:
    ran = run("assemble", "--text", stdin=CUT + b"data: {nope\n\n" * 6)
    assert ran.status == 3
    assert ran.err.startswith("streamacc: truncated: ")
    assert ran.err.count("could not be read") == 3
    assert ran.err.endswith("and 3 more, which --json lists\n")


def test_a_file_and_standard_input_give_the_same(tmp_path: Path) -> None:
    file = tmp_path / "answer.sse"
    file.write_bytes(HELLO)
    assert run("assemble", str(file)) == run("assemble", "-", stdin=HELLO) == run("assemble", stdin=HELLO)
    assert f"({len(CUT)} bytes read from standard input)" in run("assemble", stdin=CUT).err


def test_pieces_from_a_pipe_may_be_cut_anywhere() -> None:
    with started("assemble", "--text") as process:
        assert process.stdin is not None
        for piece in HELLO[:60], HELLO[60 : HELLO.index("🚲".encode()) + 2], HELLO[HELLO.index("🚲".encode()) + 2 :]:
            process.stdin.write(piece)
        out, _ = process.communicate()
    assert out.decode() == "Hello 🚲"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "usage: streamacc"),
        (["assemble", "no-such-file.sse"], "cannot read no-such-file.sse: No such file"),
        (["assemble", "."], "cannot read .:"),
        (["assemble", "--protocol", "nonsense"], "there is no protocol 'nonsense'; there are"),
        (["assemble", "--json", "--text"], "not allowed with"),
        (["demo", "--speed", "-1"], "give 0 for no pauses"),
        (["nonsense"], "invalid choice"),
    ],
)
def test_wrong_use_is_told_with_status_2_and_nothing_is_printed(arguments: list[str], told: str) -> None:
    ran = run(*arguments)
    assert (ran.status, ran.out) == (2, b"")
    assert told in ran.err


def test_the_named_protocol_is_used() -> None:
    assert run("assemble", "--protocol", "openai-chat", "--text", stdin=HELLO).out.decode() == "Hello 🚲"


def test_help_shows_examples_and_the_exit_statuses() -> None:
    shown = run("--help").out.decode()
    assert "| streamacc assemble" in shown
    assert "3  the stream was cut" in shown
    assert run("--version").out.decode().startswith("streamacc ")


def test_rich_is_not_imported_unless_something_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = "import sys; from streamaccumulator.cli import main; main(); sys.stderr.write(str('rich' in sys.modules))"
    monkeypatch.setattr("tests.cli.running._WITHOUT_RICH", code)
    assert run("assemble", "--live", stdin=HELLO, rich=False).err == "False"


def test_an_interrupt_tells_what_came(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    class Interrupted(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            data = super().read1(size)
            if not data:
                raise KeyboardInterrupt
            return data

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted(CUT)))
    assert main(["assemble", "--json"]) == 130
    out, err = capsysbinary.readouterr()
    assert AccumulatedResponse.from_json(out).text == "Half an ans"
    assert err.startswith(b"streamacc: interrupted; kept: 11 characters of text")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process, and no EPIPE")
class TestSignals:
    def test_ctrl_c_ends_the_reading(self) -> None:
        with started("events") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(CUT)
            assert b"started" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert process.returncode == 130
        assert err.startswith(b"streamacc: interrupted")

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    @pytest.mark.parametrize("arguments", [["events"], ["assemble"], ["assemble", "--text"], ["demo", "--speed", "0"]])
    def test_a_reader_that_leaves_ends_the_command_quietly(self, arguments: list[str], unbuffered: str, tmp_path: Path) -> None:
        file = tmp_path / "long.sse"
        file.write_bytes(delta(content="word " * 20_000) * 4 + finish("stop"))
        source = [] if arguments[0] == "demo" else [str(file)]
        with started(*arguments, *source, PYTHONUNBUFFERED=unbuffered) as process:
            assert process.stdout is not None
            process.stdout.read(1)
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == b""
        assert process.returncode == 141

    def test_a_full_disk_is_told(self) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("no /dev/full here")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                command("assemble"), input=HELLO, stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=PATIENCE
            )
        assert done.returncode == 2
        assert done.stderr.startswith(b"streamacc: cannot write the output")


def test_json_is_one_line_of_utf8() -> None:
    out = run("assemble", "--json", stdin=HELLO, PYTHONIOENCODING="ascii").out
    assert out.count(b"\n") == 1
    assert json.loads(out)["message"]["content"][0]["text"] == "Hello 🚲"
