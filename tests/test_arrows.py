"""Imports inside the package go one way: cli, hook -> serve -> clients, recall -> conversation; clients ->
transcripts -> entries -> scan; clients/session -> session -> entries."""

import ast
import sys
from pathlib import Path

import pytest

import rehydrate

PACKAGE = Path(rehydrate.__file__).parent

ROOMS = {
    "": {"scan"},  # named, and imported when asked for
    "_native": set(),
    "__main__": {"cli"},
    "cli": {
        *("", "clients", "context", "conversation", "entries", "hook", "paths", "recall", "redact"),
        *("registration", "scan", "serve", "session", "settings", "state", "unseen"),
    },
    "clients": {"_native", "conversation", "digest", "entries", "paths", "scan", "transcripts", "unseen"},
    "clients.session": {"conversation", "paths", "scan", "session", "transcripts"},
    "context": {"digest", "entries", "files", "packing", "paths", "redact", "scan", "session"},
    "conversation": set(),
    "dataclass": set(),
    "digest": set(),
    "entries": {"paths", "scan"},
    "files": {"_native"},
    "frameworks": {"context", "digest", "session"},
    "hook": {"_native", "clients", "conversation", "gate", "scan", "serve", "settings", "state"},
    "gate": {"scan"},
    "notable": {"_native", "redact"},
    "packing": set(),
    "paths": set(),
    "recall": {"conversation", "digest", "files", "notable", "packing", "redact", "settings", "unseen"},
    "redact": set(),
    "registration": {"", "clients", "conversation", "hook", "paths", "settings", "state"},
    "scan": {"_native"},
    "session": {"", "entries", "paths", "scan"},
    "serve": {"clients", "conversation", "files", "recall", "settings", "state"},
    "settings": {"clients", "paths"},  # of `clients` only the names
    "state": {"digest", "paths"},
    "transcripts": {"conversation", "digest", "entries", "notable", "paths", "scan"},
    "unseen": set(),
}
"""Room -> the other rooms it may import from."""

EVERYWHERE = {"dataclass"}
"""What stands in for a module of the standard library that is slow to load."""

MEMBERS = {
    "credentials": "files",
    "deadline": "hook",
    "hostfile": "registration",
    "invocation": "hook",
    "stretches": "hook",
    "jsonspans": "registration",
    "compaction": "hook",
    "launch": "registration",
    "plan": "state",
    "secret_shapes": "redact",
    "private": "paths",
    "scratch": "paths",
    "settingsfile": "settings",
}
"""Modules that belong to a room of another name."""


def room_of(module):
    """The room of a module of ours, given by its dotted name below the package."""
    parts = module.split(".")
    if parts[0] == "clients" and parts[2:] in (["install"], ["registered"], ["rehearsal"], ["policy"], ["plugins"]):
        return "registration"  # never imported by the hook
    if parts[:2] == ["clients", "session"]:
        return "clients.session"  # of the library's own, which no other client needs
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
    allowed = ROOMS[room] | EVERYWHERE | {room}
    wrong = {name for name in imports(module) if room_of(name) not in allowed}
    assert not wrong, f"{module} (in {room}) imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("clients.")])
def test_a_client_knows_no_other_client(module):
    own = module.split(".")[1]
    others = {name for name in imports(module) if name.startswith("clients.") and name.split(".")[1] != own}
    assert not others


@pytest.mark.parametrize("module", [name for name in MODULES if room_of(name) != "cli"])
def test_only_the_command_line_needs_more_than_the_standard_library(module):
    needed = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            needed |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            needed.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and "find_spec" in ast.unparse(node.func):
            needed |= {each.value for each in node.args if isinstance(each, ast.Constant)}
    of_another_version = {"settingsfile": {"tomli", "tomllib"}, "digest": {"_sha2", "_sha256"}}
    where_it_is_there = {  # what an extra brings
        "context.tokens": {"bpe_openai"},
        "frameworks.langchain": {"langchain", "langchain_core", "langgraph", "pydantic_core"},
        "frameworks.openai_agents": {"agents"},
        "frameworks.pydantic_ai": {"pydantic_ai"},
    }
    allowed = {"rehydrate", *of_another_version.get(module, ()), *where_it_is_there.get(module, ())}
    assert needed - sys.stdlib_module_names <= allowed
