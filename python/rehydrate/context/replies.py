"""What providers give and take, as entries of a log."""

from collections.abc import Mapping, Sequence
from typing import Any

from .messages import Block, Message, calls, is_request, results
from .wire import FORMATS

_ANTHROPIC_SAYS = frozenset({"role", "content"})


def entries_of(messages: Sequence[Message], *, about: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Entries for messages in the neutral form.  `about`: what else the provider said of an answer: its id, model,
    usage.
    """
    return [_entry(message, about or {}) for message in messages]


def _entry(message: Message, about: Mapping[str, Any]) -> dict[str, Any]:
    role = message["role"]
    if role == "system":  # beside the host's own rows of that type, which have no message
        return {"type": "system", "subtype": "message", "message": dict(message)}
    return {"type": role, "message": {**about, **message} if role == "assistant" else dict(message)}


def is_pressing(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has to be on disk before anything else happens: a request, or an answer that calls."""
    message = entry["message"]
    return entry["type"] == "system" or is_request(message) or any(True for _ in calls(message))


def reply_messages(
    reply: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, format: str
) -> tuple[list[Message], dict[str, Any]]:
    """The messages of an answer, in the neutral form, and what else its provider said of it.

    `reply`: a whole response, or the messages of it.  Raises ValueError for what is no answer.
    """
    about: dict[str, Any] = {}
    listed: Sequence[Mapping[str, Any]]
    if not isinstance(reply, Mapping):
        listed = reply if isinstance(reply, Sequence) and not isinstance(reply, (str, bytes)) else ()
    elif isinstance(choices := reply.get("choices"), Sequence) and choices:
        listed = _inside(choices[0], "message")
    elif isinstance(output := reply.get("output"), Sequence) and not isinstance(output, str) and "role" not in reply:
        listed = output
    elif isinstance(candidates := reply.get("candidates"), Sequence) and candidates:
        listed = _inside(candidates[0], "content")
    elif format == "anthropic":
        about = {name: value for name, value in reply.items() if name not in _ANTHROPIC_SAYS}
        listed = [{name: value for name, value in reply.items() if name in _ANTHROPIC_SAYS}]
    else:
        listed = [reply]
    messages = FORMATS[format].read(listed)
    if not messages or any(message["role"] != "assistant" for message in messages):
        raise ValueError(
            f"the reply holds no answer in the format {format}: give the response, or its messages; where the model "
            "has said nothing, give the usage alone"
        )
    return messages, about


def _inside(choice: object, member: str) -> list[Mapping[str, Any]]:
    """The message of an answer; none where it was refused and has none."""
    found = choice.get(member) if isinstance(choice, Mapping) else None
    return [found] if isinstance(found, Mapping) else []


def named(messages: Sequence[Message], before: Sequence[Message], *, tip: str | None) -> list[Message]:
    """The messages with ids of their own for calls that their provider has given none, and the same for the results.

    A format that has no ids makes them of places in a list, and a log is written message by message.  `before`: what
    was said before; a result is for the first call of its tool in the last answer that has none yet.  `tip`: the entry
    that the messages follow, which makes the ids unique.
    """
    waiting = _waiting(before)
    made: list[Message] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list) and any(map(_is_unnamed, content)):
            said: list[Block] = []
            for block in content:
                if block.get("type") == "tool_use":
                    number = sum(len(list(calls(each))) for each in made) + len(said)
                    block = {**block, "id": f"call_{tip or 'first'}_{number}"} if _is_unnamed(block) else block
                elif block.get("type") == "tool_result" and _is_unnamed(block):
                    name = block["wire"].get("name")
                    call = next((each for each in waiting if each.get("name") == name), None)
                    if call is not None:
                        waiting.remove(call)
                        block = {**block, "tool_use_id": call["id"]}
                said.append(block)
            message = {**message, "content": said}
        if message.get("role") == "assistant":
            waiting = list(calls(message))
        made.append(message)
    return made


def _waiting(before: Sequence[Message]) -> list[Block]:
    """The calls of the last answer that no result has come for."""
    answered: set[object] = set()
    for message in reversed(before):
        if message.get("role") == "assistant":
            return [call for call in calls(message) if call.get("id") not in answered]
        answered.update(result.get("tool_use_id") for result in results(message))
    return []


def _is_unnamed(block: Block) -> bool:
    """Whether the id of a call or a result is one that was made when it was read."""
    wire = block.get("wire")
    if not isinstance(wire, Mapping) or block.get("type") not in ("tool_use", "tool_result"):
        return False
    return wire.get("format") == "gemini" and "id" in wire
