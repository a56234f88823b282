"""What one record says: who said it, its text, the tools it calls, the results it brings.

Every accessor is tolerant: a member that is missing or of another type than expected says nothing.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from rehydrate.dataclass import dataclass, field

from .log import Record, member, text_member

SYNTHETIC = "<synthetic>"
"""The model that the client names for an answer that no model gave."""

_INTERRUPT = re.compile(r"\[Request interrupted by user[^\]\n]*\]")
_WRAPPERS = (
    *("<command-name>", "<command-message>", "<command-args>", "<local-command-"),
    *("<bash-input>", "<bash-stdout>", "<bash-stderr>"),
)
_NOTIFICATION = "<task-notification>"
_REMINDER = "<system-reminder>"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What came back for a call."""

    id: str
    """Of the call."""
    text: str
    is_error: bool


def blocks(record: Record) -> list[Record]:
    """The content of a user or assistant record, block by block; plain text is one block."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    if content is None and isinstance(message, dict):
        content = message
    return _blocks(content)


def texts(record: Record) -> list[str]:
    """What stands in its text blocks, blank ones left out."""
    return [text for each in blocks(record) if (text := _text(each)).strip()]


def text_of(record: Record) -> str:
    """All of its text; empty when it says nothing."""
    return "\n\n".join(texts(record))


def calls(record: Record) -> list[Call]:
    """The tools it calls, in order."""
    return [
        Call(each["id"], text_member(each, "name"), member(each, "input"))
        for each in blocks(record)
        if each.get("type") == "tool_use" and isinstance(each.get("id"), str)
    ]


def results(record: Record) -> list[Result]:
    """The results of tools that it brings."""
    found = []
    for each in blocks(record):
        if each.get("type") == "tool_result" and isinstance(each.get("tool_use_id"), str):
            text = "\n".join(_text(part) for part in _blocks(each.get("content")))
            found.append(Result(each["tool_use_id"], text, each.get("is_error") is True))
    return found


def only_results(record: Record) -> bool:
    """Whether a user record says nothing of its own beside results of tools."""
    found = blocks(record)
    return bool(found) and all(each.get("type") == "tool_result" for each in found)


def message_id(record: Record) -> str | None:
    """What the records of one answer have in common; None when it is not said."""
    found = member(record, "message").get("id")
    return found if isinstance(found, str) and found else None


def is_sidechain(record: Record) -> bool:
    """Whether it belongs to a subagent, where it stands in the conversation's own file."""
    return record.get("isSidechain") is True


def is_meta(record: Record) -> bool:
    """Whether the client wrote it on its own behalf."""
    return record.get("isMeta") is True


def is_summary(record: Record) -> bool:
    """Whether it is the summary that a compaction left."""
    return record.get("isCompactSummary") is True


def is_api_error(record: Record) -> bool:
    """Whether it reports a failed request in the form of an answer."""
    return record.get("isApiErrorMessage") is True


def is_synthetic(record: Record) -> bool:
    """Whether the client wrote it in the place of an answer."""
    return member(record, "message").get("model") == SYNTHETIC


def is_command(record: Record) -> bool:
    """Whether a user record is a command to the client, or what it printed."""
    if record.get("type") != "user":
        return False
    said = texts(record)
    return bool(said) and all(text.lstrip().startswith(_WRAPPERS) for text in said)


def is_interrupt(record: Record) -> bool:
    """Whether it is the mark that the user interrupted a turn."""
    said = texts(record)
    return bool(said) and all(_INTERRUPT.fullmatch(text.strip()) for text in said)


def request_of(record: Record) -> str:
    """What the user asked for in it; empty when it holds no request."""
    if is_sidechain(record) or is_meta(record) or _is_from_system(record):
        return ""
    if record.get("type") == "attachment":
        attachment = member(record, "attachment")
        if attachment.get("type") != "queued_command" or attachment.get("commandMode") == "task-notification":
            return ""
        if is_meta(attachment) or _is_from_system(attachment):
            return ""
        said = [text for each in _blocks(attachment.get("prompt")) if (text := _text(each)).strip()]
    elif record.get("type") == "user" and not is_summary(record):
        said = texts(record)
    else:
        return ""
    return "\n\n".join(text for text in said if not _is_added(text)).strip()


def time_of(record: Record) -> float | None:
    """Seconds since the epoch; None when it is not said."""
    text = text_member(record, "timestamp")
    if not 10 <= len(text) <= 40:
        return None
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1] in "Zz" else text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None


def _is_from_system(record: Record) -> bool:
    return record.get("promptSource") == "system" or member(record, "origin").get("kind") == "task-notification"


def _is_added(text: str) -> bool:
    """Whether a block of text is the client's and not the user's."""
    text = text.strip()
    if text.startswith(_REMINDER):
        return text.endswith("</system-reminder>")
    return text.startswith((*_WRAPPERS, _NOTIFICATION)) or bool(_INTERRUPT.fullmatch(text))


def _blocks(content: object) -> list[Record]:
    if isinstance(content, dict):
        content = _in_order(content)
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [{"type": "text", "text": each} if isinstance(each, str) else each for each in content if each and _is(each)]


def _is(block: object) -> bool:
    return isinstance(block, (str, dict))


def _in_order(content: Record) -> object:
    """A text or list that was spread into an object with the keys 0, 1, 2, ...: itself again."""
    places = [(int(k), v) for k, v in content.items() if k.isascii() and k.isdigit() and len(k) < 9]
    values = [value for _, value in sorted(places, key=lambda pair: pair[0])]
    if values and all(isinstance(each, str) and len(each) <= 2 for each in values):
        return "".join(values)
    return values or None


def _text(block: Record) -> str:
    return text_member(block, "text") if block.get("type") in ("text", None) else ""
