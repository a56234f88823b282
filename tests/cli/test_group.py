"""What every command has: help, errors of one sentence, exit statuses, output that no locale and no pipe breaks."""

import json
import os
import subprocess
import sys

import pytest

from rehydrate.cli import group, output
from rehydrate.scan import BACKEND

MAIN = "from rehydrate.cli import main; main()"


def start(*words, code=MAIN, environ=(), **more):
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **dict(environ)}
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run([sys.executable, "-c", code, *map(str, words)], env=environ, **more)


@pytest.mark.parametrize("command", group.COMMANDS)
def test_help_has_an_example(shell, command):
    done = shell.run(command, "--help")
    assert done.status == 0
    assert f"  rehydrate {command}" in done.out.partition("Example")[2]


@pytest.mark.parametrize("command", group.COMMANDS)
def test_every_command_takes_debug(shell, command):
    assert "--debug" in shell.run(command, "--help").out


def test_version_names_the_backend(shell):
    assert f"backend {BACKEND}" in shell.run("--version").out


def test_wrong_usage_is_2(shell):
    assert shell.run("nothing-of-the-kind").status == 2
    assert shell.run("show", "--at", "soon").status == 2
    assert shell.run("install", "no-such-client").status == 2


@pytest.mark.parametrize(("typed", "told"), [("instal", "did you mean install?"), ("x", "there are: install, ")])
def test_a_command_that_there_is_not_names_those_that_there_are(shell, typed, told):
    done = shell.run(typed)
    assert done.status == 2 and told in done.err


def test_it_starts_as_a_module_too(laid_out):
    done = subprocess.run(
        [sys.executable, "-m", "rehydrate", "--version"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout[:10]) == (0, b"rehydrate ")


def test_an_error_is_one_sentence(shell):
    done = shell.run("scan", "gone.jsonl")
    assert (done.status, done.out, done.err) == (1, "", "Error: gone.jsonl: No such file or directory\n")


def test_debug_shows_the_traceback(shell):
    done = shell.run("scan", "gone.jsonl", "--debug")
    assert done.status == 1
    assert "Traceback" in done.err


def test_a_fault_of_ours_is_one_sentence_too(shell, monkeypatch):
    monkeypatch.setattr("rehydrate.scan.scan_tail", lambda *_: 1 / 0)
    done = shell.run("scan", "x", "--tail")
    assert done.status == 1
    assert done.err.count("\n") == 1 and "ZeroDivisionError" in done.err


def test_terminal_codes_in_a_name_are_shown(shell):
    assert "\x1b" not in shell.run("scan", "a\x1b[31m.jsonl").err


def test_a_path_in_an_error_is_short(shell):
    done = shell.run("scan", shell.folder / "gone.jsonl")
    assert done.err == "Error: ~/gone.jsonl: No such file or directory\n"


def test_line_ends_in_a_name_make_no_further_line(shell):
    done = shell.run("show", "a\nError: b/c")
    assert done.err.count("\n") == 1 and "a\\nError: b/c" in done.err


def test_line_ends_in_a_type_make_no_further_record(laid_out):
    log = laid_out.transcript(laid_out.C)
    log.write_text('{"step_index":1,"type":"A\\n 0 0 2 B"}\n', "utf-8")
    assert laid_out.run("scan", log).out.count("\n") == 2


def test_a_reader_that_goes_away_is_no_error(laid_out):
    log = laid_out.transcript(laid_out.C)
    log.write_bytes(log.read_bytes() * 2_000)
    run = f'"{sys.executable}" -c "{MAIN}" scan "{log}" --json'
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["bash", "-c", f"{run} | head -n 1; echo ${{PIPESTATUS[0]}}"]
    done = subprocess.run(command, capture_output=True, env=environ)
    assert done.stderr == b""
    assert done.stdout.split()[-1] == b"0"


def test_without_standard_output_there_is_no_traceback(laid_out):
    run = f'"{sys.executable}" -c "{MAIN}" lineage "{laid_out.transcript(laid_out.C)}" >&-'
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["sh", "-c", run], capture_output=True, env=environ)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("environ", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "1"}], ids=str)
def test_json_is_the_same_bytes_in_any_locale(laid_out, environ):
    log = laid_out.transcript(laid_out.C)
    log.write_text(log.read_text("utf-8").replace("CHECKPOINT", "Grüße \\ud800 →"), "utf-8")
    done = start("scan", log, "--json", environ=environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.splitlines()[-1])["type"] == "Grüße \ufffd →"
    assert done.stdout.isascii()


def test_text_goes_through_a_narrow_locale(laid_out):
    log = laid_out.transcript(laid_out.C)
    log.write_text(log.read_text("utf-8").replace("CHECKPOINT", "Grüße→"), "utf-8")
    done = start("scan", log, environ={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Grüße\\u2192".encode("latin-1") in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
@pytest.mark.parametrize("words", [("config", "path"), ("show",), ("--help",)])
def test_a_full_disk_is_one_sentence(laid_out, words):
    with open("/dev/full", "wb") as full:
        done = start(*words, stdout=full, cwd=laid_out.cwd)
    assert (done.returncode, done.stderr) == (1, b"Error: No space left on device\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
def test_an_error_that_nobody_can_be_told_still_gives_the_exit_status(shell):
    with open("/dev/full", "wb") as full:
        assert start("show", "none", stdout=full, stderr=full).returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a working folder cannot be taken away")
@pytest.mark.parametrize("words", [("show", "."), ("sessions",)])
def test_a_working_folder_that_is_gone_is_said(shell, words):
    gone, script = shell.folder / "gone", shell.folder / "script"
    gone.mkdir()
    # As a script, which is what people start: with `-c` Python 3.13.0 itself stumbles over a folder that is gone.
    script.write_text(f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); {MAIN}\n")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "GEMINI_HOME": "relative"}
    done = subprocess.run([sys.executable, script, *words], capture_output=True, env=environ, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"Error: the working folder is gone; change to one that is there\n")


def test_a_shell_can_complete_commands():
    done = start(code=MAIN, environ={"_REHYDRATE_COMPLETE": "zsh_source"})
    assert done.returncode == 0 and b"compdef" in done.stdout
    environ = {"_REHYDRATE_COMPLETE": "zsh_complete", "COMP_WORDS": "rehydrate unin", "COMP_CWORD": "1"}
    assert b"uninstall" in start(code=MAIN, environ=environ).stdout


def test_the_hook_is_dispatched_before_click_is_imported():
    code = (
        "import sys, rehydrate.cli; import types; hook = types.ModuleType('rehydrate.hook'); "
        "hook.main = lambda words: print(words, 'click' in sys.modules); sys.modules['rehydrate.hook'] = hook; "
        "rehydrate.cli.main()"
    )
    done = start("hook", "antigravity", "--as", "ephemeralMessage", code=code)
    assert done.stdout.decode().strip() == "['antigravity', '--as', 'ephemeralMessage'] False"


def test_visible_leaves_text_alone_and_nothing_else():
    assert output.visible("a\tb\nÄ→😀") == "a\tb\nÄ→😀"
    assert output.visible("\x1b[0m\u202e\ud800\x00") == "\\x1b[0m\\u202e\\ud800\\x00"


def test_a_short_path_has_the_home_folder_as_a_tilde():
    assert output.short("/home/a/x", {"HOME": "/home/a"}) == "~/x"
    assert output.short("/home/a", {"HOME": "/home/a"}) == "~"
    assert output.short("/home/ab", {"HOME": "/home/a"}) == "/home/ab"
    assert output.short("/x\n\x1b", {"HOME": "/"}) == "/x\\n\\x1b"


def test_no_command_is_cut_short_in_the_list(shell):
    listed = shell.run("--help").out.partition("Commands:")[2]
    assert "..." not in listed
