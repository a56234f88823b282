"""Who has a session open: one small file for each, with a lock on it for as long.

The lock ends with its process, however that ends, so nothing that is left behind makes a session look alive.
"""

import contextlib
import errno
import json
import os
import re
import stat
import sys
from dataclasses import dataclass
from typing import Any

from rehydrate.private import check_private, make_private, read_bytes

from .place import Place

try:
    import fcntl as _fcntl
except ImportError:  # Windows, where nobody is known to be there
    fcntl: Any = None
else:
    fcntl = _fcntl

_MOST_BYTES = 4_096
_NAME = re.compile(r"[0-9]{1,20}-[0-9a-f]{8}\.json")
"""What is called otherwise is not ours, and neither told nor removed."""
_SAFE = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


@dataclass(frozen=True, slots=True)
class Holder:
    """One that has a session open."""

    pid: int
    started: float | None
    """When the process was started, in seconds since the epoch; None where the system does not say."""
    kind: str
    """What it is, as it says itself: `interactive`, or whatever the host calls it."""


class Presence:
    """Makes this process known as one that has the session open, until `end`."""

    def __init__(self, place: Place, *, kind: str) -> None:
        """Raises OSError when it cannot be made known."""
        make_private(place.folder)
        make_private(place.live_folder)
        said = json.dumps({"pid": os.getpid(), "started": _started(), "kind": kind}).encode()
        while True:
            self._path = os.path.join(place.live_folder, f"{os.getpid()}-{os.urandom(4).hex()}.json")
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600)
            try:
                if _locked(self._fd):  # else somebody looked just now whether it is left over, and removes it
                    os.write(self._fd, said)
                    if os.path.lexists(self._path):
                        return
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
                os.close(self._fd)
                raise
            os.close(self._fd)

    def end(self) -> None:
        """It is no longer open here."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        if fcntl:
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)  # a child may have the descriptor, too
        with contextlib.suppress(OSError):
            os.close(self._fd)

    def after_fork(self) -> None:
        """In the child: it is the parent that has it open."""
        os.close(self._fd)


def live(place: Place) -> list[Holder]:
    """Those that have the session open, in this process too, by pid; what dead ones have left is removed."""
    found = []
    with contextlib.suppress(OSError):
        for folder in (place.folder, place.live_folder):
            check_private(folder)  # behind a link lie the files of somebody else, which must not go
        for path in sorted(os.path.join(place.live_folder, name) for name in _names(place)):
            with contextlib.suppress(OSError):
                if not _removed(path) and (holder := _holder(path)):
                    found.append(holder)
    return sorted(found, key=lambda holder: (holder.pid, holder.started or 0.0, holder.kind))


def _names(place: Place) -> list[str]:
    return [name for name in os.listdir(place.live_folder) if _NAME.fullmatch(name)]


def _locked(fd: int) -> bool:
    if not fcntl:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _removed(path: str) -> bool:
    """Whether nobody held the file any more, so that it was removed.  Those that ask do not see each other's locks."""
    fd = os.open(path, os.O_RDONLY | _SAFE)
    try:
        if not fcntl:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), path)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.unlink(path)  # under the lock: one that is just being made sees that it is gone
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def _holder(path: str) -> Holder | None:
    """What the file says; None while it says nothing yet."""
    try:
        said = json.loads(read_bytes(path, most=_MOST_BYTES) or b"")
        started = said["started"]
        return Holder(int(said["pid"]), None if started is None else float(started), str(said["kind"]))
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None


def _started() -> float | None:
    """When this process was started."""
    if sys.platform != "linux":
        return None
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            booted = next(int(line.split()[1]) for line in file if line.startswith(b"btime "))
        return round(booted + ticks / os.sysconf("SC_CLK_TCK"), 2)
    except (OSError, ValueError, IndexError, StopIteration):
        return None
