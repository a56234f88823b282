"""Sessions that begin with what another one has said: a branch, written at once, and a fork, written when it goes on.

Both are copies: the line of descent up to an entry, past every compaction, with the uuids that it has, under a session
id of its own.  Each entry tells in `forkedFrom` which one of which session it was.  What was taken back, subagents'
entries and what was said about the session are left out.  What stands in the place of results comes along, and so do
records that name in `after` an entry that is copied: they are of the conversation (but for those that hold for one
session alone).  The file that is copied is never
written to.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring_ascii
from uuid import uuid4

from rehydrate import __version__, scan
from rehydrate.entries import metadata
from rehydrate.entries import view as rules
from rehydrate.entries.chain import descent
from rehydrate.entries.compaction import preserved
from rehydrate.entries.log import Log, member, text_member
from rehydrate.entries.messages import calls, results
from rehydrate.entries.scope import boundaries
from rehydrate.scan import Entry

from .batch import Batch
from .errors import DamagedLine, NotASession, SessionError
from .file import FORMAT
from .line import bare, sealed
from .log import SessionLog
from .marks import tombstone
from .place import Place, key_of
from .queue import Queue
from .reading import Session
from .splice import with_members
from .stamp import MESSAGES, OF_ONE_SESSION, Stamp
from .whole import Staging, finish

TITLE_CHARS = 200
_BRANCH = re.compile(r"(.*) \(branch(?: ([0-9]{1,6}))?\)", re.S)


def branch(session: Session, *, at: str | None = None) -> Place:
    """Write a new session beside this one, which goes up to an entry; gives its place.

    `at`: uuid of that entry, or the message id of an answer; None: where the conversation ends.  Raises LookupError
    when there is no such entry, NotASession when nobody has said anything, SessionError for a subagent's log,
    DamagedLine when the file is changed meanwhile, and the OSError of the system; then nothing was written.
    """
    copy = _Copy(session, _tip(session, at))
    title: dict[str, object] = {
        "type": "custom-title",
        "customTitle": _title(session.title),
        "sessionId": copy.place.session_id,
    }
    copy.write([title])
    return copy.place


def fork(
    session: Session,
    *,
    at: str | None = None,
    cwd: str | None = None,
    version: str = __version__,
    git_branch: str | None = None,
    kind: str = "interactive",
    flush_ms: int = 100,
) -> SessionLog:
    """A new session that goes on from this one.  Nothing is written before its first message; then the copy is, too.

    `at`: as for `branch`.  `cwd`: the folder that it works in; None: that of the session, but not its worktree, which
    stays the session's.  The others are those of `SessionLog`.  Raises what `branch` raises.
    """
    tip = session.log.entries[_tip(session, at)].uuid
    mine = Session.open(session.path)  # until the copy is written, whatever becomes of the caller's
    try:
        copy = _Copy(mine, _at(mine, tip), cwd=cwd)
        folder = cwd or _without_worktree(mine) or os.getcwd()
        return _Fork(copy, cwd=folder, version=version, git_branch=git_branch, kind=kind, flush_ms=flush_ms)
    except BaseException:
        mine.close()
        raise


def _tip(session: Session, at: str | None) -> int:
    """The entry that a copy ends with."""
    if session.agent_id is not None:
        why = "is a subagent's log; take the session that it belongs to"
        raise SessionError(f"{session.path} {why}", path=session.path)
    if at is not None:
        return session.place_of(at)
    if session.leaf is None:
        raise NotASession(f"{session.path} cannot be copied: nobody has said anything in it", path=session.path)
    return _at(session, session.leaf)


def _at(session: Session, uuid: str | None) -> int:
    index = session.log.at(uuid)
    if index is None:
        raise LookupError(f"{session.path} holds no entry with the uuid {uuid}")
    return index


def _without_worktree(session: Session) -> str | None:
    """The folder that a session is in, of one in a worktree the one that it came from."""
    worktree = member(dict(session.metadata.get("worktree-state", {})), "worktreeSession")
    return text_member(worktree, "originalCwd") or session.cwd


def _with_preserved(session: Session, found: rules.View) -> list[int]:
    """The entries of a view, and before each compaction what it kept of other branches."""
    marks, seen = frozenset(found.compactions), set(found.entries)
    entries: list[int] = []
    for index in found.entries:
        if index in marks:
            kept = [each for each in preserved(session.scope, index).entries if each not in seen]
            entries += kept
            seen.update(kept)
        entries.append(index)
    return entries


class _Copy:
    """What a new session begins with."""

    def __init__(self, session: Session, tip: int, *, cwd: str | None = None) -> None:
        """`tip`: the entry that it ends with.  `cwd`: the folder that it is to be found under; None: as the session."""
        source = Place.of(session.path)
        self.session = session
        self.place = Place(source.root, source.key if cwd is None else key_of(cwd), str(uuid4()))
        self._cwd = cwd or session.begun_in or ""
        self.tip = session.log.entries[tip].uuid
        found = session.found("scrollback", tip=tip)
        self._entries = _with_preserved(session, found)
        self._line = frozenset(found.entries)
        """Those of them that are on the line of descent, or beside it."""
        self._chain = frozenset(descent(session.scope, tip).entries)
        """The line of descent itself."""
        self._gaps = frozenset(gap.at for gap in found.gaps)
        self._copied = bytearray(len(session.log))
        for index in self._entries:
            self._copied[index] = 1
        ids = scan.iter_records(session.path, ("sessionId",))
        self._other_ids = {offset: session_id for session_id, offset, _ in ids if session_id != session.id}
        """The session ids of records, by offset, that are not what one expects."""

    def holds(self, uuid: str) -> bool:
        """Whether an entry with that uuid is copied."""
        index = self.session.log.at(uuid)
        return index is not None and self._copied[index] == 1

    def write(self, more: Sequence[dict[str, object]] = ()) -> None:
        """Write the new session; `more` behind what is copied."""
        with Staging(self.place.root) as staging:
            with staging.create("") as target:
                target.writelines(sealed(body, seq) for seq, body in enumerate(self._bodies(more), 1))
                finish(target)
            staging.move(self.place)

    def _bodies(self, more: Sequence[dict[str, object]]) -> Iterator[bytes]:
        session_id = self.place.session_id
        stamp = Stamp(session_id=session_id, agent_id=None, cwd=self._cwd, version=__version__, git_branch=None)
        yield stamp.head(FORMAT)
        yield from self._messages()
        for record in [*self._retractions(), *self._replacements(), *self._notes(), *more]:
            yield stamp.metadata(record)

    def _messages(self) -> Iterator[bytes]:
        """The entries, each with its new parent where that is another one now."""
        log = self.session.log
        parents, copied, expected = log.parents, self._copied, self.session.id
        written = bytearray(len(log))
        marks = frozenset(boundaries(self.session.scope))
        callers = _Callers(log)
        own, source = text_of(self.place.session_id), text_of(expected)
        before: str | None = None
        on_chain: str | None = None  # the last one that is on the line of descent itself
        for index in self._entries:
            entry = log.entries[index]
            uuid = entry.uuid or ""
            values = {"sessionId": own, "forkedFrom": b'{"sessionId":%b,"messageUuid":%b}' % (source, text_of(uuid))}
            known: dict[str, object] = {"sessionId": expected, "forkedFrom": None}
            if entry.offset in self._other_ids:
                known["sessionId"] = self._other_ids[entry.offset]
            parent = parents[index]
            if index in marks:
                named = log.at(log.record(index).get("logicalParentUuid"))
                if named is None or not copied[named]:
                    values["logicalParentUuid"] = b"null" if before is None else text_of(before)
            if entry.parent is not None and (parent < 0 or not written[parent] or index in self._gaps):
                if index in marks:  # what it follows is told by the other member
                    above = None
                elif index in self._chain:
                    above = on_chain
                elif index in self._line:  # beside it, where its own parent may stand anywhere
                    above = callers.of(index) or before
                else:
                    above = self._above(index, before)
                values["parentUuid"] = b"null" if above is None else text_of(above)
                known["parentUuid"] = entry.parent
            yield with_members(bare(self._read(entry)), values, known=known)
            written[index] = 1
            callers.add(index)
            before = uuid if index in self._line else before
            on_chain = uuid if index in self._chain else on_chain

    def _read(self, entry: Entry) -> bytes:
        raw = self.session.log.read(entry)
        if len(raw) < entry.length or not (raw.startswith(b"{") and raw.endswith(b"}")):
            path, at = self.session.path, entry.offset
            raise DamagedLine(f"{path} was changed at byte {at} while it was copied", path=path, offset=at)
        return raw

    def _above(self, index: int, before: str | None) -> str | None:
        """The nearest entry above that is copied; the one before where there is none."""
        log = self.session.log
        seen = {index}
        at = log.parent(index)
        while at is not None and at not in seen:
            if self._copied[at]:
                return log.entries[at].uuid
            seen.add(at)
            at = log.parent(at)
        return before

    def _retractions(self) -> list[dict[str, object]]:
        """That entries which a compaction kept were taken back; without them it would have kept nothing."""
        log, gone = self.session.log, self.session.scope.retracted
        return [tombstone(log.entries[index].uuid or "", "") for index in self._entries if index in gone]

    def _replacements(self) -> list[dict[str, object]]:
        """What stands in the place of results of the entries that are copied; each with its text, as files that hold
        results stay with the other session.
        """
        folder = self.session.results_folder
        rows = []
        for (uuid, _), row in metadata.replacements(self.session.scope).items():
            if not uuid or self.holds(uuid):
                rows.append({**row, "replacement": metadata.substitute(row, folder)})
        return [{"type": "content-replacement", "replacements": rows}] if rows else []

    def _notes(self) -> Iterator[dict[str, object]]:
        """What was recorded about the conversation as far as it is copied: records that name the entry which they came
        after, or that none had come yet.
        """
        log = self.session.log
        for index, kind in enumerate(log.types[: self.session.scope.end]):
            if kind is None or kind in MESSAGES or kind in OF_ONE_SESSION or not log.holds(index, word=b'"after"'):
                continue
            record = log.record(index)
            if "after" in record and (record["after"] is None or self.holds(record["after"])):
                yield {name: value for name, value in record.items() if name != "sessionId"}


class _Callers:
    """Which entries have made which calls, of those that were added; none is decoded before it is asked for."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: list[int] = []
        self._found: dict[str, int] = {}

    def add(self, index: int) -> None:
        if self._log.types[index] == "assistant":
            self._waiting.append(index)

    def of(self, index: int) -> str | None:
        """The entry with the call whose result this one brings; None where it brings none, or that was not added."""
        log = self._log
        if log.types[index] != "user":
            return None
        for each in self._waiting:
            self._found.update((call.id, max(each, self._found.get(call.id, -1))) for call in calls(log.record(each)))
        self._waiting.clear()
        at = max(
            (self._found[result.id] for result in results(log.record(index)) if result.id in self._found), default=-1
        )
        return log.entries[at].uuid if at >= 0 else None


class _Fork(SessionLog):
    """A log that begins with a copy."""

    def __init__(
        self, copy: _Copy, *, cwd: str, version: str, git_branch: str | None, kind: str, flush_ms: int
    ) -> None:
        self._copy: _Copy | None = copy
        self._holds = copy.holds
        super().__init__(
            copy.place,
            cwd=cwd,
            version=version,
            git_branch=git_branch,
            kind=kind,
            flush_ms=flush_ms,
            tip=copy.tip,
        )

    def _take(self, batch: Batch, put: Callable[[Queue, Sequence[bytes]], None]) -> None:
        if self._copy is not None and batch.begins:
            self._copy.write()
            self._has_begun = True
            self._let_go()
        super()._take(batch, put)

    def _is_known(self, uuid: str) -> bool:
        return self._holds(uuid) or super()._is_known(uuid)

    def close(self) -> None:
        super().close()
        self._let_go()

    def _let_go(self) -> None:
        if self._copy is not None:
            self._copy.session.close()
            self._copy = None


def text_of(text: str) -> bytes:
    """A text as JSON."""
    return encode_basestring_ascii(text).encode()


def _title(title: str) -> str:
    """The title of a branch of a session with that title."""
    line = title.strip().partition("\n")[0][:TITLE_CHARS]
    found = _BRANCH.fullmatch(line)
    if found:
        return f"{found[1]} (branch {int(found[2] or 1) + 1})"
    return f"{line} (branch)" if line else "(branch)"
