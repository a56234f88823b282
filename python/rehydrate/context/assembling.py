"""A conversation put together: messages in order, repaired where a provider would refuse them, each with the entries
that it is made of.

`assemble` does it for all of a conversation; an `Assembler` for one that grows, in the time that what is new takes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .errors import Violation
from .messages import Message, calls, is_request, results
from .repair import Repair, repair
from .units import Arranged, answer_id, arranged, open_calls
from .view import Said, cut, is_only_thoughts


@dataclass(frozen=True, slots=True)
class Assembled:
    """All that a model may be sent of a log, in order and whole."""

    messages: Sequence[Message]
    """In the neutral form: arranged, and repaired."""
    sources: Sequence[Collection[int]]
    """For each the numbers of the entries in `said` that it is made of; none for what a repair has put in."""
    said: Sequence[Said]
    """What the messages were made of: those of the checkpoint first, which have no uuid."""
    inherited: int
    """So many of them are the checkpoint's."""
    repaired: tuple[Violation, ...]
    open_from: int | None
    """The message from which on nothing may be compacted, because a call in it still runs; None: none does."""
    steady: int = 0
    """So many of the messages are those of the last answer of the same `Assembler`, and no step goes beyond them."""


def assemble(inherited: Sequence[Message], said: Sequence[Said]) -> Assembled:
    """Put together what a checkpoint left (`inherited`) and what was said since."""
    every = [*(Said("", 0, message) for message in inherited), *said]
    part = _part(every)
    return Assembled(part.messages, part.sources, every, len(inherited), part.repaired, part.open_from)


@dataclass(frozen=True, slots=True)
class _Part:
    """Entries, put together."""

    messages: list[Message]
    sources: list[Collection[int]]
    placed: list[Collection[int]]
    """As `sources`, before anything was repaired."""
    repaired: tuple[Violation, ...]
    """Each with the place in `placed`."""
    open_from: int | None


class Assembler:
    """Assembles a conversation again and again.

    What a call or an answer made is settled once another answer or request begins, unless something comes later that
    belongs to it; then all is put together anew.  So what it gives is always what `assemble` gives.
    """

    def __init__(self) -> None:
        self._begin((), [])

    def _begin(self, inherited: Sequence[Message], said: list[Said]) -> None:
        self._inherited = inherited
        self._given = said
        """The list as it was given, which grows."""
        self._every = [Said("", 0, message) for message in inherited]
        self._settled = 0
        """So many entries are settled; what they make:"""
        self._messages: list[Message] = []
        self._sources: list[Collection[int]] = []
        self._repaired: tuple[Violation, ...] = ()
        self._ids: set[object] = set()

    def assemble(self, inherited: Sequence[Message], said: list[Said]) -> Assembled:
        """As the function of that name.  `said`: the same list as long as it only grows at its end."""
        if said is not self._given or inherited is not self._inherited:
            self._begin(inherited, said)
        self._every += said[len(self._every) - len(inherited) :]
        found = self._go_on() if self._settled else None
        if found is None:
            self._settled, self._messages, self._sources, self._repaired, self._ids = 0, [], [], (), set()
            found = _part(self._every)
        steady = len(self._messages)
        messages, sources = [*self._messages, *found.messages], [*self._sources, *found.sources]
        repaired = (*self._repaired, *found.repaired)
        open_from = None if found.open_from is None else steady + found.open_from
        self._settle(found)
        return Assembled(messages, sources, tuple(self._every), len(inherited), repaired, open_from, steady)

    def _go_on(self) -> _Part | None:
        """What is not settled; None where it is not independent of what is."""
        rest = self._every[self._settled :]
        ids = _ids_in(each.message for each in rest)
        if not self._ids.isdisjoint(ids):
            return None
        part = _part([_BEFORE, *rest])
        if part.repaired:
            return None
        shift = self._settled - 1
        sources = [_shifted(places, shift) for places in part.sources[1:]]
        placed = [_shifted(places, shift) for places in part.placed[1:]]
        return _Part(part.messages[1:], sources, placed, (), part.open_from and part.open_from - 1)

    def _settle(self, part: _Part) -> None:
        """Settle what came before the last answer or request that begins anew."""
        last = len(part.messages) - 1
        for message in range(last, max(0, last - LOOKED_AT), -1):
            at, first = cut(part.sources, message, entries=len(self._every))
            if at == message and part.sources[message] and self._begins_anew(first):
                break
        else:
            return
        placed = sum(1 for places in part.placed if max(places) < first)
        if any(each.place >= placed for each in part.repaired):
            return  # it is told of by its place among all
        for each in self._every[self._settled : first]:
            self._ids |= _ids_in((each.message,))
        self._settled = first
        self._messages += part.messages[:message]
        self._sources += part.sources[:message]
        self._repaired += part.repaired

    def _begins_anew(self, first: int) -> bool:
        message = self._every[first].message
        if is_request(message):
            return not any(True for _ in results(message))
        if message.get("role") != "assistant":
            return False
        before = (each.message for each in reversed(self._every[:first]) if each.message.get("role") == "assistant")
        last = next(before, None)
        name = answer_id(message)
        return name is None or last is None or answer_id(last) != name


LOOKED_AT = 64
"""So many of the last messages are looked at for one that begins anew."""
_BEFORE = Said("", 0, {"role": "user", "content": "-"})
"""Stands for what is settled: without it the assistant would begin."""


def _shifted(places: Collection[int], by: int) -> Collection[int]:
    return [place + by for place in places]


def _ids_in(messages: Iterable[Message]) -> set[object]:
    """The ids of calls, and of what answers them."""
    found: set[object] = set()
    for message in messages:
        found.update(call.get("id") for call in calls(message))
        found.update(result.get("tool_use_id") for result in results(message))
    return found


def _part(said: Sequence[Said]) -> _Part:
    placed = [each for each in arranged([each.message for each in said]) if not is_only_thoughts(each.message)]
    messages = [each.message for each in placed]
    fixed = repair(messages)
    places: dict[int, Collection[int]] = {id(each.message): each.sources for each in placed}
    if fixed.repaired:
        _trace(fixed, placed, places)
    return _Part(
        fixed.messages,
        [places.get(id(message), ()) for message in fixed.messages],
        [each.sources for each in placed],
        fixed.repaired,
        _running_from(messages, fixed.messages),
    )


def _trace(fixed: Repair, placed: Sequence[Arranged], places: dict[int, Collection[int]]) -> None:
    """Find where the messages come from that a repair has changed: from where their blocks come."""
    owners: dict[int, Collection[int]] = {}
    for each in placed:
        content = each.message.get("content")
        owners.update((id(block), each.sources) for block in (content if isinstance(content, list) else ()))
    for message in fixed.messages:
        if id(message) not in places:
            content = message.get("content")
            shown = content if isinstance(content, list) else ()
            found = (owners.get(id(fixed.mended.get(id(block), (block, block))[1]), ()) for block in shown)
            places[id(message)] = sorted({place for each in found for place in each})


def _running_from(messages: Sequence[Message], fixed: Sequence[Message]) -> int | None:
    """Calls without a result still run where nothing but other results has come behind their answer; all other ones
    are dead.
    """
    waiting = open_calls(messages)
    if not waiting:
        return None
    first = waiting[0][0]
    others = (at for at, each in enumerate(messages) if each.get("role") == "assistant" or is_request(each))
    last = max(others, default=0)
    running = [at for at, _ in waiting if at == last]
    if not running:
        return None
    answer = messages[running[0]]
    return next((at for at, each in enumerate(fixed) if each is answer), min(first, len(fixed) - 1))
