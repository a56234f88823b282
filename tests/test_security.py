"""SECURITY.md names, for each of its promises, tests that exist."""

import re
from pathlib import Path

import pytest

from tests.helpers import defined_in, named_in

SECURITY = Path(__file__).parents[1] / "SECURITY.md"
PROMISES = dict(re.findall(r"^\| (.+?) \| (`[\w/]+\.py`: .*) \|$", SECURITY.read_text(), re.M))


def test_every_promise_has_tests():
    assert len(PROMISES) >= 9


@pytest.mark.parametrize("promise", PROMISES)
def test_the_tests_of_a_promise_exist(promise):
    assert [f"{file}: {name}" for file, name in named_in(PROMISES[promise]) if name not in defined_in(file)] == []
