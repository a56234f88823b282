"""Sessions that begin with what another one has said: branches and forks."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rehydrate.clients.claude_code import layout, lineage, transcript
from rehydrate.session import DamagedLine, NotASession, Place, SessionError, SessionLog, assistant, result, user
from rehydrate.session.copies import branch, fork
from rehydrate.session.line import bare, check
from rehydrate.session.reading import Session
from tests.entries.strategies import records as odd_records
from tests.session.conftest import records, said

DATA = Path(__file__).parents[1] / "data" / "claude-code"
REAL = sorted(path for path in DATA.glob("*/*.jsonl") if path.name != "hooks.jsonl")
VIEWS = ("scrollback", "active", "wire")
COPIED = ("sessionId", "parentUuid", "logicalParentUuid", "forkedFrom", "seq", "crc")


def call(name, **given):
    return {"type": "tool_use", "id": name, "name": "Bash", "input": given}


def seen(path, *, at=None):
    """What its views show, less what a copy has of its own."""
    with Session.open(path) as session:
        return {
            kind: [{k: v for k, v in record.items() if k not in COPIED} for record in session.view(kind, at=at)]
            for kind in VIEWS
        }


def uuids_of(path):
    return [each["uuid"] for each in records(path) if isinstance(each.get("uuid"), str)]


@pytest.fixture
def log(make_log):
    return make_log()


def branched(log, at=None):
    """The path of a branch of a session."""
    log.flush()
    with Session.open(log.path) as session:
        return branch(session, at=at).path


def forked(log, **more):
    log.flush()
    with Session.open(log.path) as session:
        return fork(session, **more)


def test_a_branch_goes_up_to_an_entry(log):
    at = log.append([user("one"), assistant("two")])
    log.append([user("three"), assistant("four")])
    path = branched(log, at)
    assert said(path) == ["one", [{"type": "text", "text": "two"}]]
    assert os.path.dirname(path) == os.path.dirname(log.path)


def test_a_branch_without_a_place_goes_to_the_end(log):
    log.append([user("one"), assistant("two")])
    assert len(said(branched(log))) == 2


def test_a_branch_can_be_named_by_an_answer(log):
    log.append([user("one"), assistant("two", message={"id": "msg_2"}), user("three")])
    assert len(said(branched(log, "msg_2"))) == 2


def test_every_entry_of_a_branch_tells_which_one_it_was(log):
    log.append([user("one"), assistant("two")])
    path = branched(log)
    head, *copies = records(path)[:3]
    assert head["type"] == "session"
    for copy in copies:
        assert copy["forkedFrom"] == {"sessionId": log.session_id, "messageUuid": copy["uuid"]}
        assert copy["sessionId"] == head["sessionId"] == Place.of(path).session_id != log.session_id


def test_the_bytes_of_an_entry_that_nothing_has_to_change_in_stay(log):
    log.append({**user("one"), "n": 123456789012345678901234567890, "f": 0.1})
    theirs = bare(Path(log.path).read_bytes().splitlines()[1]) if log.flush() is None else b""
    path = branched(log)
    copy = bare(Path(path).read_bytes().splitlines()[1])
    own = Place.of(path).session_id.encode()
    assert copy.startswith(theirs.replace(log.session_id.encode(), own)[:-1] + b',"forkedFrom":')


def test_what_was_said_about_the_session_and_dead_branches_are_left_out(log):
    first = log.append([user("one")])
    log.append([{"type": "tag", "tag": "x"}, assistant("dead")])
    log.append({**assistant("live"), "parentUuid": first})
    types = [each["type"] for each in records(branched(log))]
    assert types == ["session", "user", "assistant", "custom-title"]


def test_sidechains_are_left_out(log):
    log.append([user("one"), {**user("aside"), "isSidechain": True}, assistant("two")])
    assert said(branched(log)) == ["one", [{"type": "text", "text": "two"}]]


@pytest.mark.parametrize(
    ("title", "expected"),
    [("A plan", "A plan (branch)"), ("A plan (branch)", "A plan (branch 2)"), ("x (branch 9)", "x (branch 10)")],
)
def test_the_title_says_that_it_is_a_branch(log, title, expected):
    log.append([user("one"), {"type": "custom-title", "customTitle": title}])
    with Session.open(branched(log)) as session:
        assert session.title == expected


def test_what_stands_in_the_place_of_results_comes_along(log):
    at = log.append([user("one"), assistant([call("c1")]), user([result("c1", "long")])])
    late = log.append([assistant([call("c2")]), user([result("c2", "long, too")])])
    log.replace_content([{"messageUuid": at, "toolUseId": "c1", "replacement": "short"}])
    log.replace_content([{"messageUuid": late, "toolUseId": "c2", "replacement": "of what is not copied"}])
    path = branched(log, at)
    assert seen(path)["wire"][-1]["content"][0]["content"] == "short"
    assert "of what is not copied" not in Path(path).read_text()


def test_a_result_that_lies_in_a_file_of_the_source_is_still_named_there(log):
    at = log.append([user("one"), assistant([call("c1")]), user([result("c1", "long")])])
    log.replace_content([{"messageUuid": at, "toolUseId": "c1"}])
    path = branched(log, at)
    assert f"{log.session_id}/tool-results/c1" in seen(path)["wire"][-1]["content"][0]["content"]


def test_an_entry_that_was_taken_back_is_not_copied_and_what_followed_it_follows_the_one_before(log):
    first = log.append([user("one")])
    gone = log.append(assistant("gone"))
    last = log.append(user("two"))
    log.retract(gone)
    path = branched(log, last)
    assert uuids_of(path) == [first, last]
    assert records(path)[2]["parentUuid"] == first


def test_a_compaction_is_one_in_the_branch_too(log):
    log.append([user("one"), assistant("two")])
    kept = log.append([user("kept"), assistant("word for word")])
    log.compact("a summary", trigger="manual", preserve=[kept])
    last = log.append([user("three"), assistant("four")])
    path = branched(log, last)
    assert seen(path) == seen(log.path, at=last)
    assert seen(path)["wire"][0]["content"] == "a summary"


def test_what_a_compaction_kept_of_another_branch_comes_along(log):
    other = log.append(user("on another branch"))
    log.append({**user("one"), "parentUuid": None})
    log.compact("a summary", trigger="manual", preserve=[other])
    last = log.append(user("two"))
    path = branched(log, last)
    assert seen(path) == seen(log.path, at=last)
    assert "on another branch" in json.dumps(seen(path)["wire"])


def test_what_a_compaction_kept_and_was_taken_back_since_stays_out(log):
    kept = [log.append(user(text)) for text in ("one", "two", "three")]
    log.compact("a summary", trigger="manual", preserve=kept)
    log.retract(kept[1])
    last = log.append(user("four"))
    path = branched(log, last)
    assert seen(path) == seen(log.path, at=last)
    assert "three" in json.dumps(seen(path)["wire"]) and "two" not in json.dumps(seen(path)["wire"])


def test_a_branch_shows_nothing_before_a_compaction_where_the_only_message_was_taken_back(log):
    other = log.append(user("on another branch"))
    gone = log.append({**user("one"), "parentUuid": None})
    log.compact("a summary", trigger="manual", preserve=[other])
    log.retract(gone)
    path = branched(log, last := log.append(user("two")))
    assert seen(path) == seen(log.path, at=last)
    assert "on another branch" not in json.dumps(seen(path)["scrollback"])


def test_a_branch_of_a_compaction_without_its_summary_is_one_too(log):
    kept = log.append([user("one"), assistant("two")])
    log.compact("in short", trigger="manual", preserve=[kept])
    lines = Path(log.path).read_bytes().splitlines(keepends=True)
    Path(log.path).write_bytes(b"".join(lines[:-1]))
    assert seen(branched(log)) == seen(log.path)


def test_a_boundary_goes_on_from_the_line_of_descent_whatever_it_kept(log):
    first = log.append(user("zero"))
    other = log.append(user("on another branch"))
    gone = log.append({**user("one"), "parentUuid": first})
    log.compact("a summary", trigger="manual", preserve=[other])
    log.retract(gone)
    path = branched(log, log.append(user("two")))
    assert [each["logicalParentUuid"] for each in records(path) if each.get("logicalParentUuid")] == [first]


def test_an_entry_that_leads_past_a_compaction_follows_what_it_follows_in_the_views(log):
    before = log.append([user("one"), assistant("two")])
    log.compact("a summary", trigger="manual")
    summary = log.tip
    last = log.append({**assistant("three"), "parentUuid": before})
    path = branched(log, last)
    assert [each["parentUuid"] for each in records(path) if each.get("uuid") == last] == [summary]
    assert seen(path) == seen(log.path, at=last)


def test_what_was_taken_out_of_the_middle_is_out_of_it_in_the_branch(log):
    middle = log.append([user("one"), assistant("two")])
    log.append([user("three"), assistant("four")])
    log.snip([middle])
    last = log.append(user("five"))
    path = branched(log, last)
    assert seen(path) == seen(log.path, at=last)
    assert middle in uuids_of(path)


def test_results_of_calls_made_at_once_come_along(log):
    asked = log.append([user("one"), assistant([call("a"), call("b")], message={"id": "m"})])
    log.append([{**user([result("a", "A")]), "parentUuid": asked}, {**user([result("b", "B")]), "parentUuid": asked}])
    last = log.append(assistant("done"))
    assert seen(branched(log, last)) == seen(log.path, at=last)


def test_results_that_came_late_and_on_another_branch_come_along(log):
    first = log.append(user("one"))
    log.append([assistant([call("a")]), assistant([call("b")], message={"id": "m"})])
    at = log.append(user("never mind"))
    log.append({**user("again"), "parentUuid": first})
    log.append_durable([user([result("b", "B")]), user([result("a", "A")])])
    expected = seen(log.path, at=at)
    assert seen(branched(log, at), at=at) == expected
    assert [message["content"][0].get("tool_use_id") for message in expected["wire"][2::2]] == ["a", "b"]


def test_what_follows_an_entry_that_leads_past_a_compaction_and_was_taken_back_undoes_nothing(log):
    call_b = log.append([user("one"), assistant([call("a")]), assistant([call("b")])])
    log.compact("in short", trigger="auto")
    log.append({**user([result("a", "A")]), "parentUuid": call_b})
    gone = log.append({**user([result("b", "B")]), "parentUuid": call_b})
    last = log.append(user("two"))
    log.retract(gone)
    path = branched(log)
    assert seen(path) == seen(log.path, at=last)
    assert "in short" in json.dumps(seen(path)["wire"])


def test_a_branch_of_a_branch_comes_from_the_branch(log):
    log.append([user("one"), assistant("two")])
    first = branched(log)
    with Session.open(first) as session:
        second = branch(session).path
    assert {each["forkedFrom"]["sessionId"] for each in records(second)[1:3]} == {Place.of(first).session_id}
    assert Path(second).read_bytes().count(b'"forkedFrom"') == 2


def test_the_file_that_is_copied_is_not_written_to(log):
    log.append([user("one"), assistant("two")])
    log.flush()
    before = Path(log.path).read_bytes()
    branched(log)
    assert Path(log.path).read_bytes() == before


def test_a_place_that_is_not_there_is_refused(log):
    log.append(user("one"))
    with pytest.raises(LookupError):
        branched(log, "nowhere")
    assert len(list(Path(log.path).parent.glob("*.jsonl"))) == 1


def test_a_session_without_a_word_has_no_branch(place):
    Path(place.path).parent.mkdir(parents=True)
    Path(place.path).write_text('{"type":"session","format":1,"sessionId":"x"}\n')
    with Session.open(place.path) as session, pytest.raises(NotASession):
        branch(session)


def test_a_subagents_log_has_no_branch(log, place):
    log.append([user("one"), {**user("look"), "agentId": "a1"}])
    log.flush()
    with Session.open(place.agent_path("a1")) as session, pytest.raises(SessionError) as told:
        branch(session)
    assert told.value.path == place.agent_path("a1")


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}-{path.name[:4]}")
def test_a_branch_of_a_real_transcript_shows_what_it_shows(path, tmp_path):
    (tmp_path / "-w").mkdir()
    source = tmp_path / "-w" / path.name
    source.write_bytes(path.read_bytes())
    with Session.open(str(source)) as session:
        tip = session.leaf
        found = branch(session, at=tip).path
    assert seen(found) == seen(str(source), at=tip)
    assert all(check(line) for line in Path(found).read_bytes().splitlines())


def test_the_client_of_claude_code_follows_a_branch_to_its_source(tmp_path):
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)}
    place = Place(str(tmp_path / "projects"), "-w", "11111111-1111-4111-8111-111111111111")
    with SessionLog(place, cwd="/w") as log:
        at = log.append([user("one"), assistant("two")])
        log.append([user("three"), assistant("four")])
    with Session.open(place.path) as session:
        made = branch(session, at=at)
    with SessionLog(made, cwd="/w") as log:
        last = log.append([user("five"), assistant("six")])
    found = layout.find(environ, made.session_id)
    traced = lineage.trace(found)
    assert [(each.session, each.max_step) for each in traced.segments] == [
        (place.session_id, at),
        (made.session_id, last),
    ]
    read = transcript.read(found, traced.segments, boundary=None)
    assert [turn.text for turn in read.turns] == ["one", "two", "five", "six"]


def test_a_compaction_that_follows_what_is_not_copied_follows_nothing_in_the_copy(tmp_path):
    place = Place(str(tmp_path), "-w", "source")
    Path(place.path).parent.mkdir()
    aside = {"type": "user", "uuid": "a", "parentUuid": None, "isSidechain": True, "message": None}
    mark = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": "a"}
    Path(place.path).write_text("".join(json.dumps(row) + "\n" for row in (aside, mark)))
    with Session.open(place.path) as session:
        copied = next(row for row in records(branch(session).path) if row.get("uuid") == "b")
    assert copied["parentUuid"] is None


@settings(max_examples=150, deadline=None)
@given(st.lists(odd_records, min_size=1, max_size=14))
def test_a_branch_of_any_tree_holds_its_line_of_descent_once(tmp_path_factory, rows):
    place = Place(str(tmp_path_factory.mktemp("any")), "-w", "source")
    Path(place.path).parent.mkdir()
    Path(place.path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        session = Session.open(place.path)
    except NotASession:
        return
    with session:
        tip = session.leaf
        if tip is None:
            return
        end = session.log.at(tip)
        expected = [session.log.entries[index].uuid for index in session.found("scrollback", tip=end).entries]
        made = branch(session)
    assert uuids_of(made.path) == expected
    rows = records(made.path)
    known = {each["uuid"] for each in rows if "uuid" in each}
    assert all(each["parentUuid"] in known for each in rows if isinstance(each.get("parentUuid"), str))


# -- forks


def test_a_fork_is_not_on_disk_before_its_first_message(log):
    log.append([user("one"), assistant("two")])
    with forked(log) as made:
        made.append({"type": "mode", "mode": "plan"})
        made.flush()
        assert not os.path.exists(made.path)
    assert not os.path.exists(made.path)


def test_a_fork_begins_with_the_old_messages(log):
    at = log.append([user("one"), assistant("two")])
    with forked(log) as made:
        made.append({"type": "mode", "mode": "plan"})
        made.append_durable(user("three"))
    types = [each["type"] for each in records(made.path)]
    assert types == ["session", "user", "assistant", "mode", "user"]
    assert records(made.path)[-1]["parentUuid"] == at
    assert records(made.path)[1]["forkedFrom"]["sessionId"] == log.session_id
    assert {each["sessionId"] for each in records(made.path)} == {made.session_id}


def test_a_fork_is_of_the_moment_when_it_was_made(log):
    log.append([user("one"), assistant("two")])
    with forked(log) as made:
        log.append_durable([user("later"), assistant("still later")])
        made.append_durable(user("three"))
    assert said(made.path)[-1] == "three"
    assert "later" not in Path(made.path).read_text()


def test_a_fork_outlives_its_source(log):
    log.append([user("one"), assistant("two")])
    with forked(log) as made:
        os.unlink(log.path)
        made.append_durable(user("three"))
    assert len(said(made.path)) == 3


def test_old_messages_that_a_fork_is_given_are_not_written_twice(log):
    log.append([user("one"), assistant("two")])
    log.flush()
    old = records(log.path)[1:]
    with forked(log) as made:
        made.append([*old, user("three")])
        made.append([*old, *records(log.path)[1:]])
    assert len(said(made.path)) == 3
    assert records(made.path)[3]["parentUuid"] == old[-1]["uuid"]


def test_a_fork_leaves_the_old_file_alone(log):
    log.append([user("one"), assistant("two")])
    log.flush()
    before = Path(log.path).read_bytes()
    with forked(log) as made:
        made.append_durable(user("three"))
    assert Path(log.path).read_bytes() == before


def test_what_stands_in_the_place_of_results_is_so_in_a_fork(log):
    at = log.append([user("one"), assistant([call("c1")]), user([result("c1", "long")])])
    log.replace_content([{"messageUuid": at, "toolUseId": "c1", "replacement": "short"}])
    with forked(log) as made:
        made.append_durable(assistant("two"))
    assert seen(made.path)["wire"][2]["content"][0]["content"] == "short"


def test_a_fork_can_be_of_an_earlier_moment_and_work_elsewhere(log):
    at = log.append([user("one")])
    log.append(assistant("two"))
    with forked(log, at=at, cwd="/else") as made:
        made.append_durable(assistant("another"))
    assert said(made.path) == ["one", [{"type": "text", "text": "another"}]]
    assert records(made.path)[-1]["cwd"] == "/else"
    assert Place.of(made.path).key == "-else"


def test_a_fork_leaves_the_worktree_to_the_session(log, place):
    log.append(user("one"))
    log.flush()
    state = {"type": "worktree-state", "worktreeSession": {"worktreePath": "/tree", "originalCwd": "/srv/project"}}
    with SessionLog(place, cwd="/tree") as in_it:
        in_it.append([state, assistant("two")])
    with forked(log) as made:
        made.append_durable(user("three"))
    rows = records(made.path)
    assert [each["type"] for each in rows] == ["session", "user", "assistant", "user"]
    assert rows[-1]["cwd"] == "/srv/project"


def test_a_fork_that_cannot_be_written_keeps_nothing_and_can_be_tried_again(log, monkeypatch):
    log.append([user("one"), assistant("two")])
    with forked(log) as made:
        with monkeypatch.context() as patch:
            patch.setattr("rehydrate.session.whole.os.rename", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
            with pytest.raises(OSError, match="full"):
                made.append_durable(user("three"))
        assert not os.path.exists(made.path)
        made.append_durable(user("three"))
    assert len(said(made.path)) == 3


# -- whatever the session has been through

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["user", "user", "answer", "answer", "calls", "results", "rewind", "retract", "snip", "compact"]
        ),
        st.integers(0, 30),
        st.booleans(),
    ),
    min_size=1,
    max_size=16,
)


def play(log, steps):
    """A session of any course; the uuids of its messages, and of those that were taken back."""
    uuids, gone, open_calls = [], set(), []
    for at, (step, number, is_odd) in enumerate(steps):
        named = uuids[number % len(uuids)] if uuids else None
        if step in ("rewind", "retract", "snip", "compact") and named is None:
            continue
        if step == "user":
            uuids.append(log.append(user(f"ask {at}")))
        elif step == "answer":
            uuids.append(log.append(assistant(f"answer {at}", message={"id": f"m{at}"})))
        elif step == "calls":
            open_calls = [f"c{at}{each}" for each in "ab"]
            uuids += [log.append(assistant([call(each)], message={"id": f"m{at}"})) for each in open_calls]
        elif step == "results" and open_calls:
            parent = {} if is_odd else {"parentUuid": uuids[-1]}
            uuids += [log.append({**user([result(each, each)]), **parent}) for each in open_calls]
            open_calls = []
        elif step == "rewind":
            uuids.append(log.append({**user(f"again {at}"), "parentUuid": named}))
        elif step == "retract":
            log.retract(named)
            gone.add(named)
        elif step == "snip":
            log.snip([named])
        elif step == "compact":
            log.compact(f"summary {at}", trigger="auto", preserve=[named] if is_odd else [])
    return uuids, gone


@settings(max_examples=120, deadline=None)
@given(STEPS, st.integers(0, 30))
def test_a_branch_shows_what_the_session_showed_there(tmp_path_factory, steps, number):
    assume(not has_results_behind_a_compaction(steps))
    assert_branch_shows_the_same(tmp_path_factory, steps, number)


@pytest.mark.parametrize(
    ("steps", "number"),
    [
        (["user", "user", "calls", "user", "snip", "user", "user", "results"], 26),
        (["user", "user", "calls", "answer", "user", "results", "calls", "user", "results"], 6),
    ],
)
def test_late_results_stand_in_a_branch_where_they_stood(tmp_path_factory, steps, number):
    given = [(step, 15 if step == "snip" else 0, False) for step in steps]
    assert_branch_shows_the_same(tmp_path_factory, given, number)


def has_results_behind_a_compaction(steps):
    """Whether a compaction comes between calls and their results."""
    before = [None, *(step for step, _, _ in steps if step in ("calls", "results", "compact"))]
    return any(step == "results" and last == "compact" for last, step in pairwise(before))


def assert_branch_shows_the_same(tmp_path_factory, steps, number):
    place = Place(str(tmp_path_factory.mktemp("any")), "-w", "source")
    with SessionLog(place, cwd="/w") as log:
        uuids, gone = play(log, [("user", 0, False), *steps])
    at = uuids[number % len(uuids)]
    if at in gone:
        return
    with Session.open(place.path) as session:
        made = branch(session, at=at)
    expected = seen(place.path, at=at)
    if expected["scrollback"]:
        assert seen(made.path, at=expected["scrollback"][-1]["uuid"]) == expected


@pytest.mark.parametrize("change", ["cut", "blanks", "gone"])
def test_of_a_file_that_is_changed_meanwhile_no_copy_is_made(log, place, change):
    for number in range(20):
        log.append(user(f"number {number} " + "x" * 200))
    log.flush()
    with Session.open(log.path) as session, fork(session) as made:
        if change == "blanks":
            with open(log.path, "r+b") as file:
                file.write(b" " * 3_000)
        else:
            os.truncate(log.path, 3_000 if change == "cut" else 0)
        for copy in (lambda: branch(session), lambda: made.append(user("more"))):
            with pytest.raises(DamagedLine) as raised:
                copy()
            assert raised.value.path == log.path and raised.value.offset is not None
    assert [name for name in os.listdir(place.root) if name.startswith(".")] == []
    assert len(os.listdir(os.path.dirname(log.path))) == 2  # its file and its folder
