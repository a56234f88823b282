"""`rehydrate session`: one's own sessions looked at, checked, branched, packed and taken in."""

import json
import os
import shutil
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.session import Place, Session, SessionLog, assistant, result, user
from tests.cli.test_completion import offered, values
from tests.entries.strategies import records as odd_records
from tests.helpers import DATA

ID = "5e551000-0000-4000-8000-000000000001"
CALL = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}


@pytest.fixture
def place(shell):
    return Place(str(shell.folder / "root"), "-srv-work", ID)


@pytest.fixture
def talk(place):
    """A session with a branch, a tool, an agent, and a last request that nobody has answered; its path."""
    with SessionLog(place, cwd="/srv/work") as log:
        log.append({"type": "custom-title", "customTitle": "The list"})
        log.append([user("What is here?", uuid="u1"), assistant([CALL], uuid="a1", message={"id": "m1"})])
        log.append([user([result("c1", "README.md")], uuid="r1"), assistant("One file.", uuid="a2")])
        log.append(user("Never mind.", uuid="x1", parentUuid="a1"))
        log.append(user("Read it.", uuid="u2", parentUuid="a2"))
        log.append(user("Look around.", agentId="helper"))
    return place.path


def told(shell, *words, status=0):
    done = shell.run("session", *words, "--json")
    assert (done.status, done.err) == (status, "")
    return done.json


def change(path, old, new):
    with open(path, "rb") as file:
        data = file.read()
    assert data.count(old) == 1
    with open(path, "wb") as file:
        file.write(data.replace(old, new))


def lines_of(path):
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


class TestShow:
    def test_the_state_stands_above_the_view(self, shell, talk):
        done = shell.run("session", "show", talk)
        assert (done.status, done.err) == (0, "")
        state, _, said = done.out.partition("\n\n")
        assert state.splitlines()[0] == "The list"
        facts = dict(line.split(None, 1) for line in state.splitlines()[1:])
        assert facts == {
            "session": ID,
            "file": f"~/root/-srv-work/{ID}.jsonl",
            "folder": "/srv/work",
            "entries": "6",
            "branches": "x1; u2 (the conversation)",
            "agents": "helper",
            "interrupted": "a request has no answer",
            "view": "scrollback, 5 records",
        }
        assert '  ls({"path": "."})\n' in said and "  result of c1: README.md\n" in said
        assert said.index("What is here?") < said.index("One file.") < said.index("Read it.")
        assert "Never mind." not in said

    @pytest.mark.parametrize(("view", "count"), [("scrollback", 5), ("active", 5), ("wire", 5), ("raw", 8)])
    def test_each_view_is_what_the_library_gives(self, shell, talk, view, count):
        found = told(shell, "show", talk, "--view", view)["view"]
        with Session.open(talk) as session:
            assert found["records"] == list(session.view(view))
        assert (found["kind"], len(found["records"])) == (view, count)

    def test_a_view_ends_where_it_is_asked_to(self, shell, talk):
        by_uuid = told(shell, "show", talk, "--at", "a1")["view"]
        assert [each["uuid"] for each in by_uuid["records"]] == ["u1", "a1"]
        assert told(shell, "show", talk, "--at", "m1")["view"]["records"] == by_uuid["records"]

    def test_json_says_how_the_session_stands(self, shell, talk):
        found = told(shell, "show", talk)
        assert (found["version"], found["session"], found["path"], found["agent"]) == (1, ID, talk, None)
        assert (found["title"], found["cwd"], found["entries"]) == ("The list", "/srv/work", 6)
        assert (found["leaf"], found["leaves"], found["agents"]) == ("u2", ["x1", "u2"], ["helper"])
        assert found["interruption"] == {"was": "prompt", "calls": []}
        assert (found["damaged"], found["damage"], found["live"]) == (0, [], [])

    def test_calls_without_a_result_are_told(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("What is here?"), assistant([CALL], uuid="a1")])
        assert "without a result: ls\n" in shell.run("session", "show", place.path).out
        assert told(shell, "show", place.path)["interruption"] == {"was": "turn", "calls": [{"id": "c1", "name": "ls"}]}
        assert told(shell, "show", place.path, "--view", "wire")["view"]["left_out"][0]["uuid"] == "a1"

    def test_a_compaction_and_what_it_left_out_are_told(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("One."), assistant("Two.")])
            boundary = log.compact("They counted.", trigger="manual")
        found = told(shell, "show", place.path, "--view", "active")["view"]
        assert found["boundary"] == boundary and len(found["records"]) == 2
        assert (
            f"begins with  the compaction {boundary[:8]}"
            in shell.run("session", "show", place.path, "--view", "active").out
        )

    def test_who_has_it_open_is_told(self, shell, place):
        with SessionLog(place, cwd="/srv/work", kind="daemon") as log:
            log.append_durable(user("hi"))
            assert told(shell, "show", place.path)["live"][0]["pid"] == os.getpid()
            assert f"process {os.getpid()} (daemon)" in shell.run("session", "show", place.path).out

    def test_damage_is_told_with_its_line_and_offset(self, shell, talk):
        change(talk, b"One file.", b"Two file.")
        done = shell.run("session", "show", talk)
        at = sum(map(len, lines_of(talk)[:5]))
        assert f"line 6 of ~/root/-srv-work/{ID}.jsonl is not what was written: its check is wrong (at byte {at})" in (
            done.out
        )
        assert told(shell, "show", talk)["damage"][0]["line"] == 6

    def test_a_subagents_log_is_one_too(self, shell, talk, place):
        found = told(shell, "show", place.agent_path("helper"))
        assert (found["session"], found["agent"]) == (ID, "helper")
        assert "agent helper" in shell.run("session", "show", place.agent_path("helper")).out

    def test_of_an_agent_that_is_a_fork_a_provider_is_sent_what_it_shares_first(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("hi"), assistant("hello")])
            log.sidechain("helper", type="fork", inherits=True).append(user("go"))
        sent = told(shell, "show", place.agent_path("helper"), "--view", "wire")["view"]["records"]
        assert [each["content"] for each in sent] == ["hi", [{"type": "text", "text": "hello"}], "go"]

    def test_what_a_terminal_would_obey_is_shown(self, shell, place):
        odd = "a\x1b[31m\u202eb\ud800"
        call = {**CALL, "name": odd, "id": odd, "input": {odd: odd}}
        with SessionLog(place, cwd=f"/srv/{odd}") as log:
            log.append([{"type": "custom-title", "customTitle": odd}, user(odd), assistant([call], uuid=odd[:6])])
            log.append([user([result(odd, odd)]), {"type": "system", "subtype": odd, "content": odd}])
        for view in ("scrollback", "active", "wire", "raw"):
            done = shell.run("session", "show", place.path, "--view", view)
            assert done.status == 0
            assert not {"\x1b", "\u202e", "\ud800"} & set(done.out + done.err)
            assert told(shell, "show", place.path, "--view", view)["title"] == "a\x1b[31m\u202eb\ufffd"

    def test_a_long_result_is_cut_for_people_alone(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("?"), assistant([CALL]), user([result("c1", "x" * 5_000)])])
        assert "x" * 400 + "... (5,000 characters)\n" in shell.run("session", "show", place.path).out
        assert len(told(shell, "show", place.path)["view"]["records"][2]["message"]["content"][0]["content"]) == 5_000

    def test_nothing_is_written(self, shell, talk):
        before = sorted(shell.folder.rglob("*"))
        shell.run("session", "show", talk)
        assert sorted(shell.folder.rglob("*")) == before

    def test_wrong_usage_is_2(self, shell, talk):
        assert shell.run("session", "show").status == 2
        assert shell.run("session", "show", talk, "--view", "all").status == 2
        assert shell.run("session", "shew", talk).status == 2

    def test_an_entry_that_there_is_not_is_1(self, shell, talk):
        done = shell.run("session", "show", talk, "--at", "none")
        assert (done.status, done.err.count("\n")) == (1, 1) and "the id none" in done.err


def test_the_group_alone_shows_its_help(shell):
    done = shell.run("session")
    assert done.status == 0 and "verify" in done.out and "..." not in done.out.partition("Commands:")[2]


@pytest.mark.parametrize("name", ["show", "verify", "export", "import", "branch"])
class TestEveryCommand:
    def test_help_has_an_example(self, shell, name):
        done = shell.run("session", name, "--help")
        assert done.status == 0 and "--debug" in done.out and "--json" in done.out
        assert f"  rehydrate session {name}" in done.out.partition("Example")[2]

    def test_what_is_no_session_is_one_sentence(self, shell, name):
        root = ("--root", shell.folder / "root") if name == "import" else ()
        (shell.folder / "talk.jsonl").write_text("hello\n")
        (shell.folder / "folder.jsonl").mkdir()
        for path in ("gone.jsonl", "talk.jsonl", "folder.jsonl"):
            done = shell.run("session", name, shell.folder / path, *root)
            assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
            assert "~/" in done.err and "should not happen" not in done.err

    def test_of_what_is_to_be_taken_in_first_that_is_said(self, shell, name, talk):
        if name == "import":
            return
        shell.run("session", "export", talk, "-o", shell.folder / "talk.zip")
        done = shell.run("session", name, shell.folder / "talk.zip")
        assert (done.status, done.err.count("\n")) == (1, 1)
        assert "talk.zip is an archive: take it in first, with `rehydrate session import`" in done.err
        found = next((DATA / "antigravity").glob("*/*/transcript_full.jsonl"))
        assert "is a transcript of Antigravity: take it in first" in shell.run("session", name, found).err

    def test_a_newer_format_is_said(self, shell, name, talk):
        root = ("--root", shell.folder / "other") if name == "import" else ()
        change(talk, b'"format":1', b'"format":9')
        done = shell.run("session", name, talk, *root)
        assert (done.status, done.err.count("\n")) == (1, 1) and "format 9" in done.err


class TestVerify:
    def test_a_sound_session_is_0(self, shell, talk):
        assert shell.run("session", "verify", talk) == (0, "10 records in 2 files, nothing is wrong\n", "")
        assert told(shell, "verify", talk) == {
            "version": 1,
            "path": talk,
            "files": 2,
            "records": 10,
            "damage": [],
        }

    @pytest.mark.parametrize(
        ("spoil", "line", "what"),
        [
            (lambda lines: [*lines[:3], lines[3].replace(b"tool_use", b"tool_USE"), *lines[4:]], 4, "check is wrong"),
            (lambda lines: [*lines[:6], *lines[7:]], 7, "lines are missing"),
            (lambda lines: [*lines, lines[-1]], 9, "written twice"),
            (lambda lines: [*lines, b'{"type":"user","uu'], 9, "not finished"),
            (lambda lines: [*lines[:2], b"hello\n", *lines[2:]], 3, "no record"),
            (lambda lines: [*lines, b'{"type":"user","uuid":"z","parentUuid":"gone"}\n'], 9, "follows gone"),
        ],
        ids=["changed", "missing", "twice", "torn", "no record", "no parent"],
    )
    def test_what_is_wrong_is_1_with_line_and_offset(self, shell, talk, spoil, line, what):
        lines = spoil(lines_of(talk))
        with open(talk, "wb") as file:
            file.writelines(lines)
        at = sum(map(len, lines[: line - 1]))
        done = shell.run("session", "verify", talk)
        assert (done.status, done.err) == (1, "")
        first, *_, last = done.out.splitlines()
        assert first.startswith(f"line {line} of ~/root/-srv-work/{ID}.jsonl ") and what in first
        assert first.endswith(f"(at byte {at})") and "wrong" in last
        row = told(shell, "verify", talk, status=1)["damage"][0]
        assert (row["path"], row["line"], row["offset"]) == (talk, line, at) and what in row["what"]

    def test_the_logs_of_agents_are_checked_too(self, shell, talk, place):
        change(place.agent_path("helper"), b"around", b"AROUND")
        assert told(shell, "verify", talk, status=1)["damage"][0]["path"] == place.agent_path("helper")

    def test_a_forked_agents_log_may_follow_what_the_session_holds(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("hi"), assistant("hello")])
            log.sidechain("helper", type="fork", inherits=True).append(user("go"))
        assert shell.run("session", "verify", place.path).status == 0
        assert shell.run("session", "verify", place.agent_path("helper")).status == 0

    def test_a_compaction_follows_nothing(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append(user("hi"))
            log.compact("Greeted.", trigger="manual")
        assert shell.run("session", "verify", place.path).status == 0


class TestExportAndImport:
    def test_what_was_packed_is_taken_in_again(self, shell, talk, place):
        done = shell.run("session", "export", talk, "-o", shell.folder / "talk.zip")
        assert done == (0, "2 files, 10 lines, packed into ~/talk.zip\n", "")
        done = shell.run("session", "import", shell.folder / "talk.zip", "--root", shell.folder / "other")
        assert done == (0, f"2 files, 10 lines, taken in as ~/other/-srv-work/{ID}.jsonl\n", "")
        other = Place(str(shell.folder / "other"), "-srv-work", ID)
        for mine, theirs in ((talk, other.path), (place.agent_path("helper"), other.agent_path("helper"))):
            with Session.open(mine) as before, Session.open(theirs) as after:
                assert list(before.view("scrollback")) == list(after.view("scrollback"))

    def test_without_a_name_the_archive_has_that_of_the_session(self, shell, talk):
        found = told(shell, "export", talk)
        assert found["path"] == str(shell.cwd / f"{ID}.zip")
        assert (found["session"], found["files"], found["lines"], found["damaged"]) == (ID, 2, 10, 0)
        assert zipfile.is_zipfile(found["path"])

    def test_nothing_is_written_over(self, shell, talk):
        (shell.folder / "talk.zip").write_text("mine")
        done = shell.run("session", "export", talk, "-o", shell.folder / "talk.zip")
        assert (done.status, done.err) == (1, "Error: ~/talk.zip: there is something already; name another file\n")
        assert (shell.folder / "talk.zip").read_text() == "mine"

    def test_a_session_that_is_there_already_is_left_alone(self, shell, talk):
        shell.run("session", "export", talk)
        done = shell.run("session", "import", f"{ID}.zip", "--root", shell.folder / "root")
        assert done.status == 1 and "there is such a session already" in done.err

    def test_damaged_lines_come_along_and_are_told(self, shell, talk):
        change(talk, b"One file.", b"Two file.")
        done = shell.run("session", "export", talk)
        assert done.status == 0
        assert done.err.startswith(f"Warning: line 6 of ~/root/-srv-work/{ID}.jsonl ") and done.err.count("\n") == 1
        assert told(shell, "import", f"{ID}.zip", "--root", shell.folder / "other")["damaged"] == 1

    def test_what_is_none_of_the_sessions_files_is_told(self, shell, talk, place):
        with open(os.path.join(place.folder, "subagents", "note.txt"), "w"):
            pass
        assert "subagents/note.txt" in shell.run("session", "export", talk).err

    def test_a_transcript_of_claude_code_is_taken_in(self, shell):
        path = shell.folder / f"{ID}.jsonl"
        row = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": ID, "cwd": "/srv/x", "odd": [1.0]}
        path.write_text(json.dumps({**row, "message": {"role": "user", "content": "hi"}}) + "\n")
        found = told(shell, "import", path, "--root", shell.folder / "root")
        assert found["path"] == str(shell.folder / "root" / "-srv-x" / f"{ID}.jsonl")
        with Session.open(found["path"]) as session:
            assert (session.view("scrollback")[0]["odd"], list(session.verify())) == ([1.0], [])

    @pytest.mark.parametrize("of", ["its file", "its folder"])
    def test_a_transcript_of_antigravity_is_taken_in(self, laid_out, of):
        path = laid_out.transcript(laid_out.A)
        found = told(
            laid_out, "import", path if of == "its file" else path.parents[2], "--root", laid_out.folder / "root"
        )
        assert found["session"] == laid_out.A and f"-{laid_out.cwd.name}/" in found["path"]
        with Session.open(found["path"]) as session:
            assert (session.cwd, list(session.verify())) == (str(laid_out.cwd), [])
            assert session.view("wire")[0]["role"] == "user"

    def test_where_a_conversation_was_at_work_can_be_said(self, laid_out):
        alone = laid_out.folder / "alone" / "transcript_full.jsonl"
        alone.parent.mkdir()
        shutil.copy(laid_out.transcript(laid_out.A), alone)
        done = laid_out.run("session", "import", alone, "--root", laid_out.folder / "root")
        assert done.status == 1 and "--cwd" in done.err
        found = told(laid_out, "import", alone, "--root", laid_out.folder / "root", "--cwd", "..")
        with Session.open(found["path"]) as session:
            assert session.cwd == str(laid_out.folder)

    def test_a_root_has_to_be_named(self, shell, talk):
        assert shell.run("session", "import", talk).status == 2


class TestBranch:
    def test_the_path_of_the_branch_is_printed(self, shell, talk):
        done = shell.run("session", "branch", talk, "--at", "a1")
        assert (done.status, done.err) == (0, "")
        path = done.out.strip().replace("~", str(shell.folder), 1)
        assert done.out.startswith("~/root/-srv-work/") and path != talk
        with Session.open(path) as session:
            assert [each["uuid"] for each in session.view("scrollback")] == ["u1", "a1"]
            assert session.title == "The list (branch)"

    def test_without_an_entry_it_goes_up_to_the_end(self, shell, talk):
        found = told(shell, "branch", talk)
        assert found["forked_from"] == {"session": ID, "at": None}
        with Session.open(found["path"]) as session:
            assert (session.id, session.leaf) == (found["session"], "u2")

    def test_an_entry_that_there_is_not_is_1_and_nothing_is_made(self, shell, talk, place):
        before = sorted(os.listdir(os.path.dirname(talk)))
        assert shell.run("session", "branch", talk, "--at", "none").status == 1
        assert sorted(os.listdir(os.path.dirname(talk))) == before

    def test_a_subagents_log_has_none(self, shell, talk, place):
        done = shell.run("session", "branch", place.agent_path("helper"))
        assert (done.status, done.err.count("\n")) == (1, 1) and "subagent" in done.err


class TestCompletion:
    def test_commands_and_views_are_offered(self, shell):
        assert values(shell, "sess") == ["sessions", "session"]
        assert values(shell, "session", "ver") == ["verify"]
        assert values(shell, "session", "show", "--view", "s") == ["scrollback"]

    def test_files_are_offered(self, shell):
        for name in ("show", "verify", "export", "import", "branch"):
            assert offered(shell, "session", name, "tal") == [("tal", "file", None)]


def test_work_on_a_session_shows_a_bar(shell, talk, monkeypatch):
    """Every command reads a file that may be large."""
    begun = []

    class Bar:
        def __init__(self, what, **_):
            begun.append(what)

        def __enter__(self):
            return lambda _: None

        def __exit__(self, *_):
            pass

    monkeypatch.setattr("rehydrate.cli.session.progress", Bar)
    for words in (["show"], ["verify"], ["export"], ["branch"]):
        shell.run("session", *words, talk)
    shell.run("session", "import", talk, "--root", shell.folder / "other")
    assert len(begun) == 5


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(odd_records, max_size=8), st.sampled_from(["scrollback", "active", "wire", "raw"]))
def test_any_file_is_shown_and_checked_or_refused_with_a_sentence(shell, rows, view):
    path = shell.folder / f"{ID}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (["show", path, "--view", view], ["show", path, "--view", view, "--json"], ["verify", path]):
        done = shell.run("session", *words)
        assert done.status in (0, 1) and "should not happen" not in done.err
        if words[0] == "show" and done.status == 1:
            assert done.err.endswith("holds no session\n")
