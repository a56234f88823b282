"""The parents that a conversation's database names.  A hint: whatever is wrong with the database, the answer is "none"
and a sentence that says why.

Opening creates no file beside the database.  One without a write-ahead log is opened as immutable; one with a filled
log is copied, log and all, to a private temporary folder and opened there.
"""

import os
import stat
from collections.abc import Iterator

from rehydrate.paths import copy_bytes, open_file
from rehydrate.scratch import scratch_folder

COPY_BYTES = 256 << 20
"""A live database larger than this is not copied."""
BLOB_BYTES = 64 * 1024
ROWS = 64
WORK = 1_000_000
"""Instructions of the database engine a look may take: a view in place of the table could go on for ever."""
FORKS = frozenset({2, 6})
"""Reference types: a fork, and one made for a subagent."""

_QUERY = f"SELECT data FROM parent_references WHERE length(data) <= {BLOB_BYTES} ORDER BY idx LIMIT {ROWS}"


def parent_references(app: str, session: str) -> tuple[list[str], str | None]:
    """The conversation ids that the database of a conversation names as its parents, in their order; and a sentence
    when the database is there but could not be used.
    """
    path = os.path.join(app, "conversations", session + ".db")
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return [], f"The database of {session} is not used: it is no regular file."
    except (OSError, ValueError):
        return [], None
    import sqlite3

    try:
        return [name for blob in _rows(path) if (name := _parent(blob))], None
    except (OSError, sqlite3.Error, ValueError) as error:
        return [], f"The database of {session} is not used: {error}."


def _rows(path: str) -> list[bytes]:
    log = path + "-wal"
    try:
        live = os.lstat(log)
    except FileNotFoundError:
        return _query(path, "mode=ro&immutable=1")
    if stat.S_ISREG(live.st_mode) and live.st_size == 0:
        return _query(path, "mode=ro&immutable=1")
    if not stat.S_ISREG(live.st_mode):
        raise ValueError("its write-ahead log is no regular file")
    with scratch_folder() as folder:
        copy = os.path.join(folder, "copy.db")
        room = COPY_BYTES - _copy(path, copy, COPY_BYTES)
        _copy(log, copy + "-wal", room)
        return _query(copy, "mode=rw")


def _copy(path: str, target: str, room: int) -> int:
    """Copies a file as long as it is now, and tells how long that is."""
    with open_file(path) as source, open(target, "xb") as file:
        size = os.fstat(source.fileno()).st_size
        if size > room:
            raise ValueError("it is in use and too large to copy")
        copy_bytes(source, file, size)
    return size


def _query(path: str, options: str) -> list[bytes]:
    import sqlite3
    from urllib.parse import quote

    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?{options}", uri=True, timeout=0.1)
    try:
        connection.set_progress_handler(lambda: 1, WORK)
        return [data for (data,) in connection.execute(_QUERY) if isinstance(data, bytes)]
    finally:
        connection.close()


def _parent(message: bytes) -> str | None:
    """The conversation a reference names as a parent; None for a reference of another type or a damaged one."""
    kind, name = None, None
    try:
        for number, value in _fields(message):
            if number == 5 and isinstance(value, int):
                kind = value
            elif number == 6 and isinstance(value, bytes):
                name = value.decode()
    except ValueError:
        return None
    return name if kind is None or kind in FORKS else None


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The top-level fields of a protobuf message.  Raises ValueError where it is none."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(message, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError("unknown wire type")
        if at + length > len(message):
            raise ValueError("cut short")
        if wire == 2:
            yield number, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("no number where one must be")
