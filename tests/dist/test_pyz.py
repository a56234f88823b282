"""rehydrate.pyz: one file that needs nothing but an interpreter."""

import ast
import os
import re
import subprocess
import sys
import zipfile

import pytest

from rehydrate.cli.group import COMMANDS

from .field import CONVERSATION, Field, serve

TRANSCRIPT = f"../gemini/antigravity-cli/brain/{CONVERSATION}/.system_generated/logs/transcript.jsonl"
WORDS = {
    "install": ["--dry-run"],
    "uninstall": ["--dry-run"],
    "show": [CONVERSATION],
    "lineage": [CONVERSATION],
    "scan": [TRANSCRIPT],
}
"""What a command is run with, when its name alone does not make it do its work."""
LOADED = """
import os, sys
def end(status, end=os._exit):
    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        print(name, getattr(spec, "origin", None), sep="\\t", file=sys.stderr)
    sys.stderr.flush()
    end(status)
os._exit = end
sys.path.append(sys.argv.pop(1))
from rehydrate.hook import main
main()
"""


def test_it_serves_a_compaction_with_nothing_beside_it(field):
    serve(field, "python")


def test_it_serves_when_started_by_a_relative_path(pyz, tmp_path):
    start = os.path.relpath(pyz, tmp_path / "field" / "tidepool")
    serve(Field(tmp_path / "field", [sys.executable, "-I", "-S", start]), "python")


def test_the_hook_of_a_file_that_is_gone_answers_nothing(field, pyz):
    field.run("install", "antigravity")
    pyz.unlink()
    assert field.invoke() == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_finds_what_it_imports(field, command):
    field.run("install", "antigravity")
    assert field.invoke()
    words = [command, *WORDS.get(command, [])]
    assert field.run(*words) and field.run(command, "--help")
    on_a_terminal(field, words)


def on_a_terminal(field, arguments):
    """Run the command where it may use colours, bars and a pager; its exit status must be 0."""
    pty = pytest.importorskip("pty")
    outer, inner = pty.openpty()
    environ = field.environ | {"TERM": "xterm-256color", "PAGER": "cat"}
    streams = {"stdin": inner, "stdout": inner, "stderr": inner}
    process = subprocess.Popen([*field.rehydrate, *arguments], cwd=field.workspace, env=environ, **streams)
    os.close(inner)
    said = b""
    while chunk := read(outer):
        said += chunk
    os.close(outer)
    assert process.wait() == 0, said.decode()
    assert said.strip()


def read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def loaded_by_the_hook(field, pyz):
    """Module -> where it came from, once the hook has answered; and the answer."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", LOADED, str(pyz), "antigravity"],
        input=field.payload(), env=field.environ, capture_output=True,
    )  # fmt: skip
    return dict(line.split("\t") for line in done.stderr.decode().splitlines()), done.stdout


def test_the_hook_imports_the_standard_library_and_our_modules_only(field, pyz):
    field.run("install", "antigravity")
    delivering, delivery = loaded_by_the_hook(field, pyz)
    idle, nothing = loaded_by_the_hook(field, pyz)
    assert b"injectSteps" in delivery and nothing == b"{}"
    assert "rehydrate.recall" in delivering and "rehydrate.recall" not in idle
    inside = {name: origin for name, origin in (delivering | idle).items() if origin.startswith(str(pyz))}
    assert {name.partition(".")[0] for name in inside} == {"rehydrate"}
    outside = {name.partition(".")[0] for name in (delivering | idle)} - {"rehydrate", "__main__"}
    assert outside <= set(sys.stdlib_module_names)


def test_the_hook_compiles_nothing_on_the_python_that_built_the_file(field, pyz):
    field.run("install", "antigravity")
    loaded, _ = loaded_by_the_hook(field, pyz)
    inside = [origin for origin in loaded.values() if origin.startswith(str(pyz))]
    assert inside and all(origin.endswith(".pyc") for origin in inside)


def test_the_hook_needs_no_zlib(field, pyz):
    field.run("install", "antigravity")
    assert "zlib" not in loaded_by_the_hook(field, pyz)[0]


def test_the_bytecode_of_another_python_is_passed_over(pyz, tmp_path):
    other = tmp_path / "other.pyz"
    with zipfile.ZipFile(pyz) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, b"\x01\x02\r\n" + content[4:] if name.endswith(".pyc") else content)
    serve(Field(tmp_path / "field", [sys.executable, "-I", "-S", str(other)]), "python")


def test_an_old_python_is_told_which_one_is_needed(pyz):
    code = "import runpy, sys; sys.version_info = (3, 9, 18, 'final', 0); runpy.run_path(sys.argv[1])"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, pyz], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"rehydrate needs Python 3\.10 or later, and this is Python 3\.9 \(.*\)\n", done.stderr)


def test_an_old_python_can_read_the_file_that_tells_it(pyz):
    source = zipfile.ZipFile(pyz).read("__main__.py")
    tree = ast.parse(source, feature_version=(3, 4))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]


def test_each_package_brings_its_licence_and_nothing_of_its_machinery(pyz):
    names = zipfile.ZipFile(pyz).namelist()
    packages = {name.partition("/")[0] for name in names if "/" in name and ".dist-info/" not in name}
    assert packages == {"rehydrate", "click", "rich", "tomli", "tomlkit"}
    for package in packages:
        assert [name for name in names if re.fullmatch(rf"{package}-[\d.]+\.dist-info/licenses/LICENSE.*", name)]
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyi", "RECORD", "WHEEL"))]
