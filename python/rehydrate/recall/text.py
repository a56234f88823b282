"""Words from a log made fit to be quoted: masked, visible, and cut only where a cut does no harm.

Promises: what comes out can be encoded; it holds no character that hides or reorders what stands beside it; a cut never
falls inside a code point or grapheme, as far as a grapheme can be told by single characters.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from rehydrate.redact import MARGIN, mask

# C0 but tab and line feed (and carriage return, see below), DEL, C1, zero-width, bidi overrides and isolates, the byte
# order mark, tag characters, lone surrogates.  The joiners of real scripts and emoji are kept.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONE_RETURN = re.compile("\r(?!\n)")
_BACKTICKS = re.compile("`{3,}")
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
    return cleaned if len(text) < kept else cleaned[: max(0, len(cleaned) - MARGIN)]


def visible(text: str) -> str:
    """The text with characters that hide or reorder written as `\\u{202e}`, and lone surrogates as U+FFFD."""
    if _HIDDEN.search(text):
        text = _HIDDEN.sub(_spelt, text)
    if "\r" in text:
        text = _LONE_RETURN.sub(_spelt, text)
    return text


def _spelt(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{{{code:x}}}"


def one_line(text: str) -> str:
    """A name or path for a line of its own: as `visible`, tabs and line ends included."""
    text = visible(text)
    return text.replace("\r", "\\u{d}").replace("\n", "\\u{a}").replace("\t", "\\u{9}")


def squeezed(text: str, size: int) -> str:
    """The first `size` characters, on one line, runs of white space as one space; `...` says that there was more."""
    text = " ".join(text[: size * 8].split())
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


def clip_ends(text: str, *, head: int, tail: int, mark: Callable[[int], str]) -> Clipped:
    """At most `head` characters from the start and `tail` from the end, `mark(left out)` between them."""
    start = cut_before(text, head)
    end = cut_after(text, max(len(text) - tail, start))
    return text[:start] + mark(end - start) + text[end:], end - start


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
    kept, left_out = clip_ends(text, head=head, tail=spare - head, mark=mark)
    return (kept, left_out) if left_out < len(text) else None


def left_out_mark(count: int) -> str:
    """What stands where characters of a quoted text were left out."""
    return f"\n[... {count} characters left out ...]\n"
