"""What `make bench` writes: every figure that was asked for, reached or not, and the README's table cut from it."""

from pathlib import Path

import pytest

from benches import results
from benches.targets import TARGETS

ROOT = Path(results.__file__).parent.parent
SCAN = {
    "name": "scan",
    "title": "The scanner",
    "quick": False,
    "date": "2026-03-01",
    "source": "",
    "tables": [{"title": "Every line", "columns": ["", "time"], "rows": [["`a | b`", "1 ms"]]}],
    "reached": [
        {"key": "scan", "of": "100 MB", "measured": 0.9},
        {"key": "scan", "of": "1,000 MB", "measured": 1.234},
        {"key": "cursor", "of": "", "measured": 20.0},
    ],
}


def row_of(text, key):
    rows = [line for line in results.cut(text).splitlines() if line.startswith(f"| {TARGETS[key].path} |")]
    assert len(rows) == 1
    return rows[0]


def test_every_figure_that_was_asked_for_has_its_row_measured_or_not():
    text = results.joined([SCAN])
    assert "| 20 µs | yes |" in row_of(text, "cursor")
    for key in set(TARGETS) - {"scan", "cursor"}:
        assert "| not measured |" in row_of(text, key)


def test_a_figure_that_is_not_reached_is_said_with_the_worst_case_and_its_reason():
    text = results.joined([SCAN])
    assert "| 1.23 x `wc -l` (1,000 MB) | **no** |" in row_of(text, "scan")
    assert f"- {TARGETS['scan'].path}: {TARGETS['scan'].reason or 'not looked into yet'}." in results.cut(text)


def test_a_cell_with_a_bar_in_it_stays_one_cell_and_a_failed_section_is_named():
    text = results.joined([SCAN], ["hook"])
    assert "| `a \\| b` | 1 ms |" in text
    assert "failed: hook" in text


@pytest.mark.parametrize("old", ["\nold\n", "\n", ""])
def test_the_readme_takes_over_what_stands_between_the_marks_and_nothing_of_a_quick_run(old):
    text = results.joined([SCAN])
    readme = f"# before\n{results.OPEN}{old}{results.CLOSE}\nafter\n"
    taken = results.taken_over(readme, text)
    assert results.cut(taken) == results.cut(text)
    assert taken.startswith("# before\n") and taken.endswith(f"{results.CLOSE}\nafter\n")
    with pytest.raises(ValueError, match="quick"):
        results.taken_over(readme, results.joined([{**SCAN, "quick": True}]))


def test_the_table_in_the_readme_is_the_one_in_the_results():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert results.cut(readme) == results.cut(results.RESULTS.read_text(encoding="utf-8"))
