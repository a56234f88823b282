"""Scripted summarisers, and a conversation that is due for a compaction, copied for each test."""

import shutil
import time

from rehydrate.context import Request
from rehydrate.session import Place, SessionLog

from .agents import SYSTEM, tools
from .answering import CALL, anthropic, text
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


class Overflow(Exception):
    """As providers have them."""

    status_code = 400

    def __str__(self):
        return "prompt is too long: 300000 tokens > 200000 maximum"


class Speechless(Exception):
    """Not even what it says can be had."""

    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


def hang():
    time.sleep(1.5)
    return GOOD


FAULTS = {
    "empty": ("", "empty_exhausted"),
    "refusal": (anthropic(text("No."), stop="refusal"), "empty_exhausted"),
    "tool calls": (anthropic(CALL["anthropic"]), "empty_exhausted"),
    "reasoning": (anthropic({"type": "thinking", "thinking": GOOD, "signature": "s"}), "empty_exhausted"),
    "10 times too long": (GOOD + "It went on and on.\n" * 2_500, "insufficient_reduction"),
    "time-out": (hang, "transient_exhausted"),
    "overflow": (Overflow(), "context_exhausted"),
    "garbage": ("\x00\ud800 lorem" * 50, "empty_exhausted"),
    "speechless": (Speechless(), "transient_exhausted"),
    "connection": (ConnectionResetError("reset"), "transient_exhausted"),
}


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


def grow(engine):
    """Some more steps, and no request of the user."""
    for at in range(4):
        name = f"{engine.log.tip}{at}"
        engine.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "x", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "word " * 400}]},
        )
