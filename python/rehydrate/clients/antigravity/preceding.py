"""The record that stands before a place in a transcript, found by reading backwards from there.

Costs one line, wherever in the file it is, and no memory for a long one.
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

    A line beyond LINE_BYTES is not collected: it counts as one record when it begins and ends like one.
    """
    end = offset
    while end := _back_over(path, end, _BLANK):
        start = _back_to(path, end, b"\n")
        if end - start <= LINE_BYTES:
            found = (0, 0)
            for record in scan.iter_steps(path, cursor=scan.cursor_at(path, start)):
                if record.offset >= end:
                    break
                found = (record.offset, record.length)
            if found[1]:
                return found
        elif b"".join(pieces(path, start, length=1)) == b"{" and b"".join(pieces(path, end - 1, length=1)) == b"}":
            return start, end - start
        end = start
    return 0, 0


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
