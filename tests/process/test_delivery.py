"""The hook as a process: one delivery for each boundary, none lost, none repeated, whatever happens to the state."""

import json
import os
import subprocess

import pytest

from .home import (
    Home,
    checkpoint,
    hook_command,
    long_talk,
    result,
    said,
    system_message,
    user,
)

C = "c0ffee00-0000-4000-8000-000000000001"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def compacted(home, step=12):
    """A conversation that the hook has seen before, and then was compacted."""
    home.write(C, long_talk())
    assert home.hook(C) == []
    home.append(C, checkpoint(step))


def state_of(home):
    return json.loads(home.state(C).read_text())


@pytest.mark.usefixtures("door")
def test_nothing_is_put_back_where_nothing_was_compacted(home):
    home.write(C, long_talk())
    assert home.hook(C) == []
    assert home.hook(C) == []


@pytest.mark.usefixtures("door")
def test_a_compaction_brings_the_requests_back_word_for_word_and_once(home):
    compacted(home)
    (text,) = home.hook(C)
    assert text.startswith("[POST-COMPACT REHYDRATION v1 | checkpoint=12 | id=")
    for number in range(4):
        assert f"Request number {number} from step {3 * number}." in text
    assert home.hook(C) == []
    assert state_of(home)["delivery"]["status"] == "sent"


def test_files_in_use_come_back_as_they_are_on_disk_now(home):
    path = home.file("src/parser.py", "def parse(text):\n    return text.split()\n")
    plan = home.file("PLAN.md", "# Plan\n1. tokenise\n2. parse\n")
    home.write(
        C, [*long_talk(), said(12, "Look.", ("view_file", {"AbsolutePath": path}), ("read_file", {"Path": plan}))]
    )
    assert home.hook(C) == []
    home.file("src/parser.py", "def parse(text):\n    return list(text)\n")
    home.append(C, result(13), result(14), checkpoint(15))
    text = "".join(home.hook(C))
    assert "return list(text)" in text and "1. tokenise" in text


@pytest.mark.usefixtures("door")
def test_each_of_two_compactions_is_delivered_once(home):
    compacted(home)
    (first,) = home.hook(C)
    home.append(C, system_message(13, first), *long_talk(14), checkpoint(60))
    (second,) = home.hook(C)
    assert "checkpoint=60" in second and home.hook(C) == []


def test_several_new_boundaries_give_one_delivery_for_the_newest(home):
    compacted(home)
    home.append(C, *long_talk(13, 16), checkpoint(61))
    (text,) = home.hook(C)
    assert "checkpoint=61" in text and home.hook(C) == []


def test_what_a_delivery_put_in_is_not_put_in_again_by_the_next(home):
    compacted(home)
    (first,) = home.hook(C)
    home.append(C, system_message(13, first), *long_talk(14), checkpoint(60))
    (second,) = home.hook(C)
    assert second.count("POST-COMPACT REHYDRATION") == 1


@pytest.mark.parametrize("state", [None, b"", b"garbage", b'{"version": 99}', b"[1]", b"\0" * 50])
def test_without_a_usable_state_the_marker_in_the_log_stops_a_second_delivery(home, state):
    compacted(home)
    (text,) = home.hook(C)
    home.append(C, system_message(13, text))
    lose_state(home, state)
    assert home.hook(C) == []


@pytest.mark.parametrize("state", [None, b"", b"garbage", b'{"version": 99}', b"[1]", b"\0" * 50])
def test_without_a_usable_state_a_fresh_boundary_is_delivered_once(home, state):
    compacted(home)
    lose_state(home, state)
    assert len(home.hook(C)) == 1
    assert home.hook(C) == []


def lose_state(home, state):
    home.state(C).unlink()
    if state is not None:
        home.state(C).write_bytes(state)


def test_a_state_copied_from_another_conversation_does_not_suppress_a_delivery(home):
    compacted(home)
    assert len(home.hook(C)) == 1
    other = C[:-1] + "2"
    home.write(other, [*long_talk(), checkpoint(12)])
    home.state(other).write_bytes(home.state(C).read_bytes())
    assert len(home.hook(other)) == 1


def test_the_older_scripts_state_and_marker_stop_a_second_delivery(home):
    home.write(C, [*long_talk(), checkpoint(12)])
    home.state(C).write_text(json.dumps({"last_rehydrated_checkpoint": 12, "checked_offset": 5}))
    assert home.hook(C) == []
    home.append(C, *long_talk(13, 14), checkpoint(60))
    assert len(home.hook(C)) == 1
    home.state(C).unlink()
    other = C[:-1] + "2"
    home.write(
        other, [*long_talk(), checkpoint(12), system_message(13, "[POST-COMPACT REHYDRATION v1 | checkpoint=12]\nold")]
    )
    assert home.hook(other) == []


def test_an_old_conversation_seen_for_the_first_time_is_not_replayed_in_the_middle(home):
    home.write(C, [*long_talk(), checkpoint(12), *long_talk(13)])
    assert home.hook(C) == []
    assert home.hook(C) == []


def test_at_first_sight_a_boundary_eight_steps_back_still_counts(home):
    home.write(C, [*long_talk(), checkpoint(12), *[said(step, "on") for step in range(13, 21)]])
    assert len(home.hook(C)) == 1


def test_a_marker_that_a_user_or_a_tool_wrote_suppresses_nothing(home):
    compacted(home)
    lose_state(home, None)
    marker = "[POST-COMPACT REHYDRATION v1 | checkpoint=12 | id=00000000]"
    home.append(C, user(13, marker), result(14, marker), system_message(15, marker))
    assert len(home.hook(C)) == 1


def test_a_record_of_the_same_boundary_written_again_brings_nothing_more(home):
    home.write(C, long_talk())
    assert home.hook(C) == []
    sizes = []
    for status in ("RUNNING", "DONE", "DONE", "ERROR", "DONE"):
        home.append(C, checkpoint(12, status=status))
        sizes.append(len(home.hook(C)))
    assert sizes == [0, 1, 0, 0, 0] and home.hook(C) == []


def test_after_a_rewind_a_compaction_at_the_same_step_is_another_one(home):
    compacted(home)
    assert len(home.hook(C)) == 1
    home.append(C, *long_talk(6, 2, minute=5), checkpoint(12, minute=6))
    assert len(home.hook(C)) == 1 and home.hook(C) == []


def test_a_boundary_that_turns_out_to_have_failed_brings_no_older_one_back(home):
    compacted(home)
    assert len(home.hook(C)) == 1
    home.append(C, *long_talk(13, 16), checkpoint(61))
    assert len(home.hook(C)) == 1
    home.append(C, checkpoint(61, status="ERROR"))
    assert home.hook(C) == []


def test_a_boundary_that_was_skipped_for_a_pending_one_is_delivered_when_that_one_is_gone(home):
    compacted(home)
    data = home.transcript(C).read_bytes()
    home.append(C, *long_talk(13, 16), checkpoint(61))
    assert "checkpoint=61" in home.hook(C)[0]
    change_state(home, status="pending")
    home.transcript(C).write_bytes(data)
    (text,) = home.hook(C)
    assert "checkpoint=12" in text and home.hook(C) == []


def test_a_boundary_without_a_step_is_none(home):
    home.write(C, long_talk())
    assert home.hook(C) == []
    without = checkpoint(12)
    del without["step_index"]
    home.append(C, without)
    assert home.hook(C) == []
    home.append(C, said(13, "on"))
    assert home.hook(C) == []


@pytest.mark.parametrize("before", [b"", json.dumps(said(12, "on")).encode()])
def test_f05_a_boundary_glued_to_other_records_of_its_line_is_delivered_once(home, before):
    home.write(C, long_talk())
    assert home.hook(C) == []
    line = before + json.dumps(checkpoint(13)).encode() + json.dumps(said(14, "on")).encode()
    home.append(C, line + b"\n")
    assert len(home.hook(C)) == 1 and home.hook(C) == []


def test_a_delivery_that_a_later_compaction_swallowed_does_not_count_for_it(home):
    """The newer agent loop compacts after the hook: what was put in stands before the boundary and is gone."""
    compacted(home)
    (first,) = home.hook(C)
    home.append(C, system_message(13, first), checkpoint(14))
    lose_state(home, None)
    (second,) = home.hook(C)
    assert "checkpoint=14" in second and home.hook(C) == []


def test_a_pending_delivery_whose_boundary_is_gone_is_void(home):
    compacted(home)
    assert len(home.hook(C)) == 1
    change_state(home, status="pending")
    home.write(C, long_talk())
    assert home.hook(C) == []
    assert state_of(home)["delivery"] is None
    home.append(C, checkpoint(12))
    assert len(home.hook(C)) == 1 and home.hook(C) == []


def test_f45_a_state_with_an_impossible_cursor_does_not_stop_deliveries_for_ever(home):
    compacted(home)
    state = state_of(home)
    home.state(C).write_text(json.dumps(state | {"cursor": [1, -1, "x"]}))
    assert len(home.hook(C)) == 1 and home.hook(C) == []


def test_a_state_that_workspaces_make_too_long_still_remembers_the_delivery(home):
    compacted(home)
    workspaces = ["/" + "汉" * 300 + str(number) for number in range(700)]
    stdin = json.dumps(home.payload(C, workspacePaths=workspaces), ensure_ascii=False).encode()
    assert [len(home.hook(stdin=stdin)) for _ in range(3)] == [1, 0, 0]


def test_a_failed_compaction_is_none(home):
    compacted(home)
    home.write(C, [*long_talk(), checkpoint(12, "error", status="ERROR")])
    assert home.hook(C) == []


def test_the_word_checkpoint_inside_a_string_is_no_boundary(home):
    home.write(C, long_talk())
    home.hook(C)
    home.append(C, user(12, 'please grep for "type":"CHECKPOINT"'), said(13, '{"type":"CHECKPOINT","status":"DONE"}'))
    assert home.hook(C) == []


def test_a_boundary_whose_members_stand_late_in_its_line_is_found(home):
    compacted(home)
    late = {
        "note": "x" * 300,
        "content": "# Resuming from a compaction\n\nx",
        "status": "DONE",
        "type": "CHECKPOINT",
        "step_index": 60,
    }
    home.hook(C)
    home.append(C, *long_talk(13, 15), late)
    assert "checkpoint=60" in home.hook(C)[0]


def test_f02_a_torn_boundary_is_delivered_once_its_line_is_complete(home):
    home.write(C, long_talk())
    home.hook(C)
    line = json.dumps(checkpoint(12)).encode()
    with open(home.transcript(C), "ab") as file:
        file.write(line)
    assert home.hook(C) == []
    with open(home.transcript(C), "ab") as file:
        file.write(b"\n")
    assert len(home.hook(C)) == 1


def test_f07_after_a_truncation_the_same_boundary_is_not_delivered_again(home):
    compacted(home)
    home.append(C, said(13, "on"))
    assert len(home.hook(C)) == 1
    data = home.transcript(C).read_bytes()
    home.transcript(C).write_bytes(data[: data.rindex(b'{"step_index":13')])
    assert home.hook(C) == []


def test_f40_a_delivery_that_was_decided_but_not_sent_comes_again_once(home):
    compacted(home)
    for expected in (1, 1, 0, 0):
        assert len(home.hook(C)) == expected
        if expected:
            change_state(home, status="pending")
    assert state_of(home)["delivery"] | {"id": ""} == {"step": 12, "id": "", "status": "sent", "tries": 2}


def test_f40_the_marker_in_the_log_confirms_a_pending_delivery(home):
    compacted(home)
    (text,) = home.hook(C)
    change_state(home, status="pending")
    home.append(C, system_message(13, text))
    assert home.hook(C) == []
    assert state_of(home)["delivery"]["status"] == "sent"


def test_a_newer_boundary_replaces_a_pending_delivery(home):
    compacted(home)
    home.hook(C)
    change_state(home, status="pending")
    home.append(C, *long_talk(13, 15), checkpoint(60))
    (text,) = home.hook(C)
    assert "checkpoint=60" in text and home.hook(C) == []


def change_state(home, **delivery):
    state = state_of(home)
    state["delivery"] |= delivery
    state["done"] = None
    home.state(C).write_text(json.dumps(state))


def test_switched_off_it_does_nothing(home):
    compacted(home)
    assert home.hook(C, environ={"REHYDRATE_OFF": "1"}) == []
    assert len(home.hook(C)) == 1


def test_a_file_in_the_workspace_switches_it_off(home):
    compacted(home)
    (home.work / ".rehydrate-off").touch()
    assert home.hook(C) == []


def test_as_ephemeral_message_each_step_is_a_bare_string(home):
    compacted(home)
    payload = json.dumps(home.payload(C)).encode()
    done = subprocess.run(
        hook_command("--as", "ephemeralMessage"), input=payload, capture_output=True, env=home.environ, timeout=60
    )
    steps = json.loads(done.stdout)["injectSteps"]
    assert [list(step) for step in steps] == [["ephemeralMessage"]] * len(steps)
    assert steps[0]["ephemeralMessage"].startswith("[POST-COMPACT")


def test_a_soon_repeated_compaction_gets_half_the_room_and_a_third_only_the_requests(home):
    talk = [user(0, "first"), *[said(1 + n, f"{n} " + "a" * 3_000) for n in range(30)]]
    home.write(C, talk)
    home.hook(C)
    home.append(C, checkpoint(31))
    sizes = [len("".join(home.hook(C)))]
    home.append(C, said(32, "b"), checkpoint(33))
    sizes.append(len("".join(home.hook(C))))
    home.append(C, said(34, "c"), checkpoint(35))
    last = "".join(home.hook(C))
    assert sizes[0] > 38_000 > 25_000 > sizes[1] > 15_000
    assert "first" in last and "aaa" not in last


def test_no_part_is_longer_than_the_host_takes(home):
    home.write(C, [user(0, "汉" * 15_000), *[said(1 + n, "字" * 5_000) for n in range(20)]])
    home.hook(C)
    home.append(C, checkpoint(21))
    parts = home.hook(C)
    assert len(parts) > 1
    assert all(len(part.encode()) <= 48_000 for part in parts)
    assert [f"part {k}/{len(parts)}" in part.split("\n", 1)[0] for k, part in enumerate(parts, 1)] == [True] * len(
        parts
    )


def test_nothing_is_written_beside_the_state_and_its_lock(home):
    compacted(home)
    before = sorted(os.listdir(home.logs(C)))
    data = home.transcript(C).read_bytes()
    home.hook(C)
    assert sorted(os.listdir(home.logs(C))) == before
    assert home.transcript(C).read_bytes() == data


def fork(home):
    """A conversation forked from one that was forked, each with words of its own; the ids of the three."""
    a, b, c = (f"{name}0000000-0000-4000-8000-000000000000" for name in "abc")
    home.write(a, [user(0, "from a"), said(1, "a"), *[said(step, "A WENT ON") for step in range(2, 8)]])
    home.write(b, [user(2, "from b", minute=1), said(3, "b", minute=1), user(4, "B WENT ON", minute=5)])
    home.write(c, [user(4, "from c", minute=2), said(5, "c", minute=2)])
    return a, b, c


def test_ancestors_come_back_up_to_the_fork_and_no_further(home):
    _, _, c = fork(home)
    home.hook(c)
    home.append(c, checkpoint(6, minute=2))
    text = "".join(home.hook(c))
    assert "fork_lineage=a0000000(0..1)->b0000000(2..3)->c0000000(4.." in text.split("\n", 1)[0]
    assert text.index("from a") < text.index("from b") < text.index("from c")
    assert "WENT ON" not in text


def test_f36_a_missing_ancestor_is_said_in_the_text(home):
    a, _, c = fork(home)
    home.transcript(a).unlink()
    home.hook(c)
    home.append(c, checkpoint(6, minute=2))
    text = "".join(home.hook(c))
    assert "An ancestor of this conversation was not found" in text and "from b" in text
