"""How large a list of messages is, and whether it still holds what the user asked last."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Wire = Sequence[Mapping[str, Any]]
Count = Callable[[str], int]

A_MESSAGE = A_CALL = 4
"""Tokens of a message and of a call beside their texts, of which providers tell no more than an example."""


def tokens(messages: Wire, form: str, count: Count) -> int:
    """Every text in them, counted one by one; what an image costs is left out, since no two providers agree."""
    items = ("function_call", "reasoning")  # parts of one answer in OpenAI's Responses, though each stands alone
    return A_MESSAGE * sum(message.get("type") not in items for message in messages) + sum(
        count(text) + (A_CALL if kind == "call" else 0) for kind, text in texts(messages, form)
    )


def texts(messages: Wire, form: str) -> Iterator[tuple[str, str]]:
    """Every text with its kind: `text`, `thought`, `call` (its name) or `arguments`."""
    readers = {"openai-chat": _chat, "anthropic": _anthropic, "openai-responses": _responses, "gemini": _gemini}
    for message in messages:
        yield from readers[form](message)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _chat(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    for part in [{"text": content}] if isinstance(content, str) else content or ():
        if isinstance(part.get("text"), str):
            yield "text", part["text"]
    for call in message.get("tool_calls") or ():
        yield "call", call["function"]["name"]
        yield "arguments", call["function"]["arguments"]
    if message.get("reasoning_content"):
        yield "thought", message["reasoning_content"]


def _anthropic(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        kind = block.get("type")
        if kind == "text":
            yield "text", block["text"]
        elif kind == "thinking":
            yield "thought", block["thinking"]
        elif kind == "tool_use":
            yield "call", block["name"]
            yield "arguments", _json(block["input"])
        elif kind == "tool_result":
            yield from _anthropic({"content": block.get("content")})


def _responses(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kind = item.get("type", "message")
    if kind == "function_call":
        yield "call", item["name"]
        yield "arguments", item["arguments"]
        return
    said = item.get({"function_call_output": "output", "reasoning": "summary"}.get(kind, "content"))
    for part in [{"text": said}] if isinstance(said, str) else said or ():
        if isinstance(part.get("text"), str):
            yield "text", part["text"]


def _gemini(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part in content.get("parts") or ():
        if "text" in part:
            yield "text", part["text"]
        elif "functionCall" in part:
            yield "call", part["functionCall"]["name"]
            yield "arguments", _json(part["functionCall"].get("args", {}))
        elif "functionResponse" in part:
            for value in part["functionResponse"]["response"].values():
                yield "text", value if isinstance(value, str) else _json(value)


def said_by_user(messages: Wire, form: str) -> list[str]:
    """The texts of the user's messages, those of results left out."""
    found = []
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("parts") if form == "gemini" else message.get("content")
        for part in [{"text": content}] if isinstance(content, str) else content or ():
            if isinstance(part.get("text"), str):
                found.append(part["text"])
    return found


HEAD = 0.75
MARK = re.compile(r"\d")
"""What a mark of something left out tells: how much."""


def request_kept(messages: Wire, form: str, request: str) -> str:
    """`whole`, `cut` (most of its beginning, then a mark with a number, then its end) or `lost`.

    The user's messages alone are looked at: what stands in a message of another role is no request any more.
    """
    texts = said_by_user(messages, form)
    if any(request in text for text in texts):
        return "whole"
    return "cut" if any(_cut(text, request) for text in texts) else "lost"


def _cut(text: str, request: str) -> bool:
    """Whether a text holds the request with its middle left out: three quarters of what is there are its head."""
    start = text.find(request[:12])
    if start < 0:
        return False
    text = text[start:]
    head = _common(text, request)
    tail = max((_common(text[:end][::-1], request[::-1]) for end in _ends(text, request)), default=0)
    between = text[head : text.rfind(request[-tail:])] if tail else ""
    share = head / (head + tail) if head + tail else 0
    return bool(tail and MARK.search(between) and abs(share - HEAD) < 0.15 and head + tail < len(request))


def _ends(text: str, request: str) -> Iterator[int]:
    """Where in the text the request's last characters end."""
    last = request[-4:]
    place = text.find(last)
    while place >= 0:
        yield place + len(last)
        place = text.find(last, place + 1)


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def rough(text: str) -> int:
    """A count of tokens that needs nothing: words, marks, and each character of a script without blanks."""
    return len(re.findall(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]|\s{1,8}(?=\s)", text))
