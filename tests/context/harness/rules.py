"""What each provider refuses, from its documentation and its errors; and what a list must not have lost of its source.

`faults(messages, form)` gives a sentence for each breach of the format's own rules.  With `source`, the list that the
messages were made of, thinking is held against it as well: as it was, or absent from a whole tool loop.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Wire = Sequence[Mapping[str, Any]]

TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def faults(messages: Wire, form: str, source: Wire | None = None) -> list[str]:
    checks = {"openai-chat": chat, "anthropic": anthropic, "openai-responses": responses, "gemini": gemini}
    if not messages:
        return ["there is no message"]
    return list(checks[form](messages, source))


def opens_with_user(messages: Wire, form: str) -> bool:
    """Whether the user says the first thing.  Anthropic and Gemini refuse anything else; so do many servers that speak
    OpenAI's formats, though it is no rule of theirs.
    """
    for message in messages:
        if message.get("role") not in ("system", "developer"):
            return message.get("role") == "user"
    return False


def chat(messages: Wire, source: Wire | None) -> Iterator[str]:
    awaited: list[str] = []  # ids of the last answer's calls that have no result yet
    called = False
    thoughts = {message.get("reasoning_content") for message in source or ()}
    for place, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            if message.get("tool_call_id") in awaited:
                awaited.remove(message["tool_call_id"])
            else:
                yield f"{place}: a result of no call right before it: {message.get('tool_call_id')}"
            if not isinstance(content, (str, list)):
                yield f"{place}: a result without content"
            if not called:
                yield f"{place}: a result without calls before it"
            continue
        if awaited:
            yield f"{place}: calls without results before it: {awaited}"
            awaited = []
        called = False
        if role == "assistant":
            if "tool_calls" in message:
                awaited = yield from _chat_calls(place, message["tool_calls"])
                called = True
            elif not isinstance(content, (str, list)) and not message.get("refusal") and not message.get("audio"):
                yield f"{place}: an answer without content"
            if source is not None and message.get("reasoning_content", None) not in {None, *thoughts}:
                yield f"{place}: reasoning that nobody thought"
        elif role not in ("system", "developer", "user"):
            yield f"{place}: no such role: {role}"
        elif not isinstance(content, (str, list)) or content == []:
            yield f"{place}: a message without content"
        if isinstance(content, list):
            yield from _chat_parts(place, content)
    if awaited:
        yield f"end: calls without results: {awaited}"


def _chat_calls(place: int, calls: Any) -> Iterator[str]:
    ids: list[str] = []
    if not isinstance(calls, list) or not calls:
        yield f"{place}: tool_calls is no list, or an empty one"
        return ids
    for call in calls:
        function = call.get("function") or {}
        if not isinstance(call.get("id"), str) or call.get("type") != "function" or call["id"] in ids:
            yield f"{place}: a call without an id of its own, or without a type"
        if not isinstance(function.get("arguments"), str) or not TOOL_NAME.fullmatch(function.get("name", "")):
            yield f"{place}: a call without name or arguments"
        ids.append(call.get("id"))
    return ids


def _chat_parts(place: int, parts: list[Any]) -> Iterator[str]:
    for part in parts:
        kind = part.get("type")
        if kind not in ("text", "image_url", "input_audio", "file", "refusal") or kind not in part:
            yield f"{place}: no such part: {kind}"


def anthropic(messages: Wire, source: Wire | None) -> Iterator[str]:
    if messages[0].get("role") != "user":
        yield "0: the first message is not the user's"
    seen: set[str] = set()
    awaited: list[str] = []
    for place, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            yield f"{place}: no such role: {role}"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list) or not blocks:
            yield f"{place}: a message without content"
            blocks = []
        answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        for each in answered:
            if each not in awaited:
                yield f"{place}: a result of no call in the message before: {each}"
        if len(set(answered)) < len(answered):
            yield f"{place}: two results of one call"
        if missing := [each for each in awaited if each not in answered]:
            yield f"{place}: calls without results right after: {missing}"
        awaited = [block.get("id", "") for block in blocks if block.get("type") == "tool_use"]
        if len(set(awaited)) < len(awaited) or seen & set(awaited):
            yield f"{place}: an id of a call twice"
        seen.update(awaited)
        yield from _anthropic_blocks(place, str(role), blocks)
    if awaited:
        yield f"end: calls without results: {awaited}"
    if source is not None:
        yield from _anthropic_thoughts(messages, source)


def _anthropic_blocks(place: int, role: str, blocks: list[Any]) -> Iterator[str]:
    kinds = [block.get("type") for block in blocks]
    allowed = {
        "user": {"text", "image", "document", "tool_result"},
        "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    }.get(role, set())
    for kind in kinds:
        if kind not in allowed:
            yield f"{place}: no block of {role}: {kind}"
    if "tool_result" in kinds[1:] and any(
        kind != "tool_result" for kind in kinds[: len(kinds) - kinds[::-1].index("tool_result")]
    ):
        yield f"{place}: something stands before a result"
    for block in blocks:
        kind = block.get("type")
        if kind == "text" and not str(block.get("text", "")).strip():
            yield f"{place}: an empty text"
        if kind == "thinking" and not (block.get("signature") and isinstance(block.get("thinking"), str)):
            yield f"{place}: thinking without a signature"
        if kind == "tool_use" and not (
            isinstance(block.get("input"), dict)
            and TOOL_ID.fullmatch(block.get("id", ""))
            and TOOL_NAME.fullmatch(block.get("name", ""))
        ):
            yield f"{place}: a call without id, name or input"
    if "tool_use" in kinds and "thinking" in kinds[kinds.index("tool_use") :]:
        yield f"{place}: thinking after a call"


def _thoughts(message: Mapping[str, Any]) -> str:
    """The thinking of an answer, byte for byte."""
    content = message["content"]
    kept = [block for block in content if block.get("type") in ("thinking", "redacted_thinking")]
    return json.dumps(kept, sort_keys=True) if kept and not isinstance(content, str) else ""


def _answer_key(message: Mapping[str, Any]) -> str | None:
    """What an answer is known by: its calls, else its text."""
    content = message["content"]
    if isinstance(content, str):
        return content
    ids = [block["id"] for block in content if block.get("type") == "tool_use"]
    return " ".join(ids) if ids else "".join(block["text"] for block in content if block.get("type") == "text")


def _anthropic_thoughts(messages: Wire, source: Wire) -> Iterator[str]:
    was = {
        _answer_key(each): _thoughts(each)
        for each in source
        if each["role"] == "assistant" and not isinstance(each["content"], str)
    }
    loop: list[bool] = []  # of the answers that had thinking: whether they have it still
    for place, message in enumerate(messages):
        content = message.get("content")
        if message.get("role") == "user":
            if isinstance(content, str) or any(block.get("type") != "tool_result" for block in content or ()):
                loop = []
            continue
        if isinstance(content, str) or not content:
            continue
        before, now = was.get(_answer_key(message), ""), _thoughts(message)
        if now and now != before:
            yield f"{place}: thinking that was changed"
        if before:
            loop.append(bool(now))
            if len(set(loop)) > 1:
                yield f"{place}: thinking kept in one answer of a loop and left out of another"


def responses(items: Wire, source: Wire | None) -> Iterator[str]:
    seen: set[str] = set()
    open_calls: set[str] = set()
    calls: set[str] = set()
    needs = dict(_reasoned(source or ()))
    was = {item["id"]: json.dumps(item, sort_keys=True) for item in source or () if item.get("type") == "reasoning"}
    reasoning: str | None = None  # of the response that the item belongs to
    for place, item in enumerate(items):
        kind = item.get("type", "message")
        if "id" in item:
            if item["id"] in seen:
                yield f"{place}: an id twice: {item['id']}"
            seen.add(item["id"])
        if kind == "reasoning":
            reasoning = item.get("id")
            following = items[place + 1] if place + 1 < len(items) else {}
            if following.get("type") != "function_call" and following.get("role") != "assistant":
                yield f"{place}: reasoning without the item that followed it"
            if source is not None and was.get(str(reasoning)) != json.dumps(item, sort_keys=True):
                yield f"{place}: reasoning that was changed"
            continue
        if kind == "message":
            yield from _responses_message(place, item)
        if kind == "function_call":
            if not isinstance(item.get("arguments"), str) or not TOOL_NAME.fullmatch(item.get("name", "")):
                yield f"{place}: a call without name or arguments"
            if item.get("call_id") in calls or not isinstance(item.get("call_id"), str):
                yield f"{place}: a call without an id of its own"
            calls.add(item.get("call_id", ""))
            open_calls.add(item.get("call_id", ""))
        elif kind == "function_call_output":
            reasoning = None
            if item.get("call_id") not in open_calls:
                yield f"{place}: a result of no call before it: {item.get('call_id')}"
            open_calls.discard(item.get("call_id", ""))
            if not isinstance(item.get("output"), (str, list)):
                yield f"{place}: a result without output"
        elif item.get("role") in ("user", "system", "developer"):
            reasoning = None
        if needs.get(item.get("id", "")) not in (None, reasoning):
            yield f"{place}: {item['id']} without its reasoning"
    if open_calls:
        yield f"end: calls without results: {sorted(open_calls)}"


def _responses_message(place: int, item: Mapping[str, Any]) -> Iterator[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        yield f"{place}: no such role: {role}"
    if not isinstance(content, (str, list)) or not content:
        yield f"{place}: a message without content"
    spoken = "output_text" if role == "assistant" else "input_text"
    for part in content if isinstance(content, list) else ():
        if part.get("type") not in (spoken, "input_image", "input_file", "refusal"):
            yield f"{place}: no such part of {role}: {part.get('type')}"


def _reasoned(items: Wire) -> Iterator[tuple[str, str]]:
    """Ids of items, and of the reasoning that they came with."""
    reasoning = None
    for item in items:
        if item.get("type") == "reasoning":
            reasoning = item["id"]
        elif item.get("type") == "function_call_output" or item.get("role") in ("user", "system", "developer"):
            reasoning = None
        elif reasoning and "id" in item:
            yield item["id"], reasoning


def gemini(contents: Wire, source: Wire | None) -> Iterator[str]:
    if contents[0].get("role", "user") != "user":
        yield "0: the first message is not the user's"
    if contents[-1].get("role") == "model":
        yield "end: the last message is the model's"
    awaited: list[str] = []
    before = "user"
    for place, content in enumerate(contents):
        role, parts = content.get("role", "user"), content.get("parts")
        if role not in ("user", "model", "function"):
            yield f"{place}: no such role: {role}"
        if not isinstance(parts, list) or not parts:
            yield f"{place}: a message without parts"
            parts = []
        yield from _gemini_parts(place, parts)
        names = [part["functionResponse"].get("name") for part in parts if "functionResponse" in part]
        if names and names != awaited:
            yield f"{place}: results that are not those of the calls right before: {names}, {awaited}"
        if awaited and not names:
            yield f"{place}: calls without results right after: {awaited}"
        if names and (role == "model" or len(names) < len(parts)):
            yield f"{place}: results beside something else"
        awaited = [part["functionCall"].get("name") for part in parts if "functionCall" in part]
        if awaited and (role != "model" or before == "model"):
            yield f"{place}: calls that follow neither a request nor results"
        before = role
    if awaited:
        yield f"end: calls without results: {awaited}"
    if source is not None:
        yield from _gemini_signatures(contents, source)


def _gemini_parts(place: int, parts: list[Any]) -> Iterator[str]:
    for part in parts:
        data = [name for name in ("text", "inlineData", "fileData", "functionCall", "functionResponse") if name in part]
        if len(data) != 1:
            yield f"{place}: a part of no data, or of two"
        elif data == ["text"] and not part["text"]:
            yield f"{place}: an empty text"
        elif data == ["functionCall"] and not isinstance(part["functionCall"].get("args", {}), dict):
            yield f"{place}: a call whose arguments are no object"
        elif data == ["functionResponse"] and not isinstance(part["functionResponse"].get("response"), dict):
            yield f"{place}: a result that is no object"


def _gemini_signatures(contents: Wire, source: Wire) -> Iterator[str]:
    was: dict[str, list[list[str]]] = {}  # there are no ids: the same calls can have been made twice
    for each in source:
        was.setdefault(_gemini_calls(each), []).append(_signatures(each))
    newest = max(
        (place for place, each in enumerate(contents) if each.get("role", "user") == "user" and _says(each)), default=0
    )
    for place, content in enumerate(contents):
        calls, now = _gemini_calls(content), _signatures(content)
        before = was.get(calls, [[]]) if calls else [[]]
        if now and now not in before:
            yield f"{place}: a signature that was changed"
        if [] not in before and not now and place > newest:
            yield f"{place}: a signature left out of the current turn"


def _says(content: Mapping[str, Any]) -> bool:
    return any("text" in part for part in content.get("parts") or ())


def _gemini_calls(content: Mapping[str, Any]) -> str:
    calls = [part["functionCall"] for part in content.get("parts") or () if "functionCall" in part]
    return json.dumps([[call.get("name"), call.get("args")] for call in calls], sort_keys=True) if calls else ""


def _signatures(content: Mapping[str, Any]) -> list[str]:
    return [part["thoughtSignature"] for part in content.get("parts") or () if "thoughtSignature" in part]
