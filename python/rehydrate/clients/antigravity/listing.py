"""What a list of conversations tells: of one conversation a summary, of all of them how many there are.

Never used by the hook.  A summary reads one transcript, streaming; the census opens none.
"""

import os
from collections.abc import Mapping

from rehydrate import scan
from rehydrate.conversation import KEPT_CHARS
from rehydrate.dataclass import dataclass

from . import layout, transcript


@dataclass(frozen=True, slots=True)
class Summary:
    """One conversation, as its own file has it."""

    size: int
    """Bytes of the transcript."""
    steps: int
    """The highest step and one: for a fork the steps that it has from its ancestors count, too."""
    boundaries: int
    """Those that count as compactions."""
    asked: str | None
    """The first line of the first request (at most KEPT_CHARS of it); None when the file holds no request."""


@dataclass(frozen=True, slots=True)
class Census:
    """All conversations, without a look into one."""

    ids: tuple[str, ...]
    """Of those with a transcript, under every application."""
    problems: tuple[str, ...]
    """What cannot be listed, a sentence each."""


def summarize(place: layout.Place) -> Summary:
    """Reads a conversation for its summary.  Errors of the file system surface as OSError."""
    with layout.readable(place) as whole:
        survey = transcript.survey(whole)
        return Summary(
            size=os.stat(whole.path).st_size,
            steps=0 if survey.last_step is None else survey.last_step + 1,
            boundaries=sum(each.counts for each in survey.boundaries),
            asked=_asked(whole.path),
        )


def title(place: layout.Place) -> str | None:
    """The title that the client keeps for a conversation: this one keeps none."""
    return None


def count(environ: Mapping[str, str]) -> Census:
    """Counts the conversations of every application."""
    ids: list[str] = []
    without: list[str] = []
    problems: list[str] = []
    for brain in layout.brains(environ):
        try:
            names = [name for name in os.listdir(brain) if layout.is_id(name)]
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"the conversations in {brain} could not be listed: {error.strerror or error}")
            continue
        for name in names:
            if _has_transcript(layout.logs_of(brain, name)):
                ids.append(name)
            elif os.path.isdir(os.path.join(brain, name)):
                without.append(name)
    if without:
        what = "1 conversation has" if len(without) == 1 else f"{len(without):,} conversations have"
        problems.append(f"{what} no transcript that can be read, such as {min(without)}")
    return Census(tuple(ids), tuple(problems))


def _has_transcript(logs: str) -> bool:
    """Whether `layout.look` would find one."""
    flat = (os.path.join(logs, name) for name in (layout.UNCUT, layout.CUT))
    return any(map(layout.is_regular, flat)) or bool(layout.chunks_in(os.path.join(logs, *layout.CHUNKS)))


def _asked(path: str) -> str | None:
    for record in scan.iter_steps(path, types={"USER_INPUT"}):
        request = transcript.request_in(record)
        if request:
            return request.split("\n", 1)[0].rstrip()[:KEPT_CHARS]
    return None
