"""The new bytes of a transcript, read in stretches: what was reached is not lost when the time is over.

A log on a slow disk may take longer to read than the hook may work.  Each call reads on where the last one came to, so
that one of the next calls comes to its end; the answer is then that of one read.
"""

import os
from typing import Any

from rehydrate.scan import Cursor, Mark, Tail, cursor_at, scan_tail

STRETCH_BYTES = 8 << 20
"""A slow disk gives so much in a few seconds; each stretch costs a few system calls more."""


class Stretches:
    """How far a transcript was read from a cursor on; None: from its beginning."""

    def __init__(self, cursor: Cursor | None, kept: Any = None) -> None:
        """`kept`: what `as_json` gave earlier; what is none, or began elsewhere, counts as nothing."""
        self._cursor = cursor
        self._size = 0
        self.tail = _from_json(cursor, kept)
        """What was found so far; None: nothing was read."""
        self.is_whole = False
        """The end was reached."""

    def read(self, path: str) -> Tail:
        """Read to the end, as `scan_tail(path, cursor)` does."""
        self._size = os.stat(path).st_size
        if not _fits(path, self._cursor if self.tail is None else self.tail.cursor):
            # Said once, as later stretches and later calls have cursors that fit.
            self.tail = Tail(cursor_at(path, 0), [], None, 0, 0, [], True)
        width = STRETCH_BYTES
        while True:
            cursor = self._cursor if self.tail is None else self.tail.cursor
            at = 0 if cursor is None else cursor[1]
            is_last = at + width >= self._size
            found = scan_tail(path, cursor, end=None if is_last else at + width)
            self.tail = found if self.tail is None or found.restarted else _joined(self.tail, found)
            if is_last:
                self.is_whole = True
                return self.tail
            # A line that is longer than the stretch is read as a whole.
            width = STRETCH_BYTES if found.cursor[1] > at else width * 2

    def as_json(self) -> dict[str, Any] | None:
        """What a later call needs to go on; None when nothing was reached."""
        if self.tail is None:
            return None
        mark = self.tail.boundaries[-1] if self.tail.boundaries else None
        return {
            "from": self._cursor,
            "cursor": self.tail.cursor,
            "mark": mark,
            "last_step": self.tail.last_step,
            "restarted": self.tail.restarted,
        }

    def told(self) -> str:
        """For people: how far it came."""
        reached = 0 if self.tail is None else self.tail.cursor[1]
        return f"{reached:,} of {self._size:,} bytes of the log are read, and the next call goes on there"


def _joined(before: Tail, found: Tail) -> Tail:
    """Of two stretches, the first of which only the newest boundary need be known."""
    steps = [each for each in (before.last_step, found.last_step) if each is not None]
    return Tail(
        found.cursor,
        [*before.boundaries[-1:], *found.boundaries],
        max(steps, default=None),
        before.lines + found.lines,
        before.damaged + found.damaged,
        before.damaged_offsets or found.damaged_offsets,
        before.restarted,
    )


def _from_json(cursor: Cursor | None, kept: Any) -> Tail | None:
    """A Tail whose counts are not known; None for what is none, or began at another place."""
    if not isinstance(kept, dict) or kept.get("from") != (None if cursor is None else list(cursor)):
        return None
    reached: Any = kept.get("cursor")
    mark, last_step, restarted = kept.get("mark"), kept.get("last_step"), kept.get("restarted")
    if not _is_cursor(reached) or not (last_step is None or _is_whole(last_step)) or not isinstance(restarted, bool):
        return None
    boundaries = []
    if mark is not None:
        if not (isinstance(mark, list) and len(mark) == 3 and all(map(_is_whole, mark[1:]))):
            return None
        if not (mark[0] is None or _is_whole(mark[0])):
            return None
        boundaries.append(Mark(*mark))
    return Tail((1, reached[1], reached[2]), boundaries, last_step, 0, 0, [], restarted)


def _fits(path: str, cursor: Cursor | None) -> bool:
    """Whether the file still is as it was up to the cursor."""
    try:
        return cursor is None or cursor_at(path, cursor[1]) == cursor
    except ValueError:  # it is shorter now
        return False


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 1 << 63


def _is_cursor(value: Any) -> bool:
    """Whether a later scan takes it for one."""
    if not (isinstance(value, list) and len(value) == 3 and value[0] == 1):
        return False
    _, offset, crc = value
    is_offset = _is_whole(offset) and offset >= 0
    return is_offset and isinstance(crc, str) and len(crc) == 8 and not crc.strip("0123456789abcdef")
