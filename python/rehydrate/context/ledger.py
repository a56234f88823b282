"""What must outlive every compaction word for word: items under seven headings.

Items are data and never prose: nothing here or later changes a payload, and an item stays until it is closed or
superseded, however often the conversation is compacted.  They come from lines of the form

    EXACT CONTINUATION RECORD [<heading>] :: <payload>

that stand in what somebody says, from the host (`put`, `close`), and from the summary of an earlier compaction.  The
results of tools are never read for them: whoever writes a web page would write the ledger.  A payload is one line, so
that no payload can look like a heading or another item when it is written down.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

from rehydrate.context.given import a_text
from rehydrate.context.messages import Message, blocks
from rehydrate.digest import sha256

HEADINGS = (
    "Objective and constraints",
    "Decisions and rationale",
    "Workspace mutations",
    "Verification evidence",
    "Active tasks and background work",
    "Open risks or blockers",
    "Exact next action",
)
"""In the order in which they are written; others may be used, and follow them."""
NEXT = HEADINGS[-1]
STATUSES = ("open", "failed", "done", "superseded")
OPENING = "[rehydrate] Earlier messages, condensed; the original is intact in the log."
"""The first line of every summary, by which it is known again."""
FIRST = "First request"
SAID = "Said by the user"
LEFT_OUT = "Left out"
PROSE = "Summary"
"""What a model, or the host, has written of what was left out."""
FILES = "Files"
SECTIONS = (FIRST, SAID, LEFT_OUT, PROSE, FILES)
"""What follows the ledger in a summary, in this order; no item can stand under such a heading."""
HEADING_CHARS = 64
PAYLOAD_CHARS = 2048
RECORDS = 32
"""So many open items come from lines of text; further ones are not taken, for what is there stays until superseded."""
RECORDS_CHARS = 16_384
"""All payloads and headings of those together."""
CLOSED = 128
"""So many items that are no longer open are remembered, the newest ones."""
TOLD = 8
"""So many items under each heading are a model's own."""
TOLD_CHARS = 2_048
"""All payloads of those under one heading together."""

BULLETS = {"open": "- ", "failed": "! ", "done": "+ "}
"""Status -> how the line of such an item begins in a summary; a superseded one is not written."""
_STATUS_OF = {bullet: status for status, bullet in BULLETS.items()}
_CANONICAL = {heading.casefold(): heading for heading in HEADINGS}
_RECORD = re.compile(r"^\s*EXACT CONTINUATION RECORD \[([^\[\]]+)\] :: (.+)$")
_MARK = "EXACT CONTINUATION RECORD ["


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be kept word for word."""

    heading: str
    payload: str
    """One line."""
    status: str = "open"
    """One of `STATUSES`."""
    seq: int | None = None
    """Where it comes from, as the caller counts; None: the host, or a summary."""
    recorded: bool = False
    """It was read in a text, and counts for `RECORDS`."""
    told: bool = False
    """A model has written it in a summary: it gives way to everything else, and counts for `TOLD`."""

    def __post_init__(self) -> None:
        """Raises ValueError for what could not be written down and read again as it is; TypeError for what is no
        text.
        """
        a_text(self.heading, "the heading of an item")
        a_text(self.payload, "the payload of an item")
        if not fits(self.heading, self.payload):
            raise ValueError(
                f"an item of a ledger is one line of at most {PAYLOAD_CHARS} characters under a heading of at most "
                f"{HEADING_CHARS} without brackets: {self.heading[:80]!r} :: {self.payload[:80]!r}"
            )
        if self.status not in STATUSES:
            raise ValueError(f"{self.status!r} is no status of an item: it is one of {', '.join(STATUSES)}")
        if self.seq is not None and type(self.seq) is not int:
            raise ValueError(f"the seq of an item is a number, and not {self.seq!r:.80}")

    @property
    def id(self) -> str:
        """The same for the same heading and payload."""
        return sha256(f"{self.heading}\n{self.payload}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Items, in the order in which they came; every change gives another ledger."""

    items: tuple[Item, ...] = ()

    @property
    def open(self) -> tuple[Item, ...]:
        """What still holds."""
        return tuple(item for item in self.items if item.status == "open")

    @property
    def exact(self) -> tuple[Item, ...]:
        """What still holds, and gives way to nothing: no model has told it."""
        return tuple(item for item in self.items if item.status == "open" and not item.told)

    def put(
        self, heading: str, payload: str, *, seq: int | None = None, status: str = "open", supersedes: str | None = None
    ) -> "Ledger":
        """The item added, or the one that says the same given this status; `supersedes`: the id of an item that no
        longer holds.  White space around the payload is dropped.

        Raises ValueError for a heading or payload that is empty, too long or of several lines, an unknown status, and
        an id that is not there; TypeError for what is no text.
        """
        draft = Draft(self)
        draft.put(heading, payload, seq=seq, status=status, supersedes=supersedes)
        return draft.ledger

    def close(self, id: str, *, status: str) -> "Ledger":
        """The item with this id given another status.  Raises ValueError for an id that is not there."""
        draft = Draft(self)
        draft.close(id, status=status)
        return draft.ledger

    def absorb(self, messages: Sequence[Message], *, seqs: Sequence[int] | None = None) -> "Ledger":
        """With what the messages say: record lines in the text of any of them, and the items of summaries.

        An item that is known already, open or not, stays as it is, but one that a model has told and somebody says in a
        record line is no longer a model's.  Only of the exact next action there is one at a
        time: what the last message that names one says supersedes what was read before.  `seqs`: where each message
        comes from.
        """
        recorded = [list(_recorded(message)) for message in messages]
        named = ({item.id for item in found if item.heading == NEXT} for found in reversed(recorded))
        latest: set[str] | None = next((ids for ids in named if ids), None)
        said = {item.id for found in recorded for item in found}
        before = [item for item in self.items if not (item.told and item.id in said)]
        items = [item if latest is None else _settled(item, latest) for item in before]
        known = {item.id for item in items}
        taken = [item for item in items if item.recorded and item.status == "open"]
        chars = sum(_chars(item) for item in taken)
        count = len(taken)
        for at, message in enumerate(messages):
            if message.get("role") != "user" and not recorded[at]:
                continue
            for item in (*_listed(message), *recorded[at]):
                if latest is not None and _settled(item, latest).status == "superseded":
                    continue
                if item.id in known or count >= RECORDS or chars + _chars(item) > RECORDS_CHARS:
                    continue
                known.add(item.id)
                items.append(item if seqs is None else replace(item, seq=seqs[at]))
                if item.status == "open":
                    count += 1
                    chars += _chars(item)
        return Ledger(_bounded(items))

    def tell(self, items: Sequence[Item]) -> "Ledger":
        """With what a model has written in a summary, as `read_prose` gives it; only those under `HEADINGS` count.

        A model changes nothing but what a model has told: it can close that, and what it says once more is as new as
        the rest.  What it repeats of other items is nothing.  Its exact next action supersedes the one that it told
        before; of the others `TOLD` and `TOLD_CHARS` hold under each heading, the newest, and the rest is superseded.
        """
        kept = [item for item in self.items if not (item.told and item.status == "superseded")]
        exact = {item.payload for item in kept if not item.told}
        own = {item.payload: item for item in kept if item.told}
        fresh = {item.payload: item for item in items if item.heading in HEADINGS and item.payload not in exact}
        has_next = any(item.heading == NEXT for item in items)
        told = [
            replace(item, status="superseded") if has_next and item.heading == NEXT else item
            for payload, item in own.items()
            if payload not in fresh
        ]
        told += [
            Item(own.get(payload, item).heading, payload, item.status, told=True) for payload, item in fresh.items()
        ]
        return Ledger(_bounded([*(item for item in kept if not item.told), *_told(told)]))

    def record(self) -> list[dict[str, Any]]:
        """As data for a log; what is not said is the usual."""
        return [
            {
                "id": item.id,
                "heading": item.heading,
                "payload": item.payload,
                "status": item.status,
                "seq": item.seq,
                "recorded": item.recorded,
                **({"told": True} if item.told else {}),
            }
            for item in self.items
        ]

    @classmethod
    def from_record(cls, record: Sequence[Mapping[str, Any]]) -> "Ledger":
        """What `record` gave.  Raises ValueError for what is none."""
        items = []
        for at, row in enumerate(record):
            if not isinstance(row, Mapping):
                raise ValueError(f"item {at} of a ledger is no object")
            heading, payload, status, seq = (row.get(name) for name in ("heading", "payload", "status", "seq"))
            if not isinstance(heading, str) or not isinstance(payload, str) or not isinstance(status, str):
                raise ValueError(f"item {at} of a ledger has no heading, payload or status")
            item = Item(heading, payload, status, seq, row.get("recorded") is True, row.get("told") is True)
            if row.get("id") != item.id:
                raise ValueError(f"item {at} of a ledger was changed: its id does not fit its content")
            items.append(item)
        return cls(tuple(items))


def listed(text: str) -> list[Item]:
    """The items in the text of a summary, under their headings; everything after the headings is passed over."""
    found = []
    heading = None
    for line in text.split("\n"):
        if line.startswith("## "):
            heading = line[3:]
            if heading in SECTIONS:
                break
        elif heading is not None and line[:2] in _STATUS_OF and fits(heading, line[2:]):
            found.append(Item(heading, line[2:], _STATUS_OF[line[:2]], recorded=True))
    return found


class Draft:
    """A ledger that many items are put into one after the other, in time in proportion to them all."""

    def __init__(self, ledger: Ledger) -> None:
        self._items: dict[str, Item] = {item.id: item for item in ledger.items}
        self._places = {id: place for place, id in enumerate(self._items)}
        self._next = len(self._items)
        self._closed = [(self._places[id], id) for id, item in self._items.items() if item.status != "open"]
        """A heap of those that no longer hold, the oldest first; some in it may hold again, or be gone."""
        self._count = len(self._closed)

    @property
    def ledger(self) -> Ledger:
        """As it is now."""
        return Ledger(tuple(self._items.values()))

    def put(
        self, heading: str, payload: str, *, seq: int | None = None, status: str = "open", supersedes: str | None = None
    ) -> None:
        """As `Ledger.put`; what raises has changed nothing."""
        a_text(heading, "the heading of an item")
        a_text(payload, "the payload of an item")
        item = Item(heading_of(heading), payload.strip(), status, seq)
        if supersedes is not None:
            self.close(supersedes, status="superseded")
        if item.id in self._items:
            self._items[item.id] = replace(self._items[item.id], told=False)
            self.close(item.id, status=status)
            return
        self._items[item.id] = item
        self._places[item.id] = self._next
        self._next += 1
        self._settle(item.id, was_open=True)

    def close(self, id: str, *, status: str) -> None:
        """As `Ledger.close`; what raises has changed nothing."""
        item = self._items.get(id) if isinstance(id, str) else None
        if item is None:
            raise ValueError(f"no item of the ledger has the id {id!r:.80}: take it from an item's `id`")
        self._items[id] = replace(item, status=status)
        self._settle(id, was_open=item.status == "open")

    def _settle(self, id: str, *, was_open: bool) -> None:
        """Count an item that was changed, and let the oldest go of those that no longer hold."""
        is_open = self._items[id].status == "open"
        self._count += was_open - is_open
        if was_open and not is_open:
            heappush(self._closed, (self._places[id], id))
        while self._count > CLOSED:
            place, oldest = heappop(self._closed)
            if self._places.get(oldest) == place and self._items[oldest].status != "open":
                del self._items[oldest], self._places[oldest]
                self._count -= 1


def _listed(message: Message) -> Iterator[Item]:
    """The items of a message that is a summary."""
    if message.get("role") == "user":
        for text in _texts(message):
            if text.startswith(OPENING):
                yield from listed(text)


def _recorded(message: Message) -> Iterator[Item]:
    """The items of the record lines in a message that is no summary."""
    for text in _texts(message):
        if _MARK not in text or (message.get("role") == "user" and text.startswith(OPENING)):
            continue
        yield from recorded_in(text)


def recorded_in(text: str) -> Iterator[Item]:
    """The items of the record lines in a text."""
    for line in text.splitlines():
        found = _RECORD.match(line)
        if found and fits(heading := heading_of(found[1]), payload := found[2].strip()):
            yield Item(heading, payload, recorded=True)


def _texts(message: Message) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
        return
    for block in blocks(message):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text


def _settled(item: Item, latest: Collection[str]) -> Item:
    """With the status that it has when the next actions with these ids are the latest ones."""
    if item.heading != NEXT or not item.recorded:
        return item
    if item.id in latest:
        return replace(item, status="open") if item.status == "superseded" else item
    return replace(item, status="superseded") if item.status == "open" else item


def heading_of(heading: str) -> str:
    """A heading as it is written here."""
    heading = heading.strip()
    return _CANONICAL.get(heading.casefold(), heading)


def fits(heading: str, payload: str) -> bool:
    """Whether an item may have these."""
    return (
        0 < len(heading) <= HEADING_CHARS
        and 0 < len(payload) <= PAYLOAD_CHARS
        and len(heading.splitlines()) == 1
        and len(payload.splitlines()) == 1
        and heading == heading.strip()
        and payload == payload.strip()
        and heading not in SECTIONS
        and not set(heading) & set("[]")
    )


def _chars(item: Item) -> int:
    return len(item.heading) + len(item.payload)


def _told(items: Sequence[Item]) -> list[Item]:
    """What a model has told, within its limits: the newest that are open, then the newest of the rest.  What goes is
    superseded, and last: the summary that it stands in is read once more.
    """
    kept: set[str] = set()
    count: dict[str, int] = {}
    chars: dict[str, int] = {}
    for item in sorted(reversed(items), key=lambda item: item.status != "open"):
        heading = item.heading
        more = chars.get(heading, 0) + len(item.payload)
        if item.status != "superseded" and count.get(heading, 0) < TOLD and more <= TOLD_CHARS:
            kept.add(item.id)
            count[heading] = count.get(heading, 0) + 1
            chars[heading] = more
    gone = [replace(item, status="superseded") for item in items if item.id not in kept]
    return [*(item for item in items if item.id in kept), *gone]


def _bounded(items: Iterable[Item]) -> tuple[Item, ...]:
    items = tuple(items)
    excess = sum(item.status != "open" for item in items) - CLOSED
    kept = []
    for item in items:
        if item.status != "open" and excess > 0:
            excess -= 1
        else:
            kept.append(item)
    return tuple(kept)
