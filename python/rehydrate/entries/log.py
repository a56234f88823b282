"""The index of a transcript, and its records on demand.

Of the file only the index is held; a record's bytes are read when somebody asks for them, and few decoded records are
kept.  What can no longer be read (the file was cut short, or is nested beyond measure) is an empty record.
"""

import os
import stat
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehydrate import scan
from rehydrate.paths import open_file
from rehydrate.scan import Entry

KEPT_RECORDS = 4_096
KEPT_BYTES = 16_000_000
"""How much of what was decoded is kept, counted in the file's bytes."""

KEPT_INDEXES = 2

Record = dict[str, Any]


class _Index:
    """The structure of one file."""

    def __init__(self, tree: scan.Tree) -> None:
        self.tree = tree
        self.first: dict[str, int] = {}
        self.below: dict[str, list[int]] = {}
        self.replays: set[int] = set()
        for index, entry in enumerate(tree.entries):
            if entry.uuid is None:
                continue
            if entry.uuid in self.first:
                self.replays.add(index)
                continue
            self.first[entry.uuid] = index
            if entry.parent is not None and entry.parent != entry.uuid:
                self.below.setdefault(entry.parent, []).append(index)


_indexes: OrderedDict[tuple[object, ...], _Index] = OrderedDict()
"""The indexes read last, by what tells that a file is still the same: one is looked at several times in a row."""


class Log:
    """A transcript opened for reading; use it as a context manager.

    An entry is named by its place in `entries`.  Of several with the same uuid the first is the entry, the others are
    replays of it: they have no parent and no children, and `at` never names them.
    """

    def __init__(self, path: str) -> None:
        """Reads the index.  Raises OSError when the file cannot be read."""
        self.path = path
        index = _index(path)
        self.entries: Sequence[Entry] = index.tree.entries
        self.damaged: int = index.tree.damaged
        """Lines that are no record."""
        self.size: int = index.tree.size
        """Bytes in the file when it was read."""
        self.replays = index.replays
        self._first, self._below = index.first, index.below
        self._file = open_file(path).detach()  # what is there may be no file, or a link, by now
        self._records: OrderedDict[int, Record] = OrderedDict()
        self._held = 0

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self.entries)

    def at(self, uuid: object) -> int | None:
        """The entry with that uuid; None when there is none (or it is no uuid at all)."""
        return self._first.get(uuid) if isinstance(uuid, str) else None

    def parent(self, index: int) -> int | None:
        """The entry that this one follows; None where it names none, or one that was never written."""
        return self.at(self.entries[index].parent)

    def children(self, index: int) -> Sequence[int]:
        """The entries that follow this one, in file order."""
        uuid = self.entries[index].uuid
        return self._below.get(uuid, ()) if uuid is not None and index not in self.replays else ()

    def is_entry(self, index: int) -> bool:
        """Whether it takes part in the tree: it has a uuid and is no replay."""
        return self.entries[index].uuid is not None and index not in self.replays

    def raw(self, index: int) -> bytes:
        """The record as it stands in the file; fewer bytes when the file was cut short since."""
        entry = self.entries[index]
        self._file.seek(entry.offset)
        return self._file.read(entry.length) or b""

    def record(self, index: int) -> Record:
        """The record, decoded; empty when it cannot be."""
        known = self._records.get(index)
        if known is not None:
            self._records.move_to_end(index)
            return known
        entry = self.entries[index]
        found = _decoded(self.raw(index), entry.offset)
        self._records[index] = found
        self._held += entry.length
        while len(self._records) > KEPT_RECORDS or (self._held > KEPT_BYTES and len(self._records) > 1):
            oldest, _ = self._records.popitem(last=False)
            self._held -= self.entries[oldest].length
        return found

    def of_type(self, kind: str, *, end: int | None = None, backwards: bool = False) -> Iterator[int]:
        """The records of one type, entries or not, replays left out; those before `end`."""
        places = range(len(self.entries) if end is None else end)
        for index in reversed(places) if backwards else places:
            if self.entries[index].type == kind and index not in self.replays:
                yield index

    def holds(self, index: int, *, word: bytes) -> bool:
        """Whether the record's text can hold a word of plain ASCII: False is certain, True is to be looked at."""
        raw = self.raw(index)
        return word in raw or b"\\u00" in raw


def _index(path: str) -> _Index:
    key = _identity(path)
    known = _indexes.get(key) if key is not None else None
    if known is None:
        known = _Index(scan.read_tree(path))
        if key is not None and known.tree.size == key[2]:
            _indexes[key] = known
            while len(_indexes) > KEPT_INDEXES:
                _indexes.popitem(last=False)
    return known


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
        found = scan.Step(None, None, None, None, None, offset, len(raw), raw).json()
    except ValueError:  # nested too deep, or rewritten meanwhile
        return {}
    return found if isinstance(found, dict) else {}


def member(record: Mapping[str, Any], name: str) -> Record:
    """A member that is an object; empty when it is anything else."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def text_member(record: Mapping[str, Any], name: str) -> str:
    """A member that is text; empty when it is anything else."""
    value = record.get(name)
    return value if isinstance(value, str) else ""
