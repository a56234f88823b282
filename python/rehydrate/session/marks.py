"""Entries that say something about others: a compaction, what was taken out, given up or interrupted.

Made here, appended by `log`.
"""

from collections.abc import Iterable, Mapping, Sequence

from rehydrate.entries.messages import Call

from .messages import result, user

INTERRUPTED = "[Request interrupted by user]"
"""What stands in the place of a request when a turn was interrupted, as readers of such files know it."""


def tombstone(uuid: str, reason: str) -> dict[str, object]:
    """The entry was given up; it leaves every view but the raw one."""
    return {"type": "tombstone", "targetUuid": uuid, "reason": reason}


def unanswered(calls: Iterable[Call], reason: str) -> dict[str, object]:
    """Results for calls that will get none."""
    text = f"Interrupted before a result came ({reason}). Whether the call took effect is not known."
    return user([result(call.id, text, is_error=True) for call in calls])


def interruption(reason: str) -> dict[str, object]:
    """The turn ended here, and not by itself."""
    return user([{"type": "text", "text": INTERRUPTED}], interruptReason=reason)


def snip(uuids: Sequence[str], note: str) -> dict[str, object]:
    """The entries leave what a model is sent."""
    return {"type": "system", "subtype": "snip_boundary", "removedUuids": list(uuids), "content": note}


def boundary(
    uuid: str,
    *,
    summary: str,
    after: str | None,
    said: Mapping[str, object],
    preserve: Sequence[str],
    anchor: str,
    checkpoint: Mapping[str, object] | None,
) -> dict[str, object]:
    """A compaction: what came before is told by the summary, and by what is preserved.

    The summary is told once more by the entry `anchor` behind it, for readers that look only there; ours need only
    this record, as that entry may be cut off by a crash.  `after`: the last entry before it; None where there is none.
    `said`: members of its metadata; None leaves one out.
    """
    about = {name: value for name, value in said.items() if value is not None}
    if preserve:
        about["preservedSegment"] = {"headUuid": preserve[0], "anchorUuid": anchor, "tailUuid": preserve[-1]}
        about["preservedMessages"] = {"anchorUuid": anchor, "uuids": list(preserve)}
    record: dict[str, object] = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid,
        "parentUuid": None,
        "logicalParentUuid": after,
        "content": "Conversation compacted",
        "summary": summary,
        "compactMetadata": about,
    }
    return record if checkpoint is None else {**record, "checkpoint": dict(checkpoint)}


def summary(text: str, *, uuid: str, parent: str) -> dict[str, object]:
    """What a compaction says of all that came before."""
    return user(text, uuid=uuid, parentUuid=parent, isCompactSummary=True)
