"""`scan_tail` of the pure twin: the boundaries and the highest step of everything after a cursor.

**Which lines are walked.**  A line that begins exactly with `{"step_index":`, an integer within 64 bits and `,` or `}`,
that ends with `}` (a `\\r` before the `\\n` apart) and holds none of `CHECKPOINT`, `\\u00`, `}{` and a second
`"step_index"` is not walked: if it is a whole object then its step is that integer and it is no boundary.  Every other
line is walked in full.
"""

from ._arguments import check_end, read_cursor
from ._decode import index, load_line, text
from ._pure_lines import File, Line, blocks
from ._pure_members import BLANK, SPACE, integer
from ._results import Mark, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._arguments import AnyCursor, AnyPath

OFFSETS_MAX = 16
"""Damaged lines whose offsets are kept."""

_PREFIX = b'{"step_index":'
_STEP_KEY = b'"step_index"'
_RARE = (b"CHECKPOINT", b"\\u00", b"}{")
_DIGITS_MAX = 18
"""Digits that always fit 64 bits."""
_CLOSE, _COMMA, _ZERO = b"},0"
_PREFIX_LENGTH = len(_PREFIX)
_HEAD = 100
"""Bytes in which the short members stand that most records begin with, where there are any."""
_SHORT = 256
"""Bytes that are searched for the needle itself as fast as byte by byte."""
_MISSES = 8
"""Bytes of a line that are not the needle's, after which it is itself looked for."""
_BLOCK_MISSES = 512
"""The same of a block."""
_SAMPLE = 251
"""So many bytes apart lie those that tell what a block is like."""
_SPARSE = 256
"""Once in so many bytes one may stand for it to be looked for by itself."""
_WANTED = frozenset(("step_index", "type"))
_CHECKPOINT = b'"CHECKPOINT"'
_CHECKPOINT_MAX = len(_CHECKPOINT) * 6
"""Bytes of the longest way to write it."""


def scan_tail(path: "AnyPath", cursor: "AnyCursor | None" = None, *, end: "int | None" = None) -> Tail:
    """See `rehydrate.scan.scan_tail`."""
    wanted = read_cursor(cursor)
    if end is not None:
        check_end(end)
    with File(path) as file:
        if end is not None:
            file.size = min(file.size, max(end, wanted[0] if wanted else 0))
        start, restarted = file.resume(wanted)
        tail = _Tail(start)
        try:
            for offset, stop, data in blocks(file, start):
                if data is None:
                    tail.take_long(Line(file, offset, stop, None))
                else:
                    tail.take_block(file, offset, data)
                tail.end = stop
        except EOFError:  # cut short while it was read: what was complete stays
            pass
        return Tail(
            file.cursor(tail.end), tail.marks, tail.last_step, tail.lines, tail.damaged, tail.damaged_offsets, restarted
        )


def proven_lines(data: bytes, spaces: bytes = b"") -> "Iterator[tuple[int, int, int | None]]":
    """Every complete line of a block that is not empty, as (start, the place of its `\\n`, step).

    The step is None for a line that must be walked, by the rule above; of these `spaces` may stand around the integer.
    """
    find, begins, size = data.find, data.startswith, len(data)
    rare = None if _is_sparse(data) else _rare_lines(data)
    length = 1  # of the step before: mostly this one has as many digits
    at, next_k = 0, -1
    while (stop := find(b"\n", at)) >= 0:
        if stop > at:
            step = None
            first = at + _PREFIX_LENGTH
            if not begins(_PREFIX, at):
                is_rare = True
            elif rare is not None:
                is_rare = find(_STEP_KEY, first, stop) >= 0 or at in rare
            else:
                # One byte is found many times faster than several, so of each needle the one is looked for that texts
                # have least of; where a record begins that are others.  No function is called for most lines.
                if next_k < first and (next_k := find(b"K", first)) < 0:
                    next_k = size
                head = first + _HEAD if first + _HEAD < stop else stop
                is_rare = (
                    (next_k < stop and _holds(data, b"CHECKPOINT", 5, next_k, stop))
                    or ((k := find(b"{", first, stop)) >= 0 and _holds(data, b"}{", 1, k, stop))
                    or (
                        (k := find(b"\\", first, stop)) >= 0
                        and (k := find(b"0", k + 3, stop)) >= 0
                        and _holds(data, b"\\u00", 3, k, stop)
                    )
                    or (find(b"x", first, head) >= 0 and find(_STEP_KEY, first, head + 1) >= 0)
                    or ((k := find(b"_", head - 5, stop)) >= 0 and _holds(data, _STEP_KEY, 5, k, stop))
                )
            if not is_rare:
                comma = first + length
                if comma >= stop or data[comma] != _COMMA:
                    comma = find(b",", first, first + _DIGITS_MAX)
                    length = comma - first if comma > 0 else 1
                digits = data[first:comma] if comma > 0 else b""
                if spaces:
                    digits = digits.strip(spaces)
                if digits.isdigit() and digits[0] != _ZERO and data[stop - 1] == _CLOSE:  # nearly every line
                    step = int(digits)
                else:
                    step = proven_step(data[at:stop], spaces)
            yield at, stop, step
        at = stop + 1


def _is_sparse(data: bytes) -> bool:
    """Whether the bytes that are looked for line by line are few in a block."""
    sample = data[::_SAMPLE]
    most = len(sample) // _SPARSE
    return all(sample.count(byte) <= most for byte in (b"{", b"_", b"0", b"K"))


def _rare_lines(data: bytes) -> "set[int]":
    """Where the lines begin that hold something which makes a walk necessary, but for a second step."""
    found: set[int] = set()
    for needle in _RARE:
        at = _find(data, needle, 0)
        while at >= 0:
            found.add(data.rfind(b"\n", 0, at) + 1)
            stop = data.find(b"\n", at)
            at = _find(data, needle, stop) if stop >= 0 else -1
    return found


def _find(data: bytes, needle: bytes, at: int) -> int:
    """`data.find(needle, at)`.  Where one byte is rare, it is found many times faster than two."""
    if len(needle) > 2:
        return data.find(needle, at)
    last = needle[1:]
    for _ in range(_BLOCK_MISSES):
        at = data.find(last, at + 1)
        if at <= 0 or data[at - 1] == needle[0]:
            return at - 1 if at > 0 else -1
    return data.find(needle, at)


def _holds(data: bytes, needle: bytes, place: int, at: int, stop: int) -> bool:
    """Whether a needle stands before `stop` whose byte at that `place` is not before `at`, which is such a byte's."""
    if stop - at < _SHORT:
        return data.find(needle, at - place, stop) >= 0
    find, begins, byte = data.find, data.startswith, needle[place : place + 1]
    for _ in range(_MISSES):
        if begins(needle, at - place):
            return True
        if stop - at < _SHORT:
            break
        at = find(byte, at + 1, stop)
        if at < 0:
            return False
    return find(needle, at - place, stop) >= 0


def proven_step(line: bytes, spaces: bytes = b"") -> "int | None":
    """The step of a line (without its `\\n`) that begins and ends as a record does; None when only a walk can tell."""
    if not (line.startswith(_PREFIX) and line.endswith((b"}", b"}\r"))):
        return None
    head = line[len(_PREFIX) : len(_PREFIX) + 21].lstrip(spaces)
    rest = head.lstrip(b"-0123456789")
    digits = head[: len(head) - len(rest)]
    if not rest.lstrip(spaces).startswith((b",", b"}")):
        return None
    if digits.startswith((b"0", b"-0")) and digits not in (b"0", b"-0"):
        return None
    return integer(digits)


class _Tail:
    """What is known so far."""

    def __init__(self, start: int) -> None:
        self.end = start
        self.marks: list[Mark] = []
        self.last_step: int | None = None
        self.lines = 0
        self.damaged = 0
        self.damaged_offsets: list[int] = []

    def take_block(self, file: File, offset: int, data: bytes) -> None:
        """Complete lines that are in memory, and what the bytes hold behind them."""
        steps = []
        for start, stop, step in proven_lines(data):
            if step is not None:
                steps.append(step)
            elif data[start:stop].strip(BLANK):
                self._walk(Line(file, offset + start, offset + stop + 1, data[start:stop]))
        if steps:
            self.lines += len(steps)
            self._see(max(steps))

    def take_long(self, line: Line) -> None:
        """A line that is read piece by piece."""
        step = proven_step(line.read(line.offset, line.offset + 40) + line.read(line.stop - 3, line.stop - 1))
        if step is None or any(line.holds(needle) for needle in (*_RARE, _STEP_KEY)):
            self._walk(line)
            return
        self.lines += 1
        self._see(step)

    def _walk(self, line: Line) -> None:
        record = None if line.data is None else load_line(line.data)
        if record is not None and line.data is not None:
            self.lines += 1
            length = len(line.data.rstrip(SPACE))
            self._take(index(record.get("step_index")), record.get("type") == "CHECKPOINT", line.offset, length)
            return
        objects = line.objects(_WANTED)
        blank = True
        for start, stop, spans in objects:
            blank = False
            step = integer(line.read(*spans["step_index"])) if "step_index" in spans else None
            first, last = spans.get("type", (0, 0))
            is_boundary = 0 < last - first <= _CHECKPOINT_MAX and _is_checkpoint(line.read(first, last))
            self._take(step, is_boundary, start, stop - start)
        if blank and not objects.damaged:
            return
        self.lines += 1
        if objects.damaged:
            self.damaged += 1
            if len(self.damaged_offsets) < OFFSETS_MAX:
                self.damaged_offsets.append(line.offset)

    def _take(self, step: "int | None", is_boundary: bool, offset: int, length: int) -> None:
        """A record."""
        self._see(step)
        if is_boundary:
            self.marks.append(Mark(step, offset, length))

    def _see(self, step: "int | None") -> None:
        if step is not None and (self.last_step is None or step > self.last_step):
            self.last_step = step


def _is_checkpoint(raw: bytes) -> bool:
    return raw == _CHECKPOINT or (b"\\" in raw and text(raw) == "CHECKPOINT")
