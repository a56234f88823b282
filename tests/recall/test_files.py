"""Section 4: three files last modified, and three last read besides."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rehydrate.files import Access
from rehydrate.recall import Section
from tests.recall.samples import conversation, rehydrated, section, touches, user


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    for name in "abcdefgh":
        (tmp_path / f"{name}.py").write_text(f"text of {name}\n")
    return tmp_path.resolve()


def whole(ws: Path, rows, **settings):
    made = conversation([user(0, "x")], touches(*((f"{ws}/{name}", *rest) for name, *rest in rows)))
    return rehydrated(made, access=Access((str(ws),)), **settings)


def files(ws: Path, rows, **settings) -> Section:
    return section(whole(ws, rows, **settings), "files")


def names(found: Section) -> list[str]:
    return [f"{item.role} {Path(item.path or '').stem} {item.step}" for item in found.items]


def test_modified_come_before_read_each_latest_first(ws: Path) -> None:
    rows = [(f"{name}.py", step, "modified") for step, name in enumerate("abcd")]
    rows += [(f"{name}.py", step, "read") for step, name in enumerate("efgh", start=10)]
    found = files(ws, rows)
    assert names(found) == ["modified d 3", "modified c 2", "modified b 1", "read h 13", "read g 12", "read f 11"]
    assert found.left_out == 2


def test_a_file_among_the_three_modified_is_not_among_the_read(ws: Path) -> None:
    rows = [("a.py", 1, "modified"), ("a.py", 9, "read"), ("b.py", 2, "read")]
    assert names(files(ws, rows)) == ["modified a 1", "read b 2"]


def test_a_modified_file_that_is_not_among_the_three_may_be_among_the_read(ws: Path) -> None:
    rows = [(f"{name}.py", step, "modified") for step, name in enumerate("abcd")] + [("a.py", 9, "read")]
    found = files(ws, rows)
    assert names(found)[-1] == "read a 9"
    assert found.left_out == 0


def test_equal_steps_are_in_the_order_of_the_first_touch_that_way(ws: Path) -> None:
    rows = [("b.py", 1, "modified"), ("c.py", 5, "read"), ("a.py", 5, "modified"), ("c.py", 5, "modified")]
    rows += [("b.py", 5, "modified")]
    assert names(files(ws, rows)) == ["modified b 5", "modified a 5", "modified c 5"]


def test_a_path_that_is_only_named_is_not_a_file_worked_on(ws: Path) -> None:
    found = files(ws, [("a.py", 1, "named")])
    assert (found.items, found.left_out, found.refused) == ((), 0, ())


def test_ineligible_files_are_dropped_before_counting_to_three(ws: Path) -> None:
    rows = [(f"{name}.py", step, "modified") for step, name in enumerate("abc")]
    rows += [("gone.py", 10, "modified"), ("x.png", 11, "modified"), (".env", 12, "modified"), ("old.py", 0, "read")]
    found = files(ws, rows)
    assert names(found) == ["modified c 2", "modified b 1", "modified a 0"]
    assert sorted((Path(path).name, reason) for path, reason in found.refused) == [
        (".env", "secret"),
        ("gone.py", "gone"),
        ("old.py", "gone"),
        ("x.png", "extension"),
    ]


def test_a_document_is_not_repeated_here(ws: Path) -> None:
    (ws / "PLAN.md").write_text("plan")
    rows = [("PLAN.md", 1, "modified"), ("SPEC.md", 2, "read"), ("a.py", 3, "read")]
    made = whole(ws, rows)
    assert names(section(made, "files")) == ["read a 3"]
    assert section(made, "files").refused == ()
    assert section(made, "documents").refused == ((f"{ws}/SPEC.md", "gone"),)
    assert (made.stats["skills"], made.stats["files"]) == (1, 1)
    assert names(files(ws, rows, documents_chars=0)) == ["modified PLAN 1", "read a 3"]


def test_it_stops_when_less_than_a_thousand_is_left(ws: Path) -> None:
    for name in "abc":
        (ws / f"{name}.py").write_text(name * 11_500)
    found = files(ws, [(f"{name}.py", step, "read") for step, name in enumerate("abc")], files_chars=12_500)
    assert names(found) == ["read c 2"]
    assert found.left_out == 2


def test_the_last_file_is_clipped_to_what_is_left(ws: Path) -> None:
    for name in "abc":
        (ws / f"{name}.py").write_text(name * 11_500)
    found = files(ws, [(f"{name}.py", step, "read") for step, name in enumerate("abc")], files_chars=14_000)
    assert names(found) == ["read c 2", "read b 1"]
    assert 13_900 < found.used_chars <= 14_000


def test_a_path_that_is_not_absolute_is_refused(ws: Path) -> None:
    made = conversation([user(0, "x")], touches(("a.py", 1, "read"), ("C:\\x\\b.py", 2, "modified")))
    found = section(rehydrated(made, access=Access((str(ws),))), "files")
    assert found.refused == (("C:\\x\\b.py", "relative"), ("a.py", "relative"))


def test_a_hostile_path_stays_on_one_line(ws: Path) -> None:
    (ws / "a\n## 1. x\u202e.py").write_text("text")
    found = files(ws, [("a\n## 1. x\u202e.py", 1, "read")])
    assert f"{ws}/a\\u{{a}}## 1. x\\u{{202e}}.py (read at step 1)" in found.text


def test_thousands_of_files_are_not_all_opened(ws: Path) -> None:
    found = files(ws, [(f"gone{number}.py", number, "read") for number in range(3_000)])
    assert len(found.refused) == 2_000
    assert found.left_out == 1_000


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(1, 30_000), st.sampled_from("x`\U0001f600\n")), min_size=1, max_size=8),
    st.one_of(st.integers(0, 200), st.integers(700, 30_000)),
    st.one_of(st.integers(0, 200), st.just(12_000)),
)
def test_F60_budgets_are_hard_for_documents_and_files(ws: Path, contents, budget, single) -> None:
    for number, (size, character) in enumerate(contents):
        for name in (f"f{number}.txt", f"SPEC{number}.md"):
            (ws / name).write_text(character * size)
    rows = [(f"f{number}.txt", number, ("modified", "read")[number % 2]) for number in range(len(contents))]
    rows += [(f"SPEC{number}.md", 100 + number, "read") for number in range(len(contents))]
    limits = {"documents_chars": budget, "files_chars": budget, "single_file_chars": single}
    made = whole(ws, rows, **limits)
    for found in made.sections[2:]:
        assert found.used_chars <= budget
        assert all(item.text and item.text in found.text and len(item.text) <= single for item in found.items)
    assert len({item.path for found in made.sections[2:] for item in found.items}) == sum(
        len(found.items) for found in made.sections[2:]
    )
