"""The text that stands for the messages which a compaction took out, and what can be read out of it again.

It is a message of the user, plain text, whose first line says what it is.  Then come the ledger by heading, what was
asked for first, what the user has said that still holds, what was left out, prose, and files.  Items, statements and
notes stand on a line each, behind a bullet, before anything of several lines: so nothing in them, and nothing in prose
or a file that looks like a summary, can be taken for an item.  Same input, same text; what is read back and written
again with the same budget is the same text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rehydrate.context.ledger import (
    BULLETS,
    FILES,
    FIRST,
    HEADINGS,
    LEFT_OUT,
    OPENING,
    PROSE,
    SAID,
    Item,
    Ledger,
    listed,
)
from rehydrate.context.statements import Statement

NOTHING = "Nothing under: "
"""How the line of the empty headings begins."""
FILES_PERCENT = 20
"""Of the budget: for files before prose; beyond that they come last."""
_HEADING = re.compile(r"^#{1,2}(?=\s|$)", re.MULTILINE)
_BLOCKS = (PROSE, FILES)
"""The sections that may hold anything; they come last."""


class Counter(Protocol):
    """Counts a text in the unit of the budget."""

    def count(self, text: str) -> int:
        """Tokens, or whatever the budget is in."""


class FileText(Protocol):
    """A file that is shown as it is now."""

    @property
    def path(self) -> str:
        """As people are to read it."""

    @property
    def text(self) -> str:
        """What of it is shown."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, and what it holds."""

    text: str
    items: tuple[Item, ...]
    """Of the ledger."""
    statements: tuple[Statement, ...]
    first: str | None = None
    """What was asked for first, one line; None where it does not say."""
    notes: tuple[str, ...] = ()
    """Lines on what was left out, oldest first."""
    prose: str = ""
    """What somebody has written of it; empty where nobody has."""


def prose_of(text: str) -> str:
    """A text as it stands in a summary: without white space around it, its headings below those of the summary, so that
    nothing in it looks like a section.
    """
    return _HEADING.sub("###", "\n".join(text.strip().splitlines()))


def summarise(
    *,
    ledger: Ledger,
    statements: Sequence[Statement],
    first: str | None = None,
    notes: Sequence[str] = (),
    prose: str = "",
    files: Sequence[FileText] = (),
    budget: int,
    meter: Counter,
) -> Summary:
    """The summary within `budget`, as `meter` counts; only the first line is never left out.

    What finds room, in this order: open items; statements, heavier and shorter ones first; `first`, what was asked for
    first; items that failed or are done; items that a model has told, in the same order; which headings are empty;
    `prose`, whole, behind `FILES_PERCENT` of files; `notes`, one line each, on what was left out, the newest ones,
    which are last; `files`, whole ones.  Labels go where another statement finds room instead.
    `first` None: it stands elsewhere.
    """
    by_worth = sorted(statements, key=lambda each: meter.count(each.text) / (1 + each.weight))

    def made(labels: bool) -> Summary:
        draft = _Draft(ledger, statements, budget, meter, labels)
        for status in BULLETS:
            draft.take(part for part in draft.items if part.status == status and not part.told)
            if status == "open":
                draft.take(by_worth if labels else {each.text: each for each in by_worth}.values())
                draft.take([_First(" ".join(first.split()))] if first else ())
        for status in BULLETS:
            draft.take(part for part in draft.items if part.status == status and part.told)
        draft.take([_Empty(tuple(heading for heading in HEADINGS if _head(heading) not in draft.headed))])
        shown = [_Shown(file.path, file.text) for file in files]
        if said := prose_of(prose):
            draft.take(shown, most=budget * FILES_PERCENT // 100)
            draft.take([_Prose(said)])
        draft.take(_Note(" ".join(note.split())) for note in reversed(notes))
        draft.take(part for part in shown if part not in draft.taken)
        return draft.summary()

    labelled = made(labels=True)
    if len(labelled.statements) == len(statements):
        return labelled
    bare = made(labels=False)
    return bare if len(bare.statements) > len(labelled.statements) else labelled


def read_summary(text: str) -> Summary | None:
    """The summary whose text this is; None when it is none of ours.  Only the text of a user's message may be one."""
    if text.split("\n", 1)[0] != OPENING:
        return None
    first = next(_bulleted(text, FIRST), None)
    return Summary(text, tuple(listed(text)), tuple(_said(text)), first, tuple(_bulleted(text, LEFT_OUT)), _prose(text))


def _prose(text: str) -> str:
    """What stands between its heading and the next section; no line in it, or before it, looks like either."""
    lines = text.split("\n")
    heads = [at for at, line in enumerate(lines) if line[3:] in _BLOCKS and line.startswith("## ")]
    if not heads or lines[heads[0]] != f"## {PROSE}":
        return ""
    return "\n".join(lines[heads[0] + 1 : heads[1] if len(heads) > 1 else None])


def _bulleted(text: str, section: str) -> Iterator[str]:
    """The lines of a section that holds nothing else; those that may hold anything come after them."""
    inside = False
    for line in text.split("\n"):
        if line.startswith("## "):
            if inside or line[3:] in _BLOCKS:
                return
            inside = line[3:] == section
        elif inside and line.startswith("- "):
            yield line[2:]


def _said(text: str) -> Iterable[Statement]:
    label = None
    inside = False
    for line in text.split("\n"):
        if line.startswith("## "):
            if inside or line[3:] in (LEFT_OUT, *_BLOCKS):
                return
            inside = line[3:] == SAID
        elif inside and line.startswith("- "):
            yield Statement(line[2:], label)
        elif inside and line.endswith(":"):
            label = line[:-1]


@dataclass(frozen=True, slots=True)
class _Empty:
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _First:
    text: str


@dataclass(frozen=True, slots=True)
class _Note:
    text: str


@dataclass(frozen=True, slots=True)
class _Prose:
    text: str


@dataclass(frozen=True, slots=True)
class _Shown:
    path: str
    text: str


_Part = Item | Statement | _Empty | _First | _Note | _Prose | _Shown


class _Draft:
    """What has found room so far; each line is counted once, with its line break, and each heading with its first."""

    def __init__(
        self,
        ledger: Ledger,
        statements: Sequence[Statement],
        budget: int,
        meter: Counter,
        labels: bool,
    ) -> None:
        """`labels`: whether those of statements are written."""
        order = {heading: at for at, heading in enumerate(HEADINGS)}
        self.items = sorted(ledger.items, key=lambda item: order.get(item.heading, len(order)))
        self.taken: dict[_Part, None] = {}
        self.headed: set[str] = set()
        self._statements = statements
        self._count = meter.count
        self._budget = budget
        self._left = budget - self._count(OPENING)
        self._labels = labels

    def take(self, parts: Iterable[_Part], *, most: int | None = None) -> None:
        """Those that there is room for, in all of it or in `most` of it."""
        room = self._left if most is None else min(most, self._left)
        for part in parts:
            line, *heads = self._lines(part)
            new = [head for head in heads if head not in self.headed]
            cost = self._count(line) + sum(map(self._count, new))
            if line and cost <= room:
                room -= cost
                self._left -= cost
                self.headed.update(new)
                self.taken[part] = None

    def summary(self) -> Summary:
        """What has found room, less its end where all together count more than each by itself."""
        text = self._text()
        while self.taken and self._count(text) > self._budget:
            self.taken.popitem()
            text = self._text()
        return Summary(
            text,
            tuple(item for item in self.items if item in self.taken),
            tuple(each for each in self._statements if each in self.taken),
            next((part.text for part in self.taken if isinstance(part, _First)), None),
            tuple(part.text for part in self.taken if isinstance(part, _Note))[::-1],
            next((part.text for part in self.taken if isinstance(part, _Prose)), ""),
        )

    def _text(self) -> str:
        """Everything in its place."""
        labels = dict.fromkeys([None, *(self._label(each) for each in self._statements)])
        said = (each for label in labels for each in self._statements if self._label(each) == label)
        empty, first, notes, prose, files = (
            [part for part in self.taken if isinstance(part, kind)] for kind in (_Empty, _First, _Note, _Prose, _Shown)
        )
        written: list[str] = []
        headed: set[str] = set()
        for part in (*self.items, *empty, *first, *said, *reversed(notes), *prose, *files):
            if part in self.taken:
                line, *heads = self._lines(part)
                written += [*(head for head in heads if head not in headed), line]
                headed.update(heads)
        return OPENING + "".join(written)

    def _label(self, statement: Statement) -> str | None:
        return statement.label if self._labels else None

    def _lines(self, part: _Part) -> list[str]:
        """What is written for a part, and the headings that it stands under."""
        if isinstance(part, Item):
            return [f"\n{BULLETS[part.status]}{part.payload}", _head(part.heading)]
        if isinstance(part, Statement):
            label = self._label(part)
            return [f"\n- {part.text}", _head(SAID), *([f"\n{label}:"] if label else [])]
        if isinstance(part, _Empty):
            return [f"\n{NOTHING}{'; '.join(part.headings)}"] if part.headings else [""]
        if isinstance(part, (_First, _Note)):
            return [f"\n- {part.text}", _head(FIRST if isinstance(part, _First) else LEFT_OUT)]
        if isinstance(part, _Prose):
            return [f"\n{part.text}", _head(PROSE)]
        return [f"\n### {part.path}\n{part.text}", _head(FILES)]


def _head(heading: str) -> str:
    return f"\n## {heading}"
