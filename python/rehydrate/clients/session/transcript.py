"""Records -> boundaries, and records -> `Conversation`, as for all transcripts of entries."""

from functools import partial

from rehydrate.transcripts import reading
from rehydrate.transcripts.reading import boundaries as boundaries
from rehydrate.transcripts.reading import pending as pending

from . import layout

read = partial(reading.read, client="session")


def survey(place: layout.Place) -> reading.Survey:
    """Reads a session.  Raises NewerVersion; errors of the file system surface as OSError."""
    layout.check_version(place)
    return reading.survey(place)
