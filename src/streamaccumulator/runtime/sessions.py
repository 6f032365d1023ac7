"""What is kept of a conversation between runs, and while one runs: turns, and the executions of tools, as they come.

A turn with calls is saved as soon as its answer is there, open; each tool is saved before it starts and when it has ended; then
the turn is closed. So a process that is killed loses at most the answer that was on its way, and no tool that has ended runs again.
One that had started and not ended is `interrupted`: whether it took effect, nobody knows.
"""

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from .._record import Record
from ..messages import AssistantMessage, Message, Part, ToolMessage
from ..response import AccumulatedResponse

INTERRUPTED = "interrupted: the program was stopped while this ran; it is not known whether it took effect"
_FORMAT = 1
"""The version of the tables, as SQLite's `user_version`."""
_Messages = msgspec.json.Decoder(tuple[Message, ...])


class ToolExecution(Record, frozen=True):
    """One call that was run, or is running, or was refused: what it came to, and how many seconds it took."""

    call_id: str
    name: str
    state: Literal["started", "done", "interrupted", "refused"] = "started"
    content: str | tuple[Part, ...] = ""
    is_error: bool = False
    seconds: float = 0.0

    def ended(self) -> "ToolExecution":
        """The same; one that had only started is interrupted."""
        if self.state != "started":
            return self
        return msgspec.structs.replace(self, state="interrupted", content=INTERRUPTED, is_error=True)


class SavedTurn(Record, frozen=True):
    """One turn: what was asked, the answer, the tools it ran, and what the model is told after it.

    `source` is the protocol of the answer, for `to_request`. Until it is `closed`, tools of it may be missing.
    """

    number: int
    input: tuple[Message, ...]
    response: AccumulatedResponse
    source: str | None = None
    after: tuple[Message, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    closed: bool = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turn as part of a conversation: results follow the answer in the order of its calls."""
        found = {execution.call_id: execution for execution in self.executions}
        results = [
            ToolMessage(call.id, found[call.id].content, found[call.id].is_error)
            for call in self.response.tool_calls
            if call.id in found
        ]
        said: tuple[AssistantMessage, ...] = (self.response.message,) if self.response.message.content else ()
        return (*self.input, *said, *results, *self.after)


Release = Callable[[], None]


class Sessions(Protocol):
    """Where sessions are kept. Called from threads, one call at a time for a session that is taken."""

    def take(self, session_id: str) -> Release | None:
        """Take a session for one run; what is returned gives it back. None: another run has it."""

    def load(self, session_id: str) -> list[SavedTurn]:
        """The turns of a session in order; none of one that is new."""

    def save_turn(self, session_id: str, turn: SavedTurn) -> None:
        """Commit a turn with the executions that it has, all at once or not at all. One that is there is closed, if `turn` is."""

    def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
        """Commit an execution of turn `number`, in the place of what was saved of the same call."""


class MemorySessions:
    """Sessions in memory, as long as the process lives."""

    def __init__(self) -> None:
        self._turns: dict[str, dict[int, SavedTurn]] = {}
        self._taken: dict[str, threading.Lock] = {}
        self._one_at_a_time = threading.Lock()

    def take(self, session_id: str) -> Release | None:
        """See Sessions."""
        lock = self._taken.setdefault(session_id, threading.Lock())
        return lock.release if lock.acquire(blocking=False) else None

    def load(self, session_id: str) -> list[SavedTurn]:
        """See Sessions."""
        return list(self._turns.get(session_id, {}).values())

    def save_turn(self, session_id: str, turn: SavedTurn) -> None:
        """See Sessions."""
        with self._one_at_a_time:
            turns = self._turns.setdefault(session_id, {})
            known = turns.get(turn.number, turn)
            turns[turn.number] = msgspec.structs.replace(known, closed=turn.closed, executions=_merged(known, turn.executions))

    def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
        """See Sessions."""
        with self._one_at_a_time:
            turn = self._turns[session_id][number]
            self._turns[session_id][number] = msgspec.structs.replace(turn, executions=_merged(turn, (execution,)))


def _merged(turn: SavedTurn, executions: tuple[ToolExecution, ...]) -> tuple[ToolExecution, ...]:
    """Those of the turn, and those that are newer, in their place."""
    return tuple({one.call_id: one for one in (*turn.executions, *executions)}.values())


class SqliteSessions:
    """Sessions in a file of SQLite's, for any number of processes. What was saved is on the disk.

    A session that is taken is locked through a file of its own, empty, in the folder `PATH.locks`: a process that is killed gives
    it back. Raises `sqlite3.Error` where the file cannot be used, and ValueError for one that another version wrote.
    """

    _TURN = (
        "INSERT INTO turns (session, turn, closed, source, input, response, after) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (session, turn) DO UPDATE SET closed = excluded.closed"
    )
    _EXECUTION = (
        "INSERT INTO executions (session, turn, call_id, execution) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (session, turn, call_id) DO UPDATE SET execution = excluded.execution"
    )

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        if not name or name.startswith(":"):
            raise ValueError("sessions are kept in a file; those of MemorySessions are not")
        self._path = os.path.realpath(name)  # one file has one folder of locks, by whatever name it is opened
        self._one_at_a_time = threading.Lock()
        self._database = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            self._set_up()
        except BaseException:
            self._database.close()
            raise

    def _set_up(self) -> None:
        run = self._database.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")  # a tool that has ended must not run again, also after the power failed
        with self._database:
            run("BEGIN IMMEDIATE")
            (version,) = run("PRAGMA user_version").fetchone()
            if version not in (0, _FORMAT):
                raise ValueError(f"{self._path} holds sessions of format {version}, and this version reads format {_FORMAT}")
            run(
                "CREATE TABLE IF NOT EXISTS turns (session TEXT, turn INTEGER, closed INTEGER NOT NULL, source TEXT, "
                "input BLOB NOT NULL, response TEXT NOT NULL, after BLOB NOT NULL, PRIMARY KEY (session, turn))"
            )
            run(
                "CREATE TABLE IF NOT EXISTS executions (session TEXT, turn INTEGER, call_id TEXT, execution BLOB NOT NULL, "
                "PRIMARY KEY (session, turn, call_id))"
            )
            run(f"PRAGMA user_version = {_FORMAT}")

    def take(self, session_id: str) -> Release | None:
        """See Sessions. The lock is the one that SQLite has on a database of its own, so it is the system's."""
        folder = f"{self._path}.locks"
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as fault:
            raise sqlite3.OperationalError(f"no folder for locks can be made: {fault}") from fault
        name = hashlib.sha256(session_id.encode()).hexdigest()[:32]
        lock = sqlite3.connect(os.path.join(folder, name), timeout=0, isolation_level=None, check_same_thread=False)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as fault:
            lock.close()
            if fault.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return None
        return lock.close

    def load(self, session_id: str) -> list[SavedTurn]:
        """See Sessions."""
        with self._one_at_a_time:
            turns = self._database.execute(
                "SELECT turn, closed, source, input, response, after FROM turns WHERE session = ? ORDER BY turn", (session_id,)
            ).fetchall()
            executions = self._database.execute(
                "SELECT turn, execution FROM executions WHERE session = ? ORDER BY turn, rowid", (session_id,)
            ).fetchall()
        of_turn: dict[int, list[ToolExecution]] = {}
        for number, execution in executions:
            of_turn.setdefault(number, []).append(msgspec.json.decode(execution, type=ToolExecution))
        return [
            SavedTurn(
                number,
                _Messages.decode(asked),
                AccumulatedResponse.from_json(response),
                source,
                _Messages.decode(after),
                tuple(of_turn.get(number, ())),
                bool(closed),
            )
            for number, closed, source, asked, response, after in turns
        ]

    def save_turn(self, session_id: str, turn: SavedTurn) -> None:
        """See Sessions."""
        encode = msgspec.json.encode
        row = (session_id, turn.number, turn.closed, turn.source, encode(turn.input), turn.response.to_json(), encode(turn.after))
        executions = [(session_id, turn.number, one.call_id, encode(one)) for one in turn.executions]
        with self._one_at_a_time, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(self._TURN, row)
            self._database.executemany(self._EXECUTION, executions)

    def save_execution(self, session_id: str, number: int, execution: ToolExecution) -> None:
        """See Sessions."""
        row = (session_id, number, execution.call_id, msgspec.json.encode(execution))
        with self._one_at_a_time:
            self._database.execute(self._EXECUTION, row)

    def close(self) -> None:
        """Close the file."""
        self._database.close()
