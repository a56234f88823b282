"""Engines for tests, and a scripted agent at work with one."""

import json

from rehydrate.context import Engine, Policy, Request
from rehydrate.session import Session, SessionLog

from .agents import SYSTEM, Script, tools, usage

FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini")
POLICY = Policy(reserve=1_000, tools={"read_file": "read"})


def engine_of(log, *, window=8_000, policy=POLICY, **more):
    return Engine(log, window=window, policy=policy, clock=lambda: 0.0, **more)


def request_of(format="anthropic", **more):
    return Request(model="m", format=format, system=SYSTEM, tools=tools(format), **more)


def again(log, **more):
    """An engine that is new, of a log that was opened anew."""
    log.flush()
    return engine_of(SessionLog(log.place, cwd="/"), **more)


class Agent:
    """A scripted agent at work."""

    def __init__(self, log, format="anthropic", *, seed=0, **more):
        self.engine = engine_of(log, **more)
        self.script = Script(format, seed=seed)
        self.request = request_of(format)
        self.format = format

    def ask(self):
        return self.engine.append(self.script.request(), format=self.format)

    def prepare(self):
        return self.engine.prepare(self.request)

    def answer(self, projection, *, calls=0):
        reply, made = self.script.answer(calls=calls)
        self.engine.observe(usage(self.format, projection.snapshot.tokens, 60), reply)
        return made

    def turn(self, steps=2, look=lambda projection: None):
        """A whole turn; `look` sees each projection."""
        self.ask()
        for step in range(steps + 1):
            projection = self.prepare()
            look(projection)
            made = self.answer(projection, calls=self.script.random.choice((1, 2, 3)) if step < steps else 0)
            if made:
                self.engine.append(*self.script.results(made))


def sent(projection):
    return json.dumps(projection.body(), sort_keys=True)


def is_handoff(message):
    """Whether it tells the model that a compaction is near."""
    return "[rehydrate] A note of the program" in json.dumps(message)


def spoken(messages):
    """What somebody has said, without a handoff, which no copy of a session has."""
    return [each for each in messages if not is_handoff(each)]


def types_in(log):
    log.flush()
    with Session.open(log.path) as session:
        return [(record["type"], record.get("state")) for record in session.view("raw")]
