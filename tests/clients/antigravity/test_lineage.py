import json
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from rehydrate import scan
from rehydrate.clients.antigravity import layout, lineage, transcript
from tests.clients.antigravity.making import START_S, checkpoint, line, message, model, record, result, row, talk, user


def place_of(home, session):
    place = layout.place_of(str(home.conversation(session)))
    assert place is not None
    return place


def trace(home, session, **more):
    return lineage.trace(place_of(home, session), **more)


def forbid_walks(home, monkeypatch):
    real = os.listdir

    def listdir(path):
        assert str(path) != str(home.app / "brain"), "the conversations were listed"
        return real(path)

    monkeypatch.setattr(os, "listdir", listdir)


def ranges(found):
    return [(s.session, s.min_step, s.max_step) for s in found.segments]


def parent_of(home, session, **more):
    found = trace(home, session, **more)
    return found.segments[-2].session if len(found.segments) > 1 else None


# -- roots


def test_a_conversation_that_begins_at_step_0_is_a_root_and_nothing_else_is_read(home, monkeypatch):
    home.write("one", talk(0, 9))
    forbid_walks(home, monkeypatch)
    monkeypatch.setattr(layout, "history", lambda *_: pytest.fail("the history was read"))
    found = trace(home, "one")
    assert ranges(found) == [("one", 0, 9)] and found.complete


def test_step_1_without_a_parent_is_a_root_too(home):
    home.write("one", talk(1, 9))
    home.write("other", talk(5, 9))
    found = trace(home, "one")
    assert ranges(found) == [("one", 1, 9)] and found.complete


def test_step_1_with_a_parent_is_a_fork(home):
    home.write("one", talk(1, 9))
    home.write("other", talk(0, 0))
    assert ranges(trace(home, "one")) == [("other", 0, 0), ("one", 1, 9)]


def test_a_file_without_a_step_is_a_root(home):
    home.write("one", [{"type": "USER_INPUT"}] * 20 + talk(30, 31))
    assert trace(home, "one").complete
    home.write("empty", [])
    assert ranges(trace(home, "empty")) == [("empty", None, None)]


def test_outside_the_known_layout_it_is_a_root(tmp_path):
    (tmp_path / "transcript_full.jsonl").write_bytes(b"".join(map(line, talk(7, 9))))
    found = lineage.trace(layout.place_of(str(tmp_path)))
    assert found.complete and len(found.segments) == 1 and "known layout" in found.why[0]


def test_f01_a_missing_transcript_is_a_file_error(home):
    place = layout.place_of(home.write("one", talk(3, 9)))
    os.unlink(place.path)
    with pytest.raises(FileNotFoundError):
        lineage.trace(place)


# -- one parent


def test_a_fork_has_the_steps_before_it_from_its_parent(home):
    path = home.write("parent", talk(0, 9))
    home.write("child", talk(10, 14))
    found = trace(home, "child")
    assert ranges(found) == [("parent", 0, 9), ("child", 10, 14)]
    assert found.complete and found.segments[0].path == path


def test_f37_what_the_parent_wrote_after_the_fork_never_leaks(home):
    home.write(
        "parent",
        [*talk(0, 9), user(10, "PARENT ONLY"), model(11, "PARENT ONLY", ("view_file", {"AbsolutePath": "/p"}))],
    )
    home.write("child", [*talk(10, 11, time_s=START_S + 10), checkpoint(12, time_s=START_S + 12)])
    place = place_of(home, "child")
    found = trace(home, "child")
    assert ranges(found) == [("parent", 0, 9), ("child", 10, 12)]
    conversation = transcript.read(place, found.segments, boundary=transcript.survey(place).newest)
    assert [turn.step for turn in conversation.turns] == list(range(12))
    assert not any("PARENT ONLY" in (turn.text or "") for turn in conversation.turns)
    assert conversation.touches == ()
    assert [turn.segment for turn in conversation.turns] == [0] * 10 + [1] * 2


def test_a_missing_step_4_does_not_hide_the_parent(home):
    home.write("parent", [*talk(0, 3), *talk(5, 9)])
    home.write("child", talk(5, 8, time_s=START_S + 20))
    assert ranges(trace(home, "child")) == [("parent", 0, 4), ("child", 5, 8)]


def test_f37_up_to_two_steps_before_the_fork_may_be_missing_but_not_three(home):
    home.write("parent", talk(0, 6))
    home.write("child", talk(9, 10))
    assert parent_of(home, "child") == "parent"
    home.write("child", talk(10, 12))
    found = trace(home, "child")
    assert len(found.segments) == 1 and not found.complete
    assert "No parent of child was found" in found.why[-1]


def test_steps_in_completion_order_are_no_obstacle(home):
    home.write("parent", [user(0, "ask"), result(3), model(1, "a"), result(9), result(2), *talk(4, 8)])
    home.write("child", [user(10, "x"), result(11)])
    assert ranges(trace(home, "child"))[0] == ("parent", 0, 9)


def test_a_file_begins_at_the_smallest_step_of_its_first_lines(home):
    home.write("root", [user(0, "ask"), model(1, "a"), *talk(2, 12)])
    home.write("middle", [result(6), model(5, "a"), user(4, "ask"), *talk(7, 12)])
    home.write("child", [result(11), result(10), user(9, "x")])
    found = trace(home, "child")
    assert ranges(found) == [("root", 0, 3), ("middle", 4, 8), ("child", 9, 11)]
    home.write("child", [model(1, "a"), user(0, "ask")])
    assert ranges(trace(home, "child")) == [("child", 0, 1)]


def test_a_parent_whose_highest_steps_stand_before_a_long_last_line_is_found(home):
    home.write("parent", [*talk(0, 50), result(20, content="x" * 200_000)])
    home.write("child", talk(51, 52))
    assert ranges(trace(home, "child")) == [("parent", 0, 50), ("child", 51, 52)]


def test_a_parent_that_went_on_far_beyond_the_tail_window_is_found(home):
    home.write("parent", [*talk(0, 9), *[user(s, "later " * 1000) for s in range(10, 60)]])
    home.write("child", talk(10, 14, time_s=START_S + 12))
    assert ranges(trace(home, "child")) == [("parent", 0, 9), ("child", 10, 14)]


def test_what_was_written_after_the_child_began_is_no_parent(home):
    home.write("later", talk(0, 9, time_s=START_S + 100))
    home.write("child", talk(10, 14, time_s=START_S + 90))
    assert parent_of(home, "child") is None
    home.write("child", talk(10, 14, time_s=START_S + 95))
    assert parent_of(home, "child") == "later"


@pytest.mark.parametrize("created_at", [None, 3, "soon", "0000-01-01T00:00:00Z", "99999-01-01T00:00:00Z"])
def test_times_that_are_not_known_are_not_asked_for(home, created_at):
    home.write("parent", talk(0, 9, time_s=START_S + 100))
    home.write("child", [{**made, "created_at": created_at} for made in talk(10, 14)])
    assert parent_of(home, "child") == "parent"
    home.write("child", talk(10, 14, time_s=START_S))
    home.write("parent", [{**made, "created_at": created_at} for made in talk(0, 9)])
    assert parent_of(home, "child") == "parent"


def test_a_cut_transcript_and_chunks_can_be_parents(home):
    cut = home.write("parent", talk(0, 9), name="transcript.jsonl")
    home.write("child", talk(10, 14))
    assert trace(home, "child").segments[0].path == cut
    place = place_of(home, "child")
    assert transcript.read(place, trace(home, "child").segments, boundary=None).lossy

    shutil.rmtree(home.conversation("parent"))
    chunks = home.write_chunks("parent", b"".join(map(line, talk(0, 9))), size=400)
    found = trace(home, "child")
    assert (found.segments[0].path, found.segments[0].max_step) == (chunks, 9)
    assert len(transcript.read(place, found.segments, boundary=None).turns) == 15


def test_odd_things_in_the_brain_folder_are_passed_over(home):
    home.write("parent", talk(0, 9))
    home.write("child", talk(10, 14))
    brain = home.app / "brain"
    (brain / "file").write_bytes(b"x")
    (brain / "empty").mkdir()
    (brain / "gone").symlink_to("/nowhere")
    home.logs("fifo").mkdir(parents=True)
    os.mkfifo(home.logs("fifo") / "transcript_full.jsonl")
    (home.logs("folder") / "transcript_full.jsonl").mkdir(parents=True)
    home.write("noise", [b"\0\xff" * 100, b"[]"])
    assert parent_of(home, "child") == "parent"


def test_f16_a_sibling_that_vanishes_during_the_walk_is_skipped(home, monkeypatch):
    home.write("parent", talk(0, 9))
    home.write("vanishing", talk(0, 9))
    home.write("child", talk(10, 14))
    real = scan.probe_candidates

    def after_it_vanished(paths, step, *, slack=0):
        shutil.rmtree(home.conversation("vanishing"), ignore_errors=True)
        return real(paths, step, slack=slack)

    monkeypatch.setattr(scan, "probe_candidates", after_it_vanished)
    assert parent_of(home, "child") == "parent"


def test_the_highest_step_is_exact_and_can_be_given(home):
    home.write("one", [user(0, "x"), result(40), result(2, content="x" * 200_000)])
    assert ranges(trace(home, "one")) == [("one", 0, 40)]
    assert ranges(trace(home, "one", last_step=41)) == [("one", 0, 41)]


# -- which of several


def rivals(home, *, a=None, b=None, child_s=START_S + 100):
    """Two conversations that could be the parent; `b` has the smaller claim in id."""
    home.write("a", talk(0, 9) if a is None else a)
    home.write("b", talk(0, 9) if b is None else b)
    home.write("child", talk(10, 14, time_s=child_s))


def test_f37_equal_scores_go_to_the_smaller_id(home):
    rivals(home)
    assert parent_of(home, "child") == "a"


def test_the_smaller_gap_in_time_wins(home):
    rivals(home, b=talk(0, 9, time_s=START_S + 90))
    assert parent_of(home, "child") == "b"


def test_an_unknown_time_is_the_longest_gap(home):
    rivals(home, a=[{**made, "created_at": None} for made in talk(0, 9)])
    assert parent_of(home, "child") == "b"


def test_nothing_after_the_fork_point_beats_the_smaller_gap(home):
    rivals(home, a=[*talk(0, 9, time_s=START_S + 99), user(10, "went on")])
    assert parent_of(home, "child") == "b"


def test_holding_the_very_step_before_beats_ending_there(home):
    rivals(home, a=talk(0, 8), b=talk(0, 11))
    assert parent_of(home, "child") == "b"


def test_a_shared_workspace_beats_what_the_steps_say(home):
    rivals(home, b=[*talk(0, 8), user(11, "went on")])
    home.remember(
        row("a", START_S, workspace="/other"), row("b", START_S, workspace="/w/"), row("child", START_S, workspace="/w")
    )
    assert parent_of(home, "child") == "b"


def test_the_workspaces_that_are_passed_in_count_too(home):
    rivals(home)
    home.remember(row("b", START_S, workspace="/w"))
    assert parent_of(home, "child") == "a"
    assert parent_of(home, "child", workspaces=["/w/"]) == "b"


def test_with_a_parent_in_the_same_workspace_no_folder_is_listed(home, monkeypatch):
    rivals(home)
    home.remember(row("b", START_S, workspace="/w"), row("child", START_S, workspace="/w"))
    forbid_walks(home, monkeypatch)
    assert parent_of(home, "child") == "b"


def test_a_fork_in_the_history_beats_the_workspace(home):
    rivals(home)
    home.remember(row("a", START_S, workspace="/w"), row("child", START_S, workspace="/w"))
    home.remember(row("b", START_S + 95, "/fork", workspace="/elsewhere"))
    assert parent_of(home, "child") == "b"


@pytest.mark.parametrize(
    ("display", "time_s", "counts"),
    [
        ("/fork", START_S + 4, True),
        ("/branch then", START_S + 105, True),
        ("/fork", START_S + 3, False),
        ("/fork", START_S + 106, False),
        ("/forked", START_S + 50, False),
        ("please /fork", START_S + 50, False),
    ],
)
def test_a_fork_counts_between_the_last_step_and_the_childs_first(home, display, time_s, counts):
    rivals(home)
    home.remember(row("b", time_s, display))
    assert parent_of(home, "child") == ("b" if counts else "a")


def test_a_fork_in_the_history_is_limited_only_by_the_times_that_are_known(home):
    rivals(home, b=[{**made, "created_at": None} for made in talk(0, 9)])
    home.remember(row("b", START_S + 50, "/fork"))
    assert parent_of(home, "child") == "b"


def test_a_fork_of_a_conversation_that_cannot_be_the_parent_changes_nothing(home):
    rivals(home, b=talk(0, 3))
    home.remember(
        row("b", START_S + 50, "/fork"), row("gone", START_S + 50, "/fork"), row("../a", START_S + 50, "/fork")
    )
    assert parent_of(home, "child") == "a"


# -- the database


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def reference(*fields):
    parts = [
        varint(f << 3) + varint(v) if isinstance(v, int) else varint(f << 3 | 2) + varint(len(v)) + v.encode()
        for f, v in fields
    ]
    return b"".join(parts)


def database(home, session, *blobs, wal=False, table="parent_references"):
    folder = home.app / "conversations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.db"
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma wal_autocheckpoint=0")
    connection.execute(f"create table {table} (idx integer, data blob)")
    connection.executemany(f"insert into {table} values (?, ?)", enumerate(blobs))
    connection.commit()
    return path, connection


def around(path):
    return sorted(p.name for p in path.parent.iterdir())


def test_the_parent_that_the_database_names_wins_over_everything(home):
    rivals(home)
    home.remember(row("a", START_S + 95, "/fork", workspace="/w"), row("child", START_S, workspace="/w"))
    path, connection = database(home, "child", reference((1, "x"), (2, 10), (3, 4), (5, 2), (6, "b")))
    connection.close()
    found = trace(home, "child")
    assert found.segments[0].session == "b"
    assert "its database names it" in found.why[-1]
    assert around(path) == ["child.db"]


def test_with_a_hint_that_holds_no_folder_is_listed(home, monkeypatch):
    rivals(home)
    database(home, "child", reference((5, 6), (6, "b")))[1].close()
    forbid_walks(home, monkeypatch)
    assert parent_of(home, "child") == "b"


@pytest.mark.parametrize(
    "blob",
    [
        reference((5, 3), (6, "b")),
        reference((5, 2)),
        reference((6, "unknown")),
        reference((6, "../brain/b")),
        reference((6, "b"))[:-1],
        reference((6, "b")) + b"\x07",
        b"\xff" * 20,
        b"",
        "text",
        None,
    ],
)
def test_a_reference_that_names_no_parent_is_passed_over(home, blob):
    rivals(home)
    database(home, "child", blob)[1].close()
    assert parent_of(home, "child") == "a"


def test_a_reference_without_a_type_and_with_unknown_fields_counts(home):
    rivals(home)
    blob = reference((9, "new"), (7, 1)) + b"\x51" + b"\0" * 8 + b"\x5d" + b"\0" * 4 + reference((6, "b"))
    database(home, "child", blob)[1].close()
    assert parent_of(home, "child") == "b"


def test_a_reference_to_a_conversation_that_cannot_be_the_parent_is_only_a_hint(home):
    rivals(home, b=talk(0, 3))
    database(home, "child", reference((6, "b")), reference((6, "child")))[1].close()
    assert parent_of(home, "child") == "a"


def test_f17_a_database_in_use_is_read_from_a_copy_and_nothing_appears_beside_it(home):
    rivals(home)
    path, connection = database(home, "child", reference((6, "b")), wal=True)
    before = around(path)
    assert (path.parent / "child.db-wal").stat().st_size > 0
    assert parent_of(home, "child") == "b"
    assert around(path) == before
    (path.parent / "child.db-shm").unlink()
    assert parent_of(home, "child") == "b"
    assert around(path) == ["child.db", "child.db-wal"]
    connection.close()


def test_f17_a_cleanly_closed_wal_database_gets_no_companions(home):
    rivals(home)
    path, connection = database(home, "child", reference((6, "b")), wal=True)
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    (path.parent / "child.db-wal").write_bytes(b"")
    assert parent_of(home, "child") == "b"
    assert around(path) == ["child.db", "child.db-wal"]


def test_f17_a_locked_database_is_read_all_the_same(home):
    rivals(home)
    _, connection = database(home, "child", reference((6, "b")))
    connection.execute("begin exclusive")
    assert parent_of(home, "child") == "b"
    connection.close()


def test_f17_what_is_wrong_with_the_database_is_said_and_the_hint_skipped(home):
    rivals(home)
    path, connection = database(home, "child", reference((6, "b")), table="something_else")
    connection.close()
    wrong = [
        lambda: None,
        lambda: path.write_bytes(b"no database at all" * 100),
        lambda: path.write_bytes(path.read_bytes()[:700]),
    ]
    wrong += [lambda: (path.unlink(), path.mkdir()), lambda: (path.rmdir(), os.mkfifo(path))]
    for break_it in wrong:
        break_it()
        found = trace(home, "child")
        assert found.segments[0].session == "a" and found.complete
        assert found.why[0].startswith("The database of child is not used")


def test_f17_a_view_without_end_in_place_of_the_table_is_given_up(home):
    rivals(home)
    _, connection = database(home, "child", table="other")
    endless = "with recursive n(idx, data) as (select 1, x'00' union all select idx + 1, data from n) select * from n"
    connection.execute(f"create view parent_references as {endless}")
    connection.commit()
    connection.close()
    assert parent_of(home, "child") == "a"


def test_a_live_database_too_large_to_copy_is_skipped(home, monkeypatch):
    rivals(home)
    _, connection = database(home, "child", reference((6, "b")), wal=True)
    monkeypatch.setattr("rehydrate.clients.antigravity.hints.COPY_BYTES", 100)
    found = trace(home, "child")
    assert found.segments[0].session == "a" and "too large" in found.why[0]
    connection.close()


@pytest.mark.parametrize("at", ["", "-wal"])
def test_f50_a_live_database_that_becomes_a_link_is_not_followed(home, monkeypatch, at):
    rivals(home)
    path, connection = database(home, "child", reference((6, "b")), wal=True)
    real_lstat = os.lstat

    def swap(name, **more):
        found = real_lstat(name, **more)
        if str(name) == f"{path}-wal":
            os.rename(f"{path}{at}", home.app / "away")
            os.symlink(home.app / "away", f"{path}{at}")
        return found

    monkeypatch.setattr("rehydrate.clients.antigravity.hints.os.lstat", swap)
    found = trace(home, "child")
    assert found.segments[0].session == "a" and "symbolic links" in found.why[0]
    connection.close()


# -- forks of forks


def chain(home, count, *, length=4):
    """c0 is the root, c1 its fork, and so on."""
    for n in range(count):
        home.write(f"c{n}", talk(n * length, n * length + length - 1))


def test_a_fork_of_a_fork_is_followed_to_the_root(home):
    chain(home, 3)
    assert ranges(trace(home, "c2")) == [("c0", 0, 3), ("c1", 4, 7), ("c2", 8, 11)]


def test_of_a_step_in_several_files_the_youngest_counts(home):
    home.write("root", [user(s, f"root {s}") for s in range(8)])
    filler = [message(7, "noise")] * lineage.FIRST_RECORDS  # what comes behind is not where a file begins
    home.write("middle", [user(4, "middle 4"), user(5, "middle 5"), *filler, user(2, "middle 2")])
    home.write("child", [user(6, "child 6"), *filler, user(7, "child 7"), user(5, "child 5")])
    place, found = place_of(home, "child"), trace(home, "child")
    assert ranges(found) == [("root", 0, 3), ("middle", 4, 5), ("child", 6, 7)]
    texts = [turn.text for turn in transcript.read(place, found.segments, boundary=None).turns]
    assert texts == ["root 0", "root 1", "middle 2", "root 3", "middle 4", "child 5", "child 6", "child 7"]


def test_f36_eight_ancestors_are_followed_and_the_cut_is_said(home):
    chain(home, 9)
    found = trace(home, "c8")
    assert found.complete and [s.session for s in found.segments] == [f"c{n}" for n in range(9)]
    chain(home, 12)
    found = trace(home, "c11")
    assert not found.complete and [s.session for s in found.segments] == [f"c{n}" for n in range(3, 12)]
    assert "Only 8 ancestors are followed" in found.why[-1]


def test_f36_a_parent_that_is_gone_leaves_the_lineage_incomplete(home):
    chain(home, 3)
    shutil.rmtree(home.conversation("c0"))
    found = trace(home, "c2")
    assert ranges(found) == [("c1", 4, 7), ("c2", 8, 11)] and not found.complete
    assert "No parent of c1 was found" in found.why[-1]


def test_f35_a_conversation_is_never_its_own_ancestor(home):
    home.write("one", talk(5, 9))
    (home.app / "brain" / "same").symlink_to(home.conversation("one"))
    database(home, "one", reference((6, "one")), reference((6, "same")))[1].close()
    assert ranges(trace(home, "one")) == [("one", 5, 9)]


def test_an_ancestor_that_cannot_be_read_is_left_out_and_said(home):
    chain(home, 3)
    place, found = place_of(home, "c2"), trace(home, "c2")
    shutil.rmtree(home.conversation("c1"))
    conversation = transcript.read(place, found.segments, boundary=None)
    assert [turn.step for turn in conversation.turns] == [0, 1, 2, 3, 8, 9, 10, 11]
    assert "Steps of c1 could not be read" in conversation.notes[0]


def test_the_workspace_of_the_line_leads_on_from_an_ancestor(home):
    home.write("a", talk(0, 3))
    home.write("b", talk(0, 3))
    home.write("c1", talk(4, 7))
    home.write("c2", talk(8, 11))
    home.remember(row("b", START_S, workspace="/w"), row("c1", START_S, workspace="/w"))
    assert trace(home, "c2").segments[0].session == "b"


def test_the_workspace_of_the_conversation_says_nothing_about_an_ancestor_of_its_parent(home):
    home.write("a", talk(0, 3, time_s=START_S + 1))
    home.write("b", talk(0, 3, time_s=START_S))
    home.write("c1", talk(4, 7, time_s=START_S + 2))
    home.write("c2", talk(8, 11, time_s=START_S + 3))
    home.remember(row("b", START_S, workspace="/w"), row("c2", START_S, workspace="/w"))
    assert [s.session for s in trace(home, "c2", workspaces=["/w"]).segments] == ["a", "c1", "c2"]


# -- remembered


def as_state(found):
    made = {
        "segments": [[s.session, s.path, s.min_step, s.max_step] for s in found.segments],
        "complete": found.complete,
        "why": [],
    }
    return json.loads(json.dumps(made))


def test_a_remembered_lineage_costs_no_walk_and_grows_with_the_conversation(home, monkeypatch):
    chain(home, 3)
    cached = as_state(trace(home, "c2"))
    home.write("c2", talk(8, 20))
    forbid_walks(home, monkeypatch)
    monkeypatch.setattr(layout, "history", lambda *_: pytest.fail("the history was read"))
    found = trace(home, "c2", cached=cached)
    assert ranges(found) == [("c0", 0, 3), ("c1", 4, 7), ("c2", 8, 20)] and found.complete


def test_a_remembered_lineage_that_does_not_fit_is_looked_up_again(home):
    chain(home, 3)
    right = trace(home, "c2")
    good = as_state(right)

    def but(**changed):
        return {**good, **changed}

    segments = good["segments"]
    for cached in (
        None,
        3,
        "text",
        {},
        [],
        but(complete=False),
        but(segments=[]),
        but(segments=[["c0", "", 0, 3], ["c1", "", 4, 6], segments[2]]),
        but(segments=[["c0", "", 0, 2], ["c1", "", 4, 7], segments[2]]),
        but(segments=[["c0", "", 0, 3], ["unknown", "", 4, 7], segments[2]]),
        but(segments=[["c0", "", 0, 3], ["../brain/c1", "", 4, 7], segments[2]]),
        but(segments=[["c0", "", 0, 3], ["c0", "", 4, 7], segments[2]]),
        but(segments=[["c0", "", 0, 3], ["c1", "", "4", 7], segments[2]]),
        but(segments=[["c0", "", 0, 3], None, segments[2]]),
        but(segments=[["c0", "", 7, 3], ["c1", "", 4, 7], segments[2]]),
        but(segments=[segments[2]]),
    ):
        assert ranges(trace(home, "c2", cached=cached)) == ranges(right)


def test_a_remembered_path_leads_nowhere_else(home, tmp_path):
    chain(home, 2)
    cached = as_state(trace(home, "c1"))
    cached["segments"][0][1] = "/etc/passwd"
    assert trace(home, "c1", cached=cached).segments[0].path == str(home.logs("c0") / "transcript_full.jsonl")


@pytest.mark.parametrize(
    "rows",
    [
        [["c0", 0, 3], ["c1", 4, 7]],
        [["c1", "/path", 4, 7], ["c0", "/path", 0, 3]],
        [{"session": "c0", "min_step": 0, "max_step": 3}, {"conversation_id": "c1", "first": 4, "last": 7}],
    ],
)
def test_the_older_scripts_ancestors_are_taken_over(home, rows, monkeypatch):
    chain(home, 3)
    expected = ranges(trace(home, "c2"))
    forbid_walks(home, monkeypatch)
    assert ranges(trace(home, "c2", cached=rows)) == expected


# -- many


def test_two_thousand_siblings_are_each_probed_at_most_once(home, monkeypatch):
    for n in range(2000):
        home.write(f"s{n:04}", talk(0, n % 7, time_s=START_S - 1000 - n))
    chain(home, 4)
    place = place_of(home, "c3")
    probed = []
    one, many = scan.probe, scan.probe_many
    monkeypatch.setattr(scan, "probe", lambda path: probed.append(str(path)) or one(path))
    monkeypatch.setattr(scan, "probe_many", lambda paths, **more: probed.extend(paths) or many(paths, **more))
    began = time.perf_counter()
    assert ranges(lineage.trace(place)) == [("c0", 0, 3), ("c1", 4, 7), ("c2", 8, 11), ("c3", 12, 15)]
    assert time.perf_counter() - began < 5
    assert 2003 <= len(probed) == len(set(probed)) <= 2005


def test_f16_only_the_newest_of_very_many_are_looked_at_and_that_is_said(home, monkeypatch):
    monkeypatch.setattr(lineage, "LISTED", 10)
    for n in range(30):
        os.utime(home.write(f"s{n:02}", talk(0, 3)), (START_S + n, START_S + n))
    home.write("child", talk(4, 5))
    found = trace(home, "child")
    assert found.segments[0].session == "s20"
    assert "the 10 written last" in found.why[0]


def test_candidates_that_cannot_win_are_not_searched(home, monkeypatch):
    for n in range(200):
        home.write(f"s{n:03}", talk(0, 12, time_s=START_S + n % 50))
    home.write("zparent", talk(0, 9, time_s=START_S + 99))
    home.write("child", talk(10, 12, time_s=START_S + 100))
    searched = []
    real = scan.probe_candidates

    def counted(paths, step, *, slack=0):
        searched.extend(paths)
        return real(paths, step, slack=slack)

    monkeypatch.setattr(scan, "probe_candidates", counted)
    assert parent_of(home, "child") == "zparent"
    assert len(searched) == lineage.BATCH


def test_of_siblings_that_may_win_ever_more_are_read_on_by_one_call(home, monkeypatch):
    monkeypatch.setattr(lineage, "WINDOW_BYTES", 0)  # so that each could hold step 9 ahead of what its probe saw
    for n in range(60):
        home.write(f"s{n:02}", talk(0, 8))
    home.write("parent", talk(0, 12))  # it goes on, so it comes last
    home.write("child", talk(10, 12, time_s=START_S + 20))
    calls = []
    real = scan.probe_candidates

    def counted(paths, step, *, slack=0):
        calls.append(len(paths))
        return real(paths, step, slack=slack)

    monkeypatch.setattr(scan, "probe_candidates", counted)
    assert parent_of(home, "child") == "parent"
    assert calls == [8, 16, 32, 5]


def test_the_answer_does_not_depend_on_the_order_of_the_folder(home, monkeypatch):
    for n in range(100):
        home.write(f"s{n:02}", [*talk(0, 9), record(10 + n % 3, "X")])
    home.write("child", talk(10, 12, time_s=START_S + 20))
    expected = ranges(trace(home, "child"))
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: sorted(real(path), reverse=True))
    assert ranges(trace(home, "child")) == expected
    assert expected[0][0] == min(Path(p).name for p in real(home.app / "brain") if p.startswith("s"))
