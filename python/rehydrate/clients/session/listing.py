"""What a list of sessions tells: of one a summary, of all of them how many there are.

A summary reads the index of one file and a few of its records; the census opens none.
"""

import os
from collections.abc import Mapping

from rehydrate.transcripts import listing
from rehydrate.transcripts.listing import Census, Summary
from rehydrate.transcripts.listing import title as title

from . import layout


def summarize(place: layout.Place) -> Summary:
    """Reads a session for its summary.  Raises NewerVersion; errors of the file system surface as OSError."""
    layout.check_version(place)
    return listing.summarize(place)


def count(environ: Mapping[str, str]) -> Census:
    """Counts the sessions below every named folder."""
    problems: list[str] = []
    for root in layout.roots(environ):
        try:
            os.listdir(root)
        except OSError as error:
            problems.append(f"the sessions in {root} could not be listed: {error.strerror or error}")
    return Census(tuple(place.session for place in layout.every(environ)), tuple(problems))
