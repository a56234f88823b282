"""Which sessions there are below a root, by their files alone: none is opened."""

import os
import stat
from collections.abc import Iterable

from .place import Place, is_key, is_session_id


def places(root: str, *, keys: Iterable[str] | None = None) -> list[Place]:
    """Every session that is not empty, the one written last first; `keys`: those in these folders alone.  What cannot
    be listed holds none.
    """
    root = os.path.abspath(root)
    found: list[tuple[int, str, str]] = []
    for key in _names(root) if keys is None else keys:
        folder = os.path.join(root, key)
        for name in _names(folder):
            written = written_ns(os.path.join(folder, name)) if name.endswith(".jsonl") else None
            if written is not None:
                found.append((-written, key, name.removesuffix(".jsonl")))
    return [Place(root, key, name) for _, key, name in sorted(found) if is_key(key) and is_session_id(name)]


def written_ns(path: str) -> int | None:
    """When a file was written, in nanoseconds; None for what is empty, or no regular file."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) and found.st_size else None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []
