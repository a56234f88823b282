"""A program that writes a session, step by step; its tests kill it before any of its system calls, or let them fail.

    python writer.py ROOT

It begins at a line on its standard input, and says of each step on its standard output, as soon as it is through:
`durable NAME`, `taken NAME` (it was queued), or `failed NAME`; at the end `written` when nothing waits any more.
"""

import contextlib
import os
import sys

from rehydrate.session import Place, SessionError, SessionLog, assistant, user
from rehydrate.session import queue as queues

KEY, SESSION, AGENT = "-srv-project", "5e551000-0000-4000-8000-000000000001", "a1"
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}


def play(root, say):
    """Write a session below a root; gives its log, which is closed if it could be."""
    log = SessionLog(Place(root, KEY, SESSION), cwd="/srv/project", flush_ms=3_600_000)

    def step(word, name, work, *given):
        try:
            uuid = work(*given)
        except (OSError, SessionError) as error:
            assert isinstance(error, SessionError) or error.filename, "it does not say where"
            say(f"failed {name}")
        else:
            say(f"{word} {name or uuid}")

    step("taken", "title", log.append, {"type": "custom-title", "customTitle": "title"})
    step("durable", "u1", log.append_durable, user("one", uuid="u1"))
    step("taken", "a1", log.append, assistant("queued", uuid="a1"))
    step("taken", "a2", log.append, assistant([CALL], uuid="a2"))
    with contextlib.suppress(OSError, SessionError):
        log.flush()
    step("taken", "a3", log.append, assistant("waits for the next", uuid="a3"))
    step("durable", "u2", log.append_durable, user("two", uuid="u2"))
    step("durable", "s1", log.append_durable, user("for the agent", uuid="s1", agentId=AGENT))
    step("durable", "", lambda: log.compact("all of it", trigger="auto"))
    step("durable", "u3", log.append_durable, user("three", uuid="u3"))
    with contextlib.suppress(OSError, SessionError):
        log.close()
        say("written")
    return log


def main():
    queues.Queue._start = lambda self: None  # a second thread would not be followed
    os.read(0, 1)
    play(sys.argv[1], lambda text: os.write(1, f"{text}\n".encode()))


if __name__ == "__main__":
    main()
