"""The user's settings file as it lies on disk: bytes -> a table, and the line where each key begins.

Promises: whatever the file is, it is read without waiting, and what keeps it from being used is one sentence.  The
parser is imported only when there is a file.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

SIZE_MAX = 32 * 1024
"""Bytes.  A larger file is not read: TOML of twice the size can keep a parser busy for longer than a host waits."""
_SEARCH_MAX = 512 * 1024
"""Characters that are parsed to find the lines of keys; beyond that a line is not known."""
_DEPTH_MAX = 3
"""Parts of the longest key, `clients.NAME.enabled`."""


class Unusable(ValueError):
    """The file as a whole cannot be used; the message is a sentence with its path."""


def read(path: str) -> str | None:
    """The text of the file, less a byte order mark; None when there is no file.  Raises Unusable."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # A socket cannot even be opened.
        why = "not a regular file" if error.errno == errno.ENXIO else error.strerror or str(error)
        raise Unusable(f"{path} cannot be read ({why}), so no setting in it is used") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unusable(f"{path} is not a regular file, so it is not read; put a TOML file in its place")
        data = _read_up_to(fd, SIZE_MAX + 1)
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror or error}), so no setting in it is used") from None
    finally:
        os.close(fd)
    if len(data) > SIZE_MAX:
        raise Unusable(f"{path} is larger than {SIZE_MAX // 1024} KiB, so it is not read; make it shorter")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Unusable(
            f"{path}:{line}: this is not UTF-8, so no setting in the file is used; save it as UTF-8"
        ) from None


def parse(text: str, path: str) -> dict[str, Any]:
    """The table that the text is.  Raises Unusable, naming the line where that is known."""
    try:
        loads = _parser()
    except ImportError:
        raise Unusable(
            f"{path} is not read: Python 3.10 needs the package tomli for that; install it beside rehydrate"
        ) from None
    try:
        return loads(text)
    except Exception as error:  # whatever a parser makes of a file must not stop a hook
        why = str(error) if isinstance(error, ValueError) else type(error).__name__
        line = _line_in(why, text)
        raise Unusable(f"{path}{line}: this is no TOML, so no setting in the file is used: {why}") from None


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """The line, from 1, where each key of a text that is TOML first stands, as far as they are found.

    The parser itself says where one statement ends: it is the least number of lines that are TOML.
    """
    loads = _parser()
    lines = text.split("\n")
    found: dict[tuple[str, ...], int] = {}
    header, start, searched = "", 0, 0
    while start < len(lines):
        for end in range(start + 1, len(lines) + 1):
            statement = "\n".join(lines[start:end]) + "\n"
            is_header = statement.lstrip().startswith("[")
            searched += len(header) + len(statement)
            if searched > _SEARCH_MAX:
                return found
            try:
                table = loads(statement if is_header else header + statement)
            except ValueError:
                continue
            break
        else:
            return found
        header = statement if is_header else header
        for key in _keys(table):
            found.setdefault(key, start + 1)
        start = end
    return found


def _keys(table: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in table.items():
        key = (*above, name)
        yield key
        if isinstance(value, dict) and len(key) < _DEPTH_MAX:
            yield from _keys(value, key)


def _line_in(message: str, text: str) -> str:
    """`:LINE` from a parser's message; empty where it names none."""
    if "at end of document" in message:
        return f":{text.rstrip().count(chr(10)) + 1}"
    line = message.rpartition("at line ")[2].partition(",")[0]
    return f":{line}" if line.isdigit() else ""


def _parser() -> Callable[[str], dict[str, Any]]:
    loads: Callable[[str], dict[str, Any]] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads
    return loads


def _read_up_to(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := os.read(fd, size - len(data))):
        data += piece
    return data
