"""Complete lines of a file that belongs to another process: opened without blocking, read in pieces, never mapped.

The size is taken when the file is opened; nothing beyond it is read.  A file that is cut short meanwhile ends early.
"""

import errno
import os
import stat
from binascii import crc32

from ._pure_members import LineObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from ._arguments import AnyPath
    from ._results import Cursor

CHUNK = 1 << 19
"""Bytes read at a time, more than any needle has; a line that does not fit is walked piece by piece."""
PROOF = 4096
"""Bytes before a cursor's offset that its checksum covers."""
BOM = b"\xef\xbb\xbf"

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))


class File:
    """A regular file, open for reading.

    Raises the OSError of the system; IsADirectoryError for a folder; OSError (EINVAL, "not a regular file") for
    anything else that is no regular file, without waiting for a writer.
    """

    _fd = -1  # of the class, so that it is there whenever `__init__` is interrupted

    def __init__(self, path: "AnyPath", flags: int = 0) -> None:
        """`flags`: more of them for the system's call that opens it."""
        self._path = path
        name = os.fsdecode(path)  # the same type in an error's `filename`, whatever was given
        try:
            self._fd = os.open(name, _FLAGS | flags)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):  # a socket, a device that nothing drives
                raise OSError(errno.EINVAL, "not a regular file", name) from None
            raise
        except ValueError:  # a NUL in the path, or what no name can hold
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), name) from None
        try:
            found = os.fstat(self._fd)
        except OSError as error:
            self.close()
            error.filename = name  # the system names no file for a descriptor
            raise
        if not stat.S_ISREG(found.st_mode):
            self.close()
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            raise OSError(errno.EINVAL, "not a regular file", name)
        self.size = found.st_size
        """Bytes in the file when it was opened."""

    def read(self, offset: int, size: int) -> bytes:
        """The bytes at an offset, fewer only at the end of the file."""
        size = min(size, self.size - offset)
        parts = []
        while size > 0:
            try:
                part = _pread(self._fd, size, offset)
            except OSError as error:
                error.filename = os.fsdecode(self._path)
                raise
            if not part:
                break
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def check(self, offset: int) -> None:
        """ValueError when the file was shorter than this when it was opened."""
        if offset > self.size:
            path = os.fsencode(self._path).decode(errors="replace")
            raise ValueError(f"Offset {offset} lies beyond the {self.size} bytes of {path}.")

    def cursor(self, offset: int) -> "Cursor":
        """The cursor for an offset."""
        start = max(0, offset - PROOF)
        return 1, offset, f"{crc32(self.read(start, offset - start)):08x}"

    def resume(self, wanted: "tuple[int, str] | None") -> tuple[int, bool]:
        """Where to read on after (offset, crc), and whether that is a restart because they do not fit the file."""
        if wanted is None:
            return 0, False
        offset, crc = wanted
        if offset <= self.size and self.cursor(offset)[2] == crc:
            return offset, False
        return 0, True

    def close(self) -> None:
        """May be called twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:  # noqa: SIM105  contextlib takes longer to load than this to run
                os.close(fd)
            except OSError:  # nothing was written, and what was read was read; it is closed all the same
                pass

    def __enter__(self) -> "File":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Line:
    """One line: in memory, or, when it is longer than a piece, in the file."""

    __slots__ = ("_file", "data", "offset", "stop")

    def __init__(self, file: File, offset: int, stop: int, data: "bytes | None") -> None:
        """`offset`: where the line begins, `stop`: where the next one does; `data` is None when it is in the file."""
        self._file = file
        self.data = data
        """Its bytes without the `\\n`; None when it is longer than a piece."""
        self.offset = offset
        """Where it begins."""
        self.stop = stop
        """Where the next one begins."""

    def objects(self, wanted: frozenset[str]) -> LineObjects:
        """The whole objects on it."""
        return LineObjects(self._rest, self._start(), wanted)

    def read(self, start: int, stop: int) -> bytes:
        """The bytes of a part of the line, by offsets in the file.  EOFError when the file was cut short meanwhile."""
        if self.data is None:
            data = self._file.read(start, stop - start)
            if len(data) < stop - start:
                raise EOFError
            return data
        return self.data[start - self.offset : stop - self.offset]

    def holds(self, needle: bytes) -> bool:
        """Whether the needle stands in the line, behind its second byte: what a record says cannot begin before.

        EOFError as in `read`.
        """
        at = self._start() + 2
        if self.data is not None:
            return self.data.find(needle, at - self.offset) >= 0
        while piece := self._rest(at):
            if needle in piece:
                return True
            if at + len(piece) >= self.stop:
                return False
            at += len(piece) - len(needle) + 1  # it may lie across two pieces
        return False

    def _start(self) -> int:
        if self.offset > 0:
            return self.offset
        head = self._file.read(0, len(BOM)) if self.data is None else self.data
        return len(BOM) if head.startswith(BOM) else 0

    def _rest(self, offset: int) -> bytes:
        """A piece of the line from an offset on; nothing at its end.  EOFError as in `read`."""
        if self.data is None:
            return self.read(offset, min(offset + CHUNK, self.stop))
        return self.data[offset - self.offset :]


def blocks(file: File, start: int, size: "int | None" = None) -> "Iterator[tuple[int, int, bytes | None]]":
    """The complete lines from an offset on, as (offset, where the next one begins, bytes): as many lines as a piece
    holds, or one line without its bytes when that is longer than a piece (of `size` bytes, else CHUNK).  The bytes go
    on behind the last `\\n` with what the piece holds of the next line: to cut it off would copy all of them.
    """
    at = start
    while at < file.size:
        data = file.read(at, size or CHUNK)
        stop = data.rfind(b"\n") + 1
        if stop:
            yield at, at + stop, data
        else:
            stop = _line_end(file, at + len(data)) - at
            if stop < 0:
                return
            yield at, at + stop, None
        at += stop


def lines(file: File, start: int, size: "int | None" = None) -> "Iterator[Line]":
    """The same line by line, empty lines left out."""
    for offset, stop, data in blocks(file, start, size):
        yield from lines_of(file, offset, stop, data)


def lines_of(file: File, offset: int, stop: int, data: "bytes | None") -> "Iterator[Line]":
    """The lines of one block, empty lines left out."""
    if data is None:
        yield Line(file, offset, stop, None)
        return
    for line in data.split(b"\n")[:-1]:  # the last one is cut
        stop = offset + len(line) + 1
        if line:
            yield Line(file, offset, stop, line)
        offset = stop


def _line_end(file: File, at: int) -> int:
    """Where the line after this one begins; -1 when this one has no end yet."""
    while True:
        data = file.read(at, CHUNK)
        if not data:
            return -1
        stop = data.find(b"\n") + 1
        if stop:
            return at + stop
        at += len(data)


def _pread(fd: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)
