"""`rehydrate lineage`: a conversation and its ancestors across `/fork`."""

import os
from typing import TYPE_CHECKING, Any

import click

from rehydrate import clients
from rehydrate.cli import options, output
from rehydrate.cli.choose import choose
from rehydrate.cli.progress import progress
from rehydrate.conversation import Lineage, Segment, Step

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_MISSING = "incomplete: an ancestor could not be found"
_BRANCH_COLUMNS, _LABEL_COLUMNS = 4, 28
"""How far a tree goes to the right with each ancestor, and what has to be left for the last one."""


@click.command(short_help="The files a conversation comes from, across /fork.")
@options.session
@options.as_json
@options.debug
def lineage(session: str | None, as_json: bool) -> None:
    """Show the files a conversation comes from, oldest first, itself last.

    SESSION is a conversation id, the beginning of one, client:id, or the path of a transcript or its folder; without
    it: the newest conversation of this folder.

    \b
    Examples:
      rehydrate lineage
      rehydrate lineage 0184587723 --json
    """
    with progress("looking for ancestors"):
        chosen = choose(session, environ=os.environ, folder=options.working_folder())
        traced: Lineage = clients.module(chosen.client, "lineage").trace(chosen.place, workspaces=chosen.workspaces)
    if as_json:
        output.print_json(
            {
                "version": output.VERSION,
                "client": chosen.client,
                "session": chosen.place.session,
                "segments": segments_as_json(traced.segments),
                "complete": traced.complete,
                "why": list(traced.why),
            }
        )
        return
    reasons = (output.indented(output.one_line(each)) for each in traced.why)
    output.emit(segments_tree(traced.segments, complete=traced.complete), *reasons)


def segments_as_json(segments: tuple[Segment, ...]) -> list[dict[str, Any]]:
    """As `show` and `lineage` have them."""
    return [
        {"session": each.session, "path": each.path, "min_step": each.min_step, "max_step": each.max_step}
        for each in segments
    ]


def segments_tree(segments: tuple[Segment, ...], *, complete: bool = True) -> "RenderableType":
    """Which steps, of which conversation, in which file, for `output.emit`.

    On a terminal a tree with the oldest ancestor as its root (a list where there is no room for so many branches); in
    a pipe a line each, oldest first.  A lineage that is not `complete` says so: on a terminal above the oldest, in a
    pipe below all.
    """
    return _tree(segments, complete) if output.is_terminal() else _rows(segments, complete)


def _tree(segments: tuple[Segment, ...], complete: bool) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

    labels = [] if complete else [Text(_MISSING, style="yellow")]
    labels += [_label(each, itself=each is segments[-1]) for each in segments]
    if (output.columns() or 0) - _BRANCH_COLUMNS * len(labels) < _LABEL_COLUMNS:
        return Group(*labels)
    root = branch = Tree(labels[0], guide_style="dim")
    for label in labels[1:]:
        branch = branch.add(label)
    return root


def _label(segment: Segment, *, itself: bool) -> "Text":
    from rich.text import Text

    head = (output.one_line(segment.session), "bold") if itself else output.one_line(segment.session)
    mark = "  (this conversation)" if itself else ""
    steps = _steps(segment)
    if segment.min_step is not None:
        steps = f"{'steps' if isinstance(segment.min_step, int) else 'entries'} {steps}"
    return Text.assemble(head, f"  {steps}{mark}\n", (output.short(segment.path, os.environ), "dim"))


def _rows(segments: tuple[Segment, ...], complete: bool) -> "RenderableType":
    from rich.console import Group

    rows = output.table("", "", "")
    for each in segments:
        rows.add_row(output.one_line(each.session), _steps(each), output.short(each.path, os.environ))
    return rows if complete else Group(rows, _MISSING)


def _steps(segment: Segment) -> str:
    if segment.min_step is None or segment.max_step is None:
        return "no steps"
    return "..".join(map(_step, (segment.min_step, segment.max_step)))


def _step(step: Step) -> str:
    """The number, or the first eight characters of a uuid."""
    return str(step) if isinstance(step, int) else output.one_line(step[:8])
