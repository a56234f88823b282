"""What a log holds as messages: its records in the neutral form, each with the entry that it comes from.

And the way back: which entries stand behind a stretch of messages, after those were put in order.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehydrate.entries import messages as entries

from .messages import FOREIGN, THOUGHTS, Message, is_sound, marked
from .meter import as_json

KEPT = ("id", "wire")
"""Members of a message in the log that belong to it in the neutral form, too; others are the provider's envelope."""


@dataclass(frozen=True, slots=True)
class Said:
    """An entry that somebody speaks in."""

    uuid: str
    seq: int
    """Its number in the file; 0 where the file has no numbers."""
    message: Message


def said_of(record: Mapping[str, Any]) -> Said | None:
    """What an entry says to a model; None where it says nothing: a row of the host's own, an empty message, the report
    of a failed request.
    """
    kind = record.get("type")
    given = record.get("message")
    about: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    role = kind if kind in ("user", "assistant") else "user"
    content = about.get("content")
    if kind == "assistant" and entries.is_api_error(dict(record)):
        return None
    if kind == "system":
        if about.get("role") != "system":
            return None
        role = "system"
    elif kind == "attachment":
        attached = record.get("attachment")
        if not about and isinstance(attached, Mapping) and attached.get("type") == "queued_command":
            content = attached.get("prompt")
    elif role != kind:
        return None
    content = _content(content if about or kind == "attachment" else given)
    kept = {name: about[name] for name in KEPT if about.get(name) is not None}
    if not content and "wire" not in kept:
        return None
    uuid, seq = record.get("uuid"), record.get("seq")
    message: Message = {"role": role, "content": content, **kept}
    return Said(
        uuid if isinstance(uuid, str) else "",
        seq if type(seq) is int else 0,
        marked(message, FOREIGN) if entries.is_summary(dict(record)) else message,
    )


def _content(content: object) -> str | list[Any]:
    """A text, or sound blocks that say something; empty where nothing does."""
    if isinstance(content, str):
        return content if content.strip() else ""
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        content = entries.blocks({"message": {"content": content}}) if content else []
    if all(_says_something(block) for block in content):
        return content
    mended = [_mended(block) for block in content]
    return [block for block in mended if _says_something(block)]


def _mended(block: dict[str, Any]) -> dict[str, Any]:
    """A result whose content is of no form, as an odd writer may have left it, with that as text."""
    if block.get("type") != "tool_result" or is_sound(block):
        return block
    return {**block, "content": as_json(block.get("content"))}


def _says_something(block: Mapping[str, Any]) -> bool:
    if not is_sound(block):
        return False
    if block.get("type") != "text":
        return True
    text = block.get("text")
    return (isinstance(text, str) and bool(text.strip())) or "wire" in block


def is_only_thoughts(message: Message) -> bool:
    """Whether an answer has thoughts and nothing else, as one that was broken off."""
    content = message.get("content")
    return (
        message.get("role") == "assistant"
        and isinstance(content, list)
        and bool(content)
        and all(isinstance(block, Mapping) and block.get("type") in THOUGHTS for block in content)
    )


def cut(sources: Sequence[Collection[int]], covered: int, *, entries: int, inherited: int = 0) -> tuple[int, int]:
    """Where a list of messages may be cut so that whole entries follow: at the message `covered`, or as soon as it can.

    `sources`: for each message the entries that it is made of, by number; none for what a repair has put in.
    `entries`: how many there are; `inherited`: so many of them may not follow.  Gives the message and the entry: what
    follows the one is made of what follows the other, and of nothing else.  Messages between `covered` and that one
    have to be kept in another way.
    """
    last = -1
    before = [last := max(last, *places) if places else last for places in sources]  # up to and with each message
    first = entries
    found = len(sources), entries
    for message in range(len(sources) - 1, covered - 1, -1):
        first = min(first, *sources[message]) if sources[message] else first
        above = before[message - 1] if message else -1
        if inherited - 1 <= above < first:
            found = message, above + 1
    return found
