"""OpenAI's Responses API: a list of items.

What the model gave between two words of others is one neutral answer, each item a block of it (a message: a block for
each part).  An item whose id was given together with reasoning is refused without that reasoning, so the id goes where
the reasoning has gone; reasoning that nothing follows any more goes, too.  Items of a kind that is not known here are
blocks of the answer as they stand.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..messages import Block, Message, blocks, text
from .parts import (
    THOUGHT_TYPES,
    Turn,
    calls_key,
    dumped,
    fail,
    list_at,
    mapping_at,
    others,
    own,
    parsed,
    shown,
    source_of,
    text_at,
    url_of,
)
from .response_parts import NAME, read_content, whole, write_part

_CALLS = {
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
    "shell_call": "call_id",
    "local_shell_call": "call_id",
    "apply_patch_call": "call_id",
    "mcp_approval_request": "id",
}
"""Kinds of items that wait for one of the user's -> the member that this one names them by."""
_RESULTS = {kind.replace("_request", "_response") if kind.startswith("mcp") else f"{kind}_output" for kind in _CALLS}
_NO_PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
"""An image that shows nothing: a call of the computer takes no other result than an image."""


class OpenAIResponses:
    """Reads and writes items; see `rehydrate.context.wire.Format`."""

    name = NAME
    has_system = True
    has_batches = False
    has_unique_ids = False
    joins_answers = True
    reads_each = False

    def read(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Items of the user and of the system are a message each, those of the model in a row one answer."""
        found: list[Message] = []
        answer: list[Block] | None = None
        reasoning: object = None
        for place, item in enumerate(messages):
            item = mapping_at(item, place)
            if _side(item) != "assistant":
                found.append(_read_item(item, place))
                answer = reasoning = None
                continue
            if answer is None:
                answer = []
                found.append({"role": "assistant", "content": answer})
            given = _read_given(item, place)
            if item.get("type") == "reasoning":
                reasoning = item.get("id") if isinstance(item.get("id"), str) else None
            elif reasoning is not None and "id" in item:
                given[0] = {**given[0], "wire": {**given[0]["wire"], "after": reasoning}}
            answer += given
        return found

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Results go before what else a message of the user holds, each as an item of its own."""
        written: list[dict[str, Any]] = []
        kinds: dict[object, str] = {}  # id of a call -> kind of its item
        there: set[object] = set()  # the ids of the reasoning in this answer, which may be several messages
        for message in messages:
            if message.get("role") == "assistant":
                written += _answer(message, kinds, there)
                continue
            _end_answer(written)
            there.clear()
            written += _items(message, kinds)
        _end_answer(written)
        return written

    def body(
        self, messages: Sequence[Mapping[str, Any]], *, system: Any = None, tools: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """`instructions` (a text), `input`, `tools`."""
        members = {"instructions": text(system), "input": list(messages), "tools": tools}
        return {name: value for name, value in members.items() if value}

    def outline(self, messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
        """What the validator sees of them: all items of an answer as one."""
        found: list[Turn] = []
        answer: list[Mapping[str, Any]] = []
        for place, item in enumerate(messages):
            side = _side(item) if isinstance(item, (dict, Mapping)) else None
            if side == "assistant":
                answer.append(item)
                continue
            if answer:
                found.append(_outline_answer(answer, place - len(answer)))
                answer = []
            found.append(_outline(item, place, side))
        return [*found, _outline_answer(answer, len(messages) - len(answer))] if answer else found


def _side(item: Mapping[str, Any]) -> str | None:
    """Who an item is of; None for what is no item."""
    kind, role = item.get("type"), item.get("role")
    if not isinstance(kind, str | None):
        return None
    if role is not None:
        sides = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
        return sides.get(role) if isinstance(role, str) else None
    if kind is None:
        return "assistant" if "id" in item else None  # a reference to an item may leave out its type
    return "user" if kind in _RESULTS or kind.startswith("compaction") else "assistant"


def _read_item(item: Mapping[str, Any], place: int) -> Message:
    kind, side = item.get("type"), _side(item)
    if side is None:
        fail(place, f"has the type {shown(kind)} and the role {shown(item.get('role'))}")
    if kind in _RESULTS:
        return {"role": "user", "content": [_read_result(item, place)]}
    if kind not in (None, "message") or "content" not in item:
        return {"role": side, "content": [_as_it_is(item)]}
    members = others(item, frozenset({"role", "content"}))
    wire = {"role": item["role"]} if item["role"] == "developer" else {}
    if members:
        wire["members"] = members
    kept = {"wire": {"format": NAME, **wire}} if wire else {}
    return {"role": side, "content": read_content(item["content"], place, "input_text"), **kept}


def _as_it_is(item: Mapping[str, Any]) -> Block:
    if "type" in item:
        return {**item, "wire": {"format": NAME, "whole": "item"}}
    return {"type": "item_reference", **item, "wire": {"format": NAME, "whole": "untyped item"}}


def _read_result(item: Mapping[str, Any], place: int) -> Block:
    kind = item["type"]
    wire: dict[str, Any] = {} if kind == "function_call_output" else {"kind": kind}
    named = "approval_request_id" if kind == "mcp_approval_response" else "call_id"
    if named not in item and kind == "local_shell_call_output":
        wire["named"] = named = "id"
    output = item.get("output")
    content: Any = None
    if kind == "mcp_approval_response":
        content = dumped(item.get("approve"))
    elif isinstance(output, Mapping) and isinstance(output.get("image_url"), str):
        content = [{"type": "image", "source": source_of(output["image_url"])}]
        wire["inside"] = others(output, frozenset({"image_url"}))
    elif isinstance(output, str) or kind in ("function_call_output", "custom_tool_call_output"):
        content = read_content(output, place, "input_text")
    elif "output" in item:
        content = dumped(output)
    members = others(item, frozenset({"type", named, "approve" if kind == "mcp_approval_response" else "output"}))
    if members:
        wire["members"] = members
    block = {"type": "tool_result", "tool_use_id": text_at(item, named, place)}
    said = {} if content is None else {"content": content}
    return {**block, **said, "wire": {"format": NAME, **wire}} if wire else {**block, **said}


def _read_given(item: Mapping[str, Any], place: int) -> list[Block]:
    """The blocks for an item of the model; the first one has a `wire`, which tells where an item begins."""
    kind = item.get("type")
    if kind == "reasoning":
        parts = [*list_at(item.get("summary") or (), place, "`summary`")]
        parts += list_at(item.get("content") or (), place, "`content`")
        said = [each for each in parts if "text" in each]
        words = "\n".join(str(each["text"]) for each in said)
        return [{"type": "thinking", "thinking": words, "wire": {"format": NAME, "item": dict(item)}}]
    if kind in _CALLS and isinstance(item.get(_CALLS[kind]), str):
        return [_read_call(item, place)]
    if kind not in (None, "message") or "content" not in item:
        return [_as_it_is(item)]
    content = item["content"]
    wire = {"format": NAME, "item": others(item, frozenset({"role", "content"}))}
    if isinstance(content, str):
        return [{"type": "text", "text": content, "wire": {**wire, "shape": "text"}}]
    said = read_content(content, place, "output_text") or [{"type": "text", "text": ""}]
    shape = {} if content else {"shape": "empty"}
    return [{**said[0], "wire": {**own(said[0], NAME), **wire, **shape}}, *said[1:]]


def _read_call(item: Mapping[str, Any], place: int) -> Block:
    kind, named = item["type"], _CALLS[item["type"]]
    known = {"type", named}
    wire: dict[str, Any] = {"format": NAME}
    if kind != "function_call":
        wire["kind"] = kind
    if kind in ("function_call", "custom_tool_call"):
        said = text_at(item, "arguments" if kind == "function_call" else "input", place)
        tool = text_at(item, "name", place)
        known |= {"name", "arguments" if kind == "function_call" else "input"}
        given = parsed(said) if kind == "function_call" else {"input": said}
        if kind == "function_call":
            wire["arguments"] = said
        wire["item"] = others(item, frozenset(known))
    else:
        tool = str(item.get("name", kind.removesuffix("_call")))
        given = others(item, frozenset({*known, "id", "status"}))
        wire["item"] = {name: item[name] for name in ("id", "status") if name in item and name != named}
    return {"type": "tool_use", "id": item[named], "name": tool, "input": given, "wire": wire}


def _items(message: Message, kinds: Mapping[object, str]) -> list[dict[str, Any]]:
    """The items for a message of the user or of the system."""
    content, members = message.get("content"), own(message, NAME)
    written: list[dict[str, Any]] = []
    if not isinstance(content, str):
        rest = []
        for block in blocks(message):
            if block.get("type") == "tool_result":
                written.append(_result(block, kinds))
            elif _is_item(block):
                written.append(whole(block))
            else:
                rest.append(write_part(block, "input_text"))
        if written and not rest:
            return written
        content = rest
    role = members.get("role", message.get("role"))
    return [*written, {"role": role, "content": content, **members.get("members", {})}]


def _is_item(block: Block) -> bool:
    return own(block, NAME).get("whole") in ("item", "untyped item")


def _result(block: Block, kinds: Mapping[object, str]) -> dict[str, Any]:
    wire, name = own(block, NAME), block.get("tool_use_id")
    kind, members = wire.get("kind") or kinds.get(name, "function_call_output"), wire.get("members", {})
    if kind == "mcp_approval_response":
        return {"type": kind, "approval_request_id": name, "approve": block.get("content") == "true", **members}
    output = {} if "content" not in block and kind == "apply_patch_call_output" else {"output": _output(block, kind)}
    return {"type": kind, wire.get("named", "call_id"): name, **output, **members}


def _output(block: Block, kind: str) -> Any:
    """What a result has in it; where something else stands for it, in the form that the kind asks for."""
    content = block.get("content") or ""
    if kind == "computer_call_output":
        shown = next((each for each in blocks(block) if each.get("type") == "image"), {})
        inside = own(block, NAME).get("inside", {"type": "computer_screenshot"})
        return {**inside, "image_url": url_of(shown.get("source")) or _NO_PIXEL}
    if kind == "shell_call_output":
        try:
            found = json.loads(content)
        except (TypeError, ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            return found
        return [{"stdout": text(content), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    if kind not in ("function_call_output", "custom_tool_call_output"):
        return text(content)
    return content if isinstance(content, str) else [write_part(each, "input_text") for each in blocks(block)]


def _end_answer(written: list[dict[str, Any]]) -> None:
    """Takes the reasoning away that nothing of its answer follows: the API refuses it."""
    while written and written[-1].get("type") == "reasoning":
        written.pop()


def _answer(message: Message, kinds: dict[object, str], there: set[object]) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    if isinstance(message.get("content"), str):
        return [{"role": "assistant", "content": message["content"]}]
    open_item = False  # whether the next text belongs to the item before it
    for block in blocks(message):
        kind, wire = block.get("type"), own(block, NAME)
        item = wire.get("item", {})
        if "after" in wire and wire["after"] not in there:
            item, block = _without_id(item), _without_id(block) if _is_item(block) else block
        begins_message = False
        if kind in THOUGHT_TYPES:
            if item:
                if isinstance(item.get("id"), str):
                    there.add(item["id"])
                written.append(dict(item))
        elif kind == "tool_use":
            written.append(_call(block, item, kinds))
        elif _is_item(block):
            if wire["whole"] == "item" or "id" in block:
                written.append(whole(block))
        elif open_item and "item" not in wire:
            written[-1]["content"].append(write_part(block, "output_text"))
            begins_message = True
        elif kind == "text" and ("item" not in wire or wire.get("shape") == "text"):
            written.append({"role": "assistant", "content": block.get("text", ""), **item})
        else:
            content = [] if wire.get("shape") == "empty" else [write_part(block, "output_text")]
            written.append({"role": "assistant", "content": content, **item})
            begins_message = True
        open_item = begins_message
    return written


def _without_id(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name != "id"}


def _call(block: Block, item: Mapping[str, Any], kinds: dict[object, str]) -> dict[str, Any]:
    wire, name, given = own(block, NAME), block.get("id"), block.get("input")
    kind = wire.get("kind", "function_call")
    kinds[name] = "mcp_approval_response" if kind == "mcp_approval_request" else f"{kind}_output"
    if kind == "function_call":
        said = wire.get("arguments")
        if said is None or parsed(said) != given:  # it is of another format, or we have put something else in
            said = dumped(given)
        return {"type": kind, "call_id": name, "name": block.get("name"), "arguments": said, **item}
    if kind == "custom_tool_call":
        said = given.get("input", "") if isinstance(given, Mapping) else ""
        return {"type": kind, "call_id": name, "name": block.get("name"), "input": said, **item}
    return {"type": kind, _CALLS[kind]: name, **(given or {}), **item}


def _outline(item: Mapping[str, Any], place: int, side: str | None) -> Turn:
    if side is None:
        return Turn(place, "system", faults=(("no_message", "is no item: it has neither a type nor a role"),))
    if item.get("type") not in _RESULTS:
        return Turn(place, side, said=True)
    named = (item.get(member) for member in ("call_id", "approval_request_id", "id"))
    name = next((name for name in named if isinstance(name, str)), None)
    if name is None:
        return Turn(place, side, faults=(("no_message", "is a result that does not say of which call"),))
    return Turn(place, side, results=(name,))


def _outline_answer(items: Sequence[Mapping[str, Any]], place: int) -> Turn:
    calls: list[str] = []
    thoughts: list[object] = []
    words: list[str] = []
    tied: dict[str, object] = {}
    reasoning: object = None
    for item in items:
        kind, name = item.get("type"), item.get("id")
        if kind == "reasoning":
            thoughts.append(item)
            reasoning = name
            continue
        if isinstance(name, str):
            tied[name] = reasoning
        if kind in _CALLS:
            called = item.get(_CALLS[kind])
            if isinstance(called, str):
                calls.append(called)
        elif kind in (None, "message"):
            content = item.get("content")
            words.append(content if isinstance(content, str) else repr(content))
    faults: Sequence[tuple[str, str]] = ()
    if items[-1].get("type") == "reasoning":
        faults = (("reasoning_alone", "begins an answer whose reasoning nothing follows"),)
    return Turn(place, "assistant", calls, (), True, thoughts, calls_key(calls, words), faults, tied)
