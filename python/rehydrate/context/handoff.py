"""What a model is told once, before its older messages are condensed: how full its context is, and how it can write
down what must survive word for word.

It is told between the line for a handoff and the one for a compaction, once in an *epoch*: what follows the newest
compaction.  The record in the log comes first, and the text is made of that alone.  A record that is not exactly what
`handoff_record` makes silences its epoch, as a second one does: nothing is told in it any more.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rehydrate.session import SessionError

from .ledger import HEADINGS, PAYLOAD_CHARS
from .messages import Message, is_hidden, marked
from .meter import TOKENS_MOST, Meter, line_at
from .records import HANDOFF, Record

if TYPE_CHECKING:
    from .scene import Scene

VERSION = 1
BYTES_MOST = 2_000
"""Of the text that is made of a record."""
MEMBERS = frozenset(
    {
        *("version", "messageId", "observedPromptTokens", "availableForInput"),
        *("handoffThreshold", "compactionThreshold", "createdAt"),
    }
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


@dataclass(frozen=True, slots=True)
class Handoff:
    """A sound record; all numbers are tokens."""

    observed: int
    """What the request held to which this was added."""
    available: int
    """What it might have held."""
    compaction_line: int
    """Where a compaction was due; where the policy had no such line, all that was available."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Handoff | None":
        """What a record of the log says; None where it is not what was written.

        The lines are computed again: each has to be a whole percentage of what was available, whatever policy the
        writer had.
        """
        said = record.get("handoff")
        if not isinstance(said, Mapping) or said.keys() != MEMBERS:
            return None
        if not isinstance(record.get("after"), str) or "checkpoint" not in record:
            return None
        names = ("observedPromptTokens", "availableForInput", "handoffThreshold", "compactionThreshold")
        numbers = [said[name] for name in names]
        if not all(type(each) is int and 0 < each <= TOKENS_MOST for each in numbers):
            return None
        observed, available, handoff, compaction = numbers
        name = message_id(after=record.get("after"), checkpoint=record.get("checkpoint"))
        is_sound = (
            type(said["version"]) is int
            and said["version"] == VERSION
            and said["messageId"] == name
            and handoff <= observed < compaction <= available
            and all(line_at(available, line * 100 // available) == line for line in (handoff, compaction))
            and _is_time(said["createdAt"])
        )
        return cls(observed, available, compaction) if is_sound else None

    def message(self) -> Message:
        """What the model is told."""
        text = (
            "[rehydrate] A note of the program that keeps this conversation; the user has not written it and does not "
            f"see it. Of the {self.available:,} tokens that your context has room for, {self.observed:,} are used "
            f"({self.observed * 100 // self.available} %). At {self.compaction_line:,} the older messages will be "
            "condensed: what they found out, decided and changed may then no longer be before you. What must survive "
            "word for word, write down in your next answer, each thing on a line of its own, in the form "
            f'"{_FORM}", of at most {PAYLOAD_CHARS:,} characters. The headings are: {"; ".join(HEADINGS)}. Write down '
            "what holds now and is written down nowhere yet, no guesses and no secrets; where there is nothing of the "
            "kind, write none. Then go on with what you were doing, and say nothing of this note."
        )
        return marked({"role": "user", "content": text}, "handoff")


_FORM = "EXACT CONTINUATION RECORD [<heading>] :: <text>"


def message_id(*, after: object, checkpoint: object) -> str:
    """The id of the message in that place of that epoch."""
    return sha256(f"handoff\n{checkpoint}\n{after}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def hand_over(scene: "Scene", *, meter: Meter, now_s: float, note: Callable[[Record], None]) -> bool:
    """Whether the model is told from now on.  A turn goes on without, where `note` could not write that.  The others:
    as for `handoff_record`.
    """
    record = handoff_record(scene, meter=meter, now_s=now_s)
    if record is None:
        return False
    try:
        note(record)
    except (OSError, SessionError):
        return False
    return True


def handoff_record(scene: "Scene", *, meter: Meter, now_s: float) -> Record | None:
    """The record to write before a request; None where nothing is to be told.  `now_s`: seconds since the epoch.

    It is told between the lines, where this would not lead to the next one; once; not while a call still runs; and
    behind what somebody else than the model has said.
    """
    state, snapshot = scene.state, scene.snapshot
    available, handoff = snapshot.available, snapshot.handoff_line
    said = state.said[-1] if state.said else None
    if snapshot.phase != "handoff_band" or state.handoff != "none" or available is None or handoff is None:
        return None
    if scene.work.open_from is not None or said is None or is_hidden(said.message):
        return None
    if not said.uuid or scene.work.messages[-1].get("role") == "assistant":
        return None
    compaction = available if snapshot.compaction_line is None else snapshot.compaction_line
    told = Handoff(snapshot.tokens, available, compaction).message()
    if snapshot.tokens + meter.message(told) >= compaction:
        return None
    return {
        "type": HANDOFF,
        "after": said.uuid,
        "checkpoint": state.boundary,
        "handoff": {
            "version": VERSION,
            "messageId": message_id(after=said.uuid, checkpoint=state.boundary),
            "observedPromptTokens": snapshot.tokens,
            "availableForInput": available,
            "handoffThreshold": handoff,
            "compactionThreshold": compaction,
            "createdAt": _time(now_s),
        },
    }


def _time(seconds: float) -> str:
    """In UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value[:-1])
    except ValueError:
        return False
    return True
