"""The record that stands before a place in a transcript, found by reading backwards from there.

Costs one line, wherever in the file it is, and no memory for a long one.  Where that line holds no record, windows
are read that double until one does, so that any number of damaged lines costs no more than a few times their bytes.
"""

from collections.abc import Iterator

from rehydrate import scan

from . import layout

LINE_BYTES = 1 << 20
"""A longer line is not collected."""
BLOCK_BYTES = 64 * 1024

_BLANK = b" \t\r\n\0"


def record_before(path: str, offset: int) -> tuple[int, int]:
    """Place and length of the last record that begins before an offset; length 0 when there is none.

    Where the line before it is beyond LINE_BYTES it is not looked into: it counts as one record when it begins and ends
    like one.
    """
    end, window_bytes = offset, 0
    while end := _back_over(path, end, _BLANK):
        start = _back_to(path, max(0, end - window_bytes), b"\n")
        if not window_bytes and end - start > LINE_BYTES:
            if _byte(path, start) == b"{" and _byte(path, end - 1) == b"}":
                return start, end - start
        elif found := _last_in(path, start, end):
            return found
        end, window_bytes = start, max(BLOCK_BYTES, 2 * window_bytes)
    return 0, 0


def _last_in(path: str, start: int, end: int) -> tuple[int, int] | None:
    """Place and length of the last record in a range that begins with a line."""
    found = None
    for _, at, length in scan.iter_records(path, ("step_index",), cursor=scan.cursor_at(path, start)):
        if at >= end:
            break
        found = (at, length)
    return found


def _byte(path: str, at: int) -> bytes:
    return b"".join(pieces(path, at, length=1))


def _back_over(path: str, end: int, skipped: bytes) -> int:
    """The end of what is left of `[0, end)` without the bytes `skipped` at its end."""
    while end:
        start = max(0, end - BLOCK_BYTES)
        left = len(b"".join(pieces(path, start, length=end - start)).rstrip(skipped))
        if left:
            return start + left
        end = start
    return 0


def _back_to(path: str, end: int, mark: bytes) -> int:
    """The place behind the last `mark` in `[0, end)`; 0 when there is none."""
    while end:
        start = max(0, end - BLOCK_BYTES)
        at = b"".join(pieces(path, start, length=end - start)).rfind(mark)
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def pieces(path: str, offset: int, *, length: int) -> Iterator[bytes]:
    """A range of a file in pieces; shorter when the file was cut meanwhile."""
    with layout.open_file(path) as file:
        file.seek(offset)
        while length > 0 and (piece := file.read(min(length, 1 << 20))):
            yield piece
            length -= len(piece)
