"""Messages that a model is sent and nobody has said: notes of an engine's own, each made of a record in the log.

The record names in `after` the entry that its message stands right behind, so what is sent only grows at its end, and
is the same after a restart.  Such a message is never a request, never a part of what a compaction is made of, and in no
copy of the session.  Where its entry leaves the view, it does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .handoff import Handoff
from .messages import Message, marked
from .records import CONTINUE, HANDOFF, HIDDEN
from .restore import Restored

Given = Literal["none", "given", "suppressed"]
"""Whether the model was told in this epoch how full its context is; `suppressed`: what the log says of that is not
sound, and until the next compaction it is not told."""
GO_ON: Message = marked(
    {
        "role": "user",
        "content": (
            "[rehydrate] Your answer was cut off: it had reached the length that one answer may have. Go on exactly "
            "where it ends; repeat nothing, and do not mention this note."
        ),
    },
    "continue",
)
"""What a model is told whose answer was cut off."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a log holds of such messages."""

    behind: Mapping[str, Sequence[Message]]
    """By the uuid of the entry that they stand behind."""
    handoff: Given


def hidden_in(restored: Restored) -> Hidden:
    """The messages that stand behind what was restored."""
    entries = {entry.get("uuid") for entry in restored.entries}
    notes: dict[tuple[str, str], Message] = {}
    handoffs: list[Handoff | None] = []
    for number, record in enumerate(restored.records):
        kind, after = record.get("type"), record.get("after")
        if kind not in HIDDEN or (isinstance(after, str) and after not in entries):
            continue
        sound: Handoff | None = None
        if kind == HANDOFF:
            if not _is_of_epoch(record, restored.boundary, is_earlier=number < restored.earlier):
                continue
            handoffs.append(sound := Handoff.from_record(record))
        if isinstance(after, str) and (kind == CONTINUE or sound is not None):
            notes[after, kind] = GO_ON if sound is None else sound.message()
    given: Given = "none" if not handoffs else "given" if len(handoffs) == 1 and handoffs[0] else "suppressed"
    behind: dict[str, list[Message]] = {}
    for (after, kind), message in notes.items():
        if kind != HANDOFF or given == "given":
            behind.setdefault(after, []).append(message)
    return Hidden(behind, given)


def _is_of_epoch(record: Mapping[str, object], boundary: str | None, *, is_earlier: bool) -> bool:
    """Whether it names this compaction; one that names none as a record does, is of the one that it stands behind."""
    named = record.get("checkpoint", 0)
    return named == boundary if named is None or isinstance(named, str) else not is_earlier
