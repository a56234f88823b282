"""One invocation of the hook that the gate could not answer: what is new in the log, and is it delivered?

Promises: at most one delivery for each boundary; one that was decided but not surely sent comes again, once; the reply
is sent only after the decision is on disk, and the decision is confirmed only after the reply was sent.  Work that
takes longer than the settings allow ends with nothing sent; what is being sent is never cut short.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from rehydrate.clients import module
from rehydrate.conversation import Boundary, Lineage
from rehydrate.dataclass import dataclass, replace
from rehydrate.deadline import Deadline, TooLate
from rehydrate.scan import Tail, iter_records, scan_tail
from rehydrate.serve import serve
from rehydrate.settings import DEADLINE_S, Settings, read_settings
from rehydrate.state import Busy, Delivery, Done, Spot, State, StateUnavailable, Store, locked, spot_for
from rehydrate.stretches import Stretches

CURSOR_STEP_BYTES = 1 << 20
"""New bytes after which the cursor alone is worth a write."""
FIRST_SIGHT_STEPS = 8
"""A conversation seen for the first time is rehydrated only when its boundary is at most so many steps old."""
TRIES = 2
"""How often one delivery is sent when nothing shows that it arrived."""


class Reply(Protocol):
    """Where the answer goes."""

    def send(self, text: bytes) -> None:
        """Write the whole answer and close; OSError when that failed."""


@dataclass(frozen=True, slots=True)
class _Invocation:
    client: str
    place: Any
    spot: Spot
    workspaces: tuple[str, ...]
    message: str
    reply: Reply
    settings: Settings
    deadline: Deadline


def invoke(client: str, payload: bytes, *, message: str, reply: Reply, environ: Mapping[str, str]) -> None:
    """Work out one invocation and send the delivery, if there is one, through `reply`.

    Sends nothing when there is nothing to deliver or the client is switched off.  Raises StateUnavailable when nothing
    can be remembered and so nothing may be sent; TooLate; OSError and ValueError as reading the conversation raises
    them.
    """
    contract = module(client, "contract")
    read = contract.read_payload(payload)
    if not read or is_off(read.workspaces):
        return
    with Deadline(DEADLINE_S) as deadline:
        settings, _ = read_settings(environ)
        if client in settings.disabled:
            return
        deadline.move(settings.deadline_s)
        place = contract.locate(read, environ)
        if not place:
            return
        spot = spot_for(client, place.session, transcript=place.origin, folder=place.folder, environ=environ)
        call = _Invocation(client, place, spot, read.workspaces, message, reply, settings, deadline)
        with suppress(Busy), locked(spot) as store:
            found = store.state
            kept = found.error if found is not None and isinstance(found.error, dict) else {}
            read = Stretches(found.cursor if found is not None else None, kept.get("reached"))
            try:
                _work(call, store, read)
                _note_over(store, kept)
            except (Exception, TooLate) as error:
                deadline.lift()
                _remember(store, spot, error, read, found)
                raise


def _remember(store: Store, spot: Spot, error: Exception | TooLate, read: Stretches, found: State | None) -> None:
    """Keep what went wrong where a person finds it, and how far the log was read; that this fails, too, is no news.

    `found`: the state at the beginning.
    """
    state = store.state or State(spot.conversation, spot.transcript)
    what = str(error) if isinstance(error, TooLate) else f"{type(error).__name__}: {error}"
    kept: dict[str, Any] = {"what": what[:500], "time_s": int(time.time())}
    if isinstance(error, TooLate) and state.delivery is not None and _is_pending(state):
        if store.state is found:  # no try was counted, and to look at the log takes too long: the next may, too
            state = replace(state, delivery=replace(state.delivery, tries=state.delivery.tries + 1))
    elif isinstance(error, TooLate):
        kept["reached"] = read.as_json()
        if read.is_whole:
            kept["tries"] = _tries(state) + 1
        elif read.tail is not None:
            kept["what"] += f"; {read.told()}"
    with suppress(StateUnavailable):
        store.save(replace(state, error=kept), durable=False)


def _note_over(store: Store, error: dict[str, Any]) -> None:
    """Keep that an invocation went well after an error, and nothing of it that the next one would go on from."""
    state = store.state
    if error and "over_s" not in error and state is not None and state.error == error:
        told: dict[str, Any] = {key: error[key] for key in ("what", "time_s") if key in error}
        store.save(replace(state, error={**told, "over_s": int(time.time())}), durable=False)


def _tries(state: State) -> int:
    """How often the time was over, one call after another, when the log was read but not yet what is due."""
    tries = state.error.get("tries") if isinstance(state.error, dict) else None
    return tries if type(tries) is int else 0


def is_off(workspaces: tuple[str, ...]) -> bool:
    """Whether a workspace says that nothing is to be put back."""
    return any(os.path.isabs(each) and os.path.lexists(os.path.join(each, ".rehydrate-off")) for each in workspaces)


def _work(call: _Invocation, store: Store, read: Stretches) -> None:
    state = store.state or State(call.spot.conversation, call.spot.transcript)
    readable = module(call.client, "layout").readable
    if call.place.joined and state.cursor is not None and not _is_pending(state):
        # Joining all of a long transcript before every model call, only to find nothing new in it, costs too much.
        with readable(call.place, start=state.cursor[1]) as place:
            tail = scan_tail(place.path, state.cursor)
        if not (tail.restarted or tail.boundaries):
            _settle(call, store, state, tail)
            return
    with readable(call.place) as place:
        sent = _settle(replace(call, place=place), store, state, read.read(place.path))
    if sent is not None:
        # Last of all, and not waiting for the disk: a host drops the reply of a process that is killed before its end.
        store.save(sent, durable=False)


def _settle(call: _Invocation, store: Store, state: State, tail: Tail) -> State | None:
    """Remember what the new bytes hold, and deliver what is due; the state to be saved once a delivery was sent."""
    before = store.state
    state = _given_up(state)
    after = _looked_at(state, tail, call.workspaces)
    pending = _is_pending(state)
    if not (pending or tail.boundaries):
        if _worth_a_write(before, after):
            store.save(after, durable=False)
        return None
    if not pending and _tries(state) >= TRIES:
        told = {"what": f"{(state.error or {}).get('what')}; tried {TRIES} times, its last compaction is passed over"}
        store.save(replace(after, error={"time_s": int(time.time()), **told}), durable=False)
        return None
    survey = module(call.client, "transcript").survey(call.place)
    if tail.boundaries and tail.boundaries[-1].offset not in {each.offset for each in survey.boundaries}:
        return None  # the log was changed between the two reads: the next call looks again
    newest = survey.newest
    after = _pending_settled(call, after, newest)
    if newest is None or _is_done(after, newest) or not (pending or _is_new(call, state, tail, newest)):
        store.save(after, durable=after.delivery != state.delivery)
    elif (_first_sight(before) and _is_old(newest, tail)) or _is_in_the_log(call, newest):
        store.save(replace(after, done=Done(newest.checkpoint, newest.id)), durable=False)
    else:
        return _deliver(call, store, after, newest, survey)
    return None


def _is_pending(state: State) -> bool:
    return state.delivery is not None and state.delivery.status == "pending"


def _given_up(state: State) -> State:
    """A pending delivery after its last try counts as sent, without another look at the log."""
    delivery = state.delivery
    if delivery is None or not _is_pending(state) or delivery.tries < TRIES:
        return state
    return replace(state, delivery=replace(delivery, status="sent"), done=Done(delivery.step, delivery.id))


def _looked_at(state: State, tail: Tail, workspaces: tuple[str, ...]) -> State:
    """The state after the new bytes were read."""
    last = state.last_checkpoint if not tail.restarted else None
    if tail.boundaries:
        mark = tail.boundaries[-1]
        last = {"step": mark.step, "offset": mark.offset}
    known = tuple(dict.fromkeys((*state.workspaces, *workspaces)))
    return replace(state, cursor=tail.cursor, last_checkpoint=last, workspaces=known)


def _worth_a_write(before: State | None, after: State) -> bool:
    """The cursor is a hint: it is written at first sight, after much growth, or when something else changed."""
    if before is None or before.cursor is None or after.cursor is None:
        return True
    grown = after.cursor[1] - before.cursor[1]
    return not 0 <= grown < CURSOR_STEP_BYTES or replace(after, cursor=before.cursor) != before


def _pending_settled(call: _Invocation, state: State, newest: Boundary | None) -> State:
    """Confirm a pending delivery by its marker; one whose boundary is not the newest is void.

    The errors of a delivery that arrived are over.
    """
    delivery = state.delivery
    if delivery is None or not _is_pending(state):
        return state
    if newest is None or newest.id != delivery.id:
        return replace(state, delivery=None)
    return replace(_sent(state, newest), error=None) if _is_in_the_log(call, newest) else state


def _is_in_the_log(call: _Invocation, boundary: Boundary) -> bool:
    found: bool = module(call.client, "transcript").marker_after(call.place.path, boundary)
    return found


def _sent(state: State, boundary: Boundary) -> State:
    assert state.delivery is not None
    return replace(state, delivery=replace(state.delivery, status="sent"), done=Done(boundary.checkpoint, boundary.id))


def _is_done(state: State, boundary: Boundary) -> bool:
    done = state.done
    return done is not None and done.step == boundary.checkpoint and done.id in (None, boundary.id)


def _is_new(call: _Invocation, state: State, tail: Tail, boundary: Boundary) -> bool:
    """Whether the new bytes hold this boundary: not when they only void one behind it, or write the last one again.

    A step that was done is another one when the log was cut meanwhile, or went on from a lower step after a rewind.
    """
    if state.cursor is None or tail.restarted:
        return True
    if boundary.offset < state.cursor[1]:
        return False
    if state.done is None or state.done.step != boundary.checkpoint:
        return True
    between = iter_records(call.place.path, ("step_index",), cursor=state.cursor)
    return any(type(step) is int and step < boundary.checkpoint and at < boundary.offset for step, at, _ in between)


def _first_sight(before: State | None) -> bool:
    """No state, or one that holds nothing but an error."""
    return before is None or (before.cursor is None and before.done is None and before.delivery is None)


def _is_old(boundary: Boundary, tail: Tail) -> bool:
    return tail.last_step is not None and tail.last_step - boundary.checkpoint > FIRST_SIGHT_STEPS


def _deliver(call: _Invocation, store: Store, state: State, boundary: Boundary, survey: Any) -> State:
    """decided (on disk) -> built and sent; the state that confirms it.  A try that fails is a try: none is made for
    ever.
    """
    before = state.delivery
    tries = before.tries if before is not None and before.id == boundary.id else 0
    state = replace(state, delivery=Delivery(boundary.checkpoint, boundary.id, "pending", tries + 1))
    store.save(state, durable=True)
    served = serve(
        call.client,
        call.place,
        at=boundary.checkpoint,
        survey=survey,
        settings=call.settings,
        workspaces=state.workspaces,
        cached=state.lineage,
    )
    answer = module(call.client, "contract").reply(served.parts, message=call.message).encode()
    call.deadline.lift()
    call.reply.send(answer)
    return replace(_sent(state, boundary), lineage=_as_json(served.lineage), error=None)


def _as_json(lineage: Lineage) -> dict[str, Any]:
    """As the state keeps it."""
    rows = [[each.session, each.path, each.min_step, each.max_step] for each in lineage.segments]
    return {"segments": rows, "complete": lineage.complete, "why": list(lineage.why)}
