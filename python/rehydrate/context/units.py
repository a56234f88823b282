"""What of a list of messages belongs together, so that nothing cuts through it.

`arrange` puts each result right behind its call and makes one message of the pieces of an answer; `units` tells what
must stay or go as one.  Nothing is lost, nothing that is given is changed, and both take time in proportion to the
length of the list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .messages import Block, Message, blocks


@dataclass(slots=True)
class Unit:
    """Messages that stay or go together: a request, an answer without calls, a step (an answer with calls and the
    results of them), or a message of the system.
    """

    start: int
    """Index of the first message."""
    stop: int
    """Index behind the last one."""
    kind: Literal["request", "answer", "step", "system"]
    loop: int
    """Which loop of tools it belongs to: each request begins one.  0 is what stands before the first."""
    tokens: int = 0
    """For the caller to fill in."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """A message of an arranged list."""

    message: Message
    sources: tuple[int, ...]
    """Indexes of the given messages that something of it comes from, ascending."""


def arrange(messages: Sequence[Message]) -> list[Message]:
    """The messages with results right behind their calls, all those of an answer in one message, in the order of the
    calls where they had to be moved; a message that mixes them with something else is split in two.  Pieces of one
    answer (the same `id`, only results between them) become one message.

    A second result for a call stands with the first one, and a result without a call stays where it is.  A message that
    is in its place is the very object that was given.
    """
    return [each.message for each in arranged(messages)]


def arranged(messages: Sequence[Message]) -> list[Arranged]:
    """`arrange`, and which of the given messages each one is made of."""
    slots, _ = _slots(messages)
    found: list[Arranged] = []
    for slot in slots:
        if slot.message is not None:
            found.append(Arranged(slot.message, tuple(slot.sources)))
        if slot.results:
            found.append(_results_of(slot, messages))
    return found


def units(messages: Sequence[Message]) -> list[Unit]:
    """The units of a list that is arranged; together they cover it."""
    found: list[Unit] = []
    loop = 0
    step: Unit | None = None  # that results may still belong to
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        kind: Literal["request", "answer", "step", "system"]
        if role == "assistant":
            kind = "step" if _has(content, "tool_use") else "answer"
        elif role != "user":
            kind = "system"
        elif not isinstance(content, str) and _only_results(content):
            if step is not None:
                step.stop = index + 1
                continue
            kind = "step"  # results without a call
        else:
            kind = "request"
            loop += 1
        unit = Unit(index, index + 1, kind, loop)
        step = unit if kind == "step" else None
        found.append(unit)
    return found


def open_calls(messages: Sequence[Message]) -> list[tuple[int, Block]]:
    """The calls that no result has come for: index of the message and the block, in order.  What follows the first one
    is never covered by a compaction.
    """
    _, waiting = _slots(messages)
    return sorted(((index, block) for calls in waiting.values() for _, index, block in calls), key=lambda call: call[0])


@dataclass(slots=True)
class _Slot:
    """A message of the arranged list, and the results that follow it."""

    message: Message | None
    """None: only results that no call was found for."""
    sources: list[int]
    results: list[tuple[Block, int]] = field(default_factory=list)
    """Each with the index of the message that it came in."""


_Waiting = dict[str | None, list[tuple[_Slot, int, Block]]]
"""Id -> the calls that have no result yet, with the slot and the message of each."""


def _slots(messages: Sequence[Message]) -> tuple[list[_Slot], _Waiting]:
    slots: list[_Slot] = []
    waiting: _Waiting = {}
    answered: dict[str | None, _Slot] = {}
    early: dict[str | None, list[tuple[_Slot, Block, int]]] = {}  # results that came before any call of their id
    going_on: _Slot | None = None  # the answer that another piece may belong to
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            going_on = _answer(slots, going_on, message, index)
            if not isinstance(content, str):
                for block in blocks(message):
                    if block.get("type") == "tool_use":
                        _call(going_on, index, block, waiting=waiting, answered=answered, early=early)
            continue
        if role == "user" and not isinstance(content, str) and _has(content, "tool_result"):
            orphans = _Slot(None, [])
            rest: list[Block] = []
            for block in blocks(message):
                if block.get("type") == "tool_result":
                    name = _name(block, "tool_use_id")
                    slot = _slot_of(name, waiting=waiting, answered=answered)
                    if slot is None:
                        early.setdefault(name, []).append((orphans, block, index))
                    else:
                        slot.results.append((block, index))
                else:
                    rest.append(block)
            slots.append(orphans)
            if rest:
                slots.append(_Slot({**message, "content": rest}, [index]))
                going_on = None
            continue
        slots.append(_Slot(message, [index]))
        going_on = None
    for results in early.values():
        for orphans, block, index in results:
            orphans.results.append((block, index))
    return slots, {name: calls for name, calls in waiting.items() if calls}


def _answer(slots: list[_Slot], going_on: _Slot | None, message: Message, index: int) -> _Slot:
    if going_on is not None and going_on.message is not None:
        name = answer_id(message)
        if name is not None and name == answer_id(going_on.message):
            if len(going_on.sources) == 1:
                going_on.message = {**going_on.message, "content": [*blocks(going_on.message)]}
            going_on.message["content"].extend(blocks(message))  # of a list that is ours: there may be many pieces
            going_on.sources.append(index)
            return going_on
    slot = _Slot(message, [index])
    slots.append(slot)
    return slot


def answer_id(message: Message) -> str | None:
    """The provider's id of the answer that a message is a piece of, None where it has none."""
    name = message.get("id")
    if name is None:
        wire = message.get("wire")
        name = wire.get("id") if wire is not None and isinstance(wire, Mapping) else None
    return name if isinstance(name, str) and name else None


def _call(
    slot: _Slot,
    index: int,
    block: Block,
    *,
    waiting: _Waiting,
    answered: dict[str | None, _Slot],
    early: dict[str | None, list[tuple[_Slot, Block, int]]],
) -> None:
    name = _name(block, "id")
    came = early.pop(name, None)
    if came is None:
        waiting.setdefault(name, []).append((slot, index, block))
        return
    answered[name] = slot
    slot.results += ((result, at) for _, result, at in came)


def _slot_of(name: str | None, *, waiting: _Waiting, answered: dict[str | None, _Slot]) -> _Slot | None:
    """The answer that a result belongs to: the last one whose call of this id is open, else that had its result."""
    calls = waiting.get(name)
    if calls:
        answered[name] = calls.pop()[0]
    return answered.get(name)


def _results_of(slot: _Slot, messages: Sequence[Message]) -> Arranged:
    sources = sorted({index for _, index in slot.results})
    first = messages[sources[0]]
    results = [block for block, _ in slot.results]
    if len(sources) == 1 and len(results) == len(first["content"]):
        return Arranged(first, (sources[0],))
    if slot.message is not None and len(results) > 1:
        calls = (block for block in blocks(slot.message) if block.get("type") == "tool_use")
        order: dict[str | None, int] = {}
        for place, block in enumerate(calls):
            order.setdefault(_name(block, "id"), place)
        results.sort(key=lambda block: order.get(_name(block, "tool_use_id"), len(order)))
    return Arranged({**first, "content": results}, tuple(sources))


def _name(block: Block, member: str) -> str | None:
    name = block.get(member)
    return name if isinstance(name, str) else None


def _has(content: Any, kind: str) -> bool:
    if isinstance(content, (list, Sequence)) and not isinstance(content, str):
        for block in content:
            if isinstance(block, (dict, Mapping)) and block.get("type") == kind:
                return True
    return False


def _only_results(content: Any) -> bool:
    if not isinstance(content, (list, Sequence)) or not content:
        return False
    return all(isinstance(block, (dict, Mapping)) and block.get("type") == "tool_result" for block in content)
