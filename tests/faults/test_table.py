"""No fault is forgotten: each number is tested or deferred with a reason."""

import re
from pathlib import Path

from . import DECIDED, DEFERRED, FAULTS, PARTLY

_NUMBER = re.compile(r"(?:def test_b|\"B)(\d{3})(?=[_ \"])")
"""A number as the name of a test, or as the id of a row."""

TESTED = {
    f"B{number}"
    for path in Path(__file__).parent.glob("test_*.py")
    if path.name != "test_table.py"
    for number in _NUMBER.findall(path.read_text(encoding="utf-8"))
}


def test_each_fault_is_tested_or_deferred_and_not_both() -> None:
    assert TESTED | set(DEFERRED) == FAULTS
    assert not TESTED & set(DEFERRED)


def test_what_is_tested_in_part_or_by_decision_is_tested() -> None:
    assert set(PARTLY) | set(DECIDED) <= TESTED


def test_the_numbers_are_all_there() -> None:
    assert len(FAULTS) == 114
