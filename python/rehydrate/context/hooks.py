"""Where a host has a say in a compaction: it may forbid it, bring a summary, or have a model asked for one.

All of it is called with the engine free for other threads, which may append and observe meanwhile.  What is called may
not prepare or compact with the same engine: that waits for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from .given import a_function

if TYPE_CHECKING:
    from .summariser import Summariser


@dataclass(frozen=True, slots=True)
class Prepared:
    """A summary that the host has written already."""

    text: str
    """Plain text or Markdown; empty: there is none."""
    through: str
    """Uuid of the last entry that it covers.  All that follows that entry stays whole."""


@dataclass(frozen=True, slots=True)
class Compacting:
    """What a hook is told before a compaction."""

    reason: str
    """`manual`, `turn_limit`, `context_limit` or `threshold`."""
    focus: str | None
    """What the summary is to dwell on; None: nobody has said so."""
    tokens: int | None
    """Of the next request as it is; None: nobody knows it."""
    path: str
    """Of the log."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a host has given for that; None: nothing."""

    summariser: "Summariser | None" = None
    prepared: Callable[[], Prepared | None] | None = None
    before_compaction: Callable[[Compacting], object] | None = None

    def __post_init__(self) -> None:
        """Raises TypeError for what cannot be called."""
        for each in fields(self):
            if (given := getattr(self, each.name)) is not None:
                a_function(given, f"`{each.name}`")
