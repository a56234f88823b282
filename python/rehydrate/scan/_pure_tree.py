"""`read_tree` of the pure twin: every record of a tree-shaped transcript, by its own identifier and its parent's.

Every line is read in full: by the parser of `json` where it takes the line, as it accepts nothing that a walk would
not, else by a walk.  Either way only the three members of a record are kept.
"""

from ._decode import load_line, text
from ._entries import Entries, Listed
from ._pure_lines import File, Line, lines
from ._pure_members import SPACE
from ._pure_tail import OFFSETS_MAX
from ._results import Entry, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._arguments import AnyPath

_KEYS = frozenset(("uuid", "parentUuid", "type"))
_make = tuple.__new__


def read_tree(path: "AnyPath") -> Tree:
    """See `rehydrate.scan.read_tree`."""
    with File(path) as file:
        reading = _Reading()
        try:
            for line in lines(file, 0):
                reading.take(line)
        except EOFError:  # cut short while it was read: what was complete stays
            pass
        return Tree(
            Entries(Listed(reading.entries)), reading.lines, reading.damaged, reading.damaged_offsets, file.size
        )


class _Reading:
    """What is known so far."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.lines = 0
        self.damaged = 0
        self.damaged_offsets: list[int] = []
        self._types: dict[str, str] = {}
        self._last: str | None = None

    def take(self, line: Line) -> None:
        """A complete line; one that is cut short meanwhile adds nothing."""
        if line.data is not None:
            record = load_line(line.data)
            if record is not None:
                self.lines += 1
                length = len(line.data.rstrip(SPACE))
                found = [_text(record.get(key)) for key in ("uuid", "parentUuid", "type")]
                self._add(found[0], found[1], found[2], line.offset, length)
                return
        held = []
        objects = line.objects(_KEYS)
        for start, stop, spans in objects:
            values = {key: text(line.read(*span)) for key, span in spans.items()}
            held.append((values.get("uuid"), values.get("parentUuid"), values.get("type"), start, stop - start))
        for each in held:
            self._add(*each)
        if held or objects.damaged:
            self.lines += 1
        if objects.damaged:
            self.damaged += 1
            if len(self.damaged_offsets) < OFFSETS_MAX:
                self.damaged_offsets.append(line.offset)

    def _add(self, uuid: "str | None", parent: "str | None", kind: "str | None", offset: int, length: int) -> None:
        if kind is not None:
            kind = self._types.setdefault(kind, kind)  # one str for each type, however many records have it
        if parent == self._last:
            parent = self._last
        if uuid is not None:
            self._last = uuid
        self.entries.append(_make(Entry, (uuid, parent, kind, offset, length)))


def _text(found: object) -> "str | None":
    return found if type(found) is str else None  # not the `Digits` of `_decode`
