"""The files that a conversation last worked on, as they are on disk now: what a compaction can bring back of them.

A path in a conversation is data, never a permission: only files of the workspace are read, as `rehydrate.files` has it,
with secrets masked.  A file that cannot be read takes nobody's place.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rehydrate.files import Access, Refused, normalise
from rehydrate.paths import encodable
from rehydrate.redact import mask

from .messages import Block, Message, calls
from .policy import Rank
from .results import results_of

FILES: Final = 5
LINES: Final = 200
"""Of each file (spec E)."""
_LINE_CHARS: Final = 120
"""So many characters for each line that may be shown are the most of a file: one line can be a megabyte."""
_LOOKED_AT: Final = 2_000
"""Files; older ones are left out unseen, so that no log can make this slow."""
_PATH_CHARS: Final = 4_096
_DEPTH: Final = 3
"""Levels of an input in which names of files are looked for."""
_NAMES_FILE = re.compile(r"(?:path|file|filename|notebook)s?\Z", re.IGNORECASE)
"""How the names of members end that name files: `file_path`, `notebook_path`, `TargetFile`, `paths`."""


@dataclass(frozen=True, slots=True)
class RecentFile:
    """A file of the workspace, as it was on disk when it was read."""

    path: str
    """Absolute and normalised."""
    kind: Literal["modified", "read"]
    text: str
    """Its beginning, secrets masked: whole lines, unless the first one is too long.  A last line in brackets says how
    much is left out, where anything is."""


def recent_files(
    messages: Sequence[Message],
    *,
    workspace: str | None,
    ranks: Callable[[Block], Rank],
    denied: Collection[str] = (),
    limit: int = FILES,
    lines: int = LINES,
) -> list[RecentFile]:
    """The files of the workspace that calls name, those that were modified before those that were only read, the last
    touched one of each first; at most `limit`, of each at most `lines` lines.

    `workspace`: absolute; without one (None, a relative path or `/`) there are no files.  Relative paths are of the
    workspace.  `ranks` tells whether a call only reads.  `denied`: files and folders never read, such as the one that
    the session itself is kept in.  Calls that are flagged as failed touch nothing.  Never raises for what a path or a
    file may be.
    """
    if workspace is None or not _is_workspace(workspace):
        return []
    access = Access((workspace,), denied=denied)
    touched = _touched(messages, workspace, ranks)
    modified = [path for path, rank in touched.items() if rank == "write"]
    read = [path for path, rank in touched.items() if rank == "read"]
    found: list[RecentFile] = []
    for path in (modified + read)[:_LOOKED_AT]:
        if len(found) >= limit:
            break
        content = access.read(path)
        if not isinstance(content, Refused):
            text = _beginning(mask(content.text), lines, path=path)
            found.append(RecentFile(path, "modified" if touched[path] == "write" else "read", text))
    return found


def _is_workspace(path: str) -> bool:
    """Whether it can hold files in: of all that lies below `/`, or that a relative path names, nothing is said."""
    return os.path.isabs(path) and encodable(path) and os.path.realpath(path) != "/"


def _touched(messages: Sequence[Message], workspace: str, ranks: Callable[[Block], Rank]) -> dict[str, Rank]:
    """Each file once, with `write` where any call writes it: the latest touch of that kind first."""
    failed = {
        id(each.call) for each in results_of(messages) if each.call is not None and each.block.get("is_error") is True
    }
    modified: dict[str, Rank] = {}
    read: dict[str, Rank] = {}
    for message in reversed(messages):
        for call in reversed(list(calls(message))):
            if id(call) in failed:
                continue
            rank = ranks(call)
            for path in _paths(call.get("input"), depth=_DEPTH):
                whole = normalise(os.path.join(workspace, path))
                (modified if rank == "write" else read).setdefault(whole, rank)
    return {**modified, **{path: rank for path, rank in read.items() if path not in modified}}


def _paths(given: object, *, depth: int) -> Iterator[str]:
    """What the input of a call names as files, in its order."""
    if not isinstance(given, Mapping) or depth <= 0:
        return
    for name, value in given.items():
        if isinstance(name, str) and _NAMES_FILE.search(name):
            named = value if isinstance(value, list) else [value]
            yield from (path for path in named if isinstance(path, str) and len(path) <= _PATH_CHARS)
        for each in value if isinstance(value, list) else [value]:
            yield from _paths(each, depth=depth - 1)


def _beginning(text: str, lines: int, *, path: str) -> str:
    """So many lines of it, fewer where they are beyond measure, and how much that leaves out."""
    most = lines * _LINE_CHARS
    end = 0
    for _ in range(lines):
        stop = text.find("\n", end) + 1 or len(text)
        if stop > most:
            break
        end = stop
    shown = text[: end or most]
    if len(shown) == len(text):
        return text
    left_out = f"[... {len(text) - len(shown):,} characters left out, they are in {path} ...]"
    return f"{shown}{left_out}" if shown.endswith("\n") else f"{shown}\n{left_out}"
