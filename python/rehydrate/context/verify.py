"""Whether all that a restart depends on is sound: the lines of a log, what each checkpoint says that it covers, and
the messages that a model would be sent.

Reads all of the file, and changes nothing.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal

from rehydrate.entries.log import text_member
from rehydrate.entries.scope import boundaries
from rehydrate.session import Record, Session

from .assembling import assemble
from .checkpoint import Checkpoint, digest_of
from .errors import BadCheckpoint
from .messages import Message
from .restore import Restored, checkpoint_at, kept_by, restored_in
from .validate import violations
from .view import said_of
from .wire import FORMATS

_FORMAT = "anthropic"
"""The neutral form is that of this format, so its rules are asked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be."""

    what: Literal["line", "checkpoint", "range", "digest", "projection"]
    """`line`: a damaged line; `checkpoint`: one that is none; `range`: it does not cover what it says, or something is
    neither covered nor kept; `digest`: what it covers is something else; `projection`: a provider would refuse it."""
    boundary: str | None
    """The checkpoint that it is about, by the uuid of its boundary; None: a line, or how the log ends."""
    text: str
    """One sentence for people."""


def verify(path: str) -> list[Finding]:
    """All that is wrong with a log, its checkpoints in the order in which they were written.  Raises what
    `Session.open` raises.
    """
    with Session.open(path) as session:
        found = [Finding("line", None, str(each)) for each in session.verify()]
        for boundary in boundaries(session.scope):
            found += _checkpoint(session, boundary)
        end = restored_in(session, None)
    replaced = () if end.checkpoint is None else end.checkpoint.messages
    return [*found, *_projection(replaced, end.entries, None)]


def _checkpoint(session: Session, boundary: int) -> Iterator[Finding]:
    record, uuid = session.log.record(boundary), session.log.entries[boundary].uuid
    try:
        checkpoint = checkpoint_at(session, boundary)
    except BadCheckpoint as error:
        yield Finding("checkpoint", uuid, str(error))
        return
    if checkpoint is None:
        return
    after = session.log.at(record.get("logicalParentUuid"))
    if after is None or after >= boundary:
        yield Finding("range", uuid, "the entry that the checkpoint came after is not there")
        return
    then = copy(session)
    then.scope = session.scope.before(boundary)
    before = restored_in(then, after)
    yield from _covered(checkpoint, before, kept_by(record), uuid, is_own=checkpoint.session_id == session.id)
    kept = [entry for entry in before.entries if entry.get("uuid") in kept_by(record)]
    yield from _projection(checkpoint.messages, kept, uuid)


def _covered(
    checkpoint: Checkpoint, before: Restored, kept: Sequence[object], uuid: str | None, *, is_own: bool
) -> Iterator[Finding]:
    """`before`: the log as it was then.  `is_own`: it was written in this file, and not copied into it."""
    uuids = [text_member(dict(source), "uuid") for source in before.sources]
    count = 0
    if checkpoint.through is not None:
        if checkpoint.through not in uuids:
            yield Finding("range", uuid, f"the checkpoint covers up to {checkpoint.through}, which was not in the view")
            return
        count = uuids.index(checkpoint.through) + 1
    covered = before.sources[:count]
    if checkpoint.parent != (None if before.checkpoint is None else before.checkpoint.id):
        yield Finding("range", uuid, "the checkpoint goes on from another one than was the newest sound one before it")
    seqs = (covered[0].get("seq"), covered[-1].get("seq")) if covered else (None, None)
    if is_own and (checkpoint.from_seq, checkpoint.through_seq) != seqs:
        says = f"the lines {checkpoint.from_seq} to {checkpoint.through_seq}"
        yield Finding("range", uuid, f"the checkpoint says that it covers {says}, and these are {seqs[0]} to {seqs[1]}")
    if digest_of(covered) != checkpoint.digest:
        yield Finding("digest", uuid, "the entries that the checkpoint covers are not those that it was made of")
    lost = [each for each in uuids[count:] if each not in kept]
    if lost:
        yield Finding("range", uuid, f"the checkpoint neither covers nor keeps {len(lost)} entries, first {lost[0]}")


def _projection(replaced: Sequence[Message], entries: Sequence[Record], uuid: str | None) -> Iterator[Finding]:
    said = [each for entry in entries if (each := said_of(entry)) is not None]
    messages = assemble(replaced, said).messages
    sent = FORMATS[_FORMAT].write(messages)
    for wrong in violations(sent, format=_FORMAT) if sent else ():
        yield Finding("projection", uuid, wrong.text)
