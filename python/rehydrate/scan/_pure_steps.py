"""`iter_steps`, `iter_closed`, `iter_records` and `cursor_at` of the pure twin.

**Which lines are passed over.**  When only some values of a member are wanted (`types`; each key of `where`) and all
of them are plain (ASCII letters, digits, `_`, `-` and `.`), a line that holds neither one of them nor `\\u00` cannot
hold such a record: it is not walked, and so not counted as damaged.  Every other line is walked in full; where the
parser of `json` takes it, that is the walk, as it accepts nothing that a walk would not.
"""

from ._arguments import check_offset, is_among, is_plain, read_cursor, read_names, read_steps, read_where
from ._decode import Digits, index, load_line, value
from ._pure_lines import File, Line, blocks, lines_of
from ._pure_members import SPACE
from ._pure_tail import OFFSETS_MAX
from ._results import RecordIterator, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any, Generic, TypeVar

    from ._arguments import AnyCursor, AnyPath, Steps
    from ._pure_members import Spans
    from ._results import Cursor, StepIterator

    _T = TypeVar("_T")
    Get = Callable[[str], object]
    """Gives the decoded value of a member, None when it is missing."""
    Make = Callable[[Get, int, int, Callable[[], bytes]], _T | None]
    """What is wanted of a record that begins and ends there and has these bytes; None: nothing."""
else:
    from ._results import Generic

    _T = None

BATCH = 256
"""Records a batch."""
BATCH_BYTES = 1 << 20
"""Bytes read after which a batch is given out, however few its records are."""

_STEP_KEYS = frozenset(("step_index", "type", "source", "status", "created_at"))


def iter_steps(
    path: "AnyPath",
    *,
    types: "Collection[str] | None" = None,
    steps: "Steps | None" = None,
    cursor: "AnyCursor | None" = None,
) -> "StepIterator":
    """See `rehydrate.scan.iter_steps`."""
    return RecordIterator(_steps(path, types, steps, cursor))


def iter_closed(
    path: "AnyPath",
    *,
    types: "Collection[str] | None" = None,
    steps: "Steps | None" = None,
    cursor: "AnyCursor | None" = None,
) -> "StepIterator":
    """See `rehydrate.scan.iter_closed`."""
    source = _steps(path, types, steps, cursor)
    source.closed = True
    return RecordIterator(source)


def iter_records(
    path: "AnyPath",
    keys: "Sequence[str]",
    *,
    where: "Mapping[str, Collection[object]] | None" = None,
    cursor: "AnyCursor | None" = None,
) -> "RecordIterator[tuple[Any, ...]]":
    """See `rehydrate.scan.iter_records`."""
    names = read_names(keys, "keys")
    tests = read_where(where)
    place = read_cursor(cursor)

    def make(get: "Get", start: int, stop: int, _raw: "Callable[[], bytes]") -> "tuple[Any, ...] | None":
        for key, allowed in tests.items():
            if not is_among(get(key), allowed):
                return None
        return (*[get(key) for key in names], start, stop - start)

    source = _Source(File(path), place, frozenset((*names, *tests)), make)
    for allowed in tests.values():
        source.add_needles(allowed)
    return RecordIterator(source)


def cursor_at(path: "AnyPath", offset: int) -> "Cursor":
    """See `rehydrate.scan.cursor_at`."""
    check_offset(offset)
    with File(path) as file:
        file.check(offset)
        return file.cursor(offset)


def _steps(
    path: "AnyPath", types: "Collection[str] | None", steps: "Steps | None", cursor: "AnyCursor | None"
) -> "_Source[Step]":
    allowed = None if types is None else frozenset(read_names(types, "types"))
    first, last = read_steps(steps) or (None, None)
    place = read_cursor(cursor)

    def make(get: "Get", start: int, stop: int, raw: "Callable[[], bytes]") -> "Step | None":
        kind = _text(get("type"))
        if allowed is not None and kind not in allowed:
            return None
        step = index(get("step_index"))
        if steps is not None and not _is_within(step, first, last):
            return None
        source, status, created_at = _text(get("source")), _text(get("status")), _text(get("created_at"))
        return Step(step, kind, source, status, created_at, start, stop - start, raw())

    found = _Source(File(path), place, _STEP_KEYS, make)
    if allowed is not None:
        found.add_needles(allowed)
    return found


def _is_within(index: "int | None", first: "int | None", last: "int | None") -> bool:
    return index is not None and (first is None or index >= first) and (last is None or index <= last)


def _text(found: object) -> "str | None":
    return found if isinstance(found, str) and not isinstance(found, Digits) else None


class _Source(Generic[_T]):
    """The records of a file that `make` makes something of (a `Source` of `_results`)."""

    def __init__(
        self,
        file: File,
        place: "tuple[int, str] | None",
        wanted: frozenset[str],
        make: "Make[_T]",
    ) -> None:
        self._file = file
        self._wanted = wanted
        self._make = make
        self._needles: list[tuple[bytes, ...]] = []
        self._error: OSError | None = None
        self.start, self.restarted = file.resume(place)
        self.end = self.start
        # These two hold nothing of this object, so that the file is closed as soon as nobody uses the object any more.
        self._lines = _lines(file, self.start, self._needles)
        self._rest: Iterator[tuple[_T, int]] = iter(())  # what is left of the line that ends at `_stop`
        self._stop = self.start
        self._hurt: list[int] = []  # where the lines begin that `_rest` found to be damaged
        self.damaged = 0
        self.damaged_offsets: list[int] = []
        self.closed = False
        """Nobody writes to the file any more: an unfinished tail that is one whole object is a record, too."""

    def add_needles(self, allowed: "Collection[object]") -> None:
        """Lets lines be passed over that can hold none of the allowed values."""
        if all(is_plain(name) for name in allowed):
            self._needles.append((b"\\u00", *(str(name).encode() for name in allowed)))

    def batch(self) -> "tuple[list[_T], list[int]]":
        """See `Source`.  What was read before an error is given out before it is raised."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        rows: list[_T] = []
        ends: list[int] = []
        began = self.end
        try:
            while self._take_rest(rows, ends) and not (rows and self.end - began >= BATCH_BYTES):
                found = next(self._lines, None)
                if found is None:
                    self._take_tail(rows, ends)
                    break
                self._stop, line = found
                if line is not None:
                    self._rest = _rows_of(line, self._wanted, self._make, self._hurt)
        except EOFError:  # cut short while it was read: what was complete stays
            self._lines, self._stop, self.closed = iter(()), self.end, False
        except OSError as error:
            if not rows:
                raise
            self._error = error
        return rows, ends

    def _take_rest(self, rows: list[_T], ends: list[int]) -> bool:
        """Takes what is left of a line; False when the batch is full before its end."""
        for row, end in self._rest:
            rows.append(row)
            ends.append(end)
            if len(rows) >= BATCH:
                return False
        for offset in self._hurt:
            self.damaged += 1
            if len(self.damaged_offsets) < OFFSETS_MAX:
                self.damaged_offsets.append(offset)
        self._hurt.clear()
        self.end = self._stop
        return True

    def cursor(self, offset: int) -> "Cursor":
        """See `Source`."""
        return self._file.cursor(offset)

    def close(self) -> None:
        """See `Source`."""
        self._file.close()

    def _take_tail(self, rows: list[_T], ends: list[int]) -> None:
        if not self.closed:
            return
        self.closed = False  # once
        tail = Line(self._file, self.end, self._file.size, None)
        objects = tail.objects(self._wanted)
        found = None
        for item in objects:
            if found is not None:
                return
            found = item
        row = _row(self._make, tail, *found) if found is not None and not objects.damaged else None
        if row is not None:
            rows.append(row)
            ends.append(tail.offset)


def _rows_of(line: Line, wanted: frozenset[str], make: "Make[_T]", hurt: list[int]) -> "Iterator[tuple[_T, int]]":
    """What is made of a line's records, and where a later read goes on; adds the line to `hurt` when it is damaged."""
    if line.data is not None:
        record = load_line(line.data)
        if record is not None:
            stop = line.offset + len(line.data.rstrip(SPACE))
            row = make(record.get, line.offset, stop, lambda: line.read(line.offset, stop))
            if row is not None:
                yield row, line.stop
            return
    held: _T | None = None  # given out once it is known whether another one follows it on the line
    objects = line.objects(wanted)
    for found in objects:
        row = _row(make, line, *found)
        if row is None:
            continue
        if held is not None:
            yield held, line.offset
        held = row
    if objects.damaged:
        hurt.append(line.offset)
    if held is not None:
        yield held, line.stop


def _row(make: "Make[_T]", line: Line, start: int, stop: int, spans: "Spans") -> "_T | None":
    def get(key: str) -> object:
        return value(line.read(*spans[key])) if key in spans else None

    return make(get, start, stop, lambda: line.read(start, stop))


def _lines(file: File, start: int, needles: "list[tuple[bytes, ...]]") -> "Iterator[tuple[int, Line | None]]":
    """The lines that may hold a needle of each kind, and the place behind each; None for a stretch of others."""
    for offset, stop, data in blocks(file, start):
        if data is None or all(any(needle in data for needle in kind) for kind in needles):
            for line in lines_of(file, offset, stop, data):
                if all(any(map(line.holds, kind)) for kind in needles):
                    yield line.stop, line
        yield stop, None
