"""hooks.json as a file: links, modes, odd kinds, failures; the diff of a dry run; what --purge finds."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from rehydrate import hostfile
from rehydrate.clients.antigravity import install
from tests.clients.antigravity.hooks import COMMAND, OTHERS, Hooks


@pytest.fixture
def hooks(tmp_path):
    return Hooks(tmp_path)


class TestTheFile:
    def test_mode_is_kept(self, hooks):
        hooks.write(b"{}")
        hooks.file.chmod(0o640)
        _, backup = hooks.install()
        assert stat.S_IMODE(hooks.file.stat().st_mode) == 0o640
        assert stat.S_IMODE(os.stat(backup).st_mode) == 0o640

    def test_a_link_stays_a_link(self, hooks, tmp_path):
        real = tmp_path / "dotfiles.json"
        real.write_bytes(b"{}")
        hooks.file.parent.mkdir(parents=True)
        hooks.file.symlink_to(real)
        _, backup = hooks.install()
        assert hooks.file.is_symlink() and "rehydrate" in json.loads(real.read_bytes())
        assert Path(backup).parent == hooks.file.parent
        hooks.uninstall()
        assert hooks.file.is_symlink() and real.read_bytes() == b"{}"

    def test_a_fifo_is_refused_at_once(self, hooks):
        hooks.file.parent.mkdir(parents=True)
        os.mkfifo(hooks.file)
        plan, _ = hooks.install()
        assert plan.action == "refused" and "regular file" in plan.why

    def test_a_folder_in_its_place_is_refused(self, hooks):
        hooks.file.mkdir(parents=True)
        assert hooks.install()[0].action == "refused"

    def test_no_temporary_file_is_left_when_writing_fails(self, hooks, monkeypatch):
        hooks.write(b"{}")

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            hooks.install()
        assert hooks.file.read_bytes() == b"{}"
        assert [each for each in hooks.file.parent.iterdir() if each.suffix == ".tmp"] == []

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_cannot_be_written(self, hooks):
        hooks.write(b"{}")
        hooks.file.parent.chmod(0o500)
        with pytest.raises(PermissionError):
            hooks.install()
        hooks.file.parent.chmod(0o700)
        assert [each.name for each in hooks.file.parent.iterdir()] == ["hooks.json"]

    @pytest.mark.parametrize("before", [b"{}", None])
    def test_a_failure_leaves_all_as_it_was(self, hooks, tmp_path, monkeypatch, before):
        if before is not None:
            hooks.write(before)
        tree = sorted(tmp_path.rglob("*"))

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            hooks.install()
        assert sorted(tmp_path.rglob("*")) == tree

    def test_a_link_to_nothing_yet_is_filled_and_emptied(self, hooks, tmp_path):
        hooks.file.parent.mkdir(parents=True)
        hooks.file.symlink_to(tmp_path / "dotfiles.json")
        hooks.install()
        assert "rehydrate" in hooks.read()
        hooks.uninstall()
        assert hooks.file.is_symlink() and not (tmp_path / "dotfiles.json").exists()

    def test_a_huge_file_with_a_doubled_key_is_refused_at_once(self, hooks):
        members = ",".join(f'"{number}":1' for number in range(200_000))
        hooks.write(f'{{"a":{{{members},"199999":1}}}}'.encode())
        plan, _ = hooks.install()
        assert plan.action == "refused" and "'199999' is there twice" in plan.why

    def test_a_number_of_5000_digits_is_no_hindrance(self, hooks):
        data = b'{"a": {"n": ' + b"7" * 5_000 + b"}}"
        hooks.write(data)
        assert hooks.install()[0].action == "added"
        hooks.uninstall()
        assert hooks.file.read_bytes() == data

    def test_two_backups_of_one_second_have_names_of_their_own(self, hooks):
        hooks.write(b"{}")
        hooks.install()
        hooks.install("other rehydrate-hook antigravity")
        assert len(hooks.backups()) == 2

    def test_an_unwritable_state_folder_does_no_harm(self, hooks, tmp_path):
        (tmp_path / "s").write_text("a file")
        hooks.write(b"{}")
        hooks.install()
        hooks.uninstall()
        assert hooks.file.read_bytes() == b"{}"


class TestDiff:
    def test_a_new_file(self, hooks):
        text = hostfile.diff(install.plan_install(str(hooks.file), COMMAND))
        assert text.startswith(f"--- /dev/null\n+++ {hooks.file}\n")
        assert '+  "rehydrate": {\n' in text

    @pytest.mark.skipif(not shutil.which("patch"), reason="there is no patch here")
    def test_it_can_be_applied(self, hooks, tmp_path):
        hooks.write(OTHERS.encode())
        plan = install.plan_install(str(hooks.file), COMMAND)
        patched = tmp_path / "patched"
        patched.write_bytes(OTHERS.encode())
        done = subprocess.run(["patch", "-s", str(patched)], input=hostfile.diff(plan).encode(), capture_output=True)
        assert done.returncode == 0, done.stdout
        assert patched.read_bytes() == plan.after


class TestPurge:
    def test_backups_and_folders_go_too(self, hooks, tmp_path):
        hooks.write(b"{}")
        hooks.install()
        hooks.uninstall(purge=True)
        assert [each.name for each in hooks.file.parent.iterdir()] == ["hooks.json"]

    def test_made_folders_go_though_an_old_backup_lay_there(self, hooks):
        hooks.install()
        Path(f"{hooks.file}.rehydrate-20200101T000000Z.bak").write_text("{}")
        hooks.uninstall(purge=True)
        assert not hooks.file.parent.exists()

    def test_states_of_all_applications_go_and_nothing_else(self, hooks):
        kept, gone = [], []
        for app in ("antigravity-cli", "antigravity", "antigravity-ide", "of-later"):
            logs = Path(hooks.environ["GEMINI_HOME"], app, "brain", "c1", ".system_generated", "logs")
            logs.mkdir(parents=True)
            gone += [logs / f"rehydrate_state.json{tail}" for tail in ("", ".lock", ".aside-0", ".12.tmp")]
            kept += [logs / "transcript_full.jsonl", logs / "rehydrate_states.txt"]
            (logs / "rehydrate_state.json.d").mkdir()
        for each in (*kept, *gone):
            each.write_text("x")
        assert install.leavings(hooks.environ) == sorted(map(str, gone))
