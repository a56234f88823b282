"""What is kept of a conversation while it is read from its newest entry back.

Requests are kept whole, however far back they are.  Of answers and results the newest are read, READ_RECORDS of them:
of their texts the newest are kept until they add up to TEXT_CHARS, and sentences and lines worth keeping are looked for
in the newest SIFTED_CHARS and NOTED_CHARS.  Of what lies further back two things are kept: the files that calls have
named, and what was started and is not known to have ended.  Most of its records are never read.
"""

import re
from collections import Counter
from collections.abc import Sequence

from rehydrate import notable
from rehydrate.conversation import KEPT_CHARS, Agent, FileTouch, ToolCall, Turn
from rehydrate.dataclass import dataclass, field, replace
from rehydrate.entries import messages
from rehydrate.entries.log import Log, Record, find_any, may_be_escaped, member, text_member
from rehydrate.entries.scope import BOUNDARY, Scope, boundary_of
from rehydrate.scan import Entries
from rehydrate.scan._entries import Sign

from . import calls
from .calls import Outcome

READ_RECORDS = 4_000
READ_BYTES = 12_000_000
"""What is read of answers and results adds up to so much, a record counted as RECORD_BYTES at most."""
RECORD_BYTES = 100_000
FAR_FILES = 3_000
"""Files that are kept of what lies further back."""
TEXT_CHARS = 1_000_000
ENTRY_CHARS = 6_000
"""A text counts at most so much."""
HELD_CHARS = 64_000_000
"""What the kept texts may really take up, the newest one apart."""
NOTED_CHARS = 1_500_000
SIFTED_CHARS = 400_000
"""What is looked at of the answers for sentences worth keeping: since the newest compaction, and as much before it."""

_TASK = re.compile(r"<task-id>\s*([^<\s]{1,200})\s*</task-id>")
_RESULT = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]+)"')
_MORE = (b'"text"', b"task-notification", b'"is_error":true')
_TOLD = (b'"toolUseResult":',)
_STARTED = (b'"agentId"', b'"backgroundTaskId"')
_SEARCHED = 64
"""Records in which the call is looked for that has started something far back."""
_STOPPING = frozenset({"KillShell", "KillBash", "TaskStop"})
_TELLING = (b'"file_path"', b'"notebook_path"', *(name.encode() for name in sorted(_STOPPING)))
"""Without one of these words a record far back has nothing that is kept."""
_QUIET, _ANSWERS = 1, 2


def _far_of(sign: int) -> int:
    """Of a record far back: that no user speaks in it, that it only answers, or (0) that it is to be looked at."""
    if sign & Sign.UNSEEN or sign & Sign.TASK:
        return 0
    if sign & Sign.USER and sign & Sign.QUIET:
        return _QUIET
    return _ANSWERS if sign & Sign.ASSISTANT and sign & Sign.FIRST else 0


_FAR = bytes(map(_far_of, range(256)))


@dataclass(slots=True)
class _Answer:
    """One answer, put together from its records, the last of them first."""

    segment: int
    step: str = ""
    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    touches: list[tuple[str, str, float | None]] = field(default_factory=list)
    """Path, kind and time."""
    noted: Sequence[str] = ()
    is_dropped: bool = False
    """Its text was let go of."""


class Kept:
    """The turns and touches of a conversation; give it entries from the newest file to the oldest."""

    def __init__(self) -> None:
        self._said: list[Turn | _Answer] = []  # newest first
        self._answers: dict[tuple[int, str], _Answer] = {}
        self._after: list[int] = []  # for each compaction how many turns came after it
        self._outcomes: dict[str, Outcome] = {}
        self._taken: list[tuple[Entries, bytearray]] = []  # of each younger file, with a byte for each record taken
        self._paths: set[str] = set()
        self._known: set[int] = {0}  # of those the numbers in the file that is read, and that for no file
        self._sought: dict[str, int] = {}  # calls that have started something -> records that are still looked through
        self._ended: set[str] = set()
        self._agents: list[Agent] = []
        self._left_out: Counter[str] = Counter()
        self._read = self._read_bytes = self._passed = self._far_files = 0
        self._counted = self._held = self._noted = self._sifted = 0

    def add(self, scope: Scope, entries: Sequence[int], *, segment: int, own: bool) -> None:
        """Takes the entries of one file, given oldest first; those it has from a younger file already are passed over.

        `own`: it is the conversation's own file, whose agents may still run.
        """
        log = scope.log
        files, far = log.entries.files(), log.signs.translate(_FAR)
        self._known = {0}
        for index in reversed(entries):
            if self._passed and far[index]:  # most records of a large file: no call for each
                if far[index] == _QUIET:
                    continue
                if files[index] in self._known and not self._sought:
                    self._passed += 1
                    continue
            if not log.is_entry(index) or (self._taken and self._has(log, index)):
                continue
            kind = log.types[index]
            if kind == "assistant":
                self._add_answer(log, index, files[index], segment, own=own)
            elif kind == "user" or (kind == "attachment" and log.holds(index, word=b"queued_command")):
                if not self._is_passed_over(log, index):
                    # In its own file a subagent is the one who is spoken to.
                    self._add_user(log, index, segment, is_asked=scope.agent)
            elif kind == "system" and self._is_compaction(log, index):
                self._sifted = 0 if not self._after else self._sifted
                self._after.append(len(self._said))
        if segment:
            taken = bytearray(len(log))
            for index in entries:
                taken[index] = 1
            self._taken.append((log.entries, taken))

    def turns(self) -> tuple[Turn, ...]:
        """Oldest first."""
        turns = []
        for said in self._said:
            if isinstance(said, Turn):
                turns.append(said)
                continue
            text = None if said.is_dropped else "\n\n".join(reversed(said.texts))
            turns.append(Turn(said.step, "assistant", text, said.segment, tuple(reversed(said.calls)), said.noted))
        return tuple(reversed(turns))

    def touches(self) -> tuple[FileTouch, ...]:
        """Oldest first."""
        found: list[FileTouch] = []
        for said in reversed(self._said):
            if isinstance(said, _Answer):
                for path, kind, time_s in reversed(said.touches):
                    found.append(FileTouch(path, said.step, len(found), kind, time_s))
        return tuple(found)

    def compacted(self) -> tuple[int, ...]:
        """For each compaction the place in `turns` of what came first after it, ascending."""
        total = len(self._said)
        return tuple(sorted(total - after for after in self._after))

    def agents(self) -> tuple[Agent, ...]:
        """What was started and is not known to have ended, oldest first."""
        return tuple(reversed(self._agents))

    def notes(self) -> list[str]:
        """What a person should know about how it was read."""
        told = [
            f"{count:,} {'answer is' if count == 1 else 'answers are'} {what}."
            for what, count in sorted(self._left_out.items())
        ]
        if self._passed:
            oldest = f"{self._passed:,} oldest records of answers" if self._passed > 1 else "oldest record of an answer"
            told.append(f"Of the {oldest} only the files that they name were taken, and what may still run.")
        return told

    @property
    def _is_far(self) -> bool:
        """Whether enough was read."""
        return self._read >= READ_RECORDS or self._read_bytes >= READ_BYTES

    @staticmethod
    def _is_compaction(log: Log, index: int) -> bool:
        return log.holds(index, word=BOUNDARY.encode()) and boundary_of(log.record(index)) is not None

    def _has(self, log: Log, index: int) -> bool:
        """Whether a younger file has had the entry."""
        uuid = log.entry(index).uuid or ""
        return any((at := entries.find(uuid)) is not None and taken[at] for entries, taken in self._taken)

    def _count(self, log: Log, index: int) -> None:
        """What is nothing but empty counts by its size alone."""
        self._read_bytes += min(log.entry(index).length, RECORD_BYTES)

    def _is_passed_over(self, log: Log, index: int) -> bool:
        """Whether a user record is done with, as it only brings results of which no more is kept."""
        is_far = self._is_far
        if is_far and _FAR[log.signs[index]]:
            return True
        if is_far:
            return log.signs[index] & Sign.UNSEEN != 0 and self._skim(log.raw(index), is_far=True)
        self._read += 1
        self._count(log, index)
        return self._noted > NOTED_CHARS and self._skim(log.raw(index), is_far=False)

    def _skim(self, raw: bytes, *, is_far: bool) -> bool:
        """Takes of a record that only brings results no more than their calls, and far back nothing; False when it may
        say more.
        """
        told = find_any(raw, _TOLD)  # as large again, and rarely of use
        said = raw[:told]
        if may_be_escaped(said) or find_any(said, _MORE) is not None:
            return False
        if find_any(raw, _STARTED, told or 0) is not None:
            return False
        names = _RESULT.findall(said)
        if not names:
            return False
        for name in () if is_far else names:
            result = messages.Result(name.decode("utf-8", "replace"), "", False)
            self._outcomes.setdefault(result.id, Outcome(result, {}, None))
        return True

    def _add_user(self, log: Log, index: int, segment: int, *, is_asked: bool) -> None:
        """`is_asked`: what stands in a sidechain is a request, too."""
        record, told = log.record_and(index, "toolUseResult", calls.TOLD)
        uuid = log.entry(index).uuid or ""
        for result in messages.results(record):
            outcome = Outcome(result, told, messages.time_of(record))
            if not self._is_far:
                self._outcomes.setdefault(result.id, outcome)
            elif _task(outcome):
                self._outcomes.setdefault(result.id, outcome)
                self._sought.setdefault(result.id, _SEARCHED)
        self._ended.update(_ended_in(record))
        request = messages.request_of({**record, "isSidechain": False} if is_asked else record)
        if request:
            self._said.append(Turn(uuid, "user", request, segment))

    def _add_answer(self, log: Log, index: int, file: int, segment: int, *, own: bool) -> None:
        """A record of the assistant.  `file`: the number of the file that it names, as in `Entries.files`."""
        if not self._is_far:
            self._count(log, index)
            has_path = self._add_assistant(log.record(index), log.entry(index).uuid or "", segment, own=own)
        else:
            if not self._passed:  # what is shown word for word ends here
                self._said.append(_Answer(segment, log.entry(index).uuid or "", is_dropped=True))
            self._passed += 1
            if not self._is_wanted(log, index, file):
                return
            has_path = self._add_far(log.record(index), log.entry(index).uuid or "", segment, own=own)
        if has_path and file > 0:
            self._known.add(file)

    def _is_wanted(self, log: Log, index: int, file: int) -> bool:
        """Whether a record far back has to be read."""
        if self._sought:
            self._sought = {call: left - 1 for call, left in self._sought.items() if left > 1}
            return True
        sign = log.signs[index]
        if sign & Sign.UNSEEN:
            raw = log.raw(index)
            return may_be_escaped(raw) or find_any(raw, _TELLING) is not None
        return sign & Sign.TASK != 0 or (file not in self._known and self._far_files < FAR_FILES)

    def _add_far(self, record: Record, uuid: str, segment: int, *, own: bool) -> bool:
        """Takes of a record far back no more than new files, and what still runs; whether it names a file."""
        answer = _Answer(segment, uuid, is_dropped=True)
        has_path = False
        for call in reversed(messages.calls(record)):
            outcome = self._outcomes.pop(call.id, None)
            self._sought.pop(call.id, None)
            self._note_task(call, outcome, own=own)
            tool = calls.tool_call(call, outcome, note=False)
            if tool.path is None:
                continue
            has_path = True
            if tool.path not in self._paths and self._far_files < FAR_FILES:
                self._far_files += 1
                self._paths.add(tool.path)
                answer.calls.append(replace(tool, pending=False))
                answer.touches.append((tool.path, calls.kind_of(call.name), messages.time_of(record)))
        if answer.calls:
            self._said.append(answer)
        return has_path

    def _add_assistant(self, record: Record, uuid: str, segment: int, *, own: bool) -> bool:
        """Whether it names a file."""
        if messages.is_api_error(record):
            self._left_out["only the report of a failed request"] += 1
            return False
        if messages.is_synthetic(record):  # the client's own words, where no answer was asked for
            return False
        text, used = messages.text_of(record), messages.calls(record)
        if not text and not used:
            if all(each.get("type") == "text" for each in messages.blocks(record)):
                self._left_out["empty in the log"] += 1
            return False
        answer = self._answer(messages.message_id(record) or f"\0{uuid}", segment)
        answer.step = uuid
        self._read += 1
        if text:
            answer.texts.append(text)
            if not answer.noted and self._sifted <= SIFTED_CHARS:
                self._sifted += min(len(text), notable.LOOKED_CHARS)
                answer.noted = notable.sentences(text)
            self._spend(answer, text)
        has_path = False
        for call in reversed(used):
            has_path = self._add_call(answer, call, messages.time_of(record), own=own) or has_path
        return has_path

    def _spend(self, answer: _Answer, text: str) -> None:
        """Lets go of a text that no budget reaches back to."""
        self._counted += min(len(text), ENTRY_CHARS)
        self._held += len(text)
        if len(self._said) > 1 and (self._counted > TEXT_CHARS or self._held > HELD_CHARS):
            answer.texts.clear()
            answer.is_dropped = True

    def _answer(self, name: str, segment: int) -> _Answer:
        answer = self._answers.get((segment, name))
        if answer is None:
            answer = self._answers[segment, name] = _Answer(segment)
            self._said.append(answer)
        return answer

    def _add_call(self, answer: _Answer, call: messages.Call, time_s: float | None, *, own: bool) -> bool:
        """Whether it names a file."""
        outcome = self._outcomes.pop(call.id, None)
        self._note_task(call, outcome, own=own)
        self._noted += calls.chars_of(call, outcome)
        tool = calls.tool_call(call, outcome, note=self._noted <= NOTED_CHARS)
        answer.calls.append(tool)
        if tool.path is None:
            return False
        self._paths.add(tool.path)
        known = [time for time in (time_s, outcome.time_s if outcome else None) if time is not None]
        answer.touches.append((tool.path, calls.kind_of(call.name), max(known, default=None)))
        return True

    def _note_task(self, call: messages.Call, outcome: Outcome | None, *, own: bool) -> None:
        """What a call has started that still runs, and what it has stopped."""
        if call.name in _STOPPING:
            self._ended.update(value for value in call.input.values() if isinstance(value, str))
        agent = _started(call, outcome) if own and outcome is not None else None
        if agent is not None and agent.id not in self._ended:
            self._agents.append(agent)


def _ended_in(record: Record) -> list[str]:
    """The tasks that a record says have ended."""
    texts = messages.texts(record)
    attachment = member(record, "attachment")
    if attachment.get("type") == "queued_command":
        texts = messages.texts({"message": attachment.get("prompt")})
    return [found for text in texts if text.lstrip().startswith("<task-notification>") for found in _TASK.findall(text)]


def _task(outcome: Outcome) -> str:
    """The id of what goes on in the background; empty when the call was over with its result."""
    if outcome.result.is_error:
        return ""
    told = outcome.told
    if told.get("isAsync") is True or told.get("status") == "async_launched":
        name = text_member(told, "agentId")
        if name:
            return name
    return text_member(told, "backgroundTaskId")


def _started(call: messages.Call, outcome: Outcome) -> Agent | None:
    """What a call has started in the background; None for a call that was over with its result."""
    name, told, given = _task(outcome), outcome.told, call.input
    if not name:
        return None
    if name != text_member(told, "agentId"):
        return Agent(call.name, text_member(given, "command")[:KEPT_CHARS], name, "command")
    kind = text_member(given, "subagent_type") or call.name
    return Agent(kind, (text_member(told, "description") or text_member(given, "description"))[:KEPT_CHARS], name)
