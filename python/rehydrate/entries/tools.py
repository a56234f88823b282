"""One answer and all that belongs to it.

An answer is written as several records, one a block, and its calls may run at once: then only one of the results is in
the line of descent, the others (and some of the blocks) are side branches.  Here they come back to where they belong.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence

from rehydrate.dataclass import dataclass, field
from rehydrate.scan._entries import Sign

from . import messages
from .log import may_be_escaped, text_member
from .scope import Scope

_IS_FIRST = bytes(sign & Sign.FIRST for sign in range(256))
_ID = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]*)"')


@dataclass(slots=True)
class _Answer:
    """The records of one answer."""

    first: int
    """The one that stands first in the file."""
    records: list[int] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)


class _Order:
    """The places of a chain's entries, in little memory."""

    def __init__(self, scope: Scope, chain: Sequence[int]) -> None:
        self._places = array("i", [-1]) * len(scope.log)
        for place, index in enumerate(chain):
            self._places[index] = place
        self._scope, self._chain = scope, chain

    def __contains__(self, index: int) -> bool:
        return self._places[index] >= 0

    def __getitem__(self, index: int) -> int:
        return self._places[index]

    def outside(self, *, after: int) -> Iterator[int]:
        """The entries of the scope behind a record that are not in the chain and were not taken back, in file order."""
        rest = bytearray(self._scope.log.signs.translate(_IS_FIRST))
        for index in self._chain:
            rest[index] = 0
        for index in self._scope.retracted:
            rest[index] = 0
        at = rest.find(1, after + 1, self._scope.end)
        while at >= 0:
            yield at
            at = rest.find(1, at + 1, self._scope.end)


def with_siblings(scope: Scope, chain: Sequence[int], *, after: int = -1) -> Sequence[int]:
    """The chain with the blocks and results that belong to its answers, in file order within each answer.

    `after`: nothing that stands at or before this record is brought back.  Only answers beside which something stands
    are decoded.
    """
    log = scope.log
    order = _Order(scope, chain)
    outside = array("i", order.outside(after=after))
    near = [chain[place] for place in _near(scope, chain, order, outside)]
    if not near:
        return chain
    answers: dict[str, _Answer] = {}
    for index in near:
        if log.types[index] == "assistant":
            record = log.record(index)
            name = messages.message_id(record) or f"\0{index}"
            answer = answers.setdefault(name, _Answer(index))
            answer.records.append(index)
            answer.first = min(answer.first, index)
            answer.calls.update(call.id for call in messages.calls(record))
    answered = {
        result.id for index in near if log.types[index] == "user" for result in messages.results(log.record(index))
    }
    brought: dict[int, _Answer] = {}
    for name, answer in answers.items():
        for index in _beside(scope, answer, name, order):
            if index > after and index not in brought:
                brought[index] = answer
    _search(scope, answers.values(), outside, answered, brought, after=after)
    return _merged(scope, chain, near, order, answers.values(), answered, brought)


def _near(scope: Scope, chain: Sequence[int], order: _Order, outside: Sequence[int]) -> list[int]:
    """The places in the chain of answers that something may belong to, ascending."""
    log = scope.log
    if _strays(scope, order, outside):
        return list(range(len(chain)))
    found: set[int] = set()
    if not outside or not any(log.types[index] == "assistant" for index in chain):
        return []  # to look for one around every place would take for ever
    above = {log.parents[index] for index in outside}
    gone = scope.retracted & above
    while gone:  # through what was taken back to what it follows
        above |= (found_above := {log.parents[index] for index in gone} - above)
        gone = scope.retracted & found_above
    for place in sorted(order[parent] for parent in above if parent >= 0 and parent in order):
        if place not in found:
            found.update(_answers_at(scope, chain, place))
    return sorted(found)


def _strays(scope: Scope, order: _Order, outside: Sequence[int]) -> bool:
    """Whether a result beside the chain follows no answer, so that only its call can tell where it belongs."""
    log = scope.log
    for index in outside:
        if log.types[index] != "user":
            continue
        parent = scope.parent(index)
        if parent is not None and (log.types[parent] == "assistant" or parent in order):
            continue
        if _ID.search(log.raw(index)) is not None and not scope.is_aside(index):
            return True
    return False


def _answers_at(scope: Scope, chain: Sequence[int], place: int) -> Iterable[int]:
    """The places of the answer that stands there; where none does, of the one before and the one behind."""
    log = scope.log
    before = after = place
    while before >= 0 and log.types[chain[before]] != "assistant":
        before -= 1
    while after < len(chain) and log.types[chain[after]] != "assistant":
        after += 1
    return (each for at in {before, after} if 0 <= at < len(chain) for each in _answer_at(scope, chain, at))


def _answer_at(scope: Scope, chain: Sequence[int], place: int) -> range:
    """The places of an answer's records and of what stands around them up to the next answer."""
    log = scope.log
    name = messages.message_id(log.record(chain[place]))

    def is_other(at: int) -> bool:
        return log.types[chain[at]] == "assistant" and messages.message_id(log.record(chain[at])) != name

    start, end = place, place + 1
    while start > 0 and not is_other(start - 1):
        start -= 1
    while end < len(chain) and not is_other(end):
        end += 1
    return range(start, end)


def _beside(scope: Scope, answer: _Answer, name: str, order: _Order) -> list[int]:
    """What stands beside the chain and comes from the answer with nothing else in between."""
    log = scope.log
    found: list[int] = []
    seen = set(answer.records)
    uuids = {log.entries[index].uuid for index in answer.records}
    waiting = list(answer.records)
    above = scope.parent(answer.records[0])
    if above is not None and not name.startswith("\0"):
        waiting += [each for each in scope.children(above) if _is_part(scope, each, name) and each not in seen]
        found += waiting[len(answer.records) :]
        seen.update(waiting)
    while waiting:
        at = waiting.pop()
        if at not in order and _is_part(scope, at, name):
            answer.calls.update(call.id for call in messages.calls(log.record(at)))
            uuids.add(log.entries[at].uuid)
        for child in scope.children(at):
            if child in seen or child in order:
                continue
            seen.add(child)
            kind = log.types[child]
            if _is_part(scope, child, name):
                found.append(child)
            elif kind == "user":
                record = log.record(child)
                if not messages.only_results(record) or not _belongs(scope, child, answer, uuids):
                    continue
                found.append(child)
            elif kind == "assistant":
                continue
            waiting.append(child)
    return [index for index in found if index not in order]


def _is_part(scope: Scope, index: int, name: str) -> bool:
    if scope.log.types[index] != "assistant":
        return False
    return messages.message_id(scope.log.record(index)) == name


def _belongs(scope: Scope, index: int, answer: _Answer, uuids: set[str | None]) -> bool:
    record = scope.log.record(index)
    if scope.log.entries[index].parent in uuids or text_member(record, "sourceToolAssistantUUID") in uuids:
        return True
    return any(result.id in answer.calls for result in messages.results(record))


def _search(
    scope: Scope,
    answers: Iterable[_Answer],
    outside: Sequence[int],
    answered: set[str],
    brought: dict[int, _Answer],
    *,
    after: int,
) -> None:
    """Results of calls that have none yet and stand somewhere else, behind the call."""
    log = scope.log
    have = answered | {
        result.id for index in brought if log.types[index] == "user" for result in messages.results(log.record(index))
    }
    wanted = {call: answer for answer in answers for call in answer.calls - have}
    if not wanted:
        return
    first = min(answer.first for answer in wanted.values())
    for index in outside:
        if index <= max(first, after) or log.types[index] != "user" or index in brought:
            continue
        raw = log.raw(index)
        if not _escaped(raw) and wanted.keys().isdisjoint(i.decode("utf-8", "replace") for i in _ID.findall(raw)):
            continue
        record = log.record(index)
        if not messages.only_results(record) or scope.is_aside(index):
            continue
        for result in messages.results(record):
            answer = wanted.get(result.id)
            if answer is not None and answer.first < index:
                brought[index] = answer


def _escaped(raw: bytes) -> bool:
    """Whether the names of members or the ids may be written with escapes."""
    return may_be_escaped(raw) and _ID.search(raw) is None


def _merged(
    scope: Scope,
    chain: Sequence[int],
    near: Sequence[int],
    order: _Order,
    answers: Iterable[_Answer],
    answered: set[str],
    brought: dict[int, _Answer],
) -> list[int]:
    """Each in its place: before the first of its answer's stretch of the chain that stands behind it in the file."""
    log = scope.log
    starts = {id(answer): min(order[index] for index in answer.records) for answer in answers}
    ends = {id(answer): max(order[index] for index in answer.records) for answer in answers}
    owner = {call: answer for answer in answers for call in answer.calls}
    for index in near:
        if log.types[index] == "user":
            for result in messages.results(log.record(index)):
                if result.id in owner:
                    key = id(owner[result.id])
                    ends[key] = max(ends[key], order[index])
    before: dict[int, list[int]] = {}
    taken = set(answered)
    for index in sorted(brought):
        answer = brought[index]
        if log.types[index] == "user":
            ids = {result.id for result in messages.results(log.record(index))}
            if ids and ids <= taken:  # a second answer to a call that has one
                continue
            taken |= ids
        place = starts[id(answer)]
        while place <= ends[id(answer)] and chain[place] < index:
            place += 1
        starts[id(answer)] = place  # nor can one that stands further on come before that
        before.setdefault(place, []).append(index)
    merged: list[int] = []
    at = 0
    for place in sorted(before):
        merged += chain[at:place]
        merged += before[place]
        at = place
    return [*merged, *chain[at:]]
