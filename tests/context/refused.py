"""A program whose request is refused, and which prunes and compacts for that, for whoever kills it on the way.

    python refused.py ROOT

The session is there already.  It begins at a line on its standard input, and says on its standard output the digests
of what was refused and of what is sent in its place.
"""

import os
import sys

from rehydrate.context import Engine, Policy
from rehydrate.session import queue as queues
from tests.context.agents import Script, usage
from tests.context.preparer import REQUEST, digest, open_log

ERROR = "prompt is too long: 200251 tokens > 200000 maximum"


def engine_of(log):
    return Engine(log, window=100_000, policy=Policy(reserve=1_000, tools={"read_file": "read"}), clock=lambda: 0.0)


def begin(root):
    """The session as it is before, with results that a reactive prune takes out; gives its path."""
    script = Script("anthropic", words=400)
    with open_log(root) as log:
        engine = engine_of(log)
        for _ in range(3):
            engine.append(script.request())
            for _ in range(4):
                projection = engine.prepare(REQUEST)
                reply, made = script.answer(calls=2)
                engine.observe(usage("anthropic", projection.snapshot.tokens, 60), reply)
                engine.append(*script.results(made))
        engine.append(script.request())
        assert not engine.prepare(REQUEST).pruned
    return log.path


def main():
    queues.Queue._start = lambda self: None  # a second thread would not be followed
    os.read(0, 1)
    log = open_log(sys.argv[1])
    engine = engine_of(log)
    os.write(1, f"{digest(engine.prepare(REQUEST))}\n".encode())
    os.write(1, f"{digest(engine.overflow(ERROR))}\n".encode())
    log.close()


if __name__ == "__main__":
    main()
