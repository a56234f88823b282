"""From a conversation's place to its delivery: the one way, taken by the hook and by `show` alike.

Nothing is written here and nothing is remembered; same log, same files, same settings give the same bytes.
"""

import os
from typing import Any

from rehydrate.clients import module
from rehydrate.conversation import Boundary, Conversation, Lineage
from rehydrate.dataclass import dataclass, replace
from rehydrate.files import Access
from rehydrate.plan import text_name
from rehydrate.recall import Rehydration, build
from rehydrate.settings import Settings

END = "end"
"""For `at`: no boundary, what a compaction now would bring back."""
MISSING = "An ancestor of this conversation was not found, so what was said before its first step is missing here."


class NoSuchBoundary(LookupError):
    """The conversation has no boundary of that number; the message names those it has."""


@dataclass(frozen=True, slots=True)
class Served:
    """A rehydration and all that led to it."""

    boundary: Boundary | None
    """The one that it is for; None for what a compaction now would bring back."""
    survey: Any
    """What the client found out about the transcript."""
    lineage: Lineage
    conversation: Conversation
    """Its `boundary`: this one, or where the client can tell the compaction that would be next."""
    rehydration: Rehydration
    parts: list[str]
    """Its text as it is sent: none of them over `settings.part_bytes`, or for a host that takes values, these."""

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """Every boundary of the transcript in file order, those that do not count included."""
        found: tuple[Boundary, ...] = self.survey.boundaries
        return found


def serve(
    client: str,
    place: Any,
    *,
    at: int | str | None = None,
    survey: Any = None,
    settings: Settings,
    workspaces: tuple[str, ...] = (),
    cached: Any = None,
    kept_in: str | None = None,
) -> Served:
    """Rehydrate the conversation at `place` for one boundary.

    `at`: None for the newest boundary that counts (none: as for "end"), a checkpoint number for that boundary whether
    or not it counts, "end" for what a compaction now would bring back.  `survey`: the transcript's, where it was just
    made.  `workspaces`: what is known of them beside the client's own files.  `cached`: a lineage found earlier.
    `kept_in`: the folder of the file that values name for the whole; None: where the client wants it.  Raises
    NoSuchBoundary, and OSError when the transcript cannot be read.
    """
    layout, transcript = module(client, "layout"), module(client, "transcript")
    survey = survey or transcript.survey(place)
    boundary = None  # those that there are need not be judged then
    if at != END:
        boundary = survey.newest if at is None else _chosen(survey.boundaries, at)
    lineage = module(client, "lineage").trace(place, workspaces=workspaces, cached=cached, last_step=survey.last_step)
    named = layout.workspaces_of(place, [each.session for each in lineage.segments])
    known = tuple(dict.fromkeys((*workspaces, *named)))
    # A compaction that is happening has the same text before its boundary is written as after, where a client can tell.
    pending = transcript.pending(place) if boundary is None else None
    end = boundary or pending
    conversation = transcript.read(place, lineage.segments, boundary=end, workspaces=known, survey=survey)
    if not lineage.complete:
        conversation = replace(conversation, notes=(*conversation.notes, MISSING))
    if boundary is not None:
        pressure = survey.pressure(boundary)
        settings = (settings, settings.halved(), settings.requests_only())[pressure]
    access = Access(
        known,
        roots=(*layout.skills(place), *settings.extra_roots),
        denied=(*layout.denied(place), *settings.deny),
    )
    rehydration = build(conversation, settings, access=access)
    folder = kept_in or module(client, "contract").private_folder(place)
    file = folder and os.path.join(folder, text_name(rehydration.checkpoint, rehydration.id))
    parts = write_parts(client, place, conversation, rehydration, settings=settings, file=file)
    return Served(boundary, survey, lineage, conversation, rehydration, parts)


def write_parts(
    client: str, place: Any, conversation: Conversation, whole: Rehydration, *, settings: Settings, file: str | None
) -> list[str]:
    """The text as it is sent.  `file`: where the whole lies, for a host that takes a few values; None: nowhere."""
    contract = module(client, "contract")
    if contract.DELIVERY == "parts":
        return whole.parts(settings.part_bytes)
    return whole.values(
        conversation,
        count=settings.values,
        redact=settings.redact,
        whereabouts=contract.whereabouts(place, file, chars=len(whole.text)),
    )


def _chosen(boundaries: tuple[Boundary, ...], at: int | str) -> Boundary:
    for boundary in reversed(boundaries):
        if boundary.checkpoint == at:
            return boundary
    numbers = ", ".join(str(each.checkpoint) for each in boundaries) or "none"
    raise NoSuchBoundary(f"the conversation has no boundary {at}; it has: {numbers}")
