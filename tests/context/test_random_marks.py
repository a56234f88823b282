"""Conversations whose past changes under an engine, at random: what was said is taken back, snipped, replaced or turned
back to, whether a compaction has covered it or not, and the session is copied and opened anew.  Before every call of a
model what is sent is valid, fits, holds what the user asked last, and is the same after a restart.
"""

import random
from functools import cache

import pytest

from rehydrate.context import verify
from rehydrate.context.tokens import default_counter
from rehydrate.session import Session, SessionLog, branch, fork
from tests.context.engines import FORMATS, Agent, engine_of, sent
from tests.context.harness.measures import request_kept, said_by_user, tokens
from tests.context.harness.rules import faults, opens_with_user

FITS = 8_000 - 1_000
"""The window of `engine_of`, less what its policy reserves."""
count = cache(default_counter().count)


class Changing:
    """A session to which all that may happen to one does."""

    def __init__(self, log, form, seed):
        self.random = random.Random(f"{form} {seed}")
        self.agent = Agent(log, form, seed=seed)
        self.compactions = 0

    @property
    def log(self):
        return self.agent.engine.log

    def entries(self):
        """The uuids of all entries, compactions and their summaries among them, and their records."""
        self.log.flush()
        with Session.open(self.log.path) as session:
            kinds = ("user", "assistant", "system")
            return [(record["uuid"], record) for record in session.view("raw") if record["type"] in kinds]

    def any(self):
        """An entry: one from anywhere, or one of the last."""
        found = self.entries()
        return self.random.choice(found if self.random.random() < 0.6 else found[-12:])

    def said(self):
        return [uuid for uuid, record in self.entries() if record["type"] in ("user", "assistant")]

    def opened(self, log):
        self.log.close()
        self.agent.engine = engine_of(log)

    def turn(self):
        self.agent.turn(steps=self.random.choice((0, 1, 2)))

    def compact(self):
        self.compactions += self.agent.engine.compact() is not None

    def retract(self):
        uuid, record = self.any()
        if record.get("subtype") != "compact_boundary" and not record.get("isCompactSummary"):
            self.log.retract(uuid)

    def snip(self):
        self.log.snip({self.any()[0] for _ in range(3)})

    def replace(self):
        rows = [
            {"messageUuid": uuid, "toolUseId": block["tool_use_id"], "kind": "tool-result", "replacement": "[aside]"}
            for uuid, record in self.entries()
            for block in record.get("message", {}).get("content", ())
            if isinstance(block, dict) and block["type"] == "tool_result"
        ]
        self.log.replace_content(self.random.sample(rows, min(3, len(rows))))

    def rewind(self):
        asked = [uuid for uuid, record in self.entries() if record["type"] == "user" and "toolUseResult" not in record]
        message = {"role": "user", "content": "Rather so."}
        self.log.append_durable({"type": "user", "parentUuid": self.random.choice(asked), "message": message})

    def fork(self):
        at = self.random.choice(self.said()[-8:])
        with Session.open(self.log.path) as session:
            self.opened(fork(session, at=at))

    def branch(self):
        at = self.random.choice(self.said()[-8:])
        with Session.open(self.log.path) as session:
            place = branch(session, at=at)
        self.opened(SessionLog(place, cwd="/"))

    def restart(self):
        self.log.close()
        self.opened(SessionLog(self.log.place, cwd="/"))

    def abort(self):
        self.log.abort("The user has stopped it.")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_to_what_was_said_the_next_request_is_right(log, form, seed):
    made = Changing(log, form, seed)
    for _ in range(4):
        made.turn()
    made.compact()
    agent = made.agent
    happening = [made.turn] * 5 + [made.compact, made.retract, made.snip] * 3 + [made.replace, made.rewind] * 2
    happening += [made.fork, made.branch, made.restart, made.abort]
    for happens in made.random.choices(happening, k=25):
        happens()
        message = agent.script.request()
        agent.engine.append(message, format=form)
        projection = agent.prepare()
        left = projection.messages
        where = f"after {happens.__name__}"
        assert faults(left, form) == [], where
        assert opens_with_user(left, form), where
        assert tokens(left, form, count) <= FITS, where
        assert request_kept(left, form, said_by_user([message], form)[0]) == "whole", where
        made.log.flush()
        with SessionLog(made.log.place, cwd="/") as other:
            assert sent(engine_of(other).prepare(agent.request)) == sent(projection), where
        calls = agent.answer(projection, calls=made.random.choice((0, 0, 1, 2)))
        if calls and made.random.random() < 0.8:
            agent.engine.append(*agent.script.results(calls))
        made.log.flush()
    assert made.compactions
    assert verify(made.log.path).findings == ()
    made.log.close()
