"""What one call of a tool was about, and what of its result is worth keeping."""

from collections.abc import Mapping, Sequence
from typing import Any

from rehydrate import notable
from rehydrate.conversation import KEPT_CHARS, ToolCall
from rehydrate.dataclass import dataclass
from rehydrate.entries import messages
from rehydrate.entries.log import Record, Wanted, member, text_member

READ_TOOLS = frozenset({"Read", "NotebookRead"})
WRITE_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
PATH_CHARS = 32_767
"""Longer is no path anywhere."""
_DETAILS = ("description", "prompt", "pattern", "query", "url", "subject", "skill", "message")
_RANGES = 6


TOLD: Wanted = dict.fromkeys(("isAsync", "status", "agentId", "backgroundTaskId", "description", "structuredPatch")) | {
    "file": dict.fromkeys(("startLine", "numLines", "totalLines"))
}
"""What of the client's notes on a result is of use; the rest is the result once more, and the file as it was."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back for a call."""

    result: messages.Result
    told: Record
    """What the client noted of it for itself."""
    time_s: float | None


def kind_of(name: str) -> str:
    """How a tool touches the file that it names: `read`, `modified`, or empty for a tool that names none."""
    return "read" if name in READ_TOOLS else "modified" if name in WRITE_TOOLS else ""


def tool_call(call: messages.Call, outcome: Outcome | None, *, note: bool) -> ToolCall:
    """The call as a rehydration names it.  `note`: whether its result is looked at for what is worth keeping."""
    kind = kind_of(call.name)
    path = path_of(call.input) if kind else None
    command = text_member(call.input, "command") if call.name == "Bash" else ""
    detail = "" if path or command else _detail(call.input)
    return ToolCall(
        call.name,
        path,
        command[:KEPT_CHARS] or None,
        outcome is None,
        lines_of(call, outcome) if path else "",
        detail,
        _noted(call, outcome) if note else (),
        outcome is not None and outcome.result.is_error,
    )


def path_of(given: Mapping[str, Any]) -> str | None:
    """The file that a call names."""
    for name in ("file_path", "notebook_path"):
        path = given.get(name)
        if isinstance(path, str) and path.strip() and len(path) <= PATH_CHARS and "\0" not in path:
            return path
    return None


def lines_of(call: messages.Call, outcome: Outcome | None) -> str:
    """The lines that were read or are new, as `3-5, 40`; empty when they are not known."""
    told = {} if outcome is None else outcome.told
    if call.name in READ_TOOLS:
        read = member(told, "file")
        start, count = _number(read.get("startLine")), _number(read.get("numLines"))
        if start and count and not (start == 1 and count == _number(read.get("totalLines"))):
            return _range(start, count)
        if not read:
            start, count = _number(call.input.get("offset")), _number(call.input.get("limit"))
            return _range(start or 1, count) if count else ""
        return ""
    patch = told.get("structuredPatch")
    hunks = [hunk for hunk in patch if isinstance(hunk, dict)] if isinstance(patch, list) else []
    found = [(_number(hunk.get("newStart")), _number(hunk.get("newLines"))) for hunk in hunks]
    ranges = [_range(start, count) for start, count in found if start and count]
    return ", ".join(ranges[:_RANGES]) + (", ..." if len(ranges) > _RANGES else "")


def chars_of(call: messages.Call, outcome: Outcome | None) -> int:
    """About how much text is looked at when a call is noted."""
    texts = [value for value in call.input.values() if isinstance(value, str)]
    texts += [] if outcome is None else [outcome.result.text]
    return sum(min(len(text), notable.LOOKED_CHARS) for text in texts)


def _noted(call: messages.Call, outcome: Outcome | None) -> Sequence[str]:
    given = call.input
    if call.name == "Edit":
        return notable.changed_lines(text_member(given, "old_string"), text_member(given, "new_string"))
    if call.name == "MultiEdit":
        edits = given.get("edits")
        parts = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else []
        old, new = ("\n".join(text_member(part, name) for part in parts) for name in ("old_string", "new_string"))
        return notable.changed_lines(old, new)
    if call.name in ("Write", "NotebookEdit"):
        return notable.file_lines(text_member(given, "content") or text_member(given, "new_source"))
    if outcome is None or outcome.told.get("isAsync") is True or outcome.told.get("status") == "async_launched":
        return ()  # of what was only started there is no result, just the client's own words to the model
    if call.name in READ_TOOLS:
        return notable.file_lines(outcome.result.text)
    return notable.result_lines(outcome.result.text)


def _detail(given: Mapping[str, Any]) -> str:
    return next((text.strip()[:KEPT_CHARS] for name in _DETAILS if (text := text_member(given, name)).strip()), "")


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1_000_000_000 else 0


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start}-{start + count - 1}"
