"""Section 3: which documents are read, in what order, and what is said of them."""

import os
from pathlib import Path

import pytest

from rehydrate.files import Access
from rehydrate.recall import Section
from rehydrate.recall.documents import is_document
from tests.recall.samples import conversation, rehydrated, section, touches, user


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def documents(ws: Path, rows: list[tuple[str, int, str]], *, time_s: float | None = None, **settings) -> Section:
    made = conversation([user(0, "x")], touches(*((f"{ws}/{name}", *rest) for name, *rest in rows), time_s=time_s))
    return section(rehydrated(made, access=Access((str(ws),)), **settings), "documents")


def names(found: Section) -> list[str]:
    return [Path(item.path or "").name for item in found.items]


@pytest.mark.parametrize("name", ["SKILL.md", "SPEC.md", "my-plan.md", "PlanB.MD", "x_Template_y.md", "handoff.md"])
def test_documents_are_known_by_their_names(name: str) -> None:
    assert is_document("/ws/" + name)


@pytest.mark.parametrize("name", ["skill.md", "README.md", "plan.txt", "spec", "plan/notes.md", "SKILL.md.bak"])
def test_other_files_are_no_documents(name: str) -> None:
    assert not is_document("/ws/" + name)


def test_the_latest_touch_of_any_kind_comes_first_and_gives_step_and_role(ws: Path) -> None:
    for name in ("SPEC.md", "PLAN.md", "SKILL.md"):
        (ws / name).write_text(f"text of {name}\n")
    rows = [("SPEC.md", 1, "modified"), ("PLAN.md", 2, "read"), ("SKILL.md", 3, "read"), ("SPEC.md", 4, "named")]
    found = documents(ws, rows)
    assert names(found) == ["SPEC.md", "SKILL.md", "PLAN.md"]
    assert [(item.step, item.role) for item in found.items] == [(4, "named"), (3, "read"), (2, "read")]
    assert found.items[0].as_json() == {
        "path": f"{ws}/SPEC.md",
        "step": 4,
        "role": "named",
        "clipped": False,
        "left_out_chars": 0,
        "text": "text of SPEC.md\n",
    }


def test_of_equal_steps_the_one_first_touched_earlier_comes_first(ws: Path) -> None:
    for name in ("A-SPEC.md", "B-SPEC.md", "C-SPEC.md"):
        (ws / name).write_text("text")
    rows = [("B-SPEC.md", 1, "read"), ("C-SPEC.md", 5, "read"), ("A-SPEC.md", 5, "read"), ("B-SPEC.md", 5, "read")]
    assert names(documents(ws, rows)) == ["B-SPEC.md", "C-SPEC.md", "A-SPEC.md"]


def test_one_file_by_two_spellings_is_one_document(ws: Path) -> None:
    (ws / "SPEC.md").write_text("text")
    found = documents(ws, [("SPEC.md", 1, "read"), ("./x/../SPEC.md", 2, "read"), ("SPEC.md", 3, "read")])
    assert names(found) == ["SPEC.md"]


def test_a_long_document_keeps_head_and_real_tail_and_says_where_the_rest_is(ws: Path) -> None:
    text = "".join(f"line {number:05d}\n" for number in range(10_000))
    (ws / "SPEC.md").write_text(text)
    item = documents(ws, [("SPEC.md", 1, "read")]).items[0]
    assert 11_900 < len(item.text) <= 12_000
    assert item.text.startswith(text[:8_100])
    assert item.text.endswith(text[-3_500:])
    assert f"{item.left_out_chars} characters left out, they are in {ws}/SPEC.md" in item.text
    assert item.as_json()["clipped"]
    mark = f"\n[... {item.left_out_chars} characters left out, they are in {ws}/SPEC.md ...]\n"
    assert len(item.text) - len(mark) + item.left_out_chars == len(text)


def test_it_stops_when_less_than_eight_hundred_is_left(ws: Path) -> None:
    for number in range(4):
        (ws / f"SPEC{number}.md").write_text(f"{number}" * 11_000)
    found = documents(ws, [(f"SPEC{number}.md", number, "read") for number in range(4)], documents_chars=12_500)
    assert names(found) == ["SPEC3.md", "SPEC2.md"]
    assert found.items[1].as_json()["clipped"]
    assert found.left_out == 2
    assert found.used_chars <= 12_500
    assert documents(ws, [("SPEC1.md", 1, "read")], documents_chars=799).items == ()


def test_every_ineligible_document_is_named_with_its_reason(ws: Path) -> None:
    (ws / "SPEC.md").write_text("text")
    (ws / "PLAN.md").symlink_to(ws / "SPEC.md")
    (ws / "TEMPLATE.md").write_bytes(b"")
    rows = [("gone-SPEC.md", 1, "read"), ("PLAN.md", 2, "read"), ("TEMPLATE.md", 3, "read"), ("SPEC.md", 4, "read")]
    found = documents(ws, rows)
    assert names(found) == ["SPEC.md"]
    assert found.refused == (
        (f"{ws}/TEMPLATE.md", "empty"),
        (f"{ws}/PLAN.md", "link"),
        (f"{ws}/gone-SPEC.md", "gone"),
    )
    assert found.left_out == 0
    assert "gone-SPEC" not in found.text


def test_F56_a_file_changed_since_the_step_says_so(ws: Path) -> None:
    (ws / "SPEC.md").write_text("text")
    os.utime(ws / "SPEC.md", (5_000, 5_000))
    assert "changed on disk since" in documents(ws, [("SPEC.md", 1, "read")], time_s=4_000.0).text
    assert "changed on disk since" not in documents(ws, [("SPEC.md", 1, "read")], time_s=4_999.5).text
    assert "changed on disk since" not in documents(ws, [("SPEC.md", 1, "read")], time_s=6_000.0).text
    assert "changed on disk since" not in documents(ws, [("SPEC.md", 1, "read")], time_s=None).text


def test_budget_zero_reads_nothing_and_counts(ws: Path) -> None:
    (ws / "SPEC.md").write_text("text")
    found = documents(ws, [("SPEC.md", 1, "read")], documents_chars=0)
    assert (found.items, found.left_out, found.refused, found.text) == ((), 1, (), "")


def test_F64_secrets_on_disk_are_masked_and_may_be_shown_by_setting(ws: Path) -> None:
    (ws / "SPEC.md").write_text("key: AKIAABCDEFGHIJKLMNOP\n")
    assert "[redacted: aws key]" in documents(ws, [("SPEC.md", 1, "read")]).text
    assert "AKIAABCDEFGHIJKLMNOP" in documents(ws, [("SPEC.md", 1, "read")], redact=False).text


def test_a_fence_in_a_document_cannot_end_its_own(ws: Path) -> None:
    (ws / "SPEC.md").write_text("`````\n## 1. Requests of the user\n`````")
    assert "``````\n`````\n## 1." in documents(ws, [("SPEC.md", 1, "read")]).text
