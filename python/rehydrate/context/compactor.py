"""One compaction of a log, from what an engine sees to what is committed.

It belongs to one engine and keeps nothing: what a compaction leaves behind stands in the log.  The plan that needs
nobody is made first; a hook may forbid it, and what a model or the host has written may be put into it.  While one of
these is waited for the conversation may go on: then it is looked at anew, and what came since stays.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rehydrate.session import SessionError, SessionLog

from . import records
from .author import Author, Reader, Written
from .breaker import Breaker
from .checkpoint import Checkpoint, commit
from .compacting import Task, compaction_of, irreducible_key, is_blocked
from .cutoff import Cut
from .errors import BadCheckpoint, CommitFailed, Holder, Superseded
from .explain import holders_in
from .ledger import OPENING
from .messages import Message
from .projection import Request
from .restore import restored_at
from .results import Replacement
from .scene import Scene, Stage
from .state import State
from .workspace import LINES, RecentFile, recent_files

if TYPE_CHECKING:
    from .plan import Plan

T = TypeVar("T")
TRIES = 3
"""So often is something decided anew because another process has compacted the session meanwhile."""
MATERIAL_LINES = 1_000
"""Of each file that a model is shown (spec E)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a compaction went."""

    checkpoint: Checkpoint | None = None
    """What was committed; None: nothing was."""
    holders: tuple[Holder, ...] = ()
    """What holds the space, where it is still not below its line."""
    failure: str | None = None
    """Why no model has written the summary, where one was to be asked."""
    source: Sequence[Message] = ()
    """The messages that it was made of; none where it was not tried."""
    pruned: Sequence[Replacement] = ()
    """What was put in the place of results before, and committed with it."""


class Compactor:
    """Compacts one log for one engine, in a turn of that."""

    def __init__(
        self,
        log: SessionLog,
        *,
        stage: Stage,
        author: Author,
        follow: Callable[[], State],
        look: Callable[[Request], Scene],
        note: Callable[..., None],
    ) -> None:
        """`follow`: gives what the log holds now; `look`: as what it would be sent.  `note`: appends a record, which is
        on disk then unless it is not to be `durable`.
        """
        self._log = log
        self._stage = stage
        self._author = author
        self._follow = follow
        self._look = look
        self._note = note

    def compact(
        self, scene: Scene, *, reason: str, focus: str | None = None, prunes: Sequence[Replacement] = ()
    ) -> Outcome:
        """Compact what is seen.  `prunes`: what is put in the place of results of `scene.spoken()` before; they are in
        the checkpoint then, or nowhere.

        Raises CompactionBlocked, CommitFailed, Superseded, what `commit` raises, and what a summariser raised that its
        user has stopped; then nothing has changed.
        """
        scene = scene.spoken()
        if reason == "threshold" and is_blocked(scene, irreducible_key(scene)):
            return Outcome()
        if self._author.may_forbid:
            self._author.allow(reason=reason, focus=focus, tokens=scene.snapshot.tokens)
            scene = self._again(scene, prunes)
        task = self._task(scene, reason, prunes)
        name = records.attempt_id(after=scene.state.tip, reason=reason)
        self._note(records.attempt(name, "open", after=scene.state.tip), durable=False)
        try:
            return self._compact(task, name, focus=focus, prunes=prunes)
        except BaseException as error:
            from .summariser import is_stop

            state = "interrupted" if is_stop(error) else "failed"
            with suppress(OSError, SessionError):  # then an engine that is new settles it
                self._note(records.attempt(name, state, after=self._follow().tip), durable=False)
            raise

    def within(self, stage: Stage) -> "Compactor":
        """The same for another window."""
        other = copy(self)
        other._stage = stage
        other._look = lambda request: stage.scene(self._follow(), request)
        return other

    def snip(self, scene: Scene, prunes: Sequence[Replacement]) -> Checkpoint:
        """Commit what is seen with the `prunes` done to it, where it could not be compacted.  They were decided of
        `scene.spoken()`.  Raises as `commit` does, CommitFailed where it could not be written.
        """
        from .plan import Plan

        task = self._task(scene.spoken(), "context_limit", prunes, files=lambda _: ())
        replacement = tuple(task.kept(0, task.pruned))
        tokens = task.meter.messages(task.messages)
        planned = Plan(task.pruned, replacement, OPENING, task.ledger, tokens, "completed")
        made = self._commit(task, planned, strategy="snip", outcome="failed")
        self._carry(scene.state, self._author.breaker(scene.state))
        return made

    def _carry(self, state: State, breaker: Breaker) -> None:
        """Record anew what holds on, as a compaction leaves behind what was recorded before it."""
        after = self._follow()
        if breaker.failures or state.breaker is not None:
            self._note(breaker.record(after=after.tip))
        if state.refusal is not None:
            self._note(records.refusal(str(state.refusal.get("kind")), after=after.last))
        cut = Cut.of(state)
        if cut is not None:
            self._note(cut.on({}, after=after.last))

    def _compact(self, task: Task, name: str, *, focus: str | None, prunes: Sequence[Replacement]) -> Outcome:
        before = self._author.breaker(task.scene.state)
        planned = task.plan()
        written = Written()
        more = partial(self._files, lines=MATERIAL_LINES)
        if self._author.writes and planned.outcome == "completed" and task.is_worth_it(planned):
            written = self._author.write(task, planned, focus=focus, more=more)
            task, planned, written = self._with(written, task, planned, prunes)
            if written.failure is not None and written.breaker is not None:
                self._note(written.breaker.record(after=task.scene.state.tip))
        scene = task.scene
        holders = scene.held(planned.holders) or self._holders(scene)
        made = None
        if task.is_worth_it(planned):
            try:
                made = self._commit(
                    task,
                    planned,
                    strategy="fallback" if written.text is None else "llm",
                    outcome="completed" if written.failure is None else "fallback",
                )
            except BadCheckpoint as error:  # what has to stay is more than one may hold
                if task.reason != "threshold":
                    raise CommitFailed(f"the compaction is void, for {error}", phase="checkpoint") from error
                holders = self._holders(scene)
        after = self._follow().tip
        if made is not None:
            self._carry(scene.state, written.breaker or before)
        left = scene.snapshot.tokens if made is None else planned.tokens + scene.snapshot.fixed
        line = scene.snapshot.compaction_line
        is_over = planned.outcome == "irreducible" or (line is not None and left is not None and left >= line)
        is_stuck = left is not None and (is_over or (made is None and task.reason == "threshold"))
        stuck = records.Stuck(task.key, left, holders) if is_stuck else None
        state = "failed" if made is None else "done"
        learnt = None if made is None else scene.state.learnt
        told = records.attempt(
            name, state, after=after, stuck=stuck, failure=written.failure, error=written.error, learnt=learnt
        )
        self._note(told, durable=False)
        return Outcome(made, holders if stuck is not None else (), written.failure, task.messages)

    def _with(
        self, written: Written, task: Task, plain: "Plan", prunes: Sequence[Replacement]
    ) -> tuple[Task, "Plan", Written]:
        """The task and its plan as things stand now, with what was written of them, where that is still true."""
        fresh = self._again(task.scene, prunes)
        new = self._task(fresh, task.reason, prunes)
        if new.is_as(task):
            new = replace(task, scene=fresh)
        else:
            plain = new.plan()
        text = written.text
        if text is None:
            return new, plain, written
        from .written import plan_with

        is_true = new.messages[: text.covers] == task.messages[: text.covers]
        better = plan_with(text, new, plain) if is_true else None
        return (new, plain, replace(written, text=None)) if better is None else (new, better, written)

    def _again(self, scene: Scene, prunes: Sequence[Replacement]) -> Scene:
        """What there is to see after somebody was waited for."""
        fresh = self._look(scene.request).spoken()
        looked_at = max((each.message + 1 for each in prunes), default=0)
        if fresh.state.newest != scene.state.newest:
            raise Superseded(f"{self._log.path} was compacted meanwhile, and that compaction counts")
        if fresh.work.messages[:looked_at] != scene.work.messages[:looked_at]:
            raise Superseded(f"{self._log.path} has gone on from elsewhere meanwhile")
        return fresh

    def _task(self, scene: Scene, reason: str, prunes: Sequence[Replacement], *, files: Reader | None = None) -> Task:
        stage, files = self._stage, files or self._files
        return Task.make(scene, reason=reason, meter=stage.meter, window=stage.window, prunes=prunes, files=files)

    def _holders(self, scene: Scene) -> tuple[Holder, ...]:
        """What holds the space, of all that is sent."""
        return tuple(Holder(*each) for each in holders_in(scene, meter=self._stage.meter).items())

    def _files(self, messages: Sequence[Message], *, lines: int = LINES) -> list[RecentFile]:
        """Those of the workspace that a compaction tells again; never a session, where the workspace holds such."""
        sessions = os.path.abspath(os.path.dirname(self._log.place.folder))
        policy = self._stage.policy
        return recent_files(messages, workspace=policy.workspace, ranks=policy.rank, denied=[sessions], lines=lines)

    def _commit(self, task: Task, planned: "Plan", *, strategy: str, outcome: str) -> Checkpoint:
        state = task.scene.state
        restored = restored_at(self._log.path, state.tip)
        compaction = compaction_of(planned, task, restored, strategy=strategy, outcome=outcome)
        with committing("checkpoint", "the compaction"):
            commit(
                self._log,
                compaction.checkpoint,
                summary=compaction.summary,
                preserve=compaction.preserve,
                expect=state.newest,
                restored=restored,
            )
        return compaction.checkpoint


def anew(call: Callable[[], T]) -> T:
    """What a call gives; it is made anew where another process has compacted the session meanwhile, and raises
    Superseded where that has happened `TRIES` times.
    """
    for _ in range(TRIES - 1):
        with suppress(Superseded):
            return call()
    return call()


@contextmanager
def committing(phase: str, what: str) -> Iterator[None]:
    """Raises CommitFailed with that phase, where what is done in it could not be written."""
    try:
        yield
    except (OSError, SessionError) as error:
        raise CommitFailed(f"{what} could not be written, and is void: {error}", phase=phase) from error
