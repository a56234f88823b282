"""A log as a model is to see it: the newest checkpoint that is sound, and what was said after it.

Read from the end of the file: the work is that of reading from the newest checkpoint on, and what that kept, however
long the file is.  Where that does not tell (the user has turned to something before the checkpoint, the log is
another program's, a checkpoint is damaged), more of the file is read, at last all of it, and the answer is the same.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehydrate.entries import messages, metadata
from rehydrate.entries import view as rules
from rehydrate.entries.ends import leaf
from rehydrate.entries.log import member, text_member
from rehydrate.entries.scope import BOUNDARY, boundaries, own_summary
from rehydrate.session import DamagedLine, NotASession, Record, Session, SessionError
from rehydrate.session.damage import NO_RECORD
from rehydrate.session.line import check
from rehydrate.session.reading import PAYLOAD
from rehydrate.session.window import LedOut, from_the_end, line_start

from .checkpoint import Checkpoint
from .errors import BadCheckpoint

RECORDS = ("context-", "compaction-")
"""What the types of records begin with that an engine writes."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a log holds at an entry, by default where its conversation ends."""

    session_id: str
    checkpoint: Checkpoint | None
    """The newest sound one; its messages come first.  None: there is none, or a compaction came later that has none."""
    boundary: str | None
    """Uuid of the compaction that the view begins with, with a checkpoint or without."""
    entries: tuple[Record, ...]
    """The entries that follow, in order: what the compaction kept first; without those that were taken out or back;
    with what was put in the place of results.  A compaction without a checkpoint tells its summary in one of them."""
    sources: tuple[Record, ...]
    """The same entries as they stand in the file."""
    tip: str | None
    """Uuid of the entry that the next one follows; None: nobody has spoken."""
    line: frozenset[str]
    """Uuids of the line of descent from the boundary on, the boundary included."""
    newest: str | None
    """Uuid of the compaction that was written last, on whatever branch: what `commit` expects to find."""
    end: int
    """Bytes from the start of the file to the end of its last whole line."""
    replacements: Mapping[tuple[str, str], Record]
    """What was put in the place of results of these entries, by the uuid of the entry and the id of the call."""
    records: tuple[Record, ...]
    """What an engine has recorded behind the first of these entries, in file order, on whatever branch."""
    earlier: int
    """So many of the records, from the first on, stand before the compaction that the view begins with."""
    bad: tuple[tuple[str, str], ...]
    """Checkpoints on the line that are not sound, newest first: the uuid of each boundary, and what is wrong."""
    damaged: int
    """How many lines of what was read are no record."""
    damage: tuple[DamagedLine, ...]
    """The first 16 of them, and the lines whose check is wrong; each by its place in bytes."""
    start: int
    """Bytes from the start of the file to where reading began."""
    is_end: bool = True
    """No entry stands behind the tip in the file, which the next one could bring into the view."""


def restore(path: str, *, at: str | None = None) -> Restored:
    """What a log holds.  `at`: uuid of an entry, or the message id of an answer, that it is to end with.

    A log that was not begun yet holds nothing.  Raises OSError, what `Session.open` raises, and LookupError when there
    is no such entry.
    """
    try:
        return from_the_end(path, lambda session, start: _read(session, at, start=start))
    except FileNotFoundError:
        if at is not None:
            raise
    except NotASession:
        if at is not None or line_start(path, os.path.getsize(path)):
            raise
    return _nothing(path)  # it is not there, or who began it was killed before its first line was whole


def restored_at(path: str, tip: str | None) -> Restored:
    """What the log holds for one that goes on from the entry `tip`; None: from where it ends.  Raises as `restore`
    does, but SessionError where it has lost that entry.
    """
    found = restore(path)
    if tip in (None, found.tip):
        return found
    try:
        return restore(path, at=tip)
    except (FileNotFoundError, LookupError):
        raise gone(path) from None


def gone(path: str) -> SessionError:
    """What is raised where a file has lost what was written to it."""
    return SessionError(
        f"{path} no longer holds what this log has written: somebody has removed or replaced it, or cut it short; "
        "open the session anew to go on with what is there",
        path=path,
    )


def _nothing(path: str) -> Restored:
    name = os.path.basename(path).removesuffix(".jsonl")
    return Restored(name, None, None, (), (), None, frozenset(), None, 0, {}, (), 0, (), 0, (), 0)


def _read(session: Session, at: str | None, *, start: int) -> Restored:
    with session.log.keeping():
        try:
            tip = leaf(session.scope) if at is None else session.place_of(at)
        except LookupError:
            if start:
                raise LedOut from None
            raise
        found, checkpoint, bad = _sound(session, tip, is_window=start > 0)
        if at is not None and tip is not None:
            found = rules.until(found, tip)
        return _restored(session, tip, found, checkpoint, bad, start=start)


def _sound(
    session: Session, tip: int | None, *, is_window: bool
) -> tuple[rules.View, Checkpoint | None, dict[int, str]]:
    """The view from the newest compaction on that is sound."""
    bad: dict[int, str] = {}
    while True:
        found = rules.active_view(session.scope, tip=tip, void=bad)
        checkpoint = None
        if found.boundary is not None:
            try:
                checkpoint = checkpoint_at(session, found.boundary)
            except BadCheckpoint as error:
                bad[found.boundary] = str(error)
        if is_window and (checkpoint is None or bad or not _is_ours(session)):
            raise LedOut
        if found.boundary not in bad:
            return found, checkpoint, bad


def checkpoint_at(session: Session, boundary: int) -> Checkpoint | None:
    """The checkpoint of a compaction; None where it has none.  Raises BadCheckpoint when it is not sound."""
    record = session.log.record(boundary)
    if "checkpoint" not in record:
        return None
    if check(session.log.raw(boundary)) is False:
        raise BadCheckpoint("the line of the checkpoint is not what was written")
    checkpoint = Checkpoint.from_record(record["checkpoint"])
    lacking = next((uuid for uuid in kept_by(record) if session.scope.at(uuid) is None), None)
    if lacking is not None:
        raise BadCheckpoint(f"the checkpoint keeps the entry {lacking!r:.80}, which is not there")
    return checkpoint


def kept_by(boundary: Mapping[str, Any]) -> Sequence[object]:
    """Uuids of what a compaction says that it has kept."""
    said = member(dict(boundary), "compactMetadata")
    uuids = member(said, "preservedMessages").get("uuids")
    segment = member(said, "preservedSegment")
    ends = [segment[name] for name in ("headUuid", "tailUuid") if name in segment]
    return [*(uuids if isinstance(uuids, list) else ()), *ends]


def _is_ours(session: Session) -> bool:
    """Whether all of the end of a log is written by us: others may write an entry again that stands before it."""
    log = session.log
    return all("crc" in log.record(index) for index in range(session.scope.end) if log.is_entry(index))


def _restored(
    session: Session,
    tip: int | None,
    found: rules.View,
    checkpoint: Checkpoint | None,
    bad: dict[int, str],
    *,
    start: int,
) -> Restored:
    log = session.log
    sources = list(_sources(session, found, checkpoint, bad))
    rows = metadata.replacements(session.scope, agent_id=session.agent_id)
    first = min((index for index in (found.boundary, *found.preserved) if index is not None), default=-1)
    marks, folder = boundaries(session.scope), session.results_folder
    about = [index for index in range(first + 1, session.scope.end) if (log.types[index] or "").startswith(RECORDS)]

    def uuid(index: int | None) -> str | None:
        return None if index is None else log.entries[index].uuid

    return Restored(
        session_id=_session_id(session, tip),
        checkpoint=checkpoint,
        boundary=uuid(found.boundary),
        entries=tuple(_active(record, rows, folder=folder) for record in sources),
        sources=tuple(sources),
        tip=uuid(tip),
        line=frozenset(name for index in (*found.entries, *dict(found.left_out)) if (name := uuid(index))),
        newest=uuid(marks[-1]) if marks else None,
        end=line_start(session.path, log.size),
        replacements=_about(sources, rows),
        records=tuple(map(log.record, about)),
        earlier=0 if found.boundary is None else sum(index < found.boundary for index in about),
        bad=tuple((uuid(index) or "", why) for index, why in bad.items()),
        damaged=session.damaged,
        damage=_damage(session, found),
        start=start,
        is_end=tip == next(filter(log.is_entry, range(session.scope.end - 1, -1, -1)), None),
    )


def _sources(
    session: Session, found: rules.View, checkpoint: Checkpoint | None, bad: Collection[int]
) -> Iterator[dict[str, Any]]:
    """The records of a view, without what its checkpoint says itself, and without compactions that do not count."""
    log = session.log
    void = {log.entries[index].uuid for index in bad}
    for index in found.entries:
        record = log.record(index)
        if not text_member(record, "uuid"):  # the line can be read only in part: it is among the damage
            continue
        if record.get("subtype") == BOUNDARY:
            if checkpoint is not None or index != found.summary:
                continue
            record = {**record, "type": "user", "message": {"role": "user", "content": own_summary(log, index)}}
        elif messages.is_summary(record) and (
            text_member(record, "parentUuid") in void or (checkpoint is not None and index == found.summary)
        ):
            continue
        yield record


def _active(record: dict[str, Any], rows: dict[tuple[str, str], dict[str, Any]], *, folder: str) -> Record:
    record = metadata.replaced(record, rows, folder=folder)
    return {name: value for name, value in record.items() if name != PAYLOAD} if PAYLOAD in record else record


def _about(
    sources: Sequence[dict[str, Any]], rows: dict[tuple[str, str], dict[str, Any]]
) -> dict[tuple[str, str], Record]:
    """The rows that are about results in these entries."""
    found: dict[tuple[str, str], Record] = {}
    for record in sources if rows else ():
        for result in messages.results(record):
            keys = ((text_member(record, "uuid"), result.id), ("", result.id))
            found.update((key, rows[key]) for key in keys if key in rows)
    return found


def _session_id(session: Session, tip: int | None) -> str:
    """The same, however much of the file is read."""
    said = "" if tip is None else text_member(session.log.record(tip), "sessionId")
    return said or os.path.basename(session.path).removesuffix(".jsonl")


def _damage(session: Session, found: rules.View) -> tuple[DamagedLine, ...]:
    log = session.log
    wrong = dict.fromkeys(log.known.tree.damaged_offsets, NO_RECORD)
    read = (log.entries[index].offset for index in found.entries)
    wrong.update((offset, log.wrong[offset]) for offset in read if offset in log.wrong)
    path = session.path
    return tuple(
        DamagedLine(f"the line at byte {offset} of {path} {what}", path=path, offset=offset)
        for offset, what in sorted(wrong.items())
    )
