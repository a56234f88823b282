"""What shells offer while a command is typed, asked as they ask, and in the shells themselves where they are here."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import get_completion_class

from rehydrate.cli import complete, group
from rehydrate.clients import FOLDERS, HOOKED

LINES = {
    "bash": 'eval "$(_REHYDRATE_COMPLETE=bash_source rehydrate)"',
    "zsh": 'eval "$(_REHYDRATE_COMPLETE=zsh_source rehydrate)"',
    "fish": "_REHYDRATE_COMPLETE=fish_source rehydrate | source",
}
"""What a user's start-up file holds."""
SHOW = {
    "bash": """
        COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        $(complete -p rehydrate | sed 's/.*-F \\([^ ]*\\) .*/\\1/') rehydrate
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": """
        words=({words}); CURRENT=$#words
        compadd() {{ print -rl -- "${{(@P)@[-1]}}" }}
        _describe() {{ print -rl -- "${{(@P)3}}" }}
        _path_files() {{ print files }}
        $_comps[rehydrate]
    """,
    "fish": "complete --do-complete {line}",
}
"""How a script has a shell show what it would offer."""


def offered(shell, *words):
    """Value, kind and help of each, for the words so far, the last one unfinished."""
    shell.monkeypatch.chdir(shell.cwd)
    asked = get_completion_class("bash")(group.rehydrate, {}, "rehydrate", "_REHYDRATE_COMPLETE")
    return [(each.value, each.type, each.help) for each in asked.get_completions(list(words[:-1]), words[-1])]


def values(shell, *words):
    return [value for value, _, _ in offered(shell, *words)]


class TestSession:
    def test_ids_are_offered_the_newest_first(self, laid_out):
        assert values(laid_out, "show", "") == values(laid_out, "lineage", "") == [laid_out.C, laid_out.B, laid_out.A]

    def test_only_those_that_begin_so(self, laid_out):
        assert values(laid_out, "show", "9b") == [laid_out.B]

    def test_with_each_stands_when_and_where_it_was(self, laid_out, monkeypatch):
        monkeypatch.setattr("rehydrate.cli.output.when", lambda time_s: f"at {time_s:.0f}")
        assert offered(laid_out, "show", "9b")[0][2] == "at 1772442999 ~/work"

    def test_an_id_under_two_applications_is_offered_once(self, laid_out):
        shutil.copytree(laid_out.app / "brain" / laid_out.B, laid_out.home / "antigravity" / "brain" / laid_out.B)
        assert values(laid_out, "show", "9b") == [laid_out.B]

    def test_no_more_than_a_screen_of_them(self, laid_out, monkeypatch):
        monkeypatch.setattr(complete, "OFFERED", 2)
        assert values(laid_out, "show", "") == [laid_out.C, laid_out.B]

    @pytest.mark.parametrize("name", ["$(touch x)", "a b", "a;b", "*", "a\nplain,b", "-rf", "~", "a`b`"])
    def test_a_name_that_means_something_to_a_shell_is_not_offered(self, laid_out, name):
        shutil.copytree(laid_out.app / "brain" / laid_out.B, laid_out.app / "brain" / name)
        assert sorted(values(laid_out, "show", "")) == sorted([laid_out.A, laid_out.B, laid_out.C])

    def test_where_no_id_begins_so_a_file_may_be_meant(self, laid_out):
        assert offered(laid_out, "show", "./tran") == [("./tran", "file", None)]

    def test_an_error_offers_files(self, laid_out, monkeypatch):
        monkeypatch.setattr("rehydrate.clients.antigravity.layout.every", lambda *_, **__: 1 / 0)
        assert offered(laid_out, "show", "c") == [("c", "file", None)]

    def test_no_transcript_is_scanned(self, laid_out, monkeypatch):
        for name in ("scan_tail", "iter_steps", "iter_records"):
            monkeypatch.setattr(f"rehydrate.scan.{name}", None)
        assert len(values(laid_out, "show", "")) == 3


class TestTypes:
    def test_the_last_of_several_is_completed(self, shell):
        assert values(shell, "scan", "--types", "USER_INPUT,CH") == ["USER_INPUT,CHECKPOINT"]

    def test_small_letters_are_taken(self, shell):
        assert values(shell, "scan", "--types", "us") == ["USER_INPUT", "user"]

    def test_none_is_offered_twice(self, shell):
        assert values(shell, "scan", "--types", "CHECKPOINT,C") == []


def test_clients_are_offered(shell):
    for command in ("sessions", "doctor"):
        assert values(shell, command, "") == list(FOLDERS)


def test_only_clients_with_a_hook_are_offered_where_it_is_registered(shell):
    for command in ("install", "uninstall"):
        assert values(shell, command, "") == list(HOOKED)


def test_scan_is_offered_files(shell):
    assert offered(shell, "scan", "tran") == [("tran", "file", None)]


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("bash", "plain,{id}"),
        ("zsh", "plain\n{id}\n{help}"),
        ("fish", "plain,{id}\t{help}"),
    ],
)
def test_the_console_script_answers_each_shell(laid_out, name, protocol):
    line = "rehydrate show 9b"
    environ = {"_REHYDRATE_COMPLETE": f"{name}_complete", "COMP_WORDS": line, "COMP_CWORD": "2", "TZ": "UTC"}
    if name == "fish":
        environ["COMP_CWORD"] = "9b"
    done = subprocess.run(
        [sys.executable, "-c", "from rehydrate.cli import main; main()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    wanted = protocol.format(id=laid_out.B, help="2026-03-02 09:16 ~/work")
    assert done.stdout.replace("\\:", ":").split() == wanted.split()


class TestInTheShellItself:
    @pytest.fixture(params=list(LINES))
    def ask(self, request, laid_out):
        """What a shell offers for a line, after the line that turns completion on."""
        name = request.param
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed here")
        if name == "bash" and not _new_enough(name):
            pytest.skip("completion needs bash 4.4")
        command = laid_out.folder / "bin" / "rehydrate"
        command.parent.mkdir()
        command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c 'from rehydrate.cli import main; main()' \"$@\"\n")
        command.chmod(0o755)
        found = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "PATH": found, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"}

        def ask(*words):
            before = "autoload -Uz compinit; compinit -u -D\n" if name == "zsh" else ""
            shown = SHOW[name].format(words=" ".join(map(shlex.quote, words)), line=shlex.quote(" ".join(words)))
            plain = {"bash": ["--norc"], "zsh": ["-f"], "fish": []}[name]
            done = subprocess.run(
                [name, *plain, "-c", f"{before}{LINES[name]}\n{shown}"],
                capture_output=True,
                encoding="utf-8",
                env=environ,
                cwd=laid_out.cwd,
                stdin=subprocess.DEVNULL,
            )
            assert done.stderr == ""
            return [line.replace("\t", ":").partition(":")[0] for line in done.stdout.splitlines()]

        return ask

    def test_commands(self, ask):
        assert ask("rehydrate", "lin") == ["lineage"]

    def test_conversations(self, ask, laid_out):
        assert sorted(ask("rehydrate", "show", "")) == sorted([laid_out.A, laid_out.B, laid_out.C])
        assert ask("rehydrate", "show", "9b") == [laid_out.B]

    def test_clients(self, ask):
        assert ask("rehydrate", "sessions", "") == list(FOLDERS)


def _new_enough(bash):
    version = subprocess.run(
        [bash, "--norc", "-c", "echo ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}"], capture_output=True
    )
    return tuple(map(int, version.stdout.decode().split("."))) >= (4, 4)
