"""`state`, `delivery` and `error` for a client whose hook keeps nothing but a plan: what arrived stands in the log."""

import os
import shlex
from collections.abc import Iterator
from typing import Any

from rehydrate import plan as planning
from rehydrate.cli import output
from rehydrate.cli.choose import Chosen
from rehydrate.conversation import Boundary

from .subject import Finding, Subject, modified_s

_LATE_S = 5.0
"""How far two clocks may disagree."""
_LOOKED_AT = 5
"""So many conversations, the newest ones, are read for what the hook did in them."""


def keeping(subject: Subject) -> Iterator[Finding]:
    """Whether the plan of the newest conversation, and the file with the whole text, can be written."""
    for chosen in subject.conversations[:1]:
        folders = _spot(subject, chosen).folders
        hindrances = [each for each in map(_hindrance, folders) if each is not None]
        if len(hindrances) == len(folders):
            detail = f"the whole text of a delivery cannot be kept, so the model gets the values only: {hindrances[0]}"
            yield Finding(False, detail, "see to it that you may write there")
            return
        yield Finding(True, f"the whole text of a delivery is kept in {subject.short(folders[len(hindrances)])}")
        return
    yield Finding(True, "there is no conversation yet")


def delivery(subject: Subject) -> Iterator[Finding]:
    """What the newest conversation that was compacted got back."""
    for chosen, boundary, arrival in _arrivals(subject):
        told = f"compaction {boundary.checkpoint} of {chosen.place.session}"
        if arrival.parts:
            yield _arrived(told, arrival.parts)
        elif not _was_registered(subject, arrival):
            yield Finding(True, f"{told}: nothing was put back; the registration is newer, so the next one will tell")
        else:
            told += f" (the hook printed: {arrival.trouble})" if arrival.trouble is not None else ""
            fix = "see `hook`, `off` and `error`; if they are well, start the client again"
            yield Finding(False, f"{told}: nothing was put back, though the hook was registered", fix)
        return
    yield Finding(True, "the hook has met no compaction yet")


def error(subject: Subject) -> Iterator[Finding]:
    """What last went wrong in the hook."""
    for chosen in subject.conversations:
        kept = planning.load(_spot(subject, chosen))
        if kept is None:
            continue
        if kept.error is None:
            break
        when_s = kept.error.get("time_s")
        when = f"{output.when(when_s)}, " if isinstance(when_s, int) else ""
        name = shlex.quote(f"{subject.client}:{chosen.place.session}")
        fix = f"run `rehydrate show {name} --debug`: what it shows is to be mended, or reported"
        yield Finding(
            False, f"{when}{chosen.place.session}: {kept.error['what']}", f"{fix}; the next delivery clears this"
        )
        return
    yield Finding(True, "the hook has met no error")


def _spot(subject: Subject, chosen: Chosen) -> planning.Spot:
    """Where the plan of a conversation may lie."""
    place = chosen.place
    folder = subject.module("contract").private_folder(place)
    return planning.spot_for(
        subject.client, place.session, transcript=place.path, folder=folder, environ=subject.environ
    )


def _hindrance(folder: str) -> str | None:
    """Why nothing can be written into a folder that need not be there yet; None when nothing is known that would."""
    there = folder
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        return f"{there} is no folder"
    return None if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"


def _arrivals(subject: Subject) -> Iterator[tuple[Chosen, Boundary, Any]]:
    """The conversations that were compacted, the newest first, each with its newest boundary and what came after."""
    transcript = subject.module("transcript")
    for chosen in subject.conversations[:_LOOKED_AT]:
        boundary = transcript.survey(chosen.place).newest
        if boundary is not None:
            yield chosen, boundary, subject.module("arrival").after(chosen.place.path, boundary.offset)


def _arrived(told: str, parts: tuple[tuple[int, int], ...]) -> Finding:
    there, count = [number for number, _ in parts], parts[-1][1]
    missing = [str(number) for number in range(1, count + 1) if number not in there]
    if not missing:
        counted = "the value" if count == 1 else f"all {count} values"
        return Finding(True, f"{told}: {counted} reached the model")
    named = f"value {missing[0]}" if len(missing) == 1 else f"values {', '.join(missing)}"
    fix = "see `registration` and `hook`: each value has a handler of its own, and each must answer in time"
    return Finding(False, f"{told}: {named} of {count} did not reach the model", fix)


def _was_registered(subject: Subject, arrival: Any) -> bool:
    """Whether the hook was registered as it is now when the compaction happened."""
    registration = subject.registration
    if registration is None or arrival.time_s is None:
        return False
    return bool(modified_s(registration.file) + _LATE_S < arrival.time_s)
