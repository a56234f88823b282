"""A log held against itself: is each checkpoint what was made of the entries that it says it covers, and would each
provider take what was made of it?

Everything is read, nothing is written.  A checkpoint is looked at as of the moment when it was committed: what came
later, as a request that was taken back, does not make it wrong.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from rehydrate.entries.scope import boundaries
from rehydrate.session import DamagedLine, Session

from .assembling import assemble
from .checkpoint import digest_of, range_of
from .errors import BadCheckpoint
from .restore import Restored, _nothing, _read, _restored, _sound, checkpoint_at, kept_by
from .state import state_of
from .validate import violations
from .wire import FORMATS

_BY_SOURCE = frozenset({"range", "digest"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a log."""

    code: str
    """`damage`: a line is not what was written, or is missing.  `checkpoint`: one is no sound one.  `range`: it covers
    other lines than it says.  `digest`: the entries that it covers are not those that it was made of.  `projection`: a
    provider would refuse the messages."""
    text: str
    """One sentence for people."""
    boundary: str | None = None
    """Uuid of the compaction that it is about; None: it is about none."""
    line: DamagedLine | None = None
    """The line that is damaged; None where it is no damage."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at all of a log has found."""

    path: str
    records: int
    checkpoints: int
    """Sound or not, on whatever branch."""
    projections: int
    """So many lists of messages were checked, each in every format."""
    unproven: tuple[str, ...]
    """Compactions, by uuid, whose checkpoints came with a copy that lacks something of what they cover, as a request
    that had been taken back: they can only be held against the session that was copied."""
    findings: tuple[Finding, ...]
    """Damaged lines first, then what is wrong with checkpoints and projections, in file order."""


def verify(path: str | os.PathLike[str]) -> Verified:
    """Check every line of a log, every checkpoint, and what a model was or will be sent: before each compaction that
    has a checkpoint, behind it, and at the end.

    Raises OSError, and what `Session.open` raises.
    """
    with Session.open(path) as session:
        found = [Finding("damage", str(line), line=line) for line in session.verify()]
        unproven: list[str] = []
        marks = [at for at in boundaries(session.scope) if "checkpoint" in session.log.record(at)]
        for mark in marks:
            uuid, before = session.log.entries[mark].uuid or "", _before(session, mark)
            wrong = _checkpoint(session, mark, before, uuid)
            if wrong is not None and wrong.code in _BY_SOURCE and _is_copied(session, mark, before):
                unproven.append(uuid)
            elif wrong is not None:
                found.append(wrong)
            found += _projection(before, uuid)
            found += _projection(_as_of(session, mark, end=mark + 1), uuid)
        found += _projection(_read(session, None, start=0), None)
        return Verified(
            path=session.path,
            records=len(session.log),
            checkpoints=len(marks),
            projections=2 * len(marks) + 1,
            unproven=tuple(unproven),
            findings=tuple(dict.fromkeys(found)),
        )


def _before(session: Session, mark: int) -> Restored:
    """The log as it was when a compaction of it was committed."""
    last = session.scope.at(session.log.record(mark).get("logicalParentUuid"))
    return _nothing(session.path) if last is None else _as_of(session, last, end=mark)


def _as_of(session: Session, tip: int, *, end: int) -> Restored:
    """The log at an entry, as it was before the record `end` was written."""
    earlier = Session(session.log)
    earlier.scope = session.scope.before(end)
    with session.log.keeping():
        found, checkpoint, bad = _sound(earlier, tip, is_window=False)
        return _restored(earlier, tip, found, checkpoint, bad, start=0)


def _checkpoint(session: Session, mark: int, before: Restored, uuid: str) -> Finding | None:
    """What is wrong with the checkpoint of a compaction, which was made of what was `before`; None: nothing is."""
    called = f"the checkpoint of {_called(uuid)}"
    try:
        checkpoint = checkpoint_at(session, mark)
    except BadCheckpoint as error:
        return Finding("checkpoint", f"{called} does not count: {error}", uuid)
    if checkpoint is None or before.bad:  # what it goes on from is told of by itself
        return None
    if checkpoint.parent != (None if before.checkpoint is None else before.checkpoint.id):
        return Finding("checkpoint", f"{called} goes on from another one than that before it", uuid)
    uuids = [source.get("uuid") for source in before.sources]
    if checkpoint.through is not None and checkpoint.through not in uuids:
        return Finding("range", f"{called} covers the entry {checkpoint.through[:8]}, which is not before it", uuid)
    covered = before.sources[: 0 if checkpoint.through is None else uuids.index(checkpoint.through) + 1]
    if digest_of(covered) != checkpoint.digest:
        return Finding("digest", f"{called} was made of other entries than those that it covers", uuid)
    kept = kept_by(session.log.record(mark))
    end = uuids.index(before.tip) + 1 if before.tip in uuids else len(uuids)  # who went back has left what is behind
    lost = [each for each in uuids[len(covered) : end] if each not in kept]
    if lost:
        told = f"neither covers nor keeps {len(lost)} entries that were before it, first {str(lost[0])[:8]}"
        return Finding("range", f"{called} {told}", uuid)
    if checkpoint.session_id != before.session_id:
        return None
    first, last = range_of(covered)
    if not _may_be(checkpoint.from_seq, checkpoint.through_seq, first=first, last=last):
        told = f"the lines {checkpoint.from_seq} to {checkpoint.through_seq}"
        return Finding("range", f"{called} says that it covers {told}, and its entries have other numbers", uuid)
    return None


def _may_be(start: int | None, through: int | None, *, first: int | None, last: int | None) -> bool:
    """Whether lines that have these numbers may have had those: an archive leaves lines out, and what is taken in is
    numbered anew.
    """
    if start is None or through is None or first is None or last is None:
        return (start, through) == (first, last)
    return 0 <= start - first <= through - last


def _is_copied(session: Session, mark: int, before: Restored) -> bool:
    """Whether a checkpoint was made in another session: then its lines have other numbers here, and what had been taken
    back was not copied.
    """
    return bool(session.log.record(mark)["checkpoint"].get("session_id") != before.session_id)


def _projection(moment: Restored, boundary: str | None) -> Iterator[Finding]:
    """What providers would refuse in what a model is sent then."""
    state = state_of(moment, inode=0)
    messages = assemble(state.inherited, state.said).messages
    where = "at the end" if boundary is None else f"around {_called(boundary)}"
    for name, format in FORMATS.items() if messages else ():
        for each in violations(format.write(messages), format=name, source=messages):
            yield Finding("projection", f"{where} {name} would refuse what is sent: {each.text}", boundary)


def _called(boundary: str) -> str:
    return f"the compaction {boundary[:8]}"
