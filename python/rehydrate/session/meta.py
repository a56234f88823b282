"""Small files beside a session's logs that say what an agent is: one JSON object, replaced as a whole."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from rehydrate.paths import open_file
from rehydrate.private import make_private

from .file import sync_folder
from .line import encode

_BYTES_MOST = 1 << 20


def write_meta(path: str, about: Mapping[str, object]) -> None:
    """Raises ValueError or TypeError for what JSON cannot hold, and the OSError of the system; then what was there
    stays, or, where it is the folder that could not be synced, what is new may be lost with the machine.
    """
    data = encode(about) + b"\n"
    folder = os.path.dirname(path)
    make_private(folder)
    fd, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)  # for its owner only
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def read_meta(path: str) -> dict[str, object]:
    """What the file says; nothing where there is none, or none that can be read."""
    try:
        with open_file(path) as file:
            found = json.loads(file.read(_BYTES_MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
