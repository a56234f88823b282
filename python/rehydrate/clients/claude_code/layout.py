"""Where Claude Code keeps things: a transcript for each conversation, in a folder for each working directory.

Nothing here writes.  Ids, paths and folders come from payloads, records and listings, so none is trusted: an id is only
ever one name in a folder, a transcript is a regular file (a link to one is not taken; links above it are the user's own
business), and whose a project folder is, is said by the records in it: the names of several working directories can
become one.
"""

import json
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from math import inf

from rehydrate import scan
from rehydrate.dataclass import dataclass
from rehydrate.paths import encodable as encodable
from rehydrate.paths import home_folder
from rehydrate.paths import is_id as is_id
from rehydrate.paths import open_file as open_file

SUFFIX = ".jsonl"
NAMED_BY = "by the conversation's records"
"""Where a workspace is known from that the client did not name itself, in words."""
KEY_CHARS = 200
"""Of a project folder's name, what every writer makes the same; a longer one goes on with a hash of the writer's."""
FIRST_RECORDS = 64
"""How many records at the start are looked at for whose they are."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_KEY = re.compile(r"-|[A-Za-z]--")
"""How the name of a project folder begins: the working directory is an absolute path."""
_TITLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """One conversation on disk."""

    session: str
    """Conversation id: the name of its file; for a file that is named otherwise the name of the folder it is in."""
    path: str
    """The transcript."""
    folder: str
    """The conversation's own folder beside its transcript, for subagents and large results; need not exist."""
    project: str | None
    """The project folder that holds this conversation and its siblings; None outside the known layout."""
    config: str | None
    """The client's configuration folder; None outside the known layout."""

    @property
    def origin(self) -> str:
        """The path a person is told."""
        return self.path

    @property
    def app(self) -> str | None:
        """The application's folder."""
        return self.config

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
        """Whether it is a subagent's transcript, which is no conversation of its own."""
        return os.path.basename(self.path).startswith("agent-")

    def sibling(self, session: str) -> "Place | None":
        """Another conversation of the same configuration folder: in the same project folder, else wherever it is."""
        if self.project is None or self.config is None or not is_id(session):
            return None
        path = os.path.join(self.project, session + SUFFIX)
        if _written(path):
            return _place(path, known=True)
        return next(iter(_everywhere(os.path.join(self.config, "projects"), session)), None)

    def siblings(self) -> "list[Place]":
        """The other conversations of its project folder, those written last first."""
        if self.project is None:
            return []
        return [_place(path, known=True) for path in _transcripts(self.project) if path != self.path]


def home(environ: Mapping[str, str]) -> str:
    """The configuration folder: CLAUDE_CONFIG_DIR, else `.claude` in the user's home."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    folder = os.path.abspath(named) if named else os.path.join(home_folder(environ) or os.sep, ".claude")
    composed = unicodedata.normalize("NFC", folder)
    return composed if os.path.isdir(composed) else folder


def projects_in(environ: Mapping[str, str]) -> str:
    """The folder of the project folders, whether or not it exists."""
    return os.path.join(home(environ), "projects")


def projects(environ: Mapping[str, str]) -> list[str]:
    """Every project folder; empty when they cannot be listed."""
    return _listed(projects_in(environ))


def keys_of(path: str) -> tuple[str, ...]:
    """The names that the project folder of a working directory can have, the client's own first.  Of one over
    KEY_CHARS only so much is sure.
    """
    path = unicodedata.normalize("NFC", path)
    # The client counts UTF-16 units, other writers characters.
    units = "".join("--" if ord(c) > 0xFFFF else c for c in path)
    return tuple(dict.fromkeys(re.sub("[^A-Za-z0-9]", "-", each)[: KEY_CHARS + 1] for each in (units, path)))


def is_project_of(project: str, path: str) -> bool:
    """Whether the project folder (its path, or its name alone) can be that of a working directory.

    Several directories can have the same one: only a `cwd` in a transcript says whose that is.
    """
    name = os.path.basename(project)
    for key in keys_of(path):
        if name == key or (len(key) > KEY_CHARS and name[:KEY_CHARS] == key[:KEY_CHARS] and len(name) > KEY_CHARS):
            return True
    return False


def is_regular(path: str) -> bool:
    """True for a regular file that is no link."""
    return _written(path) is not None


@contextmanager
def readable(place: Place) -> Iterator[Place]:
    """The place with a `path` that can be read as one file, while the context lasts: always the same."""
    yield place


def place_of(path: str) -> Place | None:
    """The conversation that a path means: its transcript, its own folder, or a folder of transcripts, of which the one
    written last.  None when there is no transcript.  A file of another name is taken as it is.
    """
    if not encodable(path):
        return None
    path = os.path.abspath(path)
    if is_regular(path):
        return _place(path)
    if is_regular(path + SUFFIX):
        return _place(path + SUFFIX)
    return next((place for place in map(_place, _transcripts(path)) if recognises(place)), None)


def recognises(place: Place) -> bool:
    """Whether the transcript is one of this client, by where it lies or by its first records."""
    if place.project is not None:
        return True
    try:
        rows = scan.iter_records(place.path, ("sessionId", "parentUuid", "leafUuid"))
        return any(isinstance(value, str) for row in islice(rows, FIRST_RECORDS) for value in row[:3])
    except OSError:
        return False


def find(environ: Mapping[str, str], session: str) -> Place | None:
    """The conversation with this id; of several files that are not empty the one written last."""
    return next(iter(find_everywhere(environ, session)), None)


def find_everywhere(environ: Mapping[str, str], session: str) -> list[Place]:
    """Every file for a conversation id that is not empty, in whatever project folder, the one written last first."""
    return _everywhere(projects_in(environ), session)


def every(environ: Mapping[str, str], *, prefix: str = "") -> Iterator[Place]:
    """All conversations whose id begins with `prefix`, the one written last first; none is opened.

    Left out are empty files, the transcripts of subagents, and of an id with several files all but the newest.
    """
    found: list[tuple[float, str]] = []
    for project in projects(environ):
        for path in _conversations(project):
            if os.path.basename(path).startswith(prefix) and (written := _written(path)):
                found.append((written, path))
    seen: set[str] = set()
    for _, path in sorted(found, key=lambda pair: (-pair[0], pair[1])):
        place = _place(path, known=True)
        if place.session not in seen:
            seen.add(place.session)
            yield place


def modified_s(place: Place) -> float:
    """When the transcript was last written; minus infinity when it is gone."""
    try:
        return os.lstat(place.path).st_mtime
    except (OSError, ValueError):
        return -inf


def worked_in() -> Callable[[Place], list[str]]:
    """What tells the folders that a conversation worked in, the present one last."""
    return folders_of


def folders_of(place: Place) -> list[str]:
    """The working directories that the start and the end of a transcript name: the first one, and those the project
    folder can be of, the last of them last.  A command's change of directory is none.
    """
    from rehydrate.transcripts.window import working_folders  # the hook needs it for a delivery alone

    try:
        named = working_folders(place.path)
    except (OSError, ValueError):
        return []
    known = dict.fromkeys(named[:1])
    for each in named[1:]:
        if place.project is not None and is_project_of(place.project, each):
            known.pop(each, None)
            known[each] = None
    return list(known)


def workspaces_of(place: Place, sessions: Iterable[str]) -> tuple[str, ...]:
    """The folders that a conversation and its ancestors worked in, each once."""
    named = folders_of(place)
    for session in sessions:
        other = place.sibling(session) if session != place.session else None
        named += folders_of(other) if other is not None else []
    return tuple(dict.fromkeys(named))


def denied(place: Place) -> tuple[str, ...]:
    """Files and folders of the client that are never shown: its own logs, stores and tokens."""
    if place.config is None:
        return ()
    own = ("projects", "history.jsonl", ".credentials.json", ".claude.json", "file-history", "shell-snapshots", "debug")
    return (*(os.path.join(place.config, name) for name in own), f"{place.config}.json")


def skills(place: Place) -> tuple[str, ...]:
    """The folders where a user's skills may be."""
    return () if place.config is None else (os.path.join(place.config, "skills"),)


def title_beside(place: Place) -> str | None:
    """The title that a person gave the conversation, where the client keeps it in a file of its own."""
    path = os.path.join(place.folder, "custom-title.json")
    try:
        with open_file(path) as file:
            kept = json.loads(file.read(_TITLE_BYTES), parse_int=float)  # an int has a limit of digits
    except (OSError, ValueError, RecursionError):
        return None
    title = kept.get("customTitle") if isinstance(kept, dict) else kept
    return title if isinstance(title, str) and title.strip() else None


def _place(path: str, *, known: bool = False) -> Place:
    """`known`: it lies in a project folder, whatever that is called."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(SUFFIX)
    above, key = os.path.split(folder)
    config, kind = os.path.split(above)
    own = path.removesuffix(SUFFIX)
    named = kind == "projects" and (_KEY.match(key) is not None or os.path.basename(config) == ".claude")
    if (known or named) and name.endswith(SUFFIX):
        return Place(stem, path, own, folder, config)
    is_id_of_its_own = _UUID.fullmatch(stem) or stem.startswith("agent-")
    return Place(stem if is_id_of_its_own else os.path.basename(folder) or stem, path, own, None, _config_above(folder))


def _config_above(folder: str) -> str | None:
    """The configuration folder for what lies deeper in a project folder, such as a subagent's transcript."""
    while folder != os.path.dirname(folder):
        above = os.path.dirname(folder)
        if os.path.basename(above) == "projects" and _KEY.match(os.path.basename(folder)):
            return os.path.dirname(above)
        folder = above
    return None


def _everywhere(folder: str, session: str) -> list[Place]:
    if not is_id(session):
        return []
    paths = (os.path.join(project, session + SUFFIX) for project in _listed(folder))
    found = sorted(((_written(path) or 0.0, path) for path in paths), key=lambda pair: (-pair[0], pair[1]))
    return [_place(path, known=True) for written_s, path in found if written_s]


def _listed(folder: str) -> list[str]:
    """The folders in a folder, in the order of their names; links to folders count."""
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except (OSError, ValueError):
        return []
    return [path for path in paths if os.path.isdir(path)]


def _conversations(folder: str) -> list[str]:
    """What is named like a conversation's transcript in a folder."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return []
    wanted = (name for name in names if name.endswith(SUFFIX) and not name.startswith("agent-"))
    return [os.path.join(folder, name) for name in wanted if is_id(name.removesuffix(SUFFIX))]


def _transcripts(folder: str) -> list[str]:
    """Those that are not empty, the one written last first."""
    found = [(written, path) for path in _conversations(folder) if (written := _written(path))]
    return [path for _, path in sorted(found, key=lambda pair: (-pair[0], pair[1]))]


def _written(path: str) -> float | None:
    """When a regular file that is no link was last written (never 0 for one that holds something); 0 for an empty one;
    None for anything else.
    """
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    return (seen.st_mtime or -1.0) if seen.st_size else 0.0
