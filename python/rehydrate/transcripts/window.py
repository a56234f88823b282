"""A transcript's start and end alone: where its last records begin, and the folders that it says it was at work in."""

import os
from itertools import islice

from rehydrate import scan
from rehydrate.paths import encodable, open_file

WINDOW_BYTES = 64 * 1024
"""How much of the end of a transcript is looked at."""
FIRST_RECORDS = 64
"""How many records at the start are."""


def tail_cursor(path: str, size: int) -> scan.Cursor | None:
    """Where the first whole line begins in the last `size` bytes of a file, to read on from; None: at its start.

    Raises OSError, and ValueError when the file was cut short meanwhile.
    """
    with open_file(path) as file:
        start = max(0, os.fstat(file.fileno()).st_size - size)
        if start == 0:
            return None
        file.seek(start)
        window = file.read(size)
    # What stands before the first end of a line is the rest of a record.
    return scan.cursor_at(path, start + (window.find(b"\n") + 1 or len(window)))


def working_folders(path: str) -> list[str]:
    """The working directories that the start and the end of a transcript name: the first one, then those at the end, in
    the order of the records there.  OSError, and ValueError, as for `tail_cursor`.
    """
    rows = islice(scan.iter_records(path, ("cwd",)), FIRST_RECORDS)
    first = next(([row[0]] for row in rows if _is_folder(row[0])), [])
    cursor = tail_cursor(path, WINDOW_BYTES)
    return [*first, *(row[0] for row in scan.iter_records(path, ("cwd",), cursor=cursor) if _is_folder(row[0]))]


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and os.path.isabs(value) and encodable(value)
