"""What the log shows of our hook after a compaction: what of its answers the model got, and what went wrong in it."""

import re

from rehydrate import scan
from rehydrate.conversation import MARKER_HEAD
from rehydrate.dataclass import dataclass
from rehydrate.entries.messages import time_of

REMEMBERED = False
"""Whether the hook keeps a state for each conversation: the log says all that it needs."""
_EVENT = "SessionStart"
_MARKER = re.compile(re.escape(MARKER_HEAD) + r" [^\]\n]{0,2000}\]")
_PART = re.compile(r"\| part (\d{1,2})/(\d{1,2})\b")


@dataclass(frozen=True, slots=True)
class Arrival:
    """What stands in the log after one boundary."""

    parts: tuple[tuple[int, int], ...]
    """(k, n) of each value that reached the model, ascending."""
    trouble: str | None
    """What the hook last printed on standard error, the last line of it; None when it printed nothing there."""
    time_s: float | None
    """When the boundary was written, seconds since the epoch; None when that is not said."""


def after(path: str, offset: int) -> Arrival:
    """What the log holds from a boundary's offset on (one that lies behind its end: nothing)."""
    try:
        cursor = scan.cursor_at(path, offset)
    except ValueError:
        return Arrival((), None, None)
    first = next(iter(scan.iter_records(path, ("timestamp",), cursor=cursor)), None)
    time_s = None if first is None else time_of({"timestamp": first[0]})
    parts: set[tuple[int, int]] = set()
    trouble = None
    for record in scan.iter_records(path, ("attachment",), where={"type": ["attachment"]}, cursor=cursor):
        attachment = record[0]
        if not isinstance(attachment, dict) or attachment.get("hookEvent") != _EVENT:
            continue
        content = attachment.get("content")
        for text in content if isinstance(content, list) else ():
            parts |= _part(text)
        errors, command = attachment.get("stderr"), attachment.get("command")
        if isinstance(errors, str) and errors.strip() and isinstance(command, str) and "rehydrate" in command:
            trouble = errors.strip().splitlines()[-1]
    return Arrival(tuple(sorted(parts)), trouble, time_s)


def _part(text: object) -> set[tuple[int, int]]:
    """Which value a text is; empty when it is none of ours."""
    marker = _MARKER.match(text) if isinstance(text, str) else None
    if marker is None:
        return set()
    part = _PART.search(marker[0])
    return {(int(part[1]), int(part[2])) if part else (1, 1)}
