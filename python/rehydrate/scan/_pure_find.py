"""`probe`, `find_step` and `probe_candidates` of the pure twin: the ends of a file first, all of it only where they do
not decide.

**Which lines are walked.**  In the tail window those that only a walk can judge, by the rule of `_pure_tail`.  Each of
the others *claims* a step: a record on it has this step or none.  Claims are walked from the highest down, the last of
equal ones first, until one holds.  JSON white space may stand around the integer here, as no damage is counted.
Where the parser of `json` takes a line, that is the walk, as it accepts nothing that a walk would not.
"""

import os
from operator import itemgetter

from ._arguments import check_step, read_paths
from ._decode import Digits, load_line, text
from ._pure_lines import File, Line, blocks, lines
from ._pure_members import SPACE, LineObjects, integer
from ._pure_tail import proven_lines
from ._results import Candidate, Found, Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._arguments import AnyPath

    Claim = tuple[int, int, int, bytes]
    """The step; then the line: where it begins, where the next one does, its bytes without the `\\n`."""

WINDOW = 64 * 1024
"""Bytes of the tail window; doubled while no complete record lies in it."""
HEAD = 4096
"""Bytes in which the first line mostly ends."""
FIRST_LINES_MAX = 16
"""Non-blank lines among which the first record with a step is looked for."""

_STEP_DIGITS = 19
"""Of a number within 64 bits."""

_STEP_KEY = b'"step_index"'
_DIGITS = set(b"0123456789")
_WANTED = frozenset(("step_index", "created_at"))


def probe(path: "AnyPath") -> Probe:
    """See `rehydrate.scan.probe`."""
    with File(path) as file:
        return _probe(file)


def _probe(file: File) -> Probe:
    start = max(0, file.size - WINDOW)
    data = file.read(max(0, start - 1), WINDOW + 1)  # with the byte before the window: a line may begin right behind it
    first = _first(file, data if start == 0 else file.read(0, HEAD))
    last = _proven_highest(file, data, start) or _Window(file, range(0)).last
    return tuple.__new__(Probe, (first.step, first.created_at, last.step, last.created_at, file.size))


def probe_many(paths: "Iterable[AnyPath]", *, follow_symlinks: bool = True) -> "list[Probe | None]":
    """See `rehydrate.scan.probe_many`."""
    flags = 0 if follow_symlinks else getattr(os, "O_NOFOLLOW", 0)
    asks = not (follow_symlinks or flags)  # where the system's call cannot tell
    return [None if asks and os.path.islink(path) else _probe_or_none(path, flags) for path in read_paths(paths)]


def _probe_or_none(path: "AnyPath", flags: int) -> "Probe | None":
    try:
        with File(path, flags) as file:
            return _probe(file)
    except OSError:
        return None


def find_step(path: "AnyPath", step: int, *, slack: int = 0) -> "Found | None":
    """See `rehydrate.scan.find_step`."""
    check_step(step, slack)
    with File(path) as file:
        window = _Window(file, range(step - slack, step + 1))
        found = window.found_or_searched()
        if found.step is None:
            return None
        return Found(found.step, found.created_at, found.offset, window.last.step)


def probe_candidates(paths: "Iterable[AnyPath]", step: int, *, slack: int = 0) -> "list[Candidate | None]":
    """See `rehydrate.scan.probe_candidates`."""
    check_step(step, slack)
    wanted = range(step - slack, step + 1)
    return [_candidate(path, wanted) for path in read_paths(paths)]


def _candidate(path: "AnyPath", wanted: range) -> "Candidate | None":
    try:
        with File(path) as file:
            first = _first(file, file.read(0, HEAD))
            if first.step is None or first.step >= wanted.stop:
                return None
            window = _Window(file, wanted)
            found = window.found_or_searched()
            if found.step is None:
                return None
            last = window.last
            return Candidate(
                first.step,
                first.created_at,
                found.step,
                found.created_at,
                found.offset,
                last.step,
                last.created_at,
                file.size,
            )
    except OSError:
        return None


class _Record:
    """A record by its place; `step` None: it has none, or no record was found."""

    __slots__ = ("created_at", "offset", "step")

    def __init__(self, step: "int | None" = None, offset: int = 0, created_at: "str | None" = None) -> None:
        self.step = step
        self.offset = offset
        self.created_at = created_at

    def rank(self) -> tuple[bool, int, int]:
        """Higher for a higher step, then for a later place; lowest without a step."""
        return self.step is not None, self.step or 0, self.offset


_NONE = _Record()


class _Window:
    """The tail window: its highest record, and the one with the highest of the `wanted` steps."""

    def __init__(self, file: File, wanted: range) -> None:
        self._file = file
        self._wanted = wanted
        self.last = _NONE
        self._found = _NONE
        size = WINDOW
        while not self._read(max(0, file.size - size)) and size < file.size:
            size *= 2
        self._is_all = size >= file.size

    def found_or_searched(self) -> _Record:
        """The record with the highest of the wanted steps, the last of several; reads all of the file where one in
        front of the window can be better.
        """
        if self._is_all or self._found.step == self._wanted.stop - 1:
            return self._found
        return _search(self._file, self._wanted)

    def _read(self, start: int) -> bool:
        """Whether a complete record lies in the window that begins at `start`."""
        file, wanted = self._file, self._wanted
        has_records = False
        last = found = _NONE
        claims: list[Claim] = []
        for step, offset, stop, data in _judged(file, start):
            if step is not None and data is not None:
                claims.append((step, offset, stop, data))
                continue
            for record in _records(Line(file, offset, stop, data)):
                has_records = True
                last = max(last, record, key=_Record.rank)
                if record.step is not None and record.step in wanted:
                    found = max(found, record, key=_Record.rank)
        claims.sort()
        self.last = _highest(file, last, claims)
        if wanted:
            self._found = _highest(file, found, [claim for claim in claims if claim[0] in wanted])
        if has_records or self.last.step is not None:
            return True
        return any(True for claim in claims for _ in _records(Line(file, *claim[1:])))


def _first(file: File, head: bytes) -> _Record:
    """The first record with a step among the first lines.  `head`: what the file begins with."""
    stop = head.find(b"\n")
    record = _whole(Line(file, 0, stop + 1, head[:stop])) if stop > 0 else None
    if record is not None and record.step is not None:  # no other line is looked at
        return record
    seen = 0
    for line in lines(file, 0, WINDOW):
        record = _whole(line)
        if record is not None and record.step is not None:
            return record
        objects = line.objects(_WANTED)
        blank = True
        for record in _walked(line, objects):
            if record.step is not None:
                return record
            blank = False
        seen += objects.damaged or not blank
        if seen == FIRST_LINES_MAX:
            break
    return _NONE


def _proven_highest(file: File, data: bytes, start: int) -> "_Record | None":
    """The record with the highest step of a tail window, the last of several, without a look at each line; None when
    only that can tell.  `data`: the window, and the byte before it.

    Every step in it stands behind a `"step_index"` where nothing is escaped.  So none is higher than the highest number
    there, and if a record has that one, it is the step.  The work is left to a few calls for all lines together.
    """
    base = max(0, start - 1)
    begin = data.find(b"\n") + 1 if start else 0
    stop = data.rfind(b"\n") + 1
    if b"\\" in data and b"\\u00" in data:
        return None
    said = data[begin:stop].split(_STEP_KEY)[1:]
    try:
        # Of as many digits the highest number is the greatest text.  What stands between two texts begins as both do.
        lowest, highest, length = min(said), max(said), 0
        if lowest >= b":0" and highest < b"::":
            digits = 1
        elif lowest >= b": 0" and highest < b": :":
            digits = 2
        else:
            return None
        while True:
            before, length = length, len(highest) - len(highest[digits:].lstrip(b"0123456789"))
            if length <= before:  # a digit of something else stood there
                return None
            if _DIGITS.isdisjoint(map(itemgetter(length), said)):
                break
            highest = max([each for each in said if 47 < each[length] < 58])
    except (IndexError, ValueError):
        return None
    if length - digits > _STEP_DIGITS:  # no step, and more digits than Python makes a number of
        return None
    at = data.rfind(_STEP_KEY + highest[:length], begin, stop)
    first, last = data.rfind(b"\n", begin, at) + 1 or begin, data.find(b"\n", at)
    record = _whole(Line(file, base + first, base + last + 1, data[first:last]))
    return record if record is not None and record.step == int(highest[digits:length]) else None


def _search(file: File, wanted: range) -> _Record:
    """The record with the highest of the wanted steps, the last of several: reads all of the file."""
    found = _NONE
    for step, offset, stop, data in _judged(file, 0):
        if step is None or step in wanted:  # no other line can hold a record of these steps
            for record in _records(Line(file, offset, stop, data)):
                if record.step is not None and record.step in wanted:
                    found, wanted = record, range(record.step, wanted.stop)
    return found


def _judged(file: File, start: int) -> "Iterator[tuple[int | None, int, int, bytes | None]]":
    """The lines that begin at `start` or behind it, as claims; their step is None where only a walk can tell, the bytes
    are None for a line that is longer than a piece, which claims nothing.
    """
    for offset, stop, data in blocks(file, max(0, start - 1)):
        if data is None:
            if offset >= start:
                yield None, offset, stop, None
            continue
        for first, last, step in proven_lines(data, SPACE):
            if offset + first >= start:
                yield step, offset + first, offset + last + 1, data[first:last]


def _highest(file: File, best: _Record, claims: "list[Claim]") -> _Record:
    """The record with the highest step, the last of several: `best` or one of the sorted `claims`, of which only the
    highest are walked.
    """
    for step, offset, stop, data in reversed(claims):
        if best.rank() > (True, step, offset):
            break
        best = max((best, *_records(Line(file, offset, stop, data))), key=_Record.rank)
    return _NONE if best.step is None else best


def _records(line: Line) -> "Iterator[_Record]":
    """The records on a line."""
    record = _whole(line)
    if record is None:
        yield from _walked(line, line.objects(_WANTED))
    else:
        yield record


def _whole(line: Line) -> "_Record | None":
    """The record of a line that is one whole object; None when that is not sure."""
    record = None if line.data is None else load_line(line.data)
    if record is None:
        return None
    step, created_at = record.get("step_index"), record.get("created_at")
    if not isinstance(step, int) or isinstance(step, bool) or not -(1 << 63) <= step < 1 << 63:
        step = None
    if not isinstance(created_at, str) or isinstance(created_at, Digits):
        created_at = None
    return _Record(step, line.offset, created_at)


def _walked(line: Line, objects: LineObjects) -> "Iterator[_Record]":
    try:
        for start, _stop, spans in objects:
            step = integer(line.read(*spans["step_index"])) if "step_index" in spans else None
            created_at = line.read(*spans["created_at"]) if "created_at" in spans else b""
            yield _Record(step, start, text(created_at))
    except EOFError:  # cut short while it was read
        return
