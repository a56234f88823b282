"""What `show` tells at first: which conversation and boundary, what is brought back, and what is not.

Everything is there in a pipe, too, as plain lines; only the bars are not.
"""

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rehydrate import clients
from rehydrate.cli import output
from rehydrate.cli.choose import Chosen
from rehydrate.cli.lineage import segments_tree
from rehydrate.cli.reasons import WORDS, left_out, pressure_in_words, refused
from rehydrate.cli.sessions import title_of
from rehydrate.conversation import KEPT_CHARS, Boundary, Lineage
from rehydrate.recall import Section
from rehydrate.serve import Served

if TYPE_CHECKING:
    from rich.console import RenderableType

_BAR_COLUMNS = 24
_BARS_FROM_COLUMNS = 80
"""A narrower terminal has no room for them."""
_FILES_SHOWN = 8


def overview(chosen: Chosen, served: Served) -> list["RenderableType"]:
    """For `output.emit`."""
    told: list[RenderableType] = []
    title = _title(chosen, served)
    if title:
        told.append(output.heading(title))
    told += [output.facts(_header(chosen, served)), "", _sections(served.rehydration.sections)]
    for section in served.rehydration.sections:
        told += _files(section)
    missing = list(_missing(served))
    if missing:
        told += ["", *missing]
    told += ["", _size(served), "Next: --text shows the text itself, --why the reasons."]
    return told


def _title(chosen: Chosen, served: Served) -> str:
    """As `sessions` has it: the client's own, else of the first request, for a fork of its own first one; empty where
    there is none.
    """
    kept: str | None = clients.module(chosen.client, "listing").title(chosen.place)
    if kept is not None:
        return output.one_line(title_of(kept))
    asked = [turn for turn in served.conversation.turns if turn.role == "user" and turn.text]
    own = [turn for turn in asked if turn.segment == len(served.conversation.segments) - 1]
    text = next((turn.text for turn in own or asked if turn.text), "").strip()
    return output.one_line(title_of(text.split("\n", 1)[0][:KEPT_CHARS]))


def _header(chosen: Chosen, served: Served) -> Iterator[tuple[str, "RenderableType"]]:
    yield "conversation", f"{chosen.client}:{output.one_line(chosen.place.session)}"
    yield "transcript", output.short(chosen.place.origin, os.environ)
    modified_s = _modified_s(chosen)
    if modified_s:
        yield "modified", output.when(modified_s)
    yield "boundary", _boundary(served.boundary)
    pressure = pressure_in_words(chosen, served)
    if pressure:
        yield "budgets", pressure
    if chosen.client in clients.HOOKED:
        yield "delivered", _delivery(chosen, served.conversation.boundary)
    yield "lineage", _lineage(served.lineage)


def _lineage(lineage: Lineage) -> "RenderableType":
    if len(lineage.segments) == 1 and lineage.complete:
        return "no ancestors"
    return segments_tree(lineage.segments, complete=lineage.complete)


def _modified_s(chosen: Chosen) -> float:
    """When the transcript was last written; 0 when it is gone by now."""
    place = chosen.place
    if place.joined:
        modified_s: float = clients.module(chosen.client, "layout").modified_s(place)
        return modified_s
    try:
        return os.stat(place.path).st_mtime
    except OSError:
        return 0


def _boundary(boundary: Boundary | None) -> str:
    if boundary is None:
        return "none: what a compaction now would bring back"
    counts = "counts" if boundary.counts else "does not count"
    what = output.boundary_in_words(boundary.step, boundary.checkpoint)
    return f"{what}, {counts}: {output.one_line(boundary.why)}"


def _delivery(chosen: Chosen, boundary: Boundary | None) -> str:
    """The hook's last delivery, as far as it is remembered."""
    last = chosen.delivery
    if last is None:
        return "nothing that the hook remembers"
    done = "sent" if last.status == "sent" else f"begun {output.counted(last.tries, 'time')} but not finished"
    here = boundary is not None and (last.step, last.id) == (boundary.checkpoint, boundary.id)
    what = "step" if chosen.state is not None else "compaction"  # a client without a state has no numbered steps
    return f"{what} {last.step}, {done}, id {output.one_line(last.id)}{'' if here else '; not what is shown here'}"


def _sections(sections: tuple[Section, ...]) -> "RenderableType":
    if output.is_narrow():
        return output.facts((each.name, _in_words(each)) for each in sections)
    numbers = ("items", "left out", "characters", "budget")
    bars = (output.columns() or 0) >= _BARS_FROM_COLUMNS
    rows = output.table("section", *numbers, *([""] if bars else []), numbers=numbers)
    for each in sections:
        cells: list[RenderableType] = [each.name, *(f"{n:,}" for n in (_count(each), each.left_out))]
        cells += [f"{each.used_chars:,}", f"{each.budget_chars:,}"]
        if bars:
            cells.append(_bar(each))
        rows.add_row(*cells)
    return rows


def _bar(section: Section) -> "RenderableType":
    """How much of the budget is used, in colours that every terminal has, as its owner likes them."""
    from rich.progress_bar import ProgressBar

    used, budget = (section.used_chars, section.budget_chars) if section.budget_chars > 0 else (0, 1)
    return ProgressBar(budget, used, _BAR_COLUMNS, style="bright_black", complete_style="cyan", finished_style="cyan")


def _count(section: Section) -> int:
    """How many items it holds, as its text has it: a signpost at a fork is none."""
    return sum(item.role != "fork" for item in section.items)


def _in_words(section: Section) -> str:
    used = f"{output.counted(_count(section), 'item')}, {section.used_chars:,} of {section.budget_chars:,} characters"
    return used + (f", {section.left_out:,} left out" if section.left_out else "")


def _files(section: Section) -> Iterator["RenderableType"]:
    """The files of a section, the rest counted."""
    files = [each for each in section.items if each.path]
    if files:
        yield ""
        yield output.heading(section.name)
    shown = files if output.columns() is None else files[:_FILES_SHOWN]
    for each in shown:
        cut = f", {output.counted(each.left_out_chars, 'character')} left out" if each.left_out_chars else ""
        yield output.indented(
            f"{output.short(each.path or '', os.environ)}, {each.role} at {output.step_in_words(each.step)}{cut}"
        )
    if len(files) > len(shown):
        yield f"  and {len(files) - len(shown):,} more"


def _missing(served: Served) -> Iterator[str]:
    """What is not brought back, in short."""
    lines = [left_out(each) for each in served.rehydration.sections if each.left_out]
    if lines:
        yield f"left out: {', '.join(lines)}"
    paths = refused(served)
    if paths:
        counts = Counter(paths.values()).most_common()
        why = "; ".join(f"{count:,} {WORDS.get(reason, reason)}" for reason, count in counts)
        yield f"{output.counted(len(paths), 'file')} not read: {why}"


def _size(served: Served) -> str:
    stats = served.rehydration.stats
    sizes = ", ".join(f"{len(each.encode()):,}" for each in served.parts)
    parts = output.counted(len(served.parts), "part")
    return f"{stats['chars']:,} characters, about {stats['est_tokens']:,} tokens, in {parts} of {sizes} bytes"
