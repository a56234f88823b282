"""A session that is written: entries in, a line for each on disk.

Promises: what `append_durable` returned for is on disk, with all that was appended before it; nothing that `append`
took is dropped while the process lives; entries are in the file in the order in which they were given, each behind the
one that it follows.  A log is for any number of threads, and a session for any number of processes.

A process that ends as it should writes what still waits; one that is killed has lost what waited, `flush_ms` of it.
The child of a fork has none of what waits: it is the parent's to write.
"""

import atexit
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from rehydrate import __version__

from . import lookup, marks
from .batch import Batch
from .compacting import Seen, compact_seen
from .errors import SessionError
from .file import FORMAT, LogFile
from .place import Place
from .presence import Presence
from .queue import Queue
from .stamp import FILLED, MESSAGES, Entry, Stamp

_Put = Callable[[Queue, Sequence[bytes]], None]
"""How a batch gets into a queue."""


class _NotLookedUp:
    pass


_NOT_LOOKED_UP: Final = _NotLookedUp()


class SessionLog:
    """A session, or the log of one of its subagents, to append to; close it, or use it as a context manager.

    The file appears with the first entry of the user or the assistant; what was appended before is held, and stands
    before it.  Of a file that is there already, the first entry follows where its conversation ends.

    An append raises Locked when other processes keep the file for more than 5 seconds, NewerVersion when a later
    version of this library has written it, ValueError or TypeError for what is no entry, and the OSError of the system
    (a full disk, no permission); what it was given is then not appended.
    """

    def __init__(
        self,
        place: Place,
        *,
        cwd: str,
        version: str = __version__,
        git_branch: str | None = None,
        kind: str = "interactive",
        flush_ms: int = 100,
        tip: str | None = None,
        agent_id: str | None = None,
    ) -> None:
        """`cwd` (made absolute), `version` (of the program that writes) and `git_branch` become members of the entries;
        None leaves it out.  `kind`: what others are told that has the session open.  `flush_ms`: how long an entry may
        wait to be written; 10 suits a remote mirror.  `tip`: uuid of the entry that the next one follows; None: where
        the conversation in the file ends.  `agent_id`: of the subagent whose log it is; None for the session's own.
        """
        cwd = os.path.abspath(cwd)  # it is read from anywhere
        self.place = place
        """Where the session is."""
        self.session_id = place.session_id
        """Its id."""
        self.agent_id = agent_id
        """Of the subagent whose log it is; None for the session's own."""
        self.path = place.path if agent_id is None else place.agent_path(agent_id)
        """The file, which need not be there yet."""
        self._stamp = Stamp(
            session_id=self.session_id, agent_id=agent_id, cwd=cwd, version=version, git_branch=git_branch
        )
        self._kind = kind
        self._make_agents = partial(
            SessionLog, place, cwd=cwd, version=version, git_branch=git_branch, flush_ms=flush_ms
        )
        file = LogFile(self.path, root=place.root, head=lambda: self._stamp.head(FORMAT))
        self._queue = Queue(file, flush_s=flush_ms / 1_000)
        self._lock = threading.RLock()
        """Held by whoever appends: nothing may follow an entry before it is known to be taken."""
        self._has_begun = _size(self.path) > 0
        self._held: list[bytes] = []
        self._tip: str | _NotLookedUp | None = tip if tip is not None or not self._has_begun else _NOT_LOOKED_UP
        self._known: set[str] | None = None
        """Uuids that are written; None until somebody gives one."""
        self._agents: dict[str, SessionLog] = {}
        self._presence: Presence | None = None
        self._is_closed = False
        _open.add(self)
        if self._has_begun:
            self._be_present()

    def __enter__(self) -> "SessionLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tip(self) -> str | None:
        """Uuid of the entry that the next one follows; None before the first."""
        with self._lock:
            if isinstance(self._tip, _NotLookedUp):
                self._tip = lookup.end(self.path, is_agents=self.agent_id is not None)
            return self._tip

    def _look_up(self, end: Callable[[], str | None]) -> None:
        """Let somebody say what the tip is who can tell it without a look through all of the file.  `end` is asked only
        where it is not known yet; what it raises is raised.
        """
        with self._lock:
            if isinstance(self._tip, _NotLookedUp):
                self._tip = end()

    # -- appending ----------------------------------------------------------------------------------------------------

    def append(self, entries: Entry | Iterable[Entry]) -> str | None:
        """Append one entry or several, to be written soon; gives the tip behind them.

        An entry is a mapping with a `type`.  Of a message (user, assistant, attachment, system) what is missing is
        filled in: `uuid`, `timestamp` and the like, and as `parentUuid` the entry before it.  One whose uuid is written
        already is not written again; the next one follows it.  One with another `agentId` than the log's goes to that
        agent's log.
        """
        return self._append(entries, Queue.put)

    def append_durable(self, entries: Entry | Iterable[Entry]) -> str | None:
        """As `append`, and all of it is on disk when this returns, with all that was appended before; but a session
        that has not begun is still held.
        """
        return self._append(entries, Queue.put_durable)

    def flush(self) -> None:
        """Write everything that waits.  What it raises leaves it waiting."""
        with self._lock:
            logs = [self, *self._agents.values()]
        for log in logs:
            log._queue.flush()

    def close(self) -> None:
        """Flush, and let go of the session.  What it raises leaves the log open."""
        with self._lock:
            if self._is_closed:
                return
            for agent in self._agents.values():
                agent.close()
            self._queue.close()
            self._is_closed = True
            presence, self._presence = self._presence, None
            if presence is not None:
                presence.end()
            _open.discard(self)

    def _append(self, entries: Entry | Iterable[Entry], put: _Put) -> str | None:
        given = (entries,) if type(entries) is dict or isinstance(entries, Mapping) else tuple(entries)
        with self._lock:
            if len(given) == 1 and self._is_plain(given[0]):
                return self._append_plain(given[0], put)
            batch = self._batch(given)
            self._take(batch, put)
            return batch.tip if batch.has_tip else self.tip

    def _is_plain(self, entry: Entry) -> bool:
        """Whether it is a message that says nothing of where it stands, and only has to be written."""
        if type(entry) is not dict or not self._has_begun or self._held or self._is_closed:
            return False
        kind = entry.get("type")
        return type(kind) is str and kind in MESSAGES and FILLED.isdisjoint(entry)

    def _append_plain(self, entry: Entry, put: _Put) -> str:
        """What `_append` does with nearly every entry, in half the code: after a wait for the disk all of it has left
        the caches of the processor, and to fetch it again takes several times as long as to run it.
        """
        uuid = self._stamp.new_uuid()
        put(self._queue, [self._stamp.plain(entry, parent=self.tip, uuid=uuid)])
        self._tip = uuid
        if self._known is not None:
            self._known.add(uuid)
        if self._presence is None:
            self._be_present()
        return uuid

    def _batch(self, given: Iterable[Entry]) -> Batch:
        """What is to be written, for agents too; nothing is changed yet."""
        if self._is_closed:
            raise ValueError(f"the log of {self.path} is closed")
        batch = Batch(self)
        for entry in given:
            batch.add(entry)
        for agent_id, theirs in batch.elsewhere.items():
            agent = self._agent(agent_id)
            batch.agents.append((agent, agent._batch(theirs)))
        return batch

    def _take(self, batch: Batch, put: _Put) -> None:
        if not (self._has_begun or batch.begins):
            self._held += batch.bodies
        else:
            if batch.bodies or put is Queue.put_durable:
                put(self._queue, [*self._held, *batch.bodies] if self._held else batch.bodies)
            self._held = []
            self._has_begun = True
            if self._presence is None:
                self._be_present()
        if batch.has_tip:
            self._tip = batch.tip
        if self._known is not None:
            self._known |= batch.uuids
        for agent, theirs in batch.agents:
            agent._take(theirs, put)

    def _agent(self, agent_id: str) -> "SessionLog":
        agent = self._agents.get(agent_id)
        if agent is None or agent._is_closed:
            agent = self._agents[agent_id] = self._make_agents(agent_id=agent_id)
        return agent

    def _be_present(self) -> None:
        if self.agent_id is None:
            with contextlib.suppress(OSError):  # an aid to others, for which no entry may be lost
                self._presence = Presence(self.place, kind=self._kind)

    def _is_known(self, uuid: str) -> bool:
        if self._known is None:
            self._queue.flush()
            self._known = lookup.uuids(self.path) | {json.loads(body).get("uuid") for body in self._held}
        return uuid in self._known

    # -- about what was appended --------------------------------------------------------------------------------------

    def retract(self, uuid: str, *, reason: str = "") -> None:
        """Give an entry up, as after a failed attempt: it stays in the file and leaves every view; what follows it
        stays.  When it is the tip, the next entry follows what it followed and was not given up.  Raises ValueError
        when there is no such entry, and for a compaction and its summary: nothing else leads to what came before.
        """
        with self._lock:
            self._queue.flush()
            found = lookup.above(self.path, uuid)
            if found is None:
                raise ValueError(f"there is no entry {uuid} in {self.path}")
            if found.is_compaction:
                raise ValueError(
                    f"the entry {uuid} of {self.path} is a compaction, which cannot be taken back; to undo it, let the "
                    "next request follow what came before it (parentUuid)"
                )
            tip = found.parent if uuid == self.tip else self.tip
            self._append(marks.tombstone(uuid, reason), Queue.put)
            self._tip = tip

    def abort(self, reason: str, *, request: Entry | None = None) -> str:
        """End a turn that was interrupted: calls without a result get one that says so, and behind them stands a mark
        of the interruption, or the `request` that is to be answered instead, which may be written already.  Durable;
        gives the tip behind it.
        """
        with self._lock:
            self._queue.flush()
            calls = lookup.open_calls(self.path, tip=self.tip, is_agents=self.agent_id is not None)
            answers = [marks.unanswered(calls, reason)] if calls else []
            return self._append([*answers, request or marks.interruption(reason)], Queue.put_durable) or ""

    def compact(
        self,
        summary: str,
        *,
        trigger: str,
        pre_tokens: int | None = None,
        post_tokens: int | None = None,
        messages_summarized: int | None = None,
        user_context: str | None = None,
        preserve: Sequence[str] = (),
        checkpoint: Mapping[str, object] | None = None,
        seen: Seen | None = None,
    ) -> str:
        """Mark a compaction: from here on a model is sent the summary in the place of what came before, and the
        entries to `preserve` behind it, in that order.  Durable, and what came before is on disk first; gives the uuid
        of the boundary.

        `trigger`: `manual`, `auto`, or what else led to it.  `checkpoint`: kept as it is.  None is left out.  Raises
        ValueError when there is no such entry to preserve; then nothing is marked.

        `seen`: how the session was when the summary was begun; None: that is not asked.  What was appended since is
        preserved, too; raises Compacted, and marks nothing, when another compaction was marked since, or the
        conversation has gone on from elsewhere.  Where the one that was marked has a checkpoint of the same `id`, it is
        this one, and its uuid is given.
        """
        said = {
            **{"trigger": trigger, "preTokens": pre_tokens, "postTokens": post_tokens},
            **{"messagesSummarized": messages_summarized, "userContext": user_context},
        }
        with self._lock:
            uuid, anchor = self._stamp.new_uuid(), self._stamp.new_uuid()
            self._append((), Queue.put_durable)
            if seen is not None and self._has_begun:
                return compact_seen(self, summary, seen=seen, said=said, preserve=preserve, checkpoint=checkpoint)
            lacking = set(preserve) - lookup.uuids(self.path) if preserve else set()
            if lacking:  # a reader would keep none of them
                raise ValueError(f"there is no entry {min(lacking)} in {self.path}")
            mark = marks.boundary(
                uuid,
                summary=summary,
                after=self.tip,
                said=said,
                preserve=preserve,
                anchor=anchor,
                checkpoint=checkpoint,
            )
            self._append([mark, marks.summary(summary, uuid=anchor, parent=uuid)], Queue.put_durable)
            return uuid

    def _gone_on(self, tip: str | None, uuids: Collection[str]) -> None:
        """Something was written that is the tip now; None: what that is, is to be looked up."""
        self._tip = _NOT_LOOKED_UP if tip is None else tip
        if self._known is not None:
            self._known.update(uuids)

    def snip(self, uuids: Iterable[str], *, note: str = "") -> str:
        """Take entries out of what a model is sent; a person still sees them.  Gives the uuid of the mark."""
        return self._append(marks.snip(list(uuids), note), Queue.put) or ""

    def replace_content(self, replacements: Iterable[Mapping[str, object]]) -> None:
        """Put something in the place of results: `messageUuid`, `toolUseId`, `blockIndex`, `kind`, `replacement`."""
        rows = [dict(row) for row in replacements]
        self._append({"type": "content-replacement", "replacements": rows}, Queue.put)

    def sidechain(
        self, agent_id: str, *, type: str, description: str = "", worktree: str | None = None, inherits: bool = False
    ) -> "SessionLog":
        """The log of a new subagent of a session, or of a subagent; it is closed with that.  Its file, and what it is,
        appear with its first message.

        `type`, `description`: what it is, for whoever goes on with it.  `worktree`: the folder that it works in; None:
        that of the session.  `inherits`: it is a fork: it goes on from what was said so far, and what it is asked is to
        be appended as the next entry of the user.  Raises ValueError for an id that is no plain name, FileExistsError
        when there is such an agent, SessionError when a fork would fork or there is nothing to go on from, and what
        `flush` raises.
        """
        from .agents import sidechain  # which needs this module

        return sidechain(self, agent_id, type=type, description=description, worktree=worktree, inherits=inherits)

    # -- the ends of processes ----------------------------------------------------------------------------------------

    def _at_exit(self) -> None:
        try:
            self._queue.flush()
        except (OSError, SessionError) as error:  # nobody else is there to be told
            print(f"rehydrate: {len(self._queue)} entries could not be written: {error}", file=sys.stderr)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        if self._held:
            self._held, self._tip = [], None
        self._stamp.after_fork()
        self._queue.after_fork()
        if self._presence is not None:
            self._presence.after_fork()
            self._presence = None


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


_open: set[SessionLog] = set()
"""Those that are not closed: what waits in them is written at the end of the interpreter."""


def _at_exit() -> None:
    for log in list(_open):
        log._at_exit()


def _after_fork() -> None:
    for log in list(_open):
        log._after_fork()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
