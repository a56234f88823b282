"""The registered command, run as a host runs it, and the environments that none may name."""

import os
import subprocess

import pytest

from rehydrate import launch
from tests.helpers import front_door, programs_lie_in


class TestCommand:
    def run(self, command, cwd, **environ):
        environ = {"PATH": os.environ["PATH"], **environ}
        return subprocess.run(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, env=environ, timeout=20
        )

    def test_it_answers_from_any_folder(self, tmp_path):
        (tmp_path / "json.py").write_text("raise SystemExit(3)")
        (tmp_path / "rehydrate.py").write_text("raise SystemExit(3)")
        done = self.run(launch.hook_command("antigravity"), tmp_path, PYTHONPATH=str(tmp_path))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")

    def test_it_answers_when_the_installation_is_gone(self, tmp_path):
        command = launch.hook_command("antigravity").replace("python", "nothing-here")
        done = self.run(command, tmp_path)
        assert (done.returncode, done.stdout.strip()) == (0, b"{}")

    def test_a_folder_with_blanks_and_quotes(self, tmp_path, monkeypatch):
        folder = tmp_path / 'it\'s "a" $HOME `x` \\ Grüße'
        (folder / "rehydrate").mkdir(parents=True)
        (folder / "rehydrate" / "__init__.py").touch()
        (folder / "rehydrate" / "hook.py").write_text("import sys\ndef main(): print(sys.argv[1:], end='')")
        monkeypatch.setattr(launch, "__file__", str(folder / "rehydrate" / "launch.py"))
        done = self.run(launch.hook_command("antigravity", ("--as", "ephemeralMessage")), tmp_path)
        assert done.stdout == b"['antigravity', '--as', 'ephemeralMessage']", done.stderr

    def test_every_command_of_ours_is_recognised(self):
        assert launch.is_ours(launch.hook_command("antigravity"))
        assert launch.is_ours("'/opt/a b/rehydrate' hook antigravity || echo '{}'")
        assert launch.is_ours("/opt/rehydrate-hook antigravity")
        assert not launch.is_ours("python3 /home/user/rehydrate_after_compact.py")
        assert not launch.is_ours("rehydrate-hooks-of-others")

    def test_a_path_that_is_not_text_is_refused(self, monkeypatch):
        monkeypatch.setattr(launch, "__file__", "/opt/\udcff/rehydrate/launch.py")
        with pytest.raises(ValueError, match="characters"):
            launch.hook_command("antigravity")


class TestTakenApart:
    def test_what_install_writes(self):
        command = launch.hook_command("antigravity", ("--as", "ephemeralMessage"))
        found = launch.take_apart(command)
        assert found == launch.Command.of_this("antigravity", ("--as", "ephemeralMessage"))
        assert found.text() == command
        assert " -X utf8 -B -c " in found.text("-B")

    def test_a_command_that_falls_back_to_silence(self):
        command = launch.hook_command("claude-code", ("--part", "2"), launch.SILENCE)
        found = launch.take_apart(command)
        assert command.endswith(" claude-code --part 2 || true")
        assert (found.fallback, found.options) == (launch.SILENCE, ("--part", "2"))
        assert found.text() == command

    def test_paths_with_blanks_and_quotes(self):
        made = launch.Command('/it\'s "a"/py', '/x \\ "y" $z `w` {}', "antigravity", ())
        assert launch.take_apart(made.text()) == made

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (" || echo '{}'", ""),
            (" || echo '{}'", " ; x || echo '{}'"),
            (" || echo '{}'", " || echo '{}' "),
            ("-I -S", "-I"),
            ("-I -S", "-I  -S"),
            ("-X utf8", "-X  utf8"),
            ("import sys;", "import sys,x;"),
            ("main()'", "main(); x()'"),
            ('append("', 'append("x" + "'),
            (" antigravity", " $(x)"),
            (" antigravity", " anti*"),
            ("", "x=1 "),
            ("/", ""),
            ("/", "./"),
        ],
    )
    def test_one_other_character_and_it_is_none(self, before, after):
        command = launch.hook_command("antigravity")
        assert launch.take_apart(command.replace(before, after, 1)) is None

    @pytest.mark.parametrize("command", ["", " || echo '{}'", "x || echo '{}'", "a 'b || echo '{}'", "\0 || echo '{}'"])
    def test_anything_else_is_none(self, command):
        assert launch.take_apart(command) is None

    def test_a_package_that_is_no_text_is_none(self):
        command = launch.hook_command("antigravity")
        start, end = command.index('("'), command.index('")')
        for value in ("1", "[", '["/x"]', "[" * 100_000):
            assert launch.take_apart(f"{command[: start + 1]}{value}{command[end + 1 :]}") is None


class TestFrontDoor:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        """Where the programs of this installation lie: a hard name, and none is there yet."""
        folder = tmp_path / 'it\'s "a" $HOME `x` \\ Grüße'
        programs_lie_in(folder, monkeypatch)
        return folder

    def test_the_command_goes_through_it(self, folder, tmp_path):
        plain = launch.hook_command("antigravity")
        door = front_door(folder)
        command = launch.hook_command("antigravity")
        assert command.endswith(f" {plain}") and command != plain
        assert launch.is_ours(command)
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
        assert launch.take_apart(command) == launch.Command.of_this("antigravity")
        assert launch.take_apart(command).door == door

    def test_the_flags_are_the_interpreters(self, folder):
        front_door(folder)
        text = launch.Command.of_this("antigravity").text("-B")
        assert f"{launch.DOOR}' " in text and " -X utf8 -B -c " in text

    def test_a_host_that_calls_once_for_each_compaction_needs_none(self, folder):
        front_door(folder)
        command = launch.hook_command("claude-code", (), launch.SILENCE)
        assert launch.DOOR not in command

    @pytest.mark.parametrize(
        "script",
        [
            None,
            "echo rehydrate-hook 0.0.1",
            "echo rehydrate-hook",
            "echo hello {}",
            "",
            "echo rehydrate-hook {}; exit 1",
        ],
    )
    def test_what_does_not_say_this_version_is_none(self, folder, script):
        if script is not None:
            program = front_door(folder)
            with open(program, "w") as file:
                file.write("#!/bin/sh\n" + script.format(launch.__version__))
        assert launch.front_door() is None

    @pytest.mark.parametrize("kind", ["no program", "folder", "fifo"])
    def test_what_cannot_be_run_is_none(self, folder, kind):
        path = front_door(folder)
        if kind == "no program":
            os.chmod(path, 0o644)
        else:
            os.unlink(path)
            (os.mkdir if kind == "folder" else os.mkfifo)(path)
        assert launch.front_door() is None

    def test_a_program_that_was_replaced_is_asked_again(self, folder):
        assert launch.door_version(front_door(folder, "1.0")) == "1.0"
        assert launch.door_version(front_door(folder, "12.0")) == "12.0"

    def test_one_whose_path_cannot_be_written_is_left_out(self, tmp_path, monkeypatch):
        programs_lie_in(tmp_path / "a\nb", monkeypatch)
        front_door(tmp_path / "a\nb")
        assert launch.front_door() is None

    def test_a_package_without_a_compiled_module_has_none(self, tmp_path, monkeypatch):
        monkeypatch.setattr(launch, "__file__", str(tmp_path / "rehydrate" / "launch.py"))
        assert launch._folders_of_programs() == []
        (tmp_path / "rehydrate").mkdir()
        (tmp_path / "rehydrate" / "_native.abi3.so").touch()
        assert os.name == "nt" or launch._folders_of_programs()

    @pytest.mark.parametrize(
        ("before", "after"),
        [("/", ""), ("/", "./"), ("-hook", "-hooks"), ("-hook", "-hook -x"), ("", "rehydrate-hook ")],
    )
    def test_one_other_character_and_the_command_is_none(self, folder, before, after):
        front_door(folder)
        command = launch.hook_command("antigravity").replace(before, after, 1)
        assert launch.take_apart(command) is None

    def test_the_program_without_a_command_is_none(self):
        assert launch.take_apart("/opt/rehydrate-hook || echo '{}'") is None


class TestThrowAway:
    @pytest.fixture
    def home(self, tmp_path):
        return tmp_path

    @pytest.mark.parametrize(
        "prefix",
        [
            ".cache/uv/archive-v0/x1Y2",
            ".cache/uv/environments-v2/tool-abc",
            ".cache/uv/builds-v0/.tmp1",
            ".cache/pipx/0123456789abcde",
            "Library/Caches/pipx/0123456789abcde",
            ".local/pipx/.cache/0123456789abcde",
            ".local/share/pipx/.cache/0123456789abcde",
        ],
    )
    def test_caches_of_uv_and_pipx(self, home, prefix):
        assert launch.throw_away({"HOME": str(home)}, str(home / prefix)) == str(home / prefix)

    @pytest.mark.parametrize(
        "prefix",
        [
            ".local/share/uv/tools/rehydrate",
            ".local/pipx/venvs/rehydrate",
            ".local/share/pipx/venvs/rehydrate",
            ".cache/venvs/rehydrate",
            ".cache/pipx/venvs/rehydrate",
            "project/.cache/archive-v0/venv",
            "project/.venv",
        ],
    )
    def test_places_to_stay(self, home, prefix):
        assert launch.throw_away({"HOME": str(home)}, str(home / prefix)) is None

    def test_folders_named_in_the_environment(self, home):
        environ = {"HOME": str(home), "UV_CACHE_DIR": str(home / "u"), "PIPX_HOME": str(home / "p")}
        assert launch.throw_away(environ, str(home / "u" / "archive-v0" / "x"))
        assert launch.throw_away(environ, str(home / "p" / ".cache" / "x"))
        assert not launch.throw_away(environ, str(home / "p" / "venvs" / "x"))

    def test_a_cache_elsewhere_is_known_by_its_tag(self, home):
        (home / "elsewhere").mkdir()
        (home / "elsewhere" / "CACHEDIR.TAG").touch()
        assert launch.throw_away({"HOME": str(home)}, str(home / "elsewhere" / "archive-v0" / "x"))

    def test_an_environment_reached_by_a_link(self, home):
        real = home / ".cache" / "uv" / "archive-v0" / "x"
        real.mkdir(parents=True)
        (home / "link").symlink_to(real)
        assert launch.throw_away({"HOME": str(home)}, str(home / "link")) == str(real)
