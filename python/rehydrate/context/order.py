"""Most lists are in order: nothing is to be moved or repaired, and only the results of one answer, which some formats
give a message each, are to be put together.  One pass finds that out, and does it.
"""

from collections.abc import Collection, Sequence
from typing import Any

from .messages import THOUGHTS, Block, Message, blocks
from .units import answer_id


def in_order(messages: Sequence[Message], *, pending: Collection[str]) -> list[Message] | None:
    """What `repair` makes of a list in which nothing is broken and all results are right behind their calls; None:
    this is no such list, or it is not told so easily.
    """
    found: list[Message] = []
    order: dict[str, int] = {}  # the calls of the last answer, each with its place among them
    waiting: set[str] = set()  # those of them that no result has come for
    came: list[Message] = []  # the messages with their results
    has_begun = False
    answer = None
    for message in messages:
        role, content = message.get("role"), message.get("content")
        ids = () if isinstance(content, str) else _ids(content, role)
        if ids is None:
            return None
        if ids and role == "user":
            if not waiting.issuperset(ids) or len(set(ids)) < len(ids):
                return None
            waiting.difference_update(ids)
            came.append(message)
            continue
        if waiting:
            return None
        if came:
            found.append(_together(came, order))
            came = []
        if role == "assistant":
            last, answer = answer, answer_id(message)
            if not has_begun or (answer is not None and answer == last):
                return None
            order = {name: at for at, name in enumerate(ids)}
            waiting = set(ids)
            if len(waiting) < len(ids):
                return None
        else:
            answer = None
            has_begun = has_begun or (role == "user" and says_something(message))
        found.append(message)
    if came:
        found.append(_together(came, order))
    return found if waiting.issubset(pending) else None


def says_something(message: Message) -> bool:
    """Whether a format that takes no blank texts would send it."""
    return any(block.get("type") != "text" or str(block.get("text")).strip() for block in blocks(message))


def _ids(content: Any, role: object) -> Sequence[str] | None:
    """The ids of the calls in an answer, or of the results in a message that has nothing else; None where something is
    in it that may have to be repaired.
    """
    if type(content) is not list or not content:
        return None
    found: list[str] = []
    rest = False
    for block in content:
        if type(block) is not dict:
            return None
        kind = block.get("type")
        if kind == "tool_use" and role == "assistant" and isinstance(block.get("input"), dict):
            name = block.get("id")
        elif kind == "tool_result" and role == "user" and _is_sound(block.get("content")):
            name = block.get("tool_use_id")
        elif kind == "text":
            rest = True
            if not isinstance(block.get("text"), str):
                return None
            continue
        elif not isinstance(kind, str) or kind.startswith("tool_") or (kind in THOUGHTS and role != "assistant"):
            return None
        else:
            rest = True
            continue
        if not isinstance(name, str):
            return None
        found.append(name)
    return None if found and rest and role == "user" else found


def _is_sound(content: object) -> bool:
    """Whether all that is in a result are blocks."""
    if content is None or isinstance(content, str):
        return True
    return type(content) is list and all(
        type(block) is dict
        and isinstance(kind := block.get("type"), str)
        and (kind != "text" or isinstance(block.get("text"), str))
        for block in content
    )


def _together(came: Sequence[Message], order: dict[str, int]) -> Message:
    """The results of one answer in one message, in the order of the calls where there were several."""
    if len(came) == 1:
        return came[0]
    results: list[Block] = [block for message in came for block in message["content"]]
    results.sort(key=lambda block: order[block["tool_use_id"]])
    return {**came[0], "content": results}
