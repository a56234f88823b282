"""What a log holds for an engine: the messages since its newest checkpoint, the ledger, the pins, what the provider has
counted, and how the last compaction went.

All of it is read from the file, so that an engine that is new knows what the one before knew.  What was appended since
is read alone where that is plainly what follows; anything else is read anew, and gives the same.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from rehydrate.entries import metadata
from rehydrate.paths import open_file
from rehydrate.scan._decode import load_line
from rehydrate.session import NotASession, Place, Session, SessionError, SessionLog
from rehydrate.session.agents import REFERENCE
from rehydrate.session.compacting import adopt
from rehydrate.session.errors import naming
from rehydrate.session.line import check
from rehydrate.session.place import AGENT

from . import records
from .checkpoint import Checkpoint
from .hidden import Given, hidden_in
from .ledger import Draft, Ledger
from .messages import Message, is_hidden
from .omitting import Omitting
from .restore import Restored, gone, restore, restored_at
from .results import results_folder
from .tokens import SAME, Learnt, Ratio, taught
from .view import Said, said_of

Rows = dict[tuple[str, str], dict[str, Any]]
_ASIDE = frozenset({"isSidechain", "teamName"})
_PLAIN = frozenset({"user", "assistant"})
_NOT_FOLLOWED = frozenset(
    {
        *("attachment", "system", "tombstone", "content-replacement", "progress"),
        *records.HIDDEN,
        records.OMITTED,
    }
)
"""Types of records that may change what came before them, or stand elsewhere: all is read anew."""


@dataclass(slots=True)
class State:
    """What stands in the file up to `end`, seen from the entry `tip`."""

    tip: str | None = None
    """The entry that the next one follows; None before the first."""
    end: int = 0
    """So many bytes of the file are in it."""
    inode: int = 0
    is_end: bool = True
    """No entry stands behind `tip` in the file.  Otherwise the next one may bring it into the view, as the results of
    calls that the line ends with, or a compaction that has kept the tip."""
    checkpoint: Checkpoint | None = None
    boundary: str | None = None
    """The newest compaction, by uuid; None: there is none."""
    newest: str | None = None
    """The compaction that was written last, on whatever branch."""
    inherited: Sequence[Message] = ()
    """What the checkpoint has left; of a subagent that was forked and has none, what it shares with its parent."""
    said: list[Said] = field(default_factory=list)
    """What was said since, and what the compaction left; among it what nobody has said (`rehydrate.context.hidden`),
    without a uuid."""
    line: set[str] = field(default_factory=set)
    """The entries of the line of descent that are known to be on it."""
    ledger: Ledger = field(default_factory=Ledger)
    pins: set[str] = field(default_factory=set)
    """The entries that were pinned, by uuid."""
    replaced: dict[tuple[str, str], str] = field(default_factory=dict)
    """Results that were replaced, by the uuid of the entry and the id of the call, and the kind of that."""
    usage: Mapping[str, Any] | None = None
    """What the provider has counted last: a record; None: nothing is known."""
    learnt: dict[str, Ratio] = field(default_factory=dict)
    """Model -> what its provider's counts have taught of its vocabulary."""
    attempt: Mapping[str, Any] | None = None
    """How the last compaction has ended: a record; None: there was none since the checkpoint."""
    open_attempts: dict[str, None] = field(default_factory=dict)
    """Compactions that were begun and of which no end is known."""
    breaker: Mapping[str, Any] | None = None
    """How asking a model for summaries has gone: a record, which may be that of a session that this one was forked
    from; None: there is none since the checkpoint."""
    refusal: Mapping[str, Any] | None = None
    """The request that was refused, and about which something was done, since the last answer: a record; None: there is
    none."""
    omitting: Omitting = field(default_factory=Omitting)
    """What is left out of entries, because the provider would not take it."""
    altered: set[str] = field(default_factory=set)
    """The entries, by uuid, of which something is left out."""
    handoff: Given = "none"
    """Whether the model was told since the newest compaction how full its context is."""
    answered: str = ""
    """When the last answer was given, as it says: until then the provider has kept what was sent.  Empty: nothing says
    so."""

    def add(self, record: Mapping[str, Any]) -> None:
        """An entry that follows the last one."""
        uuid = record["uuid"]
        whole = said_of(record)
        said = self.omitting.next(whole)
        if said is not None:
            self.said.append(said)
            if said is not whole:
                self.altered.add(uuid)
            if said.message["role"] == "assistant":
                self.refusal = None
        self.line.add(uuid)
        self.tip = uuid
        if record.get("type") == "assistant":
            time = record.get("timestamp")
            self.answered = time if isinstance(time, str) else ""

    def holds(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of an engine is of this line of descent, and not in its checkpoint already."""
        after = record.get("after")
        return after in self.line if isinstance(after, str) else self.boundary is None

    def note(self, record: Mapping[str, Any]) -> None:
        """A record of an engine; one that is none changes nothing."""
        kind = record.get("type")
        if kind == records.USAGE:
            self.usage = record
            model, sample = record.get("model"), _ratio(record.get("sample"))
            if isinstance(model, str) and sample is not None:
                self.learnt[model] = taught(self.learnt.get(model, SAME), theirs=sample[0], ours=sample[1])
        elif kind == records.PIN and isinstance(record.get("messageUuid"), str):
            self.pins.add(record["messageUuid"])
        elif kind == records.LEDGER:
            draft = Draft(self.ledger)
            _put_item(draft, record)
            self.ledger = draft.ledger
        elif kind == records.ATTEMPT and isinstance(record.get("attempt"), str):
            if record.get("state") in ("done", "failed"):  # one that was interrupted counts as nothing
                self.attempt = record
            carried = record.get("learnt")
            for model, ratio in carried.items() if isinstance(carried, Mapping) else ():
                if (known := _ratio(ratio)) is not None:
                    self.learnt[model] = known
            if record.get("state") == "open":
                self.open_attempts[record["attempt"]] = None
            else:
                self.open_attempts.pop(record["attempt"], None)
        elif kind == records.BREAKER:
            self.breaker = record
        elif kind == records.REFUSAL:
            since = self.since(record.get("after"))
            if not any(each.message.get("role") == "assistant" for each in since):
                self.refusal = record

    def since(self, uuid: object) -> Iterator[Said]:
        """What was said behind an entry, the last first; all of it, where the compaction has left nothing of that entry
        and what was before it.
        """
        return takewhile(lambda each: each.uuid != uuid, reversed(self.said))

    @property
    def last(self) -> str | None:
        """The entry in which somebody spoke last, by uuid; where nothing was said since the compaction, the tip."""
        return next((each.uuid for each in reversed(self.said) if each.uuid), self.tip)


def follow(log: SessionLog, known: State | None) -> State:
    """What the log holds now, where `known` is what it held before (None: that is not known): that one, brought up to
    date, or another one.  From a compaction that another process has marked since, the log goes on.

    Raises what `SessionLog.flush` and `restored_at` raise.
    """
    log.flush()
    log._look_up(lambda: restore(log.path).tip)
    if known is not None:
        if _advance(known, log.path) and known.tip == log.tip:
            return known
        adopt(log, end=known.end)
    return read(log.path, tip=log.tip if log._has_begun else None)  # a fork follows an entry of another file first


def read(path: str, *, tip: str | None, rows: Rows | None = None) -> State:
    """All that the file holds, seen from the entry that the next one follows.  `rows`: what stands in the place of
    results, by the uuid of the entry and the id of the call; None: what the file says.
    """
    try:
        inode = os.stat(path).st_ino
    except FileNotFoundError:
        if tip is None:
            return State()
        raise gone(path) from None
    found = restored_at(path, tip)
    if rows is not None:
        folder = results_folder(path)
        shown = tuple(metadata.replaced(dict(record), rows, folder=folder) for record in found.sources)
        found = replace(found, entries=shown, replacements={})
    state = state_of(found, inode=inode)
    if found.boundary is None and os.path.basename(path).startswith(AGENT):
        state.inherited = state.omitting.inherited(_shared(path))
    return state


def state_of(found: Restored, *, inode: int) -> State:
    """What was restored, as an engine looks at it."""
    state = State(end=found.end, inode=inode, is_end=found.is_end, checkpoint=found.checkpoint)
    state.boundary = found.boundary
    state.newest = found.newest
    state.line.update(found.line)
    held = list(filter(state.holds, found.records))
    state.omitting = Omitting.of(held, [record["uuid"] for record in found.entries])
    if found.checkpoint is not None:
        state.inherited = state.omitting.inherited(found.checkpoint.messages)
        state.ledger = Ledger.from_record(found.checkpoint.ledger)
    hidden = hidden_in(found)
    state.handoff = hidden.handoff
    for record in found.entries:
        state.add(record)
        state.said += [Said("", 0, message) for message in hidden.behind.get(record["uuid"], ())]
    state.tip = found.tip
    for place, row in found.replacements.items():
        state.replaced[place] = str(row.get("kind"))
    draft = Draft(state.ledger)  # there may be many of them
    for record in held:
        if record.get("type") == records.LEDGER:
            _put_item(draft, record)
        else:
            state.note(record)
    state.ledger = draft.ledger
    return state


def _shared(path: str) -> Sequence[Message]:
    """What a forked subagent shares with the conversation that it was forked from, as that one was sent it then;
    nothing for any other subagent, and where that cannot be read any more.
    """
    try:
        with Session.open(path) as session:
            reference = session.metadata.get(REFERENCE)
            rows = metadata.replacements(session.scope, agent_id=session.agent_id)
    except NotASession:
        return ()  # its writer was killed as it began
    if reference is None:
        return ()
    agent_id, tip = reference.get("parentAgentId"), reference.get("parentLastUuid")
    try:
        place = Place.of(f"{os.path.dirname(os.path.dirname(path))}.jsonl")
        parent = read(place.path if agent_id is None else place.agent_path(str(agent_id)), tip=str(tip), rows=rows)
    except (OSError, ValueError, LookupError, SessionError):
        return ()
    return (*parent.inherited, *(each.message for each in parent.said if not is_hidden(each.message)))


def _advance(state: State, path: str) -> bool:
    """Read what was appended; False where that is not plainly what follows, and the state of no use any more."""
    try:
        file = open_file(path)
    except FileNotFoundError:
        return state.end == 0
    with naming(path), file:
        about = os.fstat(file.fileno())
        if about.st_size == state.end and about.st_ino == state.inode:
            return True
        if about.st_size < state.end or about.st_ino != state.inode or not state.is_end:
            return False
        file.seek(state.end)
        data = file.read(about.st_size - state.end)
    lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    return all(_take(state, line) for line in lines)


def _take(state: State, line: bytes) -> bool:
    record = load_line(line) if check(line) else None  # as one that reads all of it anew decodes it
    if record is None or not isinstance(kind := record.get("type"), str) or kind in _NOT_FOLLOWED:
        return False
    if kind in _PLAIN:
        uuid = record.get("uuid")
        if not isinstance(uuid, str) or uuid in state.line or record.get("parentUuid") != state.tip:
            return False
        if any(record.get(name) for name in _ASIDE - ({"isSidechain"} if _is_agents(record) else set())):
            return False
        if record.get("isCompactSummary") or record.get("isApiErrorMessage"):
            return False
        state.add(record)
    elif kind in records.TYPES:
        if not state.holds(record):
            return False
        state.note(record)
    state.end += len(line)
    return True


def _is_agents(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("agentId"), str)


def _ratio(value: object) -> Ratio | None:
    """A ratio as it stands in a record; None where it is none."""
    if not isinstance(value, list) or len(value) != 2 or not all(type(each) is int and each > 0 for each in value):
        return None
    theirs, ours = value
    return max(ours, min(theirs, ours * Learnt.MOST)), ours


def _put_item(ledger: Draft, record: Mapping[str, Any]) -> None:
    """Put or close what a host has; nothing changes where the record cannot be what one has written."""
    try:
        if isinstance(put := record.get("put"), Mapping):
            ledger.put(
                put["heading"],
                put["payload"],
                seq=record.get("seq"),
                status=put["status"],
                supersedes=put["supersedes"],
            )
        elif isinstance(closed := record.get("close"), Mapping):
            ledger.close(closed["id"], status=closed["status"])
    except (KeyError, TypeError, ValueError, LookupError, AttributeError):
        pass
