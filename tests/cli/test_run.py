"""`streamacc run` as its own process, against a real server on loopback."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamaccumulator.runtime import SqliteSessions

from ..real.server import Script, serving
from ..wire import DONE, call, delta, finish
from .running import PATIENCE, SOURCE, Ran, run, started

ANSWER = [delta(reasoning_content="Hm"), delta(content="It is "), delta(content="18 \x1b[2J degrees."), finish("stop"), DONE]
CALL = b"".join([delta(content="Let me look."), call(0, "c1", "weather", '{"city": "Oslo"}'), finish("tool_calls"), DONE])
TOOL = '''
def weather(city: str) -> str:
    """The weather."""
    return f"18 in {city}"

def unknown(city: "Nowhere"): ...

unnamed = lambda: 1
number = 5
'''


@pytest.fixture
def script() -> Script:
    return Script(ANSWER)


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    with serving(script) as found:
        yield found


def ask(url: str, *more: str, **changes: str) -> Ran:
    wanted = ["--base-url", url, "--model", "m", "--protocol", "openai-chat"]
    return run("run", "Weather?", *wanted, *more, stdin=b"", rich=True, **{"OPENAI_API_KEY": "a-secret-key", **changes})


def with_tools(folder: Path) -> dict[str, str]:
    (folder / "mytools.py").write_text(TOOL)
    (folder / "broken.py").write_text("def f(:")
    (folder / "leaves.py").write_text("import sys; sys.exit(4)")
    return {"PYTHONPATH": f"{SOURCE}:{folder}"}


def test_an_answer(script: Script, url: str) -> None:
    """Into a pipe every byte of the text, and nothing else."""
    ran = ask(url, "--system", "Be short.", "--max-tokens", "50")
    assert (ran.status, ran.out.decode()) == (0, "It is 18 \x1b[2J degrees.\n")
    assert ran.err == "Hm\n"
    path, headers, body = script.seen[0]
    assert (path, headers["authorization"]) == ("/chat/completions", "Bearer a-secret-key")
    sent = json.loads(body)
    assert (sent["max_tokens"], [message["role"] for message in sent["messages"]]) == (50, ["system", "user"])


def test_a_run_with_a_tool_and_a_session(script: Script, url: str, tmp_path: Path) -> None:
    script.refusals = [(200, {}, CALL)]
    found, file = with_tools(tmp_path), str(tmp_path / "talk.db")
    ran = ask(url, "--tool", "mytools:weather", "--session", file, **found)
    assert ran.status == 0
    assert ran.out.decode() == "Let me look.\nIt is 18 \x1b[2J degrees.\n"
    assert ran.err == '  weather {"city": "Oslo"}\n  weather: 18 in Oslo\nHm\n'
    ran = ask(url, "--session", file)
    assert ran.status == 0
    roles = [message["role"] for message in json.loads(script.seen[-1][2])["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_the_question_may_come_by_a_pipe(script: Script, url: str) -> None:
    wanted = ["--base-url", url, "--model", "m", "--protocol", "anthropic-messages"]
    run("run", "-", *wanted, stdin=b"Wie geht es?")
    assert "Wie geht es?" in script.seen[0][2].decode()


def test_what_goes_wrong_has_its_status(script: Script, url: str) -> None:
    script.refusals = [(401, {}, b'{"error": {"message": "No: a-secret-key", "type": "auth"}}')]
    ran = ask(url)
    assert ran.status == 4
    assert "auth: No: ***" in ran.err
    assert "a-secret-key" not in ran.err
    script.pieces, script.end = [delta(content="Hel")], "closed"
    ran = ask(url, "--max-iterations", "1")
    assert (ran.status, ran.out) == (3, b"Hel\n")
    script.pieces, script.end = [CALL], "whole"
    ran = ask(url, "--max-iterations", "1")
    assert ran.status == 9
    assert "may not be again" in ran.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--tool", "mytools"], "give module:function"),
        (["--tool", "no_such_module:f"], "there is no tool"),
        (["--tool", "mytools:nope"], "there is no tool"),
        (["--tool", "broken:f"], "SyntaxError"),
        (["--tool", "leaves:f"], "SystemExit: 4"),
        (["--tool", "mytools:unknown"], "NameError"),
        (["--tool", "mytools:unnamed"], "<lambda>"),
        (["--base-url", "http://localhost:99999/v1"], "out of range"),
        (["--tool", "mytools:number"], "no tool"),
        (["--tool", "mytools:weather", "--tool", "mytools:weather"], "two tools"),
        (["--protocol", "nope"], "unknown protocol"),
        (["--protocol", "openai-completions"], "cannot be turned into a request"),
        (["--base-url", "localhost"], "begins with http"),
        (["--key-from", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
        (["--session", "/no/such/folder/talk.db"], "cannot use the session file"),
    ],
)
def test_wrong_use(more: list[str], told: str, url: str, script: Script, tmp_path: Path) -> None:
    ran = ask(url, *more, **with_tools(tmp_path))
    assert ran.status == 2
    assert told in ran.err
    assert "Traceback" not in ran.err
    assert not script.seen


def test_no_question(url: str, script: Script, tmp_path: Path) -> None:
    wanted = ["--base-url", url, "--model", "m", "--protocol", "openai-chat"]
    for ran in (run("run", "-", *wanted, stdin=b""), run("run", " ", *wanted, stdin=b"")):
        assert (ran.status, "there is no question" in ran.err) == (2, True)
    assert not script.seen


def test_a_folder_of_locks_that_is_none(url: str, tmp_path: Path) -> None:
    (tmp_path / "talk.db.locks").write_text("")
    ran = ask(url, "--session", str(tmp_path / "talk.db"))
    assert (ran.status, "cannot use the session file" in ran.err) == (2, True)


def test_a_key_of_a_variable_of_ones_own(script: Script, url: str) -> None:
    assert ask(url, "--key-from", "MY_KEY", MY_KEY="mine").status == 0
    assert script.seen[0][1]["authorization"] == "Bearer mine"


def test_an_interrupt_keeps_what_came(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    with serving(Script([delta(content="Hel"), delta(content="lo")], "silent")) as url:
        wanted = ["--base-url", url, "--model", "m", "--protocol", "openai-chat", "--session", str(file)]
        with started("run", "Weather?", *wanted) as process:
            assert process.stdout is not None
            assert process.stdout.read(3) + process.stdout.read(2) == b"Hello"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
            assert process.stdout.read() == b"\n"
    sessions = SqliteSessions(file)
    assert [turn.response.text for turn in sessions.load("streamacc")] == ["Hello"]
    sessions.close()
