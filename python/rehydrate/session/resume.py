"""A host's sessions, and going on with one of them.

A session is found by where work goes on, by its id, its path or its title.  Resuming it gives what a model is to be
sent, what the host had set, whether the last turn was interrupted, and a log that appends to the same file.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal
from uuid import uuid4

from rehydrate import __version__, scan
from rehydrate.entries import turns
from rehydrate.entries.log import member, text_member
from rehydrate.entries.messages import Call

from .errors import NotASession, SessionError
from .listing import places, written_ns
from .log import SessionLog
from .messages import user
from .place import Place, key_of, may_be_folder
from .presence import Holder, live
from .reading import FIRST_RECORDS, Session
from .views import Record, View
from .wire import closed, wire

CONTINUE = "Continue from where you left off."
"""What a model is told to go on after an interrupted turn."""
_PR = {"prNumber": int, "prUrl": str, "prRepository": str}
"""Of a pull request what is restored."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """A turn that did not come to its end, as a prompt that the model is to answer."""

    was: Literal["prompt", "turn"]
    """`prompt`: a request was not answered at all; `turn`: an answer was not finished."""
    prompt: Record
    """What the model is to answer: the user's request, or what says to go on."""
    is_written: bool
    """Whether the prompt stands in the file; else it is to be appended before the model is asked, as
    `abort(..., request=prompt)` does."""
    calls: tuple[Call, ...]
    """Calls that no result has come for: `id`, `name` and `input` of each.  A `wire` leaves them out, and whether they
    took effect is not known: after `SessionLog.abort` the model is told so."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What the host had set when the session ended.  None: not set, or set to what is not known here."""

    cwd: str
    """The folder to work in: there is one."""
    worktree: Record | None = None
    """The worktree that it is in: `worktreePath`, `originalCwd` and what else the host wrote."""
    mode: str | None = None
    permission_mode: str | None = None
    agent: str | None = None
    """The agent that was chosen."""
    pr: Record | None = None
    """The pull request: `prNumber`, `prUrl`, `prRepository`."""
    title: str = ""
    tag: str | None = None
    cost_usd: float | None = None
    """What it has cost so far, by the last record `{"type": "cost", "costUsd": ...}`."""
    dropped: tuple[str, ...] = ()
    """What could not be restored, a sentence each."""


def interruption_of(session: Session, *, tip: int | None = None) -> Interruption | None:
    """The last turn, when it did not come to its end; None when it did, when the user ended it, and where the
    conversation is asked to end with an answer.

    `tip`: the entry that it ends with, by its place in the file; None: the one that it does end with.
    """
    log = session.log
    if tip is not None and log.types[tip] == "assistant":
        return None
    entries = list(session.found("active", tip=tip).entries)
    said = [index for index in entries if not _goes_on(log.record(index))]
    state = turns.interruption(log, said)
    if state == "none":
        return None
    calls = tuple(turns.waiting(log, said))
    if state == "prompt":
        last = next(index for index in reversed(said) if log.types[index] == "user")
        return Interruption("prompt", log.record(last), True, calls)
    spoken = [index for index in entries if log.types[index] in ("user", "assistant")]
    if _goes_on(log.record(spoken[-1])):  # interrupted once more
        return Interruption("turn", log.record(spoken[-1]), True, calls)
    return Interruption("turn", user(CONTINUE, uuid=str(uuid4()), isMeta=True), False, calls)


class Resumed:
    """A session that goes on; as a context manager, or until `close`."""

    def __init__(
        self, session: Session, log: SessionLog, *, at: str | None, restored: Restored, others: tuple[Holder, ...]
    ) -> None:
        """Use `Sessions.resume`."""
        self.session = session
        """The session as it was when it was opened."""
        self.log = log
        """Appends to the same file, behind what the view ends with."""
        self.restored = restored
        """What the host had set."""
        self.others = others
        """Other processes that have the session open."""
        self._tip = None if at is None else session.place_of(at)
        self.view: View = session.view("active", at=at)
        """What the conversation goes on from."""

    def __enter__(self) -> "Resumed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Flushes and closes the log, and lets go of the file."""
        self.log.close()
        self.session.close()

    @cached_property
    def interruption(self) -> Interruption | None:
        """As `interruption_of` tells it, of what the view ends with."""
        return interruption_of(self.session, tip=self._tip)

    @cached_property
    def wire(self) -> list[Record]:
        """The messages to send next: they end with what the model is to answer when a turn was interrupted, else with
        an answer, so that the next request can follow.
        """
        with self.session.log.keeping():
            interrupted = self.interruption
            found = self.session.found("wire", tip=self._tip)
            more = [dict(interrupted.prompt)] if interrupted is not None and not interrupted.is_written else []
            messages, _ = wire([*self.session.spoken(found), *more])
        return list(closed(messages) if interrupted is None else messages)


class Sessions:
    """The sessions below a folder of the host's."""

    def __init__(
        self,
        root: str,
        *,
        version: str = __version__,
        kind: str = "interactive",
        flush_ms: int = 100,
        modes: Collection[str] | None = None,
        agents: Collection[str] | None = None,
    ) -> None:
        """`version`, `kind`, `flush_ms`: of the logs that are opened, as for `SessionLog`.  `modes`, `agents`: those
        that the host knows, others are not restored; None: any.
        """
        self.root = os.path.abspath(root)
        self._options = (version, kind, flush_ms)
        self._modes, self._agents = modes, agents

    def new(self, cwd: str, *, git_branch: str | None = None) -> SessionLog:
        """A session that begins.  Nothing is on disk before its first message."""
        return self._log(Place(self.root, key_of(cwd), str(uuid4())), cwd=cwd, git_branch=git_branch, tip=None)

    def all(self, *, cwd: str | None = None) -> list[Place]:
        """Every session that is not empty, the one written last first; `cwd`: those that were begun there."""
        return list(self._listed(cwd))

    def _listed(self, cwd: str | None) -> Iterator[Place]:
        """As `all`; a file is opened when it comes to it."""
        found = places(self.root, keys=None if cwd is None else [key_of(cwd)])
        return (place for place in found if cwd is None or _was_begun_in(place, cwd))

    def latest(self, cwd: str) -> Place | None:
        """The session that was written last of those begun in a folder; None when there is none.  Those that another
        process has open are passed over, and so are files that hold no conversation or cannot be read.
        """
        return next((place for place, _ in self._free(self._listed(cwd))), None)

    def find(self, name: str) -> Place:
        """The session with that path, id or title (whatever the case), in this order; of several the one written last.
        By its title none is found that another process has open.  Raises NotASession when there is none.
        """
        if written_ns(name) is not None:
            with suppress(ValueError):  # it is another file, which has the name of a session
                return Place.of(name)
        listed = self.all()
        found = next((place for place in listed if place.session_id == name), None)
        if found is None:
            asked = name.strip().casefold()
            found = next((place for place, session in self._free(listed) if session.title.casefold() == asked), None)
        if found is None:
            raise NotASession(f"there is no session with the path, id or title {name!r:.80} below {self.root}")
        return found

    def resume(
        self, place: Place, *, at: str | None = None, git_branch: str | None = None, leaving: SessionLog | None = None
    ) -> Resumed:
        """Go on with a session in its own file.

        `at`: uuid of an entry or message id of an answer with which the view ends, and which the next entry follows.
        `leaving`: the log that is left for it: flushed and closed first; what that raises leaves everything as it is.
        Raises what `Session.open` raises, and LookupError when there is no such entry.
        """
        if leaving is not None:
            leaving.close()
        session = Session.open(place.path)
        try:
            restored = restore(session, modes=self._modes, agents=self._agents)
            tip = session.leaf if at is None else session.log.entries[session.place_of(at)].uuid
            others = tuple(each for each in live(place) if each.pid != os.getpid())
            log = self._log(place, cwd=restored.cwd, git_branch=git_branch, tip=tip)
            return Resumed(session, log, at=at, restored=restored, others=others)
        except BaseException:
            session.close()
            raise

    def _log(self, place: Place, *, cwd: str, git_branch: str | None, tip: str | None) -> SessionLog:
        version, kind, flush_ms = self._options
        return SessionLog(place, cwd=cwd, version=version, git_branch=git_branch, kind=kind, flush_ms=flush_ms, tip=tip)

    def _free(self, places: Iterable[Place]) -> Iterator[tuple[Place, Session]]:
        """Those that hold a conversation and that no other process has open, each opened until the next one."""
        for place in places:
            if any(each.pid != os.getpid() for each in live(place)):
                continue
            try:
                session = Session.open(place.path)
            except (OSError, SessionError):
                continue
            with session:
                if session.leaf is not None:
                    yield place, session


def restore(
    session: Session, *, modes: Collection[str] | None = None, agents: Collection[str] | None = None
) -> Restored:
    """What the host had set.  `modes`, `agents`: those that are known; None: any."""
    dropped: list[str] = []
    said = session.metadata

    def known(kind: str, name: str, values: Collection[str] | None = None) -> str | None:
        value = said.get(kind, {}).get(name)
        if value is None or value == "":
            return None
        if isinstance(value, str) and (values is None or value in values):
            return value
        dropped.append(f"The {kind} {value!r:.80} is not known here.")
        return None

    link = said.get("pr-link", {})
    pr = {name: value for name, value in link.items() if name in _PR}
    if pr and not ("prUrl" in pr and all(type(value) is _PR[name] for name, value in pr.items())):
        dropped.append(f"The pr-link {pr!r:.80} is not known here.")
        pr = {}
    cost = said.get("cost", {}).get("costUsd")
    if cost is not None and not (type(cost) in (int, float) and 0 <= cost <= sys.float_info.max):
        dropped.append(f"The cost {cost!r:.80} is not known here.")
        cost = None
    cwd, worktree = _folder(session, dropped)
    known("custom-title", "customTitle")  # or it has another title, see `Session.title`
    return Restored(
        cwd,
        worktree,
        mode=known("mode", "mode", modes),
        permission_mode=known("permission-mode", "permissionMode", modes),
        agent=known("agent-setting", "agentSetting", agents),
        pr=pr or None,
        title=session.title,
        tag=known("tag", "tag"),
        cost_usd=None if cost is None else float(cost),
        dropped=tuple(dropped),
    )


def _folder(session: Session, dropped: list[str]) -> tuple[str, Record | None]:
    """The folder to work in, and the worktree when it is that."""
    state = dict(session.metadata.get("worktree-state", {}))
    worktree = member(state, "worktreeSession")
    path = text_member(worktree, "worktreePath")
    if not path and state.get("worktreeSession"):
        dropped.append(f"The worktree-state {state['worktreeSession']!r:.80} is not known here.")
    if path and _is_there(path):
        return path, worktree
    wanted = [text_member(worktree, "originalCwd"), session.cwd or ""] if path else [session.cwd or ""]
    found = next((each for each in wanted if _is_there(each)), None)
    gone = path or wanted[-1]
    if found is None:
        found = _existing(gone) if may_be_folder(gone) else os.getcwd()
    if found != gone:
        what = f"The {'worktree' if path else 'folder'} {gone:.200} is gone" if gone else "No folder is known"
        dropped.append(f"{what}: work goes on in {found}.")
    return found, None


def _is_there(path: str) -> bool:
    return may_be_folder(path) and os.path.isdir(path)


def _existing(path: str) -> str:
    """The nearest folder above that is there."""
    above = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    return above


def _goes_on(record: Record) -> bool:
    """Whether this tells the model to go on after an interrupted turn."""
    content = member(dict(record), "message").get("content")
    return record.get("isMeta") is True and record.get("type") == "user" and content == CONTINUE


def _was_begun_in(place: Place, cwd: str) -> bool:
    """Whether a session was begun in a folder, or was put under its key: several folders can have the same one."""
    try:
        rows = islice(scan.iter_records(place.path, ("cwd",)), FIRST_RECORDS)
        begun = next((row[0] for row in rows if isinstance(row[0], str)), None)
    except OSError:
        return False
    if begun is None or not may_be_folder(begun) or os.path.realpath(begun) == os.path.realpath(cwd):
        return True
    return key_of(begun) != place.key  # it was taken in for another folder than its own
