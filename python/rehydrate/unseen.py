"""Characters that a reader does not see, or that move, reorder or overwrite what stands beside them.

One list for all that is written: what goes to a model and what goes to a terminal differ only in how such a character
is spelt.  Standard library only: the hook asks for this, too.
"""

import re
from collections.abc import Callable

_SIGNS = re.compile(
    # C0 but tab and line feed, DEL and C1; soft hyphen, joiners and fillers that show nothing.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    # Zero-width signs, direction marks, line and paragraph separators, embeddings, overrides and isolates.
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    # Variation selectors, annotations, non-characters, halves of surrogate pairs, musical controls, tags.
    "\ufe00-\ufe0f\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = frozenset("\u200c\u200d")
# Joiners belong to the letters of many scripts and to emoji, and a selector to the sign before it; elsewhere, and in a
# row, they only hide.
_JOINED = re.compile("[^\x00-\u02ff\u2000-\u206f]")
_SELECTED = re.compile("[0-9#*\xa9\xae]|[^\x00-\u02ff\u2000-\u203b\u2060-\u206f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def spell(text: str, write: Callable[[str], str]) -> str:
    """The text with `write` of each such character in its place; tabs and line ends (`\\n`, `\\r\\n`) stay."""
    if _SIGNS.search(text) is None:
        return text

    def spelt(found: re.Match[str]) -> str:
        sign = found[0]
        return (
            sign
            if _belongs(sign, text[max(found.start() - 1, 0) : found.start()], text[found.end() : found.end() + 1])
            else write(sign)
        )

    return _SIGNS.sub(spelt, text)


def braced(sign: str) -> str:
    """`\\u{202e}`; what no encoding has is written as U+FFFD."""
    code = ord(sign)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{{{code:x}}}"


def _belongs(sign: str, before: str, after: str) -> bool:
    """Whether the sign is part of what stands beside it."""
    if sign == "\r":
        return after == "\n"
    if sign in _JOINERS:
        return bool(_JOINED.match(before) and _JOINED.match(after))
    return "\ufe00" <= sign <= "\ufe0f" and bool(_SELECTED.match(before))
