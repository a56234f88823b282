"""What of a log is looked at: all of it or its beginning, the conversation itself or a subagent's."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from rehydrate.scan._entries import Sign

from . import messages
from .log import Log, Record, member, text_member

SPOKEN = frozenset({"user", "assistant"})
BOUNDARY = "compact_boundary"
RETRACTION = "tombstone"
"""The type of a record that takes an entry back."""
_IS_TURN = bytes(sign & Sign.FIRST != 0 and sign & (Sign.USER | Sign.ASSISTANT) != 0 for sign in range(256))


class Scope:
    """A log up to one of its records: what was written behind `end` does not exist in it."""

    def __init__(self, log: Log, *, end: int | None = None, agent: bool = False, turns: bytes | None = None) -> None:
        """`agent`: the file is a subagent's own, so its sidechain is the conversation.  `turns`: a byte for each record
        of the log, 1 where it is an entry of the user or the assistant; known already.
        """
        self.log = log
        self.end = len(log) if end is None else end
        self.agent = agent
        self._turns = log.signs.translate(_IS_TURN) if turns is None else turns
        self.gone_on: dict[int, int] = {}
        """What `ends` has found out about answers."""

    def before(self, end: int) -> "Scope":
        """The same log as it was before that record was written."""
        return Scope(self.log, end=min(end, self.end), agent=self.agent, turns=self._turns)

    def turns_back(self) -> Iterator[int]:
        """The entries of the user and the assistant, in whatever line of descent, the last one first."""
        at = self._turns.rfind(1, 0, self.end)
        while at >= 0:
            yield at
            at = self._turns.rfind(1, 0, at)

    def at(self, uuid: object) -> int | None:
        """As `Log.at`: for what an entry names."""
        return self.held(uuid)

    def held(self, uuid: object) -> int | None:
        """As `at`, where None only says that it is none of what is looked at."""
        index = self.log.at(uuid)
        return index if index is not None and index < self.end else None

    def parent(self, index: int) -> int | None:
        """As `Log.parent`."""
        parent = self.log.parent(index)
        return parent if parent is not None and parent < self.end else None

    def children(self, index: int) -> Iterator[int]:
        """As `Log.children`, those of subagents left out.  In the place of one that was taken back stand its own."""
        for child in self._without_retracted(index) if self.retracted else self.log.children(index):
            if child < self.end and not self.is_aside(child):
                yield child

    def _without_retracted(self, index: int) -> Iterator[int]:
        waiting, seen = list(self.log.children(index))[::-1], {index}
        while waiting:
            child = waiting.pop()
            if child not in self.retracted:
                if child != index:  # as one that names itself
                    yield child
            elif child not in seen and not self.is_aside(child):
                seen.add(child)
                waiting += self.log.children(child)[::-1]

    def is_aside(self, index: int) -> bool:
        """Whether the entry is none of the conversation itself: a subagent's, or another member's of a team."""
        if not self.log.signs[index] & Sign.ASIDE:
            return False
        record = self.log.record(index)
        if not self.agent and messages.is_sidechain(record):
            return True
        return bool(record.get("teamName")) and not self._is_members

    @cached_property
    def retracted(self) -> frozenset[int]:
        """The entries that were taken back.  A line of descent leads through them; they are in no view."""
        known = self.log.known
        if known.retractions is None:
            known.retractions = list(_retractions(self.log))
        return frozenset(target for at, target in known.retractions if max(at, target) < self.end)

    @cached_property
    def _is_members(self) -> bool:
        """Whether the file is a team member's own: then it begins with the member's words."""
        for index, kind in enumerate(self.log.types):
            if kind in SPOKEN and self.log.is_entry(index):
                record = self.log.record(index)
                if self.agent or not messages.is_sidechain(record):
                    return bool(record.get("teamName"))
        return False

    def spoken(self, index: int) -> bool:
        """Whether somebody speaks in the entry: the user, the assistant, or a tool."""
        sign = self.log.signs[index]
        if not sign & (Sign.USER | Sign.ASSISTANT):
            return False
        return not sign & Sign.ASIDE or not messages.is_meta(self.log.record(index))


def _retractions(log: Log) -> Iterator[tuple[int, int]]:
    for index in log.of_type(RETRACTION):
        target = log.at(log.record(index).get("targetUuid"))
        if target is None or (log.types[target] == "system" and boundary_of(log.record(target)) is not None):
            continue  # what stands before a compaction hangs on nothing else
        yield index, target


def boundary_of(record: Record) -> Record | None:
    """What a boundary says of its compaction; None when the record is no boundary."""
    return member(record, "compactMetadata") if record.get("subtype") == BOUNDARY else None


def boundaries(scope: Scope) -> list[int]:
    """Every compaction in the file, those on branches that were left included, in file order."""
    log = scope.log
    found = log.known.compactions.get(scope.agent)
    if found is None:  # asked for again and again
        found = log.known.compactions[scope.agent] = [
            index
            for index in log.of_type("system")
            if log.is_entry(index)
            and log.holds(index, word=BOUNDARY.encode())
            and boundary_of(log.record(index)) is not None
            and not scope.is_aside(index)
        ]
    return found[: bisect_left(found, scope.end)]


def own_summary(log: Log, boundary: int) -> str:
    """The summary that a boundary holds itself, told by an entry behind it or not; empty where it holds none."""
    return text_member(log.record(boundary), "summary")


def summary_in(scope: Scope, boundary: int) -> str:
    """The summary that a boundary holds itself, where no entry behind it tells it: a crash may have cut that off.
    Empty where one does, or it holds none.
    """
    text = own_summary(scope.log, boundary)
    return text if text and _told(scope.log, boundary) >= scope.end else ""


def _told(log: Log, boundary: int) -> int:
    """The first entry behind a boundary that tells its summary; the end of the log where none does."""
    behind = (at for at in log.children(boundary) if log.types[at] == "user" and messages.is_summary(log.record(at)))
    return min(behind, default=len(log))


def begins(boundary: Record) -> bool:
    """Whether a boundary says that nothing came before it; that of another writer, which does not hold its summary, may
    only not know.
    """
    return "summary" in boundary and boundary.get("logicalParentUuid", "") is None


def summing_up(scope: Scope, start: int, end: int) -> Iterator[int]:
    """The boundaries of a stretch that tell the summary themselves, the last one first."""
    log, known = scope.log, scope.log.known
    if start < known.told_from:
        known.told[:0] = [
            (index, _told(log, index))
            for index in log.entries.of_type("system", start, known.told_from)
            if log.is_entry(index)
            and log.holds(index, word=BOUNDARY.encode())
            and boundary_of(log.record(index)) is not None
            and own_summary(log, index)
        ]
        known.told_from = start
    found = known.told[bisect_left(known.told, (start,)) : bisect_left(known.told, (end,))]
    return (index for index, told in reversed(found) if told >= scope.end and not scope.is_aside(index))
