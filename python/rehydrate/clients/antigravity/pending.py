"""Which tool calls had no result yet when the conversation stopped."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rehydrate.conversation import Turn
from rehydrate.dataclass import replace


class Finished(Protocol):
    """Tells the ascending steps behind some turns of a segment that are finished results of tools, up to the last step
    that counts; at least those at the end of the file, or in `is_whole` of it.
    """

    def __call__(self, segment: int, steps: Sequence[int], *, is_whole: bool) -> Iterable[int]: ...


def with_pending(turns: Sequence[Turn], finished: Finished) -> tuple[Turn, ...]:
    """The turns, with the calls marked that had no result yet when the conversation stopped: calls that neither a text
    nor a request follows.  None is said to have none before all of its file was asked.
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
            results[at] = list(finished(at, steps, is_whole=is_whole))
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
