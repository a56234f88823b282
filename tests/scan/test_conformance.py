"""Lines that are JSON, lines that are not, and where JSON's readers differ: `tests/data/json` says which is what."""

import pytest

from tests.helpers import DATA

CASES = {path: path.parent.name.endswith("accepted") for path in sorted((DATA / "json").glob("*ed/*.jsonl"))}


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_line_is_a_record_exactly_where_it_should_be(impl, path):
    tree = impl.read_tree(path)
    assert ((len(tree.entries), tree.damaged) == (1, 0)) == CASES[path]
    assert len(tree.entries) == len(list(impl.iter_steps(path)))


def test_there_are_cases_of_each_sort():
    assert set(CASES.values()) == {True, False} and len(CASES) > 150
