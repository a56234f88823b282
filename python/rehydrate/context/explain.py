"""What the next request would hold, for people: how much of it, what holds the space, and which line comes next."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .assembling import Assembled
from .messages import THOUGHTS, Message, blocks, is_hidden, kind_of
from .meter import MESSAGE, Meter
from .scene import Scene

if TYPE_CHECKING:
    from .breaker import Breaker


def explain(scene: Scene, *, meter: Meter, window: int | None, breaker: "Breaker") -> dict[str, Any]:
    """As JSON can hold it; sizes are in tokens, and None is what nobody knows."""
    snapshot, state = scene.snapshot, scene.state
    tokens = snapshot.tokens
    lines = {
        "handoff": snapshot.handoff_line,
        "compaction": snapshot.compaction_line,
        "full": snapshot.available,
    }
    ahead = {name: line for name, line in lines.items() if line is not None and (tokens is None or tokens < line)}
    upcoming = min(ahead, key=lambda name: (ahead[name], name == "full"), default=None)
    checkpoint = state.checkpoint
    notes = [each for each in state.said if is_hidden(each.message)]
    return {
        "tokens": tokens,
        "label": snapshot.label,
        "phase": snapshot.phase,
        "handoff": state.handoff,
        "window": window,
        "reserve": snapshot.reserve,
        "available": snapshot.available,
        "messages": len(scene.messages),
        "entries": len(state.said) - len(notes),
        "lines": lines,
        "next": None
        if upcoming is None
        else {
            "line": upcoming,
            "at": ahead[upcoming],
            "left": None if tokens is None else ahead[upcoming] - tokens,
        },
        "holders": holders_in(scene, meter=meter),
        "ledger": len(state.ledger.open),
        "pinned": len(pinned_messages(scene.work, state.pins)),
        "replaced": dict(sorted(Counter(state.replaced.values()).items())),
        "omitted": {"media": len(state.omitting.digests), "thoughts": state.omitting.thoughts},
        "hidden": dict(sorted(Counter(str(kind_of(each.message)) for each in notes).items())),
        "checkpoint": None
        if checkpoint is None
        else {
            "id": checkpoint.id,
            "boundary": state.boundary,
            "parent": checkpoint.parent,
            "through": checkpoint.through,
            "reason": checkpoint.reason,
            "strategy": checkpoint.strategy,
            "outcome": checkpoint.outcome,
            "figures": dict(checkpoint.figures),
        },
        "boundary": state.boundary,
        "failure": _text(state.attempt, "failure"),
        "error": _text(state.attempt, "error"),
        "breaker": {"failures": breaker.failures, "opened_s": breaker.opened_s},
        "repaired": [{"code": each.code, "text": each.text} for each in scene.work.repaired],
        "revision": scene.revision,
    }


def _text(record: Mapping[str, Any] | None, name: str) -> str | None:
    found = None if record is None else record.get(name)
    return found if isinstance(found, str) else None


def pinned_messages(work: Assembled, pins: set[str]) -> frozenset[int]:
    """The messages that hold something of a pinned entry, or that an earlier compaction has kept as pinned."""
    return frozenset(
        at
        for at, places in enumerate(work.sources)
        if kind_of(work.messages[at]) == "pinned" or any(work.said[place].uuid in pins for place in places)
    )


def holders_in(scene: Scene, *, meter: Meter) -> dict[str, int]:
    """What holds the space, by what it is, the largest first; parts that are empty are left out."""
    found: Counter[str] = Counter()
    request = scene.request
    found["system"] = meter.fixed(system=request.system, tools=())
    found["tools"] = scene.snapshot.fixed - found["system"]
    pinned = pinned_messages(scene.work, scene.state.pins)
    for at, message in enumerate(scene.work.messages):
        kind = "pinned" if at in pinned else kind_of(message)
        if kind is not None:
            found[kind] += meter.message(message)
            continue
        found[_ROLES.get(str(message.get("role")), "other")] += MESSAGE
        for block in blocks(message):
            found[_kind(block, message)] += meter.block(block)
    found["control"] = meter.messages(request.control)
    return {what: tokens for what, tokens in sorted(found.items(), key=lambda each: (-each[1], each[0])) if tokens}


_ROLES = {"user": "requests", "assistant": "answers", "system": "system messages"}
_KINDS = {
    "tool_use": "calls",
    "tool_result": "results",
    "image": "images",
    "audio": "audio",
    "document": "documents",
    **dict.fromkeys(THOUGHTS, "thoughts"),
}


def _kind(block: Mapping[str, Any], message: Message) -> str:
    return _KINDS.get(str(block.get("type"))) or _ROLES.get(str(message.get("role")), "other")
