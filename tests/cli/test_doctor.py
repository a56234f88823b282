"""`doctor` as typed: its rows, its lines, its status, and that it changes nothing."""

import contextlib
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from rehydrate import launch
from rehydrate.cli import checks, doctor
from tests.process.home import PACKAGE, Home, checkpoint, long_talk, said, system_message

NAMES = [
    *("registration", "hook", "twice", "backend", "settings", "off"),
    *("transcript", "state", "view", "delivery", "error"),
]
C = "c0ffee00-0000-4000-8000-000000000001"


@pytest.fixture
def installed(shell):
    shell.home.mkdir()
    assert shell.run("install").status == 0
    return shell


@pytest.fixture
def lived_in(installed, tmp_path):
    """A conversation that was compacted, got its history back, and went on."""
    home = Home(tmp_path)
    home.write(C, long_talk())
    home.hook(C)
    home.append(C, checkpoint(12))
    (part,) = home.hook(C)
    home.append(C, system_message(13, part), said(14, "Going on."))
    return installed


def test_without_a_client_it_says_what_to_do(shell):
    done = shell.run("doctor", "--json")
    (row,) = done.json
    assert (done.status, row["client"], row["check"], row["ok"]) == (1, None, "registration", False)
    assert "`rehydrate install antigravity`" in row["fix"]


def test_a_named_client_that_is_not_here(shell):
    done = shell.run("doctor", "antigravity", "--json")
    (row,) = done.json
    assert (done.status, row["client"]) == (1, "antigravity")
    assert row["detail"] == "antigravity was not found here"


def test_after_install_all_is_well(installed):
    done = installed.run("doctor", "--json")
    assert (done.status, done.err) == (0, "")
    assert [row["check"] for row in done.json] == NAMES
    for row in done.json:
        assert list(row) == ["client", "check", "ok", "detail", "fix"]
        assert (row["client"], row["ok"], row["fix"]) == ("antigravity", True, None)


def test_after_a_delivery_all_is_well(lived_in):
    done = lived_in.run("doctor", "--json")
    assert done.status == 0
    told = {row["check"]: row["detail"] for row in done.json}
    assert told["delivery"].endswith("parts 1 of 1, marker at step 13")


def test_before_install_one_check_fails(shell):
    shell.home.mkdir()
    done = shell.run("doctor", "--json")
    assert done.status == 1
    assert [row["check"] for row in done.json if not row["ok"]] == ["registration"]


def test_for_people_a_line_each_and_a_last_one(installed):
    done = installed.run("doctor")
    lines = done.out.splitlines()
    assert done.status == 0
    assert [line.split()[:2] for line in lines[:-1]] == [["ok", name] for name in NAMES]
    assert lines[-1] == "all 11 checks passed"


def test_below_a_fault_stands_what_to_do(installed, monkeypatch):
    monkeypatch.setenv("REHYDRATE_OFF", "1")
    done = installed.run("doctor")
    lines = done.out.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("FAIL"))
    assert done.status == 1
    assert lines[at].split(None, 2) == ["FAIL", "off", "REHYDRATE_OFF is set in this shell"]
    assert lines[at + 1].strip() == "→ unset REHYDRATE_OFF and start the client again"
    assert lines[-1] == "1 of 11 checks failed"


def test_where_it_cannot_be_written_the_arrow_is_another(monkeypatch):
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr(sys, "stdout", Ascii())
    assert doctor._arrow() == "->"


def test_a_terminal_is_told_nothing_that_it_would_obey(installed, tmp_path):
    home = Home(tmp_path)
    home.write(C, long_talk())
    home.hook(C)
    state = json.loads(home.state(C).read_text())
    home.state(C).write_text(json.dumps({**state, "error": {"what": "\x1b]0;gotcha\x07\nok", "time_s": 2_000_000_000}}))
    done = installed.run("doctor")
    assert "\x1b" not in done.out and "\\x1b]0;gotcha\\x07\\nok" in done.out


class TestACheckThatFailsItself:
    @pytest.fixture
    def broken(self, installed, monkeypatch):
        def fail(subject):
            raise RuntimeError("no idea")

        monkeypatch.setitem(checks.CHECKS, "view", fail)
        return installed

    def test_it_is_a_row(self, broken):
        done = broken.run("doctor", "--json")
        (row,) = [row for row in done.json if not row["ok"]]
        assert (done.status, row["check"]) == (1, "view")
        assert row["detail"] == "it could not be checked (RuntimeError: no idea)"
        assert "Traceback" not in done.err and "--debug" in row["fix"]

    def test_debug_shows_where(self, broken):
        assert "RuntimeError: no idea" in broken.run("doctor", "--debug").err

    def test_an_error_of_the_system_names_its_path(self, installed, monkeypatch):
        def fail(subject):
            raise PermissionError(13, "Permission denied", "/some/where")

        monkeypatch.setitem(checks.CHECKS, "view", fail)
        (row,) = [row for row in installed.run("doctor", "--json").json if not row["ok"]]
        assert row["detail"] == "it could not be checked: /some/where: Permission denied"


@pytest.mark.parametrize("backend", ["own", "python"])
def test_it_changes_nothing(lived_in, tmp_path, monkeypatch, backend):
    if backend == "python":
        monkeypatch.setenv("REHYDRATE_PURE", "1")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    before = _tree(tmp_path)
    assert lived_in.run("doctor").status == 0
    assert {**_tree(tmp_path), temporary: None} == {**before, temporary: None}
    assert list(temporary.iterdir()) == []


def test_the_database_of_a_fork_is_left_as_it_is(installed, tmp_path):
    """One in write-ahead mode would get files beside it by being opened as usual."""
    home = Home(tmp_path)
    home.write(C, long_talk(first=30))
    database = home.app / "conversations" / f"{C}.db"
    database.parent.mkdir()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE parent_references (idx INTEGER, data BLOB)")
        connection.commit()
    before = _tree(tmp_path)
    assert installed.run("doctor").status == 0
    assert _tree(tmp_path) == before


def test_it_changes_nothing_where_much_is_wrong(lived_in, tmp_path, monkeypatch):
    monkeypatch.setenv("REHYDRATE_PART_BYTES", "many")
    command = launch.Command(str(tmp_path / "gone"), "/opt", "antigravity", ()).text()
    hook = {"PreInvocation": [{"command": command, "timeout": 5}]}
    (lived_in.home / "config" / "hooks.json").write_text(json.dumps({"a": hook, "b": hook}))
    (lived_in.cwd / ".rehydrate-off").touch()
    before = _tree(tmp_path)
    done = lived_in.run("doctor", "--json")
    assert {row["check"] for row in done.json if not row["ok"]} == {"hook", "twice", "settings", "off"}
    assert _tree(tmp_path) == before


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_nothing_is_left_when_it_is_told_to_end(installed, tmp_path, name):
    fifo, temporary, python = tmp_path / "fifo", tmp_path / "tmp", tmp_path / "python"
    os.mkfifo(fifo)
    temporary.mkdir()
    python.write_text(f"#!/bin/sh\nexec 3> '{fifo}'\necho up >&3\nexec sleep 600\n")
    python.chmod(0o755)
    command = launch.Command(str(python), "/opt", "antigravity", ()).text()
    (tmp_path / "opt" / "rehydrate").mkdir(parents=True)
    command = command.replace("/opt", str(tmp_path / "opt"))
    hook = {"PreInvocation": [{"command": command, "timeout": 60}]}
    (installed.home / "config" / "hooks.json").write_text(json.dumps({"a": hook}))
    heard = "default_int_handler" if name == "SIGINT" else "SIG_DFL"  # whatever those who started us made of it
    code = f"import signal as s; s.signal(s.{name}, s.{heard}); from rehydrate.cli import main; main()"
    words = [sys.executable, "-c", code, "doctor"]
    environ = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(PACKAGE)}
    process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process, open(fifo, "rb", buffering=0) as child:
        assert child.read(3) == b"up\n"
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=60)
        assert select.select([child], [], [], 60)[0]
        assert child.read() == b""  # it holds the other end as long as it lives
    assert process.returncode == 128 + getattr(signal, name)
    assert list(temporary.iterdir()) == []


def _tree(folder):
    return {path: os.lstat(path).st_mtime_ns for path in [folder, *folder.rglob("*")]}
