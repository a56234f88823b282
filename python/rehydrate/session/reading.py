"""A session read: its entries by uuid, what is known about it, and its views.

Opening reads the index of the file and decodes nothing.  A view knows which entries it holds; each is decoded when it
is asked for, and what the view leaves out never is.  The rules are those of `rehydrate.entries`, for our own files and
for those of other writers alike.

Promises: any file gives an answer or one of the errors that are named; the same bytes give the same answer; reading
never writes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

from rehydrate.entries import messages, metadata
from rehydrate.entries import view as rules
from rehydrate.entries.ends import latest_leaf, leaf
from rehydrate.entries.log import text_member
from rehydrate.entries.scope import Scope, boundaries
from rehydrate.scan._entries import Sign

from .damage import NO_RECORD, CheckedLog, told, verify
from .errors import DamagedLine, NotASession
from .file import HEADER, check_format
from .place import AGENT
from .stamp import MESSAGES as WRITTEN
from .views import ByUuid, Gap, Kind, Lazy, Record, View
from .wire import wire

MESSAGES = WRITTEN | {"progress"}
"""Types of which the conversation is made; all others say something about it."""
PAYLOAD = "toolUseResult"
"""What clients keep beside a message for themselves: the result of a tool once more, in full."""
FIRST_RECORDS = 64
"""How many records are looked at for a sign that this is a session at all."""


class Session:
    """A session's file opened for reading: as a context manager, or until `close`.  Several threads may share it.

    It is the file as it was when it was opened; what is written later needs another `open`.
    """

    def __init__(self, log: CheckedLog, *, scope: type[Scope] = Scope) -> None:
        """Use `open`.  `scope`: how the rules look at the file."""
        self.path = log.path
        """The file."""
        name = os.path.basename(log.path).removesuffix(".jsonl")
        self.agent_id = name.removeprefix(AGENT) if name.startswith(AGENT) else None
        """Of the subagent whose own file it is; None for a conversation."""
        self.scope = scope(log, agent=self.agent_id is not None)
        """What the rules of `rehydrate.entries` are asked about, where an entry is its place in the file."""
        self.log = log
        self._told: dict[int, DamagedLine] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Session":
        """Reads the index of a file.

        Raises OSError when it cannot be read, NotASession when it holds none, NewerVersion when a later version of
        this library wrote it.
        """
        log = CheckedLog(os.fspath(path))
        try:
            session = cls(log)
            if not session._is_one():
                raise NotASession(f"{log.path} holds no session", path=log.path)
            for index in log.of_type(HEADER):
                check_format(log.path, log.record(index).get("format"), offset=log.entries[index].offset)
            return session
        except BaseException:
            log.close()
            raise

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file.  Views that are not a `wire` can give nothing more."""
        self.log.close()

    # -- what it says of itself ---------------------------------------------------------------------------------------

    @cached_property
    def id(self) -> str:
        """Its id: what its first record says, else what its file is called; of a subagent's file that of the
        conversation, as its records say.
        """
        header = text_member(self.metadata.get(HEADER, {}), "sessionId")
        name = os.path.basename(self.path).removesuffix(".jsonl")
        return header or (name if self.agent_id is None else self._first("sessionId") or name)

    @cached_property
    def cwd(self) -> str | None:
        """The folder in which the conversation was when it ended; None when nothing says so."""
        end = {} if self._leaf is None else self.log.record(self._leaf)
        return text_member(end, "cwd") or text_member(self.metadata.get(HEADER, {}), "cwd") or self.begun_in

    @cached_property
    def begun_in(self) -> str | None:
        """The folder in which the conversation was when it began; None when nothing says so."""
        return self._first("cwd")

    @cached_property
    def title(self) -> str:
        """What it is called: by its user, else by the host, else what was last or first asked for; else empty."""

        def entries() -> Iterator[int]:
            yield from rules.full_view(self.scope).entries  # only where nothing has named it

        return metadata.title(self.scope, entries())

    @property
    def leaf(self) -> str | None:
        """The uuid of the entry that the conversation ends with; None when nothing was said."""
        return None if self._leaf is None else self._uuid(self._leaf)

    @property
    def latest_leaf(self) -> str | None:
        """As `leaf`, but of all branches the one with the newest timestamp: for `view(..., at=...)`."""
        found = latest_leaf(self.scope)
        return None if found is None else self._uuid(found)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The ends of all branches in file order, by uuid: the entries that neither another follows nor a
        compaction.  Subagents' are not among them, nor what was taken back.
        """
        scope = self.scope
        ours = [index for index in range(scope.end) if self.log.is_entry(index) and not scope.is_aside(index)]
        gone = scope.retracted.intersection(ours)
        live = [index for index in ours if index not in gone]
        followed = bytearray(scope.end)
        known: dict[int, int | None] = {}  # what was taken back -> the one above it that was not
        for index in live:
            parent, passed = scope.parent(index), []
            while parent in gone and parent not in known:
                known[parent] = None  # in a circle there is none
                passed.append(parent)
                parent = scope.parent(parent)
            parent = known[parent] if parent in gone else parent
            known.update(dict.fromkeys(passed, parent))
            if parent is not None and parent != index:
                followed[parent] = 1
        before = {index: scope.at(self.log.record(index).get("logicalParentUuid")) for index in boundaries(scope)}
        waiting = [index for index in before if followed[index]]
        while waiting:
            said = before[waiting.pop()]
            if said is not None and not followed[said]:
                followed[said] = 1
                waiting += [said] if said in before else []
        return tuple(self._uuid(index) for index in live if not followed[index])

    @cached_property
    def messages(self) -> Mapping[str, Record]:
        """Every entry by its uuid, in file order, decoded when asked for.  Of one written twice the first counts."""
        return ByUuid(self.log)

    @cached_property
    def metadata(self) -> Mapping[str, Record]:
        """What was said about the session, by type, of each type the last: decoded when asked for."""
        last = metadata.last_of_each(self.scope)
        return Lazy(self.log, {kind: index for kind, index in last.items() if kind not in MESSAGES})

    def of_type(self, kind: str) -> Sequence[Record]:
        """All records of a type in file order, decoded when asked for: of metadata that is a list, or by message."""
        return View("raw", self.log.record, list(self.log.of_type(kind, end=self.scope.end)))

    @cached_property
    def replacements(self) -> tuple[Record, ...]:
        """What stands in the place of contents: `{"messageUuid", "toolUseId", "replacement", ...}`, the newest for
        each call."""
        return tuple(metadata.replacements(self.scope, agent_id=self.agent_id).values())

    @cached_property
    def collapses(self) -> tuple[tuple[Record, ...], Record | None]:
        """The folds that a host has made in its view since the newest compaction, in order, and the last snapshot of
        them (None: there is none).  No view of ours applies them.
        """
        commits, snapshot = metadata.collapses(self.scope, boundary=self.found("active", tip=None).boundary)
        return tuple(commits), snapshot

    # -- views --------------------------------------------------------------------------------------------------------

    def view(self, kind: Kind, *, at: str | None = None) -> View:
        """The session as one sees it.

        `raw`: every record of the file.  `scrollback`: what a person has seen, past every compaction.  `active`: what
        the conversation goes on from, since the newest compaction: with what that kept, without what was taken out or
        back, with replacements in their place and without the payloads that hosts keep for themselves.  `wire`: the
        active view as messages of Anthropic's Messages API: users and assistants in turn, every call with its result
        right behind it; what had to go for that is `left_out`.

        `at`: the uuid of an entry, or the message id of an answer: the view ends with that (of an answer with its last
        record, and without results of its calls).  Raises LookupError when there is none, ValueError for another kind.
        """
        if kind not in get_args(Kind):
            raise ValueError(f"there is no view {kind!r:.80}; there are {', '.join(get_args(Kind))}")
        tip = None if at is None else self.place_of(at)
        if kind == "raw":
            return View(kind, self.log.record, range(self.scope.end if tip is None else tip + 1))
        if kind == "wire":
            return self._wire(tip)
        found = self.found(kind, tip=tip)
        return self._filled(View(kind, self.log.record if kind == "scrollback" else self._active, found.entries), found)

    def found(self, kind: Kind, *, tip: int | None) -> rules.View:
        """The entries of a view, by their places in the file."""
        if kind == "scrollback":
            found = rules.scrollback(self.scope, tip=tip)
        else:
            found = rules.active_view(self.scope, tip=self._leaf if tip is None else tip)
        if tip is not None:
            found = rules.until(found, tip)
        return rules.sendable(self.log, found) if kind == "wire" else found

    def place_of(self, at: str) -> int:
        """The entry of the conversation with that uuid, or the last one of the answer with that message id.  Raises
        LookupError when there is none.
        """
        scope = self.scope
        found = scope.held(at)
        if found is not None and self.log.types[found] in MESSAGES and not scope.is_aside(found):
            return found
        for index in self.log.of_type("assistant", end=scope.end, backwards=True):
            if not (at.isascii() and at.isprintable()) or self.log.holds(index, word=at.encode()):
                is_it = messages.message_id(self.log.record(index)) == at
                if is_it and not scope.is_aside(index) and index not in scope.retracted:
                    return index
        raise LookupError(f"{self.path} holds no entry and no answer with the id {at}")

    def spoken(self, found: rules.View) -> Iterator[dict[str, Any]]:
        """The records of an active view that a provider is sent, with replacements in their place."""
        return rules.sent(self.scope, found, folder=self.results_folder, agent_id=self.agent_id)

    def _wire(self, tip: int | None) -> View:
        with self.log.keeping():
            found = self.found("wire", tip=tip)
            sent, unfit = wire(self.spoken(found))
        filled = self._filled(View("wire", sent.__getitem__, range(len(sent))), found)
        filled.left_out += tuple(unfit)
        return filled

    def _filled(self, made: View, found: rules.View) -> View:
        """The view with what is known of it."""
        made.uuids = tuple(map(self._uuid, found.entries))
        made.boundary = None if found.boundary is None else self._uuid(found.boundary)
        made.preserved = tuple(map(self._uuid, found.preserved))
        made.gaps = tuple(Gap(self._uuid(gap.at), gap.why) for gap in found.gaps)
        made.left_out = tuple((self._uuid(index), why) for index, why in found.left_out)
        return made

    def _active(self, index: int) -> Record:
        record = metadata.replaced(self.log.record(index), self._known, folder=self.results_folder)
        return {name: value for name, value in record.items() if name != PAYLOAD} if PAYLOAD in record else record

    @cached_property
    def _known(self) -> dict[tuple[str, str], dict[str, Any]]:
        return metadata.replacements(self.scope, agent_id=self.agent_id)

    @property
    def results_folder(self) -> str:
        """Where clients put results that are too large for the file."""
        return os.path.join(self.path.removesuffix(".jsonl"), "tool-results")

    # -- damage -------------------------------------------------------------------------------------------------------

    @property
    def damage(self) -> tuple[DamagedLine, ...]:
        """The first 16 lines that are no record (`damaged` counts them all), and of the lines read so far those whose
        check is wrong or that cannot be decoded, in file order.
        """
        wrong = dict.fromkeys(self.log.known.tree.damaged_offsets, NO_RECORD) | dict(self.log.wrong)
        new = sorted((offset, what) for offset, what in wrong.items() if offset not in self._told)
        if new:
            self._told.update(zip((offset for offset, _ in new), told(self.path, new), strict=True))
        return tuple(self._told[offset] for offset in sorted(wrong))

    @property
    def damaged(self) -> int:
        """How many lines are no record."""
        return self.log.damaged

    def verify(self) -> Iterator[DamagedLine]:
        """Every damaged line of the file, in order, those whose entry follows one that is not there among them: reads
        all of it.  Raises OSError.
        """
        return verify(self.scope)

    # -- the rest -----------------------------------------------------------------------------------------------------

    @cached_property
    def _leaf(self) -> int | None:
        return leaf(self.scope)

    def _uuid(self, index: int) -> str:
        return self.log.entries[index].uuid or ""

    def _first(self, name: str) -> str | None:
        """What the first record that has such a member says, of those at the start."""
        records = (self.log.record(index) for index in range(min(len(self.log), FIRST_RECORDS)))
        return next((said for record in records if (said := text_member(record, name))), None)

    def _is_one(self) -> bool:
        """Whether the file holds a session: an entry of a conversation, or at its start something about one."""
        kinds = zip(self.log.types, self.log.signs, strict=True)
        return any(kind in MESSAGES and sign & Sign.FIRST for kind, sign in kinds) or bool(self._first("sessionId"))
