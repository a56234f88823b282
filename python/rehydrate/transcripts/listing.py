"""What a list of conversations tells: of one conversation a summary, of all of them how many there are.

Never used by the hook.  A summary reads the index of one transcript and a few of its records; the census opens none.
"""

import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from rehydrate.conversation import KEPT_CHARS
from rehydrate.dataclass import dataclass
from rehydrate.entries import metadata
from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope, boundaries

from .place import Place

P = TypeVar("P", bound=Place)

_SAID = frozenset({"user", "assistant", "system", "attachment", "progress"})


@dataclass(frozen=True, slots=True)
class Summary:
    """One conversation, as its own file has it."""

    size: int
    """Bytes of the transcript."""
    steps: int
    """Its entries, each once: those on branches that were left and those copied into a fork count, too."""
    boundaries: int
    """Its compactions."""
    asked: str | None
    """The first line of its title (at most KEPT_CHARS of it); None when there is none, and no request either."""


@dataclass(frozen=True, slots=True)
class Census:
    """All conversations, without a look into one."""

    ids: tuple[str, ...]
    """Of those with a transcript that is not empty, each once."""
    problems: tuple[str, ...]
    """What cannot be listed, a sentence each."""


def no_title(_: Place) -> str | None:
    """Of a client that keeps all it says of a conversation in the transcript."""
    return None


def summarize(place: P, *, beside: Callable[[P], str | None] = no_title) -> Summary:
    """Reads a conversation for its summary.  `beside`: the title that is kept in another file.  Errors of the file
    system surface as OSError.
    """
    with Log(place.path) as log:
        scope = Scope(log, agent=place.agent)
        entries = (index for index, kind in enumerate(log.types) if kind in _SAID and log.is_entry(index))
        return Summary(
            size=os.stat(place.path).st_size,
            steps=sum(1 for _ in entries),
            boundaries=len(boundaries(scope)),
            asked=_titled(scope, place, beside),
        )


def title(place: P, *, beside: Callable[[P], str | None] = no_title) -> str | None:
    """What the conversation is called, as in its summary.  OSError when it cannot be read."""
    with Log(place.path) as log:
        return _titled(Scope(log, agent=place.agent), place, beside)


def _titled(scope: Scope, place: P, beside: Callable[[P], str | None]) -> str | None:
    named = None if "custom-title" in metadata.metadata(scope) else beside(place)
    text = (named or metadata.title(scope, _requests(scope))).strip()
    return text.split("\n", 1)[0].rstrip()[:KEPT_CHARS] or None


def _requests(scope: Scope) -> Iterator[int]:
    """The entries that can hold a request, in file order."""
    for index, kind in enumerate(scope.log.types):
        if kind in ("user", "attachment") and scope.log.is_entry(index):
            yield index
