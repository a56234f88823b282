"""What a provider is sent of a view: messages `{"role", "content"}` in the form of Anthropic's Messages API.

The records of one answer are one message, and so is what the user and the tools say in a row.  Promises, whatever the
records hold: the first message is the user's, users and assistants take turns, every call of a tool has its result in
the message right behind it, before anything else there, and there is no other result.  What had to go for that is
told.  A message that is one record's keeps the content as it was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehydrate.entries import messages
from rehydrate.entries.log import Record, member, text_member
from rehydrate.entries.view import THOUGHTS

OPENING = "[The conversation begins with the assistant.]"
"""What the user says where nobody else has spoken before the assistant."""
CLOSING = "No response requested."
"""What the assistant says to a user message that is not to be answered any more."""
_NOT_THE_USERS = ("tool_use", *THOUGHTS)


@dataclass(slots=True)
class _Turn:
    """What one side says before the other one speaks."""

    role: str
    blocks: list[tuple[str, Record]] = field(default_factory=list)
    """Each with the uuid of its record."""
    answer: str | None = None
    """The id of the provider's answer that it ends with."""
    given: list[object] = field(default_factory=list)
    """The content of its records, as it was given."""


def wire(records: Iterable[Record]) -> tuple[list[Record], list[tuple[str, str]]]:
    """The messages for records of users and assistants, in order; and what was left out: uuid and why."""
    left_out: list[tuple[str, str]] = []
    turns = _paired(_turns(records, left_out), left_out)
    if turns and turns[0].role == "assistant":
        turns.insert(0, _Turn("user", [("", {"type": "text", "text": OPENING})], given=[OPENING]))
    return [{"role": turn.role, "content": _content(turn)} for turn in turns], left_out


def closed(sent: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages, with an answer to the last one where that is the user's: so that another can follow it."""
    if sent and sent[-1]["role"] == "user":
        return [*sent, {"role": "assistant", "content": [{"type": "text", "text": CLOSING}]}]
    return list(sent)


def _turns(records: Iterable[Record], left_out: list[tuple[str, str]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for record in records:
        role = "assistant" if record.get("type") == "assistant" else "user"
        uuid = text_member(record, "uuid")
        blocks = [(uuid, block) for block in messages.blocks(record) if _can_be_said(block, role)]
        if not blocks:
            left_out.append((uuid, "empty"))
            continue
        answer = messages.message_id(record) if role == "assistant" else None
        turn = _that_goes_on(turns, role, answer)
        if turn is None:
            turns.append(turn := _Turn(role))
        turn.blocks += blocks
        turn.answer = answer
        turn.given.append(member(record, "message").get("content"))
    return turns


def _can_be_said(block: Record, role: str) -> bool:
    kind = block.get("type")
    if kind == "text":
        return bool(text_member(block, "text").strip())
    if role == "user":
        return kind not in _NOT_THE_USERS and (kind != "tool_result" or isinstance(block.get("tool_use_id"), str))
    return kind != "tool_result" and (kind != "tool_use" or isinstance(block.get("id"), str))


def _that_goes_on(turns: list[_Turn], role: str, answer: str | None) -> _Turn | None:
    """The turn that what comes next belongs to; None when it begins one.

    The calls of one answer may run while it is still being given: then results stand between its records.
    """
    if turns and turns[-1].role == role:
        return turns[-1]
    if role == "assistant" and len(turns) > 1 and answer is not None and turns[-2].answer == answer:
        only_results = all(block.get("type") == "tool_result" for _, block in turns[-1].blocks)
        return turns[-2] if only_results else None
    return None


def _paired(turns: list[_Turn], left_out: list[tuple[str, str]]) -> list[_Turn]:
    """The turns with each result right behind its call, without calls and results that have no other half."""
    results = _results(turns, left_out)
    paired: list[_Turn] = []
    answers: list[tuple[str, Record]] = []  # to the calls of the last turn: behind it the user speaks, or nobody
    for turn in turns:
        if turn.role == "assistant":
            kept: list[tuple[str, Record]] = []
            for uuid, block in turn.blocks:
                if block.get("type") == "tool_use":
                    result = results.pop((id(turn), block["id"]), None)
                    if result is None:
                        left_out.append((uuid, "call without a result"))
                        continue
                    answers.append(result)
                kept.append((uuid, block))
            if all(block.get("type") in THOUGHTS for _, block in kept):
                left_out += ((uuid, "only thoughts") for uuid, _ in kept)
                kept = []
            _add(paired, _Turn("assistant", kept, given=turn.given))
        else:
            rest = [each for each in turn.blocks if each[1].get("type") != "tool_result"]
            _add(paired, _Turn("user", answers + rest, given=turn.given))
            answers = []
    return paired


def _add(paired: list[_Turn], turn: _Turn) -> None:
    if not turn.blocks:
        return
    if paired and paired[-1].role == turn.role:
        paired[-1].blocks += turn.blocks
        paired[-1].given += turn.given
    else:
        paired.append(turn)


def _results(turns: list[_Turn], left_out: list[tuple[str, str]]) -> dict[tuple[int, str], tuple[str, Record]]:
    """The result of each call that has one: the first behind it, for the last turn that has called so.  An id that had
    a result is never used again.
    """
    found: dict[tuple[int, str], tuple[str, Record]] = {}
    open_calls: dict[str, _Turn] = {}
    answered: set[str] = set()
    for turn in turns:
        for uuid, block in turn.blocks:
            kind = block.get("type")
            if kind == "tool_use" and block["id"] not in answered:
                open_calls[block["id"]] = turn
            elif kind == "tool_result":
                name = block["tool_use_id"]
                called = open_calls.pop(name, None)
                if called is None:
                    left_out.append((uuid, "second result" if name in answered else "result without a call"))
                    continue
                answered.add(name)
                found[id(called), name] = uuid, block
    return found


def _content(turn: _Turn) -> Any:
    blocks = [block for _, block in turn.blocks]
    if len(turn.given) == 1 and isinstance(turn.given[0], str) and len(blocks) == 1 and blocks[0].get("type") == "text":
        return turn.given[0]
    return blocks
