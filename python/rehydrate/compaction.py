"""One call of the hook by a host that calls it once for each compaction, several times at once for several values.

Promises: at most one value is sent; the calls of one compaction give the values of one plan, whichever comes first;
fired again for the same moment, the answer is the same.  Where nothing can be kept the value is given all the same, and
names the log instead of a file of ours.  Work that takes longer than the settings allow ends with nothing sent.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from rehydrate import plan as planning
from rehydrate import scan
from rehydrate.clients import module
from rehydrate.dataclass import dataclass, replace
from rehydrate.deadline import Deadline, TooLate
from rehydrate.invocation import Reply, is_off
from rehydrate.plan import Desk, Plan
from rehydrate.serve import END, Served, serve, write_parts
from rehydrate.settings import DEADLINE_S, Settings, read_settings
from rehydrate.state import StateUnavailable

_BACK_BYTES = 64 * 1024
"""So much of a log's end is looked at first."""


@dataclass(frozen=True, slots=True)
class _Call:
    client: str
    place: Any
    workspaces: tuple[str, ...]
    settings: Settings
    """Its `values`: how many there are."""
    number: int
    """Of the value that is asked for, from 1."""


def answer(client: str, payload: bytes, *, number: int, reply: Reply, environ: Mapping[str, str]) -> None:
    """Send the value of that number through `reply`; nothing where there is none, or the client is switched off.

    Raises Busy when another call holds the lock for too long; TooLate; OSError and ValueError as reading the
    conversation raises them.
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
        if not place or number > settings.values:
            return
        call = _Call(client, place, read.workspaces, settings, number)
        value = _value(call, deadline, environ)
        deadline.lift()
        if value:
            reply.send(contract.reply(value).encode())


def _value(call: _Call, deadline: Deadline, environ: Mapping[str, str]) -> str | None:
    """The value of the plan that holds, or of a new one."""
    spot = planning.spot_for(
        call.client,
        call.place.session,
        transcript=call.place.path,
        folder=module(call.client, "contract").private_folder(call.place),
        environ=environ,
    )
    try:
        with planning.locked(spot, wait_s=call.settings.deadline_s) as desk:
            try:
                plan = desk.plan if desk.plan and _holds(call, desk.plan) else _planned(call, desk)
            except (Exception, TooLate) as error:
                _remember(call, desk, error)
                raise
            deadline.lift()
            with suppress(OSError, ValueError):  # the others plan for themselves then
                desk.save(replace(plan, taken=tuple(sorted({*plan.taken, call.number}))))
            parts: Sequence[str] = plan.parts
    except StateUnavailable:
        parts = _serve(call, kept_in=None).parts
    return parts[call.number - 1] if call.number <= len(parts) else None


def _holds(call: _Call, plan: Plan) -> bool:
    """Whether it was made for this very moment, and not for the same question before."""
    contract = module(call.client, "contract")
    if plan.cursor is None or plan.count != call.settings.values or call.number in plan.taken:
        return False
    if not all(map(contract.is_value, plan.parts)):  # whoever changed it, the host would cut such a value
        return False
    try:
        if scan.cursor_at(call.place.path, plan.cursor[1]) != plan.cursor:
            return False
    except ValueError:  # the log is shorter now
        return False
    return not contract.goes_on(call.place, plan.cursor)


def _planned(call: _Call, desk: Desk) -> Plan:
    """A new plan, and the whole text in its file."""
    cursor = _end(call.place.path)
    served = _serve(call, kept_in=desk.folder)
    whole, parts = served.rehydration, served.parts
    file = None
    if parts:
        try:
            file = desk.keep_text(planning.text_name(whole.checkpoint, whole.id), whole.text)
        except OSError:
            parts = write_parts(call.client, call.place, served.conversation, whole, settings=call.settings, file=None)
    return Plan(
        call.place.path,
        cursor,
        call.settings.values,
        tuple(parts),
        checkpoint=whole.checkpoint,
        id=whole.id,
        file=file,
        time_s=int(time.time()),
    )


def _end(path: str) -> scan.Cursor:
    """The cursor behind the last complete line, without reading much of what lies before that line."""
    size, back = os.stat(path).st_size, _BACK_BYTES
    while back < size:
        try:
            start = scan.cursor_at(path, size - back)
        except ValueError:  # cut short just now
            break
        end = scan.scan_tail(path, start).cursor
        if end[1] > start[1]:
            return end
        back *= 8
    return scan.scan_tail(path).cursor


def _serve(call: _Call, *, kept_in: str | None) -> Served:
    """What a compaction now brings back: the end of the log is the boundary, as its record is not written yet."""
    served = serve(
        call.client,
        call.place,
        at=END,
        settings=call.settings,
        workspaces=call.workspaces,
        kept_in=kept_in,
    )
    if kept_in is not None:
        return served
    parts = write_parts(
        call.client, call.place, served.conversation, served.rehydration, settings=call.settings, file=None
    )
    return replace(served, parts=parts)


def _remember(call: _Call, desk: Desk, error: Exception | TooLate) -> None:
    """Keep what went wrong where a person finds it; that this fails, too, is no news."""
    what = str(error) if isinstance(error, TooLate) else f"{type(error).__name__}: {error}"
    kept = {"what": what[:500], "time_s": int(time.time())}
    with suppress(OSError, ValueError):
        desk.save(replace(desk.plan or Plan(call.place.path, None), error=kept))
