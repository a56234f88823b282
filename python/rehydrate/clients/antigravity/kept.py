"""The turns of a conversation, one record after another: where the compiled module is missing.

Of the texts no more are ever held than a rehydration can reach, and a little.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence

from rehydrate import scan
from rehydrate.conversation import FileTouch, Turn
from rehydrate.dataclass import dataclass, replace

from . import records
from .touches import Ends

TEXT_CHARS = 1_000_000
"""Of the assistant's texts the newest are kept until they add up to this, each counted at most ENTRY_CHARS."""
ENTRY_CHARS = 6_000
HELD_CHARS = 64_000_000
"""What the kept texts may really take up, the newest one apart."""

_TURNS = frozenset({"USER_INPUT", "PLANNER_RESPONSE"})
_MEMBERS = ("step_index", "type", "source", "created_at", "content", "tool_calls")
"""What of a turn is read: never the whole record, of which most can be something else."""
_STEP_MIN, _STEP_MAX = -(1 << 63), (1 << 63) - 1
_UNDER_WAY = frozenset({"RUNNING", "PENDING", "IN_PROGRESS"})


class Reach:
    """How far back texts are kept; they are told from the newest one on."""

    def __init__(self) -> None:
        self._counted = self._held = 0

    def takes(self, chars: int) -> bool:
        """Whether a text of so many characters is kept; when one is not, no older one is."""
        if self._counted >= TEXT_CHARS or (self._counted and self._held + chars > HELD_CHARS):
            return False
        self._counted += min(chars, ENTRY_CHARS)
        self._held += chars
        return True


@dataclass(slots=True)
class _Entry:
    """What is kept of one step."""

    segment: int
    role: str
    text: str | None
    """None where it was let go of."""
    calls: tuple[records.Call, ...] = ()
    created_at: object = None
    offset: int = 0
    chars: int = 0
    """Of the text."""


class Kept:
    """The turns by step, and which assistant texts are still held: dropped from the oldest step on."""

    def __init__(self) -> None:
        self.damaged = 0
        """Damaged lines, all files together."""
        self._files: dict[int, tuple[str, int]] = {}
        self._entries: dict[int, _Entry] = {}
        self._texts: list[int] = []  # heap of the steps of texts; may name some that are gone
        self._counted = self._held = 0

    def add(self, path: str, segment: int, *, last: int | None, lossy: bool) -> None:
        """Takes the turns of a younger file up to a step."""
        highest = _STEP_MAX if last is None else min(last, _STEP_MAX)
        self._files[segment] = path, highest
        found = scan.iter_records(path, _MEMBERS, where={"type": _TURNS})
        for step, kind, source, created_at, content, tool_calls, offset, _ in found:
            if type(step) is int and _STEP_MIN <= step <= highest:
                if kind == "USER_INPUT":
                    request = records.asked(source, content)
                    self._put(step, _Entry(segment, "user", request) if request else None)
                    continue
                text = records.text_of(content)
                calls = records.calls_of(tool_calls, lossy=lossy)
                answer = _Entry(segment, "assistant", text, tuple(calls), created_at, offset, len(text))
                self._put(step, answer if text or calls else None)
        self.damaged += found.damaged

    def turns(self) -> list[Turn]:
        """In the order of their steps; those that no budget reaches as few as can be."""
        ordered = [(step, self._entries[step]) for step in sorted(self._entries)]
        reach = Reach()
        first = len(ordered)
        while first and (not ordered[first - 1][1].chars or reach.takes(ordered[first - 1][1].chars)):
            first -= 1
        self._find([entry for _, entry in ordered[first:] if entry.text is None])
        before = first
        if first:  # its calls go with the text behind it
            before -= 1
            ordered[before][1].text = None
        whole = [
            Turn(step, each.role, each.text, each.segment, tuple([call.tool for call in each.calls]))
            for step, each in ordered[before:]
        ]
        return [*_as_few(ordered[:before]), *whole]

    def touches(self) -> tuple[FileTouch, ...]:
        """Oldest first; of each kind of touch of a path the first and the last."""
        ends = Ends()
        ordered = sorted(self._entries)
        for place, step in enumerate(ordered):
            for number, call in enumerate(self._entries[step].calls):
                for at, path in enumerate(call.paths):
                    ends.add(call.kind, path, (place, number, at))

        def times(place: int) -> Iterator[object]:
            yield self._entries[ordered[place]].created_at
            after = self._entries[ordered[place + 1]] if place + 1 < len(ordered) else None
            if after is not None and after.role == "assistant":
                yield after.created_at

        return ends.told(lambda place: ordered[place], times)

    def finished(self, segment: int, steps: Sequence[int], *, is_whole: bool) -> Iterable[int]:
        """The steps behind some turns of a segment that are finished results of tools, ascending.

        A result is written behind its call, so only the end of a file is read; lines may stand in another order, so all
        of it is read where that is asked for.
        """
        path, last = self._files[segment]
        first, offset = min(steps) + 1, 0 if is_whole else min(self._entries[step].offset for step in steps)
        finished: set[int] = set()
        # Members alone, never the records: a result may be larger than all that is kept.
        keys = ("step_index", "type", "source", "status")
        for step, kind, source, status, *_ in scan.iter_records(path, keys, cursor=scan.cursor_at(path, offset)):
            if type(step) is not int or not first <= step <= last:
                continue
            under_way = isinstance(status, str) and status in _UNDER_WAY
            if source == "MODEL" and kind != "PLANNER_RESPONSE" and not under_way:
                finished.add(step)
            else:
                finished.discard(step)
        return sorted(finished)

    def _put(self, step: int, entry: _Entry | None) -> None:
        """Keeps what the newest line says of a step; None: it is no turn."""
        old = self._entries.pop(step, None)
        if old is not None and old.role == "assistant" and old.text:
            self._count(old.text, -1)
        if entry is None:
            return
        self._entries[step] = entry
        if entry.role == "assistant" and entry.text:
            self._count(entry.text, 1)
            heapq.heappush(self._texts, step)
            if self._counted > TEXT_CHARS or self._held > HELD_CHARS:
                self._prune()

    def _count(self, text: str, sign: int) -> None:
        self._counted += sign * min(len(text), ENTRY_CHARS)
        self._held += sign * len(text)

    def _prune(self) -> None:
        while len(self._texts) > 1:
            oldest = self._entries.get(self._texts[0])
            if oldest is not None and oldest.role == "assistant" and oldest.text:
                spared = self._counted - min(len(oldest.text), ENTRY_CHARS)
                if spared < TEXT_CHARS and self._held <= HELD_CHARS:
                    return
                self._count(oldest.text, -1)
                oldest.text = None
            heapq.heappop(self._texts)

    def _find(self, missing: list[_Entry]) -> None:
        """Reads again the texts that were let go of for newer ones which later lines then took back."""
        for segment in {entry.segment for entry in missing}:
            path, _ = self._files[segment]
            wanted = {entry.offset: entry for entry in missing if entry.segment == segment}
            start = scan.cursor_at(path, min(wanted))
            for content, offset, _ in scan.iter_records(path, ("content",), where={"type": _TURNS}, cursor=start):
                if offset in wanted:
                    wanted[offset].text = records.text_of(content)


def _as_few(ordered: Sequence[tuple[int, _Entry]]) -> list[Turn]:
    """Turns before a text that no budget reaches: requests as they are, and what is said between two of them as one.

    Calls that come before all that was said stand for themselves, as far as somebody else speaks next.
    """
    told: list[Turn] = []
    stretch = calls = None
    for step, entry in ordered:
        if entry.role == "user":
            told += [stretch] if stretch else [calls] if calls and not told else []
            told.append(Turn(step, "user", entry.text, entry.segment))
            stretch = None
        elif not entry.chars:
            calls = Turn(step, "assistant", "", entry.segment, tuple([call.tool for call in entry.calls]))
        elif stretch and stretch.segment == entry.segment:
            stretch = replace(stretch, count=stretch.count + 1)
        else:
            told += [stretch] if stretch else []
            stretch = Turn(step, "assistant", None, entry.segment)
    return [*told, stretch] if stretch else told
