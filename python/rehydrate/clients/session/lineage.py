"""Whose branch or fork a session is, as for all transcripts of entries: each copied entry says what it was."""

from collections.abc import Iterable

from rehydrate.conversation import Lineage
from rehydrate.transcripts import lineage

from . import layout


def trace(
    place: layout.Place, *, workspaces: Iterable[str] = (), cached: object = None, last_step: object = None
) -> Lineage:
    """As `rehydrate.transcripts.lineage.trace`; raises NewerVersion, too."""
    layout.check_version(place)
    return lineage.trace(place, workspaces=workspaces, cached=cached, last_step=last_step)
