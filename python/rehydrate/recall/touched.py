"""The files a conversation touched, in the order in which they are looked at: latest touch first."""

import posixpath
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter

from rehydrate.conversation import FileTouch
from rehydrate.dataclass import dataclass
from rehydrate.files import FileText, normalise
from rehydrate.recall.render import Item, fit, step_word
from rehydrate.recall.text import Clipped, one_line

EVERY_KIND = frozenset(("modified", "read", "named"))
"""Of touches."""
CHECKED_MAX = 2_000
"""Files of one kind that are looked at; older ones are left out unseen, so that a log cannot make this slow."""
_HEAD_PERCENT = 68
_CLOCK_S = 1.0
"""Logs have whole seconds: a file written within that time may be what the step saw."""


@dataclass(slots=True)
class Touched:
    """One file, as far as it was touched in the ways that are asked for."""

    path: str
    """Normalised; as logged where it is not absolute."""
    first: int
    """Order of the first touch."""
    rank: int
    """Grows with the step of the latest touch; equal for equal steps."""
    latest: FileTouch


def touched(touches: Iterable[FileTouch], kinds: frozenset[str]) -> list[Touched]:
    """Each file once, latest touch first; of those with equal steps the one first touched earlier comes first."""
    files: dict[str, Touched] = {}
    rank, step = 0, None
    for touch in sorted(touches, key=attrgetter("order")):
        if touch.step != step:
            rank, step = rank + 1, touch.step
        if touch.kind not in kinds or not touch.path:
            continue
        path = _normalised(touch.path)
        known = files.get(path)
        if known is None:
            files[path] = Touched(path, touch.order, rank, touch)
        else:
            known.rank, known.latest = rank, touch
    return sorted(files.values(), key=lambda each: (-each.rank, each.first))


@lru_cache(maxsize=1 << 16)  # the touches are gone through once for each kind
def _normalised(path: str) -> str:
    return normalise(path) if posixpath.isabs(path) else path


def latest_times(touches: Iterable[FileTouch]) -> dict[str, float | None]:
    """For each normalised path the time of its latest touch of any kind."""
    return {each.path: each.latest.time_s for each in touched(touches, EVERY_KIND)}


def file_item(
    each: Touched, read: FileText, *, seen_s: float | None, clean: Callable[[str], str], limit: int, room: int
) -> Item | None:
    """The file as an item within `room` characters, its content within `limit`; None where nothing of it fits."""
    path = one_line(clean(each.path))
    changed = seen_s is not None and read.modified_s > seen_s + _CLOCK_S
    since = ", changed on disk since then" if changed else ""
    label = f"{path} ({each.latest.kind} at step {step_word(each.latest.step)}{since}):"

    def make(clipped: Clipped) -> Item:
        return Item(each.latest.step, each.latest.kind, clipped[0], label, path=path, left_out_chars=clipped[1])

    def mark(count: int) -> str:
        return f"\n[... {count} characters left out, they are in {path} ...]\n"

    return fit(clean(read.text), make, room=room, limit=limit, head_percent=_HEAD_PERCENT, mark=mark)
