"""The end of a long file, read as if it were all of it: what a conversation goes on from mostly stands there.

Nothing is guessed.  The rules of `rehydrate.entries` are asked about the end alone, and as soon as one of them needs
to know what stands before it, that is said (`LedOut`), and more of the file has to be read.

It is relied on that an entry stands behind the one that it follows, what is said about an entry behind that, and that
no uuid is given twice: so `SessionLog` writes.  Other writers do not, so only where it has marked a compaction, with
a checkpoint, is the end of a file enough.
"""

import json
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

from rehydrate.entries.log import member
from rehydrate.entries.scope import Scope, boundary_of
from rehydrate.paths import open_file
from rehydrate.scan._decode import load_line

from .damage import CheckedLog
from .errors import naming
from .file import _first_line, _line_start, _read, refuse_newer
from .reading import Session

MARK = b'"subtype":"compact_boundary"'
"""In the line of a compaction that `SessionLog` has marked, and in no text that stands in a line: there the quotes are
escaped.
"""
MARGIN_BYTES = 1 << 14
"""So much is read before what a checkpoint has kept, for the entry that it follows."""
KEPT_BYTES_MOST = 1 << 26
"""So far before a checkpoint what it has kept is looked for; where it stands further off, more is read anyway."""
WIDER = 4
"""So many times as much is read next, where that was not enough."""
T = TypeVar("T")
_BLOCK = 1 << 16
_BLOCK_MOST = 1 << 24


class LedOut(Exception):
    """Something was asked that only what stands before the window can tell."""


class WindowScope(Scope):
    """The rules' look at the end of a file: whatever is not known in it raises LedOut."""

    def at(self, uuid: object) -> int | None:
        index = super().at(uuid)
        if index is None and isinstance(uuid, str):
            raise LedOut
        return index

    def parent(self, index: int) -> int | None:
        parent = super().parent(index)
        if parent is None and self.log.entry(index).parent is not None:
            raise LedOut
        return parent

    def turns_back(self) -> Iterator[int]:
        yield from super().turns_back()
        raise LedOut

    @cached_property
    def _is_members(self) -> bool:
        raise LedOut  # how the file begins tells it


def from_the_end(path: str, ask: Callable[[Session, int], T]) -> T:
    """What is asked of a session, told by so much of the end of its file as it takes; at last by all of it.

    `ask`: is given the session, or its end, and where that begins in the file; raises LedOut when that is not enough.
    Raises what `Session.open` raises.
    """
    size = os.stat(path).st_size
    found = next((found for found in marks_since(path, None) if "checkpoint" in found[1]), None)
    first = 0 if found is None else _kept_from(path, *found) - MARGIN_BYTES
    while first > 0 and (start := line_start(path, first)) > 0:
        try:
            with _open(path, start) as session:
                return ask(session, start)
        except LedOut:
            first = size - WIDER * (size - start)
    with Session.open(path) as session:
        return ask(session, 0)


def _open(path: str, start: int) -> Session:
    """The file from a line on.  `start`: where that begins.  Raises OSError, NewerVersion when a later version of this
    library has written it, and LedOut where it was rewritten.
    """
    with naming(path), open_file(path) as file:
        refuse_newer(path, _first_line(file.fileno()))
    try:
        return Session(CheckedLog(path, start=start), scope=WindowScope)
    except ValueError:
        raise LedOut from None


def line_start(path: str, at: int) -> int:
    """Where the line begins that holds the byte at this offset, or that this is the end of."""
    with naming(path), open_file(path) as file:
        return _line_start(file.fileno(), at)


def marks_since(path: str, uuid: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The compactions that were written behind that of this uuid, newest first: where the line of each begins, and its
    record.  None: all of them.  The work is that of reading the file from its end to where one stops asking.
    """
    for offset, line in _marks_back(path):
        mark = load_line(line)
        if mark is not None and boundary_of(mark) is not None:
            if uuid is not None and mark.get("uuid") == uuid:
                return
            yield offset, mark


def _marks_back(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines that hold MARK, the last one first: where each begins, and its bytes."""
    with naming(path), open_file(path) as file:
        fd = file.fileno()
        end = os.fstat(fd).st_size
        while (at := _find_back(fd, end)) >= 0:
            end = _line_start(fd, at)
            yield end, _line(fd, end)


def _kept_from(path: str, offset: int, mark: dict[str, Any]) -> int:
    """Where the first entry stands that a compaction has kept; else where its own line begins."""
    uuids = member(member(mark, "compactMetadata"), "preservedMessages").get("uuids")
    if not isinstance(uuids, list) or not uuids:
        return offset
    word = b'"uuid":' + json.dumps(uuids[0]).encode()
    with naming(path), open_file(path) as file:
        at = _find_back(file.fileno(), offset, word=word, floor=offset - KEPT_BYTES_MOST)
    return at if at >= 0 else offset


def _find_back(fd: int, end: int, *, word: bytes = MARK, floor: int = 0) -> int:
    """Where a word stands last before `end` and behind `floor`; -1 where it does not."""
    size, floor = _BLOCK, max(0, floor)
    while end > floor:
        start = max(floor, end - size)
        at = _read(fd, start, end).rfind(word)
        if at >= 0:
            return start + at
        end = start + len(word) - 1 if start > floor else floor
        size = min(2 * size, _BLOCK_MOST)
    return -1


def _line(fd: int, start: int) -> bytes:
    """The line that begins there, without its line feed."""
    found, size = b"", _BLOCK
    while piece := _read(fd, start + len(found), start + len(found) + size):
        line, feed, _ = piece.partition(b"\n")
        found += line
        if feed:
            break
        size = min(2 * size, _BLOCK_MOST)
    return found
