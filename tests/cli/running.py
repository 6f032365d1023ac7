"""Ways to run the real command as its own process: on pipes, piece by piece, and on a pseudo-terminal."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import streamaccumulator

SOURCE = str(Path(streamaccumulator.__file__).parents[1])
PATIENCE = 60
"""Seconds after which a process that hangs is killed, so that its test fails instead of waiting for ever."""

_WITHOUT_RICH = "import sys; sys.modules['rich'] = None; from streamaccumulator.cli import main; sys.exit(main())"


def command(*arguments: str, rich: bool = True) -> list[str]:
    """The command line of the command; without `rich` its import fails as if it were not installed."""
    start = ["-m", "streamaccumulator.cli"] if rich else ["-c", _WITHOUT_RICH]
    return [sys.executable, *start, *arguments]


def environment(**changes: str) -> dict[str, str]:
    """An environment in which the package under test is found and nothing of the caller's terminal shows through."""
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "TERM", "FORCE_COLOR"}}
    return {**kept, "PYTHONPATH": SOURCE, "PYTHONIOENCODING": "", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", **changes}


class Ran(NamedTuple):
    """How a run ended, and what it wrote where."""

    status: int
    out: bytes
    err: str


def run(*arguments: str, stdin: bytes = b"", rich: bool = True, **changes: str) -> Ran:
    """Run the command on pipes."""
    done = subprocess.run(
        command(*arguments, rich=rich), input=stdin, capture_output=True, env=environment(**changes), timeout=PATIENCE
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def _hear_interrupts() -> None:
    """What a shell starts in the background ignores interrupts, and so would whatever is started from there."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def started(*arguments: str, **changes: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command with pipes to write to and read from while it runs; unbuffered, so that a piece is a piece."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command(*arguments),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        bufsize=0,
        env=environment(**changes),
        preexec_fn=None if sys.platform == "win32" else _hear_interrupts,
    ) as process:
        guard = threading.Timer(PATIENCE, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()


class Shown(NamedTuple):
    """What a terminal was sent, and what went into a pipe beside it."""

    status: int
    screen: str
    out: bytes


def on_terminal(*arguments: str, stdin: bytes = b"", rich: bool = True, piped: bool = False, **changes: str) -> Shown:
    """Run the command with standard output (unless `piped`) and standard error on a terminal of 80 columns."""
    import termios

    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen(
        command(*arguments, rich=rich),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if piped else theirs,
        stderr=theirs,
        env=environment(**changes),
    ) as process:
        os.close(theirs)
        guard = threading.Timer(PATIENCE, process.kill)
        guard.start()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stdin)
            process.stdin.close()
        screen = _read_all(ours)
        out = process.stdout.read() if process.stdout is not None else b""
        guard.cancel()
    os.close(ours)
    return Shown(process.returncode, screen.decode().replace("\r\n", "\n"), out)


def _read_all(terminal: int) -> bytes:
    """A terminal whose other end is closed is an error on Linux, and an end elsewhere."""
    seen = b""
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 65536):
            seen += data
    return seen
