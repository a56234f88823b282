"""What somebody has written of a conversation, in the place of which it may stand: a model, or the host.

It can only improve the prose.  What it would cost anything else, or what has no room whole, is not taken.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .assembling import Assembled
from .compacting import Task
from .ledger import Item
from .messages import Message, has_thoughts, mark_of
from .plan import Plan
from .prose import read_prose
from .summary import Summary, prose_of, read_summary
from .units import units


@dataclass(frozen=True, slots=True)
class Text:
    """A text, taken apart."""

    items: tuple[Item, ...]
    """For the ledger."""
    prose: str
    """For the summary."""
    covers: int
    """So many messages it speaks of."""

    @classmethod
    def of(cls, text: str, *, covers: int) -> "Text | None":
        """None where it says nothing."""
        items, prose = read_prose(text)
        prose = prose_of(prose)
        return cls(items, prose, covers) if items or prose else None


def plan_with(text: Text, task: Task, plain: Plan) -> Plan | None:
    """The plan with a text in it, where it is as good as the one without (`plain`) in all but the prose: no larger than
    it may be, with the same items, statements and newest units; None where it is not.
    """
    made = task.plan(text)
    said, known = read_summary(made.summary), read_summary(plain.summary)
    if made.outcome != "completed" or made.tokens > max(task.target, plain.tokens) or not task.is_worth_it(made):
        return None
    if said is None or (text.prose and said.prose != text.prose):
        return None
    if made.covered > plain.covered or (_is_cut(made.replacement) and not _is_cut(plain.replacement)):
        return None
    if known is not None and not _holds(said, known, {item.id for item in plain.ledger.items if item.told}):
        return None
    return made


def _holds(said: Summary, known: Summary, told: Collection[str]) -> bool:
    """Whether a summary holds all that another one does, but for what a model has told."""
    items = {item.id for item in said.items}
    statements = {each.text for each in said.statements}
    return (
        said.first == known.first
        and all(item.id in items or item.id in told for item in known.items)
        and all(each.text in statements for each in known.statements)
    )


def _is_cut(messages: Sequence[Message]) -> bool:
    return any("cut" in mark_of(message) for message in messages)


def covered_by(work: Assembled, through: str) -> int | None:
    """How many messages are made of nothing behind an entry; fewer, where that would part a unit or a loop of tools
    with thoughts in it.  None where no message has that entry.
    """
    places = [at for at, each in enumerate(work.said) if each.uuid == through and through]
    if not places:
        return None
    count = next((at for at, found in enumerate(work.sources) if found and max(found) > places[-1]), len(work.sources))
    parts = units(work.messages)
    loops = {unit.loop for unit in parts if has_thoughts(work.messages[unit.start])}
    ends = [one.stop for one, other in pairwise(parts) if one.loop != other.loop or one.loop not in loops]
    if parts and (parts[-1].kind != "step" or parts[-1].loop not in loops):  # else it goes on
        ends.append(parts[-1].stop)
    return max((end for end in ends if end <= count), default=0)
