"""The pages of the library, from its docstrings."""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from docs.markdown import MADE, code, escaped

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "rehydrate"
SCAN, SESSION, CONTEXT = (PACKAGE / name for name in ("scan", "session", "context"))

SCAN_EXAMPLE = """\
## An example

```python
from rehydrate import scan

path = "transcript_full.jsonl"
tail = scan.scan_tail(path)
for mark in tail.boundaries:
    print(f"a compaction at step {mark.step}, {mark.length} bytes from offset {mark.offset} on")

steps = scan.iter_steps(path, types={"USER_INPUT"})
for step in steps:
    print(step.index, step.created_at, step.json()["content"][:60])

later = scan.scan_tail(path, steps.cursor)  # only what was written since
assert not later.restarted and later.lines == 0
```

`rehydrate scan` does the same [on the command line](commands.md#rehydrate-scan).
"""


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Public(NamedTuple):
    """A module's public names, read from its source: nothing is imported, so no backend can make a difference."""

    doc: str
    functions: dict[str, ast.FunctionDef]
    classes: dict[str, ast.ClassDef]
    names: dict[str, tuple[str, str]]
    """Other names with a docstring below them: value and docstring."""


def scan_page() -> str:
    """The operations, then what they give, then the types of what they take."""
    names = ("__init__", "_results", "_entries", "_arguments")
    face, results, entries, arguments = (_read(SCAN / f"{name}.py") for name in names)
    exported = _exported(SCAN / "__init__.py")
    parts = [f"{MADE}\n", "# The library: rehydrate.scan\n", _paragraphs(face.doc), SCAN_EXAMPLE]
    parts.append("## Operations\n")
    for name, function in face.functions.items():
        if name in exported:
            parts += [f"### {name}\n", _signature(function), _paragraphs(_doc(function))]
    parts.append("## Results\n")
    parts.append("Named tuples, but for `Entries` and the iterators. They compare, unpack and pickle as tuples do.\n")
    for name, each in (results.classes | entries.classes).items():
        if name in exported:
            parts += [f"### {name}\n", _paragraphs(_doc(each)), *_members(each)]
    for name, (value, doc) in results.names.items():
        if name in exported:
            parts += [f"### {name}\n", f"```text\n{name} = {value}\n```\n", _paragraphs(doc)]
    parts.append("## What the operations take\n")
    types = {name: value for name, (value, _) in arguments.names.items() if name[0].isupper() and not name.isupper()}
    taken = "\n".join(f"{name} = {value}" for name, value in types.items())
    parts.append(f"```text\n{taken}\n```\n")
    parts.append("## BACKEND\n")
    parts.append(
        'A str: `"rust"` when the compiled module runs, `"python"` when its twin does. It is chosen once, when '
        "`rehydrate.scan` is first imported. `REHYDRATE_PURE=1` in the environment takes the twin. Both give the same "
        "results and the same errors.\n"
    )
    return "\n".join(parts)


SESSION_MODULES = {
    "log": "Writing",
    "messages": "Entries",
    "stamp": "",
    "compacting": "",
    "place": "Files",
    "presence": "",
    "reading": "Reading",
    "views": "",
    "wire": "",
    "resume": "Going on",
    "copies": "Branches and forks",
    "agents": "Subagents",
    "remote": "Agents elsewhere",
    "archive": "Archives and other clients",
    "whole": "",
    "aio": "From asyncio",
    "errors": "Errors",
}
"""In the order of the page, with their headings; one without goes on under the heading before."""


CONTEXT_MODULES = {
    "engine": "The engine",
    "aio": "",
    "policy": "",
    "projection": "",
    "results": "",
    "hostledger": "",
    "ledger": "",
    "hooks": "",
    "summariser": "",
    "trimming": "Without a log",
    "checkpoint": "Checkpoints",
    "verifying": "",
    "meter": "Counting",
    "tokens": "",
    "usage": "",
    "messages": "Messages and formats",
    "wire": "",
    "validate": "",
    "errors": "Errors",
    "refusals": "",
}
"""As `SESSION_MODULES`."""


def session_page() -> str:
    """Every public name of `rehydrate.session`."""
    return _reference("session", SESSION, SESSION_MODULES)


def context_page() -> str:
    """Every public name of `rehydrate.context`."""
    return _reference("context", CONTEXT, CONTEXT_MODULES)


def _reference(name: str, package: Path, modules: dict[str, str]) -> str:
    """Every public name of a package, by module."""
    parts = [f"{MADE}\n", f"# rehydrate.{name}, the reference\n"]
    parts.append(f"What it is for, with examples, is told on [a page of its own]({name}.md).\n")
    public = _imported(package / "__init__.py")
    assert public.keys() <= modules.keys(), public.keys() - modules.keys()
    for module, heading in modules.items():
        if module not in public:
            continue
        path = package / f"{module}.py"
        found = _read(path if path.exists() else package / module / "__init__.py")
        if heading:
            parts += [f"## {heading}\n", _paragraphs(found.doc.partition("\n\n")[0])]
        for each in public[module]:
            parts += [f"### {each}\n", *_named(found, each)]
    return "\n".join(parts)


def _named(found: Public, name: str) -> Iterator[str]:
    """What a module's public name is."""
    if name in found.functions:
        function = found.functions[name]
        yield _signature(function)
        yield _paragraphs(_doc(function))
    elif name in found.classes:
        each = found.classes[name]
        yield _paragraphs(_doc(each))
        yield from _members(each)
    else:
        value, doc = found.names[name]
        yield f"```text\n{name} = {value}\n```\n"
        if doc:
            yield _paragraphs(doc)


def _imported(path: Path) -> dict[str, list[str]]:
    """Module -> the public names that a package has from it, as it tells type checkers."""
    body = ast.parse(path.read_text("utf-8")).body
    told = [node for each in body for node in (each.body if isinstance(each, ast.If) else [each])]
    nodes = [node for node in told if isinstance(node, ast.ImportFrom) and node.level]
    return {node.module or "": sorted(each.name for each in node.names) for node in nodes}


def _exported(path: Path) -> set[str]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise ValueError(f"{path} has no __all__")


def _read(path: Path) -> Public:
    tree = ast.parse(path.read_text("utf-8"))
    body = [each for node in tree.body for each in (node.body if isinstance(node, ast.If) else [node])]
    names = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and node.value is not None:
            names[target.id] = (ast.unparse(node.value), _text(after))
    return Public(
        ast.get_docstring(tree) or "",
        {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)},
        {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)},
        names,
    )


def _doc(node: Function | ast.ClassDef) -> str:
    doc = ast.get_docstring(node)
    if not doc:
        raise ValueError(f"{node.name} has no docstring")
    return doc


def _text(node: ast.stmt | None) -> str:
    """What a docstring below a name says; empty when the statement is none."""
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Fields and properties as a table, then how it is made where that is told, then the methods."""
    rows, methods = [], []
    for each, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            rows.append((each.target.id, _type(each.annotation), _text(after)))
        elif isinstance(each, Function) and each.name == "__init__":
            rows += _set_in(each)
            if ast.get_docstring(each) and not _doc(each).startswith("Use "):
                yield _signature(each, called=node.name)
                yield _paragraphs(_doc(each))
        elif isinstance(each, Function) and not each.name.startswith("_"):
            if any(ast.unparse(mark) in ("property", "cached_property") for mark in each.decorator_list):
                rows.append((each.name, _type(each.returns), _doc(each)))
            else:
                methods.append(each)
    if rows:
        yield "| member | type | meaning |\n|---|---|---|"
        yield "".join(_row(node.name, *row) for row in rows)
    for each in methods:
        yield f"#### {node.name}.{each.name}\n"
        yield _signature(each)
        yield _paragraphs(_doc(each))


def _set_in(made: Function) -> Iterator[tuple[str, str, str]]:
    """The public attributes that are set where an object is made, as far as a docstring tells of them."""
    for each, after in zip(made.body, [*made.body[1:], None], strict=True):
        if isinstance(each, ast.Assign | ast.AnnAssign):
            target = each.targets[0] if isinstance(each, ast.Assign) else each.target
            public = isinstance(target, ast.Attribute) and not target.attr.startswith("_")
            if isinstance(target, ast.Attribute) and public and _text(after):
                yield target.attr, _type(each.annotation) if isinstance(each, ast.AnnAssign) else "", _text(after)


def _row(owner: str, name: str, type_name: str, doc: str) -> str:
    kind = code(type_name) if type_name else ""
    return f"| `{name}` | {kind} | {' '.join(doc.split())} |\n"


def _type(node: ast.expr | None) -> str:
    """An annotation as it is written, whether or not it stands in quotes."""
    if node is None:
        return "None"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _signature(function: Function, *, called: str = "") -> str:
    """The signature on one line, or with an argument a line where that is too long.  `called`: a name for a class."""
    given = function.args
    words = []
    plain = [each for each in (*given.posonlyargs, *given.args) if each.arg not in ("self", "cls")]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for argument, default in zip(plain, defaults, strict=True):
        words.append(_parameter(argument, default))
        if given.posonlyargs and argument is given.posonlyargs[-1]:
            words.append("/")
    if given.vararg is not None:
        words.append(f"*{_parameter(given.vararg, None)}")
    if given.kwonlyargs:
        words += [] if given.vararg is not None else ["*"]
        words += [_parameter(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        words.append(f"**{_parameter(given.kwarg, None)}")
    end = ")" if called else f") -> {_type(function.returns)}"
    name = called or f"{'async ' if isinstance(function, ast.AsyncFunctionDef) else ''}{function.name}"
    line = f"{name}({', '.join(words)}{end}"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {word},\n" for word in words) + end
    return f"```text\n{line}\n```\n"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    text = f"{argument.arg}: {_type(argument.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def _paragraphs(doc: str) -> str:
    """A docstring's paragraphs, each on a line of its own; one that is indented is code."""
    told = []
    for each in re.split(r"\n[ \t]*\n", doc.strip()):
        if all(line.startswith("    ") for line in each.split("\n")):
            told.append("```text\n" + textwrap.dedent(each) + "\n```")
        else:
            told.append(escaped(re.sub(r"\s+", " ", each)))
    return "\n\n".join(told) + "\n"
