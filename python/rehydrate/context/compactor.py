"""One compaction of a log, from what an engine sees to what is committed.

It belongs to one engine and keeps nothing: what a compaction leaves behind stands in the log.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rehydrate.session import SessionError, SessionLog

from . import records
from .checkpoint import Checkpoint, commit
from .compacting import compaction_of, irreducible_key, is_blocked, is_worth_it, kept_whole
from .errors import BadCheckpoint, CommitFailed, ContextError, Holder
from .explain import holders_in
from .gate import SOURCE_PERCENT, target_of
from .messages import Message
from .policy import Policy
from .scene import Scene, Stage
from .state import State, restored_at
from .workspace import RecentFile, recent_files

if TYPE_CHECKING:
    from .plan import Plan


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a compaction went."""

    checkpoint: Checkpoint | None = None
    """What was committed; None: nothing was."""
    holders: tuple[Holder, ...] = ()
    """What holds the space, where it is still not below its line."""


class Compactor:
    """Compacts one log for one engine."""

    def __init__(
        self,
        log: SessionLog,
        *,
        stage: Stage,
        policy: Policy,
        follow: Callable[[], State],
        note: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """`follow`: gives what the log holds now.  `note`: appends a record that may be lost."""
        self._log = log
        self._stage = stage
        self._policy = policy
        self._follow = follow
        self._note = note

    def compact(self, scene: Scene, *, reason: str) -> Outcome:
        """Compact what is seen.  Raises what `commit` raises, CommitFailed where it could not be written."""
        scene = scene.spoken()
        stage, work, snapshot = self._stage, scene.work, scene.snapshot
        key = irreducible_key(scene)
        if reason == "threshold" and is_blocked(scene, key):
            return Outcome()
        fixed = snapshot.fixed
        source = stage.meter.messages(work.messages)
        target = target_of(source=source, window=stage.window, fixed=fixed, handoff_line=snapshot.handoff_line)
        target = min(target, source * SOURCE_PERCENT // 100)  # of a small one, too, or next to nothing would go
        from .plan import plan  # a third of what importing all of this takes

        name = records.attempt_id(after=scene.state.tip, reason=reason)
        self._note(records.attempt(name, "open", after=scene.state.tip))
        planned = plan(
            work.messages,
            meter=stage.meter,
            target=target,
            window=stage.window,
            ledger=scene.state.ledger,
            pinned=kept_whole(scene, meter=stage.meter, target=target),
            files=self._files(work.messages),
            open_from=work.open_from,
        )
        holders = scene.held(planned.holders) or self._holders(scene)
        made = None
        if planned.covered and is_worth_it(scene, reason, source=source, result=planned.tokens):
            figures = {"before": source, "after": planned.tokens, "target": target, "fixed": fixed}
            figures |= {} if stage.window is None else {"window": stage.window}
            try:
                made = self._commit(scene, planned, figures=figures, reason=reason)
            except BadCheckpoint as error:  # what has to stay is more than one may hold
                if reason != "threshold":
                    self._note(records.attempt(name, "failed", after=scene.state.tip))
                    raise CommitFailed(f"the compaction is void, for {error}", phase="checkpoint") from error
                holders = self._holders(scene)
            except ContextError:
                self._note(records.attempt(name, "failed", after=scene.state.tip))
                raise
        after = self._follow().tip
        left = snapshot.tokens if made is None else planned.tokens + fixed
        line = snapshot.compaction_line
        is_over = planned.outcome == "irreducible" or (line is not None and left >= line)
        is_stuck = is_over or (made is None and reason == "threshold")
        stuck = records.Stuck(key, left, holders) if is_stuck else None
        self._note(records.attempt(name, "failed" if made is None else "done", after=after, stuck=stuck))
        return Outcome(made, holders if stuck is not None else ())

    def _holders(self, scene: Scene) -> tuple[Holder, ...]:
        """What holds the space, of all that is sent."""
        return tuple(Holder(*each) for each in holders_in(scene, meter=self._stage.meter).items())

    def _files(self, messages: Sequence[Message]) -> list[RecentFile]:
        """Those of the workspace that a compaction tells again; never a session, where the workspace holds such."""
        sessions = os.path.abspath(os.path.dirname(self._log.place.folder))
        return recent_files(messages, workspace=self._policy.workspace, ranks=self._policy.rank, denied=[sessions])

    def _commit(self, scene: Scene, planned: "Plan", *, figures: Mapping[str, int], reason: str) -> Checkpoint:
        restored = restored_at(self._log.path, scene.state.tip)
        compaction = compaction_of(planned, scene.work, restored, figures=figures, reason=reason)
        with committing("checkpoint", "the compaction"):
            commit(
                self._log,
                compaction.checkpoint,
                summary=compaction.summary,
                preserve=compaction.preserve,
                expect=scene.state.newest,
                restored=restored,
            )
        return compaction.checkpoint


@contextmanager
def committing(phase: str, what: str) -> Iterator[None]:
    """Raises CommitFailed with that phase, where what is done in it could not be written."""
    try:
        yield
    except (OSError, SessionError) as error:
        raise CommitFailed(f"{what} could not be written, and is void: {error}", phase=phase) from error
