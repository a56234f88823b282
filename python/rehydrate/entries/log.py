"""The index of a transcript, and its records on demand.

Of the file only the index is held; a record's bytes are read when somebody asks for them, and few decoded records are
kept.  What can no longer be read (the file was cut short, or is nested beyond measure) is an empty record.
"""

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rehydrate import scan
from rehydrate.paths import open_file
from rehydrate.scan import Entries, Entry
from rehydrate.scan._decode import load
from rehydrate.scan._decode import value as decoded
from rehydrate.scan._entries import Listed, Sign

KEPT_RECORDS = 512
KEPT_BYTES = 2_000_000
"""How much of what was decoded is kept, counted in the file's bytes."""

KEPT_TREES = 2
_STRETCH = 32_768
"""Records that are looked through at a time for those of one type."""

_CAN_SPLIT = hasattr(scan.implementation(), "member_spans")
find_any = scan.implementation().find_any
"""Where the first of some words begins in bytes; Python's own search is ten times slower than the compiled one."""
_make = tuple.__new__
_ESCAPE = (b"\\u00",)
_ESCAPED = re.compile(rb"\\u00[2-7]")

Record = dict[str, Any]
Wanted = Mapping[str, "Wanted | None"]
"""The members of an object that are of use; of each that is an object those of its own, None for all of it."""


class Known:
    """What is known of one state of a file, however often it is opened."""

    def __init__(self, tree: scan.Tree) -> None:
        self.tree = tree
        self.types = tree.entries.types()
        self.signs = tree.entries.signs()
        self.parents = tree.entries.parents()
        self.compactions: dict[bool, list[int]] = {}
        """Those that `scope.boundaries` has found, by whether the file was taken for a subagent's own."""
        self.descent: tuple[tuple[int, int, bool], Sequence[int], tuple[Any, ...]] | None = None
        """What was asked for last of `chain.descent`: tip, end and side, then entries, in little room, and gaps."""
        self.told: list[tuple[int, int]] = []
        """Of the compactions that stand at `told_from` or behind it those that hold their summary themselves, each with
        the first entry behind it that tells it.
        """
        self.told_from = len(tree.entries)
        self.retractions: list[tuple[int, int]] | None = None
        """Each record that takes an entry back, with that entry; None until somebody has asked."""


_trees: OrderedDict[tuple[object, ...], Known] = OrderedDict()
"""The indexes read last, by what tells that a file is still the same: one is looked at several times in a row."""


class Log:
    """A transcript opened for reading; use it as a context manager.

    An entry is named by its place in `entries`.  Of several with the same uuid the first is the entry, the others are
    replays of it: they have no parent and no children, and `at` never names them.
    """

    def __init__(self, path: str, *, start: int = 0) -> None:
        """Reads the index.  `start`: where the line begins before which nothing is read and nothing exists, for who
        needs the end of a long file; the line that begins there stays the first one however the file grows.  Raises
        OSError when the file cannot be read, ValueError when it is shorter.
        """
        self.path = path
        self.known = Known(_tail_of(path, start)) if start else _known(path)
        tree = self.known.tree
        self.entries: Entries = tree.entries
        self.types: Sequence[str | None] = self.known.types
        """The type of each record."""
        self.signs: bytes = self.known.signs
        """What a look at each record shows: a byte of `Sign`."""
        self.parents: memoryview[int] = self.known.parents
        """For each record what `parent` gives; -1 for None."""
        self.damaged: int = tree.damaged
        """Lines that are no record."""
        self.size: int = tree.size
        """Bytes in the file when it was read."""
        self._file = open_file(path).detach()  # what is there may be no file, or a link, by now
        self._last: tuple[int, Entry] | None = None
        self._records: OrderedDict[int, tuple[Record, int]] = OrderedDict()  # with its bytes in the file
        self._held = 0

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        with suppress(OSError):  # of what was only read nothing is lost
            self._file.close()

    def __len__(self) -> int:
        return len(self.entries)

    def at(self, uuid: object) -> int | None:
        """The entry with that uuid; None when there is none (or it is no uuid at all)."""
        return self.entries.find(uuid) if isinstance(uuid, str) else None

    def parent(self, index: int) -> int | None:
        """The entry that this one follows; None where it names none, or one that was never written."""
        parent = self.parents[index]
        return parent if parent >= 0 else None

    def children(self, index: int) -> Sequence[int]:
        """The entries that follow this one, in file order."""
        return self.entries.children(index)

    def is_entry(self, index: int) -> bool:
        """Whether it takes part in the tree: it has a uuid and is no replay."""
        return self.signs[index] & Sign.FIRST != 0

    def entry(self, index: int) -> Entry:
        """The entry at that place; the one that was asked for last is not made anew."""
        if self._last is None or self._last[0] != index:
            self._last = index, self.entries[index]
        return self._last[1]

    def raw(self, index: int) -> bytes:
        """The record as it stands in the file; fewer bytes when the file was cut short since."""
        return self.read(self.entry(index))

    def read(self, entry: Entry) -> bytes:
        """The bytes of an entry: the one place where any are read."""
        try:
            if hasattr(os, "pread"):  # a child of a fork has the same place in the file
                return os.pread(self._file.fileno(), entry.length, entry.offset)
            self._file.seek(entry.offset)
            return self._file.read(entry.length) or b""
        except OSError as error:
            error.filename = self.path
            raise

    def record(self, index: int) -> Record:
        """The record, decoded; empty when it cannot be."""
        known = self._records.get(index)
        if known is not None:
            self._records.move_to_end(index)
            return known[0]
        entry = self.entry(index)
        found = _decoded(self.read(entry), entry.offset)
        self._records[index] = found, entry.length
        self._held += entry.length
        while len(self._records) > KEPT_RECORDS or (self._held > KEPT_BYTES and len(self._records) > 1):
            _, (_, length) = self._records.popitem(last=False)
            self._held -= length
        return found

    def record_and(self, index: int, name: str, wanted: "Wanted") -> tuple[Record, Record]:
        """The record, and what is wanted of one of its members, an object; empty when it is none.

        For a member that is large and of which little is of use: where the native module is, the rest of it is never
        decoded, and it may be missing in the record.
        """
        if index not in self._records:
            entry = self.entry(index)
            raw = self.read(entry)
            spans = _spans(raw, (name,))
            if spans and spans[0]:
                start, end = spans[0]
                return _decoded(raw[:start] + b"null" + raw[end:], entry.offset), _picked(raw[start:end], wanted)
        record = self.record(index)
        return record, member(record, name)

    def of_type(self, kind: str, *, end: int | None = None, backwards: bool = False) -> Iterator[int]:
        """The records of one type, entries or not, replays left out; those before `end`."""
        starts = range(0, len(self.entries) if end is None else end, _STRETCH)
        for start in reversed(starts) if backwards else starts:
            found = self.entries.of_type(kind, start, min(start + _STRETCH, starts.stop))
            yield from reversed(found) if backwards else found

    def holds(self, index: int, *, word: bytes) -> bool:
        """Whether the record's text can hold a word of plain ASCII: False is certain, True is to be looked at."""
        raw = self.raw(index)
        return find_any(raw, (word,)) is not None or may_be_escaped(raw)


def _known(path: str) -> Known:
    key = _identity(path)
    known = _trees.get(key) if key is not None else None
    if known is None:
        known = Known(scan.read_tree(path))
        if key is not None and known.tree.size == key[2]:
            _trees[key] = known
            while len(_trees) > KEPT_TREES:
                _trees.popitem(last=False)
    return known


def _tail_of(path: str, start: int) -> scan.Tree:
    """The index of a file from there on."""
    rows = scan.iter_records(path, ("uuid", "parentUuid", "type"), cursor=scan.cursor_at(path, start))
    entries = [
        _make(Entry, (_text(uuid), _text(parent), _text(kind), at, length)) for uuid, parent, kind, at, length in rows
    ]
    if rows.restarted:  # it was rewritten just now
        raise ValueError(f"{path} is no longer what it was")
    return scan.Tree(Entries(Listed(entries)), len(entries), rows.damaged, rows.damaged_offsets, rows.cursor[1])


def _text(found: object) -> str | None:
    return found if type(found) is str else None  # not the `Digits` of `scan`


def _identity(path: str) -> tuple[object, ...] | None:
    """What changes when the file does; None for what is no regular file."""
    try:
        found = os.stat(path)
    except ValueError:  # can be no path
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    try:
        cursor = scan.cursor_at(path, found.st_size)  # with the digest of its end: clocks are coarse
    except ValueError:  # cut short just now
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, cursor


def _decoded(raw: bytes, offset: int) -> Record:
    try:
        found: Record = load(raw, offset)
    except ValueError:  # nested too deep, or rewritten meanwhile
        return {}
    return found if isinstance(found, dict) else {}


def _spans(raw: bytes, names: Iterable[str]) -> list[tuple[int, int] | None] | None:
    """Where in the bytes of an object its members stand; None when that is not to be had without decoding it."""
    if not _CAN_SPLIT:
        return None
    found: list[tuple[int, int] | None] | None = scan.implementation().member_spans(raw, list(map(str.encode, names)))
    return found


def _picked(raw: bytes, wanted: Wanted) -> Record:
    """What is wanted of the bytes of a value; empty when it is no object."""
    spans = _spans(raw, wanted)
    if spans is None:  # no object
        return {}
    found = {}
    for (name, inner), span in zip(wanted.items(), spans, strict=True):
        if span is not None:
            value = raw[span[0] : span[1]]
            found[name] = _picked(value, inner) if inner and value[:1] == b"{" else decoded(value)
    return found


def may_be_escaped(raw: bytes) -> bool:
    """Whether a letter or a sign of ASCII may be written as an escape, so that words are not found; those that steer a
    terminal do not count.
    """
    return find_any(raw, _ESCAPE) is not None and _ESCAPED.search(raw) is not None


def member(record: Mapping[str, Any], name: str) -> Record:
    """A member that is an object; empty when it is anything else."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def text_member(record: Mapping[str, Any], name: str) -> str:
    """A member that is text; empty when it is anything else."""
    value = record.get(name)
    return value if isinstance(value, str) else ""
