"""What is kept of a conversation while it is read from its newest entry back.

Requests are kept whole.  Of the assistant's texts the newest are kept until they add up to TEXT_CHARS, of older ones
only sentences worth keeping; results are looked at for lines worth keeping until they add up to NOTED_CHARS.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rehydrate import notable
from rehydrate.conversation import KEPT_CHARS, Agent, FileTouch, ToolCall, Turn
from rehydrate.entries import messages
from rehydrate.entries.log import Record, member, text_member
from rehydrate.entries.scope import Scope, boundary_of

from . import calls
from .calls import Outcome

TEXT_CHARS = 1_000_000
ENTRY_CHARS = 6_000
"""A text counts at most so much."""
HELD_CHARS = 64_000_000
"""What the kept texts may really take up, the newest one apart."""
NOTED_CHARS = 8_000_000
SIFTED_CHARS = 4_000_000
"""So much of the answers is looked at for sentences worth keeping."""

_TASK = re.compile(r"<task-id>\s*([^<\s]{1,200})\s*</task-id>")
_RESULT = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]+)"')
_MORE = (b'"text"', b"task-notification", b'"is_error":true', b"\\u00")
_STARTED = (b'"agentId"', b'"backgroundTaskId"')
_STOPPING = frozenset({"KillShell", "KillBash", "TaskStop"})


@dataclass(slots=True)
class _Answer:
    """One answer, put together from its records, the last of them first."""

    segment: int
    step: str = ""
    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    touches: list[tuple[str, str, float | None]] = field(default_factory=list)
    """Path, kind and time."""
    noted: tuple[str, ...] = ()
    is_dropped: bool = False
    """Its text was let go of."""


class Kept:
    """The turns and touches of a conversation; give it entries from the newest file to the oldest."""

    def __init__(self) -> None:
        self._said: list[Turn | _Answer] = []  # newest first
        self._answers: dict[tuple[int, str], _Answer] = {}
        self._after: list[int] = []  # for each compaction how many turns came after it
        self._outcomes: dict[str, Outcome] = {}
        self._seen: set[str] = set()
        self._ended: set[str] = set()
        self._agents: list[Agent] = []
        self._left_out: Counter[str] = Counter()
        self._counted = self._held = self._noted = self._sifted = 0

    def add(self, scope: Scope, entries: Sequence[int], *, segment: int, own: bool) -> None:
        """Takes the entries of one file, given oldest first; those it has from a younger file already are passed over.

        `own`: it is the conversation's own file, whose agents may still run.
        """
        log = scope.log
        for index in reversed(entries):
            uuid = log.entries[index].uuid
            if uuid is None or uuid in self._seen:
                continue
            self._seen.add(uuid)
            kind = log.types[index]
            if kind == "assistant":
                self._add_assistant(log.record(index), uuid, segment, own=own)
            elif kind == "user" or (kind == "attachment" and log.holds(index, word=b"queued_command")):
                if self._noted > NOTED_CHARS and self._skim(log.raw(index)):
                    continue
                record = log.record(index)
                # In its own file a subagent is the one who is spoken to.
                self._add_user({**record, "isSidechain": False} if scope.agent else record, uuid, segment)
            elif kind == "system" and boundary_of(log.record(index)) is not None:
                self._after.append(len(self._said))

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
        return [
            f"{count:,} {'answer is' if count == 1 else 'answers are'} {what}."
            for what, count in sorted(self._left_out.items())
        ]

    def _skim(self, raw: bytes) -> bool:
        """Takes of a record that only brings results no more than their calls; False when it may say more."""
        told = raw.find(b'"toolUseResult"')  # as large again, and rarely of use
        said = raw if told < 0 else raw[:told]
        if any(word in said for word in _MORE) or (told >= 0 and any(raw.find(word, told) >= 0 for word in _STARTED)):
            return False
        names = _RESULT.findall(said)
        if not names:
            return False
        for name in names:
            result = messages.Result(name.decode("utf-8", "replace"), "", False)
            self._outcomes.setdefault(result.id, Outcome(result, {}, None))
        return True

    def _add_user(self, record: Record, uuid: str, segment: int) -> None:
        told = member(record, "toolUseResult")
        for result in messages.results(record):
            self._outcomes.setdefault(result.id, Outcome(result, told, messages.time_of(record)))
        self._ended.update(_ended_in(record))
        request = messages.request_of(record)
        if request:
            self._said.append(Turn(uuid, "user", request, segment))

    def _add_assistant(self, record: Record, uuid: str, segment: int, *, own: bool) -> None:
        if messages.is_api_error(record):
            self._left_out["only the report of a failed request"] += 1
            return
        if messages.is_synthetic(record):  # the client's own words, where no answer was asked for
            return
        text, used = messages.text_of(record), messages.calls(record)
        if not text and not used:
            if all(each.get("type") == "text" for each in messages.blocks(record)):
                self._left_out["empty in the log"] += 1
            return
        answer = self._answer(messages.message_id(record) or f"\0{uuid}", segment)
        answer.step = uuid
        if text:
            answer.texts.append(text)
            if not answer.noted and self._sifted <= SIFTED_CHARS:
                self._sifted += len(text)
                answer.noted = notable.sentences(text)
            self._spend(answer, text)
        for call in reversed(used):
            self._add_call(answer, call, messages.time_of(record), own=own)

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

    def _add_call(self, answer: _Answer, call: messages.Call, time_s: float | None, *, own: bool) -> None:
        outcome = self._outcomes.pop(call.id, None)
        if call.name in _STOPPING:
            self._ended.update(value for value in call.input.values() if isinstance(value, str))
        self._noted += calls.chars_of(call, outcome)
        tool = calls.tool_call(call, outcome, note=self._noted <= NOTED_CHARS)
        answer.calls.append(tool)
        if tool.path is not None:
            known = [time for time in (time_s, outcome.time_s if outcome else None) if time is not None]
            answer.touches.append((tool.path, calls.kind_of(call.name), max(known, default=None)))
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


def _started(call: messages.Call, outcome: Outcome) -> Agent | None:
    """What a call has started in the background; None for a call that was over with its result."""
    if outcome.result.is_error:
        return None
    told, given = outcome.told, call.input
    name = text_member(told, "agentId")
    if name and (told.get("isAsync") is True or told.get("status") == "async_launched"):
        kind = text_member(given, "subagent_type") or call.name
        return Agent(kind, (text_member(told, "description") or text_member(given, "description"))[:KEPT_CHARS], name)
    name = text_member(told, "backgroundTaskId")
    if name:
        return Agent(call.name, text_member(given, "command")[:KEPT_CHARS], name, "command")
    return None
