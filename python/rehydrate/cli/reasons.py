"""What `show --why` tells: why each boundary counts or not, where the budgets and the workspaces come from, what was
left out and which files were not read.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rehydrate import clients
from rehydrate.cli import output
from rehydrate.cli.choose import Chosen
from rehydrate.conversation import Boundary
from rehydrate.recall import Section
from rehydrate.serve import Served
from rehydrate.settings import Settings

if TYPE_CHECKING:
    from rich.console import RenderableType

WORDS = {
    "relative": "not named by an absolute path",
    "outside": "outside the conversation's workspaces",
    "denied": "the client's own, or denied by a setting",
    "folder": "in a folder that is never read",
    "extension": "not text, by its name",
    "secret": "possibly secret, by its name",
    "gone": "no longer there",
    "link": "behind a symbolic link",
    "special": "not a regular file",
    "empty": "empty",
    "large": "larger than 2 MiB",
    "changing": "written to while it was read",
    "binary": "not text, by its content",
    "unreadable": "not readable",
}
"""Why a file was not read (see `rehydrate.files`), to be said of it."""
_PRESSURE = (
    "",
    "halved: this compaction came soon after the one before it",
    "halved, and for requests only: this is the third compaction in a row, each soon after the one before it",
)


def why(chosen: Chosen, served: Served, settings: Settings, problems: list[str]) -> list["RenderableType"]:
    """For `output.emit`.  `problems`: what is wrong with the settings, a sentence each."""
    missing = [] if served.lineage.complete else ["an ancestor could not be found"]
    told: list[RenderableType] = []
    for name, lines in (
        ("Boundaries", [_boundary(each, shown=each == served.boundary) for each in served.boundaries]),
        ("Budgets", [pressure_in_words(chosen, served) or "as the settings have them"]),
        ("Settings", [output.homely(each, os.environ) for each in problems] or ["nothing is wrong with them"]),
        ("Lineage", [*missing, *served.lineage.why] or ["complete"]),
        ("Where files may be read", list(_folders(chosen, served, settings))),
        ("Left out", list(_left_out(served)) or ["nothing"]),
        ("Files that were not read", [_refused(*each) for each in refused(served).items()]),
        ("Notes", list(_notes(served))),
    ):
        told += ["", output.heading(name), *(output.indented(output.one_line(each)) for each in lines or ["none"])]
    return told[1:]


def pressure_in_words(chosen: Chosen, served: Served) -> str:
    """Why the budgets are smaller than the settings have them; empty where they are not."""
    if served.boundary is None:
        return ""
    return _PRESSURE[served.survey.pressure(served.boundary)]


def left_out(section: Section) -> str:
    """How many of a section's things are not in it."""
    total = section.left_out + sum(item.role != "fork" for item in section.items)
    things = "dialogue entries" if section.name == "dialogue" else section.name
    return f"{section.left_out:,} of {total:,} {things}"


def refused(served: Served) -> dict[str, str]:
    """Each file that was not read, and the reason."""
    return dict(pair for each in served.rehydration.sections for pair in each.refused)


def _left_out(served: Served) -> Iterator[str]:
    """What is missing as a whole, and what within the items."""
    for section in served.rehydration.sections:
        if section.left_out:
            yield f"{left_out(section)}: {_no_room(section)}"
        for item in section.items:
            if item.left_out_chars:
                what = output.short(item.path, os.environ) if item.path else output.step_in_words(item.step)
                yield f"{output.counted(item.left_out_chars, 'character')} of {what}, in {section.name}"


def _no_room(section: Section) -> str:
    if section.budget_chars <= 0:
        return "the budget is 0"
    taken = "the three last modified and the three last read" if section.name == "files" else "as many"
    return f"{taken} are taken, as far as {section.budget_chars:,} characters go"


def _boundary(boundary: Boundary, *, shown: bool) -> str:
    counts = "counts" if boundary.counts else "does not count"
    what = output.boundary_in_words(boundary.step, boundary.checkpoint)
    return f"{what} {counts}: {boundary.why}{' (this one is shown)' if shown else ''}"


def _folders(chosen: Chosen, served: Served, settings: Settings) -> Iterator[str]:
    """Each with where it is known from."""
    told = set(chosen.workspaces)
    layout = clients.module(chosen.client, "layout")
    for path in served.conversation.workspaces:
        source = "as the client told the hook" if path in told else layout.NAMED_BY
        yield f"{output.short(path, os.environ)}, a workspace {source}"
    if not served.conversation.workspaces:
        yield "no workspace is known: any absolute path that no link is part of"
    for path in layout.skills(chosen.place):
        if os.path.isdir(path):
            yield f"{output.short(path, os.environ)}, the user's skills"
    for path in settings.extra_roots:
        yield f"{output.short(path, os.environ)}, by the setting extra_roots"
    for path in settings.deny:
        yield f"{output.short(path, os.environ)} is never read, by the setting deny"


def _refused(path: str, reason: str) -> str:
    return f"{output.short(path, os.environ)}: {reason}: {WORDS.get(reason, reason)}"


def _notes(served: Served) -> Iterator[str]:
    yield from served.conversation.notes
    if served.conversation.damaged:
        yield f"{output.counted(served.conversation.damaged, 'damaged line')} passed over."
