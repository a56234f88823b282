"""The whole: header, note, statistics, and that what is counted is what is written."""

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rehydrate.conversation import ToolCall
from rehydrate.files import Access
from tests.recall.samples import called, conversation, rehydrated, said, section, touches, user


def test_the_header_is_the_first_line_and_has_no_lineage_without_ancestors() -> None:
    whole = rehydrated(conversation([user(0, "ask")]))
    assert whole.text.startswith(
        "[POST-COMPACT REHYDRATION v1 | checkpoint=1000 | id=0badcafe]\nWhat follows is verbatim"
    )
    assert "not an instruction" in whole.text


def test_the_whole_is_the_head_and_the_sections_joined() -> None:
    whole = rehydrated(conversation([user(0, "ask"), said(1, "ok")]))
    head = "\n".join(whole.text.split("\n")[:2]) + "\n"
    assert whole.text == head + "".join(each.text for each in whole.sections)
    assert [len(each.text) for each in whole.sections] == [each.used_chars for each in whole.sections]
    assert [each.name for each in whole.sections] == ["requests", "dialogue", "documents", "files"]


def test_statistics_count_what_stands_in_the_text(tmp_path: Path) -> None:
    ws = tmp_path.resolve()
    for name in ("SPEC.md", "a.py", "b.py"):
        (ws / name).write_text("text")
    rows = touches((f"{ws}/SPEC.md", 1, "read"), (f"{ws}/a.py", 2, "modified"), (f"{ws}/b.py", 3, "read"))
    turns = [user(0, "one"), said(1, "two"), user(101, "three", 1), called(102, ToolCall("x"), segment=1)]
    whole = rehydrated(conversation(turns, rows, forks=1), access=Access((str(ws),)))
    assert whole.stats == {
        "checkpoint": 1000,
        "fork_hops": 1,
        "user_msgs": 2,
        "kept_turns": 5,
        "skills": 1,
        "files": 2,
        "chars": len(whole.text),
        "est_tokens": len(whole.text) // 3,
    }


def test_a_section_as_json_has_the_members_of_show() -> None:
    found = section(rehydrated(conversation([user(0, "ask")])), "requests").as_json()
    assert list(found) == ["name", "budget_chars", "used_chars", "items", "left_out", "refused"]


def test_without_a_boundary_the_checkpoint_is_the_next_step_and_the_id_is_of_no_record() -> None:
    made = replace(conversation([user(0, "ask")], forks=1), boundary=None)
    whole = rehydrated(made)
    digest = hashlib.sha256(b"22222222-session\x00200\x00").hexdigest()[:8]
    assert whole.text.startswith(f"[POST-COMPACT REHYDRATION v1 | checkpoint=200 | id={digest} | fork_lineage=")
    assert "->22222222(100..199)]" in whole.text.split("\n")[0]
    assert whole.stats["checkpoint"] == 200


def test_an_empty_conversation_has_a_header_and_no_section() -> None:
    made = replace(conversation(), segments=(), boundary=None)
    whole = rehydrated(made)
    assert whole.stats["user_msgs"] == 0
    assert "##" not in whole.text
    assert len(whole.parts(1_000)) == 1


def test_how_the_log_was_read_is_said_in_the_note() -> None:
    made = replace(conversation([user(0, "ask")]), notes=("One\nancestor is missing.",))
    assert "One\\u{a}ancestor is missing.\n" in rehydrated(made).text


def test_client_with_uuids_for_steps() -> None:
    made = conversation([replace(user(0, "ask"), step="0a1b2c3d-4e5f-6789")])
    whole = rehydrated(made)
    assert section(whole, "requests").items[0].as_json()["step"] == "0a1b2c3d-4e5f-6789"
    assert "[1] step 0a1b2c3d\n" in whole.text


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=200)), max_size=8))
def test_same_in_same_out_and_always_encodable(rows) -> None:
    made = conversation([user(step, text) if asks else said(step, text) for step, (asks, text) in enumerate(rows)])
    whole = rehydrated(made)
    assert whole == rehydrated(made)
    assert whole.text.encode().decode() == whole.text
    json.dumps([each.as_json() for each in whole.sections], ensure_ascii=False).encode()


def test_F23_F25_lone_surrogates_and_hidden_characters_never_come_out() -> None:
    whole = rehydrated(
        conversation([user(0, "a\ud800b\u202ec\x1b[0m"), called(1, ToolCall("t\udfff", path="/x\ud800\n"))])
    )
    whole.text.encode()
    assert "a\ufffdb\\u{202e}c\\u{1b}[0m" in whole.text
    assert whole.parts(5_000) == [whole.text]


def test_F64_secrets_are_masked_in_the_whole_text_before_it_is_clipped() -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    text = "x" * 4_480 + " " + secret + " " + "y" * 5_000
    whole = rehydrated(conversation([user(0, text), *(user(step, "z" * 4_000) for step in range(1, 8))]))
    assert "ghp_" not in whole.text
    assert secret in rehydrated(conversation([user(0, secret)]), redact=False).text


def test_F62_thousands_of_requests_and_a_huge_one_are_quick() -> None:
    many = conversation(user(step, "please fix the token of this: and that\n" * 5) for step in range(5_000))
    huge = conversation([user(0, "please fix the token of this = and that\n" * 7_500), user(1, "go on")])
    for made in (many, huge):
        start = time.perf_counter()
        rehydrated(made)
        # A hundred times what it takes: the bound is for a mistake in the order of growth.
        assert time.perf_counter() - start < 30
