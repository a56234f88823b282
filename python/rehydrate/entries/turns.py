"""How a conversation stands: whether its last turn was interrupted, which calls wait, and what it has used."""

from collections.abc import Iterable, Sequence

from . import messages
from .log import Log, Record, member, text_member
from .scope import SPOKEN

ENDS_TURN = frozenset({"SendUserMessage", "SendUserFile"})
"""Tools whose result ends a turn by itself."""
SURROUNDING = frozenset(
    {
        *("prompt_snapshot", "session_context", "date", "environment", "model", "total_tokens_reminder"),
        *("deferred_tools_delta", "agent_listing_delta", "skill_listing", "hook_success", "hook_additional_context"),
    }
)
"""Attachments that the client adds around a turn, whether or not one is going on."""
NUMBERS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def interruption(log: Log, entries: Sequence[int]) -> str:
    """`prompt` when the last request was not answered, `turn` when an answer was not finished, else `none`."""
    attached = False
    for index in reversed(entries):
        kind = log.types[index]
        if kind == "attachment":
            attached = attached or text_member(member(log.record(index), "attachment"), "type") not in SURROUNDING
        if kind not in SPOKEN:
            continue
        record = log.record(index)
        if kind == "assistant" and messages.is_api_error(record):
            continue
        if kind == "assistant":
            return "turn" if attached or _waits(log, entries, index) else "none"
        if messages.is_meta(record) or messages.is_summary(record) or messages.is_command(record):
            return "none"
        if messages.is_interrupt(record):  # the user ended it
            return "none"
        results = messages.results(record)
        if not results:
            return "turn" if attached else "prompt"
        names = names_of(log, entries)
        return "none" if all(names.get(result.id) in ENDS_TURN for result in results) else "turn"
    return "none"


def _waits(log: Log, entries: Sequence[int], last: int) -> bool:
    """Whether a tool was called in the answer that the entries end with: a result would stand behind it."""
    for index in reversed(entries[: entries.index(last) + 1]):
        if log.types[index] == "user":
            break
        if log.types[index] == "assistant" and any(
            call.name not in ENDS_TURN for call in messages.calls(log.record(index))
        ):
            return True
    return False


def names_of(log: Log, entries: Iterable[int]) -> dict[str, str]:
    """The tool of each call, by the call's id."""
    return {
        call.id: call.name
        for index in entries
        if log.types[index] == "assistant"
        for call in messages.calls(log.record(index))
    }


def waiting(log: Log, entries: Iterable[int]) -> list[messages.Call]:
    """The calls that no result has come for, in order."""
    found: dict[str, messages.Call] = {}
    for index in entries:
        kind = log.types[index]
        if kind == "assistant":
            for call in messages.calls(log.record(index)):
                found[call.id] = call
        elif kind == "user":
            for result in messages.results(log.record(index)):
                found.pop(result.id, None)
    return list(found.values())


def usage(log: Log, entries: Iterable[int], *, free: Iterable[int] = ()) -> dict[str, int]:
    """Tokens used, each answer once, by the numbers of its last record.  `free`: entries that count as nothing, as
    another view has counted them.
    """
    none = frozenset(free)
    last: dict[str, Record] = {}
    for index in entries:
        if log.types[index] == "assistant" and index not in none:
            record = log.record(index)
            said = member(member(record, "message"), "usage")
            if said:
                last[messages.message_id(record) or f"\0{index}"] = said
    return {name: sum(_count(said.get(name)) for said in last.values()) for name in NUMBERS}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
