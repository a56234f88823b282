"""OpenAI's chat completions, and the many that speak like them.

A message of the role `tool` is a result in a message of the user; its members stand with the result, so that results
can be put together.  The arguments of a call are kept as the model wrote them, byte for byte, beside the object that
they say.  What a model has thought (`reasoning_content` and its kin) are blocks of thoughts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..messages import Block, Message
from .parts import (
    THOUGHT_TYPES,
    Turn,
    calls_key,
    dumped,
    fail,
    is_foreign,
    kept,
    kept_others,
    list_at,
    mapping_at,
    others,
    own,
    parsed,
    placeholder,
    shown,
    source_of,
    text_at,
    url_of,
)

NAME = "openai-chat"
_SYSTEM = ("system", "developer")
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Members of an answer in which compatible servers give thoughts."""
_SAID = frozenset({"role", "content"})
_ANSWER = frozenset({"role", "content", "tool_calls"})
_RESULT = frozenset({"role", "content", "tool_call_id"})
_CALL = frozenset({"id", "type", "function", "custom"})
_FUNCTION, _CUSTOM = frozenset({"name", "arguments"}), frozenset({"name", "input"})


class OpenAIChat:
    """Reads and writes chat messages; see `rehydrate.context.wire.Format`."""

    name = NAME
    has_system = True
    has_batches = False
    has_unique_ids = False
    joins_answers = False
    reads_each = True

    def read(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """One neutral message for each.  The roles `system` and `developer` are `system`."""
        return [_read(mapping_at(message, place), place) for place, message in enumerate(messages)]

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Results go before what else a message of the user holds, each as a message of its own."""
        written: list[dict[str, Any]] = []
        for message in messages:
            if message.get("role") == "assistant":
                written += _answer(message)
            elif message.get("role") == "user":
                written += _user(message)
            else:
                members = own(message, NAME)
                role = members.get("role", "system")
                written.append({"role": role, "content": _content(message), **members.get("members", {})})
        return written

    def body(
        self, messages: Sequence[Mapping[str, Any]], *, system: Any = None, tools: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """`messages` with the system first, `tools`."""
        first = [{"role": "system", "content": system}] if system else []
        members = {"messages": [*first, *messages], "tools": tools}
        return {name: value for name, value in members.items() if value}

    def outline(self, messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
        """What the validator sees of them."""
        return [_outline(message, place) for place, message in enumerate(messages)]


def _read(message: Mapping[str, Any], place: int) -> Message:
    role = message.get("role")
    if role == "assistant":
        return _read_answer(message, place)
    if role == "tool":
        name = text_at(message, "tool_call_id", place)
        result = {"type": "tool_result", "tool_use_id": name, "content": _read_content(message.get("content"), place)}
        return {"role": "user", "content": [{**result, **kept_others(NAME, message, _RESULT)}]}
    if role != "user" and role not in _SYSTEM:
        fail(place, f"has the role {shown(role)}")
    content = _read_content(message.get("content"), place)
    if role == "developer":
        members = kept(NAME, {"role": role, "members": others(message, _SAID)})
    else:
        members = kept_others(NAME, message, _SAID)
    return {"role": "user" if role == "user" else "system", "content": content, **members}


def _read_content(content: Any, place: int) -> Any:
    if isinstance(content, str):
        return content
    return [_read_part(part, place) for part in list_at(content, place, "`content`")]


def _read_answer(message: Mapping[str, Any], place: int) -> Message:
    content = message.get("content")
    thoughts = [_thought(name, message[name]) for name in _REASONING if message.get(name)]
    listed = message.get("tool_calls")
    calls = [_read_call(call, place) for call in list_at(listed, place, "`tool_calls`")] if listed else []
    known = _ANSWER.union(name for name in _REASONING if message.get(name))
    if message.get("function_call"):
        fail(place, "has a `function_call`, which the API has given up for `tool_calls`")
    members = others(message, known)
    if "tool_calls" in message and not listed:
        members["tool_calls"] = listed
    if isinstance(content, str) and not thoughts and not calls:
        return {"role": "assistant", "content": content, **kept(NAME, {"members": members})}
    shape = None
    said: list[Block] = []
    if isinstance(content, str):
        said = [{"type": "text", "text": content}] if content else []
        shape = None if content else "empty"
    elif content is None:
        shape = None if "content" in message else "absent"
    else:
        shape = "parts"
        said = _read_content(content, place)
    return {
        "role": "assistant",
        "content": [*thoughts, *said, *calls],
        **kept(NAME, {"content": shape, "members": members}),
    }


def _thought(name: str, value: Any) -> Block:
    if isinstance(value, str):
        return {"type": "thinking", "thinking": value, "wire": {"format": NAME, "member": name}}
    return {"type": "redacted_thinking", "data": value, "wire": {"format": NAME, "member": name}}


def _read_call(call: Mapping[str, Any], place: int) -> Block:
    name = text_at(call, "id", place)
    kind = call.get("type")
    custom = kind == "custom"
    inside = call.get("custom" if custom else "function")
    if not isinstance(inside, (dict, Mapping)):
        fail(place, f"has a call {name} that says not of what")
    said = text_at(inside, "input" if custom else "arguments", place)
    given = {"input": said} if custom else parsed(said)
    block = {"type": "tool_use", "id": name, "name": text_at(inside, "name", place), "input": given}
    if kind == "function" and call.keys() <= _CALL and inside.keys() <= _FUNCTION:
        return {**block, "wire": {"format": NAME, "arguments": said}}
    members = {
        "type": None if kind == "function" else kind or "absent",
        "arguments": None if custom else said,
        "members": others(call, _CALL),
        "inside": others(inside, _CUSTOM if custom else _FUNCTION),
    }
    return {**block, **kept(NAME, members)}


def _read_part(part: Mapping[str, Any], place: int) -> Block:
    kind = part.get("type")
    inside = part.get(kind) if isinstance(kind, str) else None
    if kind == "text":
        members = others(part, frozenset({"type", "text"}))
        return {"type": "text", "text": text_at(part, "text", place), **kept(NAME, {"members": members})}
    if isinstance(kind, str) and isinstance(inside, Mapping):
        found: Block | None = None
        rest: frozenset[str] = frozenset()
        if kind == "image_url" and isinstance(inside.get("url"), str):
            found, rest = {"type": "image", "source": source_of(inside["url"])}, frozenset({"url"})
        elif kind == "input_audio" and isinstance(inside.get("data"), str) and isinstance(inside.get("format"), str):
            source = {"type": "base64", "media_type": f"audio/{inside['format']}", "data": inside["data"]}
            found, rest = {"type": "audio", "source": source}, frozenset({"data", "format"})
        elif kind == "file" and isinstance(inside.get("file_data"), str):
            source = source_of(inside["file_data"])
            if source["type"] == "base64":
                found, rest = {"type": "document", "source": source}, frozenset({"file_data"})
        if found is not None:
            members = {"inside": others(inside, rest), "members": others(part, frozenset({"type", kind}))}
            return {**found, **kept(NAME, members)}
    return {**part, "wire": {"format": NAME}}


def _user(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    written: list[dict[str, Any]] = []
    if not isinstance(content, str):
        for block in content or ():
            if block.get("type") == "tool_result":
                said = _content(block)
                more = own(block, NAME).get("members", {})
                written.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": said, **more})
        if written:
            rest = [block for block in content or () if block.get("type") != "tool_result"]
            if not rest:
                return written
            message = {**message, "content": rest}
    return [*written, {"role": "user", "content": _content(message), **own(message, NAME).get("members", {})}]


def _content(holder: Mapping[str, Any]) -> Any:
    content = holder.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    return [_part(block) for block in content]


def _part(block: Block) -> dict[str, Any]:
    kind, source, members = block.get("type"), block.get("source"), own(block, NAME)
    more, inside = members.get("members", {}), members.get("inside", {})
    if kind == "text":
        return {"type": "text", "text": block.get("text", ""), **more}
    url = url_of(source)
    if kind == "image" and url is not None:
        return {"type": "image_url", "image_url": {"url": url, **inside}, **more}
    if kind == "audio" and isinstance(source, Mapping) and source.get("type") == "base64":
        audio = {"data": source.get("data"), "format": str(source.get("media_type")).removeprefix("audio/"), **inside}
        return {"type": "input_audio", "input_audio": audio, **more}
    if kind == "document" and url is not None and url.startswith("data:"):
        return {"type": "file", "file": {"file_data": url, **inside}, **more}
    if members:
        return {name: value for name, value in block.items() if name not in ("wire", "rehydrate")}
    if kind == "document" and isinstance(source, Mapping) and source.get("type") == "text":
        return {"type": "text", "text": source.get("data", "")}
    return {"type": "text", "text": placeholder(block)}


def _answer(message: Message) -> list[dict[str, Any]]:
    """The answer as a message; none where nothing of it can be shown."""
    content, members = message.get("content"), own(message, NAME)
    more = members.get("members", {})
    if isinstance(content, str):
        return [{"role": "assistant", "content": content, **more}]
    calls = [_call(block) for block in content or () if block.get("type") == "tool_use"]
    said = [block for block in content or () if block.get("type") not in ("tool_use", *THOUGHT_TYPES)]
    if content and not said and not calls and not more and not any(own(block, NAME) for block in content):
        return []
    written: dict[str, Any] = {"role": "assistant"}
    shape = members.get("content")
    if shape == "parts" or said:
        parts = [_part(block) for block in said]
        is_text = shape != "parts" and len(parts) == 1 and parts[0].keys() == {"type", "text"}
        written["content"] = parts[0]["text"] if is_text else parts
    elif shape != "absent":
        written["content"] = "" if shape == "empty" else None
    for block in content or ():
        if block.get("type") in THOUGHT_TYPES and not is_foreign(block, NAME):
            thought = own(block, NAME)
            if thought:
                written[thought["member"]] = block.get("thinking", block.get("data"))
    if calls:
        written["tool_calls"] = calls
    return [{**written, **more}]


def _call(block: Block) -> dict[str, Any]:
    members = own(block, NAME)
    kind, given = members.get("type", "function"), block.get("input")
    inside = members.get("inside", {})
    if kind == "custom":
        said = given.get("input", "") if isinstance(given, Mapping) else ""
        about = {"custom": {"name": block.get("name"), "input": said, **inside}}
    else:
        arguments = members.get("arguments")
        if arguments is None or parsed(arguments) != given:  # it is of another format, or we have put something else in
            arguments = dumped(given)
        about = {"function": {"name": block.get("name"), "arguments": arguments, **inside}}
    typed = {} if kind == "absent" else {"type": kind}
    return {"id": block.get("id"), **typed, **about, **members.get("members", {})}


def _outline(message: Mapping[str, Any], place: int) -> Turn:
    try:
        role, content = message["role"], message.get("content")
    except (KeyError, TypeError, AttributeError):
        return Turn(place, "system", faults=(("no_message", "is no message: it lacks `role`"),))
    if role == "tool":
        name = message.get("tool_call_id")
        if not isinstance(name, str):
            return Turn(place, "user", faults=(("no_message", "is a result that does not say of which call"),))
        return Turn(place, "user", results=(name,))
    if role == "user":
        return Turn(place, "user", said=True)
    if role != "assistant":
        if role in _SYSTEM:
            return Turn(place, "system", said=True)
        return Turn(place, "system", faults=(("no_message", f"has the role {shown(role)}, which the format has not"),))
    listed = message.get("tool_calls")
    calls: Sequence[str] = ()
    faults: Sequence[tuple[str, str]] = ()
    if listed:
        given = listed if isinstance(listed, Sequence) else [listed]
        named = (call.get("id") for call in given if isinstance(call, Mapping))
        calls = [name for name in named if isinstance(name, str)]
        if len(calls) != len(given):
            faults = (("no_message", "has a call without an id"),)
    elif not content and not any(message.get(name) for name in ("refusal", "audio", *_REASONING)) and content != "":
        faults = (("empty_message", "says nothing"),)
    thoughts = [(name, message[name]) for name in _REASONING if message.get(name)]
    key = calls_key(calls, (content if isinstance(content, str) else repr(content or ""),))
    return Turn(place, role, calls, (), True, thoughts, key, faults)
