"""What is wrong with the lines of a session's file.

A line whose check is wrong is read as it stands, for the rest of it is most likely right; that is told, and so is what
is no record at all.  Only lines that somebody asked for are checked, `verify` checks all of them, and whether what an
entry follows is there.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock

from rehydrate.entries.log import Log, Record
from rehydrate.entries.metadata import last_of_each
from rehydrate.entries.scope import Scope, boundaries
from rehydrate.paths import open_file
from rehydrate.scan import Entry

from .errors import DamagedLine
from .line import check, seq_of

NO_RECORD = "is no record"
WRONG_CHECK = "is not what was written: its check is wrong"
CUT = "was cut off since the file was opened"
TOO_DEEP = "is nested too deep to be decoded"
UNFINISHED = "is not finished"
_PIECE = 1 << 20


class CheckedLog(Log):
    """A log that checks what it reads.  Several threads may use it."""

    def __init__(self, path: str, *, start: int = 0) -> None:
        """As `Log`."""
        self._lock = RLock()
        self.wrong: dict[int, str] = {}
        """Where a line begins that was read -> what is wrong with it."""
        self._keepers = 0
        self._kept: dict[int, Record] = {}
        super().__init__(path, start=start)

    def read(self, entry: Entry) -> bytes:
        with self._lock:
            raw = super().read(entry)
        if len(raw) < entry.length:
            self.wrong[entry.offset] = CUT
        elif check(raw) is False:
            self.wrong[entry.offset] = WRONG_CHECK
        return raw

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """While it lasts each record is decoded once: for who looks several times and holds all in the end."""
        with self._lock:
            self._keepers += 1
        try:
            yield
        finally:
            with self._lock:
                self._keepers -= 1
                if not self._keepers:
                    self._kept = {}

    def record(self, index: int) -> Record:
        with self._lock:
            found = self._kept.get(index)
            if found is not None:
                return found
            found = super().record(index)
            if self._keepers:
                self._kept[index] = found
        if not found:
            entry = self.entries[index]
            if entry.length > len(b"{ }"):
                self.wrong.setdefault(entry.offset, TOO_DEEP)
        return found


def told(path: str, wrong: Iterable[tuple[int, str]]) -> list[DamagedLine]:
    """Each with the number of its line.  `wrong`: where it begins and what is wrong with it, ascending."""
    found = []
    line, at = 1, 0
    with open_file(path) as file:
        for offset, what in wrong:
            while at < offset and (piece := file.read(min(_PIECE, offset - at))):
                line += piece.count(b"\n")
                at += len(piece)
            found.append(_damaged(path, line, offset, what))
    return found


def verify(scope: Scope) -> Iterator[DamagedLine]:
    """Every line that is no record, whose check is wrong, where lines are missing before it, or whose entry follows one
    that is not in the file, in file order.
    """
    log = scope.log
    lost = _without_parent(scope)
    entries = enumerate(log.entries)
    index, entry = next(entries, (0, None))
    offset, before = 0, None
    with open_file(log.path) as file:
        for number, line in enumerate(file, 1):
            if offset + len(line) > log.size:
                break  # written since
            end = offset + len(line)
            held, orphans = [], []
            while entry is not None and entry.offset < end:
                held.append(entry)
                if index in lost:
                    orphans.append(entry)
                index, entry = next(entries, (0, None))
            seq = seq_of(line)
            what = _wrong(line, offset, held) or _out_of_order(before, seq)
            if what:
                yield _damaged(log.path, number, offset, what)
            for each in orphans:
                yield _damaged(log.path, number, each.offset, f"follows {each.parent}, which is not in the file")
            offset, before = end, seq


def _without_parent(scope: Scope) -> frozenset[int]:
    """The entries that follow one that is not there; but not where the log of a subagent begins that shares what its
    conversation has said, and no compactions.
    """
    log = scope.log
    rows = last_of_each(scope)
    reference = rows.get("fork-context-ref")
    shared = None if reference is None else log.record(reference).get("parentLastUuid")
    named = {index: log.entries[index].parent for index, at in enumerate(log.parents) if at < 0 and log.is_entry(index)}
    return frozenset(i for i, uuid in named.items() if uuid not in (None, shared)).difference(boundaries(scope))


def _wrong(line: bytes, offset: int, held: list[Entry]) -> str:
    text = line.strip(b" \t\r\n")
    if offset == 0:
        text = text.removeprefix(b"\xef\xbb\xbf")
    if not text:
        return ""
    if not line.endswith(b"\n"):
        return UNFINISHED
    if len(held) != 1 or held[0].length != len(text):
        return NO_RECORD if len(held) < 2 else "holds more than one record"
    return WRONG_CHECK if check(text) is False else ""


def _out_of_order(before: int | None, seq: int | None) -> str:
    if before is None or seq is None or seq == before + 1:
        return ""
    return f"has the number {seq}, and the one before it {before}: lines are missing or written twice"


def _damaged(path: str, line: int, offset: int, what: str) -> DamagedLine:
    return DamagedLine(f"line {line} of {path} {what}", path=path, line=line, offset=offset)
