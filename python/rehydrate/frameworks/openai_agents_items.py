"""Items of the OpenAI Agents SDK."""

from collections.abc import Mapping
from typing import Any

from rehydrate.context import FORMATS
from rehydrate.context.messages import Message

FORMAT = "openai-responses"
FORM = FORMATS[FORMAT]
Item = Mapping[str, Any]


def items_of(message: Message) -> list[dict[str, Any]]:
    """Those that a message was read from, reasoning that nothing follows any more among them."""
    if message["role"] != "assistant":
        return FORM.write([message])
    return FORM.write([message, {"role": "assistant", "content": "."}])[:-1]


def key_of(item: Item) -> object:
    """What an item is known by, whatever the SDK or an engine has done to it."""
    if "call_id" in item or "role" not in item:
        return item.get("type"), item.get("call_id", item.get("id"))
    said = item.get("content")
    words = said if isinstance(said, str) else "".join(str(part.get("text", "")) for part in said or ())
    return item["role"], words


def schema_of(tool: object) -> dict[str, Any]:
    """About what a provider is sent of a tool."""
    names = ("name", "description", "params_json_schema", "tool_name", "tool_description", "input_json_schema")
    return {name: getattr(tool, name) for name in names if hasattr(tool, name)}
