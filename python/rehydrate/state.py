"""What the hook remembers of one conversation, in a small file beside its transcript.

Promises: a file that is damaged, foreign, linked, copied from another conversation or of a newer version counts as no
state and is never overwritten in place (it is kept aside); a state is replaced whole or not at all; only its owner can
read it.  Where the conversation's folder cannot be written, the file lies in the user's state folder instead.
"""

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from rehydrate import private
from rehydrate.dataclass import dataclass, replace
from rehydrate.digest import sha256
from rehydrate.paths import state_folder
from rehydrate.private import Busy as Busy

VERSION = 2
NAME = "rehydrate_state.json"
LOCK_WAIT_S = 0.05
"""How long a delivery waits for another one of the same conversation."""
_SIZE_MAX = 1 << 20
_ASIDE = 10
"""So many files are kept aside; a later one takes the place of the first."""


class StateUnavailable(Exception):
    """Neither the conversation's folder nor the user's state folder can hold a state; the message says why."""


@dataclass(frozen=True, slots=True)
class Done:
    """The last boundary that needs nothing more."""

    step: int
    id: str | None
    """None: taken over from the older script, which kept the step only."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The last delivery: `pending` from before the reply is printed until standard output was closed, then `sent`."""

    step: int
    id: str
    status: str
    tries: int


@dataclass(frozen=True, slots=True)
class State:
    """Everything that is remembered; `cursor` is a hint, all else is exact."""

    conversation: str
    transcript: str
    cursor: tuple[int, int, str] | None = None
    last_checkpoint: dict[str, int | None] | None = None
    done: Done | None = None
    delivery: Delivery | None = None
    workspaces: tuple[str, ...] = ()
    lineage: Any = None
    """As the client wrote it; the client judges whether it still holds."""
    error: dict[str, Any] | None = None
    """What last went wrong: `what`, a sentence, and `time_s`."""
    writes: int = 0
    """How often this state was written: of two files the one written more often is the newer."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the state of one conversation may lie, best place first."""

    client: str
    conversation: str
    transcript: str
    files: tuple[str, ...]


def spot_for(client: str, conversation: str, *, transcript: str, folder: str, environ: Mapping[str, str]) -> Spot:
    """The places for a conversation whose transcript lies in `folder`."""
    files = [os.path.join(folder, NAME)]
    own = state_folder(environ)
    if own is not None:
        digest = sha256(os.fsencode(f"{client}\0{transcript}")).hexdigest()[:32]
        files.append(os.path.join(own, f"{digest}.json"))
    return Spot(client, conversation, transcript, tuple(files))


def load(spot: Spot) -> State | None:
    """The newest valid state of the conversation; None when there is none."""
    found = [state for state in (_read(spot, path) for path in spot.files) if state is not None]
    return max(found, key=lambda state: state.writes, default=None)


@contextlib.contextmanager
def locked(spot: Spot, *, wait_s: float = LOCK_WAIT_S) -> Iterator["Store"]:
    """Hold the conversation's lock and yield what can read and write its state.

    Raises Busy when another process holds it for longer than `wait_s`, StateUnavailable when no place can be written.
    """
    reasons = []
    for path in spot.files:
        try:
            if path != spot.files[0]:
                private.make_private(os.path.dirname(path))
            lock = private.lock(path + ".lock", wait_s)
        except OSError as error:
            reasons.append(f"{path}: {error.strerror or error}")
            continue
        try:
            yield Store(spot, path)
        finally:
            os.close(lock)
        return
    raise StateUnavailable("; ".join(reasons) or "there is no folder for it")


@dataclass(frozen=True, slots=True)
class Keeping:
    """What `locked` and a save would find, without either of them."""

    path: str | None
    """The file that would hold the state; None when no place can be written."""
    hindrances: tuple[str, ...]
    """For each better place a clause, `path: why it cannot be used`."""
    is_odd: bool
    """Something else lies at `path`, which counts as no state and would be kept aside."""


def keeping(spot: Spot) -> Keeping:
    """Where the state can be kept.  Writes nothing and takes no lock."""
    hindrances = []
    for path in spot.files:
        try:
            _may_hold(path, is_private=path != spot.files[0])
        except OSError as error:
            hindrances.append(f"{error.filename or path}: {error.strerror or error}")
            continue
        return Keeping(path, tuple(hindrances), os.path.lexists(path) and _read(spot, path) is None)
    return Keeping(None, tuple(hindrances), False)


class Store:
    """The state of one conversation while its lock is held."""

    def __init__(self, spot: Spot, path: str) -> None:
        self._spot = spot
        self._path = path
        self.state = load(spot)
        """As it was read, then as it was last saved; None at first sight."""

    def save(self, state: State, *, durable: bool) -> None:
        """Replace the state.  `durable` waits for the disk.  StateUnavailable when no place takes it."""
        state = replace(state, writes=(self.state.writes if self.state else state.writes) + 1)
        data = _encode(self._spot.client, state)
        if len(data) > _SIZE_MAX:  # it would count as none; what can be found again is what makes it long
            data = _encode(self._spot.client, replace(state, workspaces=(), lineage=None, error=None))
        reasons = []
        for path in self._spot.files[self._spot.files.index(self._path) :]:
            try:
                if path != self._spot.files[0]:
                    private.make_private(os.path.dirname(path))
                _keep_aside(self._spot, path)
                private.replace(path, data, durable=durable)
            except OSError as error:
                reasons.append(f"{path}: {error.strerror or error}")
                continue
            self.state = state
            return
        raise StateUnavailable("; ".join(reasons))


def _read(spot: Spot, path: str) -> State | None:
    data = private.read_bytes(path, most=_SIZE_MAX)
    if data is None:
        return None
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    try:
        if "version" not in raw and ("last_rehydrated_checkpoint" in raw or "fork_ancestors" in raw):
            return _take_over(spot, raw)
        return _decode(spot, raw)
    except (KeyError, TypeError, ValueError):
        return None


def _decode(spot: Spot, raw: dict[str, Any]) -> State | None:
    named = (_whole(raw["version"]), raw["client"], raw["conversation"], raw["transcript"])
    if named != (VERSION, spot.client, spot.conversation, spot.transcript):
        return None
    cursor, done, delivery = raw["cursor"], raw["done"], raw["delivery"]
    if cursor is not None:
        version, offset, crc = cursor
        cursor = (_whole(version), _whole(offset), _text(crc))
        if version != 1 or offset < 0 or len(crc) != 8 or crc.strip("0123456789abcdef"):
            return None
    if done is not None:
        done = Done(_whole(done["step"]), None if done["id"] is None else _text(done["id"]))
    if delivery is not None:
        if delivery["status"] not in ("pending", "sent"):
            return None
        tries = _whole(delivery["tries"])
        delivery = Delivery(_whole(delivery["step"]), _text(delivery["id"]), delivery["status"], tries)
    return State(
        spot.conversation,
        spot.transcript,
        cursor=cursor,
        last_checkpoint=raw["last_checkpoint"],
        done=done,
        delivery=delivery,
        workspaces=tuple(_text(each) for each in raw["workspaces"]),
        lineage=raw["lineage"],
        error=raw["error"],
        writes=_whole(raw["writes"]),
    )


def _take_over(spot: Spot, raw: dict[str, Any]) -> State | None:
    """The state of the older script: its last checkpoint and its ancestors hold, its offset may be of another file."""
    step = raw.get("last_rehydrated_checkpoint")
    done = Done(_whole(step), None) if type(step) is int else None
    return State(spot.conversation, spot.transcript, done=done, lineage=raw.get("fork_ancestors"))


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _encode(client: str, state: State) -> bytes:
    delivery, done = state.delivery, state.done
    raw = {
        "version": VERSION,
        "client": client,
        "conversation": state.conversation,
        "transcript": state.transcript,
        "cursor": state.cursor,
        "last_checkpoint": state.last_checkpoint,
        "done": done and {"step": done.step, "id": done.id},
        "delivery": delivery
        and {"step": delivery.step, "id": delivery.id, "status": delivery.status, "tries": delivery.tries},
        "workspaces": state.workspaces,
        "lineage": state.lineage,
        "error": state.error,
        "writes": state.writes,
    }
    return (json.dumps(raw) + "\n").encode()


def _keep_aside(spot: Spot, path: str) -> None:
    """Move away what lies at `path` unless it is a state of this conversation that may be replaced."""
    if not os.path.lexists(path) or _read(spot, path) is not None:
        return
    for number in range(_ASIDE):
        aside = f"{path}.aside-{number}"
        if not os.path.lexists(aside):
            os.rename(path, aside)
            return
    os.rename(path, f"{path}.aside-0")


def _may_hold(path: str, *, is_private: bool) -> None:
    """OSError when a state could not be locked and written at `path`, as far as looking at it can tell."""
    folder = os.path.dirname(path)
    while is_private and not os.path.lexists(folder):  # it and those above it would be made
        folder = os.path.dirname(folder)
    about = os.stat(folder)
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    if is_private and folder == os.path.dirname(path):
        private.check_private(folder)
    elif not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
    if _is_full(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
    if os.path.isdir(path + ".tmp") and not os.path.islink(path + ".tmp"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path + ".tmp")
    if os.path.lexists(path + ".lock"):
        os.close(private.open_lock(path + ".lock", os.O_RDWR))


def _is_full(folder: str) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    disk = os.statvfs(folder)
    return disk.f_blocks > 0 and (disk.f_bavail if os.geteuid() else disk.f_bfree) == 0
