"""What both the text after a compaction (`recall`) and the list that stays (`context`) are packed by: as many things as
have room, the most important first, and of a text too long for its room the beginning and the end.

Pure, in whatever unit the caller counts; where a text may be parted is the caller's to say.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def leading(things: Iterable[T], room: int, *, cost: Callable[[T], int]) -> tuple[list[T], int, bool]:
    """The things before the first for which no room is left, what they cost together, and whether these are all.

    No more is asked of `things` than the one that has no room.
    """
    taken: list[T] = []
    used = 0
    for thing in things:
        more = cost(thing)
        if used + more > room:
            return taken, used, False
        taken.append(thing)
        used += more
    return taken, used, True


def share(sizes: Sequence[int], room: int) -> int:
    """To how much each may be cut, so that all have room: what the small ones leave is for the large ones.  The largest
    of the sizes where nothing has to be cut; less than 1 where there is no room.
    """
    for at, size in enumerate(sorted(sizes)):
        most = room // (len(sizes) - at)
        if size > most:
            return most
        room -= size
    return max(sizes, default=0)


def keep_ends(
    text: str, *, head: int, tail: int, is_cut: Callable[[str, int], bool], mark: Callable[[int], str]
) -> tuple[str, int]:
    """At most `head` characters from the start and `tail` from the end with `mark(left out)` between them, and how many
    characters are left out.

    `is_cut`: whether a text may be parted before the character at a place, as it may at both its ends.
    """
    start = head
    while not is_cut(text, start):
        start -= 1
    end = max(len(text) - tail, start)
    while not is_cut(text, end):
        end += 1
    return text[:start] + mark(end - start) + text[end:], end - start
