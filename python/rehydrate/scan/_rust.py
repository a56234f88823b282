"""The native scanner, dressed in the result types that both implementations share."""

from sys import getfilesystemencodeerrors, getfilesystemencoding

from .. import _native
from ._arguments import (
    check_end,
    check_offset,
    check_step,
    is_among,
    read_cursor,
    read_names,
    read_paths,
    read_steps,
    read_where,
)
from ._results import Candidate, Found, Mark, Probe, RecordIterator, Step, Tail, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from ._arguments import AnyCursor, AnyPath, Steps
    from ._results import Cursor, StepIterator

_MIN, _MAX = -(1 << 63), (1 << 63) - 1
_make = tuple.__new__


def scan_tail(path: "AnyPath", cursor: "AnyCursor | None" = None, *, end: "int | None" = None) -> Tail:
    """See `rehydrate.scan.scan_tail`."""
    if end is not None:
        check_end(end)
        end = min(end, _MAX)
    found = _native.scan_tail(_path(path), _cursor(cursor), end)
    boundaries = [Mark(*mark) for mark in found[1]]
    return Tail(found[0], boundaries, *found[2:])


def probe(path: "AnyPath") -> Probe:
    """See `rehydrate.scan.probe`."""
    return Probe(*_native.probe(_path(path)))


def probe_many(paths: "Iterable[AnyPath]", *, follow_symlinks: bool = True) -> "list[Probe | None]":
    """See `rehydrate.scan.probe_many`."""
    found = _native.probe_many(_paths(paths), follow_symlinks)
    return [None if each is None else _make(Probe, each) for each in found]


def find_step(path: "AnyPath", step: int, *, slack: int = 0) -> "Found | None":
    """See `rehydrate.scan.find_step`."""
    wanted = _step(step, slack)
    if wanted is None:
        _native.probe(_path(path))  # no step is out of 64 bits, but the file's errors are still told
        return None
    found = _native.find_step(_path(path), *wanted)
    return None if found is None else Found(*found)


def probe_candidates(paths: "Iterable[AnyPath]", step: int, *, slack: int = 0) -> "list[Candidate | None]":
    """See `rehydrate.scan.probe_candidates`."""
    wanted = _step(step, slack)
    names = _paths(paths)
    if wanted is None:
        return [None] * len(names)
    found = _native.probe_candidates(names, *wanted)
    return [None if each is None else Candidate(*each) for each in found]


def iter_steps(
    path: "AnyPath",
    *,
    types: "Collection[str] | None" = None,
    steps: "Steps | None" = None,
    cursor: "AnyCursor | None" = None,
) -> "StepIterator":
    """See `rehydrate.scan.iter_steps`."""
    return _steps(path, types, steps, cursor, False)


def iter_closed(
    path: "AnyPath",
    *,
    types: "Collection[str] | None" = None,
    steps: "Steps | None" = None,
    cursor: "AnyCursor | None" = None,
) -> "StepIterator":
    """See `rehydrate.scan.iter_closed`."""
    return _steps(path, types, steps, cursor, True)


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
    members = list(dict.fromkeys((*names, *tests)))
    filters = []
    rest = {}
    for key, allowed in tests.items():
        if all(isinstance(each, str) for each in allowed):
            filters.append((members.index(key), _encoded(each for each in allowed if isinstance(each, str))))
        else:
            rest[members.index(key)] = allowed
    encoded = [key.encode("utf-8", "surrogatepass") for key in members]
    reader = _native.iter_records(_path(path), encoded, filters, _cursor(cursor))
    return RecordIterator(_Records(reader, [members.index(name) for name in names], rest))


def read_tree(path: "AnyPath") -> Tree:
    """See `rehydrate.scan.read_tree`."""
    from ._entries import Entries

    index, lines, damaged, damaged_offsets, size = _native.read_tree(_path(path))
    return Tree(Entries(index), lines, damaged, damaged_offsets, size)


def read_turns(path: "AnyPath", *, is_cut: bool) -> "_native.Turns":
    """What an Antigravity transcript holds.  `is_cut`: the arguments of its calls are encoded once more."""
    return _native.read_turns(_path(path), is_cut)


def fold(parts: "Sequence[tuple[_native.Turns, int, list[int]]]") -> "_native.Fold":
    """The turns of some files, the oldest first; of each its last step, and the rows of requests that ask nothing."""
    return _native.Fold(list(parts))


def members_at(
    path: "AnyPath", places: "list[tuple[int, int]]", keys: "Sequence[str]"
) -> "list[tuple[Any, ...] | None]":
    """Of the records at some offsets and of these lengths the values of the named members, as `iter_records` has them,
    but those that `decoded` decodes as their bytes; None where no record stands any more.
    """
    return _native.members_at(_path(path), places, [key.encode() for key in keys])


def member_spans(raw: bytes, names: "Sequence[bytes]") -> "list[tuple[int, int] | None] | None":
    """Where in the bytes of an object the values of these members stand; None when only decoding it tells."""
    return _native.member_spans(raw, list(names))


def find_any(raw: bytes, words: "Sequence[bytes]", start: int = 0) -> "int | None":
    """Where the first of some words begins, from `start` on; None where none does."""
    return _native.find_any(raw, list(words), start)


def decoded(raw: bytes) -> object:
    """What a value's bytes say."""
    from ._decode import value

    return value(raw)


def cursor_at(path: "AnyPath", offset: int) -> "Cursor":
    """See `rehydrate.scan.cursor_at`."""
    check_offset(offset)
    return _native.cursor_at(_path(path), min(offset, _MAX))


class _Reader:
    """What both sources take from the native reader as it is."""

    def __init__(self, reader: "_native.Reader") -> None:
        self._reader = reader
        self.start, self.restarted = reader.start, reader.restarted
        self.cursor, self.close = reader.cursor, reader.close
        self._note()

    def _note(self) -> None:
        reader = self._reader
        self.end, self.damaged, self.damaged_offsets = reader.end, reader.damaged, reader.damaged_offsets


class _Steps(_Reader):
    """The source of steps (a `Source` of `_results`)."""

    def batch(self) -> "tuple[list[Step], list[int]]":
        rows, ends = self._reader.batch()
        self._note()
        return [_make(Step, row) for row in rows], ends


class _Records(_Reader):
    """The source of any records: decodes what the native reader leaves as bytes, and tests what it cannot test."""

    def __init__(self, reader: "_native.Reader", places: "list[int]", tests: "dict[int, Collection[object]]") -> None:
        super().__init__(reader)
        self._places = places
        self._tests = tests

    def batch(self) -> "tuple[list[tuple[Any, ...]], list[int]]":
        kept: list[tuple[Any, ...]] = []
        kept_ends: list[int] = []
        while not kept:
            rows, ends = self._reader.batch()
            self._note()
            if not rows:
                break
            rows = [_decoded(row) if bytes in map(type, row) else row for row in rows]
            if not self._tests:
                return [self._chosen(row) for row in rows], ends
            for row, end in zip(rows, ends, strict=True):
                if all(is_among(row[place], allowed) for place, allowed in self._tests.items()):
                    kept.append(self._chosen(row))
                    kept_ends.append(end)
                elif kept_ends and kept_ends[-1] <= kept[-1][-2]:
                    kept_ends[-1] = end  # the record before it waited for this one of the same line
        return kept, kept_ends

    def _chosen(self, row: "tuple[Any, ...]") -> "tuple[Any, ...]":
        return (*[row[place] for place in self._places], *row[-2:])


def _steps(
    path: "AnyPath",
    types: "Collection[str] | None",
    steps: "Steps | None",
    cursor: "AnyCursor | None",
    is_closed: bool,
) -> "StepIterator":
    names = None if types is None else _encoded(read_names(types, "types"))
    ends = read_steps(steps)
    within = None
    if ends is not None:
        first, last = (_MIN if ends[0] is None else ends[0]), (_MAX if ends[1] is None else ends[1])
        # A range that no step is in is one that is upside down.
        within = (max(first, _MIN), min(last, _MAX)) if first <= _MAX and last >= _MIN else (1, 0)
    return RecordIterator(_Steps(_native.iter_steps(_path(path), names, within, _cursor(cursor), is_closed)))


def _path(path: "AnyPath") -> bytes:
    try:
        if type(path) is str:
            return path.encode(getfilesystemencoding(), getfilesystemencodeerrors())
        if type(path) is bytes:
            return path
        import os

        return os.fsencode(path)
    except UnicodeEncodeError:  # no file can have this name
        import errno
        import os

        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), os.fspath(path)) from None


def _paths(paths: "Iterable[AnyPath]") -> "list[bytes]":
    """The same of each; the empty path, which names no file, for what cannot be one."""
    encoding, errors = getfilesystemencoding(), getfilesystemencodeerrors()
    names = []
    for path in read_paths(paths):
        try:
            names.append(path.encode(encoding, errors) if type(path) is str else _path(path))
        except (OSError, UnicodeEncodeError):
            names.append(b"")
    return names


def _cursor(cursor: "AnyCursor | None") -> "tuple[int, int] | None":
    read = read_cursor(cursor)
    return None if read is None else (min(read[0], _MAX), int(read[1], 16))


def _step(step: int, slack: int) -> "tuple[int, int] | None":
    """The same question within 64 bits; None when no step can answer it."""
    check_step(step, slack)
    first, last = max(step - slack, _MIN), min(step, _MAX)
    return (last, last - first) if first <= last else None


def _encoded(names: "Iterable[str]") -> "list[bytes]":
    """As UTF-8; a name with a lone surrogate is left out, as no text that is read has one."""
    return [name.encode() for name in names if not any("\ud800" <= char <= "\udfff" for char in name)]


def _decoded(row: "tuple[Any, ...]") -> "tuple[Any, ...]":
    return tuple([decoded(each) if type(each) is bytes else each for each in row])
