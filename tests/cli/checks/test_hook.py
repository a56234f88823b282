"""`hook` and `backend`: the registered command is run, and what is wrong with it has a name."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import rehydrate
from rehydrate import launch
from rehydrate.scan import BACKEND
from tests.helpers import front_door, programs_lie_in

PACKAGE = Path(str(rehydrate.__file__)).parent


def registered(checked, command, timeout=10, file=None):
    hook = {"PreInvocation": [{"type": "command", "command": command, "timeout": timeout}]}
    return checked.write({"rehydrate": hook}, file)


def interpreter(folder, script):
    """An interpreter of its own: `script`, in which $PYTHON stands for ours."""
    path = folder / "my python"
    path.write_text("#!/bin/sh\n" + script.replace("$PYTHON", f"'{sys.executable}'"))
    path.chmod(0o755)
    return launch.Command(str(path), str(PACKAGE.parent), "antigravity", ()).text()


@pytest.fixture
def moved(checked, tmp_path):
    """Registered for a copy of the package, in a folder that can be lost."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "lib" / "rehydrate", ignore=ignored)
    registered(checked, launch.Command(sys.executable, str(tmp_path / "lib"), "antigravity", ()).text())
    return checked


class TestHook:
    def test_installed(self, installed):
        detail = installed.well("hook")
        assert detail.startswith("{} in ") and "a made-up compaction gets 1 part in" in detail

    def test_the_other_message(self, checked):
        checked.install("--as", "ephemeralMessage")
        assert "1 part" in checked.well("hook")

    def test_the_wrong_message_is_seen(self, installed, tmp_path):
        """Registered for one kind of step, and the interpreter makes the hook answer with another."""
        registered(installed, interpreter(tmp_path, 'exec $PYTHON "$@" --as ephemeralMessage\n'))
        assert "a step in it is no systemMessage" in installed.fault("hook")[0]

    def test_without_a_registration_this_installation_is_tried(self, checked):
        assert "none is registered" in checked.well("hook")

    def test_another_installation(self, moved):
        assert "1 part" in moved.well("hook")

    def test_a_removed_interpreter(self, checked):
        registered(checked, launch.Command("/gone/bin/python", str(PACKAGE.parent), "antigravity", ()).text())
        detail, fix = checked.fault("hook")
        assert detail == "the installation that is registered is gone: there is no /gone/bin/python"
        assert fix.startswith("run `rehydrate install antigravity`")
        checked.install()
        assert checked.finding("hook").ok

    def test_a_removed_package(self, moved, tmp_path):
        shutil.rmtree(tmp_path / "lib" / "rehydrate")
        detail, fix = moved.fault("hook")
        assert detail == "the installation that is registered is gone: there is no ~/lib/rehydrate"
        assert fix.startswith("run `rehydrate install antigravity`")

    def test_a_zip_archive_that_was_moved(self, checked, tmp_path):
        archive = str(tmp_path / "rehydrate.pyz")
        registered(checked, launch.Command(sys.executable, archive, "antigravity", ()).text())
        assert checked.fault("hook")[0].endswith("is gone: there is no ~/rehydrate.pyz")

    def test_a_damaged_package_answers_by_the_fall_back_only(self, moved, tmp_path):
        (tmp_path / "lib" / "rehydrate" / "hook.py").unlink()
        detail, fix = moved.fault("hook")
        assert detail.startswith("the hook fails, and only the command's fall-back answers: ModuleNotFoundError")
        assert fix.startswith("run `rehydrate install antigravity`")

    def test_a_damaged_package_of_this_installation_is_installed_again(self, installed, monkeypatch, tmp_path):
        (tmp_path / "lib" / "rehydrate").mkdir(parents=True)
        monkeypatch.setattr(launch, "__file__", str(tmp_path / "lib" / "rehydrate" / "launch.py"))
        installed.install()
        assert installed.fault("hook")[1] == "install rehydrate again, then run `rehydrate install antigravity`"

    def test_a_hook_that_fails_quietly_where_it_should_deliver(self, moved, tmp_path):
        (tmp_path / "lib" / "rehydrate" / "invocation.py").write_text("raise RuntimeError\n")
        assert "nothing would be put back" in moved.fault("hook")[0]

    def test_it_prints_something(self, checked, tmp_path):
        registered(checked, interpreter(tmp_path, 'echo welcome\nexec $PYTHON "$@"\n'))
        detail, _ = checked.fault("hook")
        assert detail == "it answered 'welcome\\n{}' where nothing had happened, not {}"

    def test_it_prints_an_error(self, checked, tmp_path):
        registered(checked, interpreter(tmp_path, 'echo oh no >&2\nexec $PYTHON "$@"\n'))
        assert checked.fault("hook")[0] == "it printed on standard error: oh no"

    def test_it_is_too_slow(self, checked, tmp_path):
        registered(checked, interpreter(tmp_path, "sleep 600 &\nwait\n"), timeout=1)
        detail, fix = checked.fault("hook")
        assert detail == "it took longer than the 1 s that it has, so the host drops its answer"
        assert "write a larger timeout (whole seconds) at rehydrate.PreInvocation[0]" in fix

    def test_a_host_that_ends_it_before_its_deadline(self, installed):
        hooks = installed.hooks()
        hooks["rehydrate"]["PreInvocation"][0]["timeout"] = 5
        installed.write(hooks)
        detail, fix = installed.fault("hook")
        assert detail.startswith("the client ends it after 5 s, and it may take 8 s (the setting deadline_s)")
        assert fix == "write the timeout 10 at rehydrate.PreInvocation[0], line 7 of ~/gemini/config/hooks.json"
        hooks["rehydrate"]["PreInvocation"][0]["timeout"] = 10
        installed.write(hooks)
        assert installed.finding("hook").ok

    def test_a_deadline_behind_the_host_s_own(self, installed):
        installed.shell.run("config", "set", "deadline_s", "30")
        detail, fix = installed.fault("hook")
        assert detail.startswith("the client ends it after 10 s, and it may take 30 s")
        assert fix == "run `rehydrate config set deadline_s 8`"
        installed.shell.run("config", "set", "deadline_s", "8")
        assert installed.finding("hook").ok

    @pytest.mark.parametrize("timeout", [{}, {"timeout": 0}, {"timeout": -1}], ids=str)
    def test_without_a_time_limit_the_host_takes_its_own(self, checked, timeout):
        checked.write({"rehydrate": {"PreInvocation": [{"command": launch.hook_command("antigravity"), **timeout}]}})
        checked.shell.run("config", "set", "deadline_s", "20")
        assert checked.finding("hook").ok

    def test_no_room_to_try_it_is_no_fault_of_the_installation(self, checked, tmp_path):
        registered(checked, interpreter(tmp_path, 'echo "$GEMINI_HOME/x: No space left" >&2\nexec $PYTHON "$@"\n'))
        assert checked.fault("hook")[1] == (
            f"see to {tempfile.gettempdir()}, where the hook was tried, then run `rehydrate doctor` again"
        )

    def test_unknown_options(self, checked):
        registered(checked, launch.hook_command("antigravity", ("--as", "userMessage")))
        assert "ends in 'antigravity --as userMessage'" in checked.fault("hook")[0]

    def test_another_client(self, checked):
        registered(checked, launch.hook_command("other"))
        assert "ends in 'other'" in checked.fault("hook")[0]

    def test_settings_of_this_shell_do_not_count(self, installed, monkeypatch):
        monkeypatch.setenv("REHYDRATE_OFF", "1")
        monkeypatch.setenv("REHYDRATE_REQUESTS_CHARS", "0")
        assert installed.finding("hook").ok


class TestAStrangersCommand:
    """Nothing but what `install` writes is run."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", "touch MARK; "),
            (" || echo '{}'", "; touch MARK"),
            (" || echo '{}'", " || touch MARK || echo '{}'"),
            ("import sys; ", 'import os; os.system("touch MARK"); import sys; '),
            (" antigravity", " antigravity --as `touch MARK`"),
            ("-I -S", "-I -m antigravity"),
        ],
    )
    def test_another_form_is_not_run(self, checked, tmp_path, before, after):
        mark = tmp_path / "mark"
        ours = launch.hook_command("antigravity")
        registered(checked, ours.replace(before, after.replace("MARK", str(mark)), 1))
        detail, fix = checked.fault("hook")
        assert "not to the letter" in detail
        assert fix == "run `rehydrate install antigravity`"
        assert "was not asked" in checked.well("backend")
        assert not mark.exists()

    def test_another_installation_in_a_workspace_is_not_run(self, checked, tmp_path):
        mark = tmp_path / "mark"
        registered(checked, interpreter(tmp_path, f"touch '{mark}'\n"), file=checked.cwd / ".agents" / "hooks.json")
        detail, _ = checked.fault("hook")
        assert "another installation" in detail and "not your own" in detail
        assert checked.finding("backend").ok
        assert not mark.exists()

    def test_this_installation_in_a_workspace_is_run(self, checked):
        checked.install("--project")
        assert "1 part" in checked.well("hook")


class TestBackend:
    def test_the_registered_one_is_asked(self, installed):
        assert installed.well("backend").startswith(f"{BACKEND}, ")

    def test_a_package_without_the_compiled_module(self, moved, tmp_path, monkeypatch):
        monkeypatch.delenv("REHYDRATE_PURE", raising=False)
        for each in (tmp_path / "lib" / "rehydrate").glob("_native*.so"):
            each.unlink()
        assert moved.well("backend").startswith("python, without the compiled module")

    def test_pure_by_choice(self, installed, monkeypatch):
        monkeypatch.setenv("REHYDRATE_PURE", "1")
        assert installed.well("backend").startswith("python, ")

    def test_a_compiled_module_that_cannot_be_loaded(self, moved, tmp_path):
        for each in (tmp_path / "lib" / "rehydrate").glob("_native*.so"):
            each.unlink()
        (tmp_path / "lib" / "rehydrate" / "_native.abi3.so").write_bytes(b"no library")
        detail, fix = moved.fault("backend")
        assert "cannot load it" in detail
        assert fix.startswith("install rehydrate again")

    def test_an_interpreter_that_answers_nothing(self, checked, tmp_path):
        registered(checked, interpreter(tmp_path, "exit 3\n"))
        assert checked.fault("backend")[0] == "it cannot be asked: it printed no answer"


class TestFrontDoor:
    @pytest.fixture
    def door(self, checked, tmp_path, monkeypatch):
        """The front door of this installation, and registered."""
        programs_lie_in(tmp_path / "bin", monkeypatch)
        door = front_door(tmp_path / "bin")
        checked.install()
        return Path(door)

    def test_it_is_tried_and_told(self, checked, door):
        assert checked.command.startswith(f"{door} ")
        assert "1 part" in checked.well("hook")
        assert checked.well("backend").endswith("; through the front door ~/bin/rehydrate-hook")

    def test_one_that_is_not_registered_is_offered(self, checked, tmp_path, monkeypatch):
        programs_lie_in(tmp_path / "bin", monkeypatch)
        checked.install()
        assert "front door" not in checked.well("backend")
        front_door(tmp_path / "bin")
        offered = "; not through the front door, which is faster: `rehydrate install antigravity` registers it"
        assert checked.well("backend").endswith(offered)
        checked.install()
        assert "; through the front door" in checked.well("backend")

    def test_a_moved_one(self, checked, door):
        door.rename(door.with_name("elsewhere"))
        detail, fix = checked.fault("hook")
        assert detail == "the installation that is registered is gone: there is no ~/bin/rehydrate-hook"
        assert fix.startswith("run `rehydrate install antigravity`")
        checked.install()
        assert checked.finding("hook").ok

    def test_one_that_may_not_be_run(self, checked, door):
        door.chmod(0o644)
        assert checked.fault("hook")[0].startswith("the hook fails, and only the command's fall-back answers: sh: ")

    def test_one_of_another_version(self, checked, door):
        front_door(door.parent, "0.0.1")
        version = rehydrate.__version__
        assert checked.fault("backend") == (
            f"the front door ~/bin/rehydrate-hook is version 0.0.1, and the package behind it is version {version}",
            "install rehydrate again, then run `rehydrate install antigravity`",
        )

    def test_an_interpreter_that_is_gone(self, checked, door):
        command = launch.Command("/gone/python", str(PACKAGE.parent), "antigravity", (), launch.NOTHING, str(door))
        registered(checked, command.text())
        assert checked.fault("hook")[0] == "the installation that is registered is gone: there is no /gone/python"

    def test_a_strangers_is_not_run(self, checked, door, tmp_path):
        mark, other = tmp_path / "mark", Path(front_door(tmp_path / "other"))
        other.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        command = launch.Command.of_this("antigravity")._replace(door=str(other))
        checked.file.unlink()
        registered(checked, command.text(), file=checked.cwd / ".agents" / "hooks.json")
        assert "another installation" in checked.fault("hook")[0]
        assert checked.finding("backend").ok
        assert not mark.exists()


def test_nothing_is_written_but_a_private_folder_that_is_removed(moved, tmp_path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    before = {each: each.stat().st_mtime_ns for each in [*tmp_path.rglob("*"), tmp_path] if each != temporary}
    for check in ("hook", "backend"):
        assert moved.finding(check).ok
    after = {each: each.stat().st_mtime_ns for each in [*tmp_path.rglob("*"), tmp_path] if each != temporary}
    assert after == before
    assert list(temporary.iterdir()) == []


def test_the_private_folder_is_nobody_elses(installed, monkeypatch):
    modes = []
    make = tempfile.mkdtemp

    def watched(*given, **named):
        folder = make(*given, **named)
        modes.append(os.stat(folder).st_mode & 0o777)
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", watched)
    installed.findings("hook")
    assert modes == [0o700]
