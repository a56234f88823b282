"""Whose fork a conversation is.

A fork's transcript begins with a copy of what it was forked from.  What of it is whose is found level by level: the
source is named by the copy (see `origins`), and the fork point is the last entry of the line of descent that the source
holds, too.  The source's part is read from its own transcript, which may reach further back than the copy does, and
ends at the fork point: what the source did afterwards is none of this conversation.  Where the source's transcript is
gone, the copy stands in for it.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import islice

from rehydrate.conversation import Lineage, Segment
from rehydrate.dataclass import dataclass
from rehydrate.entries import messages
from rehydrate.entries.chain import descent
from rehydrate.entries.ends import leaf
from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope, begins, boundary_of

from .origins import Origins, continued, origins, with_entry
from .place import Place

LEVELS = 8
"""Ancestors at most."""
NAMED = 32
"""Conversations that one names as its source and that are looked at: those it names first."""


@dataclass(frozen=True, slots=True)
class _Node:
    """One conversation of the walk, as far as it belongs to the line of descent."""

    place: Place
    log: Log
    entries: tuple[int, ...]
    """Its line of descent, those that were copied into it included, oldest first."""
    before: str | None
    """The entry that its first one follows, which is not in this transcript; None when there is no such."""
    is_whole: bool
    """False when it begins with what a compaction left, so that something must have come before."""

    def uuid(self, at: int) -> str:
        """Of the entry that stands there in its line of descent."""
        return self.log.entries[self.entries[at]].uuid or ""


@dataclass(frozen=True, slots=True)
class _Fork:
    """Where a conversation was forked from another one."""

    session: str
    at: int
    """The last entry of the child's line of descent that is the source's; -1 when none of them is."""
    source: _Node | None
    """None when the source's transcript is gone."""
    why: str


def trace(place: Place, *, workspaces: Iterable[str] = (), cached: object = None, last_step: object = None) -> Lineage:
    """The segments of a conversation, its oldest ancestor first; steps are uuids, those of the segment's own file.

    Everything is in the files, so neither `workspaces` nor a `cached` lineage is needed.  `last_step`: the entry that
    the conversation ends with, where a survey has told it.  A missing ancestor makes the lineage incomplete, never an
    error; the conversation's own transcript must be readable (else OSError).
    """
    with ExitStack() as logs:
        way = _Walk(logs)
        node = way.node(place, end=last_step)
        if place.agent or place.project is None:
            why = () if place.agent else ("It lies outside the known layout, so no source is looked for.",)
            return Lineage((_segment(node, node.entries),), complete=True, why=why)
        segments, complete = way.up(node)
        return Lineage(tuple(segments), complete=complete, why=tuple(way.why))


class _Walk:
    """One walk up from a conversation."""

    def __init__(self, logs: ExitStack) -> None:
        self.why: list[str] = []
        self._logs = logs
        self._visited: set[str] = set()
        self._opened: dict[str, tuple[Place, Log] | None] = {}

    def up(self, node: _Node) -> tuple[list[Segment], bool]:
        """The segments, oldest first, and whether nothing that came before is missing."""
        segments: list[Segment] = []
        for level in range(LEVELS + 1):
            self._visited.add(node.place.session)
            fork = self._fork(node)
            if fork is not None and level == LEVELS:
                self.why.append(f"Only {LEVELS} ancestors are followed; {node.place.session} has more.")
                segments.insert(0, _segment(node, node.entries))  # what it copied stands in for the others
                break
            own = node.entries if fork is None else node.entries[fork.at + 1 :]
            if own or not segments:
                segments.insert(0, _segment(node, own))
            if fork is None:
                break
            self.why.append(fork.why)
            if fork.source is None:
                copied = node.entries[: fork.at + 1]
                segments.insert(0, _segment(node, copied, session=fork.session))
                break
            node = fork.source
        if not node.is_whole:
            self.why.append(
                f"{node.place.session} begins with what a compaction left; the conversation that it went on from was "
                "not found."
            )
        return segments, node.is_whole

    def node(self, place: Place, *, end: object = None) -> _Node:
        """A conversation up to one of its entries; None: to where it ends.  OSError when it cannot be read."""
        return self._descent(place, self._logs.enter_context(Log(place.path)), end)

    def _descent(self, place: Place, log: Log, end: object) -> _Node:
        scope = Scope(log, agent=place.agent)
        tip = log.at(end)
        if tip is None:
            tip = leaf(scope)
        if tip is None:
            return _Node(place, log, (), None, True)
        entries = descent(scope, tip).entries
        first = log.record(entries[0])
        is_left = (boundary_of(first) is not None and not begins(first)) or messages.is_summary(first)
        named = first.get("logicalParentUuid") or log.entries[entries[0]].parent
        before = named if isinstance(named, str) and log.at(named) is None else None
        return _Node(place, log, entries, before, not is_left)

    def _fork(self, node: _Node) -> _Fork | None:
        """Where the conversation was forked from; None when it is nobody's fork, or that cannot be told."""
        try:
            said = origins(node.place)
        except OSError:
            return None
        sources = dict.fromkeys(source for source, _ in said.copied.values())
        proven = [fork for source in islice(sources, NAMED) if (fork := self._proven(node, source, said)) is not None]
        # A copy of a copy may still have the proof of the first, and only a hint of the second.
        hinted = self._hinted(node, said.hints)
        found = max([*proven, *([hinted] if hinted else [])], key=lambda fork: fork.at, default=None)
        if found is None:
            found = self._hinted(node, continued(node.place))
        if found is None and said.is_fork and node.entries:
            found = self._hinted(node, with_entry(node.place, node.uuid(0)))
        return found

    def _proven(self, node: _Node, session: str, said: Origins) -> _Fork | None:
        """By what the copied entries say of themselves."""
        if session in self._visited:
            return None
        copied = [at for at in range(len(node.entries)) if said.copied.get(node.uuid(at), ("",))[0] == session]
        if not copied:
            return None
        child = node.place.session
        log = self._open(node, session)
        for at in reversed(copied) if log is not None else ():
            uuid = said.copied[node.uuid(at)][1]
            if log is not None and log[1].at(uuid) is not None:
                source = self._descent(*log, uuid)
                return _Fork(session, at, source, f"{child} was forked from {session}: its entries say so.")
        why = f"{child} was forked from {session}, whose transcript is gone; what was copied of it stands in for it."
        return _Fork(session, copied[-1], None, why)

    def _hinted(self, node: _Node, hints: Mapping[str, str]) -> _Fork | None:
        """The one of these conversations that shares the longest part of the line of descent."""
        best: tuple[int, str, Place, Log] | None = None
        for session in islice(hints, NAMED):
            opened = self._open(node, session) if session not in self._visited else None
            if opened is None:
                continue
            at = _shared(node, opened[1])
            if at is None:
                continue
            if best is None or at > best[0]:
                best = (at, session, *opened)
        if best is None:
            return None
        at, session, place, log = best
        end = node.uuid(at) if at >= 0 else node.before
        why = f"{node.place.session} was forked from {session}: {hints[session]}, and they share entries."
        return _Fork(session, at, self._descent(place, log, end), why)

    def _open(self, node: _Node, session: str) -> tuple[Place, Log] | None:
        """Another conversation, opened once for the whole walk; None where there is no file that can be read."""
        if session not in self._opened:
            place = node.place.sibling(session)
            self._opened[session] = None
            try:
                if place is not None:
                    self._opened[session] = (place, self._logs.enter_context(Log(place.path)))
            except OSError as error:
                self.why.append(f"{session} could not be read: {error.strerror or error}.")
        return self._opened[session]


def _shared(node: _Node, log: Log) -> int | None:
    """The last entry of a line of descent that a transcript holds, too; -1: the one before its first; None: none."""
    for at in range(len(node.entries) - 1, -1, -1):
        if log.at(node.uuid(at)) is not None:
            return at
    return -1 if log.at(node.before) is not None else None


def _segment(node: _Node, entries: tuple[int, ...], *, session: str | None = None) -> Segment:
    """Some entries of a conversation as a segment.  `session`: whose they are, where they only stand in for it."""
    first, last = (node.log.entries[at].uuid for at in (entries[0], entries[-1])) if entries else (None, None)
    return Segment(session or node.place.session, node.place.path, first, last)
