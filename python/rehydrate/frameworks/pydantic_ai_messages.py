"""Messages of an engine as those of pydantic-ai, as JSON has them: the way back from `pydantic_ai_views`.

The package is not needed for it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rehydrate.context.messages import Message, calls

from .pydantic_ai_views import MARK, parsed


def dumps_of(messages: Sequence[Message], tools: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Messages as `ModelMessagesTypeAdapter` reads them, those that are of no part of pydantic-ai's as texts.  `tools`:
    see `tools_of`; None: of these messages.
    """
    names = tools_of(messages) if tools is None else tools
    return [_dump(message, names) for message in messages]


def tools_of(messages: Iterable[Message]) -> dict[str, str]:
    """Ids of calls -> the tools that they are of."""
    return {call["id"]: call["name"] for message in messages for call in calls(message)}


def _dump(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    content = message["content"]
    blocks: list[Mapping[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    about: dict[str, Any] = {"kind": "response" if message["role"] == "assistant" else "request"}
    parts: list[dict[str, Any]] = []
    last = None
    for block in blocks:
        mark = block.get(MARK) or {}
        about.update(mark.get("message", {}))
        if mark.get("is_list") and mark["key"] == last and block["type"] != "tool_result":
            parts[-1]["content"].append(_item_of(block))
        else:
            parts.append(_part(block, mark, about["kind"], names))
        last = mark.get("key")
    return {**about, "parts": parts}


def _part(block: Mapping[str, Any], mark: Mapping[str, Any], kind: str, names: Mapping[str, str]) -> dict[str, Any]:
    rest = mark.get("part", {})
    if block["type"] == "tool_use":
        args = mark["args"] if "args" in mark and parsed(mark["args"]) == block["input"] else block["input"]
        return {"part_kind": "tool-call", "tool_name": block["name"], **rest, "tool_call_id": block["id"], "args": args}
    if block["type"] == "tool_result":
        name, content = block["tool_use_id"], block.get("content") or ""
        if isinstance(content, list):
            said = [_item_of(each) for each in content]
            content = said if mark.get("is_list", True) or len(said) != 1 else said[0]
        elif mark.get("is_json"):
            content = _json(content)
        about = {"part_kind": "tool-return", "outcome": "success" if mark else "interrupted"}
        return {**about, "tool_name": names.get(name, "unknown"), **rest, "tool_call_id": name, "content": content}
    if block["type"] == "thinking":
        return {"part_kind": "thinking", **rest, "content": block["thinking"]}
    if block["type"] == MARK:
        return dict(rest)
    if kind == "response":
        return {"part_kind": "text", **rest, "content": _item_of(block)}
    return {
        "part_kind": "user-prompt",
        **rest,
        "content": [_item_of(block)] if mark.get("is_list") else _item_of(block),
    }


def _item_of(block: Mapping[str, Any]) -> Any:
    mark = block.get(MARK) or {}
    if "item" in mark and "source" in block:
        source = block["source"]
        return {**mark["item"], **({"url": source["url"]} if source["type"] == "url" else {"data": source["data"]})}
    text = str(block.get("text", f"[{block['type']}]"))
    return _json(text) if mark.get("is_json") else text


def _json(text: str) -> Any:
    """The value; the text where it is none any more, as something was put in its place."""
    try:
        return json.loads(text)
    except ValueError:
        return text
