"""Where rehydrate keeps its own files, and what is made of a name or a path that comes from elsewhere.

Standard library only: the hook asks for these, too.

On Linux and macOS the folders are those that `platformdirs` gives; a test holds the two equal.
"""

import errno
import os
import stat
import sys
from collections.abc import Mapping
from io import BufferedReader
from typing import BinaryIO

_NAME = "rehydrate"


def home_folder(environ: Mapping[str, str]) -> str | None:
    """The user's home folder; None when neither HOME (an absolute path) nor the password database names one."""
    home = environ.get("HOME") or (environ.get("USERPROFILE") if os.name == "nt" else None)
    if home and os.path.isabs(home):
        return home
    try:
        import pwd
    except ImportError:
        return None
    try:
        return pwd.getpwuid(os.getuid()).pw_dir or None
    except KeyError:
        return None


def state_folder(environ: Mapping[str, str]) -> str | None:
    """Our folder in the user's state folder, whether or not it exists; None without a home.

    It holds the ledger of registrations, and the states of conversations whose own folder cannot be written.
    """
    return _folder(environ, "XDG_STATE_HOME", (".local", "state"))


def config_folder(environ: Mapping[str, str]) -> str | None:
    """Our folder in the user's configuration folder, whether or not it exists; None without a home."""
    return _folder(environ, "XDG_CONFIG_HOME", (".config",))


def settings_file(environ: Mapping[str, str]) -> str | None:
    """The user's settings file, whether or not it exists; None without a home."""
    folder = config_folder(environ)
    return folder and os.path.join(folder, "rehydrate.toml")


def _folder(environ: Mapping[str, str], variable: str, below_home: tuple[str, ...]) -> str | None:
    """Ours in the folder that the variable names, else in the system's own place for such things."""
    given = environ.get(variable) if os.name != "nt" else None  # Windows knows no such variables
    if given and os.path.isabs(given):
        return os.path.join(given, _NAME)
    home = home_folder(environ)
    if home is None:
        return None
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", _NAME)
    if os.name == "nt":
        return os.path.join(environ.get("LOCALAPPDATA") or home, _NAME)
    return os.path.join(home, *below_home, _NAME)


def is_id(text: object) -> bool:
    """Whether this can be a conversation id: one plain name, with which no path leads elsewhere."""
    if not isinstance(text, str) or not 0 < len(text) <= 200 or text in (".", ".."):
        return False
    return "/" not in text and "\\" not in text and "\0" not in text and (text.isascii() or encodable(text))


def encodable(path: str) -> bool:
    """Whether the system could have such a path at all (no NUL, no half of a surrogate pair)."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def open_file(path: str) -> BufferedReader:
    """Opens a regular file to read it, following no link to it and never waiting for a FIFO.  OSError for all else."""
    if not encodable(path):
        raise OSError(errno.EINVAL, "not a path", path)
    flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
    fd = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return os.fdopen(fd, "rb")
    except BaseException as error:
        os.close(fd)
        if isinstance(error, OSError):
            error.filename = path
        raise


def copy_bytes(source: BinaryIO, target: BinaryIO, size: int) -> None:
    """Copies so many bytes, fewer where the source ends before; what is appended to it meanwhile keeps nobody."""
    while size > 0 and (piece := source.read(min(size, 1 << 20))):
        target.write(piece)
        size -= len(piece)
