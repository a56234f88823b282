"""The engine: before each call of a model it decides what of a log that is sent.

    engine = Engine(log, window=200_000)
    engine.append({"role": "user", "content": "What is in this folder?"})
    projection = engine.prepare(Request(model="...", format="anthropic", system="...", tools=[...]))
    response = client.messages.create(model="...", max_tokens=8_000, **projection.body())
    engine.observe(response["usage"], response)

`prepare` goes through the same steps each time: results that are too long, prunes, a compaction where one is due, or
else a word to the model that one is near, and last the validator and the measure.  What is decided is in the log before
it counts, so an engine that is new sends the same bytes, and one that was killed at any moment has lost nothing.

An engine belongs to one log, and keeps nothing beside it: what it knows it has read there.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rehydrate.session import SessionLog

from . import records
from .author import Author
from .checkpoint import REASONS, Checkpoint
from .compactor import Compactor, Outcome, anew, committing
from .cutoff import CONTINUED_MOST, Cut, higher_cap, whole_part
from .errors import CompactionBlocked, ContextExhausted, InvalidProjection, OutputCapped, WindowFull
from .explain import explain
from .given import a_count, a_function, a_text
from .handoff import hand_over
from .hooks import Compacting, Hooks, Prepared
from .hostledger import HostLedger
from .ledger import Ledger
from .messages import Message
from .meter import Meter
from .policy import Policy
from .projection import Projection, Request, checked
from .replacing import kept_beside, rows_of
from .replies import entries_of, is_pressing, named, reply_messages
from .results import Replacement, results_folder
from .scene import Scene, Stage
from .state import State, follow
from .steady import Writer
from .steps import Steps, within_reason
from .waiting import Waiting
from .wire import FORMATS, format_named

if TYPE_CHECKING:
    from .summariser import Summariser

ANY = Request(model="", format="anthropic")
"""What is taken for the next request where nobody has told one yet."""


class Engine:
    """Decides what of one log a model is sent; any number of threads may share it.

    Methods raise what `SessionLog.append` raises where a record of theirs could not be appended, and SessionError where
    the file has lost what was written to it: it is not gone on with then.
    """

    def __init__(
        self,
        log: SessionLog,
        *,
        window: int | None,
        meter: Meter | None = None,
        policy: Policy | None = None,
        summariser: "Summariser | None" = None,
        prepared: Callable[[], Prepared | None] | None = None,
        before_compaction: Callable[[Compacting], object] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`window`: of the model, in tokens; None: nobody knows it, and nothing is compacted.  For a model with another
        window make another engine of the same log.  `meter`: None: one with the default counter.  `clock`: seconds
        since the epoch.

        `summariser`: asks a model for the prose of a summary; None: summaries have none.  `prepared`: gives one that
        the host has written already, which is tried first.  `before_compaction`: is called before each compaction, and
        may raise CompactionBlocked; what else it raises is a warning.

        A compaction that was begun and not ended is noted as interrupted.  Raises TypeError for what is no log,
        meter, policy or function, ValueError for a window that is none.
        """
        if not isinstance(log, SessionLog):
            raise TypeError(f"an engine is made of a log, as `Sessions(...).new` gives it, not of {type(log).__name__}")
        self.log = log
        self.policy = Policy() if policy is None else policy
        self._stage = Stage(window=window, meter=Meter() if meter is None else meter, policy=self.policy)
        a_function(clock, "`clock`")
        self._clock = clock = within_reason(clock)
        self._lock = threading.RLock()
        self._waiting = Waiting(self._lock)
        self._state: State | None = None
        self._steps, self._writer = Steps(self._stage, clock=clock), Writer()
        self._sent: Scene | None = None
        """What was prepared last; None: nothing was."""
        self._author = Author(
            log, Hooks(summariser, prepared, before_compaction), window=window, waiting=self._waiting, clock=clock
        )
        self._compactor = Compactor(
            log,
            stage=self._stage,
            author=self._author,
            follow=self._follow,
            look=self._look,
            note=self._note,
        )
        self.ledger = HostLedger(self._ledger, self._note)
        """What must outlive every compaction word for word; what is put there is on disk at once."""
        for name in tuple(self._follow().open_attempts):
            self._note(records.attempt(name, "interrupted", after=self._follow().tip), durable=False)

    # -- around a call of a model -------------------------------------------------------------------------------------

    def prepare(self, request: Request) -> Projection:
        """What a model is sent next.  Everything that it depends on is in the log when this returns.

        Raises ContextExhausted when nothing more can be taken out and it does not fit; WindowFull when it does not fit
        and the policy compacts only on demand; CommitFailed when a decision could not be written, Superseded when
        other processes have compacted the session again and again; InvalidProjection, which nothing here should ever
        give; ValueError when there is nothing to send, or no such format; TypeError for what is no request.
        """
        checked(request)
        with self._waiting.turn():
            return self._settled(request)

    def observe(
        self,
        usage: Mapping[str, Any] | None,
        reply: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        provider: str | None = None,
    ) -> str | None:
        """Take in what came back for what was prepared last: the provider's count, and the answer.

        `usage`: as the provider gave it; None: it gave none.  `reply`: the answer in the format of the request, the
        whole response or the messages of it; it is appended to the log, durably when it calls tools.  None: the host
        has appended it.  `provider`: whose usage it is; None: the one of the format.

        Gives the uuid of the answer, None where it was not appended here.  Raises ValueError when nothing was prepared,
        the reply is none, or the usage is a sum over several calls or of a provider that nobody knows; TypeError when
        it is no mapping.  Then nothing was appended.
        """
        with self._lock:
            told = self._stage.counted(self._last_sent(), usage, provider=provider)
            if reply is None:
                self._note(told(after=self._follow().tip), durable=False)
                return None
            messages, about = reply_messages(reply, format=self._last_sent().request.format)
            return self._append(messages, about=about, then=lambda uuid: [told(after=uuid)])

    def overflow(
        self,
        error: BaseException | Mapping[str, Any] | str,
        *,
        partial: Mapping[str, Any] | Sequence[Any] | None = None,
    ) -> Projection:
        """What to send in the place of what was prepared last, which the provider has refused: smaller, and for good.

        `error`: the exception that its library has raised, or the response or text that it gave.  `partial`: what has
        come of an answer nevertheless, in whatever form; None: nothing has.

        A request that is too large is pruned and compacted; of images that are not taken the largest are left out;
        thoughts that are not taken are left out.  Raises the error itself (Refused, where it is no exception) when it
        is none of these, or nothing helps: something of an answer has come, or nothing can be taken out, or that was
        done before and no answer has come since.  Raises what `prepare` raises where a decision could not be written,
        CompactionBlocked, and ValueError when nothing was prepared.
        """
        from .reactive import Reactive, is_delivered, refused, told
        from .refusals import classify

        with self._waiting.turn():
            request = self._last_sent().request
            before = self._stage.plain.messages(self._look(request).messages)
            reactive = Reactive(
                stage=self._stage,
                compactor=self._compactor,
                follow=self._follow,
                note=self._note,
            )
            again = refused(error)
            try:
                outcome = None if is_delivered(partial) else reactive.relieve(request, classify(error))
                if outcome is not None:
                    projection = self._settled(request)
                    if self._stage.plain.messages(self._last_sent().messages) < before:
                        return told(projection, outcome)
            except (ContextExhausted, WindowFull, InvalidProjection) as left:
                raise again from again.__cause__ or left
            raise again

    def cut_off(
        self,
        usage: Mapping[str, Any] | None,
        reply: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        limit: int,
        highest: int | None = None,
        provider: str | None = None,
    ) -> Projection:
        """What to send next when an answer was cut off at the cap of `limit` tokens: in the place of `observe`.

        The first time it is the same request, to be sent with the cap `Projection.max_output`, and the answer is
        forgotten.  Then what was said is appended, without calls, and the model is told to go on where it ended, three
        times at most; then OutputCapped is raised, and what was said is in the log, too.

        `usage`, `reply`, `provider`: as for `observe`.  `highest`: what the model can give at most, in tokens; None:
        nobody knows it, and the cap is doubled.  Raises what `observe` and `prepare` raise.
        """
        a_count(limit, "the cap of an answer", least=1)
        if highest is not None:
            a_count(highest, "the highest cap")
        with self._waiting.turn():
            sent, state = self._last_sent(), self._follow()
            told = self._stage.counted(sent, usage, provider=provider)
            messages, about = reply_messages(reply, format=sent.request.format)
            cut, window, tokens = Cut.of(state), self._stage.window, sent.snapshot.tokens
            room = None if window is None or tokens is None else window - tokens
            raised = higher_cap(limit, highest=highest, room=room) if cut is None else None
            if raised is not None:
                self._note(Cut(raised).on(state.usage or {"format": sent.request.format}, after=state.last))
                return self._settled(sent.request)
            cut = Cut() if cut is None else cut
            is_last = cut.continued >= CONTINUED_MOST
            more = replace(cut, continued=cut.continued + 1)

            def then(uuid: str | None) -> list[records.Record]:
                counted = told(after=uuid)
                return [counted] if is_last else [more.on(counted, after=uuid), records.go_on(after=uuid)]

            said = whole_part(messages)
            if self._append(said, about=about, then=then) is None:
                self._note(then(state.last))
            if is_last:
                raise OutputCapped(f"the answer was cut off {more.continued + 1} times, each time at its cap")
            return self._settled(sent.request)

    def append(self, *messages: Mapping[str, Any], format: str | None = None) -> str | None:
        """Append messages in the form of a provider: on disk when this returns, but for results of tools alone, which
        are soon.  Gives the uuid of the last one, None for none.

        `format`: a name in `FORMATS`; None: that of the last request, else Anthropic's.  Raises ValueError for what is
        no message.
        """
        with self._lock:
            return self._append(format_named(format or self._last_format()).read(messages))

    # -- what the host decides ----------------------------------------------------------------------------------------

    def compact(self, reason: str = "manual", focus: str | None = None) -> Checkpoint | None:
        """Compact now, whether it is due or not; gives what was committed, None where nothing could be gained.

        `reason`: `manual`, `context_limit`, `threshold`, or `turn_limit` where the turns that the host counts have run
        out: what `overflow` and `cut_off` give is still of the same turn, and not charged.  `focus`: what a model is
        told that the summary is to dwell on; without a `summariser` it changes nothing.  What is not known of the next
        request is taken from the last one.  `explain` says why no model has written the summary, where one was to.
        Raises ValueError for another reason, TypeError for a focus that is no text, CompactionBlocked, CommitFailed,
        and Superseded when another process has compacted the session meanwhile: then its compaction counts.
        """
        if not isinstance(reason, str) or reason not in REASONS:
            raise ValueError(f"a compaction has no reason {reason!r:.80}; there are {', '.join(sorted(REASONS))}")
        if focus is not None:
            a_text(focus, "a focus")
        with self._waiting.turn():
            scene = self._look(ANY if self._sent is None else self._sent.request)
            return self._compactor.compact(scene, reason=reason, focus=focus).checkpoint

    def pin(self, uuid: str) -> None:
        """Keep a message word for word through every compaction.  Durable.  Raises LookupError when no message that the
        model is sent has the uuid.
        """
        with self._lock:
            state = self._follow()
            if not uuid or not any(each.uuid == uuid for each in state.said):
                raise LookupError(f"the model is sent no message with the uuid {uuid}: pin it before it is compacted")
            if uuid not in state.pins:
                self._note(records.pin(uuid, after=state.tip))

    def explain(self, request: Request | None = None) -> dict[str, Any]:
        """What the next request would hold, what holds the space, and which line comes next; nothing is decided.

        `request`: None: the last one.  Raises ValueError for a format that there is none of, TypeError for what is no
        request.
        """
        if request is not None:
            checked(request)
        with self._lock:
            known = ANY if self._sent is None else self._sent.request
            scene, stage = self._look(request or known), self._stage
            return explain(scene, meter=stage.meter, window=stage.window, breaker=self._author.breaker(scene.state))

    # -- the steps of `prepare` ---------------------------------------------------------------------------------------

    def _settled(self, request: Request) -> Projection:
        return anew(lambda: self._prepare(request))

    def _prepare(self, request: Request) -> Projection:
        scene = self._look(request)
        if not scene.messages:
            raise ValueError(f"nothing was said yet in {self.log.path}: append a request before you prepare")
        shortened = kept_beside(self._steps.too_long(scene), folder=results_folder(self.log.path))
        if shortened:
            scene = self._replace(scene, shortened, phase="results")
        prunes = self._steps.prunes(scene)
        compacted, blocked = Outcome(), None
        if self._steps.is_due(scene, prunes):
            try:
                compacted = self._compactor.compact(scene, reason="threshold")
            except CompactionBlocked as error:
                blocked = error
            if compacted.checkpoint is not None:
                prunes, scene = [], self._look(request)
        if prunes:
            scene = self._replace(scene, prunes, phase="prune")
        if hand_over(scene, meter=self._stage.meter, now_s=self._clock(), note=self._note):
            scene = self._look(request)
        source = None if compacted.checkpoint is None else compacted.source
        messages = self._writer.write(scene.work, request.control, format=request.format, source=source)
        self._steps.refuse_full(scene, blocked)
        self._sent = scene
        return Projection(
            request,
            messages,
            scene.snapshot,
            scene.revision,
            (*shortened, *prunes),
            compacted.checkpoint,
            compacted.holders,
            scene.work.repaired,
            compacted.failure,
            None if blocked is None else str(blocked),
            None if (cut := Cut.of(scene.state)) is None else cut.raised,
        )

    # -- the log ------------------------------------------------------------------------------------------------------

    def _follow(self) -> State:
        self._state = follow(self.log, self._state)
        return self._state

    def _look(self, request: Request) -> Scene:
        return self._stage.scene(self._follow(), request)

    def _ledger(self) -> tuple[Ledger, str | None]:
        with self._lock:
            state = self._follow()
            return state.ledger, state.tip

    def _note(self, record: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, durable: bool = True) -> None:
        with self._lock:
            (self.log.append_durable if durable else self.log.append)(record)

    def _last_sent(self) -> Scene:
        if self._sent is None:
            raise ValueError("nothing was prepared: call `prepare` before the model, and `observe` after it")
        return self._sent

    def _append(
        self,
        messages: Sequence[Message],
        *,
        about: Mapping[str, Any] | None = None,
        then: Callable[[str], Sequence[records.Record]] | None = None,
    ) -> str | None:
        """`then`: makes records for the same write, of the uuid of the last message."""
        if not messages:
            return None
        state = self._follow()
        messages = named(messages, [each.message for each in state.said], tip=state.tip)
        entries = entries_of(messages, about=about)
        put = self.log.append_durable if any(map(is_pressing, entries)) else self.log.append
        if then is not None:
            entries[-1]["uuid"] = uuid = str(uuid4())
            entries += then(uuid)
        return put(entries)

    def _replace(self, scene: Scene, found: Sequence[Replacement], *, phase: str) -> Scene:
        """Put something in the place of results, for good."""
        with committing(phase, "what was put in the place of results"):
            rows = rows_of(found, scene.work)
            self.log.append_durable({"type": "content-replacement", "replacements": rows})
        return self._look(scene.request)

    def _last_format(self) -> str:
        if self._sent is not None:
            return self._sent.request.format
        known = str((self._follow().usage or {}).get("format"))
        return known if known in FORMATS else ANY.format
