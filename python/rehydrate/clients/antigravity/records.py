"""What one record says: the request in a USER_INPUT, the text and the tool calls of a PLANNER_RESPONSE.

The format is the vendor's own and moves, so every accessor is tolerant: a member that is missing or of another type
than expected says nothing, and never fails a read; an integer that is too long for an int is decoded as a kind of str,
but is no text.  `thinking` is never looked at.
"""

import json
import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from rehydrate.conversation import KEPT_CHARS, ToolCall
from rehydrate.dataclass import dataclass

READ_TOOLS = frozenset({"read_file", "view_file"})
WRITE_TOOLS = frozenset(
    {"edit_file", "write_file", "replace_file_content", "multi_replace_file_content", "write_to_file"}
)
PATH_CHARS = 32_767
"""Longer is no path anywhere."""

_PATH_KEYS = {"read": ("Path", "AbsolutePath"), "modified": ("Path", "TargetFile")}
_PATH_ENDINGS = ("path", "file", "uri", "filename")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_TIME = re.compile(
    r"\s*(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):\d\d:)(\d\d)(?:[.,](\d{1,9})\d*)?"
    r"\s*(?:[Zz]|([+-])(\d\d):?(\d\d))?\s*",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1)
_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799
"""The years that a time can have."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and the files it names."""

    tool: ToolCall
    kind: str
    """Of the touches: `modified`, `read` or `named`."""
    paths: tuple[str, ...]
    """Every file it names; the first is the tool's own `path`."""


def time_of(text: object) -> float | None:
    """Seconds since the epoch of a `created_at` (RFC 3339, without an offset UTC); None for anything else and for years
    outside 1..9999.
    """
    return _seconds(text) if isinstance(text, str) else None


@lru_cache(maxsize=8_192)  # many records stand in one second, and each is asked for more than once
def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    day, minute, second, fraction, sign, hours, minutes = match.groups()
    leap = second == "60"
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}{'59' if leap else second}")
    except ValueError:
        return None
    moment_s = (moment - _EPOCH).total_seconds()
    if sign:
        offset_s = int(hours) * 3600 + int(minutes) * 60
        moment_s += offset_s if sign == "-" else -offset_s
    if not _FIRST_S <= moment_s <= _LAST_S:
        return None
    return moment_s + leap + int((fraction or "0").ljust(9, "0")) / 1e9


def request_of(content: object) -> str:
    """What the user asked; empty when the record holds no request.

    The text inside `<USER_REQUEST>`, several joined by a blank line; without such a block everything but the blocks
    that the host adds.  Only a tag that is closed counts, so a person may write about these tags.
    """
    if type(content) is not str:
        return ""
    blocks = _requests(content)
    if blocks is None:
        blocks = [_without(_without(content, "ADDITIONAL_METADATA"), "USER_SETTINGS_CHANGE")]
    return "\n\n".join(text for text in (block.strip() for block in blocks) if text)


def asked(source: object, content: object) -> str:
    """The same, and empty when a hook made the record."""
    return "" if source == "SYSTEM_SDK" else request_of(content)


def text_of(content: object) -> str:
    """What the assistant said; empty when it said nothing."""
    return content if type(content) is str and content.strip() else ""


def calls_of(tool_calls: object, *, lossy: bool) -> list[Call]:
    """The tool calls of a response, in their order.  `lossy`: from the cut file, whose argument values are JSON-encoded
    once more.
    """
    if not isinstance(tool_calls, list):
        return []
    calls = []
    for item in tool_calls:
        name = item.get("name") if isinstance(item, dict) else None
        if type(name) is str and name:
            calls.append(_call(name, arguments(item.get("args"), lossy=lossy)))
    return calls


def local_path(text: str) -> str:
    """A path as the system writes it: a `file:` URI is decoded and loses its host, anything else stays as it is."""
    if text[:5].lower() != "file:":
        return text
    rest = text[5:]
    if rest.startswith("//"):
        slash = rest.find("/", 2)
        rest = rest[slash:] if slash >= 0 else ""
    plain = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), rest.encode("utf-8", "replace")).decode("utf-8", "replace")
    return plain[1:] if _WINDOWS.match(plain, 1) else plain


def path_of(text: str) -> str:
    """The path that a call means by this; empty when it can be none."""
    path = local_path(text)
    return path if 0 < len(path) <= PATH_CHARS and "\0" not in path else ""


def _requests(content: str) -> list[str] | None:
    """The insides of the closed request blocks; None when there is none."""
    opening, closing = "<USER_REQUEST>", "</USER_REQUEST>"
    blocks: list[str] = []
    start = content.find(opening)
    while start >= 0:
        first = content.find(closing, start)
        if first < 0:
            break
        following = content.find(opening, first)
        # The last closing tag before the next block: the request may quote one.
        end = content.rfind(closing, first, following if following >= 0 else len(content))
        blocks.append(content[start + len(opening) : end])
        start = following
    return blocks or None


def _without(content: str, tag: str) -> str:
    """The content less every closed block of this tag."""
    kept: list[str] = []
    at = 0
    while True:
        start = content.find(f"<{tag}>", at)
        end = content.find(f"</{tag}>", start) if start >= 0 else -1
        if end < 0:
            return "".join((*kept, content[at:]))
        kept.append(content[at:start])
        at = end + len(tag) + 3


def arguments(args: object, *, lossy: bool) -> dict[str, Any]:
    if isinstance(args, str):
        args = _decoded(args)
    if not isinstance(args, dict):
        return {}
    if not lossy:
        return args
    return {key: _unquoted(value) if isinstance(value, str) else value for key, value in args.items()}


def _decoded(text: str) -> object:
    try:
        return json.loads(text, strict=False, parse_int=float)  # an int has a limit of digits
    except (ValueError, RecursionError):
        return None


def _unquoted(text: str) -> str:
    """A string argument of the cut file without its second encoding; one that was cut to pieces loses its quotes."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    value = _decoded(text)
    return value if isinstance(value, str) else text[1:-1]


def _sound(text: str) -> str:
    """The text without halves of surrogate pairs, which a second decoding can bring in."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _call(name: str, arguments: dict[str, Any]) -> Call:
    kind = "read" if name in READ_TOOLS else "modified" if name in WRITE_TOOLS else "named"
    known = (arguments.get(key) for key in _PATH_KEYS.get(kind, ()))
    told = [value for value in known if type(value) is str and value.strip()][:1]
    if not told:
        told = [v for k, v in arguments.items() if _is_path_key(k) and type(v) is str and _begins_a_path(v)]
    command = arguments.get("CommandLine") if name == "run_command" else None
    line = _sound(command)[:KEPT_CHARS] if type(command) is str else ""
    return _known_call(name, kind, tuple(told), line or None)


@lru_cache(maxsize=4_096)  # the same few files are read and written again and again
def _known_call(name: str, kind: str, told: tuple[str, ...], command: str | None) -> Call:
    whole = tuple(dict.fromkeys(path for path in [path_of(_sound(value)) for value in told] if path))
    return Call(ToolCall(name, whole[0] if whole else None, command), kind, whole)


@lru_cache(maxsize=1_024)
def _is_path_key(key: str) -> bool:
    return key.lower().endswith(_PATH_ENDINGS)


def _begins_a_path(value: str) -> bool:
    return value.startswith("/") or value[:5].lower() == "file:" or _WINDOWS.match(value) is not None
