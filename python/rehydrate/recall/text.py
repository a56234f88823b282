"""Words from a log made fit to be quoted: masked, visible, and cut only where a cut does no harm.

Promises: what comes out can be encoded; it holds no character that hides or reorders what stands beside it, no tag of a
host's frame and no marker of ours; names among our own words end where they end; a cut never falls inside a code point
or grapheme, as far as a grapheme can be told by single characters.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from rehydrate import unseen
from rehydrate.conversation import MARKER_HEAD
from rehydrate.packing import keep_ends
from rehydrate.redact import MARGIN, mask

# What hosts put around what they tell a model, and what models have between turns: of such a tag the `<` is spelt out.
_FRAME = re.compile(
    r"<(?=\||/?\w{1,40}[-_:])"  # few tags have such a name: most of a page are passed over here
    r"(?=\|\w{1,40}\|>|/?(?:antml:)?(?:"
    r"(?:additional_metadata|context_summary|ephemeral[-_]message|(?:start|end)_of_turn|persisted-output)|"
    r"system[-_](?:reminder|message|prompt)|session-start-hook|task-notification|"
    r"user[-_](?:information|memory_input|prompt-submit-hook|request|rules|settings_change)|"
    r"command-(?:args|contents|message|name)|local-command-(?:caveat|stderr|stdout)|bash-(?:input|stderr|stdout)|"
    r"function_(?:calls?|results?)|tool_(?:calls?|response|results?|use_error))(?![\w-]))",
    re.IGNORECASE,
)
_MARKER = MARKER_HEAD[: MARKER_HEAD.rindex(" ")]
_BACKTICKS = re.compile("`{3,}")
_TICKS = re.compile("`+")
_NO_ID = re.compile(r"[^\w-]")
_BARE = re.compile(r"[\w./~@\\][^\s`,;()]*(?<!:)")
_JOINER = "\u200d"
_EXTENDING = frozenset(("\u200c", _JOINER, *(chr(tone) for tone in range(0x1F3FB, 0x1F400))))


def cleaner(*, redact: bool) -> Callable[[str], str]:
    """What every text from a log or a disk goes through before it is clipped: masked (if so set), then made visible.

    It remembers: a request stands in two sections.
    """
    return cache(lambda text: visible(mask(text))) if redact else cache(visible)


def start_of(text: str, clean: Callable[[str], str], *, kept: int) -> str:
    """A text of which a reader kept at most `kept` characters, cleaned, and without the half of a secret that this may
    have left at its end.
    """
    cleaned = clean(text)
    return cleaned if len(text) < kept else cleaned[: cut_before(cleaned, max(0, len(cleaned) - MARGIN))]


def visible(text: str) -> str:
    """The text with nothing in it that hides, moves or reorders, nothing that is a tag of a host's frame, and not our
    marker: of these a character is written as `\\u{202e}` (lone surrogates as U+FFFD).
    """
    text = unseen.spell(text, unseen.braced)
    if "<" in text:
        text = _FRAME.sub(lambda found: unseen.braced(found[0]), text)
    return text.replace(_MARKER, unseen.braced("[") + _MARKER[1:]) if _MARKER in text else text


def one_line(text: str) -> str:
    """A name or path for a line of its own: as `visible`, tabs and line ends included."""
    text = visible(text)
    return text.replace("\r", "\\u{d}").replace("\n", "\\u{a}").replace("\t", "\\u{9}")


def id_word(text: str) -> str:
    """The first eight characters of an id, in which nothing means anything to the line that it stands in."""
    return unseen.spell(_NO_ID.sub(lambda found: unseen.braced(found[0]), text[:8]), unseen.braced)


def named(name: str) -> str:
    """A name among our own words, on one line: as it is where it can be told from these, else in backticks, those in it
    spelt out; `?` for none.
    """
    return "?" if not name else name if _BARE.fullmatch(name) else f"`{without_ticks(name)}`"


def without_ticks(name: str) -> str:
    """The name with its backticks spelt out."""
    return name.replace("`", unseen.braced("`"))


def code(text: str) -> str:
    """Text on one line in backticks that it cannot close."""
    bar = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{bar}{space}{text}{space}{bar}"


def squeezed(text: str, size: int) -> str:
    """The first `size` characters, on one line, runs of white space as one space; `...` says that there was more."""
    text = visible(" ".join(text[: size * 8].split()))  # what was apart may mean something now
    return text if len(text) <= size else text[: cut_before(text, size)] + "..."


def fence(text: str) -> str:
    """Backticks that the text cannot close: three, or one more than its longest run."""
    if "```" not in text:
        return "```"
    return "`" * (max(map(len, _BACKTICKS.findall(text))) + 1)


def is_cut(text: str, at: int) -> bool:
    """Whether the text may be parted before the character at `at`."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before != _JOINER and not (before == "\r" and after == "\n")
    if before == _JOINER or after in _EXTENDING or "\u1160" <= after <= "\u11ff":
        return False
    if unicodedata.category(after).startswith("M"):
        return False
    return not (_is_regional(before) and _is_regional(after) and _flags_before(text, at) % 2)


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    """Regional indicators in a row before `at`: two make a flag."""
    start = at
    while start > 0 and _is_regional(text[start - 1]):
        start -= 1
    return at - start


def cut_before(text: str, at: int, *, floor: int = 0) -> int:
    """The last cut at or before `at`, not before `floor`."""
    while at > floor and not is_cut(text, at):
        at -= 1
    return at


def cut_after(text: str, at: int) -> int:
    """The first cut at or after `at`."""
    while not is_cut(text, at):
        at += 1
    return at


Clipped = tuple[str, int]
"""What is kept with the mark between, and the number of characters left out."""


def clip(text: str, limit: int, *, head_percent: int, mark: Callable[[int], str]) -> Clipped | None:
    """The text in at most `limit` characters, mark included; None where nothing of it would be left.

    The head has its percentage of the limit and the mark is paid by the tail, unless the limit is too small for that.
    """
    if len(text) <= limit:
        return text, 0
    spare = limit - len(mark(len(text)))
    if spare < 1:
        return None
    head = limit * head_percent // 100
    if (spare - head) * 200 < spare * (100 - head_percent):
        head = max(1, spare * head_percent // 100)
    kept, left_out = keep_ends(text, head=head, tail=spare - head, is_cut=is_cut, mark=mark)
    return (kept, left_out) if left_out < len(text) else None


def left_out_mark(count: int) -> str:
    """What stands where characters of a quoted text were left out."""
    return f"\n[... {count} characters left out ...]\n"
