"""What can go wrong with a context, each kind with a type of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which a list of messages breaks the rules of its format."""

    code: str
    """`orphan_result`, `unanswered_call`, `split_batch`, `first_not_user`, `thinking_changed`, `system_role`, ..."""
    place: int
    """Which message, from 0, in the list that was checked."""
    text: str
    """One sentence for people."""


class ContextError(Exception):
    """What any part of `rehydrate.context` raises; the message is one sentence."""


class InvalidProjection(ContextError):
    """Messages that the provider would refuse were about to be sent; they were not."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        """`violations`: all of them, at least one."""
        super().__init__("; ".join(each.text for each in violations))
        self.violations = tuple(violations)


@dataclass(frozen=True, slots=True)
class Holder:
    """Something that takes room which nothing can free."""

    what: str
    """`system and tools`, `system` (messages of that), `pinned`, `ledger`, `request`, `open calls`; where no plan could
    tell, the parts that `Engine.explain` names."""
    tokens: int


class ContextExhausted(ContextError):
    """Nothing more can be taken out, and what is left does not fit: `holders` says what it is."""

    def __init__(self, message: str, *, holders: Sequence[Holder]) -> None:
        super().__init__(message)
        self.holders = tuple(holders)


class WindowFull(ContextError):
    """The next request would fill the window, and the policy compacts only when it is asked to: call `compact()`."""


class CompactionBlocked(ContextError):
    """Raised by a hook before a compaction: it is not made, in no other way either, and nothing has changed."""


class Refused(ContextError):
    """The provider has refused a request, nothing can be done about it, and what it said was no exception."""


class OutputCapped(ContextError):
    """An answer was cut off again and again, and the model will not be told to go on another time.  What it has said is
    in the log."""


class CommitFailed(ContextError):
    """A decision could not be made durable, so the turn is over and nothing has changed; `__cause__` says why."""

    def __init__(self, message: str, *, phase: str) -> None:
        """`phase`: what was being committed, `checkpoint` or `prune` or `results`."""
        super().__init__(message)
        self.phase = phase


class Superseded(ContextError):
    """Another process has compacted the same session meanwhile, and its checkpoint counts."""


class BadCheckpoint(ContextError):
    """A checkpoint that is not what a checkpoint may be; the message says what is wrong with it."""


def words_of(error: BaseException, say: Callable[[object], str] = str) -> str:
    """What an error of somebody else's program says of itself; only its kind, where even that fails."""
    try:
        return say(error)
    except Exception:
        return type(error).__name__
