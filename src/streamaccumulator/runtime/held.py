"""A session while a run has it: waiting for it, and commits that nobody leaves half way."""

import asyncio
from collections.abc import Callable

from .sessions import Release, SavedTurn, Sessions, ToolExecution

_POLL = 0.02
"""Seconds between two looks whether a session is free."""


class Held:
    """One session of a run, with its store called in threads, one call at a time."""

    def __init__(self, sessions: Sessions, session_id: str) -> None:
        self.session_id = session_id
        self._sessions = sessions
        self._one_at_a_time = asyncio.Lock()
        self._release: Release | None = None

    async def take(self, cancelled: Callable[[], bool]) -> bool:
        """Wait until no other run has it. False: cancelled before."""
        while not cancelled():
            await self._to_its_end(self._take)
            if self._release is not None:
                return True
            await asyncio.sleep(_POLL)
        return False

    def _take(self) -> None:
        self._release = self._sessions.take(self.session_id)

    def release(self) -> None:
        """Give it back. All commits have ended."""
        if self._release is not None:
            self._release()

    async def load(self) -> list[SavedTurn]:
        """Its turns."""
        return await asyncio.to_thread(self._sessions.load, self.session_id)

    async def save_turn(self, turn: SavedTurn) -> None:
        """Commit a turn with its executions."""
        await self._to_its_end(lambda: self._sessions.save_turn(self.session_id, turn))

    async def save_execution(self, number: int, execution: ToolExecution) -> None:
        """Commit an execution of turn `number`."""
        await self._to_its_end(lambda: self._sessions.save_execution(self.session_id, number, execution))

    async def _to_its_end(self, work: Callable[[], None]) -> None:
        """Whoever is cancelled meanwhile leaves when it is done: no commit comes late, and none is lost."""
        commit = asyncio.ensure_future(self._in_turn(work))
        stopped: asyncio.CancelledError | None = None
        while not commit.done():
            try:
                await asyncio.wait([commit])
            except asyncio.CancelledError as stop:
                stopped = stop
        if stopped is not None:
            raise stopped from commit.exception()
        commit.result()

    async def _in_turn(self, work: Callable[[], None]) -> None:
        async with self._one_at_a_time:
            await asyncio.to_thread(work)
