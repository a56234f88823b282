"""A checkpoint: what stands in the place of the beginning of a conversation, as one record of its log.

It is a member of the boundary entry that `SessionLog.compact` writes, and says all that a restart needs: the messages
that replace what is covered, the ledger, what is covered and by what it can be recognised.  Its id is a digest of its
content, so the same compaction made twice is one.  It is checked when it is made and when it is read, and is never
changed.

Promises: when `commit` returns, it is on disk; when it raises, or the process is killed in it, the log holds the old
state or the new one, whole.  Of two that commit on top of the same state one wins, and the other changes nothing.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rehydrate.scan._decode import load
from rehydrate.session import Compacted, Seen, SessionLog
from rehydrate.session.line import encode
from rehydrate.session.window import marks_since

from .errors import BadCheckpoint, Superseded
from .ledger import Ledger
from .messages import Message, is_sound

if TYPE_CHECKING:
    from .restore import Restored

VERSION = 1
"""Of the checkpoints that are made here; others are not read."""
MESSAGES_MOST = 4_096
BYTES_MOST = 16 << 20
"""Of the messages, as JSON."""
REASONS = frozenset({"threshold", "context_limit", "turn_limit", "manual"})
STRATEGIES = frozenset({"llm", "fallback", "snip"})
OUTCOMES = frozenset({"completed", "fallback", "failed"})
FIGURES = ("before", "after", "target", "window", "fixed")

_ROLES = ("user", "assistant", "system")
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What replaces the beginning of a conversation.  `make` makes one, `from_record` reads one."""

    version: int
    id: str
    """SHA-256 of all the rest."""
    parent: str | None
    """Id of the checkpoint that it goes on from, whose messages it covers, too; None: it is the first one."""
    session_id: str
    """Of the session in which it was made: a copy has another one, and other numbers of lines."""
    from_seq: int | None
    through_seq: int | None
    """Numbers of the lines with the first and the last entry that it covers; None where these have none, or it covers
    no entry."""
    through: str | None
    """Uuid of the last entry that it covers; None: it covers none, but what its parent has left."""
    digest: str
    """SHA-256 of the entries that it covers, as `digest_of` makes it: the same in a copy."""
    messages: tuple[Message, ...]
    """What replaces them, in the neutral form."""
    ledger: tuple[Mapping[str, Any], ...]
    """As `Ledger.record` gives it."""
    figures: Mapping[str, int]
    """Tokens: `before`, `after`, `target`, `window`, `fixed`, those of them that are known."""
    reason: str
    """Of REASONS."""
    strategy: str
    """Of STRATEGIES."""
    outcome: str
    """Of OUTCOMES."""

    @classmethod
    def make(
        cls,
        restored: "Restored",
        covered: int,
        *,
        messages: Sequence[Message],
        ledger: Sequence[Mapping[str, Any]],
        figures: Mapping[str, int],
        reason: str,
        strategy: str,
        outcome: str,
    ) -> "Checkpoint":
        """A checkpoint that covers so many of the entries of a restored log, from the first on.  Raises BadCheckpoint
        for what cannot be one.
        """
        sources = restored.sources[:covered]
        first, last = range_of(sources)
        made = {
            "version": VERSION,
            "parent": None if restored.checkpoint is None else restored.checkpoint.id,
            "session_id": restored.session_id,
            "from_seq": first,
            "through_seq": last,
            "through": sources[-1].get("uuid") if sources else None,
            "digest": digest_of(sources),
            "messages": [dict(message) for message in messages],
            "ledger": [dict(item) for item in ledger],
            "figures": dict(figures),
            "reason": reason,
            "strategy": strategy,
            "outcome": outcome,
        }
        try:
            made = load(encode(made), 0)  # as it will be read
        except (ValueError, TypeError) as error:
            raise BadCheckpoint(f"the messages of a checkpoint cannot be written: {error}") from None
        return cls.from_record({**made, "id": _id_of(made)})

    def record(self) -> dict[str, Any]:
        """As it stands in the log."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**found, "messages": list(self.messages), "ledger": list(self.ledger), "figures": dict(self.figures)}

    @classmethod
    def from_record(cls, record: object) -> "Checkpoint":
        """Raises BadCheckpoint when it is none, or is not what was written."""
        if not isinstance(record, Mapping):
            raise BadCheckpoint("a checkpoint is an object")
        if record.get("version") != VERSION:
            version = record.get("version")
            raise BadCheckpoint(f"the checkpoint has version {version!r:.40}, and this program reads {VERSION}")
        names = [each.name for each in fields(cls)]
        if lacking := [name for name in names if name not in record]:
            raise BadCheckpoint(f"the checkpoint has no {lacking[0]}")
        _check(record)
        found = cls(**{name: record[name] for name in names})
        return replace(found, messages=tuple(found.messages), ledger=tuple(found.ledger))


def range_of(entries: Sequence[Mapping[str, Any]]) -> tuple[int | None, int | None]:
    """The numbers of the lines with the first and the last of the entries that a checkpoint covers.  None where these
    have none, or none that tell a range: the order of a conversation is not always that of its file.
    """
    first, last = (each.get("seq") for each in (entries[0], entries[-1])) if entries else (None, None)
    first, last = (each if type(each) is int and each > 0 else None for each in (first, last))
    return (None, None) if first is not None and last is not None and first > last else (first, last)


def digest_of(entries: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 of what entries say, and in which order: the same wherever they were copied to.

    `entries`: as they stand in the log, before anything was put in the place of their results.
    """
    digest = sha256()
    for entry in entries:
        said = [entry.get(name) for name in ("uuid", "type", "message", "attachment")]
        digest.update(_canonical(said))
        digest.update(b"\n")
    return digest.hexdigest()


def commit(
    log: SessionLog,
    checkpoint: Checkpoint,
    *,
    summary: str,
    preserve: Sequence[str],
    expect: str | None,
    restored: "Restored | None" = None,
) -> str:
    """Write a checkpoint; gives the uuid of its boundary.  It is on disk then, with all that came before.

    `summary`: what readers of Claude-style files see of it.  `preserve`: uuids of the entries that follow what it
    covers, in order; what was appended since, here or by another process, is added.  `expect`: uuid of the newest
    boundary that was known when the compaction was begun (`Restored.newest`), None: there was none.  A checkpoint that
    was written on top of that already is not written again: then that one's boundary is given.  `restored`: what the
    checkpoint was made of; None: the log as it is now.

    Raises Superseded when another compaction was written since, or the conversation has gone on from elsewhere;
    BadCheckpoint; what `SessionLog.compact` raises.  Then nothing was written.
    """
    from .restore import restored_at  # which reads checkpoints

    checkpoint = Checkpoint.from_record(checkpoint.record())
    log.flush()
    now = restored_at(log.path, log.tip) if restored is None else restored
    if now.newest == expect:
        seen, kept = Seen(now.end, now.tip, now.line), _kept(now, checkpoint, preserve)
    else:
        same = (at for at, mark in marks_since(log.path, expect) if _has_id(mark, checkpoint.id))
        if (at := next(same, None)) is None:
            raise Superseded(f"{log.path} was compacted meanwhile, and that compaction counts")
        seen, kept = Seen(at, None, now.line), []  # what comes next in the file is this very checkpoint
    try:
        return log.compact(
            summary,
            trigger="manual" if checkpoint.reason == "manual" else "auto",
            pre_tokens=checkpoint.figures.get("before"),
            post_tokens=checkpoint.figures.get("after"),
            preserve=kept,
            checkpoint=checkpoint.record(),
            seen=seen,
        )
    except Compacted as error:
        raise Superseded(str(error)) from error


def _has_id(mark: Mapping[str, Any], name: str) -> bool:
    checkpoint = mark.get("checkpoint")
    return isinstance(checkpoint, Mapping) and checkpoint.get("id") == name


def _kept(now: "Restored", checkpoint: Checkpoint, preserve: Sequence[str]) -> list[str]:
    """The entries to preserve, and all others that the checkpoint does not cover: what it says that it covers is proven
    by what the log holds.
    """
    uuids = [str(source.get("uuid")) for source in now.sources]
    covered = 0
    if checkpoint.through is not None:
        covered = uuids.index(checkpoint.through) + 1 if checkpoint.through in uuids else -1
    parent = None if now.checkpoint is None else now.checkpoint.id
    if covered < 0 or parent != checkpoint.parent or digest_of(now.sources[:covered]) != checkpoint.digest:
        raise Superseded("the conversation is no longer what the checkpoint was made of")
    rest = uuids[covered:]
    return [*(uuid for uuid in preserve if uuid not in rest), *rest]


def _check(record: Mapping[str, Any]) -> None:
    messages = record["messages"]
    if not isinstance(messages, (list, tuple)) or not all(map(_is_message, messages)):
        raise BadCheckpoint("the messages of a checkpoint are a list, each with a role and its content")
    if not 1 <= len(messages) <= MESSAGES_MOST:
        raise BadCheckpoint(f"a checkpoint has 1 to {MESSAGES_MOST:,} messages, and this one has {len(messages):,}")
    if len(_canonical(messages)) > BYTES_MOST and (size := _size(messages)) > BYTES_MOST:
        raise BadCheckpoint(f"the messages of a checkpoint take {BYTES_MOST:,} bytes at most, and these take {size:,}")
    for name, values in (("reason", REASONS), ("strategy", STRATEGIES), ("outcome", OUTCOMES)):
        if not isinstance(record[name], str) or record[name] not in values:
            raise BadCheckpoint(f"the {name} of a checkpoint is one of {', '.join(sorted(values))}")
    first, last = record["from_seq"], record["through_seq"]
    if not all(each is None or (type(each) is int and each > 0) for each in (first, last)):
        raise BadCheckpoint("the range of a checkpoint is told by the numbers of lines")
    if first is not None and last is not None and first > last:
        raise BadCheckpoint(f"the checkpoint covers the lines {first} to {last}, which is no range")
    figures = record["figures"]
    if not isinstance(figures, Mapping) or not all(
        name in FIGURES and type(value) is int and value >= 0 for name, value in figures.items()
    ):
        raise BadCheckpoint(f"the figures of a checkpoint are numbers of tokens: {', '.join(FIGURES)}")
    if not isinstance(record["ledger"], (list, tuple)):
        raise BadCheckpoint("the ledger of a checkpoint is a list of items")
    try:
        Ledger.from_record(record["ledger"])  # or an engine could not begin with it
    except ValueError as error:
        raise BadCheckpoint(f"the ledger of a checkpoint cannot be read: {error}") from None
    texts = [record["session_id"], *(each for each in (record["parent"], record["through"]) if each is not None)]
    if not all(isinstance(each, str) for each in texts):
        raise BadCheckpoint("the ids in a checkpoint are texts")
    if not all(isinstance(each, str) and _DIGEST.fullmatch(each) for each in (record["id"], record["digest"])):
        raise BadCheckpoint("the id and the digest of a checkpoint are SHA-256")
    if record["id"] != _id_of(record):
        raise BadCheckpoint("the checkpoint is not what was written: its id is that of another content")


def _is_message(message: object) -> bool:
    if not isinstance(message, Mapping):
        return False
    content = message.get("content")
    return message.get("role") in _ROLES and (
        isinstance(content, str)
        or (
            isinstance(content, (list, tuple))
            and all(isinstance(block, Mapping) and is_sound(block) for block in content)
        )
    )


def _id_of(record: Mapping[str, Any]) -> str:
    names = [each.name for each in fields(Checkpoint) if each.name != "id"]
    return sha256(_canonical({name: record[name] for name in names})).hexdigest()


def _size(messages: Sequence[Message]) -> int:
    return len(json.dumps(messages, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
