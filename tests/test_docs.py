"""The documentation says what is so: made pages are current, links lead somewhere, commands and examples hold."""

import ast
import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from docs import command_pages, generate, library_pages
from rehydrate import context, hook, scan, session
from rehydrate.cli.group import rehydrate
from rehydrate.cli.options import Run

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
]
SAMPLE = ROOT / "demo/sample/home/antigravity-cli/brain/c47ae950-6d1b-4f0e-b3b8-1e8f0a9d2c64"
TRANSCRIPT = SAMPLE / ".system_generated/logs/transcript_full.jsonl"

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def named(path):
    return path.relative_to(ROOT).as_posix()


def prose(path):
    """The page without its blocks of code."""
    text = FENCED.sub("", path.read_text("utf-8"))
    return re.sub(r"(?m)^ {4}.*$", "", text)


def anchors(path):
    """What its headings can be linked by."""
    found = re.findall(r"(?m)^#+ (.+)$", prose(path))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_link_leads_somewhere(path):
    text = re.sub(r"`[^`]*`", "", prose(path))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.is_file(), f"{named(path)} links to {target}"
        assert not anchor or anchor in anchors(found), f"{named(path)} links to {target}"


def commands(path):
    """Every command line of ours that a page shows in a block."""
    text = path.read_text("utf-8")
    blocks = [body for language, body in FENCED.findall(text) if language in ("sh", "console")]
    lines = [line.removeprefix("$ ") for body in blocks for line in body.splitlines()]
    lines += re.findall(r"(?m)^ {4}(.+)$", FENCED.sub("", text))
    for line in lines:
        ours = re.match(r"(?:[A-Z_]+=\S+ )*rehydrate (?!\|)(.*)", line)
        if ours:
            yield shlex.split(ours[1].split("  #")[0].split(" | ")[0])


def parse(words):
    """As it would be before the command runs; nothing is run."""
    if words[:1] == ["hook"]:
        hook._arguments(words[1:])
        return
    command, context = rehydrate, click.Context(rehydrate, info_name="rehydrate", obj=Run())
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        below = command.get_command(context, name)
        assert below is not None, f"there is no command {name}"
        command, context = below, click.Context(below, info_name=name, parent=context)
    with contextlib.suppress(click.exceptions.Exit):  # --help and --version have done their work
        command.make_context(command.name, list(words), parent=context.parent)


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_command_line_is_one(path):
    for words in commands(path):
        parse(words)


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_command_in_the_text_exists(path):
    for line in re.findall(r"`rehydrate ([^`]+)`", prose(path)):
        with contextlib.suppress(click.MissingParameter):  # a command may be named without what it needs
            parse(shlex.split(line))


def test_a_command_line_that_is_none_is_noticed():
    for words in (["shew"], ["show", "--wy"], ["install", "nobody"], ["show", "a", "b"]):
        with pytest.raises((AssertionError, click.ClickException)):
            parse(words)


def examples(path):
    """The blocks of Python, less those for pydantic-ai where it is not there: it has left Python 3.10."""
    bodies = [body for language, body in FENCED.findall(path.read_text("utf-8")) if language == "python"]
    return [body for body in bodies if "pydantic_ai" not in body or importlib.util.find_spec("pydantic_ai")]


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_python_example_runs(path, tmp_path, monkeypatch, capsys):
    shutil.copy(TRANSCRIPT, tmp_path)
    monkeypatch.chdir(tmp_path)
    for body in examples(path):
        exec(compile(body, named(path), "exec"), {})
        assert capsys.readouterr().out


def test_every_python_example_passes_a_strict_type_check(tmp_path):
    files = []
    for path in PAGES:
        for body in examples(path):
            files.append(tmp_path / f"example_{len(files)}.py")
            files[-1].write_text(f"# {named(path)}\n{body}", "utf-8")
    environ = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", *files]
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert files and done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["commands.md", "scan.md", "session-reference.md", "context-reference.md"])
def test_made_pages_are_current(name):
    path = ROOT / "docs" / name
    assert generate.pages()[path] == path.read_text("utf-8"), "run `python -m docs.generate`"


def test_a_signature_has_every_kind_of_argument():
    (function,) = ast.parse("def go(a: int, /, b: int = 1, *c: int, d: int, **e: int) -> None: ...").body
    assert "go(a: int, /, b: int = 1, *c: int, d: int, **e: int) -> None" in library_pages._signature(function)


def test_check_fails_for_a_stale_page(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "page.md"
    stale.write_text("old")
    monkeypatch.setattr(generate, "pages", lambda: {stale: "new"})
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert generate.main() == 1
    assert stale.read_text() == "old"
    assert "page.md is stale" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["generate.py"])
    assert generate.main() == 0
    assert stale.read_text() == "new"


def test_the_page_of_the_library_has_every_public_name():
    headings = re.findall(r"(?m)^##+ (.+)$", library_pages.scan_page())
    assert set(scan.__all__) <= set(headings)


def test_the_reference_of_sessions_has_every_public_name():
    headings = re.findall(r"(?m)^### (.+)$", library_pages.session_page())
    assert sorted(headings) == sorted(session.__all__)


def test_the_reference_of_contexts_has_every_public_name():
    headings = re.findall(r"(?m)^### (.+)$", library_pages.context_page())
    assert sorted(headings) == sorted(context.__all__)


def test_the_page_of_commands_has_every_command_with_an_example():
    page = command_pages.commands_page()
    for name in rehydrate.list_commands(click.Context(rehydrate)):
        section = page.split(f"\n## rehydrate {name}\n")[1].split("\n## ")[0]
        assert f"```sh\nrehydrate {name}" in section


def test_the_site_builds(tmp_path):
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site/how-it-works.html").read_text("utf-8")
    assert 'href="SECURITY.html"' in page
    assert "//cdn" not in page
