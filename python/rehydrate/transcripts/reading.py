"""Records -> boundaries, and records -> `Conversation`.

What counts as a compaction is decided here, by the rules of `entries`; every decision says why.  A step is the uuid of
an entry.  A conversation is read from its newest entry back, so that of the texts only those are kept that a
rehydration can reach.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from rehydrate.conversation import Boundary, Conversation, Segment
from rehydrate.dataclass import replace
from rehydrate.digest import sha256
from rehydrate.entries.chain import Gap, descent, last_said
from rehydrate.entries.compaction import preserved
from rehydrate.entries.ends import leaf
from rehydrate.entries.log import Log, member, text_member
from rehydrate.entries.scope import Scope, boundary_of
from rehydrate.entries.scope import boundaries as marks_in
from rehydrate.entries.view import full_view

from .kept import Kept
from .place import Place

FORMS = {"auto": 1, "manual": 2}
"""Of a boundary, by what set it off; 3 for anything else."""


class Survey:
    """What a transcript says of its compactions."""

    def __init__(self, place: Place, last_step: str | None) -> None:
        self.place = place
        self.last_step = last_step
        """The entry that the conversation ends with; None when it has none."""

    @cached_property
    def boundaries(self) -> tuple[Boundary, ...]:
        """Every compaction in file order, judged: when it is first asked for, as what a compaction now would bring back
        needs none of them.  OSError when the transcript cannot be read any more.
        """
        return boundaries(self.place)

    @cached_property
    def newest(self) -> Boundary | None:
        """The last compaction in the file that counts, None when none does; those before it are not judged for that.
        OSError when the transcript cannot be read any more.
        """
        with Log(self.place.path) as log:
            return next((each for each in _judged(self.place, log) if each.counts), None)

    def pressure(self, boundary: Boundary) -> int:
        """Always 0: what is brought back is too little to cause the next compaction."""
        return 0


def survey(place: Place) -> Survey:
    """Reads a transcript.  Errors of the file system surface as OSError."""
    with Log(place.path) as log:
        tip = leaf(Scope(log, agent=place.agent))
        return Survey(place, None if tip is None else log.entries[tip].uuid)


def boundaries(place: Place) -> tuple[Boundary, ...]:
    """Every compaction in file order, judged.  OSError when the transcript cannot be read."""
    with Log(place.path) as log:
        return tuple(_judged(place, log))[::-1]


def pending(place: Place) -> Boundary:
    """The boundary that a compaction now would have: the client asks for its text before it writes the boundary."""
    with Log(place.path) as log:
        scope = Scope(log, agent=place.agent)
        marks = marks_in(scope)
        number = len(marks) + 1
        name = _name(place, scope, marks, number)
        return Boundary("", number, name, 3, True, "not written yet", log.size, 0)


def read(
    place: Place,
    segments: Sequence[Segment],
    *,
    client: str,
    boundary: Boundary | None,
    workspaces: Iterable[str] = (),
    survey: object = None,
) -> Conversation:
    """The conversation up to a boundary (None: all of it), its ancestors included.

    `client`: as it calls itself.  `segments` as `lineage.trace` gives them, the conversation itself last; its `survey`
    holds nothing that is needed here.  The conversation's own file must be readable (else OSError); where an ancestor's
    is not, the copies in its child stand in for it, and it is said.
    """
    kept = Kept()
    notes: list[str] = []
    damaged = broken = 0
    inherited: tuple[str, ...] = ()
    younger = place.path
    end = boundary
    for at in range(len(segments) - 1, -1, -1):
        segment, own = segments[at], at == len(segments) - 1
        try:
            with Log(place.path if own else segment.path) as log:
                scope, tip = _scope(log, segment, place=place if own else None, boundary=end)
                entries, gaps = _entries(scope, tip, end)
                if not own:
                    if tip is None:
                        raise FileNotFoundError(f"{segment.session} does not hold {segment.max_step}")
                    entries = _before_fork(log, entries, tip, child=younger, copied=inherited)
                damaged += log.damaged
                first = _first(log, segment) if at else 0
                kept.add(scope, [i for i in entries if i >= first] if first else entries, segment=at, own=own)
                broken += sum(gap.at >= first and gap.at in entries and gap.why != "bypass" for gap in gaps)
                inherited = tuple(_uuids(log, [index for index in entries if index < first]))
                younger = log.path
                end = _in_source(log, end)
        except OSError as error:
            if own:
                raise
            notes.append(_missing(segment, error))
            with Log(younger) as log:
                copies = [index for uuid in inherited if (index := log.at(uuid)) is not None]
                kept.add(Scope(log), copies, segment=at, own=False)
            break
    return Conversation(
        client=client,
        session=place.session,
        segments=tuple(segments),
        turns=kept.turns(),
        touches=kept.touches(),
        boundary=boundary,
        workspaces=tuple(dict.fromkeys(workspaces)),
        damaged=damaged,
        compacted=kept.compacted(),
        agents=kept.agents(),
        notes=(*notes, *_told(broken), *kept.notes()),
    )


# -- boundaries -------------------------------------------------------------------------------------------------------


def _judged(place: Place, log: Log) -> Iterator[Boundary]:
    """Every compaction, the last one in the file first: it counts where the conversation went on from it, or nobody has
    spoken since.
    """
    scope = Scope(log, agent=place.agent)
    marks = marks_in(scope)
    last = next((i for i in scope.turns_back() if not scope.is_aside(i) and scope.spoken(i)), -1)
    passed: frozenset[int] | None = None  # the way back is long, and seldom needed for the newest
    for at in reversed(range(len(marks))):
        index = marks[at]
        if index <= last and passed is None:
            tip = leaf(scope)
            passed = frozenset() if tip is None else frozenset(marks).intersection(descent(scope, tip).entries)
        yield _judge(place, scope, marks, at, index > last or (passed is not None and index in passed))


def _judge(place: Place, scope: Scope, marks: list[int], at: int, counts: bool) -> Boundary:
    """`counts`: the conversation went on from it, or nobody has spoken since."""
    log, index = scope.log, marks[at]
    entry = log.entries[index]
    said = boundary_of(log.record(index)) or {}
    trigger = text_member(said, "trigger")
    why = f"{trigger if trigger in FORMS else 'unknown'} compaction"
    if not counts:
        why += "; the conversation went on from before it"
    number = at + 1
    before = scope.before(index)
    name = _name(place, before, marks, number)
    return Boundary(entry.uuid or "", number, name, FORMS.get(trigger, 3), counts, why, entry.offset, entry.length)


def _name(place: Place, scope: Scope, marks: list[int], number: int) -> str:
    """The id of a delivery: who does not know the log before it cannot forge it."""
    tip = leaf(scope)
    last = None if tip is None else last_said(scope, tip, boundaries=marks)
    uuid = "" if last is None else scope.log.entries[last].uuid or ""
    digest = sha256(os.fsencode(place.session) + b"\0%d\0" % number)
    digest.update(uuid.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:8]


# -- the conversation -------------------------------------------------------------------------------------------------


def _scope(log: Log, segment: Segment, *, place: Place | None, boundary: Boundary | None) -> tuple[Scope, int | None]:
    """What of a file belongs to the conversation, and the entry it ends with.  `place`: of the conversation's own."""
    scope = Scope(log, agent=place is not None and place.agent)
    limit = _limit(log, boundary)
    tip = None if place is not None else log.at(segment.max_step)
    if limit is not None:
        scope = scope.before(limit)
        tip = None if tip is None or tip >= limit else tip
    elif place is None:
        return scope, tip
    return scope, leaf(scope) if tip is None else tip


def _limit(log: Log, boundary: Boundary | None) -> int | None:
    """The record that everything has to stand before; None where the boundary is not in this file."""
    return log.at(boundary.step) if boundary is not None and boundary.length else None


def _in_source(log: Log, boundary: Boundary | None) -> Boundary | None:
    """The boundary as the conversation that this one is a fork of names it: a copy may have another uuid."""
    at = _limit(log, boundary)
    source = None if at is None else member(log.record(at), "forkedFrom").get("messageUuid")
    return replace(boundary, step=source) if boundary is not None and isinstance(source, str) else boundary


def _entries(scope: Scope, tip: int | None, boundary: Boundary | None) -> tuple[Sequence[int], tuple[Gap, ...]]:
    """The full view up to the entry, and what the compaction kept that stands behind it in a copied file; and where the
    line of descent is broken.
    """
    if tip is None:
        return [], ()
    view = full_view(scope, tip=tip)
    entries = view.entries
    log = scope.log
    at = _limit(log, boundary)
    late = [] if at is None else [index for index in preserved(Scope(log), at).entries if index > at]
    if late:
        known = set(entries)
        entries += tuple(index for index in late if index not in known)
    return entries, view.gaps


def _before_fork(log: Log, entries: Sequence[int], tip: int, *, child: str, copied: Iterable[str]) -> Sequence[int]:
    """The entries less what the source wrote after the fork: a result that came later is brought back beside its call.
    What stands behind the fork point was there only when that descends from it, or when it was copied, too.
    """
    late = {index for index in entries if index > tip}
    at: int | None = tip
    seen: set[int] = set()
    while late and at is not None and at not in seen:
        seen.add(at)
        late.discard(at)
        at = log.parent(at)
    if not late:
        return entries
    with Log(child) as copy:
        known = set(_named_in_source(copy, copied))
    return [index for index in entries if index not in late or log.entries[index].uuid in known]


def _named_in_source(copy: Log, uuids: Iterable[str]) -> Iterator[object]:
    """What the conversation that was copied calls these entries."""
    for uuid in uuids:
        at = copy.at(uuid)
        source = None if at is None else member(copy.record(at), "forkedFrom").get("messageUuid")
        yield source if isinstance(source, str) else uuid


def _first(log: Log, segment: Segment) -> int:
    """Where a fork's own entries begin in its file."""
    if segment.min_step is None:
        return len(log)
    return log.at(segment.min_step) or 0


def _uuids(log: Log, entries: Iterable[int]) -> Iterator[str]:
    for index in entries:
        uuid = log.entries[index].uuid
        if uuid is not None:
            yield uuid


def _told(broken: int) -> list[str]:
    """Whether the conversation could be followed from entry to entry, for a person."""
    if not broken:
        return []
    what = "entry follows one" if broken == 1 else "entries follow ones"
    return [f"{broken:,} {what} that the log does not hold, or in a circle. The order of the file was followed there."]


def _missing(segment: Segment, error: OSError) -> str:
    return f"The log of {segment.session} could not be read: {error.strerror or error}. Copies of it were read instead."
