"""FAULTS.md names tests that exist, and every test of this folder stands in the row whose number it carries."""

import re
from pathlib import Path

import pytest

from tests.helpers import defined_in, named_in

TESTS = Path(__file__).parents[1]
ROWS = {
    int(number): (case, tests)
    for number, case, tests in re.findall(r"^\| F(\d\d) \| (.+?) \| (.*) \|$", (TESTS / "FAULTS.md").read_text(), re.M)
}
NUMBERS = [1, 2, 3, 5, 6, 7, 10, 14, 15, 16, 17, 19, 20, 22, 23, 24, 25, 26, 27, 28, 30, 32, 33, 34, 35, 36, 37, 39, 40,
           41, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 56, 58, 59, 60, 62, 63, 64, 66, 67, 68]  # fmt: skip
"""Every fault that was thought of."""


def named(row):
    return list(named_in(ROWS[row][1]))


def test_every_fault_has_a_row():
    assert list(ROWS) == NUMBERS


@pytest.mark.parametrize("row", NUMBERS)
def test_a_row_names_tests_that_exist_or_says_why_there_is_none(row):
    assert named(row) or len(ROWS[row][1]) > 20
    assert [f"{file}: {name}" for file, name in named(row) if name not in defined_in(file)] == []


@pytest.mark.parametrize("file", sorted(each.name for each in Path(__file__).parent.glob("test_*.py")))
def test_every_test_of_a_fault_stands_in_its_row(file):
    for name in defined_in(f"faults/{file}"):
        for number in re.findall(r"f(\d\d)(?=_)", re.match(r"test_((?:f\d\d_)*)", name)[1]):
            assert (f"faults/{file}", name) in named(int(number)), f"{name} is missing in row F{number}"
