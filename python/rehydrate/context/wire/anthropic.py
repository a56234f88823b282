"""Anthropic's Messages API, whose form is the neutral one.

Of a message only `role` and `content` are sent: what else the log has of an answer (`id`, `model`, `usage`) is the
provider's.  Members of a message that came from the wire go back there.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...digest import sha256
from ..messages import Block, Message
from .parts import (
    NO_INPUT,
    OURS,
    THOUGHT_TYPES,
    Turn,
    calls_key,
    fail,
    is_foreign,
    list_at,
    mapping_at,
    own,
    placeholder,
    shown,
    without_ours,
)

NAME = "anthropic"
_KNOWN = frozenset({"role", "content"})
_ROLES = ("user", "assistant", "system")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
"""What the id of a call may be made of: the API refuses others."""


class Anthropic:
    """Reads and writes `{"role", "content"}`; see `rehydrate.context.wire.Format`."""

    name = NAME
    has_system = False
    has_batches = True
    has_unique_ids = True
    joins_answers = False
    reads_each = True

    def read(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """The messages as they are; members that are no part of the API are kept in `wire`."""
        return [_read(message, place) for place, message in enumerate(messages)]

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Without what the API refuses: thoughts of other models, texts of nothing but white space, what is empty then,
        and ids that are used again or have other characters in them, for which others are made.
        """
        written = []
        names = _Names()
        for message in messages:
            content = message.get("content")
            if not isinstance(content, str):
                content = [found for block in content or () if (found := _block(block, names)) is not None]
            elif not content.strip():
                continue
            if content:
                written.append(
                    {"role": message.get("role"), "content": content, **own(message, NAME).get("members", {})}
                )
        return written

    def body(
        self, messages: Sequence[Mapping[str, Any]], *, system: Any = None, tools: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """`system`, `messages`, `tools`; messages of the system join `system`, behind what is there."""
        said = [message["content"] for message in messages if message.get("role") == "system"]
        if said:
            system = _joined([system, *said] if system else said)
            messages = [message for message in messages if message.get("role") != "system"]
        members = {"system": system, "messages": list(messages), "tools": tools}
        return {name: value for name, value in members.items() if value}

    def outline(self, messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
        """What the validator sees of them."""
        return [_outline(message, place) for place, message in enumerate(messages)]


def _read(message: object, place: int) -> Message:
    message = mapping_at(message, place)
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        fail(place, f"has the role {shown(role)}")
    if not isinstance(content, str):
        list_at(content, place, "`content`")
    if len(message) == 2:
        return message
    members = {name: value for name, value in message.items() if name not in _KNOWN}
    named = {"id": members["id"]} if "id" in members else {}
    return {"role": role, "content": content, **named, "wire": {"format": NAME, "members": members}}


class _Names:
    """The ids of calls, each of which the API takes once."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.others: dict[str, str] = {}
        """Id -> the one that stands for it since the last call of that id."""

    def of_call(self, name: str) -> str:
        self.others.pop(name, None)
        found = name
        while found in self.used or not _ID.fullmatch(found):
            found = "call_" + sha256(f"{found}#{len(self.used)}".encode()).hexdigest()[:24]
        if found != name:
            self.others[name] = found
        self.used.add(found)
        return found


def _block(block: Block, names: _Names) -> Mapping[str, Any] | None:
    """The block as it is sent, None for one that is not."""
    kind = block.get("type")
    if kind == "text":
        if not str(block.get("text", "")).strip():
            return None
    elif kind in THOUGHT_TYPES:
        if is_foreign(block, NAME):
            return None
    elif kind == "tool_use":
        name = names.of_call(str(block.get("id")))
        if name != block.get("id"):
            block = {**block, "id": name}
    elif kind == "tool_result":
        name = str(block.get("tool_use_id"))
        if name in names.others:
            block = {**block, "tool_use_id": names.others[name]}
        content = block.get("content")
        if isinstance(content, Sequence) and not isinstance(content, str):
            found = [sent for each in content if (sent := _block(each, names)) is not None]
            if found != content:
                block = {**block, "content": found}
    elif kind == "audio" or (is_foreign(block, NAME) and kind not in ("image", "document")):
        return {"type": "text", "text": placeholder(block)}
    return without_ours(block) if not OURS.isdisjoint(block) else block


def _joined(parts: list[Any]) -> Any:
    """Systems as one: a text where all are texts."""
    if all(isinstance(part, str) for part in parts):
        return "\n\n".join(parts)
    found: list[Any] = []
    for part in parts:
        found += [{"type": "text", "text": part}] if isinstance(part, str) else part
    return found


def _outline(message: Mapping[str, Any], place: int) -> Turn:
    try:
        role, content = message["role"], message["content"]
    except (KeyError, TypeError):
        return Turn(place, "system", faults=(("no_message", "is no message: it lacks `role` or `content`"),))
    if role not in _ROLES:
        return Turn(place, "system", faults=(("no_message", f"has the role {shown(role)}, which the format has not"),))
    if isinstance(content, str):
        if content and not content.isspace():
            return Turn(place, role, said=True, key=content)
        return Turn(place, role, faults=(("empty_message", "says nothing"),))
    if not isinstance(content, (list, Sequence)) or not content:
        return Turn(place, role, faults=(("empty_message", "says nothing"),))
    calls: list[str] = []
    tools: list[str] = []  # by which an answer is known: an id that was used before is written as another one
    results: list[str] = []
    thoughts: list[object] = []
    words: list[str] = []
    faults: list[tuple[str, str]] = []
    said = False
    for block in content:
        kind = block.get("type") if isinstance(block, (dict, Mapping)) else None
        if kind == "tool_use" and isinstance(block.get("id"), str):
            calls.append(block["id"])
            tools.append(str(block.get("name")))
            if not isinstance(block.get("input"), (dict, Mapping)):
                faults.append(NO_INPUT)
        elif kind == "tool_result" and isinstance(block.get("tool_use_id"), str):
            results.append(block["tool_use_id"])
            if said:
                faults.append(("results_not_first", "has a result behind something else"))
        elif kind in THOUGHT_TYPES:
            thoughts.append(block)
        elif kind is None or kind in ("tool_use", "tool_result"):
            faults.append(("no_message", "holds what is no block, or a call or a result without an id"))
        else:
            said = True
            if kind == "text":
                words.append(text := str(block.get("text", "")))
                if not text.strip():
                    faults.append(("empty_message", "has a text of nothing but white space"))
    return Turn(place, role, calls, results, said, thoughts, calls_key(tools, words), faults)
