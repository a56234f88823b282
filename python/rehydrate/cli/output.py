"""What the commands print, and how: text that no terminal takes for orders, JSON that is the same everywhere."""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping

import click

from rehydrate.paths import home_folder

VERSION = 1
"""Of the JSON documents: members may be added, none is removed or changed in meaning."""

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def prepare() -> None:
    """Make standard output and error able to take any text, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def flush() -> None:
    """Bring everything out now, where a closed pipe can still be met in peace."""
    if sys.stdout is not None:
        sys.stdout.flush()


def visible(text: str) -> str:
    """The text with what a terminal would obey, hide or reorder written as an escape; tabs and line ends stay."""
    return _UNSEEN.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str) -> str:
    """The text, everything in it visible, on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def short(path: str, environ: Mapping[str, str]) -> str:
    """A path for people: the home folder as `~`, everything visible, on one line."""
    home = home_folder(environ)
    if home and home != os.sep and (path + os.sep).startswith(home.rstrip(os.sep) + os.sep):
        path = "~" + path[len(home.rstrip(os.sep)) :]
    return one_line(path)


def print_json(document: object) -> None:
    """One document.  ASCII only, so that the bytes do not depend on the locale."""
    click.echo(json.dumps(document, indent=2))


def print_text(text: str) -> None:
    """Text as it is; long text on a terminal goes through the pager."""
    if sys.stdout is not None and sys.stdout.isatty() and text.count("\n") > _terminal_lines():
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _terminal_lines() -> int:
    """How many lines the terminal shows."""
    return os.get_terminal_size(sys.stdout.fileno()).lines


def table(rows: Iterable[tuple[object, ...]]) -> str:
    """Columns with two blanks between them, numbers to the right; nothing at the end of a line."""
    kinds = [[isinstance(cell, int) for cell in row] for row in rows]
    texts = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)] if texts else []
    lines = []
    for cells, numbers in zip(texts, kinds, strict=True):
        padded = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(cells, widths, numbers, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def heading(text: str) -> str:
    """Bold on a terminal, unless NO_COLOR is set; click drops the codes where there is none."""
    return text if os.environ.get("NO_COLOR") else click.style(text, bold=True)
