"""One append-only file: whole lines, numbered, whoever else appends to it.

Each append takes an advisory lock on the file itself, sees to its end, writes, and lets go.  Two processes interleave
whole lines, and each number is given once.

Promises: what an append that returned has written is there, after `durable` even if the machine loses its power; an
append that raises has appended nothing, and leaves nothing half-written behind the last line feed.  A line that a
killed process left unfinished is closed where its check is right, and moved to `<file>.torn` where it is not.  The
files are for their owner only, no link is followed, and nothing blocks but the lock, for LOCK_WAIT_S at most.

Not for several threads at once: `queue` sees to that.
"""

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import Any

from rehydrate.private import make_private

from .errors import DamagedLine, Locked, NewerVersion, naming
from .line import check, seal_all, seq_of

try:
    import fcntl as _fcntl
except ImportError:  # Windows, where one process at a time has to do
    fcntl: Any = None
else:
    fcntl = _fcntl

HEADER = "session"
"""The type of the first record of our own files."""
FORMAT = 1
"""Of our own files; a file of a later one is not appended to."""
LOCK_WAIT_S = 5.0
WRITE_BYTES = 100_000_000
"""So much is given to the system at a time."""

_UNKNOWN = -1
_BLOCK = 1 << 16
_SAFE = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_NO_SYNC = frozenset({errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EPERM, errno.EISDIR})
"""What a folder gives that cannot be synced at all, which is no failure of the disk."""


class LogFile:
    """A file that is appended to.  It is opened, and made where it is not there, by the first append."""

    def __init__(self, path: str, *, root: str, head: Callable[[], bytes]) -> None:
        """`root`: the folders of the file up to this one are the session's.  `head`: gives what the file begins with,
        as `line.encode` does.
        """
        self.path = path
        self._root = root
        self._head = head
        self._fd: int | None = None
        self._end = _UNKNOWN
        """Where the file ended when it was last let go of."""
        self._seq = 0
        """The number of its last line then."""
        self._synced = _UNKNOWN
        """What is before is on disk, or was not written by this object."""
        self._is_suspect = False
        """Whether a sync failed since: the system may have forgotten what it did not write, and not say so again."""
        self._undo: tuple[int, bytes] | None = None
        """Where the append that is going on began, and what it writes; None when there is nothing to take back."""
        self._folders: list[str] = []
        """To be synced, so that the file is found after a loss of power."""

    def append(
        self, bodies: Sequence[bytes], *, durable: bool, more: Callable[[], Sequence[bytes]] | None = None
    ) -> None:
        """Append a line for each of what `line.encode` gave; `durable`: wait until all of it is on disk, with all that
        this object has written before.

        `more`: gives what is to be written behind it.  It is asked while nobody else can append, and every line in the
        file is whole; when it raises, nothing is written.  Raises Locked, NewerVersion, the OSError of the system;
        DamagedLine when the disk has lost what was written before.
        """
        if not bodies and self._fd is None and more is None:
            return
        try:
            try:
                fd, size = self._take()
                if more is not None:
                    self._append(fd, size, (), durable=False)  # sees to the end of the file
                    bodies, size = [*bodies, *more()], self._end
                self._append(fd, size, bodies, durable=durable)
            finally:
                self._let_go()
        except OSError as error:
            error.filename = error.filename or self.path
            raise

    def close(self) -> None:
        """Let go of the file; the next append would open it again."""
        fd, self._fd = self._fd, None  # also where closing it fails
        if fd is not None:
            with naming(self.path):
                os.close(fd)

    def _append(self, fd: int, size: int, bodies: Sequence[bytes], *, durable: bool) -> None:
        if self._undo is not None:
            self._roll_back(fd)
            size = os.fstat(fd).st_size
        closing = b"" if size == self._end else self._look(fd, size)
        start, seq = self._end, self._seq
        if bodies and not start:
            bodies = [self._head(), *bodies]
        data = closing + seal_all(bodies, seq + 1)
        self._undo = start, data
        try:
            _write(fd, data)
            if durable:
                self._sync(fd, start)
        except BaseException:
            self._end = _UNKNOWN
            with contextlib.suppress(OSError):  # then the next append does it
                self._roll_back(fd)
            raise
        self._end, self._seq, self._undo = start + len(data), seq + len(bodies), None
        if durable:
            self._synced = self._end

    # -- the file and its lock ----------------------------------------------------------------------------------------

    def _take(self) -> tuple[int, int]:
        """The file, locked, and its size: the one of before wherever it was moved, but none that was removed."""
        until: float | None = None
        while True:
            fd = self._open() if self._fd is None else self._fd
            try:
                if fcntl:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                until = until or time.monotonic() + LOCK_WAIT_S
                self._wait(until)
                continue
            about = os.fstat(fd)
            if about.st_nlink:
                return fd, about.st_size
            self.close()  # somebody removed or replaced it

    def _let_go(self) -> None:
        if fcntl and self._fd is not None:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_UN)  # closing alone would not do where a child has the descriptor, too
            except OSError:  # of what was written nothing is taken back for that
                with contextlib.suppress(OSError):
                    self.close()

    def _wait(self, until: float) -> None:
        """For another process, which has the lock."""
        now = time.monotonic()
        if now >= until:
            message = f"other processes have kept {self.path} locked for {LOCK_WAIT_S:g} s; try again"
            raise Locked(message, path=self.path) from None
        time.sleep(0.0002 + now % 0.0008)  # never in step with one that appends over and over

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | _SAFE
        self._folders = _up_to(os.path.dirname(self.path), self._root)
        while True:
            try:
                fd = os.open(self.path, flags)
                break
            except FileNotFoundError:
                self._make_folder()
            with contextlib.suppress(FileExistsError):
                fd = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o600)
                break
        try:
            _make_ours(fd, self.path)
        except BaseException:
            os.close(fd)
            raise
        self._fd, self._end, self._synced, self._undo, self._is_suspect = fd, _UNKNOWN, _UNKNOWN, None, False
        return fd

    def _make_folder(self) -> None:
        top = self._root
        while not os.path.lexists(top):
            top = os.path.dirname(top)
        self._folders = _up_to(os.path.dirname(self.path), top)
        make_private(os.path.dirname(self.path))

    # -- its end ------------------------------------------------------------------------------------------------------

    def _look(self, fd: int, size: int) -> bytes:
        """See to the end of a file that others may have written to; gives what has to stand before the next line."""
        if self._synced == _UNKNOWN:
            refuse_newer(self.path, _first_line(fd))
            self._synced = size
        start = _line_start(fd, size)
        tail = _read(fd, start, size)
        if tail and check(tail):
            self._end, self._seq = size, seq_of(tail) or 0
            return b"\n"
        if tail:
            self._move_aside(tail)
            os.ftruncate(fd, start)
            self._synced = min(self._synced, start)
        last = _read(fd, _line_start(fd, start - 1), start) if start else b""
        self._end, self._seq = start, (seq_of(last) if check(last) else None) or _count_lines(fd, start)
        return b""

    def _move_aside(self, tail: bytes) -> None:
        path = f"{self.path}.torn"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE, 0o600)
        try:
            about = _make_ours(fd, path)
            try:
                _write(fd, tail + b"\n")
                os.fsync(fd)
            except OSError as error:
                error.filename = path
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, about.st_size)
                raise
        finally:
            os.close(fd)
        sync_folder(os.path.dirname(path))

    def _roll_back(self, fd: int) -> None:
        """Take away what an append that failed has written, unless others have gone on behind it."""
        start, data = self._undo or (0, b"")
        size = os.fstat(fd).st_size
        if size > start and data.startswith(_read(fd, start, size)):
            os.ftruncate(fd, start)
        self._undo = None

    # -- the disk -----------------------------------------------------------------------------------------------------

    def _sync(self, fd: int, start: int) -> None:
        """`start`: where the append began that is now to be on disk."""
        if self._is_suspect:
            self._write_again(fd, start)
        try:
            os.fsync(fd)
        except OSError:
            self._is_suspect = True
            raise
        self._is_suspect = False
        while self._folders:
            sync_folder(self._folders[0])
            del self._folders[0]

    def _write_again(self, fd: int, end: int) -> None:
        """Write what was written since the last sync that went well once more over itself: after a sync that failed
        the system takes it for written.  What it has lost by now is said, once.
        """
        lost, at = None, self._synced
        copy = os.open(self.path, os.O_WRONLY | _SAFE)  # without O_APPEND
        try:
            if not os.path.samestat(os.fstat(copy), os.fstat(fd)):
                raise OSError(errno.ESTALE, "it was moved, and what it holds may not be on disk", self.path)
            with open(os.dup(fd), "rb") as reader:
                reader.seek(at)
                while at < end and (line := reader.readline()):
                    if check(line) is False or not line.strip(b"\0"):
                        lost = at if lost is None else lost
                    os.lseek(copy, at, os.SEEK_SET)
                    _write(copy, line)
                    at += len(line)
        finally:
            os.close(copy)
        if lost is not None:
            self._synced = end
            message = f"the disk has lost a line of {self.path} that was not safe yet, at byte {lost}"
            raise DamagedLine(message, path=self.path, offset=lost)


def refuse_newer(path: str, first: bytes) -> None:
    """Raises NewerVersion when the first line of a file says that a later version has written it."""
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        return
    if isinstance(head, dict) and head.get("type") == HEADER:
        check_format(path, head.get("format"))


def check_format(path: str, written: object, *, offset: int = 0) -> None:
    """Raises NewerVersion for a format, as the first record has it, that this version does not know.  `offset`: where
    that record stands.
    """
    if isinstance(written, int) and written > FORMAT:
        message = f"{path} has format {written}, and this version knows {FORMAT}; update rehydrate to go on"
        raise NewerVersion(message, path=path, line=None if offset else 1, offset=offset)


def _make_ours(fd: int, path: str) -> os.stat_result:
    """For its owner only.  OSError when it is another user's, no regular file, or has another name elsewhere."""
    about = os.fstat(fd)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        raise OSError(errno.EINVAL, "not a regular file with one name", path)
    if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
        raise PermissionError(errno.EACCES, "it belongs to another user", path)
    if hasattr(os, "fchmod") and about.st_mode & 0o777 != 0o600:
        os.fchmod(fd, 0o600)
    return about


def _write(fd: int, data: bytes) -> None:
    done = os.write(fd, data) if len(data) <= WRITE_BYTES else 0
    if done == len(data):  # as nearly always
        return
    rest = memoryview(data)[done:]
    while rest:
        rest = rest[os.write(fd, rest[:WRITE_BYTES]) :]


def _read(fd: int, start: int, stop: int) -> bytes:
    os.lseek(fd, start, os.SEEK_SET)
    found = []
    while start < stop and (piece := os.read(fd, stop - start)):
        found.append(piece)
        start += len(piece)
    return b"".join(found)


def _first_line(fd: int) -> bytes:
    size = _BLOCK
    while b"\n" not in (data := _read(fd, 0, size)) and len(data) == size:
        size *= 2
    return data.partition(b"\n")[0]


def _line_start(fd: int, end: int) -> int:
    """Where the line begins that ends, without its line feed, at `end`."""
    while end > 0:
        start = max(0, end - _BLOCK)
        at = _read(fd, start, end).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _count_lines(fd: int, end: int) -> int:
    return sum(_read(fd, at, min(at + _BLOCK, end)).count(b"\n") for at in range(0, end, _BLOCK))


def _up_to(folder: str, top: str) -> list[str]:
    """The folder and those above it, to `top`."""
    found = [folder]
    while folder != top and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        found.append(folder)
    return found


def sync_folder(path: str) -> None:
    """What was made in a folder, or moved into it, is on disk, where the file system can tell.  OSError names it."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            error.filename = path
            raise
