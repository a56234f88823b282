"""LangChain's messages as the engine reads them, and back.

In between stands the form of OpenAI's chat completions.  Beside what that has, each message carries in the member
`langchain` what is LangChain's own, so that it comes back from a log as it was: its id, what a provider has added, the
blocks of an answer.  A message that the engine has changed comes back without them, in a form that every provider is
sent.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import default_tool_parser
from pydantic_core import to_jsonable_python

from rehydrate.digest import sha256

FORMAT = "openai-chat"
"""The form in between."""
View = dict[str, Any]
"""A message in it."""

_ROLES = {"ai": "assistant", "assistant": "assistant", "tool": "tool", "system": "system", "developer": "system"}
"""By a message's type, or the role that it names itself; all others are the user's."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_CALLS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"})
"""Blocks of an answer that stand in its `tool_calls`, too."""
_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video_url"), "video"),
    **dict.fromkeys(("file", "media", "document", "input_file"), "document"),
}
"""What blocks are counted as, by their types: their bytes are no text."""
_OWN = ("id", "name", "status", "additional_kwargs", "response_metadata", "usage_metadata")


def viewed(message: BaseMessage) -> View:
    """A message in the form in between.  Bytes become base64, and what JSON cannot hold its text."""
    role = _ROLES.get(getattr(message, "role", message.type).lower(), "user")
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in _listed(message.content)]
    content: object = message.content
    own = {name: value for name in _OWN if (value := getattr(message, name, None))}
    view: View = {"role": role}
    if isinstance(message, AIMessage):
        if isinstance(content, list):
            own["content"] = content
        thoughts = [part for part in parts if part.get("type") in _THOUGHTS]
        parts = [part for part in parts if part.get("type") not in _THOUGHTS | _CALLS]
        said = message.additional_kwargs.get("reasoning_content")
        calls = [_call(each["name"], _json(each["args"]), each["id"]) for each in message.tool_calls]
        calls += [_call(each["name"], each["args"], each["id"]) for each in message.invalid_tool_calls if each["id"]]
        members = {"reasoning_details": thoughts, "reasoning_content": said, "tool_calls": calls}
        view.update({name: value for name, value in members.items() if value})
    elif isinstance(message, ToolMessage):
        view["tool_call_id"] = message.tool_call_id
    view["content"] = content if isinstance(content, str) else [_part(part) for part in parts] or ""
    if message.name:
        view["name"] = message.name
    view = to_jsonable_python(view, bytes_mode="base64", fallback=str)
    own = to_jsonable_python(own, bytes_mode="base64", fallback=str)
    return {**view, "langchain": {"digest": digest(view), "own": own}}


class Views:
    """Makes views of messages, and no message's again as long as each call has it: a long conversation has thousands of
    messages, of which few are new.
    """

    def __init__(self) -> None:
        self._made: dict[str, View] = {}
        """By what the messages hold: other objects may say the same, and people change messages in their place."""

    def of(self, messages: Iterable[BaseMessage]) -> list[View]:
        """The views of messages; those of the last time are remembered."""
        before, self._made, views = self._made, {}, []
        for message in messages:
            key = _held(message)
            self._made[key] = view = before.get(key) or viewed(message)
            views.append(view)
        return views


def _held(message: BaseMessage) -> str:
    """The same for messages that hold the same; an artifact is none of what a model is sent."""
    held = {**message.__dict__, "artifact": None}
    said = repr((type(message), held, message.__pydantic_extra__))
    return sha256(said.encode(errors="backslashreplace")).hexdigest()


def digest(view: Mapping[str, Any]) -> str:
    """The same for messages of which a model is sent the same; their ids count for nothing."""
    said = {name: value for name, value in view.items() if name != "langchain"}
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def made(views: Iterable[View], given: Sequence[tuple[View, BaseMessage]]) -> list[BaseMessage]:
    """Messages of what the engine gives: of those in `given` that it has not changed the very objects, each with the
    view that was made of it; others anew.
    """
    known = {
        (view["langchain"]["digest"], name): message
        for view, message in given
        for name in (None, message.id)  # one that was logged before the graph has given it an id
    }
    return [_made(view, known) for view in views]


def _made(view: View, known: Mapping[tuple[str, str | None], BaseMessage]) -> BaseMessage:
    mark = view.get("langchain")
    if mark is None or digest(view) != mark["digest"]:
        about = {} if mark is None else {"id": mark["own"].get("id")}
        return _built(view).model_copy(update=about)
    message = known.get((mark["digest"], mark["own"].get("id")))
    return _built(view).model_copy(update=mark["own"]) if message is None else message


def _built(view: View) -> BaseMessage:
    role, content, name = view["role"], view.get("content") or "", view.get("name")
    if isinstance(content, list):
        content = [part.get("langchain", part) for part in content]
    if role == "assistant":
        if thoughts := view.get("reasoning_details"):
            content = [*thoughts, *(_listed(content))]
        calls, invalid = default_tool_parser(view.get("tool_calls") or [])
        return AIMessage(content, tool_calls=calls, invalid_tool_calls=invalid, name=name)
    if role == "tool":
        return ToolMessage(content, tool_call_id=view["tool_call_id"], name=name)
    return (SystemMessage if role == "system" else HumanMessage)(content, name=name)


def _listed(content: str | list[Any]) -> list[Any]:
    return content if isinstance(content, list) else [content] if content else []


def _call(name: str | None, arguments: str | None, call_id: str | None) -> View:
    return {"type": "function", "id": call_id or "", "function": {"name": name or "", "arguments": arguments or ""}}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block; one whose bytes are no text under the type that it is counted as."""
    kind = part.get("type") or next((name for name in part if name in _MEDIA), "")
    media = _MEDIA.get(kind)
    if media is None:
        return part
    mime = str(part.get("mime_type") or "").partition("/")[0]
    return {"type": mime if mime in ("image", "audio", "video") else media, "langchain": part}
