"""What the pages that are made have in common."""

import html
import re

MADE = "<!-- Made by `python -m docs.generate`: change the code, not this page. -->"


def code(text: str) -> str:
    """Code for a cell of a table, where one renderer needs a `|` in backticks escaped and another shows the escape."""
    return "<code>" + html.escape(text).replace("|", "&#124;") + "</code>" if "|" in text else f"`{text}`"


def escaped(text: str) -> str:
    """The text with what Markdown would take for a sign of its own made plain, outside of backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(each if each.startswith("`") else re.sub(r"([_<\[\]])", r"\\\1", each) for each in pieces)
