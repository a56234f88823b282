"""The form that messages have in here, whatever format they come in and leave in.

It is that of the log, which is that of Anthropic's Messages API: a dictionary with `role` (`user`, `assistant`, and
`system` where a format has such messages in its list) and `content`, a text or a list of blocks.  Blocks: `text`,
`tool_use`, `tool_result`, `thinking`, `redacted_thinking`, `image`, `document`, `audio`, and whatever else comes.
Members that nobody knows are kept.  What a format has beyond that stands in the member `wire` of a message or a block
and comes back when it is written in the same format (see `rehydrate.context.wire`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]
"""A message; nothing in here changes one that it was given."""
Block = Mapping[str, Any]

THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""Types of blocks that a model has not said."""


def blocks(message: Message) -> Sequence[Block]:
    """The content as blocks: a text is one block, and what is no block is passed over."""
    content = message.get("content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    if not isinstance(content, (list, Sequence)):
        return ()
    return [block for block in content if isinstance(block, (dict, Mapping))]  # a dict is told faster than a Mapping


def is_sound(block: Block) -> bool:
    """Whether a block has what everything else in here relies on: a type, and by that its text, or the ids by which
    calls and results find each other.
    """
    kind = block.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "tool_result":
        content = block.get("content")
        return _is_id(block.get("tool_use_id")) and (
            content is None
            or isinstance(content, str)
            or (isinstance(content, list) and all(isinstance(each, dict) and is_sound(each) for each in content))
        )
    if kind == "tool_use":
        return _is_id(block.get("id")) and isinstance(block.get("name"), str)
    if kind == "text":
        return isinstance(block.get("text"), str) or "wire" in block
    return kind != "thinking" or isinstance(block.get("thinking"), str)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value != ""


def calls(message: Message) -> Iterator[Block]:
    """The calls of tools in an answer."""
    if message.get("role") == "assistant":
        yield from (block for block in blocks(message) if block.get("type") == "tool_use")


def results(message: Message) -> Iterator[Block]:
    """The results of calls in a message of the user."""
    if message.get("role") == "user":
        yield from (block for block in blocks(message) if block.get("type") == "tool_result")


def is_request(message: Message) -> bool:
    """Whether the user says something in it, beside results; what an engine says in their role is no such thing."""
    return (
        message.get("role") == "user"
        and any(block.get("type") != "tool_result" for block in blocks(message))
        and not is_hidden(message)
    )


def text(content: object) -> str:
    """The text in the content of a message or of a result, its blocks apart by a line feed; what is no text is left
    out.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "\n".join(
        block["text"]
        for block in content
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)
    )


def squeezed(text: str, size: int) -> str:
    """The first `size` characters, on one line, runs of white space as one space; `…` says that there was more."""
    text = " ".join(text[: size * 2].split())
    return text if len(text) <= size else text[:size] + "…"


def has_thoughts(message: Message) -> bool:
    """Whether an answer has thoughts in it."""
    content = message.get("content")
    return not isinstance(content, str) and any(block.get("type") in THOUGHTS for block in blocks(message))


HIDDEN = frozenset({"handoff", "continue"})
"""Kinds of messages that a model is sent and nobody has said; see `rehydrate.context.hidden`."""
FOREIGN = "foreign summary"
"""The kind of a message that somebody else's compaction has left: a model wrote it, whose ever role it has."""


def kind_of(message: Message) -> str | None:
    """What a message of ours is, from an earlier plan or an engine's own note; None: it is none of ours."""
    if message.get("rehydrate") is None:
        return None
    kind = mark_of(message).get("kind")
    return kind if isinstance(kind, str) else None


def mark_of(message: Message) -> Mapping[str, Any]:
    """What an earlier plan has noted on a message of ours; nothing on any other."""
    mark = message.get("rehydrate")
    return mark if mark is not None and isinstance(mark, Mapping) else {}  # most have none, and that is told faster


def is_hidden(message: Message) -> bool:
    """Whether it is a note of an engine's own, which no compaction and no copy of a session is to have."""
    return "rehydrate" in message and kind_of(message) in HIDDEN


def marked(message: Message, kind: str) -> Message:
    """The message with the mark of a kind; the very object where it has it."""
    return message if kind_of(message) == kind else {**message, "rehydrate": {"kind": kind}}
