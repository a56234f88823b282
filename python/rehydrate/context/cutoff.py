"""An answer that was cut off because it had reached the length that one answer may have.

The first time it is asked for again with a higher cap, and what came of it is forgotten.  Where that does not help, or
the cap cannot be raised, what was said is kept, and the model is told to go on: three times at most.  How far that has
come stands in the record of what the provider has counted, as the member `cut`; an answer that is whole ends it, as the
next request of the user does.

Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from .messages import THOUGHTS, Block, Message, is_request
from .meter import TOKENS_MOST, Baseline
from .records import USAGE, Record
from .state import State

CONTINUED_MOST = 3
"""So often is a model told to go on with one answer."""
_COUNTED = tuple(each.name for each in fields(Baseline))


@dataclass(frozen=True, slots=True)
class Cut:
    """How far it has come with an answer that was cut off."""

    raised: int | None = None
    """The cap that it was asked for with since, in tokens; None: that could not be raised."""
    continued: int = 0
    """So often the model was told to go on."""

    @classmethod
    def of(cls, state: State) -> "Cut | None":
        """As the log has it; None where the last answer was whole, or the user has asked for something else."""
        said = (state.usage or {}).get("cut")
        if not isinstance(said, Mapping) or state.usage is None:
            return None
        raised, continued = said.get("raised"), said.get("continued")
        if type(continued) is not int or continued < 0:
            return None
        if raised is not None and not (type(raised) is int and 0 < raised <= TOKENS_MOST):
            return None
        if any(is_request(each.message) for each in state.since(state.usage.get("after"))):
            return None
        return cls(raised, continued)

    def on(self, usage: Mapping[str, Any], *, after: str | None) -> Record:
        """What the provider has counted, as a record that tells of it behind the entry `after`, with this in it."""
        kept = {name: usage[name] for name in ("format", *_COUNTED) if name in usage}
        return {"type": USAGE, "after": after, **kept, "cut": {"raised": self.raised, "continued": self.continued}}


def higher_cap(limit: int, *, highest: int | None, room: int | None) -> int | None:
    """The cap to ask with, when the answer has reached `limit`; None where there is none that is higher.

    `highest`: what the model can give at most; None: nobody knows it, and the cap is doubled.  `room`: what the window
    leaves for an answer; None: nobody knows it.
    """
    cap = min(each for each in (2 * limit if highest is None else highest, room) if each is not None)
    return cap if cap > limit else None


def whole_part(messages: Sequence[Message]) -> list[Message]:
    """What of a cut answer can be kept: what was said, and the thoughts before that.  Calls go: the last one may be cut
    short, and none of them was made.
    """
    kept: list[Message] = []
    for message in messages:
        content = message.get("content")
        if not isinstance(content, str) and isinstance(content, Sequence):
            content = _without_calls(content)
        if content:
            kept.append({**message, "content": content})
    return kept


def _without_calls(content: Sequence[Block]) -> list[Block]:
    said = [block for block in content if not str(block.get("type")).endswith("tool_use")]
    while said and (said[-1].get("type") in THOUGHTS or _is_blank(said[-1])):
        said.pop()
    return said


def _is_blank(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text")).strip()
