"""`rehydrate lineage`: a conversation and its ancestors across `/fork`."""

import os
from typing import Any

import click

from rehydrate import clients
from rehydrate.cli import options, output
from rehydrate.cli.choose import choose
from rehydrate.conversation import Segment


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
    chosen = choose(session, environ=os.environ, folder=options.working_folder())
    traced = clients.module(chosen.client, "lineage").trace(chosen.place, workspaces=chosen.workspaces)
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
    click.echo(segments_as_text(traced.segments))
    if not traced.complete:
        click.echo("incomplete: an ancestor could not be found")
    for reason in traced.why:
        click.echo(f"  {output.one_line(reason)}")


def segments_as_json(segments: tuple[Segment, ...]) -> list[dict[str, Any]]:
    """As `show` and `lineage` have them."""
    return [
        {"session": each.session, "path": each.path, "min_step": each.min_step, "max_step": each.max_step}
        for each in segments
    ]


def segments_as_text(segments: tuple[Segment, ...]) -> str:
    """A line each: which steps, of which conversation, in which file."""
    rows = []
    for each in segments:
        steps = "no steps" if each.min_step is None else f"{each.min_step}..{each.max_step}"
        rows.append((output.one_line(each.session), steps, output.short(each.path, os.environ)))
    return output.table(rows)
