"""What the steps before a request decide: what of it is too long, what is pruned, whether it has to be compacted, and
whether it fits.

Each answer depends on the scene alone, and on the time.
"""

from collections.abc import Callable, Sequence
from functools import partial

from rehydrate.entries.messages import time_of

from .errors import CompactionBlocked, ContextExhausted, Holder, WindowFull
from .explain import holders_in
from .prune import prune
from .results import Replacement, over_budget, replaced
from .scene import Scene, Stage
from .steady import Held, Judged
from .tokens import SAME, lowered

LATEST_S = 253_402_300_799.0
"""The end of the year 9999: no record tells a later time."""


def within_reason(clock: Callable[[], float]) -> Callable[[], float]:
    """The clock, held to what a record can tell, however far it jumps."""

    def now_s() -> float:
        told = clock()
        return min(max(told, 0.0), LATEST_S) if told == told else 0.0  # what is no number is not itself

    return now_s


class Steps:
    """Decides for one engine, for one thread at a time."""

    def __init__(self, stage: Stage, *, clock: Callable[[], float]) -> None:
        """`clock`: seconds since the epoch."""
        self._stage = stage
        self._policy = stage.policy
        self._clock = clock
        self._judged, self._held = Judged(), Held(stage.plain)

    def too_long(self, scene: Scene) -> list[Replacement]:
        """What is put in the place of results that take more than their share of the window."""
        if self._stage.window is None:
            return []
        judge = partial(
            over_budget,
            window=self._stage.window,
            meter=self._stage.plain,  # a result is judged once: what is learnt later changes nothing about it
            is_decided=scene.decided(),
            has_recall=self._policy.has_recall_tool,
        )
        return self._judged.over_budget(scene.work, judge)

    def prunes(self, scene: Scene) -> list[Replacement]:
        """What is put in the place of old results."""
        answered = time_of({"timestamp": scene.state.answered})
        idle_s = None if answered is None else self._clock() - answered
        budget = scene.snapshot.available
        if budget is not None:  # as the plain meter counts, by which what is held stays known
            budget = lowered(budget, scene.state.learnt.get(scene.request.model, SAME))
        if idle_s is None or idle_s <= self._policy.cache_lifetime_s:
            held = self._held.tokens(scene.work)  # more than those that may be pruned
            if budget is None or held * 100 <= budget * self._policy.prune_percent:
                return []
        return prune(
            scene.work.messages,
            input_budget=budget,
            meter=self._stage.plain,
            ranks=self._policy.rank,
            idle_s=idle_s,
            cache_lifetime_s=self._policy.cache_lifetime_s,
            is_decided=scene.decided("prune"),
            percent=self._policy.prune_percent,
            has_recall=self._policy.has_recall_tool,
        )

    def is_due(self, scene: Scene, prunes: Sequence[Replacement]) -> bool:
        """Whether it has to be compacted, pruned or not: by the provider's count less what the prunes free, and by the
        local count that is all that is known after them.
        """
        line = scene.snapshot.compaction_line
        tokens = scene.snapshot.tokens
        if line is None or tokens is None:
            return False
        if prunes:
            freed = sum(each.tokens_freed for each in prunes)
            left = [*replaced(scene.work.messages, prunes), *scene.request.control]
            tokens = max(tokens - freed, scene.snapshot.fixed + self._stage.meter.messages(left))
        return tokens >= line

    def refuse_full(self, scene: Scene, blocked: CompactionBlocked | None) -> None:
        """Raises what says that it does not fit: `blocked` where a hook has forbidden the compaction, WindowFull where
        the policy has none, else ContextExhausted.
        """
        snapshot = scene.snapshot
        if snapshot.tokens is None or snapshot.available is None or snapshot.tokens <= snapshot.available:
            return
        if blocked is not None:
            raise blocked
        much = f"the next request has {snapshot.tokens:,} tokens, and {snapshot.available:,} are available"
        if self._policy.compaction_percent is None:
            raise WindowFull(f"{much}: call `compact()`, and prepare it again")
        holders = tuple(Holder(*each) for each in holders_in(scene, meter=self._stage.meter).items())
        told = ", ".join(f"{each.what} {each.tokens:,}" for each in holders)
        raise ContextExhausted(f"{much}; nothing more can be taken out ({told})", holders=holders)
