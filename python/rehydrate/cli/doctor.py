"""`rehydrate doctor`: does it all work, and what is to be done where it does not?"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import click

from rehydrate.cli import options, output, registration
from rehydrate.cli.checks import CHECKS, Row, examine, nobody
from rehydrate.cli.choose import with_roots
from rehydrate.cli.progress import progress

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.command(short_help="Check that it works, and say what to do where it does not.")
@options.clients
@options.as_json
@options.debug
@click.pass_obj
def doctor(asked: options.Run, clients: tuple[str, ...], as_json: bool) -> int:
    """Check that it works for CLIENTs; without one: for every supported client found here.

    The registered hook is run as the client runs it, on a made-up conversation in a throw-away home; the newest
    conversations are looked at for what the hook did there. Nothing is changed. The exit status is 1 when a check
    failed; below each that did stands what to do.

    \b
    Examples:
      rehydrate doctor
      rehydrate doctor antigravity --json
    """
    names = tuple(dict.fromkeys(clients or registration.found(os.environ)))
    rows = [] if names else [nobody()]
    for name in names:
        with _told_to_end(), progress(f"checking {name}", total=len(CHECKS)) as advance:
            folder = options.working_folder()
            rows += examine(name, environ=with_roots(os.environ), folder=folder, debug=asked.debug, begun=advance)
    if as_json:
        output.print_json([row.as_json() for row in rows])
    else:
        output.emit(*_shown(rows))
    return 0 if all(row.ok for row in rows) else 1


@contextlib.contextmanager
def _told_to_end() -> Iterator[None]:
    """Tidy up, as after Ctrl-C, when the process is told to end or its terminal is closed."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [each for each in numbers if signal.getsignal(each) is signal.SIG_DFL]
    for each in numbers:
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for each in numbers:
            signal.signal(each, signal.SIG_DFL)


def _shown(rows: list[Row]) -> "list[RenderableType]":
    """A line for each check, below a failed one what to do, and a last line that counts them."""
    from rich.text import Text

    shown: list[RenderableType] = []
    for client, ours in groupby(rows, key=lambda row: row.client):
        if len({row.client for row in rows}) > 1:
            shown.append(output.heading(str(client)))
        table = output.table("", "", "")
        for row in ours:
            detail = Text(output.homely(row.detail, os.environ))
            if row.fix is not None:
                detail.append(f"\n{_arrow()} {output.one_line(row.fix)}", style="bold")
            sign = Text("ok", style="green") if row.ok else Text("FAIL", style="bold red")
            table.add_row(sign, Text(row.check), detail)
        shown.append(table)
    failed = sum(not row.ok for row in rows)
    shown.append(f"{failed} of {len(rows)} checks failed" if failed else f"all {len(rows)} checks passed")
    return shown


def _arrow() -> str:
    """As standard output can show it."""
    return "→" if output.can_draw("→") else "->"
