"""What the host says to a PreInvocation hook, and what it takes as an answer.

The reply is dropped whole for one wrong character, so it is built here and nowhere else: one JSON object, ASCII only,
no member beyond the contract.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence

from rehydrate.dataclass import dataclass

from . import layout

PAYLOAD_BYTES = 1 << 20
"""More of a payload is not looked at."""
MESSAGES = ("systemMessage", "ephemeralMessage")
"""The steps that a reply may hold; any other ends the user's turn."""
NOTHING = "{}"
DELIVERY = "parts"
"""All of a rehydration goes out in one reply."""

_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Payload:
    """What the host sent, as far as it is used; None where it is missing or cannot be what it should be."""

    conversation: str | None
    transcript: str | None
    artifacts: str | None
    workspaces: tuple[str, ...]


def read_payload(data: bytes) -> Payload | None:
    """The payload in what came over stdin: the first complete JSON value, whatever follows it; None when there is no
    such value or it is no object.
    """
    text = data[:PAYLOAD_BYTES].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        value, _ = json.JSONDecoder(parse_int=float).raw_decode(text)  # an int has a limit of digits
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    folders = value.get("workspacePaths")
    return Payload(
        conversation=_text(value.get("conversationId")),
        transcript=_text(value.get("transcriptPath")),
        artifacts=_text(value.get("artifactDirectoryPath")),
        workspaces=tuple(f for f in map(_text, folders) if f) if isinstance(folders, list) else (),
    )


def locate(payload: Payload, environ: Mapping[str, str]) -> layout.Place | None:
    """The conversation that a payload is about: the first that exists of its transcript, the logs in its artifacts'
    folder, and the brain folder of its id.  None when there is none.

    A path is taken only when it is absolute and a regular file named like a transcript.  An id that disagrees with the
    folder of the path is passed over.
    """
    path = payload.transcript or ""
    if os.path.isabs(path) and os.path.basename(path) in (layout.UNCUT, layout.CUT) and layout.is_regular(path):
        return layout.place_of(path)
    if payload.artifacts and os.path.isabs(payload.artifacts):
        place = layout.place_of(os.path.join(payload.artifacts, *layout.LOGS))
        if place is not None:
            return place
    return layout.find(environ, payload.conversation) if payload.conversation else None


def private_folder(place: layout.Place) -> str | None:
    """Where the whole text is kept for the model to read: nowhere, as the model has it all."""
    return None


def reply(parts: Sequence[str], *, message: str = "systemMessage") -> str:
    """The answer that delivers these parts, one step each, in their order; `{}` without parts.

    Raises ValueError for a kind of step that is not in MESSAGES.
    """
    if message not in MESSAGES:
        raise ValueError(f"a step is one of {', '.join(MESSAGES)}, not {message!r}")
    if not parts:
        return NOTHING
    whole = (_HALVES.sub("\ufffd", part) for part in parts)
    steps = [{message: {message: text} if message == "systemMessage" else text} for text in whole]
    return json.dumps({"injectSteps": steps}, separators=(",", ":"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value and layout.encodable(value) else None
