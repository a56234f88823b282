"""A compaction that holds only if the session is still what it was when it was thought out.

To sum up a conversation takes a model half a minute, and meanwhile the conversation may go on, here or in another
process.  So whoever does it says how they have seen the file.  While nobody else can append, it is seen what was
written since: what follows the conversation stays, behind the summary, as it is; another compaction, or a conversation
that has gone on from elsewhere, makes this one void, and nothing is written.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from . import lookup, marks
from .errors import Compacted
from .stamp import MESSAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .log import SessionLog


@dataclass(frozen=True, slots=True)
class Seen:
    """A session as somebody has seen it."""

    end: int
    """Where a line ended up to which the file was read."""
    tip: str | None
    """Uuid of the entry that the conversation ended with."""
    line: Collection[str]
    """Uuids of the entries that led there, as far as they may still be gone on from."""


def compact_seen(
    log: "SessionLog",
    summary: str,
    *,
    seen: Seen,
    said: Mapping[str, object],
    preserve: Sequence[str],
    checkpoint: Mapping[str, object] | None,
) -> str:
    """What `SessionLog.compact` does for a session that was seen, under the lock of the log, with nothing waiting."""
    uuid, anchor = log._stamp.new_uuid(), log._stamp.new_uuid()
    found: list[str] = []

    def bodies() -> Sequence[bytes]:
        tip, kept = seen.tip, list(preserve)
        for row in lookup.since(log.path, seen.end):
            if row.uuid is None or row.type not in MESSAGES or (row.is_aside and log.agent_id is None):
                continue
            if row.is_boundary:
                if checkpoint is None or _id(row.checkpoint) != _id(checkpoint):
                    raise Compacted(f"{log.path} was compacted by another process meanwhile", path=log.path)
                found.append(row.uuid)  # this very compaction, written before; who wrote it was not told so
                return ()
            if row.parent == tip:
                tip = row.uuid
                kept.append(tip)
        if log.tip != tip and log.tip not in seen.line and log.tip not in kept:
            raise Compacted(f"{log.path} has gone on from elsewhere meanwhile", path=log.path)
        mark = marks.boundary(
            uuid, summary=summary, after=tip, said=said, preserve=kept, anchor=anchor, checkpoint=checkpoint
        )
        told = marks.summary(summary, uuid=anchor, parent=uuid)
        return [
            log._stamp.message(mark, parent=None, uuid=uuid),
            log._stamp.message(told, parent=uuid, uuid=anchor),
        ]

    log._queue.put_durable((), more=bodies)
    log._gone_on(None if found else anchor, {uuid, anchor})
    return found[0] if found else uuid


def adopt(log: "SessionLog", *, end: int) -> None:
    """Go on from a compaction that another process has marked since, of the conversation that the tip of a log ends.

    `end`: where a line ended up to which the file was read.  Of the log nothing waits.
    """
    mark: str | None = None
    with log._lock, suppress(FileNotFoundError):
        for row in lookup.since(log.path, end):
            is_told = mark is not None and row.parent == mark == log.tip  # the entry with the summary
            if row.uuid is not None and (is_told or (row.is_boundary and row.after == log.tip)):
                mark = row.uuid
                log._gone_on(mark, {mark})


def _id(checkpoint: object) -> object:
    return checkpoint.get("id") if isinstance(checkpoint, Mapping) else None
