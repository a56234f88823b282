"""`install` and `uninstall` as typed."""

import json
import os
from pathlib import Path

import pytest

from rehydrate import launch
from rehydrate.cli import output
from rehydrate.paths import state_folder
from tests.helpers import front_door, programs_lie_in


def test_without_a_client_here_it_says_what_to_name(shell):
    done = shell.run("install")
    assert done.status == 1
    assert "antigravity" in done.err


def test_without_a_name_every_client_found_here(shell):
    shell.home.mkdir()
    done = shell.run("install", "--json")
    file = shell.home / "config" / "hooks.json"
    command = json.loads(file.read_text())["rehydrate"]["PreInvocation"][0]["command"]
    assert done.json == [
        {"client": "antigravity", "file": str(file), "action": "added", "command": command, "backup": None}
    ]


def test_a_named_client_gets_what_it_needs(shell):
    assert shell.run("install", "antigravity").status == 0
    assert (shell.home / "config" / "hooks.json").is_file()


def test_dry_run_shows_a_diff_and_writes_nothing(shell):
    done = shell.run("install", "antigravity", "--dry-run")
    assert done.status == 0
    assert done.out.startswith("--- /dev/null\n+++ ")
    assert '+  "rehydrate": {' in done.out
    assert not shell.home.exists() and not os.path.exists(state_folder(os.environ))


def test_dry_run_as_json_holds_the_diff(shell):
    told = shell.run("install", "antigravity", "--dry-run", "--json").json
    assert told[0]["action"] == "added" and told[0]["diff"].startswith("--- /dev/null")


def test_a_dry_run_of_uninstall_shows_a_diff_and_writes_nothing(shell):
    shell.run("install", "antigravity")
    before = (shell.home / "config" / "hooks.json").read_bytes()
    assert "+++ /dev/null" in shell.run("uninstall", "--dry-run").out
    assert (shell.home / "config" / "hooks.json").read_bytes() == before


def test_a_second_install_finds_the_hook_present(shell):
    shell.run("install", "antigravity")
    assert shell.run("install", "antigravity", "--json").json[0]["action"] == "present"


def test_the_other_message_is_registered(shell):
    shell.run("install", "antigravity")
    told = shell.run("install", "antigravity", "--as", "ephemeralMessage", "--json").json[0]
    assert told["action"] == "updated"
    assert told["command"].endswith("antigravity --as ephemeralMessage || echo '{}'")


def test_the_front_door_takes_the_place_of_the_plain_command_and_gives_it_back(shell, tmp_path, monkeypatch):
    """After an upgrade that brings it, and after one that does not; the file as it was before us is not forgotten."""
    file = shell.home / "config" / "hooks.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"lint": {}}')
    programs_lie_in(tmp_path / "bin", monkeypatch)
    plain = shell.run("install", "--json").json[0]
    door = front_door(tmp_path / "bin")
    told = shell.run("install", "--json").json[0]
    assert (told["action"], told["command"]) == ("updated", f"{door} {plain['command']}")
    assert (
        told["backup"] and json.loads(file.read_text())["rehydrate"]["PreInvocation"][0]["command"] == told["command"]
    )
    assert shell.run("install", "--json").json[0]["action"] == "present"
    os.unlink(door)
    again = shell.run("install", "--json").json[0]
    assert (again["action"], again["command"]) == ("updated", plain["command"])
    front_door(tmp_path / "bin")
    shell.run("install")
    assert shell.run("uninstall", "--json").json[0]["action"] == "removed"
    assert file.read_text() == '{"lint": {}}'


def test_refused_is_1_and_says_why(shell):
    file = shell.home / "config" / "hooks.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"$schema": "x"}')
    done = shell.run("install")
    assert (done.status, done.out) == (1, "")
    assert "refused" in done.err and "$schema" in done.err
    told = shell.run("install", "--json")
    assert told.status == 1
    assert told.json[0]["action"] == "refused" and "$schema" in told.json[0]["why"]


def test_a_file_that_cannot_be_written_is_refused(shell):
    shell.home.write_text("a file where the folder should be")
    done = shell.run("install", "antigravity", "--json")
    assert done.status == 1
    assert done.json[0]["action"] == "refused"


def test_project_registers_in_this_folder_alone(shell):
    shell.run("install", "antigravity", "--project")
    file = shell.cwd / ".agents" / "hooks.json"
    assert "rehydrate" in json.loads(file.read_text())
    assert not shell.home.exists()
    assert [each["action"] for each in shell.run("uninstall", "antigravity", "--json").json] == ["absent", "removed"]
    assert not file.parent.exists()


def test_uninstall_of_nothing_is_no_error(shell):
    done = shell.run("uninstall")
    assert done.status == 0 and "nothing to do" in done.out
    assert shell.run("uninstall", "antigravity", "--json").json[0]["action"] == "absent"


def test_purge_waits_until_nothing_is_refused(laid_out):
    laid_out.run("install")
    (laid_out.home / "config" / "hooks.json").write_text("{ broken")
    state = laid_out.transcript(laid_out.C).with_name("rehydrate_state.json")
    state.write_text("{}")
    assert laid_out.run("uninstall", "--purge").status == 1
    assert state.exists() and os.path.exists(state_folder(os.environ))


def test_purge_leaves_nothing_of_ours(laid_out):
    hooks = laid_out.home / "config" / "hooks.json"
    hooks.parent.mkdir()
    hooks.write_text("{}")
    before = {each for each in laid_out.home.rglob("*")}
    laid_out.run("install")
    logs = laid_out.transcript(laid_out.C).parent
    for name in ("rehydrate_state.json", "rehydrate_state.json.lock", "rehydrate_state.json.aside-0"):
        (logs / name).write_text("{}")
    laid_out.run("uninstall", "--purge")
    assert {each for each in laid_out.home.rglob("*")} == before
    assert not os.path.exists(state_folder(os.environ))


def test_the_whole_home_is_as_it_was(laid_out):
    before = sorted(laid_out.folder.rglob("*"))
    laid_out.run("install")
    laid_out.run("install", "--project")
    laid_out.run("uninstall", "--purge")
    assert sorted(laid_out.folder.rglob("*")) == before


def test_purge_takes_the_settings_and_their_folder(laid_out):
    laid_out.run("config", "set", "files_chars", 1)
    settings = Path(laid_out.run("config", "path").out.strip())
    laid_out.run("uninstall")
    assert settings.exists()
    assert str(settings.name) in laid_out.run("uninstall", "--purge").out
    assert not settings.parent.exists()


def test_purge_leaves_what_a_linked_settings_file_leads_to(laid_out):
    settings = Path(laid_out.run("config", "path").out.strip())
    settings.parent.mkdir(parents=True)
    (laid_out.folder / "dotfiles.toml").write_text("files_chars = 1")
    settings.symlink_to(laid_out.folder / "dotfiles.toml")
    laid_out.run("uninstall", "--purge")
    assert not settings.is_symlink()
    assert (laid_out.folder / "dotfiles.toml").exists()


def test_purge_says_what_it_takes_and_a_dry_run_only_says_it(laid_out):
    hooks = laid_out.home / "config" / "hooks.json"
    hooks.parent.mkdir()
    hooks.write_text("{}")
    laid_out.run("install")
    state = laid_out.transcript(laid_out.C).with_name("rehydrate_state.json")
    state.write_text("{}")
    before = {each: each.stat().st_mtime_ns for each in laid_out.folder.rglob("*")}
    for words in (("--dry-run",), ()):
        out = laid_out.run("uninstall", "--purge", *words).out
        assert all(
            name in out for name in ("rehydrate_state.json", ".bak", output.short(state_folder(os.environ), os.environ))
        )
        if words:
            assert {each: each.stat().st_mtime_ns for each in laid_out.folder.rglob("*")} == before
    assert not state.exists()


def test_purge_takes_the_registrations_of_other_folders_too(laid_out):
    there = laid_out.cwd / ".agents" / "hooks.json"
    tree = sorted(there.parent.rglob("*"))
    laid_out.run("install", "--project")
    laid_out.cwd = laid_out.folder
    assert [each["file"] for each in laid_out.run("uninstall", "--json").json] == [
        str(laid_out.home / "config/hooks.json")
    ]
    assert there.exists()
    told = laid_out.run("uninstall", "--purge", "--json").json
    assert [each["action"] for each in told] == ["absent", "removed"]
    assert sorted(there.parent.rglob("*")) == tree


def test_purge_takes_the_backups_of_a_project_that_was_uninstalled(laid_out):
    there = laid_out.cwd / ".agents" / "hooks.json"
    there.write_text("{}")
    laid_out.run("install", "--project")
    laid_out.run("uninstall")
    assert list(there.parent.glob("*.bak"))
    laid_out.run("uninstall", "--purge")
    assert there.read_text() == "{}" and not list(there.parent.glob("*.bak"))


def test_purge_keeps_its_memory_of_a_file_that_cannot_be_read(laid_out):
    laid_out.run("install", "--project")
    (laid_out.cwd / ".agents" / "hooks.json").write_text("{ broken")
    laid_out.cwd = laid_out.folder
    assert laid_out.run("uninstall", "--purge").status == 1
    assert os.path.exists(state_folder(os.environ))


def test_what_to_expect_is_said_once(shell):
    assert "next prompt" in shell.run("install", "antigravity").out
    again = shell.run("install", "antigravity").out
    assert "already" in again and "next prompt" not in again


def test_a_working_folder_that_is_gone_is_said_or_does_not_matter(shell):
    shell.home.mkdir()
    gone = shell.folder / "gone"
    gone.mkdir()
    shell.cwd = gone
    chdir = shell.monkeypatch.chdir

    def vanish(path):
        chdir(path)
        gone.rmdir()

    for command, status, words in (
        (("install", "--project"), 1, "working folder is gone"),
        (("show",), 1, "no conversation"),
        (("uninstall",), 0, "not in"),
    ):
        gone.mkdir(exist_ok=True)
        shell.monkeypatch.setattr(shell.monkeypatch, "chdir", vanish, raising=False)
        done = shell.run(*command)
        assert (done.status, words in done.out + done.err) == (status, True), done
    chdir(shell.folder)


def test_a_throw_away_environment_is_refused(shell, monkeypatch):
    monkeypatch.setattr(launch, "throw_away", lambda *_: "/gone/soon")
    done = shell.run("install", "antigravity")
    assert done.status == 1
    assert "uv tool install rehydrate" in done.err
    assert not shell.home.exists()


@pytest.mark.parametrize(("first", "second"), [((), ("--project",)), (("--project",), ())])
def test_a_second_registration_is_warned_of(shell, first, second):
    assert "too" not in shell.run("install", "antigravity", *first).err
    done = shell.run("install", "antigravity", *second)
    assert done.status == 0
    assert "it is registered in ~" in done.err and "too" in done.err
