"""Sessions: what was saved is there, in another process too; a session is one run's; a lock dies with its process."""

import multiprocessing
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from streamaccumulator import (
    AccumulatedResponse,
    AssistantMessage,
    MediaPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolMessage,
    Truncated,
    UserMessage,
)
from streamaccumulator.runtime import MemorySessions, SavedTurn, Sessions, SqliteSessions, ToolExecution
from streamaccumulator.runtime.sessions import INTERRUPTED

CALLS = (ToolCall("call_1", "f", {"a": 2**70}, '{"a": 1180591620717411303424}', minted=True), ToolCall("c2", "g", {}, ""))
RESPONSE = AccumulatedResponse(
    AssistantMessage((ReasoningPart("hm", signature="s=="), TextPart("Hi \u2028 😀"), *CALLS)),
    errors=(Truncated("end", "x"),),
    id="r1",
)
TURN = SavedTurn(
    1, (UserMessage("Go"), UserMessage((MediaPart("image", None, "AA"),))), RESPONSE, "openai-chat", (UserMessage("on"),)
)
DONE = ToolExecution("c2", "g", "done", (TextPart("x"), MediaPart("image", "image/png", "AA")), seconds=0.5)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Sessions]]:
    """Gives the sessions, each time as whoever comes later finds them."""
    made: list[SqliteSessions] = []
    memory = MemorySessions()

    def opened() -> Sessions:
        if request.param == "memory":
            return memory
        made.append(SqliteSessions(tmp_path / "sessions"))
        return made[-1]

    yield opened
    for one in made:
        one.close()


def test_what_was_saved_is_there(store: Callable[[], Sessions]) -> None:
    store().save_turn("a", TURN)
    store().save_execution("a", 1, ToolExecution("c2", "g"))
    store().save_execution("a", 1, DONE)
    store().save_turn("b", TURN)
    assert store().load("a") == [msgspec.structs.replace(TURN, executions=(DONE,))]
    assert store().load("b") == [TURN]
    assert store().load("c") == []


def test_a_turn_is_closed_and_keeps_what_it_had(store: Callable[[], Sessions]) -> None:
    store().save_turn("a", TURN)
    store().save_execution("a", 1, DONE)
    store().save_turn("a", msgspec.structs.replace(TURN, closed=True))
    store().save_turn("a", msgspec.structs.replace(TURN, number=2))
    assert [(turn.number, turn.closed, turn.executions) for turn in store().load("a")] == [(1, True, (DONE,)), (2, False, ())]


def test_a_turn_comes_with_its_executions(store: Callable[[], Sessions]) -> None:
    store().save_turn("a", TURN)
    store().save_execution("a", 1, ToolExecution("c2", "g"))
    other = ToolExecution("call_1", "f", "refused")
    closed = msgspec.structs.replace(TURN, closed=True, executions=(DONE, other))
    store().save_turn("a", closed)
    assert store().load("a") == [closed]


def test_all_of_a_turn_or_nothing(tmp_path: Path) -> None:
    sessions = SqliteSessions(tmp_path / "sessions")
    sessions.save_turn("a", TURN)
    with sqlite3.connect(tmp_path / "sessions") as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON executions BEGIN SELECT RAISE(ABORT, 'full'); END")
    database.close()
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        sessions.save_turn("a", msgspec.structs.replace(TURN, closed=True, executions=(DONE,)))
    assert sessions.load("a") == [TURN]
    sessions.save_turn("b", TURN)
    assert sessions.load("b") == [TURN]
    sessions.close()


def test_one_file_under_two_names_is_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "sessions")
    one, other = SqliteSessions(tmp_path / "sessions"), SqliteSessions(tmp_path / "link")
    release = one.take("a")
    assert release is not None
    assert other.take("a") is None
    release()
    one.close()
    other.close()


def test_a_turn_as_messages() -> None:
    """Results in the order of the calls, whatever order they came in; one for no call is none."""
    executions = (DONE, ToolExecution("call_1", "f").ended(), ToolExecution("c9", "h", "done"))
    turn = msgspec.structs.replace(TURN, executions=executions)
    assert turn.messages == (
        *TURN.input,
        RESPONSE.message,
        ToolMessage("call_1", INTERRUPTED, True),
        ToolMessage("c2", DONE.content),
        *TURN.after,
    )
    assert DONE.ended() is DONE
    assert msgspec.structs.replace(TURN, response=AccumulatedResponse()).messages == (*TURN.input, *TURN.after)


def test_a_session_is_one_runs(store: Callable[[], Sessions]) -> None:
    release = store().take("a")
    assert release is not None
    assert store().take("a") is None
    other = store().take("b")
    assert other is not None
    release()
    again = store().take("a")
    assert again is not None
    again()
    other()


def test_threads_save_at_once(store: Callable[[], Sessions]) -> None:
    sessions = store()
    sessions.save_turn("a", TURN)
    save = [
        threading.Thread(target=sessions.save_execution, args=("a", 1, ToolExecution(f"c{at}", "f", "done"))) for at in range(8)
    ]
    for thread in save:
        thread.start()
    for thread in save:
        thread.join()
    assert {one.call_id for one in store().load("a")[0].executions} == {f"c{at}" for at in range(8)}


HOLD = """
import sys
from streamaccumulator.runtime import SqliteSessions
held = SqliteSessions(sys.argv[1]).take("a")
print(held is not None, flush=True)
sys.stdin.read()
"""


def test_a_killed_process_gives_its_session_back(tmp_path: Path) -> None:
    path = tmp_path / "sessions"
    sessions = SqliteSessions(path)
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "True"
        assert sessions.take("a") is None
        process.kill()
        process.wait()
        release = sessions.take("a")
        assert release is not None
        release()
    sessions.close()


def _add(path: str, at: int) -> None:
    sessions = SqliteSessions(path)
    sessions.save_turn(f"s{at}", TURN)
    sessions.close()


def test_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "sessions")
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_add, args=(path, at)) for at in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    sessions = SqliteSessions(path)
    assert [len(sessions.load(f"s{at}")) for at in range(4)] == [1] * 4
    sessions.close()


def test_what_is_no_file_of_sessions(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in a file"):
        SqliteSessions(":memory:")
    other = tmp_path / "other"
    other.write_bytes(b"no database at all, but long enough to be read as one" * 20)
    with pytest.raises(sqlite3.DatabaseError):
        SqliteSessions(other)
    newer = tmp_path / "newer"
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 7")
    database.close()
    with pytest.raises(ValueError, match="format 7"):
        SqliteSessions(newer)
    with pytest.raises(sqlite3.OperationalError):
        SqliteSessions(tmp_path / "no" / "folder")
