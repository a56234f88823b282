"""Section 1: what the user asked for, every request of the whole lineage as far as the budget goes.

All of them whole if they fit.  Else each is clipped, and the newest is taken first, then the first five (the founding
constraints), then backwards from the newest while they fit.
"""

from collections.abc import Callable

from rehydrate.conversation import Conversation, Turn
from rehydrate.recall.render import Item, Section, fit, heading, render_item, signposts, step_word
from rehydrate.recall.text import Clipped, clip, left_out_mark
from rehydrate.settings import Settings

NAME = "requests"
_CLIPPED_CHARS = 6_000
_HEAD_PERCENT = 75
_FOUNDING = 5


def requests_section(conversation: Conversation, settings: Settings, clean: Callable[[str], str]) -> Section:
    """The section within `settings.requests_chars`; every text goes through `clean`."""
    asked = [turn for turn in conversation.turns if turn.role == "user" and (turn.text is None or turn.text.strip())]
    if not asked or settings.requests_chars <= 0:
        return Section(NAME, settings.requests_chars, left_out=len(asked))
    choice = _Choice(conversation, settings.requests_chars, asked, clean)
    return choice.whole() or choice.clipped() or choice.chosen()


class _Choice:
    """Which requests stand in the section."""

    def __init__(self, conversation: Conversation, budget: int, asked: list[Turn], clean: Callable[[str], str]) -> None:
        self._budget = budget
        self._asked = asked
        self._clean = clean
        self._posts = signposts(conversation, [(turn.segment, turn.step) for turn in asked])
        total = len(asked)
        self._left = self._budget - len(heading(_title(total, total), _remark(total)))
        self._taken: dict[int, Item] = {}
        self._segments: set[int] = set()

    def whole(self) -> Section | None:
        """All of them as they are; None where they do not fit."""
        return self._all(lambda text: (text, 0))

    def clipped(self) -> Section | None:
        """All of them, long ones clipped; None where they do not fit."""
        return self._all(_clip)

    def chosen(self) -> Section:
        """As many as fit, the most important first."""
        newest = len(self._asked) - 1
        if self._take(newest, room=self._left):
            self._take_founding(list(range(min(_FOUNDING, newest))))
            self._take_backwards(newest - 1)
        return self._section(self._taken)

    def _take_founding(self, founding: list[int]) -> None:
        """The first five: whole, or clipped to an equal share each where they do not fit together."""
        items = [self._item(at, clipped) for at in founding if (clipped := self._clipped(at))]
        posts = {self._asked[at].segment for at in founding} - self._segments
        cost = sum(len(render_item(item)) for item in items)
        cost += sum(len(render_item(self._posts[post])) for post in posts if post in self._posts)
        share = self._left if cost <= self._left else self._left // len(founding)
        for at in founding:
            self._take(at, room=share)

    def _take_backwards(self, newest: int) -> None:
        for at in range(newest, -1, -1):
            if at in self._taken:
                continue
            clipped = self._clipped(at)
            if clipped is None or len(render_item(self._item(at, clipped))) + self._post_chars(at) > self._left:
                return
            self._take(at, room=self._left)

    def _take(self, at: int, *, room: int) -> bool:
        """Take the request, clipped to what fits into `room`, its signpost included; False where nothing does."""
        text = self._text(at)
        item = text and fit(
            text,
            lambda clipped: self._item(at, clipped),
            room=room - self._post_chars(at),
            limit=_CLIPPED_CHARS,
            head_percent=_HEAD_PERCENT,
            mark=left_out_mark,
        )
        if not item:
            return False
        self._left -= len(render_item(item)) + self._post_chars(at)
        self._taken[at] = item
        self._segments.add(self._asked[at].segment)
        return True

    def _post_chars(self, at: int) -> int:
        """What taking the request costs beside itself: the signpost, where it is the first of its segment."""
        segment = self._asked[at].segment
        if segment in self._segments or segment not in self._posts:
            return 0
        return len(render_item(self._posts[segment]))

    def _clipped(self, at: int) -> Clipped | None:
        text = self._text(at)
        return _clip(text) if text else None

    def _text(self, at: int) -> str | None:
        text = self._asked[at].text
        return None if text is None else self._clean(text)

    def _item(self, at: int, clipped: Clipped) -> Item:
        turn = self._asked[at]
        return Item(turn.step, "user", clipped[0], f"[{at + 1}] step {step_word(turn.step)}", left_out_chars=clipped[1])

    def _all(self, shorten: Callable[[str], Clipped | None]) -> Section | None:
        items: dict[int, Item] = {}
        used = 0
        for at in range(len(self._asked)):
            text = self._text(at)
            clipped = shorten(text) if text else None
            used += len(clipped[0]) if clipped else 0
            # Thousands of requests are not all made ready when the first hundreds are too many already.
            if clipped is None or used > self._budget:
                return None
            items[at] = self._item(at, clipped)
        section = self._section(items)
        return section if section.used_chars <= self._budget else None

    def _section(self, items: dict[int, Item]) -> Section:
        listed: list[Item] = []
        segment = None
        for at in sorted(items):
            if self._asked[at].segment != segment:
                segment = self._asked[at].segment
                listed += [self._posts[segment]] if segment in self._posts else []
            listed.append(items[at])
        total = len(self._asked)
        left_out = total - len(items)
        title, remark = _title(len(items), total), _remark(left_out) if left_out else ""
        return Section(NAME, self._budget, tuple(listed), left_out, title=title, remark=remark)


def _clip(text: str) -> Clipped | None:
    return clip(text, _CLIPPED_CHARS, head_percent=_HEAD_PERCENT, mark=left_out_mark)


def _title(kept: int, total: int) -> str:
    return f"1. Requests of the user, verbatim: {kept} of {total}"


def _remark(left_out: int) -> str:
    return f"{left_out} left out for want of room; the others keep their numbers."
