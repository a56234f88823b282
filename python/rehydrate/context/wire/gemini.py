"""Gemini's `generateContent`: contents of parts.

Older models give calls no ids: a response is then one for the first call of its name in the content before it that has
none yet.  The ids that such calls have in here are made of their place in the list, so a list is read as a whole, not
content by content; they never leave.  Parts may be spelt as in JSON (`functionCall`) or as in Python
(`function_call`), and are written as they were read.
"""

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ..messages import Block, Message, blocks, text
from .parts import (
    NO_INPUT,
    NONE,
    THOUGHT_TYPES,
    Turn,
    dumped,
    fail,
    list_at,
    mapping_at,
    others,
    own,
    placeholder,
    shown,
)

NAME = "gemini"
_SIDES = {"user": "user", "function": "user", None: "user", "model": "assistant", "system": "system"}
_CALL = ("functionCall", "function_call")
_RESPONSE = ("functionResponse", "function_response")
_DATA = ("inlineData", "inline_data")
_FILE = ("fileData", "file_data")
_SIGNATURES = ("thoughtSignature", "thought_signature")


class Gemini:
    """Reads and writes contents; see `rehydrate.context.wire.Format`."""

    name = NAME
    has_system = False
    has_batches = True
    has_unique_ids = False
    joins_answers = True
    reads_each = False

    def read(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """One neutral message for each content."""
        contents = [mapping_at(content, place) for place, content in enumerate(messages)]
        names = _Names()
        return [_read(content, place, names) for place, content in enumerate(contents)]

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """One content for each message, but calls that would follow another content of the model join it: the API wants
        a word of the user before them.
        """
        written: list[dict[str, Any]] = []
        tools: dict[object, Block] = {}  # id of a call -> the call
        for message in messages:
            content = _content(message, tools)
            if content is None:
                continue
            written.append(content)
            if content.get("role") == "model" and any(_inside(part, _CALL)[0] for part in content["parts"]):
                _join_last(written)
        return written

    def body(
        self, messages: Sequence[Mapping[str, Any]], *, system: Any = None, tools: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """`systemInstruction` (a content; a text becomes one), `contents`, `tools`."""
        if isinstance(system, str) and system:
            system = {"parts": [{"text": system}]}
        members = {"systemInstruction": system, "contents": list(messages), "tools": tools}
        return {name: value for name, value in members.items() if value}

    def outline(self, messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
        """What the validator sees of them."""
        names = _Names()
        found: list[Turn] = []
        for place, content in enumerate(messages):
            turn = _outline(content, place, names)
            if turn.calls and found and found[-1].side == "assistant":
                fault = ("call_after_model", "holds calls, and what is before it is the model's, too")
                turn = turn._replace(faults=[*turn.faults, fault])
            found.append(turn)
        return found


class _Names:
    """The ids of calls and of what answers them, made where they have none."""

    def __init__(self) -> None:
        self.made = 0
        self.open: dict[str, deque[str]] = {}
        """Tool -> the made ids of its calls in the last content of the model that no response was for."""

    def begin(self) -> None:
        """Another content of the model begins."""
        self.open = {}

    def of_call(self, call: Mapping[str, Any]) -> str:
        name = call.get("id")
        if isinstance(name, str) and name:
            return name
        self.made += 1
        made = f"made-{self.made}"
        self.open.setdefault(str(call.get("name")), deque()).append(made)
        return made

    def of_response(self, response: Mapping[str, Any]) -> str:
        name = response.get("id")
        if isinstance(name, str) and name:
            return name
        waiting = self.open.get(str(response.get("name")))
        if waiting:
            return waiting.popleft()
        self.made += 1
        return f"made-{self.made}"


def _inside(part: Mapping[str, Any], spellings: Sequence[str]) -> tuple[str | None, Mapping[str, Any]]:
    """The member of a part under either spelling: its name, None where there is none, and what is in it."""
    for spelling in spellings:
        inside = part.get(spelling)
        if inside is not None and isinstance(inside, (dict, Mapping)):
            return spelling, inside
    return None, {}


def _read(content: Mapping[str, Any], place: int, names: _Names) -> Message:
    role = content.get("role")
    if not isinstance(role, str | None) or role not in _SIDES:
        fail(place, f"has the role {shown(role)}")
    side = _SIDES[role]
    if side == "assistant":
        names.begin()
    found = [_read_part(part, names) for part in list_at(content.get("parts"), place, "`parts`")]
    members = others(content, frozenset({"role", "parts"}))
    wire: dict[str, Any] = {"members": members} if members else {}
    if side == "user" and role != "user":
        wire["role"] = role or "absent"
    return {"role": side, "content": found, **_kept(wire)}


def _kept(wire: Mapping[str, Any]) -> dict[str, Any]:
    return {"wire": {"format": NAME, **wire}} if wire else {}


def _read_part(part: Mapping[str, Any], names: _Names) -> Block:
    if isinstance(part.get("text"), str):
        if part.get("thought") is True:
            rest = others(part, frozenset({"text", "thought"}))
            return {"type": "thinking", "thinking": part["text"], "wire": {"format": NAME, "members": rest}}
        members = others(part, frozenset({"text"}))
        return {"type": "text", "text": part["text"], **_kept({"members": members} if members else {})}
    for spellings, read in ((_CALL, _read_call), (_RESPONSE, _read_response)):
        spelt, inside = _inside(part, spellings)
        if spelt is not None:
            block, wire = read(inside, names)
            members = others(part, frozenset({spelt}))
            wire |= {"members": members} if members else {}
            wire |= {} if spelt == spellings[0] else {"spelt": spelt}
            return {**block, **_kept(wire)}
    return _read_media(part)


def _read_call(call: Mapping[str, Any], names: _Names) -> tuple[dict[str, Any], dict[str, Any]]:
    wire: dict[str, Any] = {"inside": others(call, frozenset({"name", "args", "id"}))}
    if not call.get("id"):
        wire["id"] = call.get("id", "absent")
    args = call.get("args")
    if args is None:
        wire["args"] = None if "args" in call else "absent"
    given = {} if args is None else args
    block = {"type": "tool_use", "id": names.of_call(call), "name": call.get("name"), "input": given}
    return block, {name: value for name, value in wire.items() if value != {}}


def _read_response(response: Mapping[str, Any], names: _Names) -> tuple[dict[str, Any], dict[str, Any]]:
    known = frozenset({"name", "response", "id"})
    wire: dict[str, Any] = {"inside": others(response, known), "name": response.get("name", "")}
    if not response.get("id"):
        wire["id"] = response.get("id", "absent")
    said = response.get("response")
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": names.of_response(response)}
    form = next(iter(said)) if isinstance(said, Mapping) and len(said) == 1 else None
    if form in ("output", "result", "error") and isinstance(said, Mapping) and isinstance(said[form], str):
        wire["form"] = form
        block["content"] = said[form]
    else:
        block["content"] = dumped(said)
    if isinstance(said, Mapping) and "error" in said:
        block["is_error"] = True
    return block, {name: value for name, value in wire.items() if value != {}}


def _read_media(part: Mapping[str, Any]) -> Block:
    for spellings, kind, where in ((_DATA, "base64", ("data",)), (_FILE, "url", ("fileUri", "file_uri"))):
        spelt, inside = _inside(part, spellings)
        typed = "mimeType" if "mimeType" in inside else "mime_type"
        named = next((name for name in where if isinstance(inside.get(name), str)), None)
        if spelt is None or named is None or not isinstance(inside.get(typed), str):
            continue
        source = {"type": kind, "media_type": inside[typed], "data" if kind == "base64" else "url": inside[named]}
        wire = {
            "spelt": [spelt, typed, named],
            "inside": others(inside, frozenset({typed, named})),
            "members": others(part, frozenset({spelt})),
        }
        family = inside[typed].partition("/")[0]
        block = {"type": family if family in ("image", "audio") else "document", "source": source}
        return {**block, **_kept({name: value for name, value in wire.items() if value != {}})}
    first = next(iter(part), "part")
    return {"type": first, "part": dict(part), "wire": {"format": NAME, "whole": True}}


def _join_last(written: list[dict[str, Any]]) -> None:
    """Makes one content of those of the model that the list ends with."""
    first = len(written) - 1
    while first and written[first - 1].get("role") == "model":
        first -= 1
    for content in written[first + 1 :]:
        written[first]["parts"].extend(content["parts"])
    del written[first + 1 :]


def _content(message: Message, tools: dict[object, Block]) -> dict[str, Any] | None:
    """The content for a message, None where nothing of it can be shown."""
    role, wire = message.get("role"), own(message, NAME)
    parts = [part for block in blocks(message) if (part := _part(block, tools)) is not None]
    if not parts:
        return None
    role = "model" if role == "assistant" else wire.get("role", role)
    return {**({} if role == "absent" else {"role": role}), "parts": parts, **wire.get("members", {})}


def _part(block: Block, tools: dict[object, Block]) -> dict[str, Any] | None:
    kind, wire = block.get("type"), own(block, NAME)
    members = wire.get("members", {})
    if kind == "text":
        return {"text": block.get("text", ""), **members}
    if kind in THOUGHT_TYPES:
        return {"text": block.get("thinking", ""), "thought": True, **members} if wire else None
    if kind == "tool_use":
        tools[block.get("id")] = block
        return {wire.get("spelt", _CALL[0]): _call(block, wire), **members}
    if kind == "tool_result":
        return {wire.get("spelt", _RESPONSE[0]): _response(block, wire, tools), **members}
    if wire.get("whole"):
        return dict(block["part"])
    source = block.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("media_type"), str):
        is_data = source.get("type") == "base64"
        usual = (_DATA[0], "mimeType", "data") if is_data else (_FILE[0], "mimeType", "fileUri")
        spelt, typed, named = wire.get("spelt", usual)
        said = source.get("data" if is_data else "url")
        return {spelt: {typed: source["media_type"], named: said, **wire.get("inside", {})}, **members}
    return {"text": placeholder(block)}


def _identity(name: object, wire: Mapping[str, Any]) -> dict[str, Any]:
    """The id as it was given; the block's own where it comes from elsewhere."""
    given = wire.get("id", name)
    return {} if given == "absent" else {"id": given}


def _call(block: Block, wire: Mapping[str, Any]) -> dict[str, Any]:
    given = block.get("input")
    is_none = given is None or given == {}
    args = {} if is_none and wire.get("args") == "absent" else {"args": wire.get("args", {}) if is_none else given}
    return {**_identity(block.get("id"), wire), "name": block.get("name"), **args, **wire.get("inside", {})}


def _response(block: Block, wire: Mapping[str, Any], tools: Mapping[object, Block]) -> dict[str, Any]:
    content, name = block.get("content"), block.get("tool_use_id")
    said: Any = None
    if isinstance(content, str) and wire and "form" not in wire:
        try:
            said = json.loads(content)
        except (ValueError, RecursionError):
            said = None  # we have put something else in its place
    if not isinstance(said, Mapping) and not (said is None and wire and content == "null"):
        said = {wire.get("form", "error" if block.get("is_error") else "output"): text(content)}
    call = tools.get(name, NONE)
    named = wire.get("name", call.get("name", "unknown"))
    known = wire if wire else own(call, NAME)  # what we answer a call with has the id that the call has, or none, too
    return {**_identity(name, known), "name": named, "response": said, **wire.get("inside", {})}


def _outline(content: object, place: int, names: _Names) -> Turn:
    parts = content.get("parts") if isinstance(content, (dict, Mapping)) else None
    role = content.get("role") if isinstance(content, (dict, Mapping)) else None
    if (
        not isinstance(parts, (list, Sequence))
        or isinstance(parts, str)
        or not isinstance(role, str | None)
        or role not in _SIDES
    ):
        return Turn(place, "system", faults=(("no_message", "is no content: it lacks `parts` or has another role"),))
    side = _SIDES[role]
    if side == "assistant":
        names.begin()
    calls: list[str] = []
    results: list[str] = []
    thoughts: list[object] = []
    words: list[str] = []
    tied: dict[str, object] = {}
    known_by: list[object] = []
    faults: list[tuple[str, str]] = []
    for part in parts:
        if not isinstance(part, (dict, Mapping)):
            return Turn(place, side, faults=(("no_message", "holds what is no part"),))
        called, call = _inside(part, _CALL)
        answered, response = _inside(part, _RESPONSE)
        if called is not None:
            calls.append(name := names.of_call(call))
            known_by.append(call.get("id") or repr([call.get("name"), call.get("args")]))
            if call.get("args") is not None and not isinstance(call["args"], (dict, Mapping)):
                faults.append(NO_INPUT)
            signature = next((part[each] for each in _SIGNATURES if each in part), None)
            if call.get("id"):
                tied[name] = signature
        elif answered is not None:
            results.append(names.of_response(response))
        elif part.get("thought") is True:
            thoughts.append(part)
        else:
            words.append(str(part.get("text")))
    if not parts:
        faults.append(("empty_message", "has no parts"))
    key = tuple(known_by) or "\n".join(words)
    return Turn(place, side, calls, results, bool(words), thoughts, key, faults, tied)
