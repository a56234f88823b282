"""The commands on sessions of one's own agent, as client `session`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rehydrate
from rehydrate.cli import complete
from rehydrate.session import Place, Session, SessionLog, assistant, branch, key_of, user
from tests.clients.claude_code.making import Home, Talk, session_id
from tests.helpers import write_lines

PACKAGE = Path(rehydrate.__file__).parents[1]
ID = "5e551000-0000-4000-8000-000000000001"
VARIABLE = "REHYDRATE_SESSION_ROOTS"


@pytest.fixture
def path(shell):
    """A session that worked in the working folder and was compacted once."""
    place = Place(str(shell.folder / "root"), key_of(str(shell.cwd)), ID)
    with SessionLog(place, cwd=str(shell.cwd)) as log:
        log.append([user("Fix the tide tables."), assistant("Fixed.")])
        log.compact("Tides were fixed.", trigger="auto")
        log.append(user("And the moon?"))
    return place.path


@pytest.fixture
def known(shell, path, monkeypatch):
    """The same where the shell knows the root."""
    monkeypatch.setenv(VARIABLE, str(shell.folder / "root"))
    return shell


def requests(shell, *words):
    sections = shell.run("show", *words, "--json").json["sections"]
    return [item["text"] for item in sections[0]["items"]]


class TestSessions:
    def test_they_are_listed_below_the_named_folders(self, known):
        (row,) = known.run("sessions", "--json").json
        assert (row["id"], row["client"], row["title"]) == (ID, "session", "Fix the tide tables.")
        assert (row["workspace"], row["boundaries"], row["steps"]) == (str(known.cwd), 1, 5)
        assert (row["application"], row["last_delivery"]) == (None, None)

    def test_the_setting_names_them_as_the_variable_does(self, shell, path):
        assert shell.run("sessions", "session", "--json").json == []
        shell.run("config", "set", "session_roots", shell.folder / "root")
        assert [row["id"] for row in shell.run("sessions", "session", "--json").json] == [ID]

    def test_those_of_other_clients_stand_beside_them(self, known):
        known.lay_out()
        found = {row["client"] for row in known.run("sessions", "--json").json}
        assert found == {"session", "antigravity"}
        assert {row["client"] for row in known.run("sessions", "session", "--json").json} == {"session"}

    def test_where_no_folder_is_named_it_is_said_how(self, shell):
        assert "rehydrate config set session_roots" in shell.run("sessions", "session").err

    def test_where_nothing_is_in_it_the_folder_is_told(self, shell, monkeypatch):
        monkeypatch.setenv(VARIABLE, str(shell.folder))
        assert shell.run("sessions", "session").err.strip() == "no conversation was found in ~"

    def test_a_folder_that_is_none_is_told(self, shell, monkeypatch):
        monkeypatch.setenv(VARIABLE, "relative")
        assert f"{VARIABLE} takes absolute paths" in shell.run("sessions", "session").err

    def test_a_later_format_is_said_in_its_row(self, known, path):
        write_lines(Path(path).with_name("0newer.jsonl"), [{"type": "session", "format": 2, "sessionId": "0newer"}])
        done = known.run("sessions", "--json")
        told = {row["id"]: row["problem"] for row in done.json}
        assert told[ID] is None and told["0newer"].endswith("this version knows 1; update rehydrate to go on")
        assert done.status == 0 and "0newer could not be read" in done.err


class TestShow:
    @pytest.mark.parametrize("named", [ID, ID[:6], f"session:{ID}", f"session:{ID[:6]}"])
    def test_by_id(self, known, named):
        told = known.run("show", named, "--json").json
        assert (told["client"], told["session"], told["boundary"]["counts"]) == ("session", ID, True)

    def test_by_path_without_a_word_about_its_folder(self, shell, path):
        assert shell.run("show", path, "--json").json["client"] == "session"

    def test_by_path_it_is_ours_even_where_claude_code_keeps_its_files(self, shell, path):
        moved = shell.folder / ".claude" / "projects" / "-srv" / f"{ID}.jsonl"
        moved.parent.mkdir(parents=True)
        shutil.copy(path, moved)
        assert shell.run("show", moved, "--json").json["client"] == "session"

    def test_by_path_what_claude_code_wrote_stays_its_own(self, known):
        talk = Talk(session_id(1))
        talk.talk("Hi.", "Hello.")
        saved = Home(known.folder).write(talk, project=known.folder / "root" / "-srv")
        assert known.run("show", saved, "--json").json["client"] == "claude-code"

    def test_of_this_folder_the_newest(self, known):
        assert known.run("show", "--json").json["session"] == ID

    def test_a_boundary_by_its_number_and_a_compaction_now(self, shell, path):
        assert requests(shell, path, "--at", "1") == ["Fix the tide tables."]
        assert requests(shell, path, "--at", "end") == ["Fix the tide tables.", "And the moon?"]

    def test_for_people_nothing_is_said_of_a_hook(self, known):
        told = known.run("show", ID)
        assert "Fix the tide tables." in told.out and "delivered" not in told.out and not told.err
        assert known.run("show", ID, "--why").status == 0

    def test_a_later_format_is_one_sentence(self, shell, path):
        newer = write_lines(Path(path).with_name("0newer.jsonl"), [{"type": "session", "format": 2}])
        for command in ("show", "lineage"):
            done = shell.run(command, newer)
            assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
            assert "has format 2, and this version knows 1; update rehydrate" in done.err


class TestLineage:
    def test_a_branch_is_followed_to_what_it_was_taken_from(self, shell, path):
        with Session.open(path) as session:
            copy = branch(session)
        told = shell.run("lineage", copy.path, "--json").json
        assert told["client"] == "session" and told["complete"]
        assert [each["session"] for each in told["segments"]] == [ID, copy.session_id]


class TestNoHook:
    @pytest.mark.parametrize("command", ["install", "uninstall"])
    def test_there_is_none_to_register(self, shell, command):
        done = shell.run(command, "session")
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert "session has no hook to register" in done.err

    def test_nor_to_run(self):
        words = [sys.executable, "-c", "from rehydrate.cli import main; main()", "hook", "session"]
        environ = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=environ, timeout=60)
        assert (done.returncode, done.stdout) == (0, b"{}")  # a host is never stopped, whatever it registered
        assert done.stderr.startswith(b"rehydrate: session has no hook") and done.stderr.count(b"\n") == 1

    @pytest.mark.parametrize("command", ["install", "uninstall", "doctor"])
    def test_it_is_not_offered(self, known, command):
        done = known.run(command)
        assert "session" not in done.out.replace("sessions", "") + done.err

    def test_there_is_no_switch_for_it(self, shell, monkeypatch):
        assert "clients.session" not in shell.run("config").out

    def test_doctor_says_so_and_reads_the_newest(self, known):
        rows = {row["check"]: row for row in known.run("doctor", "session", "--json").json}
        assert all(row["ok"] for row in rows.values())
        assert "no hook" in rows["registration"]["detail"] and "records" in rows["transcript"]["detail"]


def test_ids_are_offered_while_a_command_is_typed(known):
    assert [each.value for each in complete.complete_session(None, None, ID[:4])] == [ID]
