"""The line of descent: from where the conversation ends back to its beginning.

Every entry leads to the one before it.  Where it does not (the one before was never written, or the parents go in a
circle), what stands before it in the file is taken, and the gap is said.  Only a word of the user's may lead past a
compaction that stands in between: then it was undone.  What follows an entry that a compaction kept, and was written
behind it, comes after that compaction; what was written before it has never heard of it.
"""

from array import array
from bisect import bisect, bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property

from rehydrate.dataclass import dataclass

from . import messages
from .compaction import preserved
from .ends import leaf
from .scope import SPOKEN, Scope, begins, boundaries, boundary_of

__all__ = ["Chain", "Gap", "Scope", "boundaries", "boundary_of", "descent", "last_said", "leaf", "walk"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Where the line of descent is broken."""

    at: int
    """The entry whose parent could not be followed."""
    why: str
    """`missing` (the parent was never written), `circle`, or `bypass` (its parent stands before a compaction that it
    comes after)."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A line of descent."""

    entries: tuple[int, ...] = ()
    """Oldest first."""
    gaps: tuple[Gap, ...] = ()
    resumed: int | None = None
    """Of a chain that ends at a compaction: the entry which that kept and the conversation went on from; None where it
    went on from what stands behind the compaction."""


def walk(scope: Scope, tip: int, *, boundaries: list[int], past: Callable[[int], bool]) -> Chain:
    """From `tip` back to the beginning, or to the first boundary that `past` does not go past.

    `boundaries`: those of the scope, ascending.
    """
    way = _Way(scope, boundaries, seen=bytearray(len(scope.log)))
    at: int | None = tip
    while at is not None:
        at = way.follow(at)
        if way.is_compaction(at) and not past(at):
            break
        at = way.before(at)
    return way.chain()


def descent(scope: Scope, tip: int) -> Chain:
    """From `tip` back to the beginning, past every compaction.  It is asked for several times in a row."""
    known = scope.log.known
    key = (tip, scope.end, scope.agent)
    if known.descent is None or known.descent[0] != key:
        chain = walk(scope, tip, boundaries=boundaries(scope), past=lambda _: True)
        known.descent = (key, array("i", chain.entries), chain.gaps)
        return chain
    return Chain(tuple(known.descent[1]), known.descent[2])


def last_said(scope: Scope, tip: int, *, boundaries: list[int]) -> int | None:
    """The last entry of the user or the assistant on the way back from `tip` that is no command to the client."""
    for at in _Way(scope, boundaries, seen=defaultdict(int)).back(tip):
        if scope.log.types[at] in SPOKEN and not messages.is_command(scope.log.record(at)):
            return at
    return None


class _Way:
    """One walk."""

    def __init__(self, scope: Scope, boundaries: list[int], *, seen: bytearray | defaultdict[int, int]) -> None:
        """`seen`: what gives 0 for every record: for a long way a byte for each, for a short one what grows with it."""
        self._scope = scope
        self._taken: list[int] = []
        self._seen = seen
        self._gaps: list[Gap] = []
        self._marks = boundaries
        self._silent = 0  # before this record nobody has spoken: then it is not asked again
        self._resumed: dict[int, int] = {}  # boundary -> what it kept that the conversation went on from
        self._skip: dict[int, int] = {}  # entry that cannot be stitched to -> one before it that may

    def chain(self) -> Chain:
        resumed = self._resumed.get(self._taken[-1])
        return Chain(tuple(reversed(self._taken)), tuple(reversed(self._gaps)), resumed)

    def is_compaction(self, index: int) -> bool:
        """Whether the entry is one of the boundaries; without a set of them, as there are many short walks."""
        place = bisect_left(self._marks, index)
        return place < len(self._marks) and self._marks[place] == index

    def back(self, tip: int) -> Iterator[int]:
        """From `tip` on, newest first."""
        at: int | None = tip
        while at is not None:
            self._seen[at] = 1
            self._taken.append(at)
            yield at
            at = self.before(at)

    def follow(self, index: int) -> int:
        """Takes the entry, and those before it as long as each simply follows the one that it names; the last taken."""
        place = bisect(self._marks, index) - 1
        mark = self._marks[place] if place >= 0 else -1
        first, named = max(mark, 0), self._scope.log.parents
        taken, seen = self._taken, self._seen  # what a long way is made of
        at = index
        while True:
            seen[at] = 1
            taken.append(at)
            parent = named[at]
            if at == mark or not first <= parent < at or seen[parent]:
                return at
            at = parent

    def before(self, index: int) -> int | None:
        """The entry that comes before this one in the conversation."""
        if self.is_compaction(index):
            return self._before_boundary(index)
        parent = self._scope.parent(index)
        crossed = self._crossed(index, -1 if parent is None else parent)
        behind = None if crossed is None else self._behind(crossed, index, parent)
        if behind is not None:
            return behind
        if parent is None:
            is_first = self._scope.log.entries[index].parent is None
            return None if is_first else self._stitched(index, "missing")
        if crossed is not None:
            if not self._is_turn(index):
                return self._stitched(index, "bypass")
            for boundary in self._keepers.get(parent, ()):  # an older one may have kept what the user turned to
                if boundary < index and not self._seen[boundary]:
                    behind = self._behind(boundary, index, parent)
                    if behind is not None:
                        return behind
        return self._stitched(index, "circle") if self._seen[parent] else parent

    def _behind(self, boundary: int, index: int, parent: int | None) -> int | None:
        """What comes before an entry by the word of a compaction that stands before it: when that has kept the entry,
        or the one that it follows; None when neither.
        """
        kept = preserved(self._scope, boundary)
        if kept.anchor is None or self._seen[kept.anchor]:
            return None
        if index in kept.entries:  # copied behind the summary
            before = kept.entries[: kept.entries.index(index)][-1:]
            return before[0] if before and before[0] > boundary and not self._seen[before[0]] else kept.anchor
        if parent in kept.entries:
            self._resumed[boundary] = parent
            return kept.anchor
        return None

    def _before_boundary(self, index: int) -> int | None:
        """What was last said before a compaction; its own parent is never followed."""
        named = self._resumed.get(index)
        if named is None:
            record = self._scope.log.record(index)
            if begins(record):
                return None
            named = self._scope.at(record.get("logicalParentUuid"))
        if named is not None and not self._seen[named] and not self._scope.is_aside(named):
            return named
        before = self._scope.before(index)
        end = leaf(before) if index > self._silent else None
        if not any(before.spoken(each) and not before.is_aside(each) for each in before.turns_back()):
            self._silent = max(self._silent, index)
        return end if end is not None and not self._seen[end] else self._previous(index)

    def _crossed(self, index: int, parent: int) -> int | None:
        """The newest compaction that lies between the two in the file and was not passed."""
        between = self._marks[bisect(self._marks, parent) : bisect_left(self._marks, index)]
        return next((boundary for boundary in reversed(between) if not self._seen[boundary]), None)

    @cached_property
    def _keepers(self) -> dict[int, list[int]]:
        """The compactions that kept an entry which stands before them, the newest first."""
        found: dict[int, list[int]] = {}
        for boundary in reversed(self._marks):
            for index in preserved(self._scope, boundary).entries:
                if index < boundary:
                    found.setdefault(index, []).append(boundary)
        return found

    def _is_turn(self, index: int) -> bool:
        """Whether the user turned to another branch here: only a word of the user's does that."""
        record = self._scope.log.record(index)
        if record.get("type") != "user" or messages.is_meta(record) or messages.is_summary(record):
            return False
        return not messages.only_results(record)

    def _stitched(self, index: int, why: str) -> int | None:
        self._gaps.append(Gap(index, why))
        return self._previous(index)

    def _previous(self, index: int) -> int | None:
        """The entry of the conversation that stands before this one in the file and was not passed yet."""
        at = index - 1
        unfit = []
        while at >= 0 and (at in self._skip or self._seen[at] or not self._is_ours(at)):
            unfit.append(at)
            at = self._skip.get(at, at - 1)
        for each in unfit:
            self._skip[each] = at
        return at if at >= 0 else None

    def _is_ours(self, index: int) -> bool:
        return self._scope.log.is_entry(index) and not self._scope.is_aside(index)
