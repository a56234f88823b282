"""A configuration file of a host: read, changed, backed up, and given back as it was.

Promises: a file is replaced whole or not at all, keeps its mode and its owner, and a symbolic link to it stays one;
what stood there before lies beside it as FILE.rehydrate-TIME.bak.  A ledger in the user's state folder knows what each
file was before we came, so that `restored` can give it back byte for byte as long as nobody else has changed it.
Without the ledger nothing breaks; the caller then takes out just what is ours.
"""

import contextlib
import difflib
import errno
import glob
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from typing import Any

from rehydrate.dataclass import dataclass
from rehydrate.paths import state_folder

LEDGER = "registrations.json"
_MARK = ".rehydrate-"
_OWN = "folders"
_SIZE_MAX = 4 << 20


@dataclass(frozen=True, slots=True)
class Plan:
    """One change of one file, decided but not made."""

    client: str
    file: str
    action: str
    """`added`, `present`, `updated`, `removed`, `absent` or `refused`."""
    command: str | None = None
    """The registered command it is about; None when there is none."""
    why: str | None = None
    """For `refused`: a sentence that says what to do."""
    before: bytes | None = None
    """What the file holds now; None when there is no file."""
    after: bytes | None = None
    """What it will hold; None when there will be no file."""
    backs_up: bool = True
    """Whether what it holds now is kept beside it; not for what is held by a backup already or holds nothing else's."""

    @property
    def changes(self) -> bool:
        """Whether anything is to be written."""
        return self.before != self.after


def read(path: str) -> bytes | None:
    """The bytes of a regular file (or of the one a link leads to); None when there is none.

    ValueError, a clause, when it is something else or larger than 4 MiB; OSError when it cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        data = file.read(_SIZE_MAX + 1)
    if len(data) > _SIZE_MAX:
        raise ValueError("it is larger than 4 MiB")
    return data


def diff(plan: Plan) -> str:
    """The change as a unified diff; empty when there is none."""
    old, new = ("/dev/null" if data is None else plan.file for data in (plan.before, plan.after))
    out = []
    for line in difflib.unified_diff(_lines(plan.before), _lines(plan.after), old, new):
        out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)


def carry_out(plan: Plan, environ: Mapping[str, str], *, purge: bool = False) -> str | None:
    """Make the change, and give the path of the backup; None when none was needed.

    `purge` keeps no backup and takes away those that are there.  OSError or ValueError when the change cannot be made,
    or when the file is no longer what the plan was made for; all then is as it was.
    """
    ledger, backup = _Ledger(environ), None
    if plan.changes:
        if read(plan.file) != plan.before:
            raise OSError(errno.EAGAIN, "it was changed meanwhile", plan.file)
        backup, folders = _write(plan, backs_up=plan.backs_up and not purge)
        if plan.action == "added":
            ledger.remember(plan, backup, folders)
        elif plan.action == "updated":
            ledger.follow(plan)
    if purge:
        for each in backups(plan.file):
            os.unlink(each)
    if plan.changes and plan.action == "removed":
        remove_folders(ledger.forget(plan.file))
    return backup


def restored(file: str, data: bytes, environ: Mapping[str, str]) -> tuple[bool, bytes | None]:
    """(True, what the file held before us, None for no file) when `data` is just what we wrote; else (False, None)."""
    entry = _Ledger(environ).entry(file)
    if entry is None or entry["written"] != _digest(data):
        return False, None
    if entry["before"] is None:
        return True, None
    try:
        before = read(os.path.join(os.path.dirname(file), entry["backup"] or ""))
    except (OSError, ValueError):
        return False, None
    return (True, before) if before is not None and _digest(before) == entry["before"] else (False, None)


def backups(file: str) -> list[str]:
    """The backups beside the file, newest first."""
    return sorted(glob.glob(glob.escape(file + _MARK) + "*.bak"), reverse=True)


def remembered(client: str, environ: Mapping[str, str]) -> list[str]:
    """The client's files that we are in, as far as the ledger knows."""
    return _Ledger(environ).files(client)


def folders_above_ledger(environ: Mapping[str, str]) -> list[str]:
    """The folders that were made for the ledger, deepest last."""
    return _Ledger(environ).folders()


def remove_folders(folders: list[str]) -> None:
    """Remove those that are empty; `folders`: deepest last."""
    for each in reversed(folders):
        with contextlib.suppress(OSError):  # not empty: it is somebody's now
            os.rmdir(each)


class _Ledger:
    """What each file was before us: {path: {client, before, backup, written, folders}}; digests, names beside it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        folder = state_folder(environ)
        self._path = folder and os.path.join(folder, LEDGER)

    def entry(self, file: str) -> dict[str, Any] | None:
        """What is known of the file; None when nothing is, or nothing that makes sense."""
        entry = self._load().get(file)
        if not isinstance(entry, dict) or not isinstance(entry.get("folders"), list):
            return None
        backup = entry.get("backup")
        if backup is not None and not (isinstance(backup, str) and backup.startswith(os.path.basename(file) + _MARK)):
            return None
        if backup is not None and os.path.basename(backup) != backup:
            return None
        return entry if {"before", "backup", "written"} <= entry.keys() else None

    def files(self, client: str) -> list[str]:
        """The client's files."""
        entries = self._load().items()
        return [file for file, each in entries if isinstance(each, dict) and each.get("client") == client]

    def folders(self) -> list[str]:
        """Those that were made for the ledger itself, deepest last."""
        return _above(self._load().get(_OWN), self._path) if self._path else []

    def remember(self, plan: Plan, backup: str | None, folders: list[str]) -> None:
        """We have added ourselves to the file."""
        assert plan.after is not None
        entries = self._load()
        entries[plan.file] = {
            "client": plan.client,
            "before": None if plan.before is None else _digest(plan.before),
            "backup": backup and os.path.basename(backup),
            "written": _digest(plan.after),
            "folders": folders,
        }
        self._save(entries)

    def follow(self, plan: Plan) -> None:
        """We have changed what we wrote; where somebody else changed it before that, there is no way back."""
        entries, entry = self._load(), self.entry(plan.file)
        if entry is None or plan.before is None or plan.after is None:
            return
        ours = entry["written"] == _digest(plan.before)
        entries[plan.file] = {**entry, "written": _digest(plan.after) if ours else None}
        self._save(entries)

    def forget(self, file: str) -> list[str]:
        """Drop the entry; the folders that were made for the file, deepest last."""
        entries, entry = self._load(), self.entry(file)
        if entries.pop(file, None) is not None:
            self._save(entries)
        return _above(entry["folders"], file) if entry else []

    def _load(self) -> dict[str, Any]:
        try:
            raw = json.loads(read(self._path) or b"{}") if self._path else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return raw if isinstance(raw, dict) else {}

    def _save(self, entries: dict[str, Any]) -> None:
        """Best effort: what is lost is the way back byte for byte, which `backups` still hold.

        The member _OWN has the folders that were made for the ledger; they go with the last entry.
        """
        if not self._path:
            return
        with contextlib.suppress(OSError):
            if entries.keys() <= {_OWN}:
                os.unlink(self._path)
                remove_folders(_above(entries.get(_OWN), self._path))
                return
            made = _make_folders(os.path.dirname(self._path), 0o700)
            entries = {**entries, _OWN: made} if made else entries
            _replace(self._path, (json.dumps(entries, indent=1) + "\n").encode(), mode=0o600)


def _write(plan: Plan, *, backs_up: bool) -> tuple[str | None, list[str]]:
    """The file as planned; the backup and the folders that were made for it.  A failure leaves none of these."""
    backup, folders = None, _make_folders(os.path.dirname(plan.file))
    try:
        if backs_up and plan.before is not None:
            backup = _back_up(plan.file, plan.before)
        if plan.after is not None:
            _replace(os.path.realpath(plan.file), plan.after)
        else:
            os.unlink(os.path.realpath(plan.file))
    except BaseException:
        if backup is not None:
            with contextlib.suppress(OSError):
                os.unlink(backup)
        remove_folders(folders)
        raise
    return backup, folders


def _back_up(file: str, data: bytes) -> str:
    about = os.stat(file)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(1, 1000):
        path = f"{file}{_MARK}{stamp}{'' if number == 1 else f'-{number:03}'}.bak"
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        try:
            _fill(fd, data, about)
        except BaseException:
            os.unlink(path)
            raise
        return path
    raise FileExistsError(errno.EEXIST, "there are too many backups of this second", file)


def _replace(path: str, data: bytes, mode: int | None = None) -> None:
    """Write a temporary file beside it, wait for the disk, rename."""
    try:
        about: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        about = None
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.rehydrate-{os.getpid()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        _fill(fd, data, about)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # some systems cannot sync a folder
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _fill(fd: int, data: bytes, about: os.stat_result | None) -> None:
    """Write all, with the owner and mode of `about`, to the disk; closes the descriptor."""
    with os.fdopen(fd, "wb") as file:
        if about is not None and hasattr(os, "fchown"):
            with contextlib.suppress(PermissionError):  # another's file that we may write: it becomes ours
                os.fchown(fd, about.st_uid, about.st_gid)
            os.fchmod(fd, stat.S_IMODE(about.st_mode))
        file.write(data)
        file.flush()
        os.fsync(fd)


def _make_folders(folder: str, mode: int = 0o777) -> list[str]:
    """Make the folder and those above it; the ones that were made, deepest last."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    missing.reverse()
    for at, each in enumerate(missing):
        try:
            os.mkdir(each, mode)
        except OSError:
            remove_folders(missing[:at])
            raise
    return missing


def _above(folders: Any, file: str) -> list[str]:
    """Those of the folders, as the ledger has them, that the file is in."""
    if not isinstance(folders, list):
        return []
    return [each for each in folders if isinstance(each, str) and file.startswith(each.rstrip(os.sep) + os.sep)]


def _lines(data: bytes | None) -> list[str]:
    """With their endings; only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", (data or b"").decode("utf-8", errors="replace"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
