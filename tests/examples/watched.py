"""The example as a program whose model writes down what it is sent, for whoever kills it on the way.

    python watched.py ROOT SENT [traced]

SENT is the file for that, a request on each line.  `traced`: it begins at a line on its standard input, streams without
a pause, and has one thread.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

from rehydrate.context.waiting import Waiting
from rehydrate.session.queue import Queue
from tests.context.harness.rules import faults

AGENT = Path(__file__).resolve().parents[2] / "examples" / "agent.py"


def load():
    """The example as a module, which nobody else has."""
    spec = importlib.util.spec_from_file_location("agent_example", AGENT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def watch(agent, sent):
    """Have the model write down what it is sent; and refuse what breaks a rule of its format."""
    stream = agent.Model.stream

    def watched(self, body):
        assert faults(body["messages"], "anthropic") == []
        with open(sent, "ab", buffering=0) as file:  # in one call: it may be killed before the next
            file.write(f"{json.dumps(body)}\n".encode())
        return stream(self, body)

    agent.Model.stream = watched


def main():
    agent = load()
    watch(agent, sys.argv[2])
    if "traced" in sys.argv:
        Queue._start = lambda self: None  # only one thread can be followed: here none ever comes to flush,
        Waiting.run = lambda self, call, timeout_s: call()  # nor to ask a model for a summary
        time.sleep = lambda _: None
        input()
    agent.main(sys.argv[1])


if __name__ == "__main__":
    main()
