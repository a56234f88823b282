"""What the host says to a SessionStart hook after a compaction, and what it takes as an answer.

The hook answers one event only, and one object of exactly the documented shape, ASCII only; whatever else may come is
answered with nothing.  Reading a payload never fails.
"""

import json
import os
import re
from collections.abc import Mapping

from rehydrate import scan, unseen
from rehydrate.conversation import MARKER_HEAD
from rehydrate.dataclass import dataclass

from . import layout

DELIVERY = "values"
"""A rehydration goes out in a few values, each the answer of a process of its own."""
EVENT = "SessionStart"
SOURCE = "compact"
PAYLOAD_BYTES = 1 << 20
"""More of a payload is not looked at."""
FOLDER = "rehydrate"
"""Ours in the folder that the client keeps for a conversation beside its transcript.  What lies there the client lets
the model read without asking, whatever its permission mode; it asks for files in the user's state folder."""
VALUE_UNITS_MAX = 10_000
"""Of UTF-16 in one value.  One more, and the model gets a preview and a path instead of it."""
_PAGE_CHARS = 60_000
"""Of a file that the client's reading tool surely gives at once."""
_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Payload:
    """What the host sent, as far as it is used; None where it is missing or cannot be what it should be."""

    session: str | None
    transcript: str | None
    workspaces: tuple[str, ...]
    """The folder the client works in; empty when it is not known."""


def read_payload(data: bytes) -> Payload | None:
    """The payload in what came over stdin: the first complete JSON value, whatever follows it.

    None when there is no such value, it is no object, or it says that it is about something else than a compaction of
    the main conversation: what belongs to that would only be in the way of a subagent.  What is not said counts as what
    the hook is registered for.
    """
    text = data[:PAYLOAD_BYTES].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        value, _ = json.JSONDecoder(parse_int=float).raw_decode(text)  # an int has a limit of digits
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("source", SOURCE) != SOURCE or value.get("agent_id"):
        return None
    if value.get("hook_event_name", EVENT) != EVENT:
        return None
    folder = _text(value.get("cwd"))
    return Payload(
        session=_text(value.get("session_id")),
        transcript=_text(value.get("transcript_path")),
        workspaces=(folder,) if folder and os.path.isabs(folder) else (),
    )


def locate(payload: Payload, environ: Mapping[str, str]) -> layout.Place | None:
    """The conversation that a payload is about: its transcript, or where that is not there or empty the only one with
    its id under any project.  None when there is none, or more than one.

    A path is taken only when it is absolute and a transcript by its name and by where it lies or what it holds.  An id
    that disagrees with the path is passed over.
    """
    path = payload.transcript or ""
    if os.path.isabs(path) and path.endswith(layout.SUFFIX) and _is_filled(path):
        place = layout.place_of(path)
        if place is not None and layout.recognises(place):
            return place
    if not layout.is_id(payload.session):
        return None
    found = layout.find_everywhere(environ, payload.session or "")
    return found[0] if len(found) == 1 else None


def goes_on(place: layout.Place, cursor: scan.Cursor) -> bool:
    """Whether an entry stands behind the cursor; records that are no entry, and an unfinished line, do not count."""
    return any(isinstance(uuid, str) for uuid, _, _ in scan.iter_records(place.path, ("uuid",), cursor=cursor))


def private_folder(place: layout.Place) -> str:
    """Where the whole text is kept for the model to read."""
    return os.path.join(place.folder, FOLDER)


def whereabouts(place: layout.Place, file: str | None, *, chars: int) -> str:
    """A line for the model: where it finds the whole text, or without a file the log."""
    if file is None:
        return f"Every word of it is in the log of this conversation, {_shown(place.path)}"
    pages = ", more than one page of the Read tool" if chars > _PAGE_CHARS else ""
    return f"The whole record, documents and files included ({chars:,} characters{pages}), is in {_shown(file)}"


def is_value(text: str) -> bool:
    """Whether a text can be a value of ours that the host passes on whole."""
    return text.startswith(MARKER_HEAD) and len(text.encode("utf-16-le", "surrogatepass")) // 2 <= VALUE_UNITS_MAX


def reply(value: str) -> str:
    """The answer that delivers one value; ValueError for a text that is none of ours."""
    if not is_value(value):
        raise ValueError(f"a value begins with the marker line and has at most {VALUE_UNITS_MAX:,} characters")
    text = _HALVES.sub("\ufffd", value)
    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": text}}, separators=(",", ":")
    )


def leavings(environ: Mapping[str, str]) -> list[str]:
    """Our folders beside the transcripts of every project."""
    found = []
    for project in layout.projects(environ):
        try:
            sessions = sorted(os.listdir(project))
        except OSError:
            continue
        folders = (os.path.join(project, session, FOLDER) for session in sessions if layout.is_id(session))
        found += [folder for folder in folders if os.path.isdir(folder) and not os.path.islink(folder)]
    return found


def _is_filled(path: str) -> bool:
    return layout.is_regular(path) and os.path.getsize(path) > 0


def _shown(path: str) -> str:
    """On one line, whatever its letters."""
    shown = unseen.spell(path, unseen.braced)
    return shown.replace("\r", unseen.braced("\r")).replace("\n", unseen.braced("\n"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value and layout.encodable(value) else None
