"""What a host decides once: when a context is pruned and compacted, and what its tools do."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .given import a_count, a_text

Rank = Literal["read", "write"]
"""What a tool does: only look, or change something."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The lines are percent of what is available for input, which is the window less the reserve.

    Raises ValueError for lines that are out of order or no percentages, and what else cannot be meant, TypeError for
    what is no number, mapping or text.
    """

    handoff_percent: int = 70
    """From this line on the model is told that a compaction is near; below it one ends, where that can be reached."""
    compaction_percent: int | None = 80
    """At this line a request is compacted before it is sent.  None: only `compact()` does that, and a request that is
    larger than what is available raises `WindowFull`."""
    reserve: int | None = None
    """Tokens that are kept for the answer; None: 10 % of the window, between 8,192 and 32,768."""
    prune_percent: int = 20
    """Results that may be pruned are, when they hold more than this of what is available."""
    cache_lifetime_s: float = 300.0
    """How long the provider keeps a prefix: a conversation that was idle for longer is pruned further."""
    tools: Mapping[str, Rank] = field(default_factory=dict)
    """What each tool does, by name: results of those that only read are pruned first.  One that is not named may
    write."""
    workspace: str | None = None
    """The folder whose most recently touched files a compaction tells again; None: it tells none."""
    has_recall_tool: bool = False
    """Whether the model has a tool that reads the log: then placeholders name it."""

    def __post_init__(self) -> None:
        self._check_types()
        compaction = 100 if self.compaction_percent is None else self.compaction_percent
        if not 0 < self.handoff_percent < compaction <= 100:
            raise ValueError(
                f"the handoff line ({self.handoff_percent} %) has to be above 0 and below the compaction line "
                f"({compaction} %), and that at most 100 %"
            )
        if not 0 < self.prune_percent <= 100:
            raise ValueError(f"the line at which results are pruned is a percentage, and not {self.prune_percent}")
        if self.reserve is not None and self.reserve < 0:
            raise ValueError(f"a reserve of {self.reserve} tokens cannot be kept")
        if not self.cache_lifetime_s >= 0:
            raise ValueError(f"a cache cannot live for {self.cache_lifetime_s} seconds")
        odd = next((each for each in self.tools.items() if each[1] not in get_args(Rank)), None)
        if odd is not None:
            raise ValueError(f"the tool {odd[0]!r:.80} is of the kind 'read' or 'write', and not {odd[1]!r:.80}")
        if self.workspace is not None and not os.path.isabs(self.workspace):
            raise ValueError(f"the workspace {self.workspace!r:.200} is no absolute path: its files would not be found")

    def _check_types(self) -> None:
        for value, what in ((self.handoff_percent, "the handoff line"), (self.prune_percent, "the line of prunes")):
            a_count(value, what)
        if self.compaction_percent is not None:
            a_count(self.compaction_percent, "the compaction line")
        if self.reserve is not None:
            a_count(self.reserve, "a reserve")
        if isinstance(self.cache_lifetime_s, bool) or not isinstance(self.cache_lifetime_s, (int, float)):
            raise TypeError(f"the lifetime of a cache is in seconds, and no {type(self.cache_lifetime_s).__name__}")
        if not isinstance(self.tools, Mapping):
            raise TypeError(f"tools are a mapping from names to kinds, and no {type(self.tools).__name__}")
        if self.workspace is not None:
            a_text(self.workspace, "the workspace")

    def rank(self, call: Mapping[str, Any]) -> Rank:
        """What a call does, by the name of its tool."""
        return self.tools.get(str(call.get("name")), "write")
