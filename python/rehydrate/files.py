"""Which files may be read, and how: a path from a log is data, never a permission.

A root is resolved once; from then on no link is followed, neither below it nor on the way to it.  Every check that
matters is made on the open descriptor: nothing can be swapped between the check and the read.  Nothing here blocks, and
nothing but a regular file is opened to be read: a pipe's writer never sees a reader.  A file that has several names
(hard links) is a file: who can make such a name for it can read it.  Mount points are passed as any folder is.  Where
the platform has no `dir_fd` (Windows) every file is refused as `unreadable`.
"""

import errno
import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

from rehydrate.credentials import fold, is_secret
from rehydrate.dataclass import dataclass

SIZE_MAX_BYTES = 2 * 1024 * 1024
"""The largest file that is read, inclusive."""
_SNIFF_BYTES = 8 * 1024
_PATH_BYTES = 4_095
"""The longest path that a system takes."""
_TRIES = 3
"""Of reading a file that is written to meanwhile."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXTENSIONS = _words(
    "png jpg jpeg gif webp bmp svg ico pdf pptx docx xlsx zip tar gz tgz 7z mp4 mov avi mp3 wav ogg "
    "so dylib dll exe bin o a pt pth ckpt safetensors onnx npy npz ply db sqlite sqlite3 wal shm pb pyc"
)
_PARTS = _words(".system_generated node_modules .git __pycache__")
_SYSTEM_FOLDERS = ("/proc", "/sys")
"""Never, even as a workspace."""
_MEMORY_FOLDER = "/dev/shm"
"""Not as a file of no workspace."""
_WILD = re.compile(r"[*?[]")

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_FILE_FLAGS = _FLAGS | getattr(os, "O_NOFOLLOW", 0)
# O_PATH: a folder may be passed through without the right to list it.
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file that was read."""

    text: str
    """The whole content, as it was at one moment; bytes that are no UTF-8 are U+FFFD, a byte order mark at the start is
    dropped."""
    size: int
    """Bytes on disk at that moment."""
    modified_s: float
    """Time of its last modification, seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not read."""

    reason: str
    """`relative`, `outside`, `denied`, `folder`, `extension`, `secret`, `gone`, `link`, `special` (no regular file),
    `empty`, `large`, `changing` (written to whenever it was read), `binary` or `unreadable`."""


@dataclass(frozen=True, slots=True)
class _Root:
    """A folder below which files may be read."""

    names: tuple[str, ...]
    """The paths it goes by: as given, and with every link resolved."""
    real: str


class Access:
    """The files that one conversation may bring back."""

    def __init__(self, workspaces: Iterable[str], *, roots: Iterable[str] = (), denied: Iterable[str] = ()) -> None:
        """`roots`: folders allowed beside the workspaces.  `denied`: files and folders never read by their absolute
        paths; what has no slash is a name, and denies every path that has a part of such a name.  Both may be patterns
        (`*.sql`, `/srv/*/dumps`), whose `*` stands for slashes, too.

        A workspace or root that is relative or `/` counts as none.  Without a workspace any absolute path is looked at,
        but then no part of it may be a link.
        """
        known = [root for root in map(_root, workspaces) if root]
        self._everywhere = not known
        known += [root for root in map(_root, roots) if root]
        # The innermost folder first: what lies below it is all that counts of a path.
        self._roots = sorted(known, key=lambda root: -max(map(len, root.names)))
        denied = tuple(denied)
        self._denied = {fold(name) for path in denied if os.path.isabs(path) for name in _names(path)}
        self._below_denied = tuple(map(_below, self._denied))
        names = {fold(each) for each in denied if "/" not in each and not os.path.isabs(each)}
        self._denied_names = names - {""}  # nothing is left of some names, and every absolute path has such a part
        wild = [each for each in self._denied if _WILD.search(each)]
        self._denied_like = _one_of((*wild, *(f"{each}/*" for each in wild)))
        self._denied_names_like = _one_of(self._denied_names)

    def read(self, path: str) -> FileText | Refused:
        """The whole file, or why not.  Never raises for what a path or a file may be."""
        opened = self._open(path)
        if isinstance(opened, Refused):
            return opened
        try:
            found = _read_unchanged(opened)
        except OSError:
            return Refused("unreadable")
        finally:
            os.close(opened)
        if isinstance(found, Refused):
            return found
        content, status = found
        if b"\0" in content[:_SNIFF_BYTES]:
            return Refused("binary")
        text = content.decode("utf-8", "replace").removeprefix("\ufeff")
        if not text:
            return Refused("empty")
        return FileText(text, status.st_size, status.st_mtime)

    def check(self, path: str) -> Refused | None:
        """None where `read` would give the file's text; at most its first 8 KiB are read."""
        opened = self._open(path)
        if isinstance(opened, Refused):
            return opened
        try:
            status = _judge(opened)
            if isinstance(status, Refused):
                return status
            start = _read_up_to(opened, _SNIFF_BYTES)
        except OSError:
            return Refused("unreadable")
        finally:
            os.close(opened)
        if b"\0" in start:
            return Refused("binary")
        return Refused("empty") if not start or start == b"\xef\xbb\xbf" else None

    def _open(self, path: str) -> int | Refused:
        """A descriptor of what the path names; the caller closes it."""
        if not os.path.isabs(path):
            return Refused("relative")
        if len(path) > _PATH_BYTES:
            return Refused("gone")  # before it is taken apart, which takes time
        path = normalise(path)
        root, below = self._place(path)
        if root is None:
            return Refused("outside")
        real = normalise(f"{root}/{below}")
        refused = self._refused_by_name(path, real, below)
        if refused is None and root == "/" and _lies_in(fold(path), _MEMORY_FOLDER):
            refused = Refused("folder")
        if refused or not below:
            return refused or Refused("special")  # the root itself is a folder
        try:
            return _open_unlinked(_encoded(real))
        except (UnicodeEncodeError, ValueError):
            return Refused("gone")  # no file can have such a name
        except OSError as error:
            return Refused(_REASONS.get(error.errno or 0, "unreadable"))

    def _place(self, path: str) -> tuple[str | None, str]:
        """The folder to open first, and the path below it; None where the path lies in none."""
        for root in self._roots:
            for name in root.names:
                if _lies_in(path, name):
                    return root.real, path[len(name) + 1 :]
        return ("/", path[1:]) if self._everywhere else (None, "")

    def _refused_by_name(self, path: str, real: str, below: str) -> Refused | None:
        spellings = {fold(path), fold(real)}
        if not self._denied.isdisjoint(spellings) or any(each.startswith(self._below_denied) for each in spellings):
            return Refused("denied")
        if any(map(self._denied_like.match, spellings)):
            return Refused("denied")
        # Taken apart before it is folded: signs such as U+2100 fold to letters with a slash between them.
        parts = {fold(part) for each in (path, real) for part in each.split("/")}
        if not parts.isdisjoint(self._denied_names) or any(map(self._denied_names_like.match, parts)):
            return Refused("denied")
        if any(_lies_in(each, system) for each in spellings for system in _SYSTEM_FOLDERS):
            return Refused("folder")
        inside = fold(below).split("/")
        if _PARTS.intersection(inside) or "tmp" in inside[:-1]:
            return Refused("folder")
        if any(map(is_secret, {path, real})):
            return Refused("secret")
        _, dot, extension = inside[-1].rpartition(".")
        return Refused("extension") if dot and extension in _EXTENSIONS else None


def normalise(path: str) -> str:
    """An absolute path without `.`, `..`, doubled or trailing slashes; by its letters alone, nothing is looked up."""
    return "/" + os.path.normpath(path).lstrip("/")


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(_below(folder))


def _below(folder: str) -> str:
    """How the path of all that lies below a folder begins."""
    return folder.rstrip("/") + "/"


def _root(path: str) -> _Root | None:
    names = _names(path) if os.path.isabs(path) else ()
    return _Root(names, names[-1]) if names and "/" not in names else None


def _names(path: str) -> tuple[str, ...]:
    """A path as it is given, and as it is resolved (last)."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        real = path  # a name that cannot exist: nothing lies below it
    return (normalise(path), normalise(real))


def _one_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, patterns)) or "(?!)")


def _read_unchanged(opened: int) -> tuple[bytes, os.stat_result] | Refused:
    """What the file held at one moment, as far as sizes and times tell, and what the system says of it."""
    for _ in range(_TRIES):
        status = _judge(opened)
        if isinstance(status, Refused):
            return status
        os.lseek(opened, 0, os.SEEK_SET)
        content = _read_up_to(opened, status.st_size)
        after = os.fstat(opened)
        if (len(content), after.st_mtime_ns) == (after.st_size, status.st_mtime_ns):
            return content, status
    return Refused("changing")


def _judge(opened: int) -> os.stat_result | Refused:
    """What the descriptor itself says against reading it, else its size and times."""
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode):
        return Refused("special")
    if status.st_size == 0:
        return Refused("empty")
    return Refused("large") if status.st_size > SIZE_MAX_BYTES else status


def _read_up_to(opened: int, size: int) -> bytes:
    chunks: list[bytes] = []
    while size > 0 and (chunk := os.read(opened, min(size, 1 << 20))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


_REASONS = {
    errno.ELOOP: "link",
    errno.ENOENT: "gone",
    errno.ENOTDIR: "gone",
    errno.ENAMETOOLONG: "gone",
    errno.ENXIO: "special",
    errno.ENODEV: "special",
    errno.EOPNOTSUPP: "special",  # a socket, on macOS
    errno.EISDIR: "special",
}


def _encoded(path: str) -> bytes:
    encoded = path.encode("utf-8", "surrogateescape")
    if b"\0" in encoded or len(encoded) > _PATH_BYTES:
        raise ValueError("a path that no system takes")
    return encoded


def _open_in_python(path: bytes) -> int:
    """Opens a regular file by its absolute path, component by component, none of them a link.  OSError for all else:
    ELOOP for a link, EISDIR for a folder, ENXIO for what is neither.
    """
    if os.open not in os.supports_dir_fd:
        raise OSError(errno.ENOTSUP, "no way to open a file beneath a folder")
    *above, name = path.strip(b"/").split(b"/")
    folder = os.open("/", _FOLDER_FLAGS)
    try:
        for part in above:
            _refuse_link(os.stat(part, dir_fd=folder, follow_symlinks=False))
            deeper = os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = deeper
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _refuse_link(found)
        if not stat.S_ISREG(found.st_mode):
            # Not even opened: that alone would wake a pipe's writer, or set a device going.
            raise OSError(errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.ENXIO, "not a regular file")
        return os.open(name, _FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def _refuse_link(found: os.stat_result) -> None:
    """Only for the right error: O_NOFOLLOW is what keeps a link from being followed."""
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "a symbolic link")


def _opener() -> Callable[[bytes], int]:
    """The native one (in the kernel where that has `openat2`), else its twin."""
    if os.environ.get("REHYDRATE_PURE") != "1":
        with suppress(ImportError):
            from rehydrate._native import open_unlinked

            return open_unlinked
    return _open_in_python


_open_unlinked = _opener()
