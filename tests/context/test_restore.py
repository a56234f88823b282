"""A log as a model is to see it: after a restart, a rewind, a copy, an import, and damage."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rehydrate.context import restore as restoring
from rehydrate.context.checkpoint import commit
from rehydrate.context.restore import restore
from rehydrate.session import (
    NewerVersion,
    NotASession,
    Place,
    Session,
    SessionLog,
    Sessions,
    assistant,
    branch,
    export,
    fork,
    import_records,
    import_session,
    result,
    user,
)
from rehydrate.session import window as windows
from rehydrate.session.line import sealed
from tests.entries import making

from .logs import SUMMARY, checkpoint_of, compact, talk, view
from .test_restore_properties import narrow, raw_checkpoint, written

HANGS_S = 60


def lines_of(path):
    return Path(path).read_bytes().splitlines(keepends=True)


def whole(path, at=None):
    with Session.open(path) as session:
        return restoring._read(session, at, start=0)


# -- what it gives ----------------------------------------------------------------------------------------------------


def test_without_a_checkpoint_it_is_all_that_was_said(log):
    uuids = talk(log, "one", "two")
    found = restore(log.path)
    assert view(found) == ["one", "one!", "two", "two!"]
    assert (found.checkpoint, found.boundary, found.newest, found.tip) == (None, None, None, uuids[-1])
    assert found.session_id == log.session_id and found.end == os.path.getsize(log.path)


def test_t47_after_a_restart_it_is_what_it_was_before(log, open_log):
    talk(log, "one", "two", "three")
    compact(log)
    talk(log, "four")
    before = restore(log.path)
    log.close()
    open_log()
    assert restore(log.path) == before
    assert view(before) == [SUMMARY, "three", "three!", "four", "four!"]


def test_t06_superseded_boundaries_and_their_summaries_render_as_nothing(log):
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    talk(log, "one")
    log.append([user("look"), assistant([call], message={"id": "m"})])
    for number in range(3):  # each keeps the open call
        compact(log, keep=2, text=f"summary {number}")
    log.append_durable(user([result("c1", "README.md")]))
    found = restore(log.path)
    assert view(found) == ["summary 2", "look", "tool_use", "README.md"]
    assert [entry["type"] for entry in found.entries] == ["user", "assistant", "user"]


def test_a_compaction_without_a_checkpoint_tells_its_summary_itself(log):
    uuids = talk(log, "one", "two")
    mark = log.compact("by hand", trigger="manual", preserve=uuids[-1:])
    talk(log, "three")
    found = restore(log.path)
    assert (found.checkpoint, found.boundary, found.newest) == (None, mark, mark)
    assert view(found) == ["by hand", "two!", "three", "three!"]


def test_of_a_compaction_by_another_writer_whose_summary_was_torn_off_the_boundary_tells_it(log):
    talk(log, "one")
    log.compact("by hand", trigger="manual")
    log.close()
    Path(log.path).write_bytes(b"".join(lines_of(log.path)[:-1]))
    assert view(restore(log.path)) == ["by hand"]


def test_what_was_taken_out_or_back_or_replaced_is_so_in_it(log):
    talk(log, "one", "two")
    compact(log)
    gone = talk(log, "three")
    failed = log.append(assistant("half"))
    log.append([assistant([making.call("c1")], message={"id": "m"}), user([result("c1", "long")], uuid="r1")])
    log.snip(gone)
    log.retract(failed)
    log.replace_content([{"messageUuid": "r1", "toolUseId": "c1", "kind": "prune", "replacement": "short"}])
    log.append_durable(user("four", toolUseResult={"large": 1}))
    found = restore(log.path)
    assert view(found)[1:] == ["two", "two!", "tool_use", "short", "four"]
    assert list(found.replacements) == [("r1", "c1")] and "toolUseResult" not in found.entries[-1]
    source = next(each for each in found.sources if each["uuid"] == "r1")
    assert source["message"]["content"][0]["content"] == "long"


def test_prune_decisions_about_what_a_checkpoint_keeps_hold_after_it(log):
    talk(log, "one")
    log.append([assistant([making.call("c1")], message={"id": "m"}), user([result("c1", "long")], uuid="r1")])
    log.replace_content([{"messageUuid": "r1", "toolUseId": "c1", "kind": "prune", "replacement": "short"}])
    compact(log)
    assert view(restore(log.path)) == [SUMMARY, "tool_use", "short"]


def test_what_an_engine_has_recorded_since_is_in_it(log):
    log.append({"type": "context-ledger", "n": 1})
    talk(log, "one", "two")
    assert [each["n"] for each in restore(log.path).records] == [1]
    log.append({"type": "context-ledger", "n": 2})
    compact(log)
    log.append([{"type": "context-pin", "n": 3}, {"type": "custom-title", "customTitle": "T"}])
    log.append({"type": "compaction-attempt", "n": 4})
    log.flush()
    assert [each["n"] for each in restore(log.path).records] == [2, 3, 4]


def test_it_can_end_with_an_entry_or_an_answer(log):
    uuids = talk(log, "one", "two", "three")
    compact(log)
    talk(log, "four")
    assert view(restore(log.path, at="msg-four")) == [SUMMARY, "three", "three!", "four", "four!"]
    assert view(restore(log.path, at=uuids[1])) == ["one", "one!"]
    with pytest.raises(LookupError):
        restore(log.path, at="nobody")


def test_a_log_that_is_not_there_holds_nothing_but_no_entry_is_found_in_it(log):
    assert restore(log.path).entries == ()
    with pytest.raises(FileNotFoundError):
        restore(log.path, at="u1")


@pytest.mark.parametrize("begun", [b"", b'{"type":"session","for'])
def test_a_log_whose_writer_was_killed_as_it_began_holds_nothing(place, open_log, begun):
    os.makedirs(os.path.dirname(place.path))
    Path(place.path).write_bytes(begun)
    assert (restore(place.path).entries, restore(place.path).tip) == ((), None)
    with open_log() as log:
        talk(log, "one")
    assert view(restore(place.path)) == ["one", "one!"]


def test_what_is_no_log_is_refused(tmp_path):
    (tmp_path / "notes.jsonl").write_text("hello\n")
    with pytest.raises(NotASession):
        restore(str(tmp_path / "notes.jsonl"))


def test_a_file_of_a_later_version_is_refused_though_only_its_end_is_read(log, monkeypatch):
    talk(log, "one")
    compact(log, keep=1)
    log.close()
    lines = lines_of(log.path)
    head = json.loads(lines[0])
    lines[0] = sealed(json.dumps({**head, "format": 2}).encode(), 1)
    Path(log.path).write_bytes(b"".join(lines))
    narrow(monkeypatch)
    with pytest.raises(NewerVersion):
        restore(log.path)


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_of_compactions_in_a_row_that_each_keep_something_no_more_than_what_the_newest_kept_is_read(log, monkeypatch):
    """What the older ones have kept stands before that, and nothing goes by it."""
    narrow(monkeypatch)
    for number in range(12):
        talk(log, f"{number}", f"{number} again")
        compact(log, keep=3)
    found = restore(log.path)
    behind = Path(log.path).read_bytes()[found.start :].splitlines()
    assert found == replace(whole(log.path), start=found.start)
    assert found.start > 0 and len(behind) <= 8


class Reading:
    """Counts the bytes that are read of a file."""

    def __init__(self, patch):
        self.bytes = 0
        real = windows._read

        def read(fd, start, end):
            found = real(fd, start, end)
            self.bytes += len(found)
            return found

        patch.setattr(windows, "_read", read)


@pytest.mark.parametrize("words", [100, 1_000])
def test_what_came_before_a_checkpoint_is_not_read(log, monkeypatch, words):
    talk(log, *(f"word {number} " + "x" * 1_000 for number in range(words)))
    compact(log, keep=6)
    talk(log, "after")
    reading = Reading(monkeypatch)
    found = restore(log.path)
    size = os.path.getsize(log.path)
    assert size - found.start < 2 * windows.MARGIN_BYTES and reading.bytes < 40 * windows.MARGIN_BYTES
    assert view(found)[0] == SUMMARY and len(found.entries) == 8


def test_what_a_checkpoint_keeps_from_far_back_is_found(log):
    uuids = talk(log, *(f"word {number} " + "x" * 1_000 for number in range(300)))
    restored = restore(log.path)
    made = checkpoint_of(restored, len(restored.entries) - 2)
    commit(log, made, summary="s", preserve=uuids[300:301], expect=None)
    found = restore(log.path)
    assert found.start > 0 and len(found.entries) == 3 and found.entries[0]["uuid"] == uuids[300]


# -- going elsewhere --------------------------------------------------------------------------------------------------


@pytest.fixture
def twice(log):
    """Compacted twice: the uuids of what was said before, between and after."""
    before = talk(log, "one", "two")
    compact(log, text="first")
    between = talk(log, "three", "four")
    compact(log, text="second")
    after = talk(log, "five")
    return before, between, after


@pytest.mark.parametrize("is_narrow", [True, False])
def test_a_rewind_past_a_checkpoint_reinstates_the_older_one(log, twice, monkeypatch, is_narrow):
    if is_narrow:
        narrow(monkeypatch)
    _, between, _ = twice
    newest = restore(log.path).newest
    log.append_durable(user("rather so", parentUuid=between[1]))
    found = restore(log.path)
    assert view(found) == ["first", "two", "two!", "three", "three!", "rather so"]
    assert found.newest == newest != found.boundary
    compact(log, text="third")
    assert view(restore(log.path)) == ["third", "three!", "rather so"]


def test_a_rewind_past_both_brings_back_what_was_said(log, twice):
    before, _, _ = twice
    log.append_durable(user("rather so", parentUuid=before[0]))
    found = restore(log.path)
    assert (view(found), found.checkpoint) == (["one", "rather so"], None)


def copied(log, kind, at):
    with Session.open(log.path) as session:
        if kind == "branch":
            return branch(session, at=at).path
        with fork(session, at=at, cwd="/") as forked:
            forked.append_durable(user("asked in the fork"))
            return forked.path


@pytest.mark.parametrize("kind", ["branch", "fork"])
def test_t48_a_copy_has_the_newest_checkpoint_at_or_before_its_point_and_the_same_view(log, twice, kind):
    before, between, after = twice
    for at in (None, before[0], before[-1], between[0], between[-1], *after):
        path = copied(log, kind, at)
        here, there = restore(log.path, at=at), restore(path)
        more = ["asked in the fork"] if kind == "fork" else []
        if kind == "fork" and at in (before[-1], between[-1]):
            continue  # what is asked behind an entry that a compaction kept comes after that compaction
        assert view(there) == view(here) + more
        assert there.checkpoint == here.checkpoint
        assert there.session_id != here.session_id


@pytest.mark.parametrize("kind", ["branch", "fork"])
def test_t49_a_copy_of_a_copy_has_the_same_view_and_goes_on_with_compactions(log, twice, kind):
    path = copied(log, kind, None)
    with SessionLog(Place.of(path), cwd="/") as other:
        talk(other, "six")
        _, made = compact(other, text="third")
        assert made.parent == restore(log.path).checkpoint.id
    again = copied(other, "branch", None)
    assert view(restore(again)) == ["third", "six", "six!"]
    assert restore(log.path) == whole(log.path) and view(restore(log.path))[0] == "second"


def test_a_copy_at_an_entry_that_a_checkpoint_keeps_is_of_the_time_before_it(log, twice):
    _, between, _ = twice
    path = copied(log, "branch", between[-1])
    assert view(restore(path))[0] == "first"


def test_an_archive_taken_in_elsewhere_has_the_same_view(log, twice, tmp_path):
    log.close()
    export(log.path, str(tmp_path / "talk.zip"))
    report = import_session(str(tmp_path / "talk.zip"), root=str(tmp_path / "elsewhere"))
    assert view(restore(report.path)) == view(restore(log.path))


def test_a_transcript_of_another_program_can_be_compacted_like_ones_own(tmp_path, monkeypatch):
    rows = [*making.chat("u1", "a1", "u2", "a2"), making.boundary("b1", logical="a2"), making.summary("s1", "b1")]
    rows += [*making.chat("u3", "a3", "u4", "a4", parent="s1")]
    source = written(str(tmp_path), rows, seals=False)
    data = Path(source).read_bytes().replace(b'{"type": "session", "format": 1, "sessionId": "s"}\n', b"", 1)
    Path(source).write_bytes(data)
    report = import_session(source, root=str(tmp_path / "root"), cwd="/srv")
    with SessionLog(Place.of(report.path), cwd="/srv") as log:
        assert view(restore(log.path)) == ["What came before, in short.", "Do it.", "Done.", "Do it.", "Done."]
        compact(log)
        talk(log, "on")
    narrow(monkeypatch)
    found = restore(log.path)
    assert view(found) == [SUMMARY, "Do it.", "Done.", "on", "on!"]
    assert view(whole(log.path)) == view(found)


def test_what_was_read_from_elsewhere_can_be_compacted_like_ones_own(tmp_path):
    records = [user("one"), assistant("two"), user("three"), assistant("four")]
    report = import_records(records, root=str(tmp_path), cwd="/srv")
    with SessionLog(Place.of(report.path), cwd="/srv") as log:
        _, made = compact(log)
    assert (made.from_seq, made.through_seq) == (2, 3)
    assert view(restore(log.path)) == [SUMMARY, "three", "four"]


def test_a_session_found_again_goes_on_behind_its_checkpoint(tmp_path):
    sessions = Sessions(str(tmp_path / "root"))
    with sessions.new(str(tmp_path)) as log:
        talk(log, "one", "two")
        compact(log)
    with sessions.resume(log.place) as resumed:
        talk(resumed.log, "three")
    assert view(restore(log.path)) == [SUMMARY, "two", "two!", "three", "three!"]


# -- damage -----------------------------------------------------------------------------------------------------------


def hurt(path, wanted, change):
    """Change the last line in which a word stands; where it begins."""
    lines = lines_of(path)
    number = max(number for number, line in enumerate(lines) if wanted in line)
    offset = sum(map(len, lines[:number]))
    lines[number] = change(lines[number])
    Path(path).write_bytes(b"".join(lines))
    return offset


def zeroed(line):
    return b"\0" * len(line)


def flipped(line):
    return line.replace(b"second", b"seconD")


@pytest.mark.parametrize("is_narrow", [True, False])
def test_t44_what_lies_in_a_run_of_nul_is_passed_over_counted_and_named(log, twice, monkeypatch, is_narrow):
    log.close()
    if is_narrow:
        narrow(monkeypatch)
    hurt(log.path, b'"content":"five"', lambda line: b"\0" * (len(line) - 1) + b"\n")
    found = restore(log.path)
    assert view(found) == view(whole(log.path)) and found.checkpoint is not None
    assert "five!" in view(found) and "five" not in view(found)
    offset = hurt(log.path, b'"five!"', lambda line: line[:40] + b"\0" * (len(line) - 41) + b"\n")
    found = restore(log.path)
    assert (found.damaged, [each.offset for each in found.damage]) == (1, [offset])
    assert f"the line at byte {offset} of {log.path} is no record" in str(found.damage[0])
    assert found.checkpoint is not None and view(found)[:3] == ["second", "four", "four!"]


@pytest.mark.parametrize("is_narrow", [True, False])
def test_where_the_newest_checkpoint_is_not_what_was_written_the_one_before_it_counts_and_that_is_told(
    log, twice, monkeypatch, is_narrow
):
    log.close()
    if is_narrow:
        narrow(monkeypatch)
    mark = restore(log.path).boundary
    hurt(log.path, b"compact_boundary", flipped)
    found = restore(log.path)
    words = [word for each in ("two", "three", "four", "five") for word in (each, f"{each}!")]
    assert view(found) == ["first", *words]
    assert [uuid for uuid, _ in found.bad] == [mark] and "not what was written" in found.bad[0][1]
    assert (found.newest, found.damaged) == (mark, 0)
    with SessionLog(log.place, cwd="/") as again:
        compact(again, text="third")
    assert view(restore(log.path)) == ["third", "five", "five!"] and not restore(log.path).bad


def test_nor_does_one_count_of_whose_line_anything_else_is_not_what_was_written(log, twice):
    log.close()
    hurt(log.path, b"compact_boundary", lambda line: line.replace(b'"trigger":"manual"', b'"trigger":"manuaL"'))
    found = restore(log.path)
    assert view(found)[0] == "first" and "the line of the checkpoint" in found.bad[0][1]


def test_where_all_checkpoints_are_damaged_everything_is_there(log, twice):
    log.close()
    data = Path(log.path).read_bytes().replace(b'"strategy":"fallback"', b'"strategy":"fallbacK"')
    Path(log.path).write_bytes(data)
    found = restore(log.path)
    words = [word for each in ("one", "two", "three", "four", "five") for word in (each, f"{each}!")]
    assert (view(found), len(found.bad)) == (words, 2)


def test_where_the_line_of_a_checkpoint_is_gone_nothing_that_was_said_is(log, twice):
    log.close()
    hurt(log.path, b"compact_boundary", zeroed)
    said = view(restore(log.path))
    assert said[0] == "first" and {"three", "three!", "four", "four!", "five", "five!"} <= set(said)


def test_where_what_a_checkpoint_keeps_is_damaged_the_one_before_it_counts(log, twice):
    log.close()
    hurt(log.path, b'"content":"four"', zeroed)
    found = restore(log.path)
    assert view(found)[0] == "first" and "which is not there" in found.bad[0][1]
    assert {"three!", "four!", "five", "five!"} <= set(view(found))


def test_t45_a_torn_end_is_no_part_of_it_and_what_is_appended_stands_behind_it(log, twice):
    log.close()
    before = restore(log.path)
    with open(log.path, "ab") as file:
        file.write(b'{"type":"user","uuid":"torn","message":{"role":"us')
    found = restore(log.path)
    assert (view(found), found.end) == (view(before), before.end)
    with SessionLog(log.place, cwd="/") as again:
        talk(again, "six")
    assert view(restore(log.path)) == [*view(before), "six", "six!"]


@pytest.mark.parametrize("row", [b'{"type":"user","uuid":"bad"', b"no JSON", b"[1]", b"\xff\xfe", b""])
def test_t45_one_bad_row_takes_nothing_else_with_it(log, twice, row):
    log.close()
    before = view(restore(log.path))
    at = hurt(log.path, b'"content":"five"', lambda line: row + b"\n" + line)
    found = restore(log.path)
    assert view(found) == before and found.checkpoint is not None
    assert [each.offset for each in found.damage] == ([at] if row else [])
    raw = Path(log.path).read_bytes()
    with SessionLog(log.place, cwd="/") as again:
        talk(again, "six")
    assert view(restore(log.path)) == [*before, "six", "six!"]
    assert Path(log.path).read_bytes().startswith(raw)


def test_a_checkpoint_of_a_later_version_does_not_count(tmp_path):
    rows = [*making.chat("u1", "a1"), making.boundary("b1", logical="a1", checkpoint=raw_checkpoint("x", version=9))]
    found = restore(written(str(tmp_path), [*rows, making.summary("s1", "b1"), making.user("u2", "s1", "on")]))
    assert view(found) == ["Do it.", "Done.", "on"] and "version 9" in found.bad[0][1]


# -- two of them ------------------------------------------------------------------------------------------------------

COMMITTER = """
import sys
from rehydrate.context.errors import Superseded
from rehydrate.context.restore import restore
from rehydrate.session import Place, SessionLog
from tests.context.logs import checkpoint_of
from rehydrate.context.checkpoint import commit
log = SessionLog(Place.of(sys.argv[1]), cwd="/")
restored = restore(log.path)
print("ready", flush=True)
sys.stdin.readline()
made = checkpoint_of(restored, len(restored.entries) - 2, sys.argv[2])
try:
    commit(log, made, summary=sys.argv[2], preserve=[], expect=restored.newest, restored=restored)
    print("committed")
except Superseded:
    print("superseded")
log.close()
"""


def test_of_several_processes_that_commit_at_once_one_wins_and_the_others_write_nothing(log):
    talk(log, "one", "two")
    log.close()
    names = [f"summary {number}" for number in range(4)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", COMMITTER, log.path, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        for name in names
    ]
    for each in started:
        assert each.stdout.readline() == "ready\n"
    said = []
    for each in started:
        each.stdin.write("\n")
        each.stdin.flush()
    for each in started:
        said.append(each.communicate(timeout=HANGS_S)[0].strip())
    assert sorted(said) == ["committed", "superseded", "superseded", "superseded"]
    assert view(restore(log.path)) == [names[said.index("committed")], "two", "two!"]
    assert Path(log.path).read_bytes().count(b'"subtype":"compact_boundary"') == 1
