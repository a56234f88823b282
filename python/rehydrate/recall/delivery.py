"""A rehydration in parts, each small enough for one message of the host.

Promises: no part is over the limit; every part begins with the marker line and can be read alone; the items of all
parts are exactly those of the whole, each in one part, or in pieces that joined are the item.  The most important comes
first: requests, then the dialogue from its end backwards (within a part in reading order), then documents, then files.
"""

from collections.abc import Callable, Iterator

from rehydrate.dataclass import dataclass, field
from rehydrate.recall.render import Item, Section, heading, render_item, render_label, render_lines, render_quote
from rehydrate.recall.text import cut_before

LIMIT_MIN = 1_000
"""The smallest part: less could not hold its marker line and still carry text."""
_PIECE_SPACE = ", piece 99999/99999:"

_GOES_ON = "- ... "

Measure = Callable[[str], int]


def measure_of(unit: str) -> Measure:
    """What a text counts in a unit: `utf8` (bytes) or `utf16` (units).  ValueError for any other."""
    if unit == "utf8":
        return lambda text: len(text.encode())
    if unit == "utf16":
        return lambda text: len(text.encode("utf-16-le")) // 2
    raise ValueError(f"a part is measured in utf8 or utf16, not in {unit!r}")


@dataclass(slots=True)
class Chunk:
    """Some items of one section in one part, written."""

    section: Section
    first: bool
    """Whether the section begins here."""
    texts: list[str] = field(default_factory=list)
    """In the order in which they were packed."""

    def write(self) -> str:
        """The chunk under its heading, in reading order."""
        texts = reversed(self.texts) if self.section.name == "dialogue" else self.texts
        return _heading(self.section, first=self.first) + "".join(texts)


def pack(sections: tuple[Section, ...], *, room: int, measure: Measure) -> list[str]:
    """The bodies of the parts, none of which measures more than `room`."""
    packer = _Packer(room, measure)
    for section in sections:
        packer.add(section)
    return ["".join(chunk.write() for chunk in part) for part in packer.parts]


class _Packer:
    """Fills one part after the other; what was packed stays where it is."""

    def __init__(self, room: int, measure: Measure) -> None:
        self.parts: list[list[Chunk]] = [[]]
        self._room = room
        self._left = room
        self._measure = measure

    def add(self, section: Section) -> None:
        """All items of the section, the whole ones whole."""
        title = max(self._measure(_heading(section, first=first)) for first in (True, False))
        chunk: Chunk | None = None
        for item in reversed(section.items) if section.name == "dialogue" else section.items:
            text = render_item(item)
            pieces = [text]
            if self._measure(text) > self._room - title:
                pieces = list(split(item, room=self._room - title, measure=self._measure))
            for piece in pieces:
                cost = self._measure(piece)
                if chunk is not None and cost <= self._left:
                    pass
                elif chunk is None and cost + title <= self._left:
                    chunk = self._open(section, title, first=True)
                else:
                    self.parts.append([])
                    self._left = self._room
                    chunk = self._open(section, title, first=chunk is None)
                chunk.texts.append(piece)
                self._left -= cost

    def _open(self, section: Section, title: int, *, first: bool) -> Chunk:
        chunk = Chunk(section, first)
        self.parts[-1].append(chunk)
        self._left -= title
        return chunk


def _heading(section: Section, *, first: bool) -> str:
    return section.heading() if first else heading(f"{section.title} (continued)")


def split(item: Item, *, room: int, measure: Measure) -> Iterator[str]:
    """The item in pieces of at most `room`, each under a label of its own; their texts joined are the item's text."""
    label = _shortened(item.label.rstrip(":"), room=room // 4, measure=measure)
    space = room - measure(render_label(label + _PIECE_SPACE))
    bodies: list[str] = [""]
    before, after = render_lines(item.tools if item.quoted else None), render_lines(item.tools_after)
    write_text = render_quote if item.quoted else _plain
    for text, write in ((before, _plain), (item.text, write_text), (after, _plain)):
        at = 0
        while at < len(text):
            # What goes on in the middle of one of our lines may not begin a line.
            lead = _GOES_ON if write is _plain and at and text[at - 1] != "\n" else ""
            reach = _reach(text, at, write, room=space - measure(bodies[-1] + lead), measure=measure)
            end = cut_before(text, reach, floor=at)
            if end == at and not bodies[-1]:
                end = reach  # a grapheme longer than a part is cut all the same, between code points
            if end > at:
                bodies[-1] += lead + write(text[at:end])
            elif not bodies[-1]:
                raise ValueError("the limit leaves no room for text")
            if end < len(text):
                bodies.append("")
            at = end
    for number, body in enumerate(bodies, start=1):
        yield render_label(f"{label}, piece {number}/{len(bodies)}:") + body


def _reach(text: str, at: int, write: Callable[[str], str], *, room: int, measure: Measure) -> int:
    """How far the text can be written from `at` on within `room`."""
    low, high = at, min(len(text), at + max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if measure(write(text[at:middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _plain(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _shortened(label: str, *, room: int, measure: Measure) -> str:
    """A label within `room`, its end kept: that of a path says more than its start."""
    if measure(label) <= room:
        return label
    start = max(0, len(label) - room)
    while measure("..." + label[start:]) > room:
        start += 1
    return "..." + label[start:]
