"""The record that stands before a place in a transcript, found by reading backwards from there.

Costs one line, wherever in the file it is, and no memory for a long one.  Where that line holds no record, windows
are read that double until one does, so that any number of damaged lines costs no more than a few times their bytes.
"""

import json
from collections.abc import Iterator
from typing import BinaryIO

from rehydrate import scan

LINE_BYTES = 1 << 20
"""A longer line is not collected."""
BLOCK_BYTES = 64 * 1024

_BLANK = b" \t\r\n\0"


def record_before(file: BinaryIO, path: str, offset: int) -> tuple[int, int]:
    """Place and length of the last record that begins before an offset; length 0 when there is none.  `file` is the
    one at `path`, opened.

    Where the line before it is beyond LINE_BYTES it is not looked into: it counts as one record when it begins and ends
    like one.
    """
    end, window_bytes = offset, 0
    while end := _back_over(file, end, _BLANK):
        start = _back_to(file, max(0, end - window_bytes), b"\n")
        if not window_bytes and end - start > LINE_BYTES:
            if _byte(file, start) == b"{" and _byte(file, end - 1) == b"}":
                return start, end - start
        elif not window_bytes and _is_record(b"".join(pieces(file, start, length=end - start))):
            return start, end - start
        elif found := _last_in(path, start, end):
            return found
        end, window_bytes = start, max(BLOCK_BYTES, 2 * window_bytes)
    return 0, 0


def _is_record(line: bytes) -> bool:
    """Whether a line is one whole object for sure: what `json` takes is one.  Saves nearly every line a read of its
    own.
    """
    try:
        return line.startswith(b"{") and bool(json.loads(line.decode("utf-8", "replace"), strict=False))
    except (ValueError, RecursionError):
        return False


def _last_in(path: str, start: int, end: int) -> tuple[int, int] | None:
    """Place and length of the last record in a range that begins with a line."""
    found = None
    for _, at, length in scan.iter_records(path, ("step_index",), cursor=scan.cursor_at(path, start)):
        if at >= end:
            break
        found = (at, length)
    return found


def _byte(file: BinaryIO, at: int) -> bytes:
    return b"".join(pieces(file, at, length=1))


def _back_over(file: BinaryIO, end: int, skipped: bytes) -> int:
    """The end of what is left of `[0, end)` without the bytes `skipped` at its end."""
    while end:
        start = max(0, end - BLOCK_BYTES)
        left = len(b"".join(pieces(file, start, length=end - start)).rstrip(skipped))
        if left:
            return start + left
        end = start
    return 0


def _back_to(file: BinaryIO, end: int, mark: bytes) -> int:
    """The place behind the last `mark` in `[0, end)`; 0 when there is none."""
    while end:
        start = max(0, end - BLOCK_BYTES)
        at = b"".join(pieces(file, start, length=end - start)).rfind(mark)
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def pieces(file: BinaryIO, offset: int, *, length: int) -> Iterator[bytes]:
    """A range of a file in pieces; shorter when the file was cut meanwhile."""
    file.seek(offset)
    while length > 0 and (piece := file.read(min(length, 1 << 20))):
        yield piece
        length -= len(piece)
