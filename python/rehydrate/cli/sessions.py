"""`rehydrate sessions`: the conversations found here, newest first."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from rehydrate import redact
from rehydrate.cli import options, output
from rehydrate.cli.choose import Chosen, WorkedIn, newest_first, remembered, with_roots
from rehydrate.cli.progress import progress
from rehydrate.clients import FOLDERS, OWN, module
from rehydrate.conversation import KEPT_CHARS
from rehydrate.recall.text import start_of
from rehydrate.session.errors import SessionError
from rehydrate.settings import read_settings

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

TITLE_CHARS = 80
"""Of a title, at most."""
_ID_CHARS = 8
"""Of an id on a narrow terminal, at least."""
_TIME_LIMIT_S = 2.5e11
"""Some 8,000 years."""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation as it is listed; None is what cannot be told."""

    chosen: Chosen
    modified_s: float
    workspace: str | None
    title: str | None = None
    size: int | None = None
    steps: int | None = None
    boundaries: int | None = None
    problem: str | None = None
    """Why its transcript could not be read."""

    def as_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        place, delivery = self.chosen.place, self.chosen.delivery
        modified = _utc(self.modified_s)
        return {
            "id": place.session,
            "client": self.chosen.client,
            "application": place.app and os.path.basename(place.app),
            "workspace": self.workspace,
            "title": self.title,
            "transcript": place.origin,
            "modified": modified and modified.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "size": self.size,
            "steps": self.steps,
            "boundaries": self.boundaries,
            "last_delivery": delivery and {"step": delivery.step, "id": delivery.id, "status": delivery.status},
            "problem": self.problem,
        }


@click.command(short_help="The conversations found here, newest first.")
@options.clients
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), metavar="N", default=20, show_default=True, help="How many at most."
)
@options.as_json
@options.debug
def sessions(clients: tuple[str, ...], limit: int, as_json: bool) -> None:
    """List the conversations found here, newest first, whichever application of a client they belong to.

    The sessions of your own agents are those below the folders of the setting session_roots.

    The title is the one that the client keeps, else the first line of the conversation's first request (of a fork: of
    its own first one), secrets masked. Steps are counted from the conversation's very first one, those from before a
    fork included; where steps have no numbers they are the entries of the transcript. Boundaries are the compactions in
    its own file. The last delivery is the step (or the number) of the boundary for which the model was last given its
    history back, and whether that was sent. What is not known is `-`, in JSON null.

    \b
    Examples:
      rehydrate sessions
      rehydrate sessions --limit 100 | grep tidepool
      rehydrate sessions antigravity --json
    """
    names = tuple(dict.fromkeys(clients)) or tuple(FOLDERS)
    environ = with_roots(os.environ)
    output.warn(each for each in read_settings(os.environ)[1] if "session_roots" in each.lower())
    counted = [module(name, "listing").count(environ) for name in names]
    ids = [each for census in counted for each in census.ids]
    listed: list[Session] = []
    with progress("looking at conversations", total=min(limit, len(ids))) as advance:
        for session in _sessions(islice(newest_first(names, environ), limit), environ):
            listed.append(session)
            advance(len(listed))
    if as_json:
        output.print_json([each.as_json() for each in listed])
    elif listed:
        output.emit(_List(listed, ids))
    if not listed:
        click.echo(_nothing(names, environ), err=True)
    elif len(listed) < len(ids) and output.is_terminal() and not as_json:
        click.echo(f"the newest {len(listed):,} of {len(ids):,}; --limit shows more", err=True)
    unread = [f"{each.chosen.place.session} could not be read: {each.problem}" for each in listed if each.problem]
    for problem in (*unread, *(each for census in counted for each in census.problems)):
        click.echo(output.one_line(problem), err=True)


def _nothing(names: Iterable[str], environ: Mapping[str, str]) -> str:
    """Where nothing was found, in words."""
    homes = [module(name, "layout").home(environ) for name in names if name != OWN]
    homes += module(OWN, "layout").roots(environ) if OWN in names else []
    if not homes:
        return "no folder of sessions is known: name yours with `rehydrate config set session_roots FOLDER`"
    return f"no conversation was found in {', '.join(output.short(home, environ) for home in homes)}"


def _sessions(found: Iterable[tuple[float, str, Any]], environ: Mapping[str, str]) -> Iterator[Session]:
    worked_in = WorkedIn()
    for modified_s, client, place in found:
        chosen = remembered(client, place, environ)
        known = worked_in(client, place) or list(chosen.workspaces[:1])
        workspace = known[-1] if known else None
        try:
            summary = module(client, "listing").summarize(place)
        except (OSError, SessionError) as error:
            yield Session(chosen, modified_s, workspace, problem=getattr(error, "strerror", None) or str(error))
            continue
        title = None if summary.asked is None else title_of(summary.asked)
        yield Session(chosen, modified_s, workspace, title, summary.size, summary.steps, summary.boundaries)


def title_of(line: str) -> str:
    """The first line of a request, or the client's own title: secrets masked before it is cut, so that no half of one
    is left.
    """
    title = " ".join(start_of(line, redact.mask, kept=KEPT_CHARS).split())
    return title if len(title) <= TITLE_CHARS else title[: TITLE_CHARS - 3].rstrip() + "..."


def _utc(time_s: float) -> datetime | None:
    """None for a time that no calendar has."""
    if not abs(time_s) < _TIME_LIMIT_S:
        return None
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=int(time_s))


# -- for people -------------------------------------------------------------------------------------------------------

_HEADINGS = ("id", "client", "modified", "size", "steps", "boundaries", "last delivery", "workspace", "title")
_NUMBERS = ("size", "steps", "boundaries")
_GIVEN_UP = ("client", "size", "last delivery", "steps", "boundaries", "workspace", "modified")
"""Columns that make room for the title where the terminal is narrow, one after another."""
_TITLE_CELLS = 24
"""Of a title (that long) at least, before another column is given up."""


class _List:
    """The conversations for `output.emit`: one line each; on a terminal as much of them as its width has room for."""

    def __init__(self, listed: Sequence[Session], ids: Iterable[str]) -> None:
        self._listed = listed
        self._ids = sorted({*ids, *(each.chosen.place.session for each in listed)})

    def __rich_console__(self, _: "Console", space: "ConsoleOptions") -> "RenderResult":
        if output.is_terminal():
            yield self._fitted(space.max_width)
        else:
            yield _table([_cells(each) for each in self._listed], [""] * len(_HEADINGS))

    def _fitted(self, width: int) -> "Table":
        rows = [dict(zip(_HEADINGS, _cells_for_people(each), strict=True)) for each in self._listed]
        shown = list(_HEADINGS)
        if len({row["client"] for row in rows}) == 1:
            shown.remove("client")
        if _left_for_title(rows, shown, width) < 0:
            for row, each in zip(rows, self._listed, strict=True):
                row["id"] = self._short_id(each.chosen.place.session)
                row["workspace"] = row["workspace"].rpartition(os.sep)[2] or row["workspace"]
        for name in _GIVEN_UP:
            if _left_for_title(rows, shown, width) < 0 and name in shown:
                shown.remove(name)
        spare = max(_TITLE_CELLS, _TITLE_CELLS + _left_for_title(rows, shown, width))
        for row in rows:
            row["title"] = _cut(row["title"], spare)
        return _table([[row[name] for name in shown] for row in rows], shown)

    def _short_id(self, name: str) -> str:
        """The beginning of an id that no other one has, of _ID_CHARS at least."""
        at = bisect_left(self._ids, name)
        others = (*self._ids[max(at - 1, 0) : at], *self._ids[at + 1 : at + 2])
        size = min(_ID_CHARS, len(name))
        while size < len(name) and any(other.startswith(name[:size]) for other in others):
            size += 1
        return output.one_line(name[:size])


def _table(rows: Iterable[Iterable[str]], headings: Sequence[str]) -> "Table":
    table = output.table(*headings, numbers=_NUMBERS)
    for row in rows:
        table.add_row(*row)
    return table


def _left_for_title(rows: Iterable[Mapping[str, str]], shown: Iterable[str], width: int) -> int:
    """Cells of the width that are left when the titles have _TITLE_CELLS or what they need; below 0 too few."""
    from rich.cells import cell_len

    widths = {name: max(cell_len(name), *(cell_len(row[name]) for row in rows)) for name in shown}
    return width - sum(min(cells, _TITLE_CELLS) if name == "title" else cells + 2 for name, cells in widths.items())


def _cut(text: str, cells: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= cells else set_cell_size(text, cells - 3).rstrip() + "..."


def _cells(session: Session) -> list[str]:
    """In the order of _HEADINGS, as exact as they are known."""
    told = session.as_json()
    delivery = told["last_delivery"]
    told["last delivery"] = delivery and f"{delivery['step']} {delivery['status']}"
    told["workspace"] = session.workspace and output.short(session.workspace, os.environ)
    return ["-" if told[name] is None else output.one_line(str(told[name])) for name in _HEADINGS]


def _cells_for_people(session: Session) -> list[str]:
    """The same with local times, and sizes in words."""
    from rich.filesize import decimal

    cells = dict(zip(_HEADINGS, _cells(session), strict=True))
    cells["modified"] = output.when(session.modified_s)
    if session.size is not None:
        cells["size"] = decimal(session.size)
    if session.title is None:
        cells["title"] = "(could not be read)" if session.problem else "-"
    return list(cells.values())
