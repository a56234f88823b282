"""Parts: within the limit always, each readable alone, all items exactly once."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rehydrate.conversation import ToolCall
from rehydrate.files import Access
from rehydrate.recall import Item, Rehydration, Section
from rehydrate.recall.delivery import measure_of, pack
from rehydrate.recall.render import render_item
from tests.recall.samples import called, conversation, rehydrated, said, touches, user

MARKER = re.compile(r"\A\[POST-COMPACT REHYDRATION v1 \| checkpoint=1000 \| id=0badcafe(?: \| part (\d+)/(\d+))?[ \]]")
PIECE = re.compile(r"\n([^\n]*), piece (\d+)/(\d+):\n(?:- [^\n]*\n)*(`{3,})\n(.*?)\n\4\n", re.DOTALL)


def size(text: str, unit: str) -> int:
    return len(text.encode()) if unit == "utf8" else len(text.encode("utf-16-le")) // 2


def items(whole: Rehydration) -> list[Item]:
    return [item for section in whole.sections for item in section.items]


def test_what_fits_in_one_part_is_the_text_itself() -> None:
    whole = rehydrated(conversation([user(0, "ask"), said(1, "ok")]))
    assert whole.parts(48_000) == [whole.text]
    assert "part " not in whole.text.split("\n")[0]


def test_the_marker_line_has_checkpoint_id_part_and_lineage() -> None:
    turns = [said(step, "x" * 5_000, segment=step // 100) for step in (0, 1, 100, 101)]
    whole = rehydrated(conversation(turns, forks=1))
    head = "[POST-COMPACT REHYDRATION v1 | checkpoint=1000 | id=0badcafe | "
    lineage = "fork_lineage=11111111(0..99)->22222222(100..1000)]"
    assert whole.text.split("\n")[0] == head + lineage
    parts = whole.parts(12_000)
    assert [part.split("\n")[0] for part in parts] == [
        f"{head}part {number}/{len(parts)} | {lineage}" for number in range(1, len(parts) + 1)
    ]


def test_every_part_says_what_it_is_and_has_a_heading() -> None:
    whole = rehydrated(conversation([user(step, f"request {step} " * 100) for step in range(40)]))
    parts = whole.parts(6_000)
    assert len(parts) > 4
    for part in parts:
        assert "not an instruction" in part.split("\n")[1]
        assert part.split("\n")[3].startswith("## ")


def test_dialogue_is_packed_latest_first_and_read_in_order() -> None:
    whole = rehydrated(conversation([said(step, f"<{step}>" + "x" * 700) for step in range(30)]))
    steps = [[int(each) for each in re.findall(r"<(\d+)>", part)] for part in whole.parts(5_000)]
    assert steps[0][-1] == 29
    assert all(part == sorted(part) for part in steps)
    assert [step for part in reversed(steps) for step in part] == list(range(30))


def test_sections_come_in_the_order_requests_dialogue_documents_files(tmp_path: Path) -> None:
    for name in ("PLAN.md", "a.py"):
        (tmp_path / name).write_text(name * 500)
    rows = touches((f"{tmp_path.resolve()}/PLAN.md", 1, "read"), (f"{tmp_path.resolve()}/a.py", 2, "read"))
    turns = [user(0, "ask " * 400), said(1, "ok " * 400)]
    whole = rehydrated(conversation(turns, rows), access=Access((str(tmp_path.resolve()),)))
    joined = "".join(whole.parts(3_000))
    places = [joined.index(f"## {number}. ") for number in range(1, 5)]
    assert places == sorted(places)


def test_an_item_larger_than_a_part_is_cut_into_pieces_that_joined_are_the_item() -> None:
    text = "".join(f"line {number} e\u0301\U0001f44d\U0001f3fd\n" for number in range(300))
    whole = rehydrated(conversation([user(0, text)]), dialogue_chars=0)
    pieces = [piece for part in whole.parts(2_000) for piece in PIECE.findall(part)]
    assert [(int(k), int(m)) for _, k, m, _, _ in pieces] == [(k + 1, len(pieces)) for k in range(len(pieces))]
    assert "".join(piece[-1] for piece in pieces) == text
    assert not any(piece[-1].startswith(("\u0301", "\U0001f3fd")) for piece in pieces)


def test_a_long_label_of_wide_characters_has_a_quarter_of_the_room() -> None:
    item = Item(3, "modified", "text " * 400, f"/work/{'𠀀' * 120}.py (step 3):", path="/work/x.py")
    measure = measure_of("utf8")
    parts = pack((Section("files", 9_999, (item,), title="Files"),), room=600, measure=measure)
    pieces = [piece for part in parts for piece in PIECE.findall(part)]
    assert all(measure(piece[0]) <= 150 and piece[0].endswith("𠀀.py (step 3)") for piece in pieces)
    assert "".join(piece[-1] for piece in pieces) == item.text


def test_a_wall_of_backticks_is_cut_into_pieces() -> None:
    whole = rehydrated(conversation([user(0, "`" * 5_000)]), dialogue_chars=0)
    parts = whole.parts(2_000)
    assert all(len(part) <= 2_000 for part in parts)
    assert "".join(piece[-1] for part in parts for piece in PIECE.findall(part)) == "`" * 5_000


def test_a_long_lineage_is_shortened_rather_than_the_limit_broken() -> None:
    made = conversation([user(800, "x" * 3_000, 8)], forks=8)
    far = tuple(replace(each, min_step=10**12, max_step=10**13) for each in made.segments)
    whole = rehydrated(replace(made, segments=far))
    assert whole.text.split("\n")[0].count("->") == 8
    for part in whole.parts(1_000):
        assert len(part) <= 1_000
        assert "->...->" in part.split("\n")[0]


def test_a_limit_or_unit_that_makes_no_sense_is_refused() -> None:
    whole = rehydrated(conversation([user(0, "x")]))
    with pytest.raises(ValueError, match="at least 1000"):
        whole.parts(999)
    with pytest.raises(ValueError, match="utf8 or utf16"):
        whole.parts(5_000, "utf32")


def test_more_than_nine_parts_are_numbered_within_the_limit() -> None:
    whole = rehydrated(conversation([user(step, f"{step} " + "\U0001f600" * 200) for step in range(60)]))
    parts = whole.parts(2_000)
    assert len(parts) > 20
    assert all(len(part.encode()) <= 2_000 for part in parts)


characters = st.sampled_from("ab \n`\U0001f600\u0301\u200d\U0001f3fd\u20ac\r")
long_texts = st.lists(characters, min_size=1, max_size=30).flatmap(
    lambda word: st.integers(1, 200).map(lambda times: "".join(word) * times)
)
tools = st.lists(st.builds(ToolCall, st.text(max_size=90), st.none(), st.text(max_size=90)), max_size=9)


@hypothesis_settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("uac"), long_texts, tools), max_size=10),
    st.integers(0, 8),
    st.sampled_from([1_000, 1_001, 1_777, 2_000, 5_000, 48_000]),
    st.sampled_from(["utf8", "utf16"]),
)
def test_F60_every_part_is_within_the_limit_and_every_item_is_there_once(rows, forks, limit, unit) -> None:
    turns = []
    for step, (kind, text, group) in enumerate(rows):
        segment = step * (forks + 1) // len(rows)
        if kind == "u":
            turns.append(user(step, text, segment))
        elif kind == "a":
            turns.append(said(step, text, *group, segment=segment))
        else:
            turns.append(called(step, *group, segment=segment))
    whole = rehydrated(conversation(turns, forks=forks))
    parts = whole.parts(limit, unit)
    for number, part in enumerate(parts, start=1):
        assert size(part, unit) <= limit
        found = MARKER.match(part)
        assert found
        if len(parts) > 1:
            assert found.groups() == (str(number), str(len(parts)))
    joined = "".join(parts)
    for item in items(whole):
        pieces = pieces_of(item, joined)
        if pieces:
            assert [(k, m) for k, m, _ in pieces] == [(k, len(pieces)) for k in range(1, len(pieces) + 1)]
            assert item.role in ("tools", "fork") or "".join(text for _, _, text in pieces) == item.text
        same = [render_item(each) for each in items(whole)].count(
            render_item(item)
        )  # a signpost stands in two sections
        assert joined.count(render_item(item)) == (0 if pieces else same)
    assert len(re.findall(r"^(?:\[\d+\] step|user, step|assistant, step|tools, step)", joined, re.MULTILINE)) == sum(
        max(1, len(pieces_of(item, joined))) for item in items(whole) if item.role != "fork"
    )


def pieces_of(item: Item, joined: str) -> list[tuple[int, int, str]]:
    """Number, count and quoted text of each piece of the item, in order."""
    label = re.escape(item.label.rstrip(":"))
    pattern = rf"\n{label}, piece (\d+)/(\d+):\n(?:(?!`{{3,}}\n)[^\n]+\n)*(?:(`{{3,}})\n(.*?)\n\3\n)?"
    return sorted((int(found[1]), int(found[2]), found[4] or "") for found in re.finditer(pattern, joined, re.DOTALL))
