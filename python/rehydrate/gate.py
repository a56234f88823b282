"""The pure twin of the native gate: payload + state + new bytes -> nothing to do | ask.

Promises: it says that there is nothing to do only where working the invocation out would give the same answer; it
writes nothing, takes no lock and never waits for the host longer than a second.  Whatever is unusual is left to the
slow way.  It imports as little as it can, because it runs before every model call.
"""

import os
import stat

from rehydrate.scan import scan_tail
from rehydrate.scan._pure_members import BLANK, INCOMPLETE, SPACE, Walk, members, skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAYLOAD_MAX = 1 << 20
"""Bytes after which reading the payload ends."""
PAYLOAD_WAIT_S = 1.0
"""How long the whole payload may take; a host may hold its end open."""
NEW_BYTES_MAX = 1 << 20
"""New bytes of the transcript after which the cursor is worth a write."""
STATE_MAX = 1 << 20
STATE_VERSION = 2
UNCUT, CUT = "transcript_full.jsonl", "transcript.jsonl"
_KEPT = ("last_checkpoint", "lineage")
_CHECKED = (
    "version",
    "client",
    "conversation",
    "transcript",
    "cursor",
    "done",
    "delivery",
    "workspaces",
    "writes",
    "error",
)
BEFORE = SPACE + b"\xef\xbb\xbf"
"""What may stand before the payload: white space, a byte order mark."""


def gate(fd: int) -> "tuple[bool, bytes]":
    """Read the payload from `fd`: (True, …) means answer `{}`, else (False, the payload) to be worked out."""
    payload = read_payload(fd)
    named = payload.lstrip(BEFORE)
    spans = members(named)
    if isinstance(spans, int):
        return True, payload
    try:
        return _nothing_new(named, spans), payload
    except Exception:  # RecursionError, too: whatever cannot be read here is left to the slow way
        return False, payload


def read_payload(fd: int) -> bytes:
    """What the host sends: up to the end of the first JSON value, 1 MiB, the end of input, or one second."""
    import select
    import time

    data = b""
    walk: Walk | None = None  # none before the value begins
    end = time.monotonic() + PAYLOAD_WAIT_S
    while len(data) < PAYLOAD_MAX:
        left = end - time.monotonic()
        try:
            ready = left > 0 and select.select([fd], [], [], left)[0]
            piece = os.read(fd, PAYLOAD_MAX - len(data)) if ready else b""
        except (OSError, ValueError):
            break
        data += piece
        if not piece:
            break
        if walk is not None:
            state = walk.feed(piece)
        else:
            at = skip(data, 0, BEFORE)
            if at == len(data):
                continue
            walk = Walk(0)
            state = walk.feed(data, at)
        if state != INCOMPLETE:
            break
    return data


def _nothing_new(payload: bytes, spans: "dict[str, tuple[int, int]]") -> bool:
    named = _value(payload, spans, "transcriptPath")
    if not isinstance(named, str) or not os.path.isabs(named):
        return False
    about = _regular(named)
    folder, name = os.path.split(named)
    if about is None or name not in (UNCUT, CUT):
        return False
    path = named
    if name == CUT:
        uncut = os.path.join(folder, UNCUT)
        full = _regular(uncut)
        path, about = (named, about) if full is None else (uncut, full)
    state = _state(os.path.join(folder, "rehydrate_state.json"))
    if state is None or not _settled(state, path, _value(payload, spans, "workspacePaths")):
        return False
    cursor = state["cursor"]
    if len(cursor) != 3 or not isinstance(cursor[1], int) or not 0 <= about.st_size - cursor[1] <= NEW_BYTES_MAX:
        return False
    tail = scan_tail(path, cursor)
    return not tail.restarted and not tail.boundaries


def _settled(state: "dict[str, Any]", path: str, workspaces: "Any") -> bool:
    """The state is whole and this transcript's, knows its workspaces, has a cursor, no delivery under way and no error
    that may still be one.
    """
    named = tuple(state[key] for key in ("version", "client", "conversation", "transcript"))
    done, delivery, known = state["done"], state["delivery"], state["workspaces"]
    return (
        named == (STATE_VERSION, "antigravity", _conversation(path), path)
        and (done is None or (_is_whole(done["step"]) and (done["id"] is None or isinstance(done["id"], str))))
        and (delivery is None or (delivery["status"] == "sent" and isinstance(delivery["id"], str)))
        and (delivery is None or (_is_whole(delivery["step"]) and _is_whole(delivery["tries"])))
        and all(isinstance(each, list) for each in (state["cursor"], known, [] if workspaces is None else workspaces))
        and all(isinstance(each, str) for each in known)
        and set(known).issuperset(workspaces or ())
        and _is_whole(state["version"])
        and _is_whole(state["writes"])
        and (state["error"] is None or _is_whole(state["error"]["over_s"]))
    )


def _conversation(path: str) -> str:
    """The id of the conversation whose transcript this is, by its folder."""
    above, name = os.path.split(os.path.dirname(path))
    folder, hidden = os.path.split(above)
    return os.path.basename(folder) if (hidden, name) == (".system_generated", "logs") else name


def _is_whole(value: "Any") -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _state(path: str) -> "dict[str, Any] | None":
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1 or about.st_size > STATE_MAX:
            return None
        if hasattr(os, "geteuid") and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
            return None
        data = os.read(fd, STATE_MAX).strip(SPACE)
    finally:
        os.close(fd)
    walk = Walk(0)
    if not data.startswith(b"{") or walk.feed(data, 0) != len(data) or not data.decode("ascii").isprintable():
        return None  # not as we write it
    if not all(key in walk.spans for key in _KEPT):
        return None
    return {key: _read(data[slice(*walk.spans[key])]) for key in _CHECKED}


def _value(data: bytes, spans: "dict[str, tuple[int, int]]", key: str) -> "Any":
    """A member's value, None where it is missing."""
    return _read(data[slice(*spans[key])]) if key in spans else None


def _read(text: bytes) -> "Any":
    """The value of whole JSON text.  Plain ones are read here: importing `json` costs more than all the rest.

    ValueError for text that may not be exact: with U+FFFD or half of a surrogate pair in it.
    """
    if b"\xef\xbf\xbd" in text:
        raise ValueError(text)
    first = text[:1]
    if text == b"null":
        return None
    if text.isdigit():
        return int(text)
    if first == b"{" and not (b"{" in text[1:] or b"[" in text):  # else one walk for each level
        spans = members(text)
        return {} if isinstance(spans, int) else {key: _value(text, spans, key) for key in spans}
    if b"\\" not in text:
        if first == b'"':
            return text[1:-1].decode("utf-8")
        if first == b"[" and not (b"{" in text or b"[" in text[1:]):
            return _items(text)
    import json

    value = json.loads(text.decode("utf-8"))
    if b"\xef\xbf\xbd" in json.dumps(value, ensure_ascii=False).encode("utf-8"):
        raise ValueError(text)
    return value


def _items(text: bytes) -> "list[Any]":
    """The items of a flat list without escapes."""
    items = []
    at = skip(text, 1, BLANK + b",")
    while text[at : at + 1] != b"]":
        if text[at : at + 1] == b'"':
            end = text.index(b'"', at + 1) + 1
        else:
            end = min(place for place in (text.find(b",", at), len(text) - 1) if place > 0)
        items.append(_read(text[at:end].strip()))
        at = skip(text, end, BLANK + b",")
    return items


def _regular(path: str) -> "os.stat_result | None":
    """What the system says of a regular file; None for anything else."""
    try:
        about = os.lstat(path)
    except OSError:
        return None
    return about if stat.S_ISREG(about.st_mode) else None
