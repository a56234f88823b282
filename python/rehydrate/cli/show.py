"""`rehydrate show`: what the model is given back after a compaction, by the same code as the hook."""

import os
from typing import Any

import click

from rehydrate import clients
from rehydrate.cli import options, output
from rehydrate.cli.choose import Chosen, choose
from rehydrate.cli.lineage import segments_as_json
from rehydrate.cli.overview import overview
from rehydrate.cli.progress import progress
from rehydrate.cli.reasons import why
from rehydrate.serve import END, Served, serve
from rehydrate.settings import Settings, read_settings


def _at(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == END:
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a checkpoint number nor {END!r}", ctx, param) from None


@click.command(short_help="What the model is given back after a compaction.")
@options.session
@click.option(
    "--at", metavar="N|end", callback=_at, help="The boundary with this number, or `end` for a compaction now."
)
@click.option("--part", type=click.IntRange(min=1), metavar="K", help="Only this part of the delivery.")
@click.option("--why", "form", flag_value="why", help="Why each boundary counts or not, and what was left out.")
@click.option("--text", "form", flag_value="text", help="The text alone, as the model is given it.")
@click.option("--json", "form", flag_value="json", help="Print JSON and nothing else.")
@options.debug
def show(session: str | None, at: int | str | None, part: int | None, form: str | None) -> None:
    """Show what the model is given back for a boundary; without --at: for the newest one that counts.

    Where there is no boundary yet it is what a compaction now would bring back. SESSION is a conversation id, the
    beginning of one, client:id, or the path of a transcript or its folder; without it: the newest conversation of this
    folder.

    \b
    Examples:
      rehydrate show
      rehydrate show 0184587723 --text
      rehydrate show --at end --json
    """
    settings, problems = read_settings(os.environ)
    with progress("reading the transcript"):
        chosen = choose(session, environ=os.environ, folder=options.working_folder())
        served = _served(chosen, at, settings)
    output.warn(problems if form != "why" else ())
    if not served.conversation.turns:
        raise click.ClickException(f"the conversation {output.one_line(chosen.place.session)} holds no message yet")
    if part is not None and part > len(served.parts):
        raise click.ClickException(f"there is no part {part}: the delivery has {len(served.parts)}")
    if form == "json":
        output.print_json(_as_json(chosen, served, part))
    elif form == "text" or (part is not None and form is None):
        output.print_text(served.parts[part - 1] if part is not None else served.rehydration.text)
    elif form == "why":
        output.emit(*why(chosen, served, settings, problems))
    else:
        output.emit(*overview(chosen, served))


def _served(chosen: Chosen, at: int | str | None, settings: Settings) -> Served:
    with clients.module(chosen.client, "layout").readable(chosen.place) as place:
        return serve(chosen.client, place, at=at, settings=settings, workspaces=chosen.workspaces)


def _as_json(chosen: Chosen, served: Served, part: int | None) -> dict[str, Any]:
    boundary, count = served.boundary, len(served.parts)
    judged = boundary and {name: getattr(boundary, name) for name in ("step", "form", "counts", "why")}
    return {
        "version": output.VERSION,
        "client": chosen.client,
        "session": chosen.place.session,
        "transcript": chosen.place.origin,
        "boundary": judged,
        "lineage": segments_as_json(served.lineage.segments),
        "stats": served.rehydration.stats,
        "sections": [each.as_json() for each in served.rehydration.sections],
        "parts": [
            {"k": k, "n": count, "bytes": len(text.encode()), "utf16": len(text.encode("utf-16-le")) // 2, "text": text}
            for k, text in enumerate(served.parts, 1)
            if part in (None, k)
        ],
        "text": served.rehydration.text,
        "lossy": served.conversation.lossy,
    }
