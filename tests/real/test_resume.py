"""The program of docs/resume.md: killed in mid-stream, and started again, it gives the whole answer."""

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from streamaccumulator import AccumulatedResponse, accumulate

from .server import Script, serving

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "tests/captures/openai-responses/text-then-tools.sse"


def _numbered() -> list[bytes]:
    """The events of a capture, with the numbers that OpenAI gives them."""
    payloads = [line[6:] for line in CAPTURE.read_text().splitlines() if line.startswith("data: {")]
    events = [{**json.loads(payload), "sequence_number": number} for number, payload in enumerate(payloads)]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


class Answer(Script):
    """One answer that goes on from `starting_after`, slowly."""

    def __init__(self) -> None:
        super().__init__(_numbered())
        self.asked: list[int] = []

    def pieces_for(self, path: str) -> Iterator[bytes]:
        after = int(parse_qs(urlsplit(path).query).get("starting_after", ["-1"])[0])
        self.asked.append(after)
        for piece in self.pieces[max(0, after) :] if after >= 0 else self.pieces:  # one that was there before, as some servers do
            yield piece[:30]  # a connection that dies now dies inside an event
            time.sleep(0.01)
            yield piece[30:]


def _saved(path: Path) -> bool:
    if not path.exists():
        return False
    database = sqlite3.connect(path)
    try:
        found = database.execute("SELECT number FROM streams").fetchone()
        return found is not None and found[0] is not None
    except sqlite3.OperationalError:  # the table is not there yet
        return False
    finally:
        database.close()


def test_the_program_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/resume.md").read_text(), re.DOTALL)
    program, state, answer = tmp_path / "read.py", tmp_path / "state.db", Answer()
    program.write_text(snippet)
    with serving(answer) as address:
        command = [sys.executable, str(program), str(state), f"{address}/answer?stream=true"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as killed:
            until = time.monotonic() + 30
            while not _saved(state) and killed.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            killed.kill()
            assert killed.communicate()[0] == b""  # it was killed before it had an answer
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert answer.asked[0] == -1
    assert answer.asked[1] >= 0
    response = AccumulatedResponse.from_json(done.stdout)
    whole = accumulate(answer.pieces, "openai-responses")
    assert response.message == whole.message
    assert (response.complete, response.usage, response.id) == (True, whole.usage, whole.id)
    assert {one.code for one in response.diagnostics} == {"repeated_event"}
