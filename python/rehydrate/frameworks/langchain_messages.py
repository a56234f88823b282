"""LangChain's messages as the engine reads them, and back.

In between stands the form of OpenAI's chat completions.  Beside what that has, each message carries in the member
`langchain` what is LangChain's own, so that it comes back from a log as it was: its id, what a provider has added, the
blocks of an answer.  A message that the engine has changed comes back without them, in a form that every provider is
sent.  The package is not needed for it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from rehydrate.digest import sha256

T = TypeVar("T")
"""The framework's own messages."""

FORMAT = "openai-chat"
"""The form in between."""
View = dict[str, Any]
"""A message in it."""

_ROLES = {"ai": "assistant", "assistant": "assistant", "tool": "tool", "system": "system", "developer": "system"}
"""All others are the user's."""
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


def view_of(held: Mapping[str, Any]) -> View:
    """A message in the form in between.  `held`: all its members, as JSON has them."""
    role = _role(str(held.get("role") or held["type"]))
    content, name = held["content"], held.get("name")
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in _listed(content)]
    own = {name: value for name in _OWN if (value := held.get(name))}
    view: View = {"role": role}
    if role == "assistant":
        if isinstance(content, list):
            own["content"] = content
        thoughts = [part for part in parts if part.get("type") in _THOUGHTS]
        parts = [part for part in parts if part.get("type") not in _THOUGHTS | _CALLS]
        said = held["additional_kwargs"].get("reasoning_content")
        calls = [_call(each["name"], _json(each["args"]), each["id"]) for each in held.get("tool_calls", ())]
        calls += [
            _call(each["name"], each["args"], each["id"]) for each in held.get("invalid_tool_calls", ()) if each["id"]
        ]
        members = {"reasoning_details": thoughts, "reasoning_content": said, "tool_calls": calls}
        view.update({name: value for name, value in members.items() if value})
    elif role == "tool":
        view["tool_call_id"] = held.get("tool_call_id")
    view["content"] = content if isinstance(content, str) else [_part(part) for part in parts] or ""
    if name:
        view["name"] = name
    return {**view, "langchain": {"digest": digest(view), "own": own}}


class Views(Generic[T]):
    """Makes views of messages, and no message's again as long as each call has it: a long conversation has thousands of
    messages, of which few are new.
    """

    def __init__(self) -> None:
        self._made: dict[str, View] = {}
        """By what the messages hold: other objects may say the same, and people change messages in their place."""

    def of(self, messages: Iterable[T], viewed: Callable[[T], View]) -> list[View]:
        """The views of messages, as `viewed` makes them; those of the last time are remembered."""
        before, self._made, views = self._made, {}, []
        for message in messages:
            key = _held(message)
            self._made[key] = view = before.get(key) or viewed(message)
            views.append(view)
        return views


def _held(message: object) -> str:
    """The same for messages that hold the same; an artifact is none of what a model is sent."""
    held = {**vars(message), "artifact": None}
    said = repr((type(message), held, getattr(message, "__pydantic_extra__", None)))
    return sha256(said.encode(errors="backslashreplace")).hexdigest()


def digest(view: Mapping[str, Any]) -> str:
    """The same for messages of which a model is sent the same; their ids count for nothing."""
    said = {name: value for name, value in view.items() if name != "langchain"}
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def made(
    views: Iterable[View], given: Sequence[tuple[View, T]], built: Callable[[str, View, Mapping[str, Any]], T]
) -> list[T]:
    """Messages of what the engine gives: of those in `given` that it has not changed the very objects, each with the
    view that was made of it; others as `built` makes them of a role, what a message of that has for every provider, and
    what is LangChain's own.
    """
    known = {
        (view["langchain"]["digest"], name): message
        for view, message in given
        for name in (None, vars(message)["id"])  # one that was logged before the graph has given it an id
    }
    found = []
    for view in views:
        mark = view.get("langchain")
        own = {} if mark is None else mark["own"]
        if mark is None or digest(view) != mark["digest"]:
            found.append(built(view["role"], _plain(view), {"id": own.get("id")}))
        elif (message := known.get((mark["digest"], own.get("id")))) is not None:
            found.append(message)
        else:
            found.append(built(view["role"], _plain(view), own))
    return found


def _plain(view: View) -> View:
    """Members of a message that all providers know; its calls are as OpenAI has them."""
    content = view.get("content") or ""
    if isinstance(content, list):
        content = [part.get("langchain", part) for part in content]
    if view["role"] == "assistant" and (thoughts := view.get("reasoning_details")):
        content = [*thoughts, *(_listed(content))]
    names = ("name", "tool_calls", "tool_call_id")
    return {"content": content, **{name: value for name, value in view.items() if name in names}}


def _role(name: str) -> str:
    """Of a message of that type, or one that names its role itself.  What is streamed has types as `AIMessageChunk`."""
    return _ROLES.get(name.lower().removesuffix("chunk").removesuffix("message"), "user")


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
