from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.conversation import Agent
from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from rehydrate.entries.view import full_view
from rehydrate.transcripts import kept
from tests.entries.making import assistant, attachment, boundary, call, chat, result, summary, text, user
from tests.entries.strategies import records as records_of_any_shape
from tests.entries.strategies import told as notes_of_any_shape
from tests.helpers import dump, needs_native_backend, write_lines


@pytest.fixture
def keep(tmp_path):
    """What is kept of a transcript with these records."""

    def read(*records):
        found = kept.Kept()
        with Log(write_lines(tmp_path / "a.jsonl", records)) as log:
            scope = Scope(log)
            found.add(scope, full_view(scope).entries, segment=0, own=True)
        return found

    return read


def worked(count):
    """A request and so many calls, each with its result."""
    records = chat("a")
    for at in range(count):
        parent = records[-1]["uuid"]
        records.append(assistant(f"b{at}", parent, call(f"t{at}", command="make")))
        records.append(result(f"r{at}", f"b{at}", f"t{at}", words=f"{at} tests failed"))
    return records


def test_what_it_already_has_from_a_younger_file_is_passed_over(tmp_path):
    found = kept.Kept()
    with Log(write_lines(tmp_path / "a.jsonl", chat("a", "b", "c"))) as log:
        found.add(Scope(log), [1, 2], segment=1, own=True)
        found.add(Scope(log), [0, 1], segment=0, own=False)
    assert [(turn.step, turn.segment) for turn in found.turns()] == [("a", 0), ("b", 1), ("c", 1)]


def test_old_results_are_not_looked_at_once_enough_is_noted(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", 25)
    (_, *answers) = keep(*worked(4)).turns()
    assert [each.calls[0].noted for each in answers] == [(), (), (), ("3 tests failed",)]
    assert not any(each.calls[0].pending for each in answers)


def test_an_old_result_that_says_more_is_read_all_the_same(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    blocks = [*result("r", "b", "1")["message"]["content"], text("And go on.")]
    records = [*chat("a"), assistant("b", "a", call("1", command="make")), user("c", "b", blocks)]
    assert [turn.text for turn in keep(*records).turns() if turn.role == "user"] == ["Do it.", "And go on."]


@pytest.mark.parametrize("said", ["toolUseResult", '"toolUseResult":', "toolUseResult: 1"])
def test_an_old_result_that_is_the_name_of_a_member_hides_nothing_behind_it(keep, monkeypatch, said):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    results = [{"type": "tool_result", "tool_use_id": "1", "content": said}]
    results.append({"type": "tool_result", "tool_use_id": "2", "content": "ok"})
    called = assistant("b", "a", call("1", command="make"), call("2", command="ls"))
    found = keep(*chat("a"), called, user("c", "b", [*results, text("Go on.")]))
    assert [turn.text for turn in found.turns() if turn.role == "user"] == ["Do it.", "Go on."]
    assert [each.pending for turn in found.turns() for each in turn.calls] == [False, False]


def test_an_old_error_is_told_all_the_same(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    records = [*chat("a"), assistant("b", "a", call("1", command="make")), result("r", "b", "1", error=True)]
    assert keep(*records).turns()[-1].calls[0].failed


def test_an_old_agent_is_told_all_the_same(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    told = {"isAsync": True, "agentId": "x", "description": "Look"}
    records = [*chat("a"), assistant("b", "a", call("1", "Agent")), result("r", "b", "1", toolUseResult=told)]
    assert keep(*records).agents() == (Agent("Agent", "Look", "x"),)


def test_old_answers_are_not_sifted_once_enough_was(keep, monkeypatch):
    monkeypatch.setattr(kept, "SIFTED_CHARS", 1)
    said = text("We decided to use port 8080 because 80 is taken.")
    turns = keep(user("a", None), assistant("b", "a", said), assistant("c", "b", said)).turns()
    assert [bool(turn.noted) for turn in turns] == [False, False, True]


def test_a_text_that_was_let_go_of_keeps_its_calls(keep, monkeypatch):
    monkeypatch.setattr(kept, "TEXT_CHARS", 5)
    old = assistant("b", "a", text("Making."), call("1", command="make"))
    turns = keep(*chat("a"), old, result("r", "b", "1"), assistant("c", "r", text("Made."))).turns()
    assert [(turn.text, len(turn.calls)) for turn in turns[1:]] == [(None, 1), ("Made.", 0)]


@pytest.fixture(params=["a look", "read"])
def far(request, monkeypatch):
    """One answer is read; what lies further back is passed over by a look at it, or after reading it."""
    monkeypatch.setattr(kept, "READ_RECORDS", 1)
    if request.param == "read":
        monkeypatch.setattr(kept, "_FAR", bytes(256))
        looked = kept.Log.__init__

        def unseen(log, path):
            looked(log, path)
            log.signs = bytes(sign | kept.Sign.UNSEEN for sign in log.signs)

        monkeypatch.setattr(kept.Log, "__init__", unseen)


def test_every_request_is_kept_however_far_back(keep, far):
    asked = result("q", "r", "t1")
    asked["message"]["content"].append(text("And never push."))
    queued = attachment("p", "q", "queued_command", prompt="Stay.")
    records = [user("a", None, "Go."), *worked(2)[1:], {**asked, "parentUuid": "r1"}, queued]
    found = keep(*records, assistant("y", "p", id="m"), assistant("z", "y", id="m"))
    assert [turn.text for turn in found.turns() if turn.role == "user"] == ["Go.", "And never push.", "Stay."]


def test_each_file_touched_far_back_is_kept_once_with_its_last_touch(keep, far):
    def touch(uuid, parent, tool, path):
        return assistant(uuid, parent, call(f"t{uuid}", tool, file_path=path))

    old = [touch("b", "a", "Edit", "/x"), touch("c", "b", "Read", "/y"), touch("d", "c", "Write", "/x")]
    found = keep(user("a", None), *old, touch("e", "d", "Read", "/n"), touch("f", "e", "Edit", "/n"))
    assert [(each.path, each.kind, each.step) for each in found.touches()] == [
        ("/y", "read", "c"),
        ("/x", "modified", "d"),
        ("/n", "modified", "f"),
    ]
    assert not any(tool.pending for turn in found.turns()[:-1] for tool in turn.calls)


def test_the_dialogue_ends_where_answers_were_not_read(keep, far):
    turns = keep(*chat("a", "b", "c", "d", "e", "f")).turns()
    assert [(turn.step, turn.text) for turn in turns] == [
        ("a", "Do it."), ("c", "Do it."), ("d", None), ("e", "Do it."), ("f", "Done."),
    ]  # fmt: skip


def test_that_answers_were_passed_over_is_told(keep, far):
    (note,) = keep(*chat("a", "b", "c", "d", "e", "f")).notes()
    assert (
        note == "Of the 2 oldest records of answers only the files that they name were taken, and what may still run."
    )


@pytest.mark.parametrize("stopped", [False, True])
def test_what_was_started_far_back_still_runs_unless_it_was_stopped(keep, far, stopped):
    started = result("r", "b", "1", toolUseResult={"backgroundTaskId": "x"})
    stop = assistant("s", "r", call("2", "KillShell", shell_id="x") if stopped else call("2"))
    found = keep(
        *chat("a"), assistant("b", "a", call("1", command="serve")), started, stop, *chat("t", "u", parent="s")
    )
    assert [each.id for each in found.agents()] == ([] if stopped else ["x"])


def test_sentences_are_looked_for_before_the_newest_compaction_however_much_was_said_after_it(keep, monkeypatch):
    monkeypatch.setattr(kept, "SIFTED_CHARS", 1)
    said = text("We decided to use port 8080 because 80 is taken.")
    records = [user("a", None), assistant("b", "a", said), boundary("c", logical="b"), summary("d", "c")]
    turns = keep(*records, assistant("e", "d", said), assistant("f", "e", said)).turns()
    assert [bool(turn.noted) for turn in turns if turn.role == "assistant"] == [True, False, True]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(records_of_any_shape, max_size=14), st.integers(0, 3))
def test_a_look_spares_nothing_that_reading_would_keep(rows, read):
    def everything(unseen):
        found = kept.Kept()
        with Log(path) as log:
            if unseen:
                log.signs = bytes(sign | kept.Sign.UNSEEN | kept.Sign.ASIDE for sign in log.signs)
            scope = Scope(log)
            found.add(scope, full_view(scope).entries, segment=0, own=True)
        return found.turns(), found.touches(), found.compacted(), found.agents(), found.notes()

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "READ_RECORDS", read)
        path = f"{folder}/a.jsonl"
        with open(path, "wb") as file:
            file.write(b"".join(dump(row) + b"\n" for row in rows))
        assert everything(unseen=False) == everything(unseen=True)


@needs_native_backend
@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["Bash", "Read", "Edit", "Task"]), notes_of_any_shape)
def test_the_notes_on_a_result_say_the_same_where_only_some_of_them_are_decoded(tool, told):
    def everything(can_split):
        found = kept.Kept()
        with Log(path) as log, pytest.MonkeyPatch.context() as patch:
            patch.setattr("rehydrate.entries.log._CAN_SPLIT", can_split)
            scope = Scope(log)
            entries = full_view(scope).entries
            log._records.clear()  # so near the end all of it was decoded already
            found.add(scope, entries, segment=0, own=True)
        return found.turns(), found.touches(), found.agents()

    used = call("t", tool, file_path="/a", command="make")
    brought = result("c", "b", "t", words="3 tests failed", toolUseResult=told)
    with TemporaryDirectory() as folder:
        path = write_lines(Path(folder, "a.jsonl"), [*chat("a"), assistant("b", "a", used), brought])
        assert everything(can_split=True) == everything(can_split=False)
