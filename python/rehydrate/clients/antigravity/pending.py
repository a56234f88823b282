"""Which tool calls had no result yet when the conversation stopped."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rehydrate import scan
from rehydrate.conversation import Turn

from . import layout

_UNDER_WAY = frozenset({"RUNNING", "PENDING", "IN_PROGRESS"})


def with_pending(
    turns: Sequence[Turn], offset_of: Callable[[int], int], *, files: Sequence[str], lasts: Sequence[int | None]
) -> tuple[Turn, ...]:
    """The turns, with the calls marked that had no result yet when the conversation stopped: calls that neither a text
    nor a request follows.

    `offset_of`: where the record of a turn's step begins.  `files` and `lasts`: for each segment its file, and the last
    step of it that counts (None: all).  A result is written behind its call, so only the end of a file is read; but
    lines may stand in another order, so all of it is read before a call is said to have none.
    """
    first = len(turns)
    while first and turns[first - 1].calls:
        first -= 1
        if turns[first].text:
            break
    last = turns[first:]
    for is_whole in (False, True):
        results: dict[int, list[int]] = {}
        for at in {turn.segment for turn in last}:
            steps = [int(turn.step) for turn in last if turn.segment == at]
            offset = 0 if is_whole else min(map(offset_of, steps))
            results[at] = sorted(_results(files[at], min(steps) + 1, lasts[at], offset=offset))
        marked = _marked(last, results)
        if not any(call.pending for turn in marked for call in turn.calls):
            break
    return (*turns[:first], *marked)


def _marked(turns: Sequence[Turn], results: Mapping[int, list[int]]) -> list[Turn]:
    """These turns with their calls pending or not; `results`: by segment, the ascending steps of finished results.

    Results carry no id of their call.  They follow it in the numbering, so as many results as calls means that all
    are there; with fewer, call i (from 0) of step p is the one whose record would be p + 1 + i.
    """
    marked = []
    for at, turn in enumerate(turns):
        step, steps = int(turn.step), results[turn.segment]
        end = bisect_left(steps, int(turns[at + 1].step)) if at + 1 < len(turns) else len(steps)
        ours = set(steps[bisect_right(steps, step) : end])
        enough = len(ours) >= len(turn.calls)
        calls = (replace(call, pending=not enough and step + 1 + i not in ours) for i, call in enumerate(turn.calls))
        marked.append(replace(turn, calls=tuple(calls)))
    return marked


def _results(path: str, first: int, last: int | None, *, offset: int) -> set[int]:
    """The steps in a range that are finished results of tools, as the file says from an offset on."""
    finished: set[int] = set()
    keys = ("step_index", "type", "source", "status")
    with layout.opened(path) as whole:
        # Members alone, never the records: a result may be larger than all that is kept.
        start = scan.cursor_at(whole, offset)
        for step, kind, source, status, *_ in scan.iter_records(whole, keys, cursor=start):
            if type(step) is not int or step < first or (last is not None and step > last):
                continue
            under_way = isinstance(status, str) and status in _UNDER_WAY
            if source == "MODEL" and kind != "PLANNER_RESPONSE" and not under_way:
                finished.add(step)
            else:
                finished.discard(step)
    return finished
