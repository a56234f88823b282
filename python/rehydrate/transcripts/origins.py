"""What a transcript says of where it comes from, and where a conversation is said to have gone on.

A fork is a copy.  `/branch` and the SDK write into each copied entry which entry of which conversation it was: proof.
A background fork leaves the copies as they were, but for the id of the conversation: what still names the source is a
hint, and so is the source's own word that it went on elsewhere.
"""

from collections.abc import Iterable
from typing import TypeGuard

from rehydrate import scan
from rehydrate.dataclass import dataclass, field
from rehydrate.entries.log import Log
from rehydrate.paths import is_id, open_file
from rehydrate.scan._entries import Sign

from .place import Place
from .window import WINDOW_BYTES, tail_cursor

LISTED = 2_000
"""Siblings looked at: those written last."""

_MAY_NAME = bytes(sign & Sign.SOURCE for sign in range(256))
_KEYS = ("uuid", "sessionId", "session_id", "requestSessionId", "forkedFrom")


@dataclass(frozen=True, slots=True)
class Origins:
    """What one transcript says."""

    copied: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Entry -> the conversation and the entry there that it is a copy of."""
    hints: dict[str, str] = field(default_factory=dict)
    """Conversation that may be the source -> why, in words."""
    is_fork: bool = False
    """It says that it is a fork, whether or not it says of what."""


def origins(place: Place) -> Origins:
    """Reads the whole transcript, of each record only the members that can name a source; not a second time where no
    record has any.  OSError when it cannot be read.
    """
    found = Origins()
    with Log(place.path) as log:
        is_fork = "history-suppression" in log.types
        if not is_fork and not any(log.signs.translate(_MAY_NAME)):
            return found
    for uuid, session, other, request, source, *_ in scan.iter_records(place.path, _KEYS):
        if isinstance(source, dict):
            from_session, from_uuid = source.get("sessionId"), source.get("messageUuid")
            if isinstance(uuid, str) and isinstance(from_uuid, str) and _is_other(from_session, place):
                found.copied[uuid] = (from_session, from_uuid)
        if request is not None and _is_other(request, place):
            found.hints.setdefault(request, "answers in it were given there")
        if other is not None and other != session and _is_other(other, place):
            found.hints.setdefault(other, "records in it name it")
    return Origins(found.copied, found.hints, is_fork or bool(found.copied))


def continued(place: Place) -> dict[str, str]:
    """The siblings that say at their end that they went on in this conversation, and that in words."""
    name = place.session.encode()
    found = {}
    for sibling in place.siblings()[:LISTED]:
        try:
            window = _end(sibling.path)
            if name in window and b"continued-in" in window and _goes_on_in(sibling.path, place.session):
                found[sibling.session] = "it says that it went on there"
        except (OSError, ValueError):
            continue
    return found


def with_entry(place: Place, uuid: str) -> dict[str, str]:
    """The siblings that begin with the same entry and are no forks themselves, and that in words."""
    name = uuid.encode()
    found = {}
    for sibling in place.siblings()[:LISTED]:
        try:
            with open_file(sibling.path) as file:
                begins = name in file.read(WINDOW_BYTES)
            said = origins(sibling) if begins else None
        except OSError:
            continue
        if said is not None and not said.is_fork and not said.hints:
            found[sibling.session] = "it begins so, too, and is no fork"
    return found


def _is_other(session: object, place: Place) -> TypeGuard[str]:
    return is_id(session) and session != place.session


def _end(path: str) -> bytes:
    with open_file(path) as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - WINDOW_BYTES))
        return file.read(WINDOW_BYTES)


def _goes_on_in(path: str, session: str) -> bool:
    rows: Iterable[tuple[object, ...]] = scan.iter_records(
        path,
        ("continuedInSessionId",),
        where={"type": {"continued-in"}},
        cursor=tail_cursor(path, WINDOW_BYTES),
    )
    return any(row[0] == session for row in rows)
