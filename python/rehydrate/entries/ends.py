"""Where the conversation ends.

Its end is the last word of the conversation itself in file order: not of a subagent, not of a branch that was left, and
not a late answer to a call that was dealt with long ago.  A branch's end is the last entry on it, and it counts by the
last one in which somebody speaks.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from . import messages
from .log import Record
from .scope import Scope, summing_up


def leaf(scope: Scope) -> int | None:
    """The entry that the conversation ends with; None when there is no conversation."""
    log = scope.log
    fallback = None
    for index in _words_back(scope):
        tips = _tips(scope, index)
        if tips:
            return _preferred(scope, tips)
        fallback = index if fallback is None else fallback  # all in a circle: nothing is without children
    if fallback is None:  # nobody has spoken yet
        ours = (i for i in range(scope.end - 1, -1, -1) if log.is_entry(i) and not scope.is_aside(i))
        return next((i for i in ours if i not in scope.retracted), None)
    return fallback


def latest_leaf(scope: Scope) -> int | None:
    """As `leaf`, but of all ends the one with the newest timestamp."""
    log = scope.log
    best: tuple[float, int] | None = None
    for index in _words_back(scope):
        if not _tips(scope, index):
            continue
        found = (messages.time_of(log.record(index)) or 0.0, index)
        best = found if best is None or found > best else best
    return leaf(scope) if best is None else _preferred(scope, _tips(scope, best[1]))


def _words_back(scope: Scope) -> Iterator[int]:
    """The entries that a conversation can end with, the last one first: a compaction that tells its summary itself is
    one.
    """
    end = scope.end
    for index in scope.turns_back():
        yield from summing_up(scope, index + 1, end)
        if _is_word(scope, index):
            yield index
        end = index
    yield from summing_up(scope, 0, end)


def _is_word(scope: Scope, index: int) -> bool:
    """Whether somebody speaks in the conversation itself there, and it was not taken back."""
    if scope.is_aside(index) or index in scope.retracted:
        return False
    return scope.spoken(index) and not _is_late(scope, index)


def _tips(scope: Scope, index: int) -> list[int]:
    """The entries without children that come from this one with nobody speaking in between, itself included."""
    tips = []
    seen = {index}
    waiting = [index]
    while waiting:
        at = waiting.pop()
        is_tip = True
        for child in scope.children(at):
            if scope.spoken(child) and _is_late(scope, child):
                continue
            is_tip = False
            if child not in seen and not scope.spoken(child) and child not in summing_up(scope, child, child + 1):
                seen.add(child)
                waiting.append(child)
        if is_tip:
            tips.append(at)
    return tips


def _preferred(scope: Scope, tips: list[int]) -> int:
    if len(tips) > 1:
        for index in scope.log.of_type("last-prompt", end=scope.end, backwards=True):
            named = scope.held(scope.log.record(index).get("leafUuid"))
            if named in tips:
                return named
            break
    return max(tips)


def _is_late(scope: Scope, index: int) -> bool:
    """Whether an entry only answers a call after which the conversation has long gone on without it."""
    log = scope.log
    if log.types[index] != "user":
        return False
    record = log.record(index)
    if not messages.only_results(record):
        return False
    called = scope.parent(index)
    if called is None or log.types[called] != "assistant":
        called = scope.at(record.get("sourceToolAssistantUUID"))
    if called is None or any(True for _ in _spoken_below(scope, index)):
        return False
    return _gone_on(scope, called) < index


def _gone_on(scope: Scope, called: int) -> int:
    """From which record on the conversation has gone on without more results of an answer; the end where it has not.

    That is where a way from the answer to something else that is said is in the file as a whole.
    """
    known = scope.gone_on.get(called)
    if known is not None:  # as very many results can follow one answer
        return known
    log = scope.log
    answer = messages.message_id(log.record(called))
    found, seen, waiting = scope.end, {called}, [(called, called)]
    while waiting:
        last, at = heappop(waiting)
        if at != called and scope.spoken(at) and _goes_on(log.record(at), answer):
            found = last
            break
        for child in scope.children(at):
            if child not in seen:
                seen.add(child)
                heappush(waiting, (child if at == called else max(last, child), child))
    scope.gone_on[called] = found
    return found


def _spoken_below(scope: Scope, index: int) -> Iterator[int]:
    """Entries in which somebody speaks that come from this one."""
    seen = {index}
    waiting = [index]
    while waiting:
        for child in scope.children(waiting.pop()):
            if child in seen:
                continue
            seen.add(child)
            if scope.spoken(child):
                yield child
            else:
                waiting.append(child)


def _goes_on(record: Record, answer: str | None) -> bool:
    """Whether a record is neither part of the answer nor a result of its calls."""
    if record.get("type") == "assistant":
        return answer is None or messages.message_id(record) != answer
    return not messages.only_results(record)
