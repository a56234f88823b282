"""A transcript as entries that name their parents."""

import json
from pathlib import Path

import pytest

from rehydrate.clients.antigravity import conversion, layout
from tests.clients.antigravity.making import checkpoint, message, model, record, result, user

DATA = Path(__file__).parents[2] / "data" / "antigravity"
REAL = sorted(DATA.glob("*/*/transcript_full.jsonl"))


@pytest.fixture
def converted(home):
    """Writes records as a conversation and gives its entries."""

    def convert(*records, **more):
        place = layout.place_of(home.write("one", records, **more))
        return list(conversion.entries(place))

    return convert


def of(entries, kind):
    return [each for each in entries if each["type"] == kind]


def blocks(entry):
    return entry["message"]["content"]


def test_a_request_and_its_answer_become_a_user_and_an_assistant_entry(converted):
    asked, answered = converted(user(0, "ask"), model(1, "answer"))
    assert (asked["type"], asked["message"]) == ("user", {"role": "user", "content": "ask"})
    assert (answered["type"], blocks(answered)) == ("assistant", [{"type": "text", "text": "answer"}])


def test_each_entry_follows_the_one_before_it(converted):
    entries = converted(user(0, "ask"), model(1, "answer"), user(2, "more"))
    assert [each["parentUuid"] for each in entries] == [None, entries[0]["uuid"], entries[1]["uuid"]]


def test_a_result_answers_the_call_it_is_of(converted):
    calls = ("view_file", {"AbsolutePath": "/a"}), ("run_command", {"CommandLine": "ls"})
    entries = converted(user(0, "ask"), model(1, None, *calls), result(2, "RUN_COMMAND", "ran"), result(3))
    view, run = blocks(entries[1])
    assert (view["type"], view["name"], view["input"]) == ("tool_use", "view_file", {"AbsolutePath": "/a"})
    assert blocks(entries[2]) == [{"type": "tool_result", "tool_use_id": run["id"], "content": "ran"}]
    assert blocks(entries[3]) == [{"type": "tool_result", "tool_use_id": view["id"], "content": "done"}]


def test_a_result_of_a_tool_that_nobody_called_answers_the_first_open_call(converted):
    entries = converted(model(0, None, ("grep", {}), ("ls", {})), result(1, "OTHER"))
    assert blocks(entries[1])[0]["tool_use_id"] == blocks(entries[0])[0]["id"]


def test_a_result_without_any_open_call_is_told_by_the_system(converted):
    entries = converted(user(0, "ask"), result(1, "VIEW_FILE", "stray"))
    assert (entries[1]["type"], entries[1]["content"]) == ("system", "stray")


def test_a_request_ends_what_calls_may_still_be_answered(converted):
    entries = converted(model(0, None, ("ls", {})), user(1, "never mind"), result(2, "LS"))
    assert entries[2]["type"] == "system"


def test_a_result_of_a_failed_step_is_an_error(converted):
    entries = converted(model(0, None, ("ls", {})), result(1, "LS", "no", status="ERROR"))
    assert blocks(entries[1])[0]["is_error"] is True


def test_a_compaction_becomes_a_boundary_and_a_summary(converted):
    asked, boundary, summary, after = converted(
        user(0, "ask"), checkpoint(1, "# Resuming from a compaction\n\nall", input_tokens=9), user(2, "go on")
    )
    assert (boundary["type"], boundary["subtype"]) == ("system", "compact_boundary")
    assert (boundary["parentUuid"], boundary["logicalParentUuid"]) == (None, asked["uuid"])
    assert boundary["compactMetadata"] == {"trigger": "auto", "preTokens": 9}
    assert summary["isCompactSummary"] is True
    assert summary["message"]["content"] == "# Resuming from a compaction\n\nall"
    assert summary["parentUuid"] == boundary["uuid"]
    assert after["parentUuid"] == summary["uuid"]


@pytest.mark.parametrize("more", [{"status": "ERROR"}, {"content": "{{ CHECKPOINT 0 }}"}])
def test_a_checkpoint_that_does_not_count_is_no_boundary(converted, more):
    entries = converted(user(0, "ask"), checkpoint(1, **more), user(2, "go on"))
    assert [each.get("subtype") for each in entries] == [None, "informational", None]


def test_steps_stand_in_their_order_and_as_their_last_line_has_them(converted):
    lines = [user(0, "ask"), model(2, "later"), model(1, "half", status="RUNNING"), model(1, "whole")]
    entries = converted(*lines)
    assert [each["antigravity"] for each in entries] == [lines[0], lines[3], lines[1]]


def test_records_without_a_step_stay_behind_the_one_they_follow(converted):
    entries = converted(user(0, "ask"), {"type": "NEW", "content": "x"}, {"type": "NEWER"}, model(1, "answer"))
    assert [each["antigravity"]["type"] for each in entries] == ["USER_INPUT", "NEW", "NEWER", "PLANNER_RESPONSE"]


def test_what_a_hook_said_is_no_request(converted):
    entries = converted(message(0, "told"), {**user(1, "made"), "source": "SYSTEM_SDK"})
    assert [(each["type"], each["isMeta"]) for each in entries] == [("user", True)] * 2


def test_the_arguments_of_the_cut_file_are_decoded_once_more(converted):
    entries = converted(model(0, None, ("view_file", {"AbsolutePath": '"/a"'})), name="transcript.jsonl")
    assert blocks(entries[0])[0]["input"] == {"AbsolutePath": "/a"}


def test_tokens_are_those_of_the_answer(converted):
    entries = converted(model(0, "answer", input_tokens=5, cache_read_tokens=2, output_tokens=1))
    used = {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}
    assert entries[0]["message"]["usage"] == used


def test_odd_members_fail_no_conversion(converted):
    odd = [record(at, kind, 7, tool_calls=[3, {"name": 4}]) for at, kind in enumerate(("USER_INPUT", 3, None))]
    deep = b'{"step_index":9,"a":' + b"[" * 600 + b"]" * 600 + b"}"
    assert len(converted(*odd, deep, model(4, ["x"], tool_calls={"a": 1}))) == 5


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.parent.name)
def test_nothing_of_a_real_transcript_is_lost(path):
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    entries = list(conversion.entries(layout.place_of(str(path))))
    kept = [each["antigravity"] for each in entries if "antigravity" in each]
    assert sorted(kept, key=repr) == sorted(records, key=repr)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.parent.name)
def test_every_result_of_a_real_transcript_answers_a_call_of_the_answer_before_it(path):
    called = set()
    for entry in conversion.entries(layout.place_of(str(path))):
        content = entry.get("message", {}).get("content")
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use":
                called.add(block["id"])
            elif block["type"] == "tool_result":
                called.remove(block["tool_use_id"])


def test_the_same_transcript_gives_the_same_entries():
    first, second = (list(conversion.entries(layout.place_of(str(REAL[0])))) for _ in range(2))
    assert first == second
