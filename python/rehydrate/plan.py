"""What is remembered of a delivery that a host takes in a few values, each from a process of its own; and the file of
ours that holds the whole text.

The processes run at the same time and in no order.  The first that gets the lock writes the plan, the others take their
value from it; nothing else is remembered.

Promises: what is damaged, foreign, linked or of another version counts as no plan; everything is written whole or not
at all; only its owner can read it; of the files with the whole text the newest are kept and the older ones removed.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rehydrate import private
from rehydrate.dataclass import dataclass
from rehydrate.digest import sha256
from rehydrate.paths import state_folder
from rehydrate.state import StateUnavailable

VERSION = 1
NAME = "plan.json"
TEXTS_KEPT = 20
"""Files with a whole text that are kept of one conversation, this one included."""
_SIZE_MAX = 4 << 20
_SECOND_NS = 1_000_000_000
_TEXT = re.compile(r"\d{1,20}-[0-9a-f]{8}\.md")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the plan of one conversation may lie, best place first."""

    client: str
    transcript: str
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One delivery."""

    transcript: str
    cursor: tuple[int, int, str] | None
    """Where the log ended, and what proves that it is the same; None when nothing was planned yet."""
    count: int = 0
    """How many values there may be."""
    parts: tuple[str, ...] = ()
    """The values there are."""
    taken: tuple[int, ...] = ()
    """Numbers, from 1, of those that were given out, whether or not there was such a value."""
    checkpoint: int = 0
    id: str = ""
    file: str | None = None
    """The file that holds the whole; None when none could be written."""
    time_s: int = 0
    """When it was made, seconds since the epoch; told to people only."""
    error: dict[str, Any] | None = None
    """What last went wrong: `what`, a sentence, and `time_s`."""


def spot_for(client: str, session: str, *, transcript: str, folder: str, environ: Mapping[str, str]) -> Spot:
    """The places for a conversation; `folder`: where its client wants our files."""
    folders = [folder]
    own = state_folder(environ)
    if own is not None:
        digest = sha256(os.fsencode(f"{client}\0{session}\0{transcript}")).hexdigest()[:16]
        folders.append(os.path.join(own, f"{client}-{digest}"))
    return Spot(client, transcript, tuple(folders))


def load(spot: Spot) -> Plan | None:
    """The conversation's plan, that of the best place; None when there is none."""
    return next(filter(None, (_read(spot, folder) for folder in spot.folders)), None)


@contextlib.contextmanager
def locked(spot: Spot, *, wait_s: float) -> Iterator["Desk"]:
    """Hold the conversation's lock and yield what can read and write its plan.

    Raises Busy when another process holds it for longer than `wait_s`, StateUnavailable when no place can be written.
    """
    reasons = []
    for folder in spot.folders:
        try:
            private.make_private(folder)
            lock = private.lock(os.path.join(folder, NAME + ".lock"), wait_s)
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror or error}")
            continue
        try:
            yield Desk(spot, folder)
        finally:
            os.close(lock)
        return
    raise StateUnavailable("; ".join(reasons) or "there is no folder for it")


class Desk:
    """The plan of one conversation while its lock is held."""

    def __init__(self, spot: Spot, folder: str) -> None:
        self._spot = spot
        self.folder = folder
        self.plan = _read(spot, folder)
        """As it was read, then as it was last saved; None at first sight."""

    def save(self, plan: Plan) -> None:
        """Replace the plan.  OSError when that cannot be."""
        raw: dict[str, Any] = {"version": VERSION, "client": self._spot.client}
        raw |= {name: getattr(plan, name) for name in plan.__match_args__}
        data = (json.dumps(raw) + "\n").encode()
        if len(data) > _SIZE_MAX:
            raise ValueError("the plan is larger than any that is read")
        private.replace(os.path.join(self.folder, NAME), data, durable=False)
        self.plan = plan

    def keep_text(self, name: str, text: str) -> str:
        """Write the whole text to a file of that name, remove what is too old, and give its path.  OSError."""
        path = os.path.join(self.folder, name)
        private.replace(path, text.encode("utf-8", "replace"), durable=False)
        _prune(self.folder, newest=path)
        return path


def text_name(checkpoint: int, name: str) -> str:
    """The file for the delivery with that checkpoint and id."""
    return f"{checkpoint}-{name}.md"


def files_in(folder: str) -> list[str]:
    """Every file of ours in a folder of ours; none where it is a link, or no folder."""
    if os.path.islink(folder):
        return []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    ours = (NAME, NAME + ".lock", NAME + ".tmp")
    return [os.path.join(folder, each) for each in names if each in ours or _TEXT.fullmatch(each.removesuffix(".tmp"))]


def _prune(folder: str, *, newest: str) -> None:
    """Remove all but the newest texts, and what killed processes left of any; that it fails is no harm.

    The order of the files' times is the order in which they were written, wherever the clock was set in between.
    """
    with contextlib.suppress(OSError, OverflowError):
        found = []
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if _TEXT.fullmatch(name.removesuffix(".tmp")) and path != newest:
                if name.endswith(".tmp"):  # no one is writing it, for the lock is held
                    os.unlink(path)
                else:
                    found.append((os.lstat(path).st_mtime_ns, path))
        found.sort(reverse=True)
        for _, path in found[TEXTS_KEPT - 1 :]:
            os.unlink(path)
        if found and os.lstat(newest).st_mtime_ns <= found[0][0]:
            os.utime(newest, ns=(found[0][0] + _SECOND_NS,) * 2)


def _read(spot: Spot, folder: str) -> Plan | None:
    try:
        private.check_private(folder)
    except OSError:
        return None
    data = private.read_bytes(os.path.join(folder, NAME), most=_SIZE_MAX)
    try:
        raw = json.loads(data or b"null")
        if not isinstance(raw, dict) or raw.pop("version") != VERSION or raw.pop("client") != spot.client:
            return None
        if raw["transcript"] != spot.transcript:
            return None
        return _decode(raw)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _decode(raw: dict[str, Any]) -> Plan:
    """TypeError, KeyError or ValueError for what no plan can be."""
    cursor = raw["cursor"]
    if cursor is not None:
        first, offset, proof = cursor
        cursor = (_whole(first), _whole(offset), _text(proof))
    error = raw["error"]
    if error is not None and not (isinstance(error, dict) and isinstance(error.get("what"), str)):
        raise TypeError
    return Plan(
        _text(raw["transcript"]),
        cursor,
        _whole(raw["count"]),
        tuple(map(_text, raw["parts"])),
        tuple(map(_whole, raw["taken"])),
        _whole(raw["checkpoint"]),
        _text(raw["id"]),
        None if raw["file"] is None else _text(raw["file"]),
        _whole(raw["time_s"]),
        error,
    )


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
