"""What a log that is written has to know of its file: where the conversation ends, what is in it, and which calls wait.

A file that is not there (yet, or any more) has no entries.
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from rehydrate import scan
from rehydrate.entries.ends import leaf
from rehydrate.entries.log import Log
from rehydrate.entries.messages import Call, is_summary
from rehydrate.entries.scope import BOUNDARY, Scope, boundary_of
from rehydrate.entries.turns import waiting
from rehydrate.entries.view import full_view


class Above(NamedTuple):
    """What an entry follows."""

    parent: str | None
    """Uuid of the nearest one above it that was not given up; None where there is none."""
    is_compaction: bool
    """Whether it is the boundary of a compaction or its summary."""


class Row(NamedTuple):
    """A record that was written to a file lately."""

    uuid: str | None
    parent: str | None
    type: str | None
    is_boundary: bool
    """Whether it is a compaction."""
    is_aside: bool
    """Whether it is a subagent's."""
    after: str | None
    """What its compaction has followed."""
    checkpoint: object
    """What its compaction holds beside the summary."""


def since(path: str, end: int) -> Iterator[Row]:
    """The records behind a place in a file; those of all of it where it has become shorter than that."""
    cursor = None
    with contextlib.suppress(ValueError):
        cursor = scan.cursor_at(path, end)
    names = ("uuid", "parentUuid", "type", "subtype", "isSidechain", "logicalParentUuid", "checkpoint")
    for uuid, parent, kind, subtype, is_aside, after, checkpoint, _, _ in scan.iter_records(path, names, cursor=cursor):
        is_boundary = kind == "system" and subtype == BOUNDARY
        yield Row(_text(uuid), _text(parent), _text(kind), is_boundary, is_aside is True, _text(after), checkpoint)


def _text(found: object) -> str | None:
    return found if isinstance(found, str) else None


def uuids(path: str) -> set[str]:
    """Of every entry in a file."""
    with contextlib.suppress(FileNotFoundError):
        return {entry.uuid for entry in scan.read_tree(path).entries if entry.uuid}
    return set()


def end(path: str, *, is_agents: bool) -> str | None:
    """Uuid of the entry that the conversation ends with; None when there is none.  `is_agents`: it is the log of a
    subagent.
    """
    with _read(path) as log:
        if log is None:
            return None
        at = leaf(Scope(log, agent=is_agents))
        return None if at is None else log.entries[at].uuid


def above(path: str, uuid: str) -> Above | None:
    """What the entry follows; None when it is not there."""
    with _read(path) as log:
        at = None if log is None else log.at(uuid)
        if log is None or at is None:
            return None
        record = log.record(at)
        gone = Scope(log).retracted
        named, seen = log.entries[at].parent, {at}
        while (at := log.at(named)) in gone and at is not None and at not in seen:
            seen.add(at)
            named = log.entries[at].parent
        return Above(named, boundary_of(record) is not None or is_summary(record))


def open_calls(path: str, *, tip: str | None, is_agents: bool) -> list[Call]:
    """The calls on the way to the tip that no result has come for, in order."""
    with _read(path) as log:
        at = log.at(tip) if log is not None else None
        if log is None or at is None:
            return []
        return waiting(log, full_view(Scope(log, agent=is_agents), tip=at).entries)


@contextlib.contextmanager
def _read(path: str) -> Iterator[Log | None]:
    try:
        log = Log(path)
    except FileNotFoundError:
        yield None
        return
    with log:
        yield log
