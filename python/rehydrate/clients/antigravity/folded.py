"""The turns of a conversation, found by the compiled module: only what is told of them is decoded.

Gives what `kept` gives.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rehydrate import scan
from rehydrate.conversation import FileTouch, Turn
from rehydrate.dataclass import dataclass

from . import records
from .kept import Reach
from .touches import Ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rehydrate import _native

BATCH_ROWS = 256
BATCH_BYTES = 4 << 20
"""Turns are decoded together until there are so many of them, or their records are so long."""
KNOWN_BYTES = 512
"""Calls that take no more are decoded once: the same few files are read, the same commands are run again and again."""
_STEP_MAX = (1 << 63) - 1


class _Row(NamedTuple):
    """A turn that was not decoded."""

    step: int
    part: int
    number: int
    """Of the row in its file."""
    is_user: bool
    is_said: bool
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class _Part:
    """One file."""

    path: str
    segment: int
    last: int
    lossy: bool
    turns: "_native.Turns"


def can_fold() -> bool:
    """Whether the compiled module is there."""
    return hasattr(scan.implementation(), "read_turns")


def read_turns(path: str, *, lossy: bool) -> "_native.Turns":
    """One pass over a file: its boundaries, its highest step, its turns."""
    found: _native.Turns = scan.implementation().read_turns(path, is_cut=lossy)
    return found


class Folded:
    """The turns of some files."""

    def __init__(self, known: "Mapping[str, _native.Turns]") -> None:
        """`known`: by path what was just read of a file."""
        self.damaged = 0
        """Damaged lines, all files together."""
        self._known = known
        self._parts: list[_Part] = []
        self._made: _native.Fold | None = None
        self._requests: dict[tuple[int, int], str] = {}  # by part and row
        self._known_calls: dict[tuple[bytes, bool], tuple[records.Call, ...]] = {}

    def add(self, path: str, segment: int, *, last: int | None, lossy: bool) -> None:
        """Takes the turns of a younger file up to a step."""
        turns = self._known.get(path) or read_turns(path, lossy=lossy)
        highest = _STEP_MAX if last is None else min(last, _STEP_MAX)
        self._parts.append(_Part(path, segment, highest, lossy, turns))
        self.damaged += turns.damaged

    def turns(self) -> list[Turn]:
        """In the order of their steps; those that no budget reaches as few as can be."""
        reach = Reach()
        newest: list[Turn] = []
        for place, row, values in self._backwards(range(len(self._fold)), ("content", "tool_calls")):
            segment = self._parts[row.part].segment
            if row.is_user:
                newest.append(Turn(row.step, "user", self._requests[row.part, row.number], segment))
                continue
            text, calls = records.text_of(values[0]), self._calls(row, values[1])
            is_out = bool(text) and not reach.takes(len(text))
            if text or calls:
                tools = tuple([call.tool for call in calls])
                newest.append(Turn(row.step, "assistant", None if is_out else text, segment, tools))
            if is_out:  # its calls go with the text behind it
                return [*self._as_few(place), *reversed(newest)]
        return newest[::-1]

    def touches(self) -> tuple[FileTouch, ...]:
        """Oldest first; of each kind of touch of a path the first and the last."""
        ends = Ends()
        for kind, told, first, last in self._fold.touches():
            if path := records.path_of(told):
                ends.add(kind, path, first)
                ends.add(kind, path, last)
        for place, row, (tool_calls,) in self._backwards(self._fold.unseen(), ("tool_calls",)):
            for number, call in enumerate(self._calls(row, tool_calls)):
                for nth, path in enumerate(call.paths):
                    ends.add(call.kind, path, (place, number, nth))
        told_at = ends.places()
        places = sorted(told_at | {place + 1 for place in told_at if place + 1 < len(self._fold)})
        rows = {place: (row, values[0]) for place, row, values in self._backwards(places, ("created_at",))}

        def times(place: int) -> Iterator[object]:
            yield rows[place][1]
            if place + 1 in rows and not rows[place + 1][0].is_user:
                yield rows[place + 1][1]

        return ends.told(lambda place: rows[place][0].step, times)

    def finished(self, segment: int, steps: Sequence[int], *, is_whole: bool) -> Iterable[int]:
        """The steps behind some turns of a segment that are finished results of tools, ascending.  All of the file is
        known, so all of it is asked (`is_whole` or not).
        """
        part = next(part for part in self._parts if part.segment == segment)
        return part.turns.finished(min(steps) + 1, part.last)

    @property
    def _fold(self) -> "_native.Fold":
        """All files together, once none is to come."""
        if self._made is None:
            parts = [(part.turns, part.last, self._read_requests(at)) for at, part in enumerate(self._parts)]
            self._made = scan.implementation().fold(parts)
        return self._made

    def _read_requests(self, part: int) -> list[int]:
        """Keeps what the requests of a file ask; gives the rows of those that ask nothing."""
        void = []
        rows = [_Row(0, part, number, True, False, *place) for number, *place in self._users(part)]
        for batch in _batches(rows):
            for row, values in zip(batch, self._members(part, batch, ("source", "content")), strict=True):
                if request := records.asked(*values):
                    self._requests[part, row.number] = request
                else:
                    void.append(row.number)
        return void

    def _users(self, part: int) -> list[tuple[int, int, int]]:
        return self._parts[part].turns.users(self._parts[part].last)

    def _as_few(self, stop: int) -> list[Turn]:
        """The turns before a place: requests as they are, and what is said between two of them as one.

        Calls that come before all that was said stand for themselves, as far as somebody else speaks next.
        """
        fold = self._fold
        users = [place for place in fold.users() if place < stop]
        counts = dict.fromkeys(users, 1) | dict(fold.stretches(stop))
        places = sorted(counts)
        if places and places[0] in users[:1] and places[0] > 0:
            places.insert(0, places[0] - 1)
        told = []
        for place, row in zip(places, map(_Row._make, fold.rows(places)), strict=True):
            segment = self._parts[row.part].segment
            if row.is_user:
                told.append(Turn(row.step, "user", self._requests[row.part, row.number], segment))
            elif row.is_said:
                told.append(Turn(row.step, "assistant", None, segment, count=counts[place]))
            else:
                ((tool_calls,),) = self._members(row.part, [row], ("tool_calls",))
                calls = tuple([call.tool for call in self._calls(row, tool_calls)])
                told.append(Turn(row.step, "assistant", "", segment, calls))
        return told

    def _calls(self, row: _Row, tool_calls: object) -> tuple[records.Call, ...]:
        """The calls of a response, whose `tool_calls` are given as its bytes."""
        if not isinstance(tool_calls, bytes):
            return ()
        lossy = self._parts[row.part].lossy
        key = (tool_calls, lossy)
        found = self._known_calls.get(key)
        if found is None:
            found = tuple(records.calls_of(scan.implementation().decoded(tool_calls), lossy=lossy))
            if len(tool_calls) <= KNOWN_BYTES:
                self._known_calls[key] = found
        return found

    def _backwards(self, places: Sequence[int], keys: tuple[str, ...]) -> Iterator[tuple[int, _Row, tuple[Any, ...]]]:
        """The turns at some places (ascending) from the last one on, with the values of these members."""
        for stop in range(len(places), 0, -BATCH_ROWS):
            some = places[max(0, stop - BATCH_ROWS) : stop][::-1]
            rows = [_Row._make(row) for row in self._fold.rows(list(some))]
            read = iter(zip(some, rows, strict=True))
            for batch in _batches(rows):
                values: dict[_Row, tuple[Any, ...]] = {}
                for part in {row.part for row in batch}:
                    own = [row for row in batch if row.part == part]
                    values.update(zip(own, self._members(part, own, keys), strict=True))
                for row in batch:
                    yield next(read)[0], row, values[row]

    def _members(self, part: int, rows: Sequence[_Row], keys: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """All None where a record is gone: the file was changed meanwhile."""
        places = [(row.offset, row.length) for row in rows]
        found = scan.implementation().members_at(self._parts[part].path, places, keys)
        # A list, an object and a long integer are left as bytes: none of them is text, and calls are decoded apart.
        return [(None,) * len(keys) if values is None else values for values in found]


def _batches(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    batch: list[_Row] = []
    length = 0
    for row in rows:
        if batch and (len(batch) == BATCH_ROWS or length + row.length > BATCH_BYTES):
            yield batch
            batch, length = [], 0
        batch.append(row)
        length += row.length
    if batch:
        yield batch
