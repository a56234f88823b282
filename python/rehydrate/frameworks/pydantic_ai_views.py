"""Messages of pydantic-ai, as JSON has them, as those of an engine; the way back is in `pydantic_ai_messages`.

Each part is a block, or several; what a block has no place for stands in its member `pydantic_ai`, which the log keeps
and no provider is sent.  Texts and files stand in the block alone, so that what an engine puts in their place counts.
The package is not needed for it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rehydrate.digest import sha256

MARK = "pydantic_ai"
FILES = {"image-url": "image", "binary": "document", "audio-url": "document", "video-url": "document"}
"""Kinds of files -> the block for it; a binary one that is an image is one."""
CALLS = frozenset({"tool-return", "retry-prompt"})
NOT_SAID = frozenset({"instructions", "parts"})
"""Members of a message that are not kept: those for the next request come from the agent."""


class View(NamedTuple):
    """A message as an engine has it."""

    role: str
    blocks: list[dict[str, Any]]
    keys: list[str]
    """One a block: the same part has the same key, in whatever message it stands."""

    def message(self, known: Iterable[str] = ()) -> dict[str, Any]:
        """In the neutral form, without the parts that are known."""
        content = [block for block, key in zip(self.blocks, self.keys, strict=True) if key not in known]
        return {"role": self.role, "content": content}


def view_of(dump: Mapping[str, Any]) -> View:
    """A message without its system prompts, without texts of nothing but white space, and without the notes that
    pydantic-ai makes for itself.  `dump`: the message as `ModelMessagesTypeAdapter` writes it.
    """
    about = {name: value for name, value in dump.items() if name not in NOT_SAID and value is not None}
    view = View("assistant" if dump["kind"] == "response" else "user", [], [])
    for place, part in enumerate(dump["parts"]):
        key = _key(part, dump["timestamp"] if view.role == "assistant" else None, place)
        for block in _blocks(part):
            if block["type"] == "text" and not block["text"].strip():
                continue  # nor has a log texts that say nothing
            block[MARK] = {"key": key, **block.pop(MARK)}
            view.blocks.append(block)
            view.keys.append(key)
    said = next((block for block in view.blocks if block["type"] != "thinking"), None)
    if said is not None:
        said[MARK]["message"] = about
    return view


def keys_of(message: Mapping[str, Any]) -> set[str]:
    """Of the parts that a message of an engine was made of."""
    return {mark["key"] for mark in bare(message["content"])[1]}


def bare(content: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Blocks without their marks, and these without what they say of the whole message: a run adds to that."""
    blocks = [block for block in content if MARK in block] if isinstance(content, list) else []
    ours = [{name: value for name, value in block[MARK].items() if name != "message"} for block in blocks]
    return [{**block, MARK: None} for block in (blocks if len(blocks) == len(content) else ())], ours


def _key(part: Mapping[str, Any], answered: object, place: int) -> str:
    """The same for the same part, whatever of its message has changed."""
    names = ("part_kind", "tool_call_id", *(("content", "timestamp") if answered is None else ()))
    said = [answered, None if answered is None else place, *(part.get(name) for name in names)]
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]


def _blocks(part: dict[str, Any]) -> list[dict[str, Any]]:
    kind = part["part_kind"]
    rest = {name: value for name, value in part.items() if name not in ("content", "args") and value is not None}
    content = part.get("content")
    if kind in CALLS and part.get("tool_name"):
        is_error = kind == "retry-prompt" or part.get("outcome", "success") != "success"
        mark = {"part": rest, **({} if isinstance(content, str) else {"is_json": True})}
        said: Any = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        items = content if isinstance(content, list) else [content]
        if any(map(_is_file, items)):
            said, mark = [_item(item) for item in items], {"part": rest, "is_list": isinstance(content, list)}
        error = {"is_error": True} if is_error else {}
        return [{"type": "tool_result", "tool_use_id": part["tool_call_id"], "content": said, **error, MARK: mark}]
    if kind == "tool-call":
        raw, given = part.get("args"), parsed(part.get("args"))
        mark = {"part": rest, **({} if raw is given else {"args": raw})}
        return [{"type": "tool_use", "id": part["tool_call_id"], "name": part["tool_name"], "input": given, MARK: mark}]
    if kind == "thinking":
        return [
            {
                "type": "thinking",
                "thinking": content or "",
                "signature": part.get("signature") or "",
                MARK: {"part": rest},
            }
        ]
    if kind == "file":
        return [{**_item(content), MARK: {"part": rest, **_item(content)[MARK]}}]
    if kind in ("user-prompt", "text", "retry-prompt", "retry-feedback"):
        if isinstance(content, list) and kind == "user-prompt":
            return [{**item, MARK: {"part": rest, "is_list": True, **item[MARK]}} for item in map(_item, content)]
        is_json = not isinstance(content, str)
        text = json.dumps(content, ensure_ascii=False) if is_json else content
        return [{"type": "text", "text": text, MARK: {"part": rest, **({"is_json": True} if is_json else {})}}]
    return [{"type": MARK, MARK: {"part": part}}] if kind.startswith(("builtin", "compaction", "speech")) else []


def _is_file(item: object) -> bool:
    return isinstance(item, dict) and item.get("kind") in (*FILES, "document-url", "uploaded-file")


def _item(item: Any) -> dict[str, Any]:
    """The block for one item of a content."""
    if isinstance(item, str):
        return {"type": "text", "text": item, MARK: {}}
    if not _is_file(item) or item["kind"] == "uploaded-file":
        return {"type": "text", "text": json.dumps(item, ensure_ascii=False), MARK: {"is_json": True}}
    is_image = item["kind"] == "image-url" or str(item.get("media_type")).startswith("image/")
    named = "data" if item["kind"] == "binary" else "url"
    source = {"type": "url", "url": item[named]}
    if named == "data":
        source = {"type": "base64", "media_type": item["media_type"], "data": item["data"]}
    rest = {name: value for name, value in item.items() if name != named}
    return {"type": "image" if is_image else "document", "source": source, MARK: {"item": rest}}


def parsed(args: Any) -> dict[str, Any]:
    """The arguments of a call as an object; as they stand below `arguments`, where a model has written none."""
    if isinstance(args, dict):
        return args
    try:
        found = json.loads(args) if args else {}
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"arguments": args}
