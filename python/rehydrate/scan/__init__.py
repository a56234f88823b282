"""Bytes to records: the steps of a JSONL transcript, whatever state the file is in.

A line ends at `\\n` (a `\\r` before it belongs to the ending); what follows the last `\\n` is unfinished and never
reported.  Blank lines, runs of NUL bytes and a UTF-8 BOM at offset 0 are skipped.  A damaged line, one that is not a
JSON object, never stops a read: it is counted and the next one is read; whole objects on it (`}{`, or behind a broken
prefix) are still found.  Only members of the top-level object count, in any order, with any escapes; of duplicate keys
the last one.  Nothing beyond the size that the file has when it is opened is read, and no file is ever mapped.

Every operation takes a path as str, bytes or PathLike and raises the OSError of the system: FileNotFoundError,
PermissionError, IsADirectoryError; OSError with EINVAL for a FIFO, a socket or a device, without waiting, and for what
can be no path.  The error's `filename` is a str.  A file that is cut short while it is read ends early, without an
error.  Memory is bounded by the longest record that is wanted.

A *cursor* is `(1, offset, crc)`, as JSON-able as that: crc is CRC-32 (8 hex digits) of the up to 4,096 bytes before the
offset.  A cursor that no longer fits (the file is shorter, or has other bytes there) makes an operation read from 0 and
say so (`restarted`).  A value that is no cursor is a ValueError.

Two implementations give the same answers: `BACKEND` is "rust" (the compiled module) or "python" (its twin, taken where
the compiled one is missing, or with `REHYDRATE_PURE=1` in the environment).
"""

import sys

from ._results import Candidate, Cursor, Entry, Found, Mark, Probe, RecordIterator, Step, StepIterator, Tail, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from . import _pure as _chosen
    from ._arguments import AnyCursor, AnyPath, Steps
    from ._entries import Entries

__all__ = [
    "BACKEND",
    "Candidate",
    "Cursor",
    "Entries",
    "Entry",
    "Found",
    "Mark",
    "Probe",
    "RecordIterator",
    "Step",
    "StepIterator",
    "Tail",
    "Tree",
    "cursor_at",
    "find_step",
    "iter_closed",
    "iter_records",
    "iter_steps",
    "probe",
    "probe_candidates",
    "probe_many",
    "read_tree",
    "scan_tail",
]


def _pure_is_wanted() -> bool:
    if "os" not in sys.modules:  # an interpreter without `site`: the same environment without importing anything
        try:
            from posix import environ
        except ImportError:
            pass
        else:
            return environ.get(b"REHYDRATE_PURE") == b"1"
    import os

    return os.environ.get("REHYDRATE_PURE") == "1"


BACKEND = "python"
if not _pure_is_wanted():
    try:
        from . import _rust as _chosen  # type: ignore[no-redef]

        BACKEND = "rust"
    except ImportError:
        pass
if BACKEND == "python":
    from . import _pure as _chosen


if not TYPE_CHECKING:  # a checker would take every name for one that is here

    def __getattr__(name):
        if name == "Entries":  # loaded when it is asked for: a seventh of the import, for one operation of ten
            from ._entries import Entries

            return Entries
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def implementation() -> "Any":
    """The module behind this one: what only one of the two has is asked there."""
    return _chosen


def scan_tail(path: "AnyPath", cursor: "AnyCursor | None" = None, *, end: "int | None" = None) -> Tail:
    """Reads every complete line after the cursor and finds the records of type CHECKPOINT.

    `cursor`: where an earlier read ended; None reads from the start.  `end`: the offset at which this one ends, not
    before the cursor's; None reads to the end of the file.  The work is that of reading the new bytes,
    however long the file is.  Exact for every line that is one whole object; `damaged` is a lower bound, as most lines
    are not looked at in full.  Raises ValueError for a value that is no cursor, and an `end` below 0.
    """
    return _chosen.scan_tail(path, cursor, end=end)


def probe(path: "AnyPath") -> Probe:
    """The first step and the highest one, from the first 16 non-blank lines and the last 64 KiB of a file.

    The window at the end is doubled while no complete record lies in it.  A member is None where nothing was found; an
    empty file gives a `Probe` of None and a size of 0.  The work does not depend on the size of the file.
    """
    return _chosen.probe(path)


def probe_many(paths: "Iterable[AnyPath]", *, follow_symlinks: bool = True) -> "list[Probe | None]":
    """`probe` of many files, each opened once; a list in the order of the paths.

    None for a file that is missing or cannot be read, so that nothing of it raises.  `follow_symlinks`: False gives
    None for a symbolic link, too; links above it are followed.
    """
    return _chosen.probe_many(paths, follow_symlinks=follow_symlinks)


def find_step(path: "AnyPath", step: int, *, slack: int = 0) -> "Found | None":
    """The record with the largest step in `step - slack..step`, the last line of several; None when there is none.

    `slack`: how many step indices may be missing.  Looks at the end of the file first and searches all of it when that
    does not decide.  Raises ValueError for a slack below 0.
    """
    return _chosen.find_step(path, step, slack=slack)


def probe_candidates(paths: "Iterable[AnyPath]", step: int, *, slack: int = 0) -> "list[Candidate | None]":
    """`probe` and `find_step` over many files, each opened once; a list in the order of the paths.

    None where a file cannot be a parent: no first step or one behind `step`, no record in `step - slack..step`, or
    nothing that can be read.  So a file that is missing or not readable raises nothing here.  Raises ValueError for a
    slack below 0.
    """
    return _chosen.probe_candidates(paths, step, slack=slack)


def iter_steps(
    path: "AnyPath",
    *,
    types: "Collection[str] | None" = None,
    steps: "Steps | None" = None,
    cursor: "AnyCursor | None" = None,
) -> StepIterator:
    """The records after the cursor, one after another in file order, as `Step`.

    `types`: only records whose `type` is one of them; lines that cannot hold one are passed over; None takes every
    type.  `steps`: (first, last), both included and None where open; leaves out records without a step; None takes
    every record.  `cursor`: where an earlier read ended; None reads from the start.

    The file is opened by the call itself, so the call raises what opening raises, ValueError for a value that is no
    cursor or no range, and TypeError for a bare str in place of several types.  The iterator's `cursor` is where a
    later call goes on; `damaged`, `damaged_offsets` and `restarted` as in `Tail`, but `damaged` exact for the lines
    that were not passed over.
    """
    return _chosen.iter_steps(path, types=types, steps=steps, cursor=cursor)


def iter_closed(
    path: "AnyPath",
    *,
    types: "Collection[str] | None" = None,
    steps: "Steps | None" = None,
    cursor: "AnyCursor | None" = None,
) -> StepIterator:
    """`iter_steps` for a file that nobody writes to any more: an unfinished tail that is one whole JSON object is
    offered, too.  The cursor still ends before it.
    """
    return _chosen.iter_closed(path, types=types, steps=steps, cursor=cursor)


def iter_records(
    path: "AnyPath",
    keys: "Sequence[str]",
    *,
    where: "Mapping[str, Collection[Any]] | None" = None,
    cursor: "AnyCursor | None" = None,
) -> "RecordIterator[tuple[Any, ...]]":
    """Any JSONL: of each record the values of the named top-level members, then its offset and its length in bytes, as
    one tuple: `(*values, offset, length)`.

    `where` maps keys to allowed values: a record passes when for each of them its value is among the allowed ones; a
    missing member counts as None.  `where=None` lets every record pass.  Values are decoded as by `Step.json`; a
    missing one is None, and so is one nested too deep for that.  `cursor`: where an earlier read ended; None reads from
    the start.
    """
    return _chosen.iter_records(path, keys, where=where, cursor=cursor)


def read_tree(path: "AnyPath") -> Tree:
    """Every record of a transcript whose records name their parents: its `uuid`, `parentUuid`, `type` and place.

    Exact for every line: the members are those that a full parse finds, in whatever order they are written, and a
    value that is no str counts as None.  Nothing else of a record is kept, however long it is: read a record's bytes at
    its offset when you need it.  `Entries` says what the answer takes, and finds an entry, its parent and its children.
    """
    return _chosen.read_tree(path)


def cursor_at(path: "AnyPath", offset: int) -> Cursor:
    """The cursor for an offset in bytes, to begin a read at a known record.

    Raises ValueError when the offset is below 0 or the file is shorter.
    """
    return _chosen.cursor_at(path, offset)
