"""Which touches of files a conversation is known by."""

from collections.abc import Callable, Iterable

from rehydrate.conversation import FileTouch

from . import records

At = tuple[int, int, int]
"""The place of a turn among all, the number of its call there, and of the file among those that the call names."""


class Ends:
    """Of each kind of touch of a path the first and the last."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, str], tuple[At, At]] = {}

    def add(self, kind: str, path: str, at: At) -> None:
        """A touch.  Where a call names a file twice, the first time counts."""
        first, last = self._ends.get((kind, path), (at, at))
        is_later = at[:2] > last[:2] or (at[:2] == last[:2] and at < last)
        self._ends[kind, path] = min(first, at), at if is_later else last

    def places(self) -> set[int]:
        """Of the turns that a touch which is told belongs to."""
        return {at[0] for ends in self._ends.values() for at in ends}

    def told(self, step: Callable[[int], int], times: Callable[[int], Iterable[object]]) -> tuple[FileTouch, ...]:
        """Oldest first.

        `times`: the `created_at` of the turn at a place, and of a response that follows it: a call takes effect later
        than it is made (a person may have to allow it), but before the model goes on.  A request that follows says
        nothing: days may lie before it.
        """
        found = {at: key for key, ends in self._ends.items() for at in ends}
        told = []
        for order, at in enumerate(sorted(found)):
            kind, path = found[at]
            known = (time_s for text in times(at[0]) if (time_s := records.time_of(text)) is not None)
            told.append(FileTouch(path, step(at[0]), order, kind, max(known, default=None)))
        return tuple(told)
