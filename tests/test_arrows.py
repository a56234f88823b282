"""Imports inside the package go one way: cli, hook -> serve -> clients, recall -> conversation; clients -> scan."""

import ast
from pathlib import Path

import pytest

import rehydrate

PACKAGE = Path(rehydrate.__file__).parent

ROOMS = {
    "": {"scan"},  # named, and imported when asked for
    "_native": set(),
    "cli": {"", "clients", "conversation", "hook", "paths", "registration", "scan", "serve", "settings", "state"},
    "clients": {"conversation", "paths", "scan"},
    "conversation": set(),
    "files": {"_native"},
    "hook": {"_native", "clients", "conversation", "gate", "scan", "serve", "settings", "state"},
    "gate": {"scan"},
    "paths": set(),
    "recall": {"conversation", "files", "redact", "settings"},
    "redact": set(),
    "registration": {"clients", "paths", "state"},
    "scan": {"_native"},
    "serve": {"clients", "conversation", "files", "recall", "settings"},
    "settings": set(),
    "state": {"paths"},
}
"""Room -> the other rooms it may import from."""

MEMBERS = {"hostfile": "registration", "invocation": "hook", "jsonspans": "registration", "launch": "registration"}
"""Modules that belong to a room of another name."""


def room_of(module):
    """The room of a module of ours, given by its dotted name below the package."""
    parts = module.split(".")
    if parts[0] == "clients" and parts[2:] == ["install"]:
        return "registration"  # never imported by the hook
    return MEMBERS.get(parts[0], parts[0])


def modules():
    """Dotted name below the package -> file."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = list(file.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()


def imports(module):
    """Every module of ours that is imported anywhere in the file, in functions and for types only included."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
                above = package[: len(package) - node.level + 1]
                base = ".".join(["rehydrate", *filter(None, above), *filter(None, [node.module])])
            names = [f"{base}.{each.name}" for each in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == "rehydrate" and rest:
                yield rest if rest in MODULES or rest.startswith("_native") else rest.rpartition(".")[0]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_rooms_below_its_own(module):
    room = room_of(module)
    allowed = ROOMS[room] | {room}
    wrong = {name for name in imports(module) if room_of(name) not in allowed}
    assert not wrong, f"{module} (in {room}) imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("clients.")])
def test_a_client_knows_no_other_client(module):
    own = module.split(".")[1]
    others = {name for name in imports(module) if name.startswith("clients.") and name.split(".")[1] != own}
    assert not others


@pytest.mark.parametrize("module", [name for name in MODULES if room_of(name) != "cli"])
def test_only_the_command_line_needs_more_than_the_standard_library(module):
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    assert "click" not in {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
