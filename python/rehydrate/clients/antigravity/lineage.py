"""Whose fork a conversation is.

A fork's file begins at the first new step K; steps 0..K-1 stand in the files of its ancestors.  Nothing in it names the
parent, so a sibling is found that could be it, level by level.  A sibling is probed at most once for the whole walk;
only those that pass, and only while a better one is possible, are read further.  Hints are tried first, and where one
holds the folder is not listed at all.  The answer does not depend on the order of a folder.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop
from itertools import islice
from math import inf
from typing import NamedTuple

from rehydrate import scan
from rehydrate.conversation import Lineage, Segment

from . import hints, layout, records

LEVELS = 8
"""Ancestors at most."""
GAP_STEPS = 2
"""So many step indices may be missing before a fork point."""
SKEW_S = 5.0
"""How far two clocks, or two writes, may disagree."""
LISTED = 20_000
"""Siblings looked at without a hint: those written last."""
SEARCHED = 64
"""Siblings searched although their end does not show the step, when no other fits."""
BATCH = 8
"""Siblings read on in by the first call; by each further one twice as many, but none that can no longer win."""
FIRST_RECORDS = 16
"""Where a file begins: the smallest step among so many, as lines stand in the order in which steps ended."""
WINDOW_BYTES = 64 * 1024
"""A file no larger was seen whole by its probe."""

Score = tuple[bool, bool, bool, bool, bool, float]
"""Not referenced, not forked in the history, no workspace shared, lacks K-1, goes on behind it, the seconds from there
to the child's start: the lowest is the best.
"""

_Fit = tuple[Score, str, layout.Probed]
"""A sibling that can be the parent, behind its id."""


class _Node(NamedTuple):
    """One conversation of the walk, as it begins."""

    session: str
    path: str
    first_step: int
    first_s: float | None


def trace(
    place: layout.Place, *, workspaces: Iterable[str] = (), cached: object = None, last_step: int | None = None
) -> Lineage:
    """The segments of a conversation, its oldest ancestor first.

    `workspaces`: folders the conversation is known to work in, besides those in the history.  `cached`: a lineage of
    the state file, used without a walk when it fits the files.  `last_step`: the highest step, where a survey has told
    it; else the file is scanned for it.  A missing ancestor makes the lineage incomplete, never an error; the
    conversation's own file must be readable (else OSError).
    """
    with layout.readable(place) as whole:
        own = scan.probe(whole.path)
        first, first_s = own.first_step, records.time_of(own.first_created_at)
        if first is not None:
            first, first_s = _begun(whole.path, first, first_s)
        if last_step is None:
            last_step = scan.scan_tail(whole.path).last_step
    itself = Segment(place.session, place.origin, first, last_step)
    if first is None or first <= 0:
        return Lineage((itself,), complete=True)
    if place.brain is None:
        return Lineage((itself,), complete=True, why=("It lies outside the known layout, so no parent is looked for.",))
    remembered = _remembered(place, first, cached)
    if remembered is not None:
        return Lineage((*remembered, itself), complete=True, why=("The ancestors are those found before.",))
    child = _Node(place.session, place.path, first, first_s)
    walk = _Walk(place.brain, place.app, child, workspaces)
    ancestors, complete = walk.up()
    return Lineage((*ancestors, itself), complete=complete, why=tuple(walk.why))


class _Walk:
    """One walk up from a conversation; what was looked at once is remembered for all levels."""

    def __init__(self, brain: str, app: str | None, child: _Node, workspaces: Iterable[str]) -> None:
        self.why: list[str] = []
        self._brain = brain
        self._app = app
        self._child = child
        self._seen: dict[str, layout.Probed | None] = {child.session: None}
        """None for what cannot be a parent (any more)."""
        self._listing: list[str] | None = None
        self._referenced: set[str] = set()
        self._forks: dict[str, list[float | None]] = {}
        self._folders: dict[str, set[str]] = {}
        for row in layout.history(app):
            if row.session is None or not layout.is_id(row.session):
                continue
            if row.workspace is not None:
                self._folders.setdefault(row.session, set()).add(_folder(row.workspace))
            if row.forks:
                self._forks.setdefault(row.session, []).append(row.time_s)
        self._ours = {_folder(each) for each in workspaces} | self._folders.get(child.session, set())
        """The folders that the child of this level is known to work in."""

    def up(self) -> tuple[list[Segment], bool]:
        """The ancestors, oldest first, and whether they reach the root."""
        found: list[Segment] = []
        while self._child.first_step > 0:
            if len(found) == LEVELS:
                self.why.append(f"Only {LEVELS} ancestors are followed; {self._child.session} has more.")
                return found, False
            parent = self._parent()
            if parent is None:
                if self._child.first_step == 1:
                    break
                self.why.append(
                    f"No parent of {self._child.session} was found: no other conversation holds the steps before "
                    f"{self._child.first_step}."
                )
                return found, False
            found.insert(0, Segment(parent.session, parent.path, parent.first_step, self._child.first_step - 1))
            self._seen[parent.session] = None
            self._ours = self._folders.get(parent.session, set())
            self._child = parent
        return found, True

    def _parent(self) -> _Node | None:
        """The sibling with the best score.  Its first three parts are known without opening a file and outrank the
        rest, so those are tried first for which they hold, and the folder is only listed when none of them fits.
        """
        if self._app is not None:
            referenced, problem = hints.parent_references(self._app, self._child.session)
            self._referenced = {name for name in referenced if layout.is_id(name)}
            if problem:
                self.why.append(problem)
        neighbours = [name for name, folders in self._folders.items() if not self._ours.isdisjoint(folders)]
        for rank, names in enumerate((self._referenced, self._forks, neighbours)):
            best = self._best(names)
            if best is not None and not best[0][rank]:
                break
        else:
            best = self._best(self._siblings())
        if best is None:
            return None
        score, session, (path, first, first_at, *_) = best
        self.why.append(f"{session} is the parent of {self._child.session}: {_told(score)}.")
        return _as_it_begins(_Node(session, path, first, records.time_of(first_at)))

    def _siblings(self) -> list[str]:
        """The other folders, of very many those written last."""
        if self._listing is None:
            try:
                names = [n for n in os.listdir(self._brain) if layout.is_id(n) and self._seen.get(n, True)]
            except OSError as error:
                self.why.append(f"The conversations' folder could not be listed: {error.strerror or error}.")
                names = []
            if len(names) > LISTED:
                written = {name: layout.written_s(layout.logs_of(self._brain, name)) for name in names}
                names.sort(key=lambda name: (-written[name], name))
                self.why.append(f"Of {len(names):,} conversations the {LISTED:,} written last were looked at.")
                del names[LISTED:]
            self._listing = names
        return self._listing

    def _best(self, names: Iterable[str]) -> _Fit | None:
        """The best fit among these conversations."""
        self._look_at(names)
        fork = self._child.first_step
        low, hinted = fork - 1 - GAP_STEPS, self._referenced.union(self._forks)
        likely = [
            (name, seen)
            for name, seen in zip(names, map(self._seen.get, names), strict=True)
            if seen and (((last := seen[3]) is not None and last >= low) or name in hinted) and 0 <= seen[1] < fork
        ]
        best = self._search(likely)
        if best is None:
            # Lines stand in the order in which steps ended: one long line at the end can hide the highest step.
            read = {name for name, _ in likely}
            hidden = [(name, seen) for name in names if (seen := self._seen.get(name)) and seen[5] > WINDOW_BYTES]
            hidden = [each for each in hidden if 0 <= each[1][1] < fork and self._began_before(each[1])]
            hidden = [each for each in hidden if each[0] not in read]
            hidden.sort(key=lambda each: (-(records.time_of(each[1][4]) or 0.0), each[0]))
            best = self._search(hidden[:SEARCHED])
        return best

    def _look_at(self, names: Iterable[str]) -> None:
        """Sees to it that each of these was probed, all of them by one call."""
        new = [name for name in names if name not in self._seen]
        self._seen.update(zip(new, layout.probes(self._brain, new), strict=True))

    def _began_before(self, seen: layout.Probed) -> bool:
        first_s, start_s = records.time_of(seen[2]), self._child.first_s
        return first_s is None or start_s is None or first_s <= start_s + SKEW_S

    def _bounds(self, siblings: Iterable[tuple[str, layout.Probed]]) -> Iterator[_Fit]:
        """The siblings with a score that theirs cannot be better than, without reading more of them."""
        step, start_s, time_of = self._child.first_step - 1, self._child.first_s, records.time_of
        referenced, forks, folders = self._referenced, self._forks, self._folders
        for name, seen in siblings:
            _, _, _, last, last_at, size = seen
            goes_on = last is not None and last > step
            lacks_it = not (goes_on or size > WINDOW_BYTES or last == step)
            time_s = time_of(last_at)
            gap_s = 0.0 if time_s is None else inf if start_s is None else max(0.0, start_s - time_s)
            shares_none = name not in folders or not self._shares_folder(name)
            yield (name not in referenced, name not in forks, shares_none, lacks_it, goes_on, gap_s), name, seen

    def _search(self, siblings: list[tuple[str, layout.Probed]]) -> _Fit | None:
        """Reads on in the siblings, the most promising first, until no other can be better than the best.  Of equal
        scores the smaller id wins.
        """
        bounded = list(self._bounds(siblings))
        heapify(bounded)
        best: _Fit | None = None
        most = BATCH
        while bounded and (best is None or bounded[0][:2] < best[:2]):
            batch: list[_Fit] = []
            while bounded and len(batch) < most and (best is None or bounded[0][:2] < best[:2]):
                fit = heappop(bounded)
                if self._began_before(fit[2]):
                    batch.append(fit)
            most *= 2
            for (_, name, seen), found in zip(batch, self._candidates([fit[2][0] for fit in batch]), strict=True):
                score = None if found is None else self._score(name, found)
                if score is not None and (best is None or (score, name) < best[:2]):
                    best = score, name, seen
        return best

    def _candidates(self, paths: list[str]) -> Sequence[scan.Candidate | None]:
        step = self._child.first_step - 1
        if not any(os.path.isdir(path) for path in paths):
            return scan.probe_candidates(paths, step, slack=GAP_STEPS)
        found: list[scan.Candidate | None] = []
        for path in paths:
            with layout.opened(path) as whole:
                found += scan.probe_candidates([whole], step, slack=GAP_STEPS)
        return found

    def _score(self, session: str, seen: scan.Candidate) -> Score | None:
        """None when it cannot be the parent after all."""
        step = self._child.first_step - 1
        time_s, start_s = records.time_of(seen.created_at), self._child.first_s
        if time_s is not None and start_s is not None and time_s > start_s + SKEW_S:
            return None
        return (
            session not in self._referenced,
            not any(_within(fork_s, time_s, start_s) for fork_s in self._forks.get(session, ())),
            not self._shares_folder(session),
            seen.step != step,
            seen.last_step is not None and seen.last_step > seen.step,
            self._gap_s(time_s),
        )

    def _gap_s(self, time_s: float | None) -> float:
        if time_s is None or self._child.first_s is None:
            return inf
        return max(0.0, self._child.first_s - time_s)

    def _shares_folder(self, session: str) -> bool:
        folders = self._folders.get(session)
        return folders is not None and not self._ours.isdisjoint(folders)


def _begun(path: str, step: int, time_s: float | None) -> tuple[int, float | None]:
    """The step at which a file really begins, and its time, where its first record has that step and that time."""
    if step > 0:
        for index, created_at, *_ in islice(scan.iter_records(path, ("step_index", "created_at")), FIRST_RECORDS):
            if type(index) is int and 0 <= index < step:
                step, time_s = index, records.time_of(created_at)
    return step, time_s


def _as_it_begins(node: _Node) -> _Node:
    try:
        with layout.opened(node.path) as whole:
            step, time_s = _begun(whole, node.first_step, node.first_s)
    except OSError:
        return node
    return node._replace(first_step=step, first_s=time_s)


def _within(fork_s: float | None, from_s: float | None, to_s: float | None) -> bool:
    """Whether a fork was asked for between the parent's last step and the child's first; of the two only what is known
    limits it.
    """
    if fork_s is None:
        return False
    return (from_s is None or fork_s >= from_s - SKEW_S) and (to_s is None or fork_s <= to_s + SKEW_S)


def _folder(path: str) -> str:
    return path.rstrip("/") or "/"


def _told(score: Score) -> str:
    reasons = [] if score[0] else ["its database names it"]
    reasons += [] if score[1] else ["the history has a fork of it at that time"]
    reasons += [] if score[2] else ["they share a workspace"]
    reasons += ["it holds a step shortly before"] if score[3] else ["it holds the step before"]
    reasons += [] if score[4] else ["it ends there"]
    return ", ".join(reasons)


# -- lineages found before --------------------------------------------------------------------------------------------


def _remembered(place: layout.Place, first: int, cached: object) -> list[Segment] | None:
    """The ancestors in a lineage of the state file, when they still fit: contiguous, ending right before the
    conversation, their files where they must be.  None when not; then they are looked for again.

    Only ids and steps are taken; paths are made anew, so that a state file cannot lead anywhere else.
    """
    whole = isinstance(cached, Mapping)
    if isinstance(cached, Mapping) and cached.get("complete") is not True:
        return None
    rows = cached.get("segments") if isinstance(cached, Mapping) else cached
    if not isinstance(rows, list) or not 0 < len(rows) <= LEVELS + 1:
        return None
    ranges = [_range(row) for row in rows]
    known = [each for each in ranges if each is not None and each[0] != place.session]
    if None in ranges or not 0 < len(known) <= LEVELS:
        return None
    known.sort(key=lambda each: each[1])
    ends = [each[1] for each in known[1:]] + [first]
    if any(each[2] != end - 1 or each[1] > each[2] for each, end in zip(known, ends, strict=True)):
        return None
    if len({each[0] for each in known}) < len(known) or (not whole and known[0][1] > 1):
        return None
    segments = []
    for session, low, high in known:
        found = layout.look(layout.logs_of(place.brain or "", session))
        if found is None:
            return None
        segments.append(Segment(session, found.path, low, high))
    return segments


def _range(row: object) -> tuple[str, int, int] | None:
    """Id, first and last step of a remembered segment: a list `[id, (path,) first, last]`, or an object that names
    them, as the older script's does.
    """
    if isinstance(row, Mapping):
        names = ("session", "session_id", "conversation", "conversation_id", "conversationId", "id")
        session = next((row[name] for name in names if name in row), None)
        pairs = (("min_step", "max_step"), ("first_step", "last_step"), ("first", "last"), ("min", "max"))
        low, high = next(((row[a], row[b]) for a, b in pairs if a in row and b in row), (None, None))
    elif isinstance(row, (list, tuple)) and len(row) in (3, 4):
        session, low, high = row[0], row[-2], row[-1]
    else:
        return None
    if not isinstance(session, str) or not layout.is_id(session) or type(low) is not int or type(high) is not int:
        return None
    return session, low, high
