"""What a list of conversations tells: of one conversation a summary, of all of them how many there are.

Never used by the hook.  A summary reads the index of one transcript and a few of its records; the census opens none.
"""

import os
from collections.abc import Mapping
from functools import partial

from rehydrate.transcripts import listing
from rehydrate.transcripts.listing import Census

from . import layout

summarize = partial(listing.summarize, beside=layout.title_beside)
title = partial(listing.title, beside=layout.title_beside)


def count(environ: Mapping[str, str]) -> Census:
    """Counts the conversations of every project."""
    problems: list[str] = []
    folder = layout.projects_in(environ)
    try:
        os.listdir(folder)
    except FileNotFoundError:
        return Census((), ())
    except OSError as error:
        problems.append(f"the projects in {folder} could not be listed: {error.strerror or error}")
    for project in layout.projects(environ):
        try:
            os.listdir(project)
        except OSError as error:
            problems.append(f"the conversations in {project} could not be listed: {error.strerror or error}")
    return Census(tuple(place.session for place in layout.every(environ)), tuple(problems))
