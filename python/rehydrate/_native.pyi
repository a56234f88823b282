"""The compiled half of `rehydrate`: plain values in and out. `rehydrate.scan` is its public face.

Paths are the system's bytes (`os.fsencode`).  A cursor goes in as (offset, crc) and comes out as (1, offset, hex crc).
Filesystem errors are the matching OSError, bad data a ValueError.  The interpreter is released while files are read.
"""

from typing import Any, final

__all__ = [
    "Fold",
    "Index",
    "Reader",
    "Turns",
    "cursor_at",
    "find_any",
    "find_step",
    "gate",
    "iter_records",
    "iter_steps",
    "member_spans",
    "members_at",
    "notable_lines",
    "notable_rule",
    "notable_sentences",
    "notable_telling",
    "open_unlinked",
    "probe",
    "probe_candidates",
    "probe_many",
    "read_tree",
    "read_turns",
    "scan_tail",
]

def scan_tail(
    path: bytes, cursor: tuple[int, int] | None, end: int | None
) -> tuple[tuple[int, int, str], list[tuple[int | None, int, int]], int | None, int, int, list[int], bool]:
    """cursor, boundaries (step, offset, length), last step, lines, damaged, damaged offsets, restarted.

    `end`: where it ends, where that is before the end of the file.
    """

def probe(path: bytes) -> tuple[int | None, str | None, int | None, str | None, int]:
    """First step, its time, highest step in the tail window, its time, size."""

def probe_many(
    paths: list[bytes], follow_symlinks: bool
) -> list[tuple[int | None, str | None, int | None, str | None, int] | None]:
    """The same for each file; None for one that cannot be read."""

def find_step(path: bytes, step: int, slack: int) -> tuple[int, str | None, int, int | None] | None:
    """Step, time, offset, highest step in the tail window.  The step is within 64 bits, the slack not below 0."""

def probe_candidates(
    paths: list[bytes], step: int, slack: int
) -> list[tuple[int, str | None, int, str | None, int, int | None, str | None, int] | None]:
    """First step and time; step, time and offset; highest step and time; size.  None for a file that is no parent."""

def read_tree(path: bytes) -> tuple[Index, int, int, list[int], int]:
    """The records; lines, damaged, damaged offsets, size."""

@final
class Index:
    """What stands behind `rehydrate.scan.Entries`.  IndexError for a place that no record has."""

    def __len__(self) -> int: ...
    def rows(self, start: int, stop: int) -> list[tuple[str | None, str | None, str | None, int, int]]:
        """uuid, parent, type, offset and length of the records of some places, as far as there are any."""

    def types(self) -> list[str | None]: ...
    def find(self, uuid: str) -> int | None: ...
    def parent(self, place: int) -> int | None: ...
    def children(self, place: int) -> list[int]: ...
    def is_first(self, place: int) -> bool: ...
    def of_type(self, kind: str, start: int, stop: int) -> list[int]: ...
    def parents(self) -> bytes:
        """32 bits a record."""

    def signs(self) -> bytes: ...
    def files(self) -> bytes:
        """32 bits a record."""

def read_turns(path: bytes, is_cut: bool) -> Turns:
    """What an Antigravity transcript holds.  `is_cut`: the arguments of its calls are encoded once more."""

@final
class Turns:
    """What stands behind `rehydrate.clients.antigravity.folded`."""

    @property
    def boundaries(self) -> list[tuple[int | None, int, int]]: ...
    @property
    def before(self) -> list[tuple[int, int] | None]:
        """For each boundary offset and length of the record before it, 0 where there is none; None where only reading
        tells.
        """

    @property
    def last_step(self) -> int | None: ...
    @property
    def damaged(self) -> int:
        """Damaged lines among those that may hold a turn."""

    def users(self, last: int) -> list[tuple[int, int, int]]:
        """Row, offset and length of what is a request by its type, up to a step."""

    def finished(self, first: int, last: int) -> list[int]: ...

@final
class Fold:
    """Turns by their places in the order of their steps.

    Of each part its last step, and ascending the rows of the requests that ask nothing.
    """

    def __new__(cls, parts: list[tuple[Turns, int, list[int]]]) -> Fold: ...
    def __len__(self) -> int: ...
    def rows(self, places: list[int]) -> list[tuple[int, int, int, bool, bool, int, int]]:
        """Step, part, row, whether it is a request, whether it says something, offset, length; as far as there are
        any.
        """

    def users(self) -> list[int]: ...
    def unseen(self) -> list[int]: ...
    def stretches(self, stop: int) -> list[tuple[int, int]]:
        """The place of the first one, and how many say something."""

    def touches(self) -> list[tuple[str, str, tuple[int, int, int], tuple[int, int, int]]]:
        """How, by what, and the first and the last time: turn, call, number in the turn."""

def members_at(path: bytes, places: list[tuple[int, int]], members: list[bytes]) -> list[tuple[Any, ...] | None]:
    """Values as the rows of `iter_records` have them; None where no record stands at an offset with that length."""

def member_spans(object: bytes, members: list[bytes]) -> list[tuple[int, int] | None] | None:
    """Where in the bytes of an object the values of some members begin and end, None for one that it does not have.

    None when it is no whole object, or one that is nested more than 64 deep.
    """

def find_any(raw: bytes, words: list[bytes], start: int) -> int | None:
    """Where the first of some words begins, from `start` on."""

def cursor_at(path: bytes, offset: int) -> tuple[int, int, str]: ...
def iter_steps(
    path: bytes,
    types: list[bytes] | None,
    range: tuple[int, int] | None,
    cursor: tuple[int, int] | None,
    is_closed: bool,
) -> Reader:
    """Rows: step, type, source, status, created_at, offset, length, raw."""

def iter_records(
    path: bytes, members: list[bytes], filters: list[tuple[int, list[bytes]]], cursor: tuple[int, int] | None
) -> Reader:
    """Rows: the members' values, offset, length.  No member twice; a filter is a member's place and its allowed names.

    A list, an object or an integer beyond 64 bits comes as its bytes, every other value decoded.
    """

@final
class Reader:
    """Records in batches."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def restarted(self) -> bool: ...
    @property
    def damaged(self) -> int: ...
    @property
    def damaged_offsets(self) -> list[int]: ...
    def batch(self) -> tuple[list[tuple[Any, ...]], list[int]]:
        """The next rows, and for each where a later read goes on; two empty lists at the end."""

    def cursor(self, offset: int) -> tuple[int, int, str]: ...
    def close(self) -> None: ...

def open_unlinked(path: bytes) -> int:
    """A descriptor for reading a regular file by its absolute path.

    OSError: ELOOP for any symbolic link in it, EXDEV for a path that is not absolute or has a `..`, EISDIR for a
    folder, ENXIO for what is neither file nor folder.
    """

def gate(fd: int) -> tuple[bool, bytes]:
    """Reads the hook's payload: whether there is provably nothing to do, and what was read."""

def notable_lines(text: str, kind: str) -> list[str] | None:
    """The lines of a text that say most, best first; `kind`: `result`, `file` or `change`.

    None for a text with characters of which only Python knows what they are.
    """

def notable_sentences(text: str) -> list[str] | None:
    """The same of sentences."""

def notable_rule(text: str) -> bool | None:
    """Whether a request says what is to hold."""

def notable_telling(text: str) -> list[tuple[int, int]] | None:
    """Start and end of the sentences of a request that say most, best first."""
