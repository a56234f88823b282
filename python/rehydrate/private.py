"""Files that only their owner can read, written whole or not at all, and locks beside them.

Promises: no link is followed and nothing blocks; what another user could have written counts as not there.
"""

import contextlib
import errno
import os
import stat
import time


class Busy(Exception):
    """Another process holds the lock."""


def read_bytes(path: str, *, most: int) -> bytes | None:
    """At most `most` bytes of a file; None unless it has no more, is regular, ours, and nobody else can write it."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most or about.st_nlink != 1:
            return None
        if hasattr(os, "geteuid") and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
            return None
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read(most)
    except OSError:
        return None
    finally:
        os.close(fd)


def replace(path: str, data: bytes, *, durable: bool) -> None:
    """Put the data in the place of what is at `path`; the lock of that file is held.  `durable` waits for the disk."""
    temporary = f"{path}.tmp"  # one name, for the lock is held: what a killed process left is replaced
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        try:
            os.fchmod(fd, 0o600)  # whatever the umask
            at = 0
            while at < len(data):
                at += os.write(fd, data[at:])
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if durable:
        _sync_folder(os.path.dirname(path))


def _sync_folder(path: str) -> None:
    """Make a rename in the folder last; some file systems cannot, and the marker in the log covers those."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def make_private(folder: str) -> None:
    """Make a folder of ours, for its owner only; OSError when it is a link or another user's."""
    make_folders(folder)
    check_private(folder)
    if hasattr(os, "geteuid") and os.lstat(folder).st_mode & 0o777 != 0o700:
        os.chmod(folder, 0o700)


def check_private(folder: str) -> None:
    """OSError when it is no folder, a link or another user's."""
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder of ours", folder)
    if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
        raise PermissionError(errno.EACCES, "it belongs to another user", folder)


def make_folders(folder: str) -> None:
    """Make a folder and those that are missing above it, for their owner only (a umask of 0 would let all write)."""
    if os.path.lexists(folder):
        return
    make_folders(os.path.dirname(folder))
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def open_lock(path: str, flags: int) -> int:
    """A descriptor of the file that is locked; OSError when it is not one of ours."""
    fd = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o600)
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
            raise OSError(errno.EINVAL, "the lock is not a regular file of its own", path)
        if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
            raise PermissionError(errno.EACCES, "the lock belongs to another user", path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def lock(path: str, wait_s: float) -> int:
    """A descriptor that holds the lock until it is closed.  Busy after `wait_s`; OSError when it cannot be made."""
    fd = open_lock(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            import fcntl
        except ImportError:  # Windows, where a delivery is protected by its marker in the log only
            return fd
        end = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return fd
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise Busy from None
                time.sleep(0.002)
    except BaseException:
        os.close(fd)
        raise
