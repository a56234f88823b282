"""Scripted summarisers, and a conversation that is due for a compaction, copied for each test."""

import shutil

from rehydrate.context import Request
from rehydrate.session import Place, SessionLog

from .agents import SYSTEM, tools
from .engines import engine_of

SESSION = "5e551000-0000-4000-8000-000000000009"
GOOD = """\
## Objective and constraints
- answer each request in turn
## Exact next action
- answer the last request
## Notes
The model was here, and all went well.
"""
REQUEST = Request(model="m", format="anthropic", system=SYSTEM, tools=tools("anthropic"))
WINDOW = 12_000


class Scripted:
    """Answers one after the other, raising what is an exception; the last one again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer = answer()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def place_in(folder):
    return Place(str(folder), "-srv-project", SESSION)


def copied(path, folder):
    """A log of its own with what another file holds."""
    place = place_in(folder)
    (folder / place.key).mkdir(parents=True)
    shutil.copy(path, place.path)
    return SessionLog(place, cwd="/srv/project")


def compacted(path, folder, summariser=None, **more):
    """What is sent, compacted on the way, by an engine of a copy; and the log of that."""
    log = copied(path, folder)
    return engine_of(log, window=WINDOW, summariser=summariser, **more).prepare(REQUEST), log


def summary_in(projection):
    """The text of the summary that is sent."""
    return next(
        message["content"]
        for message in projection.checkpoint.messages
        if message.get("rehydrate", {}).get("kind") == "summary"
    )
