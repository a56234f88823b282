"""A conversation into text within hard budgets, to be sent in parts.

`build` takes a `Conversation` (what was said and touched, up to a boundary), the settings, and an `Access` (which files
may be read), and gives a `Rehydration`: sections, statistics, the whole text, and `parts(limit)` for delivery.  Same
conversation, same files, same settings: same characters.  No client and no transcript format is known here.
"""

from collections.abc import Callable

from rehydrate.conversation import Conversation
from rehydrate.dataclass import dataclass
from rehydrate.digest import sha256
from rehydrate.files import Access
from rehydrate.recall.delivery import LIMIT_MIN, measure_of, pack
from rehydrate.recall.dialogue import dialogue_section
from rehydrate.recall.documents import documents_section
from rehydrate.recall.files import files_section
from rehydrate.recall.render import NOTE, NOTE_CONTINUED, Item, Section, join_hops, lineage_hops, marker
from rehydrate.recall.requests import requests_section
from rehydrate.recall.text import cleaner, cut_before, one_line
from rehydrate.settings import Settings

__all__ = ["LIMIT_MIN", "Item", "Rehydration", "Section", "build"]

_REMARKS_CHARS = 400


@dataclass(frozen=True, slots=True)
class Rehydration:
    """What a conversation brings back after a compaction."""

    checkpoint: int
    """The number in the marker."""
    id: str
    """The delivery's id in the marker, 8 hex digits."""
    sections: tuple[Section, ...]
    """Requests, dialogue, documents, files: always these four."""
    stats: dict[str, int]
    """checkpoint, fork_hops, user_msgs, kept_turns, skills, files, chars, est_tokens."""
    text: str
    """The whole, in one."""
    hops: tuple[str, ...]
    """The lineage as the marker names it, oldest first; empty without ancestors."""
    note: str
    """What stands between the marker and the first section."""

    def parts(self, limit: int, unit: str = "utf8") -> list[str]:
        """The text in parts of at most `limit` bytes (`unit` "utf8") or UTF-16 units ("utf16"), in the order to send.

        One part is the text itself.  ValueError for another unit, or a limit under 1,000.
        """
        measure = measure_of(unit)
        if limit < LIMIT_MIN:
            raise ValueError(f"a part needs at least {LIMIT_MIN} {unit} units, not {limit}")
        if measure(self.text) <= limit:
            return [self.text]
        lineage = join_hops(self.hops, room=limit // 5, measure=measure)
        note = self.note if measure(self.note) <= limit // 3 else NOTE
        digits = 1
        while True:
            # The numbers take as much room as the largest of that many digits.
            widest = "9" * digits
            head = measure(self._marker(f"{widest}/{widest}", lineage)) + 1
            bodies = pack(self.sections, room=limit - head - measure(note) - 1, measure=measure)
            if len(str(len(bodies))) <= digits:
                break
            digits += 1
        return [
            f"{self._marker(f'{number}/{len(bodies)}', lineage)}\n{note if number == 1 else NOTE_CONTINUED}\n{body}"
            for number, body in enumerate(bodies, start=1)
        ]

    def values(self, conversation: Conversation, *, count: int, redact: bool, whereabouts: str) -> list[str]:
        """What matters most of the conversation that this is of, in at most `count` small values (see `inline`).

        `whereabouts`: our words, a line, for where the whole text stands.
        """
        from rehydrate.recall.inline import write_values  # not for hosts that take parts

        clean = cleaner(redact=redact)
        mark = (self.checkpoint, self.id)
        return write_values(conversation, clean, mark=mark, hops=self.hops, count=count, whereabouts=whereabouts)

    def _marker(self, part: str, lineage: str) -> str:
        return marker(self.checkpoint, self.id, part=part, lineage=lineage)


def build(conversation: Conversation, settings: Settings, *, access: Access) -> Rehydration:
    """The rehydration of the conversation at its boundary; without one, what a compaction now would bring back."""
    clean = cleaner(redact=settings.redact)
    requests = requests_section(conversation, settings, clean)
    dialogue = dialogue_section(conversation, settings, clean)
    documents = documents_section(conversation, settings, clean, access=access)
    settled = {item.path or "" for item in documents.items} | {path for path, _ in documents.refused}
    files = files_section(conversation, settings, clean, access=access, elsewhere=settled)
    sections = (requests, dialogue, documents, files)
    checkpoint, name = _name(conversation)
    hops = tuple(lineage_hops(conversation))
    note = _note(conversation, clean)
    line = marker(checkpoint, name, lineage="->".join(hops))
    text = f"{line}\n{note}\n" + "".join(section.text for section in sections)
    stats = {
        "checkpoint": checkpoint,
        "fork_hops": max(0, len(conversation.segments) - 1),
        "user_msgs": sum(item.role == "user" for item in requests.items),
        "kept_turns": len(dialogue.items),
        "skills": len(documents.items),
        "files": len(files.items),
        "chars": len(text),
        "est_tokens": len(text) // 3,
    }
    return Rehydration(checkpoint, name, sections, stats, text, hops, note)


def _name(conversation: Conversation) -> tuple[int, str]:
    """Checkpoint and id for the marker.

    Without a boundary: the step that a boundary written now would have, and the digest of session and checkpoint with
    no record, which no delivery has.
    """
    if conversation.boundary is not None:
        return conversation.boundary.checkpoint, conversation.boundary.id
    last = conversation.segments[-1].max_step if conversation.segments else None
    checkpoint = last + 1 if isinstance(last, int) else 1
    digest = sha256(f"{conversation.session}\0{checkpoint}\0".encode("utf-8", "surrogatepass"))
    return checkpoint, digest.hexdigest()[:8]


def _note(conversation: Conversation, clean: Callable[[str], str]) -> str:
    """The note, and what a person should know about how the log was read."""
    remarks = " ".join(one_line(clean(remark)) for remark in conversation.notes)
    return f"{NOTE}\n{remarks[: cut_before(remarks, _REMARKS_CHARS)]}" if remarks else NOTE
