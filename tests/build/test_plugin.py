"""The folder of the Claude Code plugin: what the client reads in it is what `install` and `doctor` know."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rehydrate import launch
from rehydrate.clients.claude_code import install, registered
from rehydrate.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "build_backend").is_dir():
    pytest.skip("not in a source tree", allow_module_level=True)


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    import plugin

    return plugin


@pytest.fixture
def folder(module, tmp_path):
    return module.build_plugin(tmp_path, version="1.2.3", licence=ROOT / "LICENSE")


def read(file):
    return json.loads(file.read_text("utf-8"))


def commands(folder):
    (group,) = read(folder / "hooks" / "hooks.json")["hooks"]["SessionStart"]
    return [each["command"] for each in group["hooks"]]


def test_what_is_in_it(folder):
    files = {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}
    manifests = {".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"}
    assert folder.name == "claude-code-plugin"
    assert files == {*manifests, "hooks/hooks.json", "README.md", "LICENSE"}


def test_the_manifest_has_the_version(folder):
    assert read(folder / ".claude-plugin" / "plugin.json")["version"] == "1.2.3"


def test_the_marketplace_lists_the_folder_itself(folder):
    market = read(folder / ".claude-plugin" / "marketplace.json")
    (listed,) = market["plugins"]
    assert (market["name"], listed["name"], listed["source"]) == ("rehydrate", "rehydrate", "./")
    assert market["owner"]["name"]


def test_a_second_build_replaces_the_first(module, folder):
    (folder / "left-over").touch()
    before = (folder / "hooks" / "hooks.json").read_bytes()
    module.build_plugin(folder.parent, version="1.2.3", licence=ROOT / "LICENSE")
    assert (folder / "hooks" / "hooks.json").read_bytes() == before
    assert not (folder / "left-over").exists()


def test_its_hooks_are_a_registration_of_every_value(folder):
    (found,) = registered.registrations(str(folder / "hooks" / "hooks.json"), remedy="x")
    assert found.fault is None
    assert found.timeout_s == install.TIMEOUT_S
    assert [registered.part_of(each) for each in found.commands] == list(range(1, Settings().values + 1))
    assert all(launch.is_ours(each) for each in found.commands)


@pytest.mark.skipif(not shutil.which("sh"), reason="there is no shell here")
class TestTheCommand:
    def run(self, folder, home, path):
        environ = {"HOME": str(home), "PATH": path}
        return subprocess.run([shutil.which("sh"), "-c", commands(folder)[1]], env=environ, capture_output=True)

    def program(self, folder):
        folder.mkdir(parents=True)
        file = folder / "rehydrate"
        file.write_text(f"#!{sys.executable}\nimport sys\nprint(__file__, *sys.argv[1:])\n")
        file.chmod(0o755)
        return file

    def test_it_starts_the_program_on_the_path(self, folder, tmp_path):
        own = self.program(tmp_path / "bin")
        self.program(tmp_path / ".local" / "bin")
        done = self.run(folder, tmp_path, str(own.parent))
        assert done.stdout.decode().split() == [str(own), "hook", "claude-code", "--part", "2"]

    def test_else_the_one_in_the_home_folder(self, folder, tmp_path):
        own = self.program(tmp_path / ".local" / "bin")
        done = self.run(folder, tmp_path, str(tmp_path / "nothing"))
        assert done.stdout.decode().split()[0] == str(own)

    def test_without_one_it_says_nothing_and_succeeds(self, folder, tmp_path):
        done = self.run(folder, tmp_path, os.devnull)
        assert (done.returncode, done.stdout) == (0, b"")
