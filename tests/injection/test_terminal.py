"""Whatever a log, a folder, a setting or a file of the host is called or holds, no command lets a terminal obey it."""

import json
import os
import re
import subprocess
import sys

import pytest

from rehydrate.conversation import MARKER_HEAD
from tests.cli.terminal import see
from tests.injection.hostile import raw_signs
from tests.process.home import Home, checkpoint, long_talk, said, user

EVIL = "\x1b]52;c;cm0=\x07\x1b[2J\x9b2J\x9d\u202ea\u2066b\u200e\u200b\u2028\r\U000e0041\x7f\x1bP\x1b\\\b"
NAME = f"e{EVIL}"
"""Of folders and files."""
SESSION = "c0ffee00-0000-4000-8000-000000000001"
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\r?\x1b\[(?:2K|1A)")
"""Colours, and the progress bar's way to draw itself again."""


@pytest.fixture(scope="module")
def evil_home(tmp_path_factory):
    """Both clients' homes, with EVIL wherever something from elsewhere can stand."""
    folder = tmp_path_factory.mktemp("home")
    try:
        (folder / NAME).mkdir()
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    home = Home(folder)
    work = folder / NAME / "work"
    work.mkdir()
    plan = work / f"PLAN{EVIL}.md"
    plan.write_text(f"# {EVIL}\n", "utf-8")
    calls = [("view_file", {"AbsolutePath": str(plan)}), (NAME, {"Path": f"/{NAME}"}),
             ("run_command", {"CommandLine": EVIL})]  # fmt: skip
    for session in (SESSION, NAME, os.fsdecode(b"r\x9b2J\x1b[2J")):
        talk = [
            user(0, f"Title {EVIL}"),
            said(1, EVIL, *calls),
            *long_talk(2),
            checkpoint(20, f"{{{{ CHECKPOINT 3 }}}}{EVIL}"),
        ]
        home.write(session, [*talk, b'{"type":"' + EVIL.encode() + b'"\n'])
        state = {"version": 1, "conversation": session, "error": EVIL, "delivery": {"id": EVIL, "status": EVIL}}
        home.state(session).write_text(json.dumps(state), "utf-8")
    rows = [{"display": EVIL, "timestamp": 1, "workspace": str(work), "conversationId": SESSION}]
    (home.app / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (home.gemini / "config").mkdir()
    hooks = {NAME: {"PreInvocation": [{"type": "command", "command": f"rehydrate {EVIL}", "timeout": EVIL}]}}
    (home.gemini / "config" / "hooks.json").write_text(json.dumps(hooks), "utf-8")
    project = folder / ".claude" / "projects" / NAME
    project.mkdir(parents=True)
    entry = {"parentUuid": None, "uuid": EVIL, "sessionId": "s", "cwd": str(work), "type": "user",
             "message": {"role": "user", "content": EVIL}}  # fmt: skip
    entries = [entry, {"type": "custom-title", "customTitle": EVIL, "sessionId": "s"},
               {**entry, "uuid": f"b{EVIL}", "parentUuid": EVIL, "type": "system", "subtype": "compact_boundary"},
              ]  # fmt: skip
    (project / f"{NAME}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in entries), "utf-8")
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": EVIL}, EVIL: 1}), "utf-8")
    config = folder / ".config" / "rehydrate"
    config.mkdir(parents=True)
    evil = {text: '"' + "".join(f"\\U{ord(sign):08x}" for sign in text) + '"' for text in (EVIL, NAME)}
    toml = f"requests_chars = {evil[EVIL]}\nextra_roots = [{evil[NAME]}]\ndeny = [{evil[EVIL]}]\n{evil[NAME]} = 1\n"
    (config / "rehydrate.toml").write_text(toml, "utf-8")
    return home


def log_of(home, client):
    if client == "antigravity":
        return str(home.transcript(SESSION))
    return str(home.gemini.parent / ".claude" / "projects" / NAME / f"{NAME}.jsonl")


COMMANDS = {
    "show": ("show", "{a}"),
    "show text": ("show", "{a}", "--text"),
    "show why": ("show", "{a}", "--why"),
    "show end": ("show", "{a}", "--at", "end"),
    "show claude": ("show", "{c}"),
    "show claude text": ("show", "{c}", "--text"),
    "show claude part": ("show", "{c}", "--part", "1"),
    "show claude why": ("show", "{c}", "--why"),
    "show evil": ("show", NAME),
    "show none": ("show", f"none{EVIL}"),
    "show no path": ("show", f"/none/{EVIL}"),
    "show several": ("show", ""),
    "show option": ("show", f"--{EVIL}"),
    "show at": ("show", "--at", EVIL),
    "lineage": ("lineage", "{a}"),
    "lineage claude": ("lineage", "{c}"),
    "sessions": ("sessions",),
    "scan": ("scan", "{a}"),
    "scan claude": ("scan", "{c}"),
    "scan tail": ("scan", "{c}", "--tail"),
    "scan none": ("scan", f"/none/{EVIL}"),
    "doctor": ("doctor",),
    "doctor debug": ("doctor", "--debug"),
    "config": ("config",),
    "config set": ("config", "set", EVIL, EVIL),
    "config get": ("config", "get", EVIL),
    "install": ("install", "--dry-run"),
    "install claude": ("install", "claude-code", "--dry-run"),
    "uninstall": ("uninstall", "--dry-run"),
    "no command": (EVIL,),
    "debug": ("show", f"/none/{EVIL}", "--debug"),
}
JSON = {
    name: (*COMMANDS[name], "--json")
    for name in ("show", "show claude", "lineage", "lineage claude", "sessions", "scan", "scan claude", "scan tail",
                 "doctor", "config", "install", "uninstall")
}  # fmt: skip


def words_of(home, command):
    logs = {"{a}": log_of(home, "antigravity"), "{c}": log_of(home, "claude-code")}
    return [logs.get(word, word) for word in command]


def environ_of(home, **more):
    taken_out = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR"))
    evil = {"REHYDRATE_DIALOGUE_CHARS": EVIL, "PAGER": "cat"}
    return {**taken_out, "HOME": str(home.gemini.parent), "GEMINI_HOME": str(home.gemini), **evil, **more}


def assert_harmless(raw):
    text = raw.decode("utf-8").replace("\r\n", "\n")  # every byte above 0x7f is part of a character
    assert raw_signs(text) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_reaches_a_terminal_that_it_obeys(evil_home, name):
    words = words_of(evil_home, COMMANDS[name])
    seen = see(*words, environ=environ_of(evil_home, TERM="dumb"), cwd=evil_home.work)
    assert seen.raw.strip() and seen.status in (0, 1, 2)
    assert "should not happen" not in seen.out
    assert_harmless(seen.raw)


@pytest.mark.parametrize("name", ["show", "show why", "show text", "lineage", "sessions", "doctor", "config"])
def test_with_colours_nothing_but_these_is_added(evil_home, name):
    seen = see(*words_of(evil_home, COMMANDS[name]), environ=environ_of(evil_home), cwd=evil_home.work)
    assert_harmless(OWN.sub("", seen.out).encode())


@pytest.mark.parametrize("name", JSON)
def test_json_keeps_what_is_there_as_escapes(evil_home, name):
    words = words_of(evil_home, JSON[name])
    command = [sys.executable, "-c", "from rehydrate.cli import main; main()", *words]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ_of(evil_home)}
    done = subprocess.run(
        command,
        capture_output=True,
        timeout=60,
        cwd=evil_home.work,
        env={key: value for key, value in environ.items() if value is not None},
    )
    assert done.stdout, done.stderr
    assert raw_signs(done.stdout.decode("ascii")) == set()
    assert_harmless(done.stderr)
    for line in done.stdout.decode().splitlines() if name.startswith("scan") else [done.stdout]:
        json.loads(line)


def test_the_marker_in_a_title_is_told_as_it_is(evil_home):
    """People are shown what is there: only what a terminal obeys is changed for them."""
    log = evil_home.gemini.parent / "plain.jsonl"
    log.write_text(json.dumps({"step_index": 0, "type": "USER_INPUT", "content": f"{MARKER_HEAD}] x"}) + "\n", "utf-8")
    seen = see("show", log, environ=environ_of(evil_home, TERM="dumb"), cwd=evil_home.work)
    assert f"{MARKER_HEAD}] x" in seen.out
