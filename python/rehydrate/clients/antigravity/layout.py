"""Where Antigravity keeps things: transcripts, their fall-backs, the prompt history, skills.

Nothing here writes, but for a private temporary folder that holds the joined chunks of one transcript while it is read.
Ids and paths come from payloads and folder listings, so none is trusted: an id is only ever one name in a folder, and
a transcript is a regular file (a link to one is not taken; links above it are the user's own business).
"""

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import NamedTuple

from rehydrate import scan
from rehydrate.dataclass import dataclass, replace
from rehydrate.paths import copy_bytes, home_folder
from rehydrate.paths import encodable as encodable
from rehydrate.paths import is_id as is_id
from rehydrate.paths import open_file as open_file
from rehydrate.scratch import scratch_folder

APPS = ("antigravity-cli", "antigravity", "antigravity-ide")
"""Application folders below the home folder: the CLI, the desktop application, the IDE."""
UNCUT = "transcript_full.jsonl"
CUT = "transcript.jsonl"
"""The copy whose long fields are shortened, and whose tool arguments are JSON-encoded once more."""
LOGS = (".system_generated", "logs")
"""Where the transcripts are, below a conversation's folder."""
CHUNKS = ("chunks", "transcript_full")
"""Where the chunks of the uncut one are, below the transcripts."""
NAMED_BY = "by the client's history of prompts"
"""Where a workspace is known from that the client did not name itself, in words."""
HISTORY_BYTES = 512 * 1024
"""How much of the end of `history.jsonl` is read."""

_BELOW = os.sep + os.path.join(*LOGS)
_PROOF_BYTES = 4_096
"""So many bytes before its offset prove a cursor (see `rehydrate.scan`)."""
_TIME_LIMIT_S = 253_402_300_800.0  # the year 10000


@dataclass(frozen=True, slots=True)
class Place:
    """One conversation on disk."""

    session: str
    """Conversation id: the name of its folder."""
    path: str
    """The transcript that is read; for one that exists only in chunks the folder of the chunks, until `readable`."""
    folder: str
    """The folder of its transcripts."""
    brain: str | None
    """The folder that holds this conversation and its siblings; None outside the known layout."""
    app: str | None
    """The application's folder; None outside the known layout."""
    lossy: bool
    """True when only the shortened copy exists."""
    joined: bool
    """True when the transcript has to be joined from chunks."""

    @property
    def origin(self) -> str:
        """The path a person is told: never a temporary one."""
        return os.path.join(self.folder, *CHUNKS) if self.joined else self.path


class Look(NamedTuple):
    """What `look` found in a folder of transcripts."""

    path: str
    lossy: bool
    joined: bool
    probe: scan.Probe | None
    """Of `path`; None for chunks, for a file of another name, and where the file cannot be read."""


Probed = tuple[str, int, str | None, int | None, str | None, int]
"""The path of a `Look` and its probe, as plain values: these the collector of garbage passes over."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `history.jsonl`, as far as it is used."""

    session: str | None
    workspace: str | None
    time_s: float | None
    forks: bool
    """The prompt was `/fork` or `/branch`."""


def home(environ: Mapping[str, str]) -> str:
    """The folder that holds the applications: GEMINI_HOME, else `.gemini` in the user's home."""
    named = environ.get("GEMINI_HOME")
    if named:
        return os.path.abspath(named)
    return os.path.join(home_folder(environ) or os.sep, ".gemini")


def brains(environ: Mapping[str, str]) -> list[str]:
    """The folder of the conversations of each application, whether or not it exists."""
    return [os.path.join(home(environ), app, "brain") for app in APPS]


def is_regular(path: str) -> bool:
    """True for a regular file that is no link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def logs_of(brain: str, session: str) -> str:
    """The folder of a conversation's transcripts."""
    return f"{brain}{os.sep}{session}{_BELOW}"


def look(logs: str) -> Look | None:
    """Which transcript counts in a folder: the uncut file; where it is missing or starts later than the chunks of it,
    the chunks; else the cut file.  None when there is none of them.
    """
    flat = os.path.join(logs, UNCUT)
    if is_regular(flat):
        return _look(logs, flat, _probe(flat))
    chunks = os.path.join(logs, *CHUNKS)
    if chunks_in(chunks):
        return Look(chunks, lossy=False, joined=True, probe=None)
    cut = os.path.join(logs, CUT)
    if is_regular(cut):
        return Look(cut, lossy=True, joined=False, probe=_probe(cut))
    return None


def probes(brain: str, sessions: Iterable[str]) -> list[Probed | None]:
    """The ends of each conversation, None where it begins with no step; the uncut files are probed by one call."""
    folders = [logs_of(brain, session) for session in sessions]
    flats = [f"{logs}{os.sep}{UNCUT}" for logs in folders]
    return [
        # as nearly all begin
        (flat, 0, *seen[1:]) if seen is not None and seen[0] == 0 else _probed(logs, flat, seen)
        for logs, flat, seen in zip(folders, flats, scan.probe_many(flats, follow_symlinks=False), strict=True)
    ]


def _probed(logs: str, flat: str, seen: scan.Probe | None) -> Probed | None:
    found = look(logs) if seen is None else _look(logs, flat, seen)
    probe = found and (_probe(found.path) if found.joined else found.probe)
    return (found.path, probe[0], *probe[1:]) if found and probe and probe[0] is not None else None


def chunks_in(folder: str) -> list[str]:
    """The chunks of a transcript, in their order; empty when there are none."""
    try:
        names = [n for n in os.listdir(folder) if n.endswith(".jsonl") and n[:-6].isascii() and n[:-6].isdigit()]
    except (OSError, ValueError):
        return []
    paths = [os.path.join(folder, n) for n in sorted(names, key=lambda n: (int(n[:-6]), n))]
    return [path for path in paths if is_regular(path)]


@contextmanager
def opened(path: str, *, start: int = 0) -> Iterator[str]:
    """A file to read for what a `Segment` or a `Place` names: itself, or for a folder of chunks these joined in a
    private temporary folder that is removed at the end.

    `start`: an offset from which on alone it will be read, with a cursor.  A joined file is as long as without it, but
    has a hole where neither what is read nor what proves the cursor stands.
    """
    if not os.path.isdir(path):
        yield path
        return
    with scratch_folder() as folder:
        whole = os.path.join(folder, UNCUT)
        with open(whole, "xb") as target:
            for chunk in chunks_in(path):
                with open_file(chunk) as source:
                    size = os.fstat(source.fileno()).st_size
                    skipped = min(max(0, start - _PROOF_BYTES - target.tell()), size)
                    source.seek(skipped)
                    target.seek(skipped, os.SEEK_CUR)
                    copy_bytes(source, target, size - skipped)
            target.truncate()  # as long as all chunks, where the hole is at its end
        yield whole


@contextmanager
def readable(place: Place, *, start: int = 0) -> Iterator[Place]:
    """The place with a `path` that can be read as one file, while the context lasts; `start` as for `opened`."""
    with opened(place.path, start=start) as path:
        yield place if path == place.path else replace(place, path=path)


def place_of(path: str) -> Place | None:
    """The conversation that a path means: one of its transcripts, their folder, or the conversation's own folder.

    None when there is no transcript.  A file of another name is taken as it is.  Outside `brain/<id>/…` the id is the
    name of the folder that holds the transcript.
    """
    if not encodable(path):
        return None
    path = os.path.abspath(path)
    if is_regular(path):
        logs = os.path.dirname(path)
        if os.path.basename(path) not in (UNCUT, CUT):
            return _place(logs, Look(path, lossy=False, joined=False, probe=None))
        found = look(logs)
        return _place(logs, found) if found else None
    for logs in (os.path.join(path, *LOGS), path):
        found = look(logs)
        if found:
            return _place(logs, found)
    return None


def recognises(place: Place) -> bool:
    """Whether the transcript is one of this client, by where it lies, by its name, or by its first records."""
    if place.brain is not None or place.joined or os.path.basename(place.path) in (UNCUT, CUT):
        return True
    probe = _probe(place.path)
    return probe is not None and probe.first_step is not None


def find(environ: Mapping[str, str], session: str) -> Place | None:
    """The conversation with this id under any of the applications; of several the one written last."""
    if not is_id(session):
        return None
    named = [logs_of(brain, session) for brain in brains(environ)]
    for _, logs in sorted(((written_s(logs), logs) for logs in named), reverse=True):
        found = look(logs)
        if found:
            return _place(logs, found)
    return None


def every(environ: Mapping[str, str], *, prefix: str = "") -> Iterator[Place]:
    """All conversations whose id begins with `prefix`, under every application, the one written last first.

    Names and times are read at once, a transcript only when its turn comes.
    """
    seen: list[tuple[float, str]] = []
    for brain in brains(environ):
        try:
            names = os.listdir(brain)
        except OSError:
            continue
        for name in names:
            if name.startswith(prefix) and is_id(name):
                logs = logs_of(brain, name)
                last_s = written_s(logs)
                if last_s > -inf:
                    seen.append((last_s, logs))
    for _, logs in sorted(seen, key=lambda pair: (-pair[0], pair[1])):
        found = look(logs)
        if found:
            yield _place(logs, found)


def history(app: str | None) -> list[Row]:
    """The prompts an application remembers, oldest first; only the last 512 KiB.  Empty when there is no such file."""
    if app is None:
        return []
    try:
        fd = os.open(os.path.join(app, "history.jsonl"), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return []
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return []
        start = max(0, status.st_size - HISTORY_BYTES)
        try:
            file.seek(start)
            lines = file.read(HISTORY_BYTES).split(b"\n")
        except OSError:
            return []
    rows = (_row(line) for line in lines[1 if start else 0 :])  # the first of a window is cut
    return [row for row in rows if row is not None]


def worked_in() -> Callable[[Place], list[str]]:
    """What tells the folders that the history names for a conversation, the last one last; the history of each
    application is read once, when it is first needed.
    """
    known: dict[str | None, dict[str, list[str]]] = {}

    def folders_of(place: Place) -> list[str]:
        if place.app not in known:
            found = known.setdefault(place.app, {})
            for row in history(place.app):
                if row.session and row.workspace:
                    found.setdefault(row.session, []).append(row.workspace)
        return known[place.app].get(place.session, [])

    return folders_of


def workspaces_of(place: Place, sessions: Iterable[str]) -> tuple[str, ...]:
    """The folders that the history names for any of these conversations, each once, in the order they came up."""
    wanted = set(sessions)
    named = (row.workspace for row in history(place.app) if row.session in wanted)
    return tuple(dict.fromkeys(workspace for workspace in named if workspace))


def denied(place: Place) -> tuple[str, ...]:
    """Files and folders of the application that are never shown: its own logs, stores, built-in skills, tokens."""
    if place.app is None:
        return ()
    own = ("history.jsonl", "log", "builtin", "conversations", "implicit", "antigravity-oauth-token")
    shared = ("oauth_creds.json", "google_accounts.json")
    above = os.path.dirname(place.app)
    return (*(os.path.join(place.app, name) for name in own), *(os.path.join(above, name) for name in shared))


def skills(place: Place) -> tuple[str, ...]:
    """The folders where a user's skills for this application may be."""
    if place.app is None:
        return ()
    above = os.path.dirname(place.app)
    folders = [os.path.join(above, "config", "skills"), os.path.join(above, "skills")]
    folders += [os.path.join(place.app, name) for name in ("skills", "global_skills")]
    folders += [os.path.join(above, app, "skills") for app in APPS]
    return tuple(dict.fromkeys(folders))


def _place(logs: str, found: Look) -> Place:
    above, name = os.path.split(logs)
    conversation, hidden = os.path.split(above)
    if (hidden, name) != LOGS:
        return Place(name, found.path, logs, None, None, found.lossy, found.joined)
    brain, session = os.path.split(conversation)
    if os.path.basename(brain) != "brain":
        return Place(session, found.path, logs, None, None, found.lossy, found.joined)
    return Place(session, found.path, logs, brain, os.path.dirname(brain), found.lossy, found.joined)


def _look(logs: str, flat: str, seen: scan.Probe | None) -> Look:
    """The look at a folder that has an uncut file."""
    if seen is not None and seen[0] != 0:
        chunks = os.path.join(logs, *CHUNKS)
        if _starts_earlier(chunks, than=seen):
            return Look(chunks, lossy=False, joined=True, probe=None)
    return Look(flat, False, False, seen)


def _probe(path: str) -> scan.Probe | None:
    try:
        with opened(path) as whole:
            return scan.probe(whole)
    except OSError:
        return None


def _starts_earlier(chunks: str, *, than: scan.Probe) -> bool:
    paths = chunks_in(chunks)
    first = _probe(paths[0]) if paths else None
    if first is None:
        return False
    if first.first_step is not None:
        return than.first_step is None or first.first_step < than.first_step
    # The first line is longer than a chunk.  What the flat file lacks at its start shows in the size.
    try:
        return sum(os.lstat(path).st_size for path in paths) > than.size
    except OSError:  # one is gone by now
        return False


def modified_s(place: Place) -> float:
    """When the newest transcript of a conversation was written; minus infinity when there is none any more."""
    return written_s(place.folder)


def written_s(logs: str) -> float:
    """When the newest transcript of a folder was written; minus infinity when there is none."""
    times = [-inf]
    for name in (UNCUT, CUT, os.path.join(*CHUNKS)):
        try:
            times.append(os.lstat(f"{logs}{os.sep}{name}").st_mtime)
        except (OSError, ValueError):
            continue
    return max(times)


def _row(line: bytes) -> Row | None:
    if not line.strip():
        return None
    try:
        row = json.loads(line.decode("utf-8", "replace"), parse_int=float)  # an int has a limit of digits
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    session, workspace, display, when = (row.get(k) for k in ("conversationId", "workspace", "display", "timestamp"))
    time_s = None
    if isinstance(when, (int, float)) and not isinstance(when, bool) and 0 < when < _TIME_LIMIT_S * 1000:
        time_s = when / 1000
    words = display.split(None, 1) if isinstance(display, str) else []
    return Row(
        session=session if isinstance(session, str) else None,
        workspace=workspace if isinstance(workspace, str) and workspace and encodable(workspace) else None,
        time_s=time_s,
        forks=bool(words) and words[0] in ("/fork", "/branch"),
    )
