"""Section 2: the last turns before the boundary, verbatim, with tool calls folded to a line for each response.

Calls since the last text go with the assistant's next text.  Those that none follows before the next request go with
the entry before them; those up to the boundary are the last entry, which says which of them had no result yet.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator

from rehydrate.conversation import KEPT_CHARS, Conversation, Step, ToolCall, Turn
from rehydrate.dataclass import dataclass, field, replace
from rehydrate.packing import keep_ends, leading
from rehydrate.recall.render import Item, Section, fit, heading, render_item, signposts, step_word
from rehydrate.recall.text import Clipped, code, is_cut, left_out_mark, named, one_line, squeezed, start_of
from rehydrate.settings import Settings

NAME = "dialogue"
_ENTRY_CHARS = 6_000
_HEAD_CHARS = 4_500
_TAIL_CHARS = 1_200
_GROUPS = 6
_CALLS = 8
_COMMAND_CHARS = 60
_NAME_CHARS = 80

Group = tuple[ToolCall, ...]
"""The calls of one response."""


@dataclass(slots=True)
class Entry:
    """Something said, with the calls that are shown with it."""

    step: Step
    segment: int
    role: str
    """`user`, `assistant`, or `tools` for calls that belong to no text."""
    text: str | None
    """None: it was not kept."""
    before: list[Group] = field(default_factory=list)
    after: list[Group] = field(default_factory=list)
    open: bool = False
    """True for the calls up to the boundary."""
    count: int = 1
    """How many it stands for: more than one only where their texts were not kept."""


def fold(turns: Iterable[Turn]) -> list[Entry]:
    """The turns as entries, each group of calls with the one it belongs to."""
    entries: list[Entry] = []
    waiting: list[Group] = []
    place: tuple[Step, int] = ("", 0)
    for turn in turns:
        said = turn.text is None or bool(turn.text.strip())
        if turn.role == "user":
            if not said:
                continue
            if waiting and not entries:
                entries.append(Entry(*place, "tools", "", waiting))
            elif waiting:
                entries[-1].after += waiting
            waiting = []
            entries.append(Entry(turn.step, turn.segment, "user", turn.text))
            continue
        if said:
            entries.append(Entry(turn.step, turn.segment, "assistant", turn.text, waiting, count=turn.count))
            waiting = []
        if turn.calls:
            waiting.append(turn.calls)
            place = (turn.step, turn.segment)
    if waiting:
        entries.append(Entry(*place, "tools", "", waiting, open=True))
    return entries


def dialogue_section(conversation: Conversation, settings: Settings, clean: Callable[[str], str]) -> Section:
    """The section within `settings.dialogue_chars`: backwards from the boundary until the budget is used."""
    entries = fold(conversation.turns)
    total = sum(entry.count for entry in entries)
    budget = settings.dialogue_chars
    if not entries or budget <= 0:
        return Section(NAME, budget, left_out=total)
    left = budget - len(heading(_title(total, total)))
    taken, _, are_all = leading(_backwards(conversation, entries, clean), left, cost=_chars)
    if not taken and not are_all:
        newest, *post = next(_backwards(conversation, entries, clean))
        smaller = _newest(entries[-1], newest, clean, room=left - _chars(post))
        taken = [(each, *post) for each in smaller]
    items = tuple(reversed([item for group in taken for item in group]))
    kept = sum(item.role != "fork" for item in items)
    return Section(NAME, budget, items, total - kept, title=_title(kept, total))


def _chars(items: Iterable[Item]) -> int:
    return sum(len(render_item(item)) for item in items)


def _title(kept: int, total: int) -> str:
    return f"2. Dialogue up to the compaction, verbatim: the last {kept} of {total} entries"


def _backwards(
    conversation: Conversation, entries: list[Entry], clean: Callable[[str], str]
) -> Iterator[tuple[Item, ...]]:
    """Items from the newest on, up to the first entry whose text was not kept; with the first one after a fork comes
    the signpost that stands before it.
    """
    posts = signposts(conversation, ((entry.segment, entry.step) for entry in entries))
    for at in range(len(entries) - 1, -1, -1):
        entry = entries[at]
        if entry.text is None:
            return
        item = _item(entry, clean)
        if entry.segment in posts and at > 0 and entries[at - 1].segment != entry.segment:
            yield item, replace(posts[entry.segment], tools=())
        else:
            yield (item,)


def _item(entry: Entry, clean: Callable[[str], str]) -> Item:
    if entry.role == "tools":
        return _tools_item(entry, clean, groups=_GROUPS)
    text = clean(entry.text or "")
    clipped = (text, 0)
    if len(text) > _ENTRY_CHARS:
        clipped = keep_ends(text, head=_HEAD_CHARS, tail=_TAIL_CHARS, is_cut=is_cut, mark=left_out_mark)
    return _text_item(entry, clipped, clean)


def _text_item(entry: Entry, clipped: Clipped, clean: Callable[[str], str]) -> Item:
    before, after = fold_calls(entry.before, clean), fold_calls(entry.after, clean)
    label = f"{entry.role}, step {step_word(entry.step)}" + (", after these tool calls:" if before else ":")
    return Item(entry.step, entry.role, clipped[0], label, before, after, left_out_chars=clipped[1])


def _tools_item(entry: Entry, clean: Callable[[str], str], *, groups: int) -> Item:
    tools = fold_last_calls(entry.before, clean, most=groups) if entry.open else fold_calls(entry.before, clean)
    label = f"tools, step {step_word(entry.step)}" + (", nothing said after these calls yet:" if entry.open else ":")
    return Item(entry.step, "tools", "\n".join(f"- {line}" for line in tools), label, tools)


def _newest(entry: Entry, item: Item, clean: Callable[[str], str], *, room: int) -> Iterator[Item]:
    """The newest entry made smaller, where even that one does not fit: one item, or none."""
    if item.role == "tools":
        smaller = (_tools_item(entry, clean, groups=groups) for groups in range(_GROUPS - 1, 0, -1))
        yield from [each for each in smaller if len(render_item(each)) <= room][:1]
        return
    fitted = fit(
        clean(entry.text or ""),
        lambda clipped: _text_item(entry, clipped, clean),
        room=room,
        limit=_ENTRY_CHARS,
        head_percent=100 * _HEAD_CHARS // _ENTRY_CHARS,
        mark=left_out_mark,
    )
    if fitted:
        yield fitted


def fold_calls(groups: list[Group], clean: Callable[[str], str]) -> tuple[str, ...]:
    """A line for each of the first six groups; what is not shown is counted in the last."""
    lines = [_line(group, clean) for group in groups[:_GROUPS]]
    rest = sum(map(len, groups[_GROUPS:]))
    if rest:
        lines[-1] += f"; +{rest} more in the next {len(groups) - _GROUPS} responses"
    return tuple(lines)


def fold_last_calls(groups: list[Group], clean: Callable[[str], str], *, most: int) -> tuple[str, ...]:
    """A line for each of the last groups, where the work stood; what is not shown is counted in the first."""
    skipped = max(0, len(groups) - most)
    lines = [_line(group, clean) for group in groups[skipped:]]
    rest = sum(map(len, groups[:skipped]))
    if rest:
        lines[0] = f"+{rest} more in the {skipped} responses before; " + lines[0]
    return tuple(lines)


def _line(group: Group, clean: Callable[[str], str]) -> str:
    words = [_words(call, clean) for call in group[:_CALLS]]
    rest = group[_CALLS:]
    if rest:
        pending = sum(call.pending for call in rest)
        words.append(f"+{len(rest)} more" + (f" ({pending} with no result yet)" if pending else ""))
    return ", ".join(words)


def _words(call: ToolCall, clean: Callable[[str], str]) -> str:
    words = named(squeezed(clean(call.name), _NAME_CHARS))
    if call.path:
        name = posixpath.basename(clean(call.path).replace("\\", "/").rstrip("/")) or "/"
        words += " " + named(squeezed(one_line(name), _NAME_CHARS))
    elif call.command and (command := squeezed(start_of(call.command, clean, kept=KEPT_CHARS), _COMMAND_CHARS)):
        words += " " + code(command)
    return words + (" (no result yet)" if call.pending else "")
