"""What messages and outputs of the Responses API consist of: texts, images, files."""

from collections.abc import Mapping
from typing import Any

from ..messages import Block
from .parts import list_at, others, own, placeholder, source_of, text_at, url_of, without_ours

NAME = "openai-responses"
"""The name of the format."""


def read_content(content: Any, place: int, said: str) -> Any:
    """A text, or the blocks for parts; `said`: the type that a text has where it stands."""
    if isinstance(content, str):
        return content
    return [_read_part(part, place, said) for part in list_at(content, place, "its content")]


def _read_part(part: Mapping[str, Any], place: int, said: str) -> Block:
    kind = part.get("type")
    found: Block | None = None
    known: set[str] = {"type"}
    if kind in ("input_text", "output_text"):
        found, known = {"type": "text", "text": text_at(part, "text", place)}, {"type", "text"}
    elif kind == "input_image" and isinstance(part.get("image_url"), str):
        found, known = {"type": "image", "source": source_of(part["image_url"])}, {"type", "image_url"}
    elif kind == "input_image":
        found = {"type": "image", "source": {"type": "file", "file_id": part.get("file_id")}}
    elif kind == "input_file" and isinstance(part.get("file_data"), str):
        source = source_of(part["file_data"])
        if source["type"] == "base64":
            found, known = {"type": "document", "source": source}, {"type", "file_data"}
    elif kind == "input_file" and isinstance(part.get("file_url"), str):
        found = {"type": "document", "source": {"type": "url", "url": part["file_url"]}}
        known = {"type", "file_url"}
    if found is None:
        return {**part, "wire": {"format": NAME, "whole": "part"}}
    members = others(part, frozenset(known))
    wire: dict[str, Any] = {"members": members} if members else {}
    if found["type"] == "text" and kind != said:
        wire["type"] = kind
    return {**found, "wire": {"format": NAME, **wire}} if wire or found["type"] != "text" else found


def write_part(block: Block, said: str) -> dict[str, Any]:
    """The part for a block; `said`: the type that a text has where it stands."""
    kind, source, wire = block.get("type"), block.get("source"), own(block, NAME)
    members = wire.get("members", {})
    if kind == "text":
        return {"type": wire.get("type", said), "text": block.get("text", ""), **members}
    if "whole" in wire:
        return whole(block)
    url = url_of(source)
    if kind == "image" and isinstance(source, Mapping) and (url is not None or wire):
        shown = {"image_url": url} if url is not None else {}
        return {"type": "input_image", **shown, **(members if wire else {"detail": "auto"})}
    if kind == "document" and isinstance(source, Mapping):
        if url is not None:
            return {"type": "input_file", "file_url" if source["type"] == "url" else "file_data": url, **members}
        if source.get("type") == "text":
            return {"type": said, "text": source.get("data", "")}
    return {"type": said, "text": placeholder(block)}


def whole(block: Block) -> dict[str, Any]:
    """An item or a part that was kept as it stood."""
    found = without_ours(block)
    if own(block, NAME)["whole"] == "untyped item":
        del found["type"]
    return found
