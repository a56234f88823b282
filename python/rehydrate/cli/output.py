"""What the commands print, and how: text that no terminal takes for orders, JSON that is the same everywhere.

For people a command builds rich renderables and hands them to `emit`.  On a terminal they have its width, colours
(unless NO_COLOR is set) and a pager when they are long; in a pipe the same lines come without any of these.
"""

import io
import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from rehydrate import unseen
from rehydrate.paths import home_folder

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

VERSION = 1
"""Of the JSON documents: members may be added, none is removed or changed in meaning."""
_PIPE_COLUMNS = 100_000
"""Width where there is no terminal: nothing is wrapped or cut there."""
_COLUMNS_MIN, _COLUMNS_MAX = 20, 1_000
"""A terminal that says it is narrower, or wider, is not believed."""
_NARROW_COLUMNS = 60

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


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


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int | None:
    """How wide the terminal is; None in a pipe, where no line is too long."""
    return _terminal().columns if is_terminal() else None


def is_narrow() -> bool:
    """Whether columns of text do not fit beside each other."""
    width = columns()
    return width is not None and width < _NARROW_COLUMNS


def visible(text: str) -> str:
    """The text with what a terminal would obey, hide or reorder written as an escape; tabs and line ends stay."""
    return unseen.spell(text, _escaped).replace("\r", "\\r")


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode()


def one_line(text: str) -> str:
    """The text, everything in it visible, on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def short(path: str, environ: Mapping[str, str]) -> str:
    """A path for people: the home folder as `~`, everything visible, on one line."""
    home = home_folder(environ)
    if home and home != os.sep and (path + os.sep).startswith(home.rstrip(os.sep) + os.sep):
        path = "~" + path[len(home.rstrip(os.sep)) :]
    return one_line(path)


def warn(problems: Iterable[str]) -> None:
    """A line on standard error for each."""
    for problem in problems:
        click.echo(f"Warning: {homely(problem, os.environ)}", err=True)


def homely(text: str, environ: Mapping[str, str]) -> str:
    """A sentence for people: on one line, everything visible, `~` for the home folder in the paths in it."""
    home = home_folder(environ)
    if home and home.strip(os.sep):
        text = re.sub(rf"(?<![\w/.~-]){re.escape(home.rstrip(os.sep) + os.sep)}", f"~{os.sep}", text)
    return one_line(text)


def print_json(document: object) -> None:
    """One document."""
    click.echo(as_json(document, indent=2))


def as_json(document: object, *, indent: int | None = None) -> str:
    """ASCII only, so that the bytes do not depend on the locale; what a terminal would obey is written as an escape."""
    return json.dumps(document, indent=indent).replace("\x7f", "\\u007f")


def print_text(text: str) -> None:
    """Text as it is; long text on a terminal goes through the pager."""
    _page_or_print(text, rows=sum(1 + len(line) // _terminal().columns for line in text.splitlines()))


def emit(*renderables: "RenderableType") -> None:
    """Print rich renderables (or plain text) for people, one below the other; long ones on a terminal are paged."""
    buffer = _Buffer()
    console = _console(buffer)
    for each in renderables:
        console.print(each)
    text = "\n".join(map(_without_blanks_behind, buffer.getvalue().split("\n")))
    _page_or_print(text, rows=text.count("\n"))


def table(*headings: str, numbers: Iterable[str] = ()) -> "Table":
    """An empty table without lines around it; the columns named in `numbers` stand to the right.

    On a terminal a cell that is too wide goes on in the next line; in a pipe there is always one line a row.
    """
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(headings))
    for name in headings:
        made.add_column(name, justify="right" if name in set(numbers) else "left", overflow="fold")
    return made


def facts(rows: Iterable[tuple[str, "RenderableType"]]) -> "RenderableType":
    """What there is to know of one thing: names in a column, what they stand for beside them.

    On a narrow terminal each value stands below its name.
    """
    from rich.console import Group
    from rich.table import Table

    if is_narrow():
        return Group(*(part for name, value in rows for part in (heading(name), indented(value))))
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="bold")
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, value)
    return made


def heading(text: str) -> "RenderableType":
    """A line in bold."""
    from rich.text import Text

    return Text(text, style="bold")


def indented(body: "RenderableType") -> "RenderableType":
    """Two blanks before each line."""
    from rich.padding import Padding

    return Padding(body, (0, 0, 0, 2), expand=False)


def counted(number: int, thing: str) -> str:
    """`1 part`, `2 parts`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def step_in_words(step: int | str) -> str:
    """`step 42`, or for a client whose steps are uuids `entry 1a2b3c4d`."""
    return f"step {step}" if isinstance(step, int) else f"entry {one_line(step[:8])}"


def boundary_in_words(step: int | str, number: int) -> str:
    """`step 42`, or for a client whose steps are uuids which compaction it is: `compaction 2`."""
    return f"step {step}" if isinstance(step, int) else f"compaction {number}"


def when(time_s: float) -> str:
    """A time for people, by their own clock, to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))
    except (OverflowError, OSError, ValueError):
        return "at no known time"


def can_draw(signs: str) -> bool:
    """Whether standard output can show these signs."""
    # Whoever asks for the C locale wants its letters; Python writes UTF-8 all the same, and a pager does not.
    if os.environ.get("LC_ALL") in ("C", "POSIX"):
        return signs.isascii()
    try:
        signs.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _Buffer(io.StringIO):
    """Text that claims an encoding by which rich draws with nothing that standard output could not show."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read only here
        return "utf-8" if can_draw("\u2501\u2514") else "ascii"


def _console(file: io.StringIO) -> "Console":
    from rich.console import Console

    plain = not is_terminal() or _is_dumb() or bool(os.environ.get("NO_COLOR"))
    return Console(
        file=file,
        force_terminal=not plain,
        color_system=None if plain else "auto",
        no_color=plain,  # rich itself takes an empty NO_COLOR for a set one
        width=columns() or _PIPE_COLUMNS,
        height=_terminal().lines,  # rich would believe whatever LINES holds
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def _without_blanks_behind(line: str) -> str:
    """The line without the blanks at its end; the codes that end a colour there stay."""
    line, codes = line.rstrip(" "), ""
    while (start := line.rfind("\x1b[")) >= 0 and _COLOUR.fullmatch(line, start):
        line, codes = line[:start].rstrip(" "), line[start:] + codes
    return line + codes


def _page_or_print(text: str, *, rows: int) -> None:
    """`rows`: how many of the terminal's the text takes."""
    text = text if text.endswith("\n") else text + "\n"
    if rows >= _terminal().lines and is_terminal() and not _is_dumb() and _has_pager():
        encoding = sys.stdout.encoding or "utf-8"
        # The pager ends the last line itself, and is given what it can be given.
        paged = text.removesuffix("\n").encode(encoding, "backslashreplace").decode(encoding)
        click.echo_via_pager(paged)
    else:
        click.echo(text, nl=False)


def _has_pager() -> bool:
    """Whether PAGER, or without it one of the usual ones, is a command that is there."""
    try:
        words = shlex.split(os.environ.get("PAGER", ""))
    except ValueError:  # a quote that is not closed
        return False
    return any(map(shutil.which, words[:1] or ("less", "more")))


def _is_dumb() -> bool:
    """Whether the terminal can do nothing but show lines."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def _terminal() -> os.terminal_size:
    """Its size: COLUMNS and LINES, else what it says; where it cannot be asked, or says 0, 80 by 24."""
    size = shutil.get_terminal_size()
    return os.terminal_size((min(max(size.columns or 80, _COLUMNS_MIN), _COLUMNS_MAX), size.lines or 24))
