"""What a model has written as a summary, taken apart: items of the ledger, and prose.

A model writes what it likes, and what it has read may have told it what to write.  So nothing is taken at its word:
items are one line each and few, and no line of the prose looks like a heading, an item or a record line of ours.
"""

import re
from collections.abc import Iterator

from .ledger import HEADINGS, NEXT, TOLD, TOLD_CHARS, Item, fits, heading_of, recorded_in

TEXT_CHARS = 64_000
"""No more of a text is looked at: twice what an answer of 8,000 tokens has."""
PROSE_CHARS = 32_000
"""Of what is no item; whole lines."""

_NAMED = "|".join(re.escape(heading) for heading in HEADINGS)
_HEADING = re.compile(
    rf" {{0,3}}(?:#[#\s]{{0,8}})?[*_]{{0,3}}(?:\d{{1,2}}[.)]\s?)?[*_]{{0,3}}({_NAMED})[*_]{{0,3}}"
    r"\s{0,9}(?:[#\s]{0,9}|:[*_]{0,3}\s{0,9}(\S.*)?)",
    re.IGNORECASE,
)
_OTHER = re.compile(r"\s{0,3}#{1,6}(?:\s|$)")
_BULLET = re.compile(r"([ \t]*)([-*+!•]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)[^`]*")
_NOTHING = re.compile(r"\W*(?:none|nothing|empty|n/?a|nil)?(?: (?:yet|so far|known|open))?\W*", re.IGNORECASE)
_NOTHING_CHARS = 40
_RECORD = re.compile(r"^(\s*)EXACT CONTINUATION RECORD (?=\[)")
_OURS = re.compile(r"\s{0,3}(?:(?:#+(?:\s+|$))+|EXACT CONTINUATION RECORD (?=\[)|\[rehydrate\]\s*)")
_STATUS = {"+": "done", "!": "failed"}
_LONE = re.compile("[\ud800-\udfff]")
_CODE = "    "
"""What a line of code begins with in the prose: fences may be left open, and then nothing after them is read right."""


def read_prose(text: str) -> tuple[tuple[Item, ...], str]:
    """The items under the seven headings, marked as told by a model (`Item.told`), in order, and the rest as prose.

    An item is a bullet (`+ ` or a ticked box: done, `! `: failed) or a record line, and of the exact next action any
    line; one that says "none" is no item, and what is too long for one, or one too many under its heading, is prose.
    `Ledger.tell` takes the items in.  No line of the prose can be taken for a heading or an item of a summary, and
    prose that is read again is the same prose.
    """
    reading = _Reading()
    for line in _unwrapped(_LONE.sub("\ufffd", text[:TEXT_CHARS]).splitlines()):
        reading.take(line)
    reading.end()
    return tuple(reading.items), _within("\n".join(reading.prose).strip("\n"), PROSE_CHARS)


def headings_in(text: str) -> Iterator[str]:
    """Those of the seven headings that stand in a text, in its order."""
    for line in text[:TEXT_CHARS].splitlines():
        found = _HEADING.fullmatch(line)
        if found:
            yield heading_of(found[1])


class _Reading:
    """Where the reading of a text is."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.prose: list[str] = []
        self._heading: str | None = None
        self._bullet: tuple[str, list[str]] | None = None
        """The status of a bullet, and its lines."""
        self._indent = 0
        """Of the last bullet: one that stands further in belongs to it."""
        self._is_code = False
        self._named: str | None = None
        """The heading that the prose was last said to be from."""

    def take(self, line: str) -> None:
        """The next line."""
        if _FENCE.fullmatch(line):
            self.end()
            self._is_code = not self._is_code
        elif self._is_code:
            self._say(_CODE + line)
        elif heading := _HEADING.fullmatch(line):
            self.end()
            self._heading = heading_of(heading[1])
            if heading[2]:
                self._bullet, self._indent = ("open", [heading[2]]), 0
        elif record := next(recorded_in(line), None):
            self.end()
            self._add(record)
        elif _OTHER.match(line):
            self.end()
            self._heading = None
            self._say(line)
        elif self._heading is None:
            self._say(line)
        else:
            self._under_heading(line)

    def _under_heading(self, line: str) -> None:
        bullet = _BULLET.fullmatch(line)
        if bullet and (self._bullet is None or len(bullet[1]) <= self._indent):
            self.end()
            ticked = bullet[3] is not None and bullet[3] in "xX"
            self._bullet = "done" if ticked else _STATUS.get(bullet[2], "open"), [bullet[4]]
            self._indent = len(bullet[1])
        elif not line.strip():
            self.end()
            self._say("")
        elif self._bullet is not None:
            self._bullet[1].append(line)
        elif self._heading == NEXT:
            self._bullet, self._indent = ("open", [line]), -1
        elif not _is_nothing(line):
            self._say(line)

    def end(self) -> None:
        """Of a bullet, where there is one."""
        if self._bullet is None or self._heading is None:
            return
        status, lines = self._bullet
        self._bullet = None
        payload = " ".join(" ".join(lines).split())
        if _is_nothing(payload):
            return
        if fits(self._heading, payload):
            self._add(Item(self._heading, payload, status, told=True))
        else:
            for line in lines:
                self._say(line)

    def _add(self, item: Item) -> None:
        said = [each for each in self.items if each.heading == item.heading]
        chars = sum(len(each.payload) for each in said) + len(item.payload)
        if item.heading in HEADINGS and len(said) < TOLD and chars <= TOLD_CHARS:
            if all(each.payload != item.payload for each in said):
                self.items.append(Item(item.heading, item.payload, item.status, told=True))
        else:
            self._say(item.payload)

    def _say(self, line: str) -> None:
        """A line of prose, plain, and before it which heading it is from."""
        line = _RECORD.sub(r"\1", line.rstrip())
        if not line.startswith(_CODE):
            line = _plain(line)
        if not line:
            if self.prose and self.prose[-1]:
                self.prose.append("")
            return
        if self._heading != self._named and self._heading is not None:
            self.prose.append(f"About {self._heading[0].lower()}{self._heading[1:]}:")
        self._named = self._heading
        self.prose.append(line)


def _plain(line: str) -> str:
    """A line that is no heading, no item and no record line of ours."""
    while found := _OURS.match(line):
        line = line[found.end() :]
    if line[:2] in ("- ", "! ", "+ "):
        line = line[2:].lstrip()
    elif not _HEADING.fullmatch(line) and not _FENCE.fullmatch(line):
        return line
    return f"* {line}"


def _unwrapped(lines: list[str]) -> list[str]:
    """The lines without the fence that a model puts around all that it writes."""
    said = [at for at, line in enumerate(lines) if line.strip()]
    if not said or not _FENCE.fullmatch(lines[said[0]]):
        return lines
    is_closed = len(said) > 1 and _FENCE.fullmatch(lines[said[-1]])
    return lines[said[0] + 1 : said[-1] if is_closed else len(lines)]


def _is_nothing(text: str) -> bool:
    return len(text) <= _NOTHING_CHARS and _NOTHING.fullmatch(text) is not None


def _within(text: str, chars: int) -> str:
    """As many whole lines of a text, from its beginning, as have room."""
    return text if len(text) <= chars else text[: text.rfind("\n", 0, chars + 1) + 1].rstrip("\n")
