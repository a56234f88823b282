"""Subagents: each with a log of its own below the session, and a small file that says what it is.

A subagent begins empty, or as a fork of the conversation that starts it: then its file names the entry up to which it
shares that conversation, and holds none of it.  What a model is sent for a fork begins byte for byte as what it is sent
for the conversation, so a provider's prompt cache serves both; the last message alone is another one.  The calls that
were open where it was forked have one fixed result in every fork, so that forks of one place differ only in what they
are asked.

The conversation itself holds the call that started the subagent, and what comes back for it.
"""

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rehydrate.entries import messages, metadata
from rehydrate.entries import view as rules
from rehydrate.entries.turns import waiting
from rehydrate.paths import is_id, open_file

from .batch import Batch
from .errors import SessionError
from .log import SessionLog
from .messages import result, user
from .meta import read_meta, write_meta
from .place import AGENT, Place
from .queue import Queue
from .reading import Session
from .stamp import Entry
from .views import Gap, Record, View
from .wire import wire

FORK_RESULT = "[This agent was forked while the call ran. Its result goes to the conversation it was forked from.]"
"""What a fork is told of every call that was open: the same in all of them."""
REFERENCE = "fork-context-ref"
"""The type of the record that names what a fork shares."""

_JSONL = ".jsonl"


class AgentLog(SessionLog):
    """A subagent's log; `sidechain` and `resume_agent` make it."""

    def __init__(
        self,
        place: Place,
        agent_id: str,
        *,
        is_fork: bool,
        about: Mapping[str, object] | None,
        tip: str | None = None,
        **options: Any,
    ) -> None:
        """`about`: what is written of it with its first message; None: that is there already."""
        super().__init__(place, agent_id=agent_id, tip=tip, **options)
        self.is_fork = is_fork
        """It shares what came before it with the conversation that started it."""
        self._about = about

    def _take(self, batch: Batch, put: Callable[[Queue, Sequence[bytes]], None]) -> None:
        if self._about is not None and batch.begins:
            write_meta(self.place.agent_meta_path(self.agent_id or ""), self._about)
            self._about = None
        super()._take(batch, put)

    def _hold(self, entries: Sequence[Entry]) -> None:
        """To be written before the first message, which none of these is."""
        batch = Batch(self)
        for entry in entries:
            batch.add(entry)
        self._held += batch.bodies
        self._tip = batch.tip


def sidechain(
    log: SessionLog,
    agent_id: str,
    *,
    type: str,
    description: str = "",
    worktree: str | None = None,
    inherits: bool = False,
) -> SessionLog:
    """What `SessionLog.sidechain` does."""
    path = log.place.agent_path(agent_id)
    worktree = None if worktree is None else os.path.abspath(worktree)
    with log._lock:
        if _has_line(path) or agent_id in log._agents:
            raise FileExistsError(errno.EEXIST, "there is such an agent already", path)
        held = _shared(log) if inherits else []
        about = {"agentType": type, "description": description, "worktreePath": worktree}
        known = {name: value for name, value in about.items() if value is not None}
        options = {**log._make_agents.keywords, **({} if worktree is None else {"cwd": worktree})}
        made = AgentLog(log.place, agent_id, is_fork=inherits, about=known, **options)
        made._hold(held)
        log._agents[agent_id] = made
        return made


def _shared(log: SessionLog) -> list[Entry]:
    """What the file of a fork of a conversation begins with."""
    if log.agent_id is not None and _is_fork(log):
        raise SessionError(f"the agent {log.agent_id} is a fork, and a fork cannot fork", path=log.path)
    log.flush()
    if log.tip is None or not os.path.exists(log.path):
        raise SessionError(f"there is nothing to go on from: {log.path} has no message yet", path=log.path)
    with Session.open(log.path) as session:
        tip = session.place_of(log.tip)
        found = session.found("active", tip=tip)
        calls = _open_calls(session, found)
        copied = {session.log.entries[index].uuid for index in found.entries}
        rows = [row for row in session.replacements if not row.get("messageUuid") or row["messageUuid"] in copied]
    reference = {"type": REFERENCE, "parentSessionId": log.session_id, "parentLastUuid": log.tip}
    if log.agent_id is not None:
        reference["parentAgentId"] = log.agent_id
    entries: list[Entry] = [reference]
    if rows:
        entries.append({"type": "content-replacement", "replacements": rows})
    if calls:
        entries.append(user([result(each.id, FORK_RESULT) for each in calls]))
    return entries


def _is_fork(log: SessionLog) -> bool:
    if isinstance(log, AgentLog):
        return log.is_fork
    log.flush()
    if not os.path.exists(log.path):
        return False
    with Session.open(log.path) as session:
        return REFERENCE in session.metadata


def _open_calls(session: Session, found: rules.View) -> list[messages.Call]:
    """The calls of the last answer that no result has come for; none where somebody has spoken since."""
    log = session.log
    ids: set[str] = set()
    answer: str | None = None
    for index in reversed(found.entries):
        record = log.record(index)
        if log.types[index] == "assistant":
            name = messages.message_id(record)
            if ids and (name is None or name != answer):
                break
            answer = name
            ids.update(call.id for call in messages.calls(record))
            if not ids:
                break
        elif log.types[index] == "user" and not (messages.only_results(record) or messages.is_meta(record)):
            break
    return [call for call in waiting(log, found.entries) if call.id in ids]


# -- reading one ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResumedAgent:
    """A subagent that goes on; its log is closed with that of its session."""

    log: SessionLog
    """Appends to the agent's file."""
    wire: View
    """The messages for a provider: what it shares with the session first, calls without a result left out."""
    about: Mapping[str, object]
    """What its `.meta.json` says: `agentType`, `description`, `worktreePath` and what else the host wrote."""
    cwd: str
    """The folder that it works in."""
    dropped: tuple[str, ...]
    """What could not be restored, a sentence each."""


def resume_agent(log: SessionLog, agent_id: str) -> ResumedAgent:
    """Go on with a subagent of a session that is open, in the agent's own file.

    It works in its worktree; where that is gone, or it has none, in the folder of the session.  Raises ValueError for
    an id that is no plain name, and what `flush` and `Session.open` raise.
    """
    place = log.place
    log.flush()
    view = agent_wire(place, agent_id)
    about = read_meta(place.agent_meta_path(agent_id))
    options = dict(log._make_agents.keywords)
    dropped = []
    worktree = about.get("worktreePath")
    if isinstance(worktree, str) and os.path.isdir(worktree):
        options["cwd"] = worktree
    elif worktree:
        dropped.append(f"The worktree {worktree!r:.200} is gone: work goes on in {options['cwd']}.")
    with Session.open(place.agent_path(agent_id)) as session:
        tip, is_fork = session.leaf, REFERENCE in session.metadata
    with log._lock:
        made = log._agents.get(agent_id)
        if made is None or made._is_closed:
            made = log._agents[agent_id] = AgentLog(place, agent_id, is_fork=is_fork, about=None, tip=tip, **options)
    return ResumedAgent(made, view, about, str(options["cwd"]), tuple(dropped))


def agents_of(place: Place) -> dict[str, dict[str, object]]:
    """The subagents of a session that have a message, by id, and what is known of each.  Empty where there are none."""
    folder = os.path.dirname(place.agent_path("any"))
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return {}
    ids = [each[len(AGENT) : -len(_JSONL)] for each in names if each.startswith(AGENT) and each.endswith(_JSONL)]
    begun = [each for each in ids if is_id(each) and _has_line(place.agent_path(each))]
    return {each: read_meta(place.agent_meta_path(each)) for each in begun}


def _has_line(path: str) -> bool:
    """Whether a file has a whole line; one that has none is of a process that was killed as it began."""
    try:
        with open_file(path) as file:
            return any(b"\n" in piece for piece in iter(partial(file.read, 4096), b""))
    except FileNotFoundError:
        return False


def agent_wire(place: Place, agent_id: str) -> View:
    """What a provider is sent for a subagent, as its file stands: of a fork first what it shares.

    Raises ValueError for an id that is no plain name, and what `Session.open` raises for the agent's file.  Where the
    other file is gone, what is shared is missing, and that is a gap.
    """
    with ExitStack() as files:
        own = files.enter_context(Session.open(place.agent_path(agent_id)))
        found = own.found("wire", tip=None)
        said = dict(own.metadata.get(REFERENCE, {}))
        parent = _parent(files, place, said)
        mine = list(own.spoken(found))
        shared: list[dict[str, Any]] = []
        tip = None if parent is None or found.boundary is not None else _fork_point(own, found, parent, said)
        if parent is not None:
            rows = metadata.replacements(own.scope, agent_id=own.agent_id)
            theirs = {key: row for key, row in _replacements(parent, agent_id).items() if key not in rows}
            mine = [metadata.replaced(record, theirs, folder=parent.results_folder) for record in mine]
            if tip is not None:
                held = {own.log.entries[index].uuid for index in found.entries}
                given = _given(parent, tip, held=held, answered=_answered(mine))
                shared = [metadata.replaced(record, rows, folder=own.results_folder) for record in given]
        gaps = _gaps(own, found, is_shared=tip is not None, should_be=bool(said) and found.boundary is None)
        sent, unfit = wire([*shared, *mine])
        view = View("wire", sent.__getitem__, range(len(sent)))
        view.uuids = tuple(str(record.get("uuid")) for record in (*shared, *mine))
        view.boundary = None if found.boundary is None else own.log.entries[found.boundary].uuid
        view.gaps = gaps
        view.left_out = (*((own.log.entries[at].uuid or "", why) for at, why in found.left_out), *unfit)
        return view


def _parent(files: ExitStack, place: Place, said: Record) -> Session | None:
    """The conversation that started the agent; None where it cannot be read."""
    agent_id = said.get("parentAgentId")
    try:
        path = place.agent_path(agent_id) if isinstance(agent_id, str) else place.path
        return files.enter_context(Session.open(path))
    except (OSError, ValueError, SessionError):
        return None


def _replacements(parent: Session, agent_id: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What stands in the place of results by the word of the other file: of its own, and of the agent's."""
    own = metadata.replacements(parent.scope, agent_id=parent.agent_id)
    return {**own, **metadata.replacements(parent.scope, agent_id=agent_id)}


def _fork_point(own: Session, found: rules.View, parent: Session, said: Record) -> int | None:
    """The entry of the other conversation up to which the agent shares it: the one that it says, or that its first
    entry follows; None where it shares nothing.
    """
    named = said.get("parentLastUuid")
    if named is None and found.entries:
        first = own.log.entries[found.entries[0]]
        named = None if own.log.at(first.parent) is not None else first.parent
    return parent.log.at(named)


def _given(
    parent: Session, tip: int, *, held: Collection[str | None], answered: Collection[str]
) -> Iterator[dict[str, Any]]:
    """The records that are shared, with the calls that the agent has an answer to; none where its file holds copies of
    them.
    """
    log = parent.log
    found = parent.found("active", tip=tip)
    if any(log.entries[index].uuid in held for index in found.entries):
        return
    gone = rules.unsendable(log, found.entries)
    kept = [
        index
        for index in found.entries
        if index not in gone or any(call.id in answered for call in messages.calls(log.record(index)))
    ]
    yield from parent.spoken(replace(found, entries=tuple(kept)))


def _gaps(own: Session, found: rules.View, *, is_shared: bool, should_be: bool) -> tuple[Gap, ...]:
    """Where the agent's line of descent is broken: not where it goes on in the other file, but where it should."""
    uuids = [entry.uuid or "" for entry in (own.log.entries[gap.at] for gap in found.gaps)]
    gaps = tuple(Gap(uuid, gap.why) for uuid, gap in zip(uuids, found.gaps, strict=True))
    first = own.log.entries[found.entries[0]].uuid or "" if found.entries else ""
    if is_shared or should_be:
        gaps = tuple(gap for gap in gaps if gap.uuid != first)
    return gaps if is_shared or not should_be else (Gap(first, "missing"), *gaps)


def _answered(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """The calls that have a result in these records."""
    return {found.id for record in records for found in messages.results(dict(record))}
