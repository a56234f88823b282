"""What a compaction puts in the place of the older messages, decided without a model.

In this order: messages that are pinned, word for word; a summary (the ledger, what the user has said that holds, what
was left out, what a model has written of it, files); the active request, whole, where it is not among the messages that
stay; at most one unit that is shortened; and then the newest units, untouched.  What follows an open call stays, too.

Promises: nothing that is given is changed; same input, same messages; the tokens are those that the meter counts in the
messages that come out; whatever is planned once is left as it is when it is planned again with the same target.  The
time grows with the number of messages and the length of what is kept.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from rehydrate.packing import leading

from .errors import Holder
from .ledger import OPENING, Ledger
from .messages import FOREIGN, Message, has_thoughts, is_request, kind_of, mark_of, marked
from .meter import Meter
from .shorten import FLOOR, count, cut_request, shorten_unit
from .signs import RULE
from .summary import FileText, Summary, summarise
from .survey import Survey, first_open

TAIL_PERCENT = 20
"""Of the target: for the newest units."""
TIGHT_PERCENT = 25
"""Of that, where the summary has no room for all rules of the user."""
SUMMARY_PERCENT = 10
"""Of the target: left for the summary at least."""
NOTES_PERCENT = 10
"""Of the target: for lines about what was left out."""
PROSE_PERCENT = 20
"""Of the target: for what is kept of the prose of an earlier summary."""
_TRIES = 4
"""How often a list that counts more than its parts is planned again for less."""
_FIRST_LINE: Message = {"role": "user", "content": OPENING}

Outcome = Literal["unchanged", "completed", "irreducible"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a list of messages."""

    covered: int
    """`messages[:covered]` are replaced; 0: nothing is."""
    replacement: tuple[Message, ...]
    """Ours have a member `rehydrate` with their `kind`: `summary`, `pinned`, `request`, `shortened`."""
    summary: str
    """The text of the summary among them; empty where there is none."""
    ledger: Ledger
    """The one given, and what the messages add to it."""
    tokens: int
    """Of the replacement and what follows it."""
    outcome: Outcome
    """`unchanged`: it fits as it is.  `completed`: it fits when it is replaced.  `irreducible`: it does not fit even
    then, and `holders` says why."""
    holders: tuple[Holder, ...] = ()

    def applied(self, messages: Sequence[Message]) -> list[Message]:
        """The messages that the plan was made for, after it."""
        return [*self.replacement, *messages[self.covered :]]


def plan(
    messages: Sequence[Message],
    *,
    meter: Meter,
    target: int,
    window: int | None = None,
    ledger: Ledger | None = None,
    pinned: Collection[int] = frozenset(),
    files: Sequence[FileText] = (),
    open_from: int | None = None,
    covered_most: int | None = None,
    prose: str = "",
) -> Plan:
    """How the messages, arranged and with no result without its call, come to count at most `target` tokens.

    `window`: where pinned messages, ledger and active request need more than the target, they get it, up to half of
    the window; None: never.  `pinned`: indexes of messages that stay word for word, beside those that an earlier plan
    marked.  `files`: what the summary shows of files.  `open_from`: index from which nothing is covered; None: the
    first call without a result.  `covered_most`: so many messages are covered at most; None: that is not asked.
    `prose`: what a model has written of the messages, which is in the summary where it has room there; empty: what
    earlier summaries have of that, as many whole lines as have room.
    """
    if open_from is None:
        open_from = first_open(messages)
    if covered_most is not None:
        open_from = min(open_from, covered_most)
    survey = Survey(messages, meter=meter, ledger=ledger or Ledger(), pinned=pinned, files=files, open_from=open_from)
    made = plan_surveyed(survey, target=target, window=window, tail_max=0, prose=prose)
    return _told(made, survey, target=target, window=window) if made.covered and not made.replacement else made


def _told(made: Plan, survey: Survey, *, target: int, window: int | None) -> Plan:
    """With the first line of a summary where there was no room for more: a checkpoint is never empty, and the model is
    to know that something came before.
    """
    tokens = made.tokens + survey.meter.message(_FIRST_LINE)
    if tokens >= survey.total:
        return _unchanged(survey, "irreducible")
    outcome: Outcome = made.outcome if tokens <= target else "irreducible"
    done = {"target": target, "window": window, "tokens": tokens, "outcome": outcome}
    first = {**_FIRST_LINE, "rehydrate": {"kind": "summary", "plan": done}}
    holders = () if outcome == "completed" else survey.holders()
    return replace(made, replacement=(first,), summary=OPENING, tokens=tokens, outcome=outcome, holders=holders)


def plan_surveyed(survey: Survey, *, target: int, window: int | None, tail_max: int, prose: str = "") -> Plan:
    """`plan`; where room is left, the tail grows beyond its share, up to `tail_max` tokens."""
    if survey.total <= target:
        return _unchanged(survey, "unchanged")
    needed = survey.total - survey.tokens(
        [at for at in range(survey.lead, survey.forced) if at not in survey.pinned and at != survey.request]
    )
    limit, least = target, 0
    if window is not None:
        least = survey.ledger_tokens() or survey.meter.message(_FIRST_LINE)
        limit = max(target, min(needed + least, window // 2))
    settled = survey.settled(target=target, window=window)
    if settled is not None:
        return _unchanged(survey, "irreducible" if settled == "irreducible" else "unchanged")
    goal = limit
    for _ in range(_TRIES):
        packed = _packed(survey, goal=goal, target=target, tail_max=tail_max, least=least, prose=prose)
        tokens = survey.meter.messages(packed.replacement) + survey.tokens_from(packed.covered)
        if tokens <= limit:
            break
        goal -= tokens - limit
    if tokens >= survey.total:
        return _unchanged(survey, "irreducible")
    outcome: Outcome = "completed" if tokens <= limit else "irreducible"
    done = {"target": target, "window": window, "tokens": tokens, "outcome": outcome}
    return Plan(
        covered=packed.covered,
        replacement=tuple(
            {**message, "rehydrate": {"kind": "summary", "plan": done}} if kind_of(message) == "summary" else message
            for message in packed.replacement
        ),
        summary=packed.summary,
        ledger=survey.known()[0],
        tokens=tokens,
        outcome=outcome,
        holders=() if tokens <= limit else survey.holders(),
    )


def _packed(survey: Survey, *, goal: int, target: int, tail_max: int, least: int, prose: str) -> "_Packing":
    """With the usual share for the tail; with less of it where rules of the user would find no room otherwise."""
    tail = min(target, goal) * TAIL_PERCENT // 100
    packed = _Packing(survey, goal=goal, target=target, tail=tail, tail_max=tail_max, least=least, prose=prose)
    if packed.rules_missing:
        tail = tail * TIGHT_PERCENT // 100
        tight = _Packing(survey, goal=goal, target=target, tail=tail, tail_max=0, least=least, prose=prose)
        return tight if tight.rules_missing < packed.rules_missing else packed
    return packed


class _Packing:
    """What goes where, for one goal."""

    def __init__(
        self, survey: Survey, *, goal: int, target: int, tail: int, tail_max: int, least: int, prose: str
    ) -> None:
        """`tail`: tokens for the newest units, up to `tail_max` where the summary leaves so many.  `least`: tokens of
        the summary that it has whatever the goal.
        """
        self._survey = survey
        self._goal = goal
        self._target = target
        self._least = least
        self._prose = prose or self._earlier_prose()
        self._reserved = max(least, goal * SUMMARY_PERCENT // 100)
        self._paid = set(survey.pinned)
        if survey.request is not None:
            self._paid.add(survey.request)
        self._cut: Message | None = None
        room = self._room()
        if room < least:
            self._cut_request(room - least)
            room = self._room()
        self.covered = 0
        self.rules_missing = 0
        """Statements of the user that are more than facts and found no room."""
        self.summary = ""
        self.replacement: list[Message] = []
        if tail < tail_max:
            tail = max(tail, min(tail_max, room - self._summary_tokens(room - tail)))
        self._pack(tail, room)
        if not self._begins_well():
            self._pack(0, room)
        if not self._begins_well():
            self._put_together([], self._start, OPENING)

    def _room(self) -> int:
        """What is left of the goal for summary, tail and a shortened unit, once all that must stay has its place."""
        survey = self._survey
        stays = {*range(survey.lead), *self._paid, *range(survey.forced, len(survey.units))}
        tokens = survey.tokens(stays)
        if self._cut is not None and survey.request is not None:
            tokens += survey.meter.message(self._cut) - survey.units[survey.request].tokens
        return self._goal - tokens

    def _cut_request(self, lacking: int) -> None:
        survey = self._survey
        at = survey.request
        if at is None or at >= survey.forced or at in survey.pinned:
            return
        (message,) = survey.of(at)
        tokens = survey.units[at].tokens
        if mark_of(message).get("cut") == self._target:
            return  # it was cut for the same target, and to cut it once more would never end
        for limit in (tokens + lacking, FLOOR):
            cut = cut_request(message, limit=limit, meter=survey.meter) if limit < tokens else None
            if cut is not None:
                self._cut = {**cut, "rehydrate": {"kind": "request", "cut": self._target}}
                return

    def _pack(self, tail: int, room: int) -> None:
        survey = self._survey
        start, used, room = self._tail(tail, room)
        shortened: list[Message] = []
        limit = min(room - self._reserved, tail - used if used else max(tail, room // 2))
        if start > survey.first and limit >= FLOOR:
            shortened = self._shortened(start - 1, limit)
            room -= sum(survey.meter.message(message) for message in shortened)
        self._put_together(shortened, start, self._summary(shortened, start, room))

    def _tail(self, tail: int, room: int) -> tuple[int, int, int]:
        """The first unit that stays, the tokens of the tail, and the room that is left."""
        survey = self._survey
        start = survey.forced
        used = survey.tokens([at for at in range(start, len(survey.units)) if at not in self._paid])
        for at in range(survey.forced - 1, survey.first - 1, -1):
            if at == survey.request and self._cut is not None:
                break
            if at not in self._paid:
                tokens = survey.units[at].tokens
                is_newest = start == len(survey.units)
                if tokens > room - self._reserved or (used + tokens > tail and not is_newest):
                    break
                used += tokens
                room -= tokens
            start = at
        return start, used, room

    def _shortened(self, at: int, limit: int) -> list[Message]:
        """The unit within the limit; nothing where it cannot be shortened, or was once.

        Its thoughts go; where another unit of its loop that stays has some, its answer stays as it is, for either all
        answers of a loop keep them or none.
        """
        survey = self._survey
        unit = survey.units[at]
        messages = list(survey.of(at))
        if unit.kind == "system" or at in self._paid or kind_of(messages[0]) == "shortened":
            return []
        whole: list[Message] = []
        if has_thoughts(messages[0]) and self._thinks_elsewhere(at):
            whole, messages = messages[:1], messages[1:]
            limit -= survey.meter.message(whole[0])
        found = shorten_unit(messages, limit=limit, meter=survey.meter) if messages and limit >= FLOOR else None
        return [] if found is None else [marked(message, "shortened") for message in (*whole, *found)]

    def _thinks_elsewhere(self, at: int) -> bool:
        """Whether another unit that stays has thoughts and may stand in one loop with this one: those behind it do, and
        pinned ones when the requests between are left out.  Where the loop goes on, those that are to come may.
        """
        survey = self._survey
        loop, newest = survey.units[at].loop, survey.units[-1]
        if newest.kind == "step" and newest.loop == loop:
            return True
        return any(
            (other in survey.pinned or (other > at and unit.loop == loop)) and has_thoughts(survey.of(other)[0])
            for other, unit in enumerate(survey.units)
        )

    def _summary_tokens(self, budget: int) -> int:
        """Of a message with what is known, and nothing of what is left out."""
        text = self._summarised(len(self._survey.units), budget=budget, notes=()).text
        return self._survey.meter.message({"role": "user", "content": text})

    def _summary(self, shortened: Sequence[Message], start: int, room: int) -> str:
        budget = max(room, self._least) - self._survey.meter.message({"role": "user", "content": ""})
        notes = self._notes(start - (1 if shortened else 0), budget)
        made = self._summarised(start, budget=budget, notes=notes)
        return made.text if count(made.text, self._survey.meter) <= budget else ""

    def _summarised(self, start: int, *, budget: int, notes: Sequence[str]) -> Summary:
        """What to say where the units from `start` on stay."""
        survey = self._survey
        stays = {*self._paid, *range(start, len(survey.units))}
        if self._cut is not None and survey.request is not None:
            stays.discard(survey.request)
        shown = {text for at in stays for text in survey.stated(at)}
        ledger, said = survey.known()
        at, first = survey.first_asked()
        holds = [statement for statement in said if statement.text not in shown]
        made = summarise(
            ledger=ledger,
            statements=holds,
            first=None if at in stays else first,
            notes=notes,
            prose=self._prose,
            files=survey.files,
            budget=budget,
            meter=survey.meter.counter,
        )
        kept = set(made.statements) if len(made.statements) < len(holds) else None
        self.rules_missing = 0 if kept is None else sum(each.weight >= RULE for each in holds if each not in kept)
        return made

    def _notes(self, stop: int, budget: int) -> list[str]:
        """A line each on the newest of the steps and requests that are left out, and on those that were before, oldest
        first; of lines that say the same the newest one."""
        survey = self._survey
        left = min(budget, self._goal * NOTES_PERCENT // 100)
        first, _ = survey.first_asked()
        fresh = (
            line
            for at in range(stop - 1, survey.first - 1, -1)
            if at not in self._paid and at != first
            for line in survey.lines_about(at)
        )
        known = (line for each in reversed(survey.earlier()) for line in reversed(each.notes))
        found, _, _ = leading(_distinct(chain(fresh, known)), left, cost=lambda line: count(line, survey.meter))
        return found[::-1]

    def _earlier_prose(self) -> str:
        """What earlier summaries have, the first of it that has room."""
        lines = chain.from_iterable(each.prose.split("\n") for each in self._survey.earlier() if each.prose)
        most = self._goal * PROSE_PERCENT // 100
        found, _, _ = leading(lines, most, cost=lambda line: count(f"\n{line}", self._survey.meter))
        return "\n".join(found)

    def _put_together(self, shortened: Sequence[Message], start: int, summary: str) -> None:
        survey = self._survey
        self._start = start
        self.summary = summary
        self.covered = survey.units[start].start if start < len(survey.units) else len(survey.messages)
        pinned = [at for at in sorted(survey.pinned) if survey.lead <= at < start and at != survey.request]
        kept = [
            message if kind_of(message) == FOREIGN else marked(message, "pinned")
            for at in pinned
            for message in survey.of(at)
        ]
        said: list[Message] = []
        if summary:
            said.append(marked({"role": "user", "content": summary}, "summary"))
        if pinned and survey.units[pinned[0]].kind != "request":
            kept, said = said, kept  # a list begins with the user
        request: list[Message] = []
        at = survey.request
        if at is not None and at < start:
            kind = "pinned" if at in survey.pinned else "request"
            request = [marked(message, kind) for message in survey.of(at)] if self._cut is None else [self._cut]
        lead = [message for each in range(survey.lead) for message in survey.of(each)]
        self.replacement = [*lead, *kept, *said, *request, *shortened]

    def _begins_well(self) -> bool:
        """Whether the user says something first."""
        for message in (*self.replacement, *self._survey.messages[self.covered :]):
            if message.get("role") != "system":
                return is_request(message)
        return False


def _unchanged(survey: Survey, outcome: Outcome) -> Plan:
    holders = survey.holders() if outcome == "irreducible" else ()
    return Plan(0, (), "", survey.given, survey.total, outcome, holders)


def _distinct(lines: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for line in lines:
        if line not in seen:
            seen.add(line)
            yield line
