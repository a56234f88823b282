"""Finding a session and going on with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rehydrate
from rehydrate.session.archive import import_session
from rehydrate.session.copies import branch, fork
from rehydrate.session.errors import NotASession
from rehydrate.session.log import SessionLog
from rehydrate.session.messages import assistant, result, user
from rehydrate.session.place import Place, key_of
from rehydrate.session.reading import Session
from rehydrate.session.resume import CONTINUE, Sessions, interruption_of, restore
from rehydrate.session.wire import CLOSING
from tests.entries.making import call, chat, text
from tests.session.making import roles, uuids, write_session

OPEN_IT = """
import sys
from rehydrate.session import Place, SessionLog, user
with SessionLog(Place.of(sys.argv[1]), cwd="/") as log:
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def cwd(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return str(folder)


@pytest.fixture
def sessions(tmp_path):
    return Sessions(str(tmp_path / "root"))


@pytest.fixture
def begun(sessions, cwd):
    """Begins a session with these entries; its place."""
    count = iter(range(1, 100))

    def begin(*entries, cwd=cwd):
        with sessions.new(cwd) as log:
            log.append_durable(list(entries) or [user("Go.")])
        os.utime(log.path, ns=(0, next(count) * 10**9))
        return log.place

    return begin


@pytest.fixture
def resume(sessions):
    """Resumes sessions, and closes them at the end of the test."""
    made = []

    def go_on(place, **more):
        made.append(sessions.resume(place, **more))
        return made[-1]

    yield go_on
    for each in made:
        each.close()


@pytest.fixture
def held():
    """Lets another process have a session open."""
    processes = []

    def hold(place):
        environ = {**os.environ, "PYTHONPATH": str(Path(rehydrate.__file__).parent.parent)}
        held = subprocess.Popen(
            [sys.executable, "-c", OPEN_IT, place.path], stdin=-1, stdout=-1, env=environ, text=True
        )
        processes.append(held)
        assert held.stdout.readline() == "open\n"

    yield hold
    for each in processes:
        each.communicate()


# -- which one ------------------------------------------------------------------------------------------------------


def test_the_latest_is_the_one_written_last_in_a_folder(sessions, begun, cwd, tmp_path):
    assert sessions.latest(cwd) is None
    begun()
    last = begun()
    begun(cwd=str(tmp_path))
    assert sessions.latest(cwd) == last
    assert len(sessions.all()) == 3 and sessions.all(cwd=cwd)[0] == last


def test_a_session_begun_in_a_relative_folder_is_the_latest_there_wherever_it_is_asked_for(
    sessions, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with sessions.new("work") as log:
        log.append_durable(user("hello"))
    monkeypatch.chdir("/")
    assert sessions.latest(str(tmp_path / "work")) == log.place


def test_a_session_of_a_folder_with_the_same_key_is_not_the_latest(sessions, begun, tmp_path):
    one, two = tmp_path / "a-b", tmp_path / "a" / "b"
    for folder in (one, two):
        folder.mkdir(parents=True)
    assert key_of(str(one)) == key_of(str(two))
    mine = begun(cwd=str(one))
    begun(cwd=str(two))
    assert sessions.latest(str(one)) == mine


@pytest.mark.parametrize("how", ["fork", "branch", "import"])
def test_a_session_made_of_another_one_is_the_latest_of_the_folder_it_was_made_for(sessions, begun, cwd, tmp_path, how):
    place, tree, other = begun(user("Go.")), str(tmp_path / "tree"), str(tmp_path / "other")
    with SessionLog(place, cwd=tree) as log:  # where it has got to since
        log.append(assistant("Yes."))
    wanted = cwd if how == "branch" else other
    with Session.open(place.path) as session:
        if how == "fork":
            with fork(session, cwd=other) as made:
                made.append(user("On."))
        elif how == "branch":
            made = branch(session)
            os.unlink(place.path)
        else:
            import_session(place.path, root=sessions.root, cwd=other)
    assert len(sessions.all(cwd=wanted)) == 1
    assert sessions.latest(wanted) is not None
    assert sessions.latest(tree) is None


def test_what_holds_no_conversation_is_not_the_latest(sessions, begun, cwd):
    place = begun()
    folder = Path(place.path).parent
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "garbage.jsonl").write_bytes(b"garbage\n")
    (folder / "titled.jsonl").write_bytes(b'{"type":"custom-title","customTitle":"T","sessionId":"titled"}\n')
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to(place.path)
    assert sessions.latest(cwd) == place


@pytest.mark.skipif(sys.platform == "win32", reason="nobody is known to be there")
def test_a_session_that_another_process_has_open_is_not_the_latest(sessions, begun, held, cwd):
    first, last = begun(), begun({"type": "custom-title", "customTitle": "Mine"}, user("Go."))
    held(last)
    assert sessions.latest(cwd) == first
    with pytest.raises(NotASession):
        sessions.find("Mine")
    assert sessions.find(last.session_id) == last


@pytest.mark.skipif(sys.platform == "win32", reason="nobody is known to be there")
def test_who_else_has_a_session_open_is_told(begun, held, resume):
    place = begun()
    assert resume(place).others == ()
    held(place)
    assert [each.kind for each in resume(place).others] == ["interactive"]


def test_a_session_that_this_process_has_open_can_be_the_latest(sessions, begun, resume, cwd):
    place = begun()
    resume(place)
    assert sessions.latest(cwd) == place


def test_a_session_is_found_by_path_id_and_title(sessions, begun):
    place = begun({"type": "custom-title", "customTitle": "Mine"}, user("Go."))
    begun()
    for name in (place.path, place.session_id, "Mine", " mine "):
        assert sessions.find(name) == place


def test_of_several_with_a_title_the_one_written_last_is_found(sessions, begun):
    begun(user("Same."))
    last = begun(user("Same."))
    assert sessions.find("Same.") == last


@pytest.mark.parametrize("name", ["nothing", "", "../x", "a\0b", "\ud800"])
def test_a_name_of_nothing_is_an_error(sessions, begun, name):
    begun()
    with pytest.raises(NotASession, match="no session"):
        sessions.find(name)


def test_a_path_that_no_session_has_is_an_error(sessions, tmp_path):
    (tmp_path / "x.txt").write_bytes(b"x")
    with pytest.raises(NotASession, match=r"x\.txt"):
        sessions.find(str(tmp_path / "x.txt"))


def test_the_log_of_a_subagent_is_no_session(sessions, begun, cwd):
    place = begun(user("Go."), {**user("Look."), "agentId": "1"})
    beside = os.path.join(os.path.dirname(place.path), "agent-1.jsonl")  # where older clients have it
    os.link(place.agent_path("1"), beside)
    assert sessions.all() == sessions.all(cwd=cwd) == [place] and sessions.latest(cwd) == place
    for path in (beside, place.agent_path("1")):
        with pytest.raises(NotASession):
            sessions.find(path)
        with pytest.raises(NotASession):
            import_session(path, root=sessions.root)


def test_a_session_is_found_by_its_title_where_another_file_has_that_name(sessions, begun, tmp_path, monkeypatch):
    place = begun({"type": "custom-title", "customTitle": "notes"}, user("Go."))
    (tmp_path / "notes").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    assert sessions.find("notes") == place


# -- going on -------------------------------------------------------------------------------------------------------


def test_a_session_goes_on_in_its_own_file_behind_its_end(begun, resume):
    place = begun(user("One."), assistant("Two."))
    resumed = resume(place)
    last = resumed.session.leaf
    resumed.log.append_durable(user("Three."))
    with Session.open(place.path) as session:
        assert session.messages[session.leaf]["parentUuid"] == last
        assert [message["content"] for message in session.view("wire")][-1] == "Three."


@pytest.mark.parametrize("at", ["u-2", "msg_2"])
def test_a_session_goes_on_from_where_it_is_asked_to(begun, resume, at):
    rows = [user("1", uuid="u-1"), assistant("2", uuid="u-2", message={"id": "msg_2"}), user("3", uuid="u-3")]
    place = begun(*rows)
    resumed = resume(place, at=at)
    assert uuids(resumed.view) == ["u-1", "u-2"] and len(resumed.wire) == 2
    new = resumed.log.append_durable(user("4"))
    with Session.open(place.path) as session:
        assert uuids(session.view("active")) == ["u-1", "u-2", new]


def test_to_go_on_from_nowhere_is_an_error_and_leaves_nothing_open(sessions, begun):
    place = begun()
    with pytest.raises(LookupError):
        sessions.resume(place, at="lost")
    assert not os.path.exists(place.live_folder) or os.listdir(place.live_folder) == []


def test_to_go_on_with_nothing_is_an_error(sessions, tmp_path):
    with pytest.raises(FileNotFoundError):
        sessions.resume(Place(str(tmp_path), "k", "s"))


def test_the_log_that_is_left_is_closed_first_with_all_that_it_held(sessions, begun, resume, cwd):
    left = sessions.new(cwd)
    left.append(user("Waits."))
    resume(begun(), leaving=left)
    with Session.open(left.path) as session:
        assert session.title == "Waits."
    with pytest.raises(ValueError, match="closed"):
        left.append(user("x"))


def test_a_session_can_be_left_for_itself(sessions, resume, cwd):
    left = sessions.new(cwd)
    left.append(user("Go."))
    assert resume(left.place, leaving=left).session.title == "Go."


# -- the last turn --------------------------------------------------------------------------------------------------

ASKED = user("Do it.", uuid="a")
CALLED = assistant([text("Hm."), call("1")], uuid="b")
ANSWERED = user([result("1", "ok")], uuid="r")


def test_a_turn_that_came_to_its_end_was_not_interrupted(begun, resume):
    resumed = resume(begun(ASKED, assistant("Done.")))
    assert resumed.interruption is None
    assert roles(resumed.wire) == [("u", "Do it."), ("a", "Done.")]


def test_a_request_without_an_answer_is_an_interrupted_prompt(begun, resume):
    resumed = resume(begun(ASKED))
    interrupted = resumed.interruption
    assert (interrupted.was, interrupted.prompt["uuid"], interrupted.is_written) == ("prompt", "a", True)
    assert roles(resumed.wire) == [("u", "Do it.")]


def test_an_interruption_is_told_of_a_session_that_nobody_goes_on_with(begun):
    place = begun(user("Go.", uuid="u"))
    with Session.open(place.path) as session:
        found = interruption_of(session)
    assert (found.was, found.prompt["uuid"], found.calls) == ("prompt", "u", ())
    assert not os.listdir(place.live_folder)


def test_an_unfinished_answer_becomes_a_prompt_that_says_to_go_on(begun, resume):
    place = begun(ASKED, CALLED, ANSWERED)
    resumed = resume(place)
    interrupted = resumed.interruption
    assert (interrupted.was, interrupted.is_written, interrupted.calls) == ("turn", False, ())
    assert roles(resumed.wire) == [("u", "Do it."), ("a", "Hm. 1?"), ("u", f"1! {CONTINUE}")]
    resumed.log.append_durable(interrupted.prompt)
    with Session.open(place.path) as session:
        assert list(session.view("wire")) == resumed.wire


def test_a_turn_that_is_interrupted_once_more_is_told_to_go_on_once(begun, resume):
    place = begun(ASKED, CALLED, ANSWERED)
    first = resume(place)
    first.log.append_durable(first.interruption.prompt)
    again = resume(place).interruption
    assert (again.was, again.is_written, again.prompt["uuid"]) == ("turn", True, first.interruption.prompt["uuid"])


def test_a_call_that_waits_is_told_and_not_sent(begun, resume):
    calls = assistant([text("Hm."), call("1"), call("2")], uuid="b")
    resumed = resume(begun(ASKED, calls, ANSWERED))
    assert [each.id for each in resumed.interruption.calls] == ["2"]
    assert roles(resumed.wire)[1] == ("a", "Hm. 1?")


def test_what_the_user_interrupted_is_closed_and_not_gone_on_with(begun, resume):
    place = begun(ASKED, CALLED)
    with resume(place).log as log:
        log.abort("escape")
    resumed = resume(place)
    assert resumed.interruption is None
    assert roles(resumed.wire)[-1] == ("a", CLOSING)


@pytest.mark.parametrize("answer", [assistant("Done.", uuid="b"), CALLED])
def test_a_view_that_is_to_end_at_an_answer_was_not_interrupted(begun, resume, answer):
    assert resume(begun(ASKED, answer, ANSWERED, user("More.")), at="b").interruption is None


def test_a_call_at_the_end_without_a_result_is_an_interrupted_turn(begun, resume):
    resumed = resume(begun(ASKED, assistant([call("1")], uuid="b")))
    assert (resumed.interruption.was, [each.id for each in resumed.interruption.calls]) == ("turn", ["1"])
    assert roles(resumed.wire) == [("u", f"Do it. {CONTINUE}")]


# -- what the host had set ------------------------------------------------------------------------------------------

SET = [
    {"type": "mode", "mode": "plan"},
    {"type": "permission-mode", "permissionMode": "ask"},
    {"type": "agent-setting", "agentSetting": "reviewer"},
    {"type": "pr-link", "prNumber": 7, "prUrl": "https://example.org/7", "prRepository": "a/b", "sessionId": "s"},
    {"type": "custom-title", "customTitle": "Mine"},
    {"type": "tag", "tag": "red"},
    {"type": "cost", "costUsd": 1.5},
]


def restored(tmp_path, *rows, **more):
    with Session.open(write_session(tmp_path / "s.jsonl", *rows, *chat("a", "b"))) as session:
        return restore(session, **more)


def test_what_the_host_had_set_is_restored(tmp_path):
    found = restored(tmp_path, *SET)
    assert (found.mode, found.permission_mode, found.agent, found.title) == ("plan", "ask", "reviewer", "Mine")
    assert (found.tag, found.cost_usd) == ("red", 1.5)
    assert found.pr == {"prNumber": 7, "prUrl": "https://example.org/7", "prRepository": "a/b"}


def test_what_was_not_set_is_none(tmp_path):
    found = restored(tmp_path)
    assert {found.mode, found.permission_mode, found.agent, found.pr, found.tag, found.cost_usd} == {None}


@pytest.mark.parametrize("row", SET[:3], ids=lambda row: row["type"])
def test_what_the_host_does_not_know_is_dropped_and_told(tmp_path, row):
    found = restored(tmp_path, *SET, modes=["other"], agents=["other"])
    assert (found.mode, found.permission_mode, found.agent) == (None, None, None)
    assert any(row["type"] in each for each in found.dropped)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "mode", "mode": 3},
        {"type": "tag", "tag": ["x"]},
        {"type": "custom-title", "customTitle": {}},
        {"type": "agent-setting", "agentSetting": {}},
        {"type": "pr-link", "prUrl": 3},
        {"type": "pr-link", "prUrl": "https://example.org/7", "prNumber": "seven"},
        {"type": "pr-link", "prNumber": 7},
        {"type": "worktree-state", "worktreeSession": 3},
        {"type": "worktree-state", "worktreeSession": {"worktreePath": ["x"]}},
        {"type": "cost", "costUsd": "much"},
        {"type": "cost", "costUsd": True},
        {"type": "cost", "costUsd": -1},
        {"type": "cost", "costUsd": 10**4000},
    ],
    ids=lambda row: f"{row!s:.60}",
)
def test_a_value_that_can_be_none_is_dropped_and_told(tmp_path, row):
    found = restored(tmp_path, row)
    assert {found.mode, found.tag, found.agent, found.pr, found.cost_usd, found.worktree} == {None}
    assert any(row["type"] in each for each in found.dropped)


def test_work_goes_on_in_the_worktree(tmp_path, cwd):
    state = {"worktreePath": cwd, "originalCwd": str(tmp_path)}
    found = restored(tmp_path, {"type": "worktree-state", "worktreeSession": state})
    assert (found.cwd, found.worktree, found.dropped) == (cwd, state, ())


def test_where_the_worktree_is_gone_that_is_said_and_work_goes_on_in_the_parent_folder(tmp_path, cwd):
    gone = os.path.join(cwd, "trees", "x")
    state = {"worktreePath": gone, "originalCwd": cwd}
    found = restored(tmp_path, {"type": "worktree-state", "worktreeSession": state})
    assert (found.cwd, found.worktree) == (cwd, None)
    assert found.dropped == (f"The worktree {gone} is gone: work goes on in {cwd}.",)


def test_where_the_folder_of_the_worktree_is_gone_too_the_nearest_that_is_there_is_taken(tmp_path, cwd):
    state = {"worktreePath": os.path.join(cwd, "x", "y"), "originalCwd": "/gone/too"}
    assert restored(tmp_path, {"type": "worktree-state", "worktreeSession": state}).cwd == cwd


def test_a_worktree_that_was_left_is_none(tmp_path, cwd):
    rows = [{"type": "worktree-state", "worktreeSession": each} for each in ({"worktreePath": cwd}, None)]
    assert restored(tmp_path, *rows).worktree is None


def test_where_the_folder_is_gone_that_is_said(tmp_path):
    (said,) = restored(tmp_path).dropped
    assert said.startswith("The folder /srv/project is gone: work goes on in /")


NO_FOLDERS = ["/a\0b", "a" * 5_000, "/a" * 3_000, "/a" * 500_000, "/\x1b[2J\n"]


@pytest.mark.parametrize("folder", NO_FOLDERS, ids=lambda folder: ascii(folder)[:20])
def test_where_a_file_names_what_can_be_no_folder_work_goes_on_in_one_that_is_there(tmp_path, folder):
    tree = {"type": "worktree-state", "worktreeSession": {"worktreePath": folder, "originalCwd": folder}}
    for rows in ([tree], [user("Go.", uuid="z", cwd=folder)]):
        with Session.open(write_session(tmp_path / "s.jsonl", *chat("a", "b"), *rows)) as session:
            found = restore(session)
        assert os.path.isdir(found.cwd) and found.worktree is None
        assert [len(each) < 1_000 for each in found.dropped] == [True]


@pytest.mark.parametrize("folder", NO_FOLDERS, ids=lambda folder: ascii(folder)[:20])
def test_a_session_that_was_begun_in_what_can_be_no_folder_is_found_where_it_lies(sessions, begun, cwd, folder):
    place = begun()
    other = Place(place.root, place.key, "other")
    Path(other.path).write_text(json.dumps({**user("Go.", uuid="z", parentUuid=None), "cwd": folder}) + "\n")
    assert {*sessions.all(cwd=cwd)} == {place, other} and sessions.latest(cwd) in (place, other)


def test_the_log_works_in_the_restored_folder(begun, resume, cwd, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    place = begun({"type": "worktree-state", "worktreeSession": {"worktreePath": str(tree)}}, user("Go."))
    resumed = resume(place, git_branch="side")
    uuid = resumed.log.append_durable(assistant("Yes."))
    with Session.open(place.path) as session:
        assert (session.messages[uuid]["cwd"], session.messages[uuid]["gitBranch"]) == (str(tree), "side")
