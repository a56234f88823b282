"""The top-level members of a JSON object, found without parsing the rest; no import, no recursion, any depth.

**A whole object** is RFC 8259 plus the literals NaN, Infinity and -Infinity.  Raw control characters and invalid UTF-8
are accepted inside strings; a bad escape, a bad number, a trailing comma is not.  Keys compare decoded (`text` of
`_decode`), the last of duplicate keys wins.

**The objects of a line** (`LineObjects`).  The line is read from left to right:

1. White space and NUL bytes are skipped; at the end of the line: done.
2. A whole object is taken.  Several of them (`}{`) are several records, and the line is not damaged.
3. A whole value of another kind is passed over, and the line is damaged: what an array or a string holds is no record.
4. Otherwise the line is damaged, and reading goes on at the next `{` that the failed walk did not take for a part of
   its own structure: at or behind the start of the last good token (a torn string takes the next object's first quote
   for its own end), but behind the place where the walk began.  So a broken prefix does not hide the object behind it,
   and nothing nested in it is taken for a record.
5. A line that ends with containers still open and a `}` as its last token may have been cut right before the object
   that this `}` closes: that object is taken.

Whatever a line holds, no byte of it is walked more than a few times.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Spans = dict[str, tuple[int, int]]
    """Key -> (first byte of its value, the byte behind it)."""

INCOMPLETE, BROKEN = -1, -2
"""What a walk says instead of an end: the data stopped inside of the object; it cannot become one."""

SPACE = b" \t\r\n"
BLANK = SPACE + b"\0"
_DIGITS = b"0123456789"
_HEX = _DIGITS + b"abcdefABCDEF"
_LITERALS = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")
_QUOTE, _COMMA, _COLON, _MINUS, _DOT, _BACKSLASH = b'",:-.\\'
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b"{}[]"

# What may come next, seen from the innermost container.
_START, _FIRST_KEY, _KEY, _FIRST_ITEM, _ITEM, _VALUE, _AFTER = range(7)


def members(data: bytes) -> "Spans | int":
    """The members of the object that `data` begins with, white space before it apart; what follows is not looked at.

    INCOMPLETE while more bytes could make it whole (also when there is none yet), BROKEN when they cannot.
    """
    at = skip(data, 0, SPACE)
    if at == len(data):
        return INCOMPLETE
    if data[at] != _OPEN:
        return BROKEN
    walk = Walk(0)
    end = walk.feed(data, at)
    return walk.spans if end > 0 else end


def integer(data: bytes) -> "int | None":
    """What a JSON value's bytes say when it is an integer within 64 bits, else None (`7.0`, `1e3`, `"7"`, `true`)."""
    if len(data) > 20 or not data.removeprefix(b"-").isdigit():
        return None
    number = int(data)
    return number if -(1 << 63) <= number < 1 << 63 else None


def skip(data: bytes, at: int, what: bytes) -> int:
    """The first place from `at` on whose byte is not one of `what`; the end of the data when there is none."""
    step = 16
    while at < len(data) and data[at] in what:
        part = data[at : at + step]
        rest = part.lstrip(what)
        at += len(part) - len(rest)
        if rest:
            break
        step = min(step * 8, 1 << 20)
    return at


class Walk:
    """Walks one value, in one piece or in several, and notes where the top-level members are when it is an object.

    Holds no more of the data than the token at a border between two pieces, so a string of any length passes through.
    """

    __slots__ = (
        "_good",
        "_inside",
        "_key",
        "_mode",
        "_offset",
        "_opened",
        "_places",
        "_rest",
        "_stack",
        "_token",
        "_value",
        "_wanted",
        "spans",
    )

    def __init__(self, offset: int, wanted: "frozenset[str] | None" = None) -> None:
        """`offset` is that of the first piece's first byte; `wanted` are the keys to note, None for all."""
        self.spans: Spans = {}
        """Complete once `feed` has given an end."""
        self._wanted = wanted
        self._offset = offset  # of the first byte of the next piece, `_rest` included
        self._rest = b""  # the token that the last piece ended in
        self._stack = bytearray()  # one opening bracket a level,
        self._places: list[int] = []  # and where it stands
        self._mode = _START
        self._inside = False  # in the middle of a string that is a value
        self._key: str | None = None  # of the top-level member being walked, None when not wanted
        self._value = 0  # where that member's value began
        self._token = 0  # where the string began that it is inside of
        self._good = offset  # where the last token begins that fitted
        self._opened = -1  # where the object began that this token closes; -1 when it closes none

    def feed(self, piece: bytes, at: int = 0) -> int:
        """Walks on.  `at` is given with the first piece only: the place in it where the value begins.

        Gives the offset behind the value, or INCOMPLETE (the next piece is wanted), or BROKEN.
        """
        data = self._rest + piece if self._rest else piece
        self._rest = b""
        unit = at
        try:
            if self._mode == _START:
                at = self._item(data, at)
            elif self._inside:
                at = self._string(data, 0)
            while self._stack and at >= 0:
                unit = at
                at = self._unit(data, at)
        except IndexError:  # the piece ends inside of this unit: it is read again with what follows
            self._rest = data[unit:]
            self._offset += unit
            return INCOMPLETE
        return at if at < 0 else self._offset + at

    def resume(self, start: int, end: int) -> int:
        """From where the line is read on after a value that began at `start` and ended in INCOMPLETE or BROKEN."""
        if end == INCOMPLETE and self._mode == _AFTER and self._opened >= 0:
            return self._opened
        return max(self._good, start + 1)

    def _unit(self, data: bytes, at: int) -> int:
        """One comma or bracket, or one member or item up to the end of its value, or to the bracket that opens it."""
        byte = data[at]
        if byte in SPACE:
            at = skip(data, at, SPACE)
            byte = data[at]
        mode, stack = self._mode, self._stack
        if mode == _AFTER and byte == _COMMA:
            self._see(at)
            mode = _KEY if stack[-1] == _OPEN else _ITEM
            at += 1
            byte = data[at]
            if byte in SPACE:
                at = skip(data, at, SPACE)
                byte = data[at]
        elif byte == stack[-1] + 2:  # the closing bracket is two behind the opening one in ASCII
            return self._close(at, stack.pop() == _OPEN)
        elif mode == _AFTER:
            return BROKEN
        if mode in (_FIRST_KEY, _KEY):
            return self._member(data, at) if byte == _QUOTE else BROKEN
        return self._item(data, at)

    def _member(self, data: bytes, at: int) -> int:
        """A key, its colon and its value."""
        end = _string_end(data, at + 1)
        if end < 0:
            if end == INCOMPLETE:
                raise IndexError
            return end
        self._see(at)
        colon = end
        if data[colon] != _COLON:
            colon = skip(data, colon, SPACE)
            if data[colon] != _COLON:
                return BROKEN
        self._see(colon)
        value = colon + 1
        if data[value] in SPACE:
            value = skip(data, value, SPACE)
        if len(self._stack) == 1:
            key = _text(data[at:end])
            self._key = key if self._wanted is None or key in self._wanted else None
            self._value = self._offset + value
        return self._item(data, value)

    def _item(self, data: bytes, at: int) -> int:
        """A value: to its end, to the bracket that opens it, or through the part of a string that is there."""
        byte = data[at]
        if byte == _QUOTE:
            self._token = self._offset + at
            return self._string(data, at + 1)
        if byte in (_OPEN, _OPEN_LIST):
            self._see(at)
            self._stack.append(byte)
            self._places.append(self._good)
            self._mode = _FIRST_KEY if byte == _OPEN else _FIRST_ITEM
            return at + 1
        end = _number_end(data, at) if byte == _MINUS or 48 <= byte <= 57 else BROKEN
        if end < 0:
            end = _literal_end(data, at)
            if end < 0:
                return end
        return self._end_value(self._offset + at, end)

    def _string(self, data: bytes, at: int) -> int:
        """A string that is a value, from behind its quote or from where the last piece ended."""
        end = _string_end(data, at)
        if end >= 0:
            self._inside = False
            return self._end_value(self._token, end)
        if end == INCOMPLETE:
            keep = _escape_at_end(data, at)
            if not _escapes_hold(data[at:keep]):
                return BROKEN
            self._inside, self._mode = True, _VALUE
            self._rest = data[keep:]
            self._offset += keep
        return end

    def _close(self, at: int, is_object: bool) -> int:
        place = self._places.pop()
        self._end_value(self._offset + at, at + 1)
        if is_object:
            self._opened = place
        return at + 1

    def _end_value(self, token: int, end: int) -> int:
        self._mode = _AFTER
        self._good, self._opened = token, -1
        if len(self._stack) == 1 and self._key is not None:
            self.spans[self._key] = (self._value, self._offset + end)
        return end

    def _see(self, at: int) -> None:
        self._good, self._opened = self._offset + at, -1


def _string_end(data: bytes, at: int) -> int:
    """The place behind the quote that ends the string whose text begins at `at`."""
    quote = data.find(b'"', at)
    if quote < 0:
        return INCOMPLETE
    if data.find(b"\\", at, quote) < 0:
        return quote + 1
    start = at
    while data[quote - 1] == _BACKSLASH:
        run = data[start:quote]
        if (len(run) - len(run.rstrip(b"\\"))) % 2 == 0:
            break
        start = quote + 1
        quote = data.find(b'"', start)
        if quote < 0:
            return INCOMPLETE
    return quote + 1 if _escapes_hold(data[at:quote]) else BROKEN


def _escapes_hold(text: bytes) -> bool:
    """Whether every backslash begins an escape of JSON; the text must not end inside of one."""
    if b"\\" not in text:
        return True
    text = text.replace(b"\\\\", b"  ")  # the others are then alone, and their count is that of the escapes
    left = text.count(b"\\")
    for escape in (b"\\n", b'\\"', b"\\t", b"\\r", b"\\/", b"\\b", b"\\f"):
        if not left:
            return True
        left -= text.count(escape)
    at = -1
    while left:
        at = text.find(b"\\u", at + 1)
        if at < 0:
            return False
        digits = text[at + 2 : at + 6]
        if len(digits) < 4 or digits.strip(_HEX):
            return False
        left -= 1
    return True


def _escape_at_end(data: bytes, at: int) -> int:
    """Where the escape begins that the data ends in the middle of; the end of the data when there is none."""
    last = data.rfind(b"\\", max(at, len(data) - 5))
    if last < 0 or (data[last + 1 : last + 2] not in (b"", b"u")):
        return len(data)
    run = data[at : last + 1]
    return last if (len(run) - len(run.rstrip(b"\\"))) % 2 else len(data)


def _number_end(data: bytes, at: int) -> int:
    if data[at] == _MINUS:
        at += 1
    if data[at] == 48:
        at += 1
    elif 48 < data[at] <= 57:
        at = skip(data, at, _DIGITS)
    else:
        return BROKEN
    if data[at] == _DOT:
        if data[at + 1] not in _DIGITS:
            return BROKEN
        at = skip(data, at + 1, _DIGITS)
    if data[at] in b"eE":
        at += 2 if data[at + 1] in b"+-" else 1
        if data[at] not in _DIGITS:
            return BROKEN
        at = skip(data, at, _DIGITS)
    data[at]  # a number that the data ends in may go on: IndexError
    return at


def _literal_end(data: bytes, at: int) -> int:
    for word in _LITERALS:
        if data.startswith(word, at):
            return at + len(word)
        if word.startswith(data[at : at + len(word)]):
            raise IndexError
    return BROKEN


def _text(quoted: bytes) -> str:
    if b"\\" not in quoted:
        return quoted[1:-1].decode("utf-8", "replace")
    from ._decode import text

    return text(quoted) or ""


class LineObjects:
    """The whole objects of one line, as (offset, offset behind it, spans); see the rule at the top of this file."""

    def __init__(self, read: "Callable[[int], bytes]", at: int, wanted: frozenset[str]) -> None:
        """`read(offset)` gives bytes of the line from there on, a piece of any size, nothing at its end; the line
        begins at `at` and its spans hold the `wanted` keys.
        """
        self._read = read
        self._at = at
        self._base = at  # offset of the piece that is looked at
        self._piece = b""
        self._wanted = wanted
        self.damaged = False
        """Something in the line is not part of a whole object; final once the iteration is over."""

    def __iter__(self) -> "Iterator[tuple[int, int, Spans]]":
        while self._skip_blank():
            is_object = self._piece[self._at - self._base] == _OPEN
            walk = Walk(self._base, self._wanted)
            end = walk.feed(self._piece, self._at - self._base)
            while end == INCOMPLETE and self._load(self._base + len(self._piece)):
                end = walk.feed(self._piece)
            if end > 0 and is_object:
                yield self._at, end, walk.spans
                self._at = end
                continue
            self.damaged = True
            if end > 0:
                self._at = end
            elif not self._find_next(walk.resume(self._at, end)):
                return

    def _load(self, offset: int) -> bool:
        """Makes `_piece` hold the byte at an offset; False when the line ends before it."""
        if not 0 <= offset - self._base < len(self._piece):
            self._piece, self._base = self._read(offset), offset
        return bool(self._piece)

    def _skip_blank(self) -> bool:
        while self._load(self._at):
            self._at = self._base + skip(self._piece, self._at - self._base, BLANK)
            if self._at - self._base < len(self._piece):
                return True
        return False

    def _find_next(self, at: int) -> bool:
        """Moves to the next `{` that can begin an object, at an offset or behind it.

        Only one that is followed by a quote or a `}`, after any white space, can: a walk from any other would end at
        once and come back here.
        """
        while self._load(at):
            brace = self._piece.find(b"{", at - self._base)
            if brace < 0:
                at = self._base + len(self._piece)
                continue
            at = self._base + skip(self._piece, brace, b"{")  # of a run of them only the last can
            self._at = at - 1
            while self._load(at):
                at = self._base + skip(self._piece, at - self._base, SPACE)
                if at - self._base < len(self._piece):
                    if self._piece[at - self._base] in b'"}':
                        return True
                    break
        return False
