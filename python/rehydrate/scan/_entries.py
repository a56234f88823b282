"""The entries of a tree: a sequence that makes its members when asked for them, and knows how they hang together."""

from sys import modules

from ._results import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol, SupportsIndex, TypeAlias, overload

    Row: TypeAlias = tuple[str | None, str | None, str | None, int, int]

    class Index(Protocol):
        """What an implementation puts behind `Entries`.  Places are not below 0, and IndexError where none is."""

        def __len__(self) -> int: ...
        def rows(self, start: int, stop: int) -> Sequence[Row]:
            """The records of some places, as far as there are any."""

        def types(self) -> list[str | None]: ...
        def find(self, uuid: str) -> int | None: ...
        def parent(self, place: int) -> int | None: ...
        def children(self, place: int) -> list[int]: ...
        def is_first(self, place: int) -> bool: ...
        def of_type(self, kind: str, start: int, stop: int) -> list[int]: ...
        def parents(self) -> bytes: ...
        def signs(self) -> bytes: ...
        def files(self) -> bytes: ...

    _Base = Sequence[Entry]
else:
    _Base = object

_make = tuple.__new__
_BATCH = 1024
"""As many are made at a time where all are gone through."""


class Sign:
    """What a look at a record shows: bits of its byte in `Entries.signs`."""

    FIRST = 1
    """It is the first one with its uuid."""
    USER = 2
    ASSISTANT = 4
    """Its type."""
    UNSEEN = 8
    """It was not looked into: of its message and its result nothing is known."""
    QUIET = 16
    """Its message surely holds no word of the user's: it only brings results of tools, or is what a compaction left."""
    TASK = 32
    """It may tell that something was started that goes on by itself, or end that."""
    ASIDE = 64
    """It may be no word of the conversation itself: a subagent's, another member's of a team, or the client's own."""
    SOURCE = 128
    """It may name another conversation that it comes from."""


class Entries(_Base):
    """Every record of a file in file order: a read-only sequence of `Entry`.  Its methods name a record by its place.

    A record takes about 55 bytes here, and 25 more once somebody has asked who follows whom; an `Entry` is made anew
    whenever it is asked for.  The pure twin holds all of them, several hundred bytes each.  Equal to any other of the
    same entries and to a list of them.
    """

    __slots__ = ("_index",)

    def __init__(self, index: "Index") -> None:
        self._index = index

    def find(self, uuid: str) -> "int | None":
        """The first record with that `uuid`; in upper case a UUID is another one.  None when there is none."""
        return self._index.find(uuid)

    def parent(self, place: int) -> "int | None":
        """The first record with the `uuid` that this one names as its parent; it may stand behind it, and be itself.
        None when it names none, or one that is not in the file.
        """
        return self._index.parent(self._checked(place))

    def children(self, place: int) -> "list[int]":
        """The records that name this one as their parent, in file order.

        Only of the first record with a `uuid`, and only such: a later one is the same record written again.  A record
        that names itself is no child of its own.
        """
        return self._index.children(self._checked(place))

    def is_first(self, place: int) -> bool:
        """Whether the record has a `uuid` that none before it has."""
        return self._index.is_first(self._checked(place))

    def parents(self) -> "memoryview[int]":
        """For each record what `parent` gives, and -1 for None: for who follows many of them."""
        return memoryview(self._index.parents()).cast("i")

    def signs(self) -> bytes:
        """For each record a byte of `Sign`.  The pure twin looks at nothing: its records are UNSEEN and may be what
        they like.
        """
        return self._index.signs()

    def files(self) -> "memoryview[int]":
        """For each record a number for the file that its calls of tools name: 0 where they surely name none, -1 where
        only reading tells, and else another number for each path.
        """
        return memoryview(self._index.files()).cast("i")

    def types(self) -> "list[str | None]":
        """The type of each record, in file order: for who asks for many of them, as no entry is made for that."""
        return self._index.types()

    def of_type(self, kind: str, start: int = 0, stop: "int | None" = None) -> "list[int]":
        """The records of one type, ascending, from `start` up to but without `stop`, which slices as a list does (None:
        to the end); those left out whose `uuid` an earlier one has.
        """
        start, stop, _ = slice(start, stop).indices(len(self._index))
        return self._index.of_type(kind, start, stop)

    def _checked(self, place: "SupportsIndex") -> int:
        """A place from the start, of one from the start or the end."""
        at, count = place.__index__(), len(self._index)
        if not -count <= at < count:
            raise IndexError("there is no record with that place")
        return at if at >= 0 else at + count

    def __len__(self) -> int:
        return len(self._index)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, place: SupportsIndex) -> Entry: ...
        @overload
        def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: "SupportsIndex | slice") -> "Entry | list[Entry]":
        """One entry, or a list of some."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self._index))
            if step != 1:
                return [self[at] for at in range(start, stop, step)]
            return [_make(Entry, row) for row in self._index.rows(start, stop)]
        at = self._checked(place)
        return _make(Entry, self._index.rows(at, at + 1)[0])

    def __iter__(self) -> "Iterator[Entry]":
        for start in range(0, len(self._index), _BATCH):
            yield from self[start : start + _BATCH]

    def __reversed__(self) -> "Iterator[Entry]":
        for stop in range(len(self._index), 0, -_BATCH):
            yield from reversed(self[max(0, stop - _BATCH) : stop])

    def __contains__(self, entry: object) -> bool:
        return any(each == entry for each in self)

    def index(self, entry: object, start: int = 0, stop: "int | None" = None) -> int:
        """The place of the first such entry in a range that slices as a list does; ValueError when there is none."""
        for place in range(*slice(start, stop).indices(len(self._index))):
            if self[place] == entry:
                return place
        raise ValueError("there is no such entry")

    def count(self, entry: object) -> int:
        """How often the entry is there."""
        return sum(each == entry for each in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Entries, list)):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        return f"<{len(self)} entries>"

    def __reduce__(self) -> "tuple[object, ...]":
        return _listed, (list(self),)


if "_collections_abc" in modules:  # everywhere but in an interpreter without `site`, for which it is not loaded
    modules["_collections_abc"].Sequence.register(Entries)


def _listed(entries: "list[Entry]") -> Entries:
    return Entries(Listed(entries))


class Listed:
    """The index of entries that are held as they are (an `Index`)."""

    def __init__(self, entries: "list[Entry]") -> None:
        self._entries = entries
        self._first: dict[str, int] = {}
        self._children: dict[int, list[int]] | None = None  # filled when it is first asked for

    def __len__(self) -> int:
        return len(self._entries)

    def rows(self, start: int, stop: int) -> "list[Entry]":
        return self._entries[start:stop]

    def types(self) -> "list[str | None]":
        return [entry.type for entry in self._entries]

    def find(self, uuid: str) -> "int | None":
        self._link()
        return self._first.get(uuid)

    def parent(self, place: int) -> "int | None":
        parent = self._entries[place].parent
        return None if parent is None else self.find(parent)

    def children(self, place: int) -> "list[int]":
        return list(self._link().get(place, ()))

    def is_first(self, place: int) -> bool:
        uuid = self._entries[place].uuid
        return uuid is not None and self.find(uuid) == place

    def of_type(self, kind: str, start: int, stop: int) -> "list[int]":
        entries = self._entries
        found = (at for at in range(start, stop) if entries[at].type == kind)
        return [at for at in found if entries[at].uuid is None or self.is_first(at)]

    def parents(self) -> bytes:
        from array import array

        self._link()
        first = self._first
        named = (each.parent for each in self._entries)
        return array("i", [-1 if name is None else first.get(name, -1) for name in named]).tobytes()

    def signs(self) -> bytes:
        self._link()
        kinds = {"user": Sign.USER, "assistant": Sign.ASSISTANT}
        rest = Sign.UNSEEN | Sign.ASIDE | Sign.SOURCE
        return bytes(
            kinds.get(entry.type or "", 0) | rest | (Sign.FIRST if self._first.get(entry.uuid or "") == place else 0)
            for place, entry in enumerate(self._entries)
        )

    def files(self) -> bytes:
        return b"\xff" * 4 * len(self._entries)

    def _link(self) -> "dict[int, list[int]]":
        if self._children is None:
            first: dict[str, int] = {}
            for place, entry in enumerate(self._entries):
                if entry.uuid is not None:
                    first.setdefault(entry.uuid, place)
            children: dict[int, list[int]] = {}
            for place, entry in enumerate(self._entries):
                if entry.uuid is not None and entry.parent is not None and first[entry.uuid] == place:
                    parent = first.get(entry.parent)
                    if parent is not None and parent != place:
                        children.setdefault(parent, []).append(place)
            self._first, self._children = first, children  # the latter last: another thread may look
        return self._children
