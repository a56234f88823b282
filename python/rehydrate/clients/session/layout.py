"""Where sessions of one's own agent are: below the folders that their hosts gave, as `rehydrate.session.place` has it.

No host tells us its folder, so the user does, by REHYDRATE_SESSION_ROOTS.  A session's path needs no such word, for a
file of ours says so itself: by its first record, or by the number and the check of the first one that it took in.
Nothing here writes.
"""

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf

from rehydrate import scan
from rehydrate.dataclass import dataclass
from rehydrate.paths import encodable, is_id
from rehydrate.session.file import check_format
from rehydrate.session.listing import places, written_ns
from rehydrate.session.place import key_of
from rehydrate.transcripts.window import working_folders

ROOTS = "REHYDRATE_SESSION_ROOTS"
"""The variable of the environment: absolute folders, with what separates those of PATH between them."""
SUFFIX = ".jsonl"
NAMED_BY = "by the session's records"
"""Where a workspace is known from, in words."""

_KEY = re.compile(r"-|[A-Za-z]--")
"""How the key of a working directory begins: that is an absolute path."""
_CHECK = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Place:
    """One session on disk."""

    session: str
    """Its id: the name of its file."""
    path: str
    """Its file."""
    project: str | None
    """The folder that holds it and its siblings; None outside the known layout."""

    @property
    def folder(self) -> str:
        """What belongs to it beside its file; need not exist."""
        return self.path.removesuffix(SUFFIX)

    @property
    def root(self) -> str | None:
        """The folder of all sessions; None outside the known layout."""
        return self.project and os.path.dirname(self.project)

    @property
    def origin(self) -> str:
        """The path a person is told."""
        return self.path

    @property
    def app(self) -> str | None:
        """No application is known of."""
        return None

    @property
    def joined(self) -> bool:
        """Always one file."""
        return False

    @property
    def lossy(self) -> bool:
        """Always the whole log."""
        return False

    @property
    def agent(self) -> bool:
        """Whether it is a subagent's log, which is no conversation of its own."""
        return os.path.basename(self.path).startswith("agent-")

    def sibling(self, session: str) -> "Place | None":
        """Another session of the same root: in the same folder, else wherever it is."""
        if self.project is None or self.root is None or not is_id(session):
            return None
        near = os.path.join(self.project, session + SUFFIX)
        if written_ns(near) is not None:
            return _place(near, is_known=True)
        found = (kept.path for kept in places(self.root) if kept.session_id == session)
        return next((_place(path, is_known=True) for path in found), None)

    def siblings(self) -> "list[Place]":
        """The other sessions of its folder, those written last first."""
        if self.project is None or self.root is None:
            return []
        near = places(self.root, keys=[os.path.basename(self.project)])
        return [_place(kept.path, is_known=True) for kept in near if kept.path != self.path]


def roots(environ: Mapping[str, str]) -> list[str]:
    """The folders of sessions that are named, whether or not they exist."""
    named = environ.get(ROOTS, "").split(os.pathsep)
    return list(dict.fromkeys(os.path.normpath(each) for each in named if os.path.isabs(each) and encodable(each)))


@contextmanager
def readable(place: Place) -> Iterator[Place]:
    """The place with a `path` that can be read as one file, while the context lasts: always the same."""
    yield place


def place_of(path: str) -> Place | None:
    """The session that a path means: its file, its own folder, or a folder of sessions, of which the one written last.
    None when there is none there, or it is none of ours.
    """
    if not encodable(path):
        return None
    path = os.path.abspath(path)
    for file in (path, path + SUFFIX):
        if written_ns(file) is not None:
            place = _place(file)
            return place if recognises(place) else None
    found = (_place(kept.path) for kept in places(os.path.dirname(path), keys=[os.path.basename(path)]))
    return next((place for place in found if not place.agent and recognises(place)), None)


def recognises(place: Place) -> bool:
    """Whether our own library wrote the file.  What a later version of it wrote counts, too."""
    try:
        first = next(iter(scan.iter_records(place.path, ("type", "format", "seq", "crc"))), None)
    except OSError:
        return False
    if first is None:
        return False
    kind, written, seq, check, *_ = first
    is_sealed = isinstance(seq, int) and isinstance(check, str) and _CHECK.fullmatch(check) is not None
    return is_sealed or (kind == "session" and isinstance(written, int))


def check_version(place: Place) -> None:
    """Raises NewerVersion for what a later version of the library wrote in another format, and OSError."""
    first = next(iter(scan.iter_records(place.path, ("type", "format"))), None)
    if first is not None and first[0] == "session":
        check_format(place.path, first[1])


def find(environ: Mapping[str, str], session: str) -> Place | None:
    """The session with this id; of several the one written last."""
    return next((place for place in every(environ, prefix=session) if place.session == session), None)


def every(environ: Mapping[str, str], *, prefix: str = "") -> Iterator[Place]:
    """All sessions below the named folders whose id begins with `prefix`, the one written last first; none is opened.

    Left out are empty files, and of an id with several files all but the newest.
    """
    kept = (each for root in roots(environ) for each in places(root) if each.session_id.startswith(prefix))
    seen: set[str] = set()
    for place in sorted((_place(each.path, is_known=True) for each in kept), key=lambda each: -modified_s(each)):
        if place.session not in seen:
            seen.add(place.session)
            yield place


def modified_s(place: Place) -> float:
    """When the file was last written; minus infinity when it is gone."""
    try:
        return os.lstat(place.path).st_mtime
    except (OSError, ValueError):
        return -inf


def worked_in() -> Callable[[Place], list[str]]:
    """What tells the folders that a session worked in, the present one last."""
    return folders_of


def folders_of(place: Place) -> list[str]:
    """The folder in which the session was begun, and others that it is kept under, the last of them last.

    A folder that an agent has gone to for a while is none: what may be read of the disk must not follow it.
    """
    try:
        named = working_folders(place.path)
    except (OSError, ValueError):
        return []
    known = dict.fromkeys(named[:1])
    key = None if place.project is None else os.path.basename(place.project)
    for each in dict.fromkeys(named[1:]):
        if key is not None and key_of(each) == key:
            known.pop(each, None)
            known[each] = None
    return list(known)


def workspaces_of(place: Place, sessions: Iterable[str]) -> tuple[str, ...]:
    """The folders that a session and its ancestors worked in, each once."""
    others = (place.sibling(session) for session in sessions if session != place.session)
    places = [place, *(other for other in others if other is not None)]
    return tuple(dict.fromkeys(folder for each in places for folder in folders_of(each)))


def denied(place: Place) -> tuple[str, ...]:
    """Files and folders of the library that are never shown: the sessions themselves."""
    if place.root is None:
        return (place.path, place.folder)
    # Not the root, which may be a workspace at the same time.
    return (place.path, place.folder, os.path.join(glob.escape(place.root), "-*"), os.path.dirname(place.path))


def skills(place: Place) -> tuple[str, ...]:
    """The folders where a user's skills may be: none are known of."""
    return ()


def _place(path: str, *, is_known: bool = False) -> Place:
    """`is_known`: it lies below a folder of sessions, whatever its own is called."""
    folder, name = os.path.split(path)
    is_kept = name.endswith(SUFFIX) and (is_known or _KEY.match(os.path.basename(folder)) is not None)
    return Place(name.removesuffix(SUFFIX), path, folder if is_kept else None)
