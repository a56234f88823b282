"""Makes a list of messages that was loaded fit to be sent, and tells what it took.

A broken pair in a stored conversation would make every later request fail.  The log is left alone: what is repaired is
the view of it, the same way each time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import is_

from rehydrate.session.wire import OPENING

from .errors import Violation
from .messages import THOUGHTS, Block, Message, blocks, results
from .order import in_order, says_something
from .units import arranged
from .wire.parts import as_input

UNKNOWN_OUTCOME = "[This call was interrupted: whether it took effect is not known, so look before you repeat it.]"
"""What a call is answered with that will never have a result."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A list that is whole again."""

    messages: list[Message]
    """Arranged; every call has its result right behind it, but for those that are pending."""
    repaired: tuple[Violation, ...]
    """What was wrong, each with the place in the list that was given; empty where nothing was."""
    mended: Mapping[int, tuple[Block, Block]]
    """What stands for the blocks that were changed, by the `id()` of it, and the block that was given."""


def repair(messages: Sequence[Message], *, pending: Collection[str] = ()) -> Repair:
    """The messages arranged, without results that nothing was called for and without second results; a call that will
    never have a result is answered as one whose outcome is unknown.  Where the assistant begins, the user says so
    before it.

    `pending`: the ids of calls that still run or wait for approval; they are left open.
    """
    whole = in_order(messages, pending=pending)
    return _Repairing(pending).repair(messages) if whole is None else Repair(whole, (), {})


class _Repairing:
    def __init__(self, pending: Collection[str]) -> None:
        self.pending = pending
        self.found: list[Violation] = []
        self.messages: list[Message] = []
        self.mended: dict[int, tuple[Block, Block]] = {}
        self.waiting: dict[str, int] = {}
        """The calls of the last answer that no result has come for, each with the place of its message."""

    def repair(self, messages: Sequence[Message]) -> Repair:
        places: list[int] = []
        given: list[Message] = []
        for place, message in enumerate(messages):
            kept = self._in_their_roles(message, place)
            if kept.get("content") or not _is_nothing(kept):
                given.append(kept)
                places.append(place)
        for each in arranged(given):
            role, place = each.message.get("role"), places[each.sources[0]]
            if role == "user" and next(results(each.message), None) is not None:
                self._add(each.message, self._results(each.message, place))
                self._answer_what_waits()
                continue
            self._answer_what_waits()
            is_plain = role != "assistant" or isinstance(each.message.get("content"), str)
            self._add(each.message, None if is_plain else self._calls(each.message, place))
        self._answer_what_waits()
        self._open()
        return Repair(self.messages, tuple(sorted(self.found, key=lambda each: each.place)), self.mended)

    def _in_their_roles(self, message: Message, place: int) -> Message:
        """The message without calls and thoughts that are not the assistant's, results that are not the user's, and
        calls and results without an id.
        """
        content, role = message.get("content"), message.get("role")
        if isinstance(content, str):
            return message
        kept: list[Block] = []
        for block in blocks(message):
            kind = block.get("type")
            if not isinstance(kind, str) or (kind == "text" and not isinstance(block.get("text"), str)):
                self._tell("no_message", place, "holds a block without a type, or a text that is none; it was left out")
            elif kind == "text":
                kept.append(block)
            elif kind in THOUGHTS and role != "assistant":
                self._tell("wrong_role", place, "holds thoughts and is not the assistant's; they were left out")
            elif kind == "tool_use" and (role != "assistant" or not isinstance(block.get("id"), str)):
                self._tell("wrong_role", place, "holds a call that no assistant made or has no id; it was left out")
            elif kind == "tool_result" and (role != "user" or not isinstance(block.get("tool_use_id"), str)):
                self._tell("wrong_role", place, "holds a result that no user gave or has no id; it was left out")
            else:
                mended = self._mended(block, place)
                if mended is not block:
                    self.mended[id(mended)] = mended, block
                kept.append(mended)
        is_whole = isinstance(content, Sequence) and len(kept) == len(content) and all(map(is_, kept, content))
        return message if is_whole else {**message, "content": kept}

    def _mended(self, block: Block, place: int) -> Block:
        """A call with an object for its input, a result without what in it is no block; the very block where it is."""
        kind = block.get("type")
        if kind == "tool_use" and not isinstance(given := block.get("input"), (dict, Mapping)):
            self._tell("bad_input", place, f"calls {block['id']} with what is no object; it was put into one")
            return {**block, "input": as_input(given)}
        return _of_blocks(block) if kind == "tool_result" else block

    def _calls(self, message: Message, place: int) -> list[Block] | None:
        """The blocks of an answer without a second call of the same id; None where all stay."""
        kept: list[Block] = []
        given = blocks(message)
        for block in given:
            if block.get("type") == "tool_use":
                name = block["id"]
                if name in self.waiting:
                    self._tell("duplicate_call", place, f"calls {name} twice; the second call was left out")
                    continue
                self.waiting[name] = place
            kept.append(block)
        return None if len(kept) == len(given) else kept

    def _results(self, message: Message, place: int) -> list[Block] | None:
        """The results that something waits for; None where all stay."""
        kept: list[Block] = []
        answered: set[str] = set()
        given = blocks(message)
        for block in given:
            name = block["tool_use_id"]
            if self.waiting.pop(name, None) is not None:
                kept.append(block)
                answered.add(name)
            elif name in answered:
                self._tell("duplicate_result", place, f"has a second result of {name}; it was left out")
            else:
                self._tell("orphan_result", place, f"has a result of {name}, which was not called; it was left out")
        return None if len(kept) == len(given) else kept

    def _answer_what_waits(self) -> None:
        if not self.waiting:
            return
        unknown: list[Block] = []
        for name, place in self.waiting.items():
            if name not in self.pending:
                self._tell("unanswered_call", place, f"calls {name}, which never had a result; it was given one")
                content = {"type": "tool_result", "tool_use_id": name, "content": UNKNOWN_OUTCOME, "is_error": True}
                unknown.append(content)
        self.waiting = {}
        if not unknown:
            return
        last = self.messages[-1]
        if last.get("role") == "user":
            both = [*last["content"], *unknown]
            order = {block.get("id"): at for at, block in enumerate(blocks(self.messages[-2]))}
            both.sort(key=lambda block: order.get(block["tool_use_id"], len(order)))
            self.messages[-1] = {**last, "content": both}
        else:
            self.messages.append({"role": "user", "content": unknown})

    def _add(self, message: Message, kept: list[Block] | None) -> None:
        if kept is None:
            self.messages.append(message)
        elif kept:
            self.messages.append({**message, "content": kept})

    def _open(self) -> None:
        for index, message in enumerate(self.messages):
            if message.get("role") == "assistant":
                self._tell("first_not_user", 0, "begins, and is not the user's; one that says so was put before it")
                self.messages.insert(index, {"role": "user", "content": OPENING})
                return
            if message.get("role") == "user" and says_something(message):
                return

    def _tell(self, code: str, place: int, what: str) -> None:
        self.found.append(Violation(code, place, f"message {place} {what}"))


def _of_blocks(result: Block) -> Block:
    """The result without what in it is no block."""
    content = result.get("content")
    if content is None or isinstance(content, str):
        return result
    kept = [
        block
        for block in blocks(result)
        if isinstance(kind := block.get("type"), str) and (kind != "text" or isinstance(block.get("text"), str))
    ]
    is_whole = isinstance(content, Sequence) and len(kept) == len(content)
    return result if is_whole else {**result, "content": kept}


def _is_nothing(message: Message) -> bool:
    """Whether a message holds nothing at all, nor anything of its format's own."""
    wire = message.get("wire")
    members = wire.get("members") if isinstance(wire, Mapping) else None
    return not isinstance(message.get("content"), str) and not (isinstance(members, Mapping) and any(members.values()))
