"""What of a long conversation goes into little room: lists of items, each list at several levels of detail.

Promises: an item's words are verbatim from the log (masked and made visible as everywhere); what is left out within a
text is marked; the most important item of a list comes first, and a level only ever says more than the one below.
"""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

from rehydrate.conversation import KEPT_CHARS, Conversation, ToolCall, Turn
from rehydrate.credentials import is_secret
from rehydrate.dataclass import dataclass, field
from rehydrate.files import normalise
from rehydrate.notable import LINE_CHARS, SENTENCE_CHARS, is_rule, spans, telling_spans
from rehydrate.recall.delivery import Measure
from rehydrate.recall.render import Item, render_item
from rehydrate.recall.text import clip, cut_after, cut_before, left_out_mark, named, one_line, start_of, without_ticks
from rehydrate.recall.touched import EVERY_KIND, touched
from rehydrate.redact import MARGIN

FOUNDING = 5
"""Requests at the beginning that come before all others but the newest."""
LISTED_MAX = 3_000
"""Of requests, files or commands so many, the latest, are looked at."""
REQUEST_UNITS = (120, 160, 200, 250, 320, 400, 500, 700, 1_000, 1_500, 2_500, 5_000)
_ROW_CHARS = 300
"""A request of one line up to this length is a line of a list."""
_COMMAND_CHARS = (120, 240, 240, 400, 800, 800)
_COMMAND_LINES = 60
_LINES_EACH = (0, 1, 1, 2, 3, 4)
"""Lines of each call's result."""
_LINES_ALL = (0, 4, 12, 20, 40, 80)
"""Lines of all results of one command, or all reads and edits of one file."""
_SUBJECT_UNITS = 3_000
"""The largest item for one file or command."""
_FOLDER_UNITS = 1_500
_PATH_UNITS = 2_000
_SENTENCES = (1, 1, 2, 3)
_SENTENCE_CHARS = (160, 320, 320, 320)
_OPEN_ROWS = 16
_NAME_CHARS = 60
"""Of a tool or an agent."""
_ORDER_CHARS = 240
"""Of a sentence that orders something at least so much is kept, where the request is."""
_FULL_CHARS = 600
"""From this size on what says little is not left out where it has room."""
_GAP = " [...] "
"""What stands for words left out of a request or an answer."""
_RESTORED = frozenset(("CLAUDE.md", "CLAUDE.local.md", "SKILL.md"))
"""Files whose content a host gives back by itself."""

Clean = Callable[[str], str]


class Requests:
    """What the user asked for, but the newest: that one stands by itself."""

    def __init__(self, conversation: Conversation, clean: Clean, measure: Measure) -> None:
        asked = [turn for turn in conversation.turns if turn.role == "user" and turn.text and turn.text.strip()]
        self.total = max(0, len(asked) - 1)
        self.newest = (len(asked), asked[-1]) if asked else None
        """Its number from 1, and the turn."""
        self._clean = clean
        self._measure = measure
        self._telling = cache(telling_spans)  # a request is asked for at one level after the other
        rows = [*enumerate(asked[:-1], start=1)]
        later = rows[FOUNDING:][-LISTED_MAX:][::-1]
        ruling = [row for row in later if is_rule(row[1].text or "")]
        named = {number for number, _ in ruling}
        self._order = [*rows[:FOUNDING], *ruling, *(row for row in later if row[0] not in named)]

    def at(self, level: int) -> Iterator[Item]:
        """Founding ones, then those that set rules, then the others, latest first."""
        for number, turn in self._order:
            yield self.item(number, turn, units=REQUEST_UNITS[level])

    levels = len(REQUEST_UNITS)

    def item(self, number: int, turn: Turn, *, units: int) -> Item:
        """The request in at most so many units, what it orders kept before the rest."""
        text = self._clean(turn.text or "").strip("\r\n")
        size = min(len(text), units)
        while size > 0:
            kept, left_out = condensed(text, size, telling=self._telling)
            if "\n" not in kept and len(kept) <= _ROW_CHARS:
                item = Item(turn.step, "row", f"[{number}] {kept}", "", left_out_chars=left_out)
            else:
                item = Item(turn.step, "user", kept, f"[{number}]", left_out_chars=left_out)
            used = self._measure(kept)
            if used <= units and self._measure(render_item(item)) <= units + 200:
                return item
            size = min(size - 1, size * units // max(used, units + 1))
        return Item(turn.step, "row", f"[{number}]{_GAP}".rstrip(), "", left_out_chars=len(text))


def condensed(text: str, size: int, *, telling: Callable[[str], list[tuple[int, int]]]) -> tuple[str, int]:
    """The text in at most `size` characters: what it orders before its start, that before its end, and these before
    the rest; with the number of characters left out.  `telling`: what gives the sentences that say most.
    """
    if len(text) <= size:
        return text, 0
    orders = telling(text)
    kept: list[tuple[int, int]] = []
    left = size - 2 * len(_GAP)
    for begin, end in orders[:1]:  # even where it takes the room of all else
        kept.append((begin, cut_before(text, min(end, begin + max(1, left)), floor=begin)))
        left -= kept[0][1] - begin
    head = cut_before(text, max(0, min(size * 30 // 100, _first_sentence(text), left)))
    kept.append((0, head))
    left -= head
    for begin, end in orders[1:]:
        end = min(end, begin + max(_ORDER_CHARS, size // 4))
        cost = end - max(begin, head) + len(_GAP)
        if end > head and cost <= left:
            kept.append((begin, end))
            left -= cost
    if size >= _FULL_CHARS and left > 2 * len(_GAP) + 20:  # two thirds to go on from the start, the rest for the end
        tail = cut_after(text, max(head, len(text) - (left - len(_GAP)) // 3))
        kept.append((tail, len(text)))
        kept.append((head, cut_before(text, head + max(0, left - (len(text) - tail) - len(_GAP)), floor=head)))
    return _pieces(text, kept)


def _first_sentence(text: str) -> int:
    return next((end for _, end in spans(text[:2_000])), len(text))


def _pieces(text: str, kept: list[tuple[int, int]]) -> tuple[str, int]:
    written: list[str] = []
    at = left_out = 0
    for begin, end in [*sorted(kept), (len(text), len(text))]:
        begin = max(begin, at)
        if text[at:begin].strip():
            written.append(_GAP)
            left_out += begin - at
        elif begin > at:
            written.append(text[at:begin])
        written.append(text[begin : max(begin, end)])
        at = max(at, end)
    return "".join(written).rstrip(" "), left_out


def open_work(conversation: Conversation, clean: Clean) -> list[Item]:
    """Calls without a result, and what runs in the background."""
    rows = []
    for agent in conversation.agents:
        what = "running command" if agent.kind == "command" else "running agent"
        name = _name(clean(agent.name), _NAME_CHARS) + (f" (id {_name(clean(agent.id), 80)})" if agent.id else "")
        detail = _short(start_of(agent.detail, clean, kept=KEPT_CHARS), 200)
        rows.append(f"{what}: {name}" + (f": {detail}" if detail else ""))
    for turn in conversation.turns[-LISTED_MAX:]:
        for call in turn.calls:
            if call.pending:
                about = call.path or call.command or call.detail
                words = f": {_short(start_of(about, clean, kept=KEPT_CHARS), 300)}" if about else ""
                rows.append(f"no result yet: {_name(clean(call.name), _NAME_CHARS)}{words}")
    more = len(rows) - _OPEN_ROWS
    rows = rows[-_OPEN_ROWS:] + ([f"and {more} more before these"] if more > 0 else [])
    return [Item("", "row", row, "") for row in rows]


@dataclass(slots=True)
class Subject:
    """One file, command or other thing that calls were about."""

    title: str
    path: str | None
    calls: list[ToolCall] = field(default_factory=list)
    """Oldest first."""


def _may_be_shown(path: str | None) -> bool:
    """False for a file that a host gives back by itself, and for one that nobody is to see."""
    name = (path or "").replace("\\", "/")
    return path is None or not (posixpath.basename(name) in _RESTORED or is_secret(name))


class Subjects:
    """Files, or commands and all else, with lines of what was read, written or answered; latest first."""

    levels = len(_LINES_EACH)

    def __init__(self, found: Sequence[Subject], clean: Clean, measure: Measure) -> None:
        self.total = len(found)
        self._found = found[:LISTED_MAX]
        self._clean = clean
        self._measure = measure
        # A file is asked for at one level after the other.
        self._may_be_shown = cache(_may_be_shown)
        self._named = cache(self._name_of)
        self._line = cache(lambda line: _flat(_shown(line, clean, LINE_CHARS)))

    def at(self, level: int) -> Iterator[Item]:
        """At level 0 names only."""
        for subject in self._found:
            yield self._item(subject, level)

    def folders(self) -> Iterator[Item]:
        """Names only, those of one folder together."""
        folders: dict[str, list[str]] = {}
        for subject in self._found:
            folder, slash, name = one_line(self._clean(subject.title)).rpartition("/")
            folders.setdefault(folder + slash, []).append(name)
        for folder, names in folders.items():
            where = named(self._clipped(folder, _PATH_UNITS)) if folder else "./"
            row = f"{where} "
            for name in names:
                name = named(self._clipped(name, 300))
                if self._measure(row) + self._measure(name) > _FOLDER_UNITS + _PATH_UNITS:
                    yield Item("", "row", row.rstrip(", "), "")
                    row = f"{where} "
                row += f"{name}, "
            yield Item("", "row", row.rstrip(", "), "")

    def _item(self, subject: Subject, level: int) -> Item:
        if subject.path is not None:
            row = self._named(subject.title)
            row += _ways(subject.calls, self._clean) if level else ""
        else:
            title = start_of(subject.title, self._clean, kept=KEPT_CHARS)
            row = _outcome(subject.calls) if level else ""
            row += _lines_of(title, _COMMAND_CHARS[level])
        used = self._measure(row)
        for line in self._noted(subject, level):
            written = f"\n  | {line}"
            used += self._measure(written)
            if used > _SUBJECT_UNITS:
                break
            row += written
        return Item("", "row", row, "")

    def _noted(self, subject: Subject, level: int) -> Iterator[str]:
        """Every call's best line, latest call first, then every call's second; no call is asked in vain."""
        if level and not self._may_be_shown(subject.path):
            return
        given: set[str] = set()
        for rank in range(_LINES_EACH[level]):
            for call in reversed(subject.calls):
                if rank >= len(call.noted) or not call.noted[rank]:
                    continue
                line = self._line(call.noted[rank])
                if line not in given:
                    yield line
                    given.add(line)
                    if len(given) == _LINES_ALL[level]:
                        return

    def _name_of(self, path: str) -> str:
        return named(self._clipped(one_line(self._clean(path)), _PATH_UNITS))

    def _clipped(self, text: str, units: int) -> str:
        """A name within its units, its end kept."""
        while self._measure(text) > units:
            text = "..." + text[cut_after(text, max(4, len(text) - units // 2)) :]
        return text


def files_of(conversation: Conversation) -> list[Subject]:
    """Latest touch first; each with the calls that name it."""
    files = {each.path: Subject(each.path, each.path) for each in touched(conversation.touches, EVERY_KIND)}
    for call in _calls(conversation):
        if call.path:
            path = normalise(call.path) if posixpath.isabs(call.path) else call.path
            files.setdefault(path, Subject(path, path)).calls.append(call)
    return list(files.values())


def commands_of(conversation: Conversation) -> list[Subject]:
    """Commands, and calls that name no file, latest first; the same one is listed once."""
    found: dict[str, Subject] = {}
    for call in _calls(conversation):
        if call.path or (not call.command and not call.detail and not call.noted):
            continue
        name = _name(call.name, _NAME_CHARS)
        title = f"$ {call.command}" if call.command else f"{name}: {call.detail}" if call.detail else name
        subject = found.pop(title, None) or Subject(title, None)
        subject.calls.append(call)
        found[title] = subject  # now the latest
    return list(found.values())[::-1]


def _calls(conversation: Conversation) -> Iterator[ToolCall]:
    for turn in conversation.turns:
        yield from turn.calls


def _ways(calls: Sequence[ToolCall], clean: Clean) -> str:
    """How often each tool had the file, and which lines: ` (Edit 3x, lines 12-40; Read, lines 1-80)`."""
    ways: dict[str, list[str]] = {}
    for call in calls:
        ways.setdefault(_name(clean(call.name), _NAME_CHARS), []).append(call.lines)
    words = []
    for name, ranges in ways.items():
        times = f" {len(ranges)}x" if len(ranges) > 1 else ""
        known = [each[:60] for each in dict.fromkeys(reversed(ranges)) if each][:6]
        words.append(f"{name}{times}" + (f", lines {', '.join(known)}" if known else ""))
    return f" ({'; '.join(words[:6])})" if words else ""


def _outcome(calls: Sequence[ToolCall]) -> str:
    failed = sum(call.failed for call in calls)
    if len(calls) == 1:
        return "(failed) " if failed else ""
    return f"({len(calls)}x" + (f", {failed} failed) " if failed else ") ")


def _lines_of(text: str, size: int) -> str:
    """A command on lines of its own, all but the first marked; what is over `size`, or too many lines, is left out."""
    text = text.strip()
    kept = text if len(text) <= size else text[: cut_before(text, size)]
    lines = kept.split("\n")
    more = " [...]" if len(kept) < len(text) or len(lines) > _COMMAND_LINES else ""
    return "\n  > ".join(lines[:_COMMAND_LINES]) + more


def _flat(text: str) -> str:
    """On one line, tabs kept: they are part of a line of code."""
    return text.replace("\r", "\\u{d}").replace("\n", "\\u{a}")


def _shown(text: str, clean: Clean, size: int) -> str:
    """What is shown of a line or a sentence that was noted."""
    text = start_of(text, clean, kept=size + MARGIN)
    return text[: cut_before(text, size)].rstrip()


@lru_cache  # a few tools make all the calls
def _name(text: str, size: int) -> str:
    return named(_short(without_ticks(one_line(text)), size))


def _short(text: str, size: int) -> str:
    text = _flat(text.strip())
    return text if len(text) <= size else text[: cut_before(text, size)] + "..."


class Decisions:
    """Sentences of the assistant; first those from before earlier compactions, for no summary has them any more."""

    levels = len(_SENTENCES)

    def __init__(self, conversation: Conversation, clean: Clean) -> None:
        self._clean = clean
        number = 0
        rows = []
        for at, turn in enumerate(conversation.turns):
            if turn.role == "user":
                number += bool(turn.text and turn.text.strip())
            elif turn.noted:
                rows.append((at, number, turn))
        early = conversation.compacted[-1] if conversation.compacted else 0
        before = [row for row in rows if row[0] < early]
        after = [row for row in rows if row[0] >= early]
        self._rows = [*before[::-1], *after[::-1]][:LISTED_MAX]
        self.total = len(rows)

    def at(self, level: int) -> Iterator[Item]:
        """The best of each answer."""
        for _, number, turn in self._rows:
            said = [_shown(each, self._clean, SENTENCE_CHARS) for each in turn.noted[: _SENTENCES[level]]]
            best = [_short(each, _SENTENCE_CHARS[level]) for each in said]
            yield Item(turn.step, "row", f"after [{number}]: " + _GAP.join(best), "")


def last_said(conversation: Conversation, clean: Clean, measure: Measure, *, units: int) -> Iterator[Item]:
    """What the assistant said, from the newest on, each in at most so many units; up to the first that was not kept."""
    number = sum(turn.role == "user" and bool(turn.text and turn.text.strip()) for turn in conversation.turns)
    for turn in reversed(conversation.turns):
        if turn.text is None:
            return
        if not turn.text.strip():
            continue
        if turn.role == "user":
            number -= 1
            continue
        text = clean(turn.text).strip("\r\n")
        size = min(len(text), units)
        while size > 0:
            kept, left_out = clip(text, size, head_percent=60, mark=left_out_mark) or ("", 0)
            item = Item(turn.step, "assistant", kept, f"after [{number}]:", left_out_chars=left_out)
            used = measure(render_item(item))
            if kept and used <= units + 60:
                yield item
                break
            size = min(size - 1, size * units // used)
