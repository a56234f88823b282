"""Who writes the prose of a compaction: the host, where it has it already, or a model that is asked; or nobody.

Whatever goes wrong here leaves the plan without it, which needs nobody.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rehydrate.session import SessionLog

from .breaker import Breaker, breaker_key
from .compacting import Task, asked_in
from .errors import CompactionBlocked, words_of
from .hooks import Compacting, Hooks, Prepared
from .messages import Message, kind_of, text
from .state import State
from .waiting import Waiting

if TYPE_CHECKING:
    from .attempts import FailureCode
    from .plan import Plan
    from .summariser import Material, Summariser
    from .summary import FileText
    from .written import Text

HALF_OPEN_ATTEMPTS = 1
Reader = Callable[[Sequence[Message]], "Sequence[FileText]"]
"""Reads the files that messages name."""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it."""

    text: "Text | None" = None
    """None: there is no text that can be taken."""
    failure: "FailureCode | None" = None
    """Why there is none of a model, where one was to be asked."""
    error: str | None = None
    """What was wrong the last time that it was asked, in a sentence."""
    breaker: Breaker | None = None
    """How asking stands now; None: as before."""


class Author:
    """Asks the hooks of one engine, each with the engine free for other threads meanwhile."""

    def __init__(
        self, log: SessionLog, hooks: Hooks, *, window: int | None, waiting: Waiting, clock: Callable[[], float]
    ) -> None:
        """`window`: of the model, whatever a provider has said of it: another one lets a model be asked again."""
        self._window = window
        self._hooks = hooks
        self._waiting = waiting
        self._clock = clock
        self._path = log.path
        self._key = breaker_key(workspace=log.place.key, session=f"{log.session_id}/{log.agent_id or ''}")

    @property
    def may_forbid(self) -> bool:
        """Whether there is a hook that may forbid a compaction."""
        return self._hooks.before_compaction is not None

    @property
    def writes(self) -> bool:
        """Whether there is anybody who may write."""
        return self._hooks.prepared is not None or self._hooks.summariser is not None

    def breaker(self, state: State) -> Breaker:
        """As a log has it."""
        return Breaker.of(state.breaker, key=self._key)

    def allow(self, *, reason: str, focus: str | None, tokens: int | None) -> None:
        """Raises CompactionBlocked where the hook forbids a compaction; a hook that crashes does not."""
        hook = self._hooks.before_compaction
        if hook is None:
            return
        try:
            with self._waiting.apart():
                hook(Compacting(reason, focus, tokens, self._path))
        except CompactionBlocked:
            raise
        except Exception as error:  # whatever it is, it is no reason to let a context run full
            _let_stop(error)
            _warn(f"the hook before a compaction has failed, and is passed over: {words_of(error, repr)}")

    def write(self, task: Task, plain: "Plan", *, focus: str | None, more: Reader) -> Written:
        """A text with which the plan is better than without (`plain`).

        `more`: reads the files that a model is shown.  What the user has stopped comes out as it was raised.
        """
        found = self._prepared(task, plain)
        if found is not None or self._hooks.summariser is None:
            return Written(found)
        return self._ask(self._hooks.summariser, task, plain, focus=focus, more=more)

    def _prepared(self, task: Task, plain: "Plan") -> "Text | None":
        given = self._given()
        if given is None:
            return None
        from .written import Text, covered_by, plan_with

        covers = covered_by(task.scene.work, given.through)
        found = Text.of(given.text, covers=covers) if covers else None
        return None if found is None or plan_with(found, task, plain) is None else found

    def _given(self) -> Prepared | None:
        if self._hooks.prepared is None:
            return None
        try:
            with self._waiting.apart():
                given = self._hooks.prepared()
            if given is not None:
                _check(given)
        except Exception as error:  # whatever it is, there are other ways
            _let_stop(error)
            _warn(f"the prepared summary could not be had, and is passed over: {words_of(error, repr)}")
            return None
        return given

    def _ask(self, summariser: "Summariser", task: Task, plain: "Plan", *, focus: str | None, more: Reader) -> Written:
        breaker = self.breaker(task.scene.state)
        window, asked = self._window, asked_in(task.scene.work)
        phase = breaker.phase(window=window, asked=asked, now_s=self._clock())
        if phase == "open":
            return Written(failure="circuit_open")
        from .attempts import ATTEMPTS, Failed, ask
        from .summariser import MAX_TOKENS
        from .written import Text, plan_with

        def judge(said: str) -> bool:
            found = Text.of(said, covers=plain.covered)
            return found is not None and plan_with(found, task, plain) is not None

        material = _material(task, plain, focus=focus, more=more)
        if material.is_empty:
            return Written()
        sent = task.window  # or what a provider has said that it takes
        answer = MAX_TOKENS if sent is None else min(MAX_TOKENS, sent // 2)
        fitting = material if sent is None else material.within(sent - answer)
        if fitting is None:
            failed = breaker.failed(window=window, asked=asked, now_s=self._clock())
            return Written(failure="context_exhausted", breaker=failed)
        found = ask(
            summariser,
            fitting,
            format=task.scene.request.format,
            judge=judge,
            run=self._waiting.run,
            attempts=HALF_OPEN_ATTEMPTS if phase == "half_open" else ATTEMPTS,
            max_tokens=answer,
        )
        if isinstance(found, Failed):
            failed = breaker.failed(window=window, asked=asked, now_s=self._clock())
            return Written(None, found.code, found.error, failed)
        return Written(Text.of(found.text, covers=plain.covered), breaker=breaker.succeeded())


def _material(task: Task, plain: "Plan", *, focus: str | None, more: Reader) -> "Material":
    """What a model is shown of the messages that its text is to stand for."""
    from .summariser import Material
    from .summary import read_summary

    covered = task.messages[: plain.covered]
    earlier = [read_summary(text(each.get("content"))) for each in covered if kind_of(each) == "summary"]
    return Material.make(
        covered,
        ledger=plain.ledger,
        previous="\n".join(each.prose for each in earlier if each is not None and each.prose),
        files=more(task.messages),
        focus=focus,
        meter=task.meter,
    )


def _check(given: object) -> None:
    if not isinstance(given, Prepared):
        raise TypeError(f"a prepared summary is a `Prepared(text, through)` or None, and no {type(given).__name__}")
    if not (isinstance(given.text, str) and isinstance(given.through, str)):
        raise TypeError("of a prepared summary the text and the uuid of the last entry that it covers are texts")


def _let_stop(error: Exception) -> None:
    """Raises what says that the user has stopped it."""
    from .summariser import is_stop

    if is_stop(error):
        raise error


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)
