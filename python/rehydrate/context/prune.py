"""Old results of tools leave the view when they take much room, many at once and seldom.

A prompt cache holds as long as what is sent begins with the same bytes, so a pass goes down to half of the mark that
sets it off, and between passes nothing is touched: a cache is broken at most once for every tenth of the input that
new results fill (with the default of 20 %).  After a pause that no cache outlives, clearing costs nothing, and more
goes.

Pure: the clock and what was decided before are passed in.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from .messages import Block, Message, is_hidden
from .meter import Meter
from .policy import Rank
from .results import (
    FLOOR_TOKENS,
    INTACT,
    RECALL_HINT,
    Replacement,
    Result,
    content_text,
    media_of,
    replacement_of,
    results_of,
)

Mode = Literal["ordinary", "reactive"]

HIGH_WATER_PERCENT: Final = 20
"""Of the input budget: an ordinary pass is due when what could go takes more (spec D2)."""
_KEPT_TURNS: Final = 10
_LEAST_MESSAGES: Final = 30
_KEPT_TURNS_IDLE: Final = 3
_LEAST_MESSAGES_IDLE: Final = 15
_KEPT_TURNS_REACTIVE: Final = 3
_LEAST_MESSAGES_REACTIVE: Final = 10

_NAME_CHARS: Final = 40
_LOOKED_CHARS: Final = 2_000
"""Of a text, from its beginning and from its end, that is looked at for signs of an error."""
_ERROR_FIRST = re.compile(
    r"\s*(?:<tool_use_error>|(?:[\w.]*(?:Error|Exception)|error|fatal|panic|failed|failure)\b ?[:(\[]"
    r"|Traceback \(most recent call last\))",
    re.IGNORECASE,
)
_ERROR_ANYWHERE = re.compile(
    r"^Traceback \(most recent call last\)"
    r"|\bexit(?:ed with)? (?:code|status)[:=]? ?-?[1-9]"
    r"|(?<![\d.,])[1-9][\d,]* (?:failed|failures?|errors?)\b",
    re.IGNORECASE | re.MULTILINE,
)


def prune(
    messages: Sequence[Message],
    *,
    input_budget: int | None,
    meter: Meter,
    ranks: Callable[[Block], Rank],
    idle_s: float | None,
    cache_lifetime_s: float = 300.0,
    mode: Mode = "ordinary",
    is_decided: Callable[[Block], bool],
    percent: int = HIGH_WATER_PERCENT,
    has_recall: bool = False,
) -> list[Replacement]:
    """The results that are to go, in the order in which they go; empty when nothing is due.

    `ordinary`: of a list of 30 messages or more, past `percent` of the `input_budget` (tokens that a request may have)
    down to half of that, the newest 10 turns with calls left alone; after a pause of `idle_s` that is longer than
    `cache_lifetime_s`, of a list of 15 or more all but the newest 3 turns.  None where nobody knows a budget or a
    pause: without a budget there is no mark, and only a pause takes anything out.
    `reactive`, for a request that was refused: of a list of 10 or more all but the newest 3 turns.  What nobody has
    said does not count for the length of a list.

    First to go are results of tools that only read, then of those that write, then errors; the oldest first.  `ranks`
    tells a call's kind.  `is_decided`: which results are left as they are.  `has_recall`: whether the model
    has a tool that brings results back.
    """
    said = sum(not is_hidden(each) for each in messages)
    mark = 0  # in hundredths of a token
    if mode == "reactive":
        kept, least = _KEPT_TURNS_REACTIVE, _LEAST_MESSAGES_REACTIVE
    elif idle_s is not None and idle_s > cache_lifetime_s and said >= _LEAST_MESSAGES_IDLE:
        kept, least = _KEPT_TURNS_IDLE, _LEAST_MESSAGES_IDLE
    else:
        if input_budget is None or input_budget <= 0:
            return []
        kept, least, mark = _KEPT_TURNS, _LEAST_MESSAGES, input_budget * percent
    if said < least:
        return []
    found = _prunable(messages, meter=meter, kept=kept, is_decided=is_decided)
    left = sum(size for _, size in found)
    if left * 100 <= mark:
        return []
    gone = []
    for result, size in sorted(found, key=lambda each: (_order(each[0], ranks), each[0].message, each[0].index)):
        if left * 200 <= mark:
            break
        text = placeholder(result.call, result.block, has_recall=has_recall)
        replacement = replacement_of(result, "prune", text, meter=meter)
        if replacement.tokens_freed > 0:
            gone.append(replacement)
            left -= size
    return gone


def placeholder(call: Block | None, result: Block, *, has_recall: bool) -> str:
    """What stands in the place of a result that was taken out: the same for the same call and result, whenever that
    is.  `call`: None where nobody knows it.
    """
    name = call.get("name") if call is not None else None
    said = " ".join(name.split())[:_NAME_CHARS] if isinstance(name, str) else ""
    count = len(media_of(result.get("content")))
    media = f" and {count} image{'s' if count > 1 else ''} or the like" if count else ""
    return (
        f"[The {'error' if is_error(result) else 'result'} of {said or 'a tool'} was taken out to save room: "
        f"{len(content_text(result.get('content'))):,} characters{media}. {INTACT}{RECALL_HINT if has_recall else ''}.]"
    )


def is_error(result: Block) -> bool:
    """Whether a result tells of an error: as its flag says, and only where it has none as its text looks."""
    flag = result.get("is_error")
    if isinstance(flag, bool):
        return flag
    text = content_text(result.get("content"))
    first, last = text[:_LOOKED_CHARS], text[_LOOKED_CHARS:][-_LOOKED_CHARS:]
    return _ERROR_FIRST.match(first) is not None or any(map(_ERROR_ANYWHERE.search, (first, last)))


def _prunable(
    messages: Sequence[Message], *, meter: Meter, kept: int, is_decided: Callable[[Block], bool]
) -> list[tuple[Result, int]]:
    """The results that may go, with their tokens."""
    results = results_of(messages)
    turns = sorted({result.turn for result in results})
    newest = set(turns[-kept:])
    sized = (
        (each, meter.block(each.block)) for each in results if each.turn not in newest and not is_decided(each.block)
    )
    return [(each, size) for each, size in sized if size >= FLOOR_TOKENS]


def _order(result: Result, ranks: Callable[[Block], Rank]) -> int:
    if is_error(result.block):
        return 2
    return 1 if result.call is None or ranks(result.call) == "write" else 0
