"""How a conversation went on: whether the host has called its hooks, and its model, since something happened."""

from rehydrate import scan
from rehydrate.clients.antigravity import records

REMEMBERED = True
"""Whether the hook keeps a state for each conversation."""
_ANSWERS = frozenset({"PLANNER_RESPONSE"})


def answers_after(path: str, offset: int) -> int:
    """How many answers of the model the log has from an offset on (one that lies behind its end: none)."""
    try:
        start = scan.cursor_at(path, offset)
    except ValueError:
        return 0
    steps = {record.index for record in scan.iter_steps(path, types=_ANSWERS, cursor=start)}
    return len(steps)


def is_answered_since(path: str, time_s: float) -> bool:
    """Whether the log has a request of the user, made after a moment, and an answer to it."""
    asked = False
    for record in scan.iter_steps(path, types=_ANSWERS | {"USER_INPUT"}):
        if record.type == "USER_INPUT" and record.source != "SYSTEM_SDK":
            made_s = records.time_of(record.created_at)
            asked = asked or (made_s is not None and made_s > time_s)
        elif asked:
            return True
    return False
