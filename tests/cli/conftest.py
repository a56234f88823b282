"""The command line run in this process, in a throw-away home that holds the demo's conversation."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from rehydrate import clients
from rehydrate.cli import doctor, group, install, uninstall
from rehydrate.clients.claude_code import policy

SAMPLE = Path(__file__).resolve().parents[2] / "demo" / "sample"
LAST_WRITE_S = 1_772_443_000


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Shell:
    """`run("show", "--json")` as if typed in `cwd`."""

    A = "3f0c6c1e-8a52-4c57-9d0b-5a7e21f4b8a1"
    B = "9b1d7f42-03ee-4b6a-8a1c-c2d95e60f713"
    C = "c47ae950-6d1b-4f0e-b3b8-1e8f0a9d2c64"

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        self.home, self.cwd = folder / "gemini", folder / "work"
        self.app = self.home / "antigravity-cli"
        self.cwd.mkdir()
        names = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "UV_CACHE_DIR", "PIPX_HOME", "NO_COLOR")
        for name in (*names, "REHYDRATE_SESSION_ROOTS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("GEMINI_HOME", str(self.home))

    def run(self, *words):
        self.monkeypatch.chdir(self.cwd)
        self.monkeypatch.setattr(sys, "argv", ["rehydrate", *map(str, words)])
        self.capsys.readouterr()
        status = group.run()
        return Done(status, *self.capsys.readouterr())

    def lay_out(self):
        """The demo's conversations, forked from A to B to C, with the workspace as working folder."""
        shutil.copytree(SAMPLE / "home", self.home)
        shutil.copytree(SAMPLE / "workspace", self.cwd, dirs_exist_ok=True)
        for log in self.home.rglob("*.jsonl"):
            log.write_text(log.read_text("utf-8").replace("@WORKSPACE@", str(self.cwd)), "utf-8")
        for age_s, session in enumerate((self.C, self.B, self.A)):
            for log in self.transcript(session).parent.iterdir():
                os.utime(log, (LAST_WRITE_S - age_s, LAST_WRITE_S - age_s))

    def transcript(self, session):
        return self.app / "brain" / session / ".system_generated" / "logs" / "transcript_full.jsonl"


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    return Shell(tmp_path, monkeypatch, capsys)


@pytest.fixture
def laid_out(shell):
    shell.lay_out()
    return shell


@pytest.fixture
def claude(shell, tmp_path, monkeypatch):
    """A shell where Claude Code is the only client: `claude.config` is its folder, `managed` that of a manager."""
    monkeypatch.setitem(clients.FOLDERS, "claude-code", "claude_code")
    for command in (doctor.doctor, install.install, uninstall.uninstall):
        (named,) = [each for each in command.params if each.name == "clients"]
        monkeypatch.setattr(named, "type", click.Choice(list(clients.FOLDERS)))
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_PLUGIN_CACHE_DIR", "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"):
        monkeypatch.delenv(name, raising=False)
    shell.managed = tmp_path / "managed"
    monkeypatch.setattr(policy, "MANAGED", str(shell.managed))
    shell.config = tmp_path / ".claude"
    shell.config.mkdir()
    return shell
