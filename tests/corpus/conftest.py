"""Prints, after the corpus tests, how many streams of each protocol are right."""

import pytest

from .figures import rows, wrong


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if wrong.cache_info().currsize:
        terminalreporter.write_sep("-", "streams of the corpus")
        for row in rows():
            terminalreporter.write_line(row)
