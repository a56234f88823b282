"""Section 4: the files last worked on, read from disk now: the three last modified, and the three last read besides."""

from collections.abc import Callable, Collection

from rehydrate.conversation import Conversation
from rehydrate.files import Access, FileText, Refused
from rehydrate.recall.render import Item, Section, heading, render_item
from rehydrate.recall.text import one_line
from rehydrate.recall.touched import CHECKED_MAX, Touched, file_item, latest_times, touched
from rehydrate.settings import Settings

NAME = "files"
_LEAST_CHARS = 1_000
_OF_EACH = 3


def files_section(
    conversation: Conversation,
    settings: Settings,
    clean: Callable[[str], str],
    *,
    access: Access,
    elsewhere: Collection[str],
) -> Section:
    """The section within `settings.files_chars`; the paths in `elsewhere` are not repeated."""
    found = (touched(conversation.touches, frozenset((kind,))) for kind in ("modified", "read"))
    modified, read = ([each for each in kind if one_line(clean(each.path)) not in elsewhere] for kind in found)
    budget = settings.files_chars
    if budget <= 0:
        return Section(NAME, budget, left_out=len({each.path for each in (*modified, *read)}))
    shelf = _Shelf(settings, clean, access, latest_times(conversation.touches))
    shelf.add(modified)
    shelf.add(read)
    paths = {each.path for each in (*modified, *read)}
    refused = tuple((one_line(clean(path)), reason) for path, reason in shelf.refused.items())
    left_out = len(paths) - len(shelf.items) - len(refused)
    return Section(NAME, budget, tuple(shelf.items.values()), left_out, refused, _title(len(shelf.items)))


class _Shelf:
    """What has been taken so far, and what could not be."""

    def __init__(
        self, settings: Settings, clean: Callable[[str], str], access: Access, times: dict[str, float | None]
    ) -> None:
        self.items: dict[str, Item] = {}
        self.refused: dict[str, str] = {}
        self._settings = settings
        self._access = access
        self._times = times
        self._clean = clean
        self._left = settings.files_chars - len(heading(_title(2 * _OF_EACH)))

    def add(self, files: list[Touched]) -> None:
        """Up to three of them; all are looked at, so that every refused one is named."""
        wanted = _OF_EACH
        for each in files[:CHECKED_MAX]:
            if each.path in self.items or each.path in self.refused:
                continue
            reading = wanted > 0 and self._left >= _LEAST_CHARS
            found = self._access.read(each.path) if reading else self._access.check(each.path)
            if isinstance(found, Refused):
                self.refused[each.path] = found.reason
            elif found is not None and self._take(each, found):
                wanted -= 1

    def _take(self, each: Touched, found: FileText) -> bool:
        limit = self._settings.single_file_chars
        seen_s = self._times[each.path]
        item = file_item(each, found, seen_s=seen_s, clean=self._clean, limit=limit, room=self._left)
        if item is None:
            return False
        self.items[each.path] = item
        self._left -= len(render_item(item))
        return True


def _title(count: int) -> str:
    return f"4. Files last modified and last read, as they are on disk now: {count}"
