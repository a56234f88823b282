"""What the scanner gives back: named tuples, and the iterator of the `iter_*` operations.

The types behave as `typing.NamedTuple` does (fields, `_fields`, `_replace`, `_asdict`, pattern matching, pickling) but
are built without `collections` or `typing`, so that importing the scanner loads no module of the standard library.
Both implementations hand out these and nothing else.
"""

from _thread import RLock  # not from `threading`, which is not loaded at start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Generic, NamedTuple, Protocol, TypeVar

    from ._entries import Entries

    _T = TypeVar("_T")

    class Source(Protocol[_T]):
        """What an implementation puts behind a `RecordIterator`."""

        restarted: bool
        """The cursor that was given did not fit the file: reading began at 0."""
        damaged: int
        """Damaged lines met so far; may run ahead of the records handed out by one batch."""
        damaged_offsets: list[int]
        """Offsets of the first 16 of them, ascending."""
        start: int
        """Where reading began."""
        end: int
        """End of the last complete line read so far."""

        def batch(self) -> tuple[list[_T], list[int]]:
            """The next records, and for each the offset at which a later read goes on once it was handed out: the end
            of its line, or the start of its line while more records of that line follow.  Two empty lists: no more.
            """

        def cursor(self, offset: int) -> "Cursor":
            """The cursor for an offset in `start..end`; not asked for after `close`."""

        def close(self) -> None:
            """Lets go of the file.  May be called twice.  `damaged` and the like stay."""

else:

    class _Slotted(type):
        """Leaves out the `__dict__` of the instances, as `typing.NamedTuple` does."""

        @classmethod
        def __prepare__(cls, name, bases):
            return {} if getattr(bases[0], "_fields", ()) else {"__slots__": ()}

    class NamedTuple(tuple, metaclass=_Slotted):
        """Stands in for `typing.NamedTuple`: turns the annotations of a direct subclass into fields."""

        _fields = ()

        def __init_subclass__(cls):
            if cls._fields:  # of the type that is subclassed: they stay
                return
            cls._fields = cls.__match_args__ = tuple(cls.__annotations__)
            for at, name in enumerate(cls._fields):
                setattr(cls, name, property(lambda self, at=at: self[at]))

        def __new__(cls, *values, **named):
            fields = cls._fields
            rest = fields[len(values) :]
            if len(values) > len(fields) or set(rest) != set(named):
                raise TypeError(f"{cls.__name__} takes exactly the fields {', '.join(fields)}")
            return tuple.__new__(cls, (*values, *(named[name] for name in rest)))

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named):
            return type(self)(**{**self._asdict(), **named})

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self._asdict().items())})"

    _T = None

    class Generic:
        """Stands in for `typing.Generic`."""

        __slots__ = ()

        def __class_getitem__(cls, item):
            return cls


Cursor = tuple[int, int, str]
"""`(1, offset, crc)`: crc is the CRC-32 of the up to 4,096 bytes before the offset, 8 lower-case hex digits."""


class Mark(NamedTuple):
    """A record of type CHECKPOINT, as `scan_tail` found it."""

    step: "int | None"
    """Its `step_index`; None when it has none that is an integer within 64 bits."""
    offset: int
    """Bytes from the start of the file to the record's `{`."""
    length: int
    """Bytes from its `{` to its `}`, both included."""


class Tail(NamedTuple):
    """What `scan_tail` read after the cursor it was given."""

    cursor: "Cursor"
    """The end of the last complete line: give it to the next call."""
    boundaries: "list[Mark]"
    """Every record of type CHECKPOINT, whatever its status, in file order."""
    last_step: "int | None"
    """The highest step; None when no record has one."""
    lines: int
    """Complete lines that are not blank."""
    damaged: int
    """Lines that are not one JSON object; a lower bound, as not every line is walked."""
    damaged_offsets: "list[int]"
    """Offsets of the first 16 of them, ascending."""
    restarted: bool
    """The cursor did not fit the file (shorter, or other bytes): everything was read from 0."""


class Probe(NamedTuple):
    """The first and the highest step of a file, found without reading the middle."""

    first_step: "int | None"
    """Step of the first record that has one among the first 16 non-blank lines; None when none has."""
    first_created_at: "str | None"
    """`created_at` of that record; None when absent or no string."""
    last_step: "int | None"
    """The highest step in the tail window; None when no record in it has one."""
    last_created_at: "str | None"
    """`created_at` of the record with that step (the last such line); None when absent or no string."""
    size: int
    """Bytes in the file when it was opened."""


class Found(NamedTuple):
    """A record that `find_step` found."""

    step: int
    """The step looked for, or the largest below it within the slack."""
    created_at: "str | None"
    """Its `created_at`; None when absent or no string."""
    offset: int
    """Bytes from the start of the file to the record."""
    last_step: "int | None"
    """The highest step in the tail window, as `probe` gives it."""


class Candidate(NamedTuple):
    """A file that may be a parent: its probe and the step that was looked for."""

    first_step: int
    """As in `Probe`."""
    first_created_at: "str | None"
    """As in `Probe`."""
    step: int
    """As in `Found`."""
    created_at: "str | None"
    """As in `Found`."""
    offset: int
    """As in `Found`."""
    last_step: "int | None"
    """As in `Probe`."""
    last_created_at: "str | None"
    """As in `Probe`."""
    size: int
    """As in `Probe`."""


_load: "Callable[[bytes, int], dict[str, Any]] | None" = None
"""What decodes a record, once one was asked for."""


class Step(NamedTuple):
    """One record of a transcript.  The text members are None where the record lacks them or holds something else."""

    index: "int | None"  # type: ignore[assignment]  # the specified name; hides tuple.index
    """Its `step_index`; None when it has none that is an integer within 64 bits."""
    type: "str | None"
    """What kind of record it is, for example `USER_INPUT`."""
    source: "str | None"
    """Who made it, for example `MODEL`."""
    status: "str | None"
    """How far it is, for example `RUNNING` or `DONE`; of several records with one step the last line is right."""
    created_at: "str | None"
    """When it was made, as it is written in the file (RFC 3339)."""
    offset: int
    """Bytes from the start of the file to the record's `{`."""
    length: int
    """Bytes from its `{` to its `}`, both included; `len(raw)`."""
    raw: bytes
    """The record exactly as it stands in the file."""

    def json(self) -> "dict[str, Any]":
        """The whole record, parsed.  Invalid UTF-8 and lone surrogates become U+FFFD; NaN, the infinities and numbers
        beyond a double become None; integers of more than 4,300 digits become str.

        Raises ValueError (with the offset) when it is nested deeper than 512 levels.
        """
        global _load
        if _load is None:  # who reads no record does not need it; an import in each call takes a sixth of its time
            from ._decode import load

            _load = load
        return _load(self.raw, self.offset)


class Entry(NamedTuple):
    """A record of a transcript whose records name their parents, as `read_tree` found it."""

    uuid: "str | None"
    """Its `uuid`; None for a record that has none: it is no entry of the conversation but tells something about it."""
    parent: "str | None"
    """Its `parentUuid`: the entry that it follows; None where that is null or missing."""
    type: "str | None"
    """What kind of record it is, for example `assistant`."""
    offset: int
    """Bytes from the start of the file to the record's `{`."""
    length: int
    """Bytes from its `{` to its `}`, both included."""


class Tree(NamedTuple):
    """What `read_tree` read."""

    entries: "Entries"
    """Every record, in file order."""
    lines: int
    """Complete lines that are not blank."""
    damaged: int
    """Lines that are not one JSON object."""
    damaged_offsets: "list[int]"
    """Offsets of the first 16 of them, ascending."""
    size: int
    """Bytes in the file when it was opened."""


class RecordIterator(Generic[_T]):
    """Records one after another, read in batches.  `.restarted` is known at once; the others grow while it runs.

    Several threads may share one: each record goes to one of them.
    """

    __slots__ = ("_cursor", "_lock", "_place", "_source", "_waiting")

    def __init__(self, source: "Source[_T]") -> None:
        self._source = source
        self._lock = RLock()  # held while the source is used
        self._waiting: list[tuple[_T, int]] = []  # last first, as only `pop` takes one away for one thread alone
        self._place = source.start  # where a later read goes on after what was handed out
        self._cursor: Cursor | None = None  # set when it is over

    def __iter__(self) -> "RecordIterator[_T]":
        return self

    def __next__(self) -> "_T":
        while True:
            try:
                row, self._place = self._waiting.pop()
            except IndexError:
                self._read()
            else:
                return row

    def _read(self) -> None:
        """Fetches a batch unless another thread did; StopIteration when there is none."""
        with self._lock:
            if self._waiting:
                return
            if self._cursor is not None:
                raise StopIteration
            rows, ends = self._source.batch()
            if not rows:
                self._place = self._source.end
                self.close()
                raise StopIteration
            rows.reverse()
            ends.reverse()
            self._waiting = list(zip(rows, ends, strict=True))

    @property
    def cursor(self) -> "Cursor":
        """While it runs: the end of the last line all of whose records were handed out.  At the end: the end of the
        last complete line.  Give it to a later call to read what came after.
        """
        with self._lock:
            return self._cursor or self._source.cursor(self._place)

    @property
    def damaged(self) -> int:
        """Lines read so far that are not one JSON object; exact once the iterator is exhausted."""
        return self._source.damaged

    @property
    def damaged_offsets(self) -> "list[int]":
        """Offsets of the first 16 damaged lines, ascending."""
        return self._source.damaged_offsets

    @property
    def restarted(self) -> bool:
        """The cursor did not fit the file (shorter, or other bytes): reading began at 0."""
        return self._source.restarted

    def close(self) -> None:
        """Ends the read early and lets go of the file; what was not handed out yet is dropped.  May be called twice."""
        with self._lock:
            self._waiting = []
            if self._cursor is None:
                try:
                    self._cursor = self._source.cursor(self._place)
                finally:
                    self._source.close()


StepIterator = RecordIterator[Step]
"""The iterator of `iter_steps` and `iter_closed`: a `RecordIterator` of `Step`."""
