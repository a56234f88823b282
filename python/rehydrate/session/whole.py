"""Files of a session that are made whole or not at all: copied, taken in from elsewhere, or given as records.

They are written in a folder of their own that no reader looks into, and moved to their places when all of them are on
disk, the session's own file last.  Whatever happens before that leaves nothing behind; after a kill the next one that
makes something in the same place takes away what was left.  The folder of a living process is locked.

Of a line that was written elsewhere no byte is changed: our number and check are added at its end, where that can be
done, and taken off again by an export.
"""

import errno
import json
import os
import re
import shutil
import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import BinaryIO

from rehydrate import scan
from rehydrate.private import make_folders, read_bytes
from rehydrate.scratch import lock_folder

from .damage import NO_RECORD, UNFINISHED, WRONG_CHECK
from .errors import DamagedLine, naming
from .file import sync_folder
from .line import bare, check, sealed
from .place import Place
from .stamp import OF_ONE_SESSION

TOLD = 16
"""So many damaged lines are told one by one; all are counted."""

_OF_ONE_SESSION = tuple(json.dumps(kind).encode() for kind in sorted(OF_ONE_SESSION))
_OBJECT = re.compile(rb'\{(?:\}\Z|[ \t]*")')
"""What an object begins with that more members can be added to at its end."""
_BUFFER_BYTES = 1 << 20
_PREFIX = ".rehydrate-making-"
_NOTE = "place"
"""In the folder in which files are made: where they are about to be moved, `[key, session id]`."""
_NOTE_BYTES = 4_096


@dataclass(slots=True)
class Lines:
    """What a copy has seen of a file's lines."""

    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    """Where each begins, in the file that the damage is told of."""
    wrong: list[tuple[int, int]] = field(default_factory=list)
    """Those whose check is wrong: where each begins, and its length."""
    size: int = 0
    is_unfinished: bool = False
    """The last one has no line feed."""


@dataclass(frozen=True, slots=True)
class Damage:
    """The damaged lines of one file, or of several."""

    count: int = 0
    first: tuple[DamagedLine, ...] = ()
    """At most TOLD of them."""

    def __add__(self, other: "Damage") -> "Damage":
        return Damage(self.count + other.count, (*self.first, *other.first)[:TOLD])


def lines_of(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The first so many bytes of a file, line by line."""
    while size > 0 and (line := file.readline(size)):
        yield line
        size -= len(line)


def is_of_one_session(line: bytes) -> bool:
    """Whether it is a record that no copy has."""
    if not any(word in line for word in _OF_ONE_SESSION) or check(line.removesuffix(b"\n")) is False:
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("type") in OF_ONE_SESSION


def seal_lines(source: Iterable[bytes], target: BinaryIO) -> Lines:
    """Write lines as ours: numbered, and with a check at the end of each to which it can be added.  Records that no
    copy has are left out.

    A line whose own check is wrong is left as it is, so that this is not forgotten; so are lines that are no object,
    and one without a line feed.
    """
    found = Lines()
    for seq, line in enumerate((line for line in source if not is_of_one_session(line)), 1):
        body = line.removesuffix(b"\n")
        state = check(body)
        if state:
            line = sealed(bare(body), seq)
        elif state is False:
            found.wrong.append((found.size, len(body)))
        elif len(body) == len(line):
            found.is_unfinished = True
        elif body.endswith(b"}") and _OBJECT.match(body):
            line = sealed(body, seq)
        found.starts.append(found.size)
        found.size += target.write(line)
    return found


def bare_lines(source: Iterable[bytes], target: BinaryIO) -> Lines:
    """Write lines without our numbers and checks; those whose check is wrong as they are.  Records that no copy has are
    left out.
    """
    found = Lines()
    for line in source:
        found.starts.append(found.size)
        found.size += len(line)
        body = line.removesuffix(b"\n")
        state = check(body)
        if state is False:
            found.wrong.append((found.starts[-1], len(body)))
        found.is_unfinished = len(body) == len(line) and not state
        if not is_of_one_session(line):
            target.write(bare(body) + b"\n" if state else line)
    return found


def damage_of(path: str, seen: Lines, *, named: str) -> Damage:
    """What is damaged in a file whose lines were seen.  `named`: where the file is, or will be, for people."""
    tree = scan.read_tree(path)
    told = dict.fromkeys(tree.damaged_offsets, NO_RECORD)
    count = tree.damaged
    for offset, length in seen.wrong:
        at = bisect_left(tree.entries, offset, key=lambda entry: entry.offset)
        if at < len(tree.entries) and tree.entries[at][3:] == (offset, length):
            count += 1
            told[offset] = WRONG_CHECK
    if seen.is_unfinished:
        count += 1
        told[seen.starts[-1]] = UNFINISHED
    first = []
    for offset in sorted(told)[:TOLD]:
        number = bisect_right(seen.starts, offset)
        first.append(DamagedLine(f"line {number} of {named} {told[offset]}", path=named, line=number, offset=offset))
    return Damage(count, tuple(first))


class Staging:
    """The folder in which a session's files are made; use it as a context manager."""

    def __init__(self, root: str) -> None:
        """`root`: the folder of all sessions; made where it is not there."""
        root = os.path.abspath(root)
        make_folders(root)
        self._files = ExitStack()
        self._folder = self._files.enter_context(folder_in(root))
        self._made: set[str] = set()

    def __enter__(self) -> "Staging":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)

    def path(self, name: str) -> str:
        """Where a file is made: `name` as in the session's own folder, and empty for the session's file."""
        return os.path.join(self._folder, "own", *name.split("/")) if name else os.path.join(self._folder, "main")

    def create(self, name: str) -> BinaryIO:
        """Opens a new file.  FileExistsError when there is one of that name."""
        path = self.path(name)
        make_folders(os.path.dirname(path))
        self._made.add(os.path.dirname(path))
        return new_file(path)

    def move(self, place: Place) -> None:
        """Move everything to its place.  FileExistsError when there is such a session, and the OSError of the system;
        then nothing is there.
        """
        for path in (place.path, place.folder):
            if os.path.lexists(path):
                raise FileExistsError(
                    errno.EEXIST, "there is such a session already; resume that, or name another root", path
                )
        for folder in self._made:
            sync_folder(folder)
        above = os.path.dirname(place.path)
        make_folders(above)
        own = os.path.join(self._folder, "own")
        if not os.path.isdir(own):
            self._move_file(place)
            return
        with new_file(os.path.join(self._folder, _NOTE)) as note:  # a kill between the two moves can be made good
            note.write(json.dumps([place.key, place.session_id]).encode())
            finish(note)
        sync_folder(self._folder)
        os.rename(own, place.folder)
        try:
            self._move_file(place)
        except BaseException:
            os.rename(place.folder, own)
            raise

    def _move_file(self, place: Place) -> None:
        """With it the session is there."""
        os.rename(self.path(""), place.path)
        try:
            sync_folder(os.path.dirname(place.path))
        except BaseException:
            os.rename(place.path, self.path(""))
            raise


def new_file(path: str) -> BinaryIO:
    """Opens a file to write that is not there yet.  OSError when it cannot be made."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return open(os.open(path, flags, 0o600), "wb", buffering=_BUFFER_BYTES)


@contextmanager
def folder_in(above: str) -> Iterator[str]:
    """A new folder in another one, to make files in, that is removed at the end; what killed processes left of theirs
    is removed first.
    """
    _remove_left(above)
    folder, lock = _locked(above)
    try:
        with naming(above):
            yield folder
    finally:
        with suppress(OSError):  # what was made stands; the next one takes away what is left
            shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            with suppress(OSError):
                os.close(lock)


def _locked(above: str) -> tuple[str, int | None]:
    """A new folder, and what holds its lock; None where there are no locks."""
    while True:
        try:
            folder = tempfile.mkdtemp(prefix=_PREFIX, dir=above)
        except OSError as error:
            error.filename = above  # and not a name that we have made up
            raise
        try:
            return folder, lock_folder(folder)
        except (BlockingIOError, FileNotFoundError):
            continue  # before it was locked, another process took it for one that was left
        except OSError:
            return folder, None  # so that nothing is ever taken for left


def _remove_left(above: str) -> None:
    """Take away what killed processes have left."""
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    lock = lock_folder(entry.path)
                    try:
                        _take_back(above, entry.path)
                        shutil.rmtree(entry.path, ignore_errors=True)
                    finally:
                        os.close(lock)


def _take_back(root: str, folder: str) -> None:
    """Undo the first of the two moves of a session, where the second one never came: nobody was told of it.  OSError
    when that cannot be done.
    """
    said = read_bytes(os.path.join(folder, _NOTE), most=_NOTE_BYTES)
    try:
        key, session_id = json.loads(said or b"null")
        place = Place(root, str(key), str(session_id))
    except (ValueError, TypeError, RecursionError):  # there is none, or it is not finished: nothing was moved
        return
    own = os.path.join(folder, "own")
    was_moved = os.path.lexists(os.path.join(folder, "main")) and not os.path.lexists(own)
    if was_moved and os.path.lexists(place.folder) and not os.path.lexists(place.path):
        os.rename(place.folder, own)


def finish(file: BinaryIO) -> None:
    """Everything written to the file is on disk."""
    file.flush()
    os.fsync(file.fileno())
