"""A program that prepares a request for which a result is shortened, and results are pruned, the session is compacted
or the model is told that a compaction is near, for whoever kills it on the way.

    python preparer.py ROOT pruned|compacted|told

The session is there already.  It begins at a line on its standard input, and says on its standard output the digest of
what is sent.
"""

import json
import os
import sys
from hashlib import sha256
from itertools import count

from rehydrate.context import Engine, Policy, Request
from rehydrate.session import Place, SessionLog
from rehydrate.session import queue as queues
from tests.context.agents import SYSTEM, Script, tools, usage

KEY, SESSION = "-srv-project", "5e551000-0000-4000-8000-000000000002"
REQUEST = Request(model="m", format="anthropic", system=SYSTEM, tools=tools("anthropic"))
LARGE = "".join(f"{sha256(str(number).encode()).hexdigest()}\n" for number in range(500))
"""Of many tokens, so that its preview is still large."""


def open_log(root):
    return SessionLog(Place(root, KEY, SESSION), cwd="/srv/project", flush_ms=3_600_000)


def engine_of(log, *, scene, **more):
    policy = Policy(reserve=1_000, **more)
    return Engine(log, window=30_000 if scene == "pruned" else 16_000, policy=policy, clock=lambda: 0.0)


def begin(root, *, scene):
    """The session as it is before, with a result that is too long, and either so many old ones that some have to go or
    about to be compacted, or to be told of that; gives its path.
    """
    script = Script("anthropic", words=150 if scene == "pruned" else 40)
    line = "handoff" if scene == "told" else "compaction"
    before = {"pruned": 4_000, "compacted": 1_000, "told": 900}[scene]
    with open_log(root) as log:
        engine = engine_of(log, scene=scene, prune_percent=100)
        explained = engine.explain()
        steps = count()
        while explained["tokens"] <= explained["lines"][line] - before:
            if next(steps) % 4 == 0:
                engine.append(script.request())
            projection = engine.prepare(REQUEST)
            assert projection.checkpoint is None and not projection.pruned
            reply, made = script.answer(calls=2)
            engine.observe(usage("anthropic", projection.snapshot.tokens, 60), reply)
            engine.append(*script.results(made))
            explained = engine.explain()
        assert explained["handoff"] == ("none" if scene == "told" else explained["handoff"])
        engine.prepare(REQUEST)
        reply, made = script.answer(calls=1)
        engine.observe(usage("anthropic", engine.explain()["tokens"], 60), reply)
        block = {"type": "tool_result", "tool_use_id": made[0][0], "content": LARGE}
        engine.append({"role": "user", "content": [block]})
    return log.path


def digest(projection):
    return sha256(json.dumps(projection.body(), sort_keys=True).encode()).hexdigest()


def main():
    queues.Queue._start = lambda self: None  # a second thread would not be followed
    os.read(0, 1)
    log = open_log(sys.argv[1])
    projection = engine_of(log, scene=sys.argv[2]).prepare(REQUEST)
    os.write(1, f"{digest(projection)}\n".encode())
    log.close()


if __name__ == "__main__":
    main()
