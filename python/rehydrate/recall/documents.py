"""Section 3: the documents that the conversation works by, read from disk now.

`SKILL.md` exactly, and `.md` files whose name holds SPEC, PLAN, TEMPLATE or HANDOFF in any letter case.
"""

import posixpath
from collections.abc import Callable

from rehydrate.conversation import Conversation
from rehydrate.files import Access, Refused
from rehydrate.recall.render import Item, Section, heading, render_item
from rehydrate.recall.text import one_line
from rehydrate.recall.touched import CHECKED_MAX, EVERY_KIND, file_item, latest_times, touched
from rehydrate.settings import Settings

NAME = "documents"
_LEAST_CHARS = 800
_WORDS = ("spec", "plan", "template", "handoff")


def is_document(path: str) -> bool:
    """Whether a file of that name belongs to this section."""
    name = posixpath.basename(path)
    folded = name.casefold()
    return name == "SKILL.md" or (folded.endswith(".md") and any(word in folded for word in _WORDS))


def documents_section(
    conversation: Conversation, settings: Settings, clean: Callable[[str], str], *, access: Access
) -> Section:
    """The section within `settings.documents_chars`, latest touch first."""
    documents = [each for each in touched(conversation.touches, EVERY_KIND) if is_document(each.path)]
    budget = settings.documents_chars
    if budget <= 0:
        return Section(NAME, budget, left_out=len(documents))
    times = latest_times(conversation.touches)
    left = budget - len(heading(_title(len(documents))))
    items: list[Item] = []
    refused: list[tuple[str, str]] = []
    for each in documents[:CHECKED_MAX]:
        found = access.read(each.path) if left >= _LEAST_CHARS else access.check(each.path)
        if isinstance(found, Refused):
            refused.append((one_line(clean(each.path)), found.reason))
        elif found is not None:
            item = file_item(
                each, found, seen_s=times[each.path], clean=clean, limit=settings.single_file_chars, room=left
            )
            if item:
                items.append(item)
                left -= len(render_item(item))
    left_out = len(documents) - len(items) - len(refused)
    return Section(NAME, budget, tuple(items), left_out, tuple(refused), _title(len(items)))


def _title(count: int) -> str:
    return f"3. Documents of the conversation, as they are on disk now: {count}"
