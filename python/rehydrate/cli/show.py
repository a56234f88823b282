"""`rehydrate show`: what the model is given back after a compaction, by the same code as the hook."""

import os
from typing import Any

import click

from rehydrate import clients
from rehydrate.cli import options, output
from rehydrate.cli.choose import Chosen, choose
from rehydrate.cli.lineage import segments_as_json, segments_as_text
from rehydrate.conversation import Boundary
from rehydrate.serve import END, Served, serve
from rehydrate.settings import read_settings


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
    chosen = choose(session, environ=os.environ, folder=options.working_folder())
    served, problems = _served(chosen, at)
    for problem in problems:
        click.echo(f"Warning: {output.visible(problem)}", err=True)
    if not served.conversation.turns:
        raise click.ClickException(f"the conversation {output.one_line(chosen.place.session)} holds no message yet")
    if part is not None and part > len(served.parts):
        raise click.ClickException(f"there is no part {part}: the delivery has {len(served.parts)}")
    if form == "json":
        output.print_json(_as_json(chosen, served, part))
    elif form == "text" or (part is not None and form is None):
        output.print_text(served.parts[part - 1] if part is not None else served.rehydration.text)
    elif form == "why":
        click.echo(_why(served))
    else:
        click.echo(_overview(chosen, served))


def _served(chosen: Chosen, at: int | str | None) -> tuple[Served, list[str]]:
    settings, problems = read_settings(os.environ)
    with clients.module(chosen.client, "layout").readable(chosen.place) as place:
        served = serve(chosen.client, place, at=at, settings=settings, workspaces=chosen.workspaces)
    return served, problems


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


def _overview(chosen: Chosen, served: Served) -> str:
    stats = served.rehydration.stats
    sections: list[tuple[object, ...]] = [("section", "items", "left out", "characters", "budget")]
    sections += [
        (each.name, len(each.items), each.left_out, each.used_chars, each.budget_chars)
        for each in served.rehydration.sections
    ]
    sizes = ", ".join(f"{len(each.encode()):,}" for each in served.parts)
    parts = "1 part" if len(served.parts) == 1 else f"{len(served.parts)} parts"
    lines = [
        f"{output.heading('conversation')}  {chosen.client}:{output.one_line(chosen.place.session)}",
        f"{output.heading('transcript')}    {output.short(chosen.place.origin, os.environ)}",
        f"{output.heading('boundary')}      {_boundary(served.boundary)}",
        "",
        segments_as_text(served.lineage.segments),
        "",
        output.table(sections),
        "",
        f"{stats['chars']:,} characters, about {stats['est_tokens']:,} tokens, in {parts} of {sizes} bytes",
        "The text itself: --text. The reasons: --why.",
    ]
    return "\n".join(lines)


def _why(served: Served) -> str:
    lines = [output.heading("Boundaries")]
    for each in served.boundaries:
        chosen = "  <- this one" if each == served.boundary else ""
        counts = "counts" if each.counts else "does not count"
        lines.append(f"  {each.step}: {counts}: {output.visible(each.why)}{chosen}")
    if not served.boundaries:
        lines.append("  none")
    lines += ["", output.heading("Lineage"), *(f"  {output.visible(each)}" for each in served.lineage.why)]
    if not served.lineage.why:
        lines.append("  complete")
    lines += ["", output.heading("Left out"), *(_left_out(served) or ["  nothing"])]
    lines += ["", output.heading("Files that were not read")]
    refused = dict(pair for each in served.rehydration.sections for pair in each.refused)
    lines += [f"  {output.short(path, os.environ)}: {why}" for path, why in refused.items()] or ["  none"]
    if served.conversation.notes:
        lines += ["", output.heading("Notes"), *(f"  {output.visible(each)}" for each in served.conversation.notes)]
    return "\n".join(lines)


def _left_out(served: Served) -> list[str]:
    """What there was no room for: whole items, and what is missing within others."""
    lines = []
    for section in served.rehydration.sections:
        if section.left_out:
            lines.append(f"  {section.name}: {section.left_out:,} of its candidates")
        for each in section.items:
            if each.left_out_chars:
                what = output.short(each.path, os.environ) if each.path else f"step {each.step}"
                lines.append(f"  {section.name}: {each.left_out_chars:,} characters of {what}")
    return lines


def _boundary(boundary: Boundary | None) -> str:
    if boundary is None:
        return "none: what a compaction now would bring back"
    counts = "counts" if boundary.counts else "does not count"
    return f"step {boundary.step}, {counts}: {output.visible(boundary.why)}"
