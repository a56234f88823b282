"""One compaction, from the messages of a conversation to the checkpoint that stands for them.

Pure, but for the files that are told again; the commit is for `compactor`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from .assembling import Assembled
from .checkpoint import Checkpoint
from .explain import pinned_messages
from .gate import SOURCE_PERCENT, target_of
from .ledger import Ledger
from .messages import FOREIGN, Message, is_request, kind_of, marked
from .meter import Meter
from .restore import Restored
from .results import FLOOR_TOKENS, Replacement, replaced
from .scene import Scene
from .view import cut

if TYPE_CHECKING:
    from .plan import Plan
    from .summary import FileText
    from .written import Text

FOREIGN_PERCENT = 25
"""Of the target: so much the summary of another program may take, and stay whole."""
STEP_PERCENT = 5
"""Of what is available: a compaction frees so much at least, and so much has to come to a conversation that could not
be made small enough before that is tried again.  Less would break the provider's cache for nothing."""


@dataclass(frozen=True, slots=True)
class Task:
    """A compaction that is due, and what it is planned from."""

    scene: Scene
    reason: str
    meter: Meter
    window: int | None
    messages: Sequence[Message]
    """Those of the scene, with what goes out of them on the way."""
    pruned: int
    """So many of them, from the first on, are not only what the log has."""
    source: int
    """The tokens of the messages."""
    target: int
    """What a result may count."""
    key: str
    """What it depends on whether the line is reached."""
    ledger: Ledger
    pinned: frozenset[int]
    """The messages that stay word for word."""
    files: "Sequence[FileText]"
    """What a summary shows."""

    @classmethod
    def make(
        cls,
        scene: Scene,
        *,
        reason: str,
        meter: Meter,
        window: int | None,
        prunes: Sequence[Replacement],
        files: "Callable[[Sequence[Message]], Sequence[FileText]]",
    ) -> "Task":
        """`prunes`: what is put in the place of results before.  `files`: reads those that messages name."""
        messages = replaced(scene.work.messages, prunes) if prunes else scene.work.messages
        snapshot = scene.snapshot
        source = meter.messages(messages)
        target = target_of(source=source, window=window, fixed=snapshot.fixed, handoff_line=snapshot.handoff_line)
        target = min(target, source * SOURCE_PERCENT // 100)  # of a small one, too, or next to nothing would go
        pruned = max([scene.altered, *(each.message + 1 for each in prunes)])
        return cls(
            scene=scene,
            reason=reason,
            meter=meter,
            window=window,
            messages=messages,
            pruned=pruned,
            source=source,
            target=target,
            key=irreducible_key(scene),
            ledger=scene.state.ledger,  # of its own, for what the log holds goes on
            pinned=kept_whole(scene, meter=meter, target=target),
            files=files(messages),
        )

    def is_as(self, other: "Task") -> bool:
        """Whether it is planned from the same, but for files."""
        mine, theirs = self.scene, other.scene
        return (
            (mine.revision, mine.work.open_from, mine.snapshot)
            == (theirs.revision, theirs.work.open_from, theirs.snapshot)
            and self.ledger == other.ledger
            and self.pinned == other.pinned
        )

    def plan(self, text: "Text | None" = None) -> "Plan":
        """What to put in the place of which messages; `text`: with what was written of them."""
        from .plan import plan  # a third of what importing all of this takes

        return plan(
            self.messages,
            meter=self.meter,
            target=self.target,
            window=self.window,
            ledger=self.ledger if text is None else self.ledger.tell(text.items),
            pinned=self.pinned,
            files=self.files,
            open_from=self.scene.work.open_from,
            covered_most=None if text is None else text.covers,
            prose="" if text is None else text.prose,
        )

    def is_worth_it(self, plan: "Plan") -> bool:
        """Whether it should be committed: it frees a step, or makes the request fit; one that was asked for only has to
        free something.
        """
        snapshot, freed = self.scene.snapshot, self.source - plan.tokens
        available = snapshot.available
        if not plan.covered:
            return False
        if self.reason != "threshold" or available is None or snapshot.tokens is None:
            return freed >= FLOOR_TOKENS
        fits = snapshot.tokens > available >= plan.tokens + snapshot.fixed
        return freed > 0 and (fits or freed >= available * STEP_PERCENT // 100)

    def kept(self, start: int, stop: int) -> list[Message]:
        """Messages as a checkpoint keeps them, where nothing else tells that they are pinned."""
        pinned = pinned_messages(self.scene.work, self.scene.state.pins)
        return [
            marked(each, "pinned") if at in pinned and kind_of(each) != FOREIGN else each
            for at, each in enumerate(self.messages[start:stop], start)
        ]

    def figures(self, plan: "Plan") -> dict[str, int]:
        """For its checkpoint."""
        found = {"before": self.source, "after": plan.tokens, "target": self.target, "fixed": self.scene.snapshot.fixed}
        return found if self.window is None else {**found, "window": self.window}


@dataclass(frozen=True, slots=True)
class Compaction:
    """What is to be committed."""

    checkpoint: Checkpoint
    summary: str
    """What readers that do not know checkpoints are told."""
    preserve: tuple[str, ...]
    """The entries that stay as they are, by uuid, in order."""


def compaction_of(plan: "Plan", task: Task, restored: Restored, *, strategy: str, outcome: str) -> Compaction:
    """What commits a plan that was made for a task, whose messages were made of what is `restored`.  `strategy` and
    `outcome`: as the checkpoint says it.

    Whole entries stay in the log as they are.  A message of the tail that is made of pieces of entries, or in which
    something was put on the way, goes into the checkpoint, word for word.  Raises BadCheckpoint for what cannot be one.
    """
    work = task.scene.work
    message, first = cut(work.sources, max(plan.covered, task.pruned), entries=len(work.said), inherited=work.inherited)
    tail: Sequence[str] = [each.uuid for each in work.said[first:]]
    uuids = [str(record.get("uuid")) for record in restored.entries]
    covered = uuids.index(tail[0]) if tail else len(uuids)
    checkpoint = Checkpoint.make(
        restored,
        covered,
        messages=[*plan.replacement, *task.kept(plan.covered, message)],
        ledger=plan.ledger.record(),
        figures=task.figures(plan),
        reason=task.reason,
        strategy=strategy,
        outcome=outcome,
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


def asked_in(work: Assembled) -> str:
    """The user's last request, by uuid; empty where only the checkpoint has one."""
    return next((each.uuid for each in reversed(work.said) if is_request(each.message)), "")


def irreducible_key(scene: Scene) -> str:
    """What a compaction that did not reach its line depends on, beside the answers and results: while that is the same
    and little was added, it would not reach it the next time either.
    """
    state, snapshot, work = scene.state, scene.snapshot, scene.work
    depends = [
        *(snapshot.window, snapshot.reserve, snapshot.compaction_line, snapshot.fixed),
        *(asked_in(work), work.open_from is None),
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
