"""What a session is seen as: sequences and mappings of records that are decoded when they are asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, overload

from rehydrate.entries.log import Log
from rehydrate.scan._entries import Sign

Record = Mapping[str, Any]
"""An entry as it stands in the file, every member of it.  It is the reader's own: do not change it."""
Kind = Literal["raw", "scrollback", "active", "wire"]
"""What a session is seen as; see `Session.view`."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Where the line of descent is broken; it goes on with what stands before in the file."""

    uuid: str
    """The entry whose parent could not be followed."""
    why: str
    """`missing` (the parent was never written), `circle`, or `bypass` (the parent stands before a compaction that the
    entry comes after)."""


class View(Sequence[Record]):
    """Entries in the order in which they were said; of a `wire` the messages `{"role", "content"}`.

    Each is decoded when it is asked for, while the session is open.  A `wire` holds all of them.
    """

    def __init__(self, kind: Kind, record: Callable[[int], Record], entries: Sequence[int]) -> None:
        self.kind = kind
        self.uuids: tuple[str, ...] = ()
        """Of the entries that it holds; of a `wire` those that its messages are made of.  Empty for `raw`."""
        self.boundary: str | None = None
        """The compaction that it begins with, by uuid; None: it begins with the conversation."""
        self.preserved: tuple[str, ...] = ()
        """What that compaction kept word for word.  Their usage was counted before it."""
        self.gaps: tuple[Gap, ...] = ()
        self.left_out: tuple[tuple[str, str], ...] = ()
        """What of the line of descent it does not hold, by uuid, and why: `progress`, `taken back`, `taken out`; of a
        `wire` also `failed request`, `empty`, `only thoughts`, `call without a result`, and of blocks that lost their
        other half `result without a call`, `second result`."""
        self._record = record
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self._record(index) for index in self._entries[place]]
        return self._record(self._entries[place])

    def __repr__(self) -> str:
        return f"<{self.kind} view of {len(self)}>"

    def load(self) -> "View":
        """The view with all of its records decoded: it outlives the session that it is of."""
        records = [self._record(index) for index in self._entries]
        loaded = copy(self)
        loaded._record, loaded._entries = records.__getitem__, range(len(records))
        return loaded


class Lazy(Mapping[str, Record]):
    """Records by a name, decoded when asked for."""

    def __init__(self, log: Log, places: Mapping[str, int]) -> None:
        self._log = log
        self._places = places

    def __getitem__(self, name: str) -> Record:
        return self._log.record(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class ByUuid(Mapping[str, Record]):
    """Every entry of a log by its uuid."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __getitem__(self, uuid: str) -> Record:
        index = self._log.at(uuid)
        if index is None:
            raise KeyError(uuid)
        return self._log.record(index)

    def __contains__(self, uuid: object) -> bool:
        return self._log.at(uuid) is not None

    def __iter__(self) -> Iterator[str]:
        return (entry.uuid for index, entry in enumerate(self._log.entries) if entry.uuid and self._log.is_entry(index))

    def __len__(self) -> int:
        return sum(1 for sign in self._log.signs if sign & Sign.FIRST)
