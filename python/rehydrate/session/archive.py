"""A whole session as one archive, and sessions taken in: from an archive, from another client's transcript, as records.

An archive is a zip file: its directory is there before anything is unpacked, each file in it has a checksum of its own,
and everybody can open it.  (Of a compressed tar the whole has to be unpacked to see what it holds, and its headers can
be as large as they like.)  Unpacked it is a session as Claude-style readers know it: `<id>.jsonl` and what belongs to
it in `<id>/`, without our numbers and checks.  Times, modes and order are fixed: the same session gives the same bytes,
with one version of zlib.

What is taken in keeps every byte of its lines; damaged ones come along, and are counted.  Records of what a model was
told in one session alone stay there.
"""

import errno
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast
from uuid import uuid4

from rehydrate import __version__, scan
from rehydrate.paths import is_id, open_file

from .errors import NotASession, naming
from .file import FORMAT, HEADER, check_format, sync_folder
from .place import AGENT, Place, is_session_id, key_of, may_be_folder
from .stamp import BEGIN, MESSAGES, Stamp
from .whole import Damage, Staging, bare_lines, damage_of, finish, folder_in, lines_of, new_file, seal_lines

MEMBERS_MOST = 100_000
BYTES_MOST = 16 << 30
"""What an archive that is taken in may hold at most."""
LINE_MOST = 1 << 30
"""So long a line at most."""

_MEMBER = re.compile(
    r"subagents/(?:workflows/[^/]+/)?agent-[^/]+\.(?:jsonl|meta\.json)|remote-agents/[^/]+\.meta\.json|tool-results/[^/]+"
)
"""What belongs to a session beside its own file, in the folder of its name."""
_FOLDERS = ("subagents", "remote-agents", "tool-results")
_FOLDERS_DEEP = 2
"""So many folders above a folder of members: nothing that belongs to a session lies deeper."""
_TIME = (1980, 1, 1, 0, 0, 0)
_BUFFER_BYTES = 1 << 20
_UNSOUND = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(ValueError, OverflowError, NotImplementedError, RuntimeError),
)


@dataclass(frozen=True, slots=True)
class Report:
    """What an export or an import has done."""

    path: str
    """The archive, or the session's file."""
    session_id: str
    files: int
    lines: int
    """In all its logs."""
    damage: Damage
    """Lines that are no record, are unfinished, or have a wrong check; they were taken along as they are."""
    left_out: tuple[str, ...] = ()
    """What lies among its files and is none of them, by name: an export only."""


def export(path: str, target: str) -> Report:
    """Write the session whose file is at `path`, with its agents, to a new archive.  The session may be open.

    Raises FileExistsError when there is something at `target`, NotASession for a file without a conversation, and the
    OSError of the system; then there is no archive.
    """
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "there is something already; name another file", target)
    files = _Files(path)
    target = os.path.abspath(target)
    with folder_in(os.path.dirname(target)) as folder:
        temporary = os.path.join(folder, "archive")
        with new_file(temporary) as file:
            report = _packed(files, file)
            finish(file)
        os.rename(temporary, target)
        try:
            sync_folder(os.path.dirname(target))
        except BaseException:
            os.rename(target, temporary)
            raise
    return Report(target, files.session_id, *report, tuple(files.left_out))


def import_session(path: str, *, root: str, cwd: str | None = None, bytes_most: int = BYTES_MOST) -> Report:
    """Take in an archive, or a transcript of Claude Code or of ours with what belongs to it, below `root`, under its
    own id.

    `cwd`: the working directory that it is put under; None for the one that its records name first.  `bytes_most`: what
    is unpacked at most.  Raises NotASession for what holds no conversation or anything that belongs to none,
    NewerVersion, FileExistsError when there is such a session, and the OSError of the system; then nothing is taken in.
    """
    with open_file(path) as file, Staging(root) as staging:
        source = _Files(path) if path.endswith(".jsonl") else _Archive(path, file, bytes_most)
        return _taken_in(source, staging, root, cwd)


# -- what is packed ---------------------------------------------------------------------------------------------------


class _Files:
    """A session's files where they are.  No link is followed or taken."""

    def __init__(self, path: str) -> None:
        """Raises NotASession for a path that no session's file can have, and OSError."""
        self.path = path
        self._folder = path.removesuffix(".jsonl")
        self.session_id = os.path.basename(self._folder)
        if self.session_id.startswith(AGENT):
            raise NotASession(f"{path} is a subagent's log; take the session that it belongs to", path=path)
        if self._folder == path or not is_session_id(self.session_id) or not _is_text(self.session_id):
            raise NotASession(f"{path} is no session: neither an archive nor a file <id>.jsonl", path=path)
        self.names: list[str] = []
        """Those that belong to it beside its own, by their names in its folder."""
        self.left_out: list[str] = []
        """Those beside them that do not."""
        if os.path.isdir(self._folder) and not os.path.islink(self._folder):
            self._list("")
        self.names.sort()
        self.left_out.sort()

    def _list(self, inside: str) -> None:
        for entry in os.scandir(os.path.join(self._folder, inside)):
            name = f"{inside}{entry.name}"
            if not inside and name not in _FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False) and name.count("/") <= _FOLDERS_DEEP:
                self._list(f"{name}/")
            elif entry.is_file(follow_symlinks=False) and _is_member(name):
                self.names.append(name)
            else:
                self.left_out.append(name)

    def pieces(self, name: str) -> Iterator[bytes]:
        """A file as it is now, line by line; `name` as for `Staging`."""
        path = self.place_of(name)
        with naming(path), open_file(path) as file:
            yield from lines_of(file, os.fstat(file.fileno()).st_size)

    def place_of(self, name: str) -> str:
        """The path of a file."""
        return os.path.join(self._folder, *name.split("/")) if name else self.path


def _is_member(name: str) -> bool:
    return _MEMBER.fullmatch(name) is not None and all(map(is_id, name.split("/"))) and _is_text(name)


def _is_text(name: str) -> bool:
    """Whether an archive can hold a file of that name."""
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def _packed(files: _Files, target: BinaryIO) -> tuple[int, int, Damage]:
    """Files, lines and damage of what was written to the archive."""
    lines, damage = 0, Damage()
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name in ("", *files.names):
            info = zipfile.ZipInfo(f"{files.session_id}/{name}" if name else f"{files.session_id}.jsonl", _TIME)
            info.create_system, info.external_attr = 3, 0o100600 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as member:
                if not info.filename.endswith(".jsonl"):
                    member.writelines(files.pieces(name))
                    continue
                seen = bare_lines(files.pieces(name), cast("BinaryIO", member))
            path = files.place_of(name)
            _check_format(path, named=path)
            lines += len(seen.starts)
            damage += damage_of(path, seen, named=path)
            if not name:
                _check_is_session(path, named=path)
    return 1 + len(files.names), lines, damage


# -- what is taken in -------------------------------------------------------------------------------------------------


class _Archive:
    """A session's files in an archive.  Raises NotASession for one that holds anything else."""

    def __init__(self, path: str, file: BinaryIO, bytes_most: int) -> None:
        """`bytes_most`: what all files in it have together."""
        self.path = path
        with self._sound("it"):
            if not zipfile.is_zipfile(file):
                raise self._wrong("it is neither a whole archive nor a transcript, <id>.jsonl")
            self._archive = zipfile.ZipFile(file)
        members = self._archive.infolist()
        if not 0 < len(members) <= MEMBERS_MOST:
            raise self._wrong(f"it holds {len(members):,} files")
        self.session_id = members[0].filename.removesuffix(".jsonl")
        self._members: dict[str, zipfile.ZipInfo] = {}
        for at, info in enumerate(members):
            name = "" if at == 0 else info.filename.removeprefix(f"{self.session_id}/")
            if not self._is_expected(info, name) or name in self._members:
                raise self._wrong(f"{info.orig_filename!r:.120} belongs to no session")
            self._members[name] = info
        self.names = [name for name in self._members if name]
        if sum(info.file_size for info in members) > bytes_most:  # more than that is never read of a file
            raise self._wrong(f"it would take more than {bytes_most:,} bytes")

    def _is_expected(self, info: zipfile.ZipInfo, name: str) -> bool:
        if name:
            is_named = _is_member(name) and info.filename == f"{self.session_id}/{name}"
        else:
            is_named = is_session_id(self.session_id) and info.filename == f"{self.session_id}.jsonl"
        mode = info.external_attr >> 16
        is_file = not mode or stat.S_ISREG(mode) or not stat.S_IFMT(mode)
        is_plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not info.flag_bits & 1
        return is_named and is_file and is_plain and info.filename == info.orig_filename

    def pieces(self, name: str) -> Iterator[bytes]:
        """A file, line by line."""
        with (
            self._sound(self._members[name].filename),
            self._archive.open(self._members[name]) as member,
            io.BufferedReader(cast("io.RawIOBase", member), _BUFFER_BYTES) as lines,
        ):
            while line := lines.readline(LINE_MOST + 1):
                if len(line) > LINE_MOST:
                    raise self._wrong(f"it holds a line of more than {LINE_MOST:,} bytes")
                yield line

    @contextmanager
    def _sound(self, what: str) -> Iterator[None]:
        """Whatever `zipfile` says of an archive that is damaged or has what it does not know."""
        try:
            with naming(self.path):
                yield
        except (*_UNSOUND, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # of a place that cannot be
                raise
            raise self._wrong(f"{what} is not sound ({error})") from None

    def _wrong(self, why: str) -> NotASession:
        return NotASession(f"{self.path} cannot be taken in: {why}", path=self.path)


def _taken_in(source: "_Files | _Archive", staging: Staging, root: str, cwd: str | None) -> Report:
    lines, damage = 0, Damage()
    place = None
    for name in ("", *source.names):
        with staging.create(name) as target:
            if name and not name.endswith(".jsonl"):
                target.writelines(source.pieces(name))
                seen = None
            else:
                seen = seal_lines(source.pieces(name), target)
            finish(target)
        made = staging.path(name)
        if seen is not None:
            _check_format(made, named=os.path.join(source.path.removesuffix(".jsonl"), name) if name else source.path)
        if place is None:
            _check_is_session(made, named=source.path)
            place = Place(root, key_of(cwd or _cwd_of(made, named=source.path)), source.session_id)
        if seen is not None:
            named = os.path.join(place.folder, *name.split("/")) if name else place.path
            lines += len(seen.starts)
            damage += damage_of(made, seen, named=named)
    assert place is not None  # there is at least its own file
    staging.move(place)
    return Report(place.path, place.session_id, 1 + len(source.names), lines, damage)


def _check_is_session(path: str, *, named: str) -> None:
    """NotASession for one without a conversation.  `named`: the file that people are told of."""
    if not any(uuid for uuid, _, _ in scan.iter_records(path, ("uuid",), where={"type": BEGIN})):
        raise NotASession(f"{named} is no session: nobody says anything in it", path=named)


def _check_format(path: str, *, named: str) -> None:
    """NewerVersion for a log of a later format."""
    first = next(scan.iter_records(path, ("type", "format")), None)
    if first and first[0] == HEADER:
        check_format(named, first[1], offset=first[2])


def _cwd_of(path: str, *, named: str) -> str:
    for cwd, _, _ in scan.iter_records(path, ("cwd",)):
        if isinstance(cwd, str) and os.path.isabs(cwd) and may_be_folder(cwd):
            return cwd
    raise NotASession(
        f"{named} names no working directory; say with `cwd` (--cwd) under which it is to be put", path=named
    )


# -- records ----------------------------------------------------------------------------------------------------------


def import_records(
    records: Iterable[Mapping[str, object]], *, root: str, cwd: str, session_id: str | None = None
) -> Report:
    """Make a session of records, such as another client's transcript was read into, below `root`.

    They are written in their order and as `SessionLog.append` would write them: a message without `parentUuid` follows
    the one before it; one without a `timestamp` has that of the record before it, or the time now; what a record says
    itself holds, but for its `sessionId`.  `session_id`: None makes a new one.  Raises ValueError for a record that is
    none, NotASession where nobody says anything, FileExistsError when there is such a session, and the OSError of the
    system; then nothing is made.
    """
    cwd = os.path.abspath(cwd)
    place = Place(root, key_of(cwd), session_id or str(uuid4()))
    with Staging(root) as staging:
        with staging.create("") as target:
            seen = seal_lines(_filled(records, place.session_id, cwd), target)
            finish(target)
        _check_is_session(staging.path(""), named=place.path)
        staging.move(place)
    return Report(place.path, place.session_id, 1, len(seen.starts), Damage())


def _filled(records: Iterable[Mapping[str, object]], session_id: str, cwd: str) -> Iterator[bytes]:
    """The lines of a new session, not sealed yet."""
    stamp = Stamp(session_id=session_id, agent_id=None, cwd=cwd, version=__version__, git_branch=None)
    yield stamp.head(FORMAT) + b"\n"
    parent: str | None = None
    time: object = stamp.now()
    for record in records:
        if not isinstance(record.get("type"), str) or not record["type"]:
            raise ValueError("a record needs a `type`, as user(...) and assistant(...) give it")
        time = record.get("timestamp") or time
        given = {"timestamp": time, **record, "sessionId": session_id}
        if record.get("type") in MESSAGES:
            uuid = str(record.get("uuid") or stamp.new_uuid())
            yield stamp.message(given, parent=parent, uuid=uuid) + b"\n"
            parent = uuid
        else:
            yield stamp.metadata(given) + b"\n"
