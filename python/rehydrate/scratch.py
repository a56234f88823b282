"""A private folder for what is needed only while something is read: joined chunks, the copy of a database in use.

Promises: it is gone afterwards; where its process was killed, the next one that needs such a folder removes it.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

_PREFIX = "rehydrate-read-"


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """A folder in the temporary folder, for its owner only, that is removed at the end.

    What killed processes left of theirs is removed first: the folder of a living one is locked.
    """
    import tempfile

    _remove_left(tempfile.gettempdir())
    while True:
        with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:  # with mode 0700
            try:
                held = lock_folder(folder)
            except (BlockingIOError, FileNotFoundError):
                continue  # before it was locked, another process took it for one that was left
            except OSError:
                held = None  # no locks here, so that nothing is ever taken for left
            try:
                yield folder
            finally:
                if held is not None:
                    os.close(held)
            return


def _remove_left(temporary: str) -> None:
    import shutil

    with contextlib.suppress(OSError), os.scandir(temporary) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    held = lock_folder(entry.path)
                    try:
                        shutil.rmtree(entry.path, ignore_errors=True)
                    finally:
                        os.close(held)


def lock_folder(path: str) -> int:
    """A descriptor that holds the lock of a folder of ours.  BlockingIOError when another process holds it,
    FileNotFoundError when it is gone, OSError when it is none of ours or cannot be locked.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), path) from None
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        about = os.fstat(fd)
        if about.st_uid != os.geteuid():
            raise PermissionError(errno.EACCES, "it belongs to another user", path)
        if not os.path.samestat(about, os.lstat(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    except BaseException:
        os.close(fd)
        raise
    return fd
