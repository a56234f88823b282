"""One compaction, from the messages of a conversation to the checkpoint that stands for them.

Pure; the commit is the engine's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from .assembling import Assembled
from .checkpoint import Checkpoint
from .explain import pinned_messages
from .messages import FOREIGN, is_request, kind_of
from .meter import Meter
from .restore import Restored
from .results import FLOOR_TOKENS
from .scene import Scene
from .view import cut

if TYPE_CHECKING:
    from .plan import Plan

FOREIGN_PERCENT = 25
"""Of the target: so much the summary of another program may take, and stay whole."""
STEP_PERCENT = 5
"""Of what is available: a compaction frees so much at least, and so much has to come to a conversation that could not
be made small enough before that is tried again.  Less would break the provider's cache for nothing."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What is to be committed."""

    checkpoint: Checkpoint
    summary: str
    """What readers that do not know checkpoints are told."""
    preserve: tuple[str, ...]
    """The entries that stay as they are, by uuid, in order."""


def compaction_of(
    plan: "Plan", work: Assembled, restored: Restored, *, figures: Mapping[str, int], reason: str
) -> Compaction:
    """What commits a plan that was made for `work`, which was made of what is `restored`.

    Whole entries stay in the log as they are.  A message of the tail that is made of pieces of entries goes into the
    checkpoint, word for word.  Raises BadCheckpoint for what cannot be one.
    """
    message, first = cut(work.sources, plan.covered, entries=len(work.said), inherited=work.inherited)
    tail: Sequence[str] = [each.uuid for each in work.said[first:]]
    uuids = [str(record.get("uuid")) for record in restored.entries]
    covered = uuids.index(tail[0]) if tail else len(uuids)
    checkpoint = Checkpoint.make(
        restored,
        covered,
        messages=[*plan.replacement, *work.messages[plan.covered : message]],
        ledger=plan.ledger.record(),
        figures=figures,
        reason=reason,
        strategy="fallback",
        outcome="completed",
    )
    return Compaction(checkpoint, plan.summary, tuple(uuids[covered:]))


def kept_whole(scene: Scene, *, meter: Meter, target: int) -> frozenset[int]:
    """The messages that a compaction keeps word for word: what is pinned, and what a compaction of another program has
    left, where that is no more than `FOREIGN_PERCENT` of the target.  All that came before it is known from there only.
    """
    messages = scene.work.messages
    most = target * FOREIGN_PERCENT // 100
    foreign = (at for at, each in enumerate(messages) if kind_of(each) == FOREIGN and meter.message(each) <= most)
    return pinned_messages(scene.work, scene.state.pins).union(foreign)


def irreducible_key(scene: Scene) -> str:
    """What a compaction that did not reach its line depends on, beside the answers and results: while that is the same
    and little was added, it would not reach it the next time either.
    """
    state, snapshot, work = scene.state, scene.snapshot, scene.work
    asked = next((each.uuid for each in reversed(work.said) if is_request(each.message)), "")
    depends = [
        *(snapshot.window, snapshot.reserve, snapshot.compaction_line, snapshot.fixed),
        *(asked, work.open_from is None),
        *sorted(state.pins),
        *(item.id for item in state.ledger.exact),
    ]
    return sha256(repr(depends).encode()).hexdigest()[:32]


def is_blocked(scene: Scene, key: str) -> bool:
    """Whether the last compaction did not reach its line, and nothing has changed since."""
    stuck = (scene.state.attempt or {}).get("irreducible")
    if not isinstance(stuck, Mapping) or stuck.get("key") != key or type(stuck.get("tokens")) is not int:
        return False
    tokens, available = scene.snapshot.tokens, scene.snapshot.available
    if tokens is None or available is None:
        return False
    growth = available * STEP_PERCENT // 100 if tokens <= available else 1
    return tokens < int(stuck["tokens"]) + max(1, growth)


def is_worth_it(scene: Scene, reason: str, *, source: int, result: int) -> bool:
    """Whether a compaction of so many tokens to so many should be committed: it frees a step, or makes the request
    fit; one that was asked for only has to free something.
    """
    available, freed = scene.snapshot.available, source - result
    if reason != "threshold" or available is None:
        return freed >= FLOOR_TOKENS
    fits = scene.snapshot.tokens > available >= result + scene.snapshot.fixed
    return freed > 0 and (fits or freed >= available * STEP_PERCENT // 100)
