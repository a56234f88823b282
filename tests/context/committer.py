"""A program that compacts a session, for whoever kills it or lets its calls fail on the way.

    python committer.py ROOT

The session is there already.  It begins at a line on its standard input, and says on its standard output `committed`
with the uuid of the boundary, or `failed`.
"""

import os
import sys

from rehydrate.context.errors import ContextError
from rehydrate.context.restore import restore
from rehydrate.session import Place, SessionError, SessionLog, assistant, user
from rehydrate.session import queue as queues
from tests.context.logs import compact, talk

KEY, SESSION = "-srv-project", "5e551000-0000-4000-8000-000000000001"


def begin(root):
    """The session as it is before: a compaction, and what was said since."""
    with SessionLog(Place(root, KEY, SESSION), cwd="/srv/project", flush_ms=3_600_000) as log:
        talk(log, "one", "two", "three")
        compact(log, text="the first summary")
        talk(log, "four", "five")
    return log.path


def play(root, say):
    """Compact it once more; gives the log, which is closed if it could be."""
    log = SessionLog(Place(root, KEY, SESSION), cwd="/srv/project", flush_ms=3_600_000)
    try:
        log.append([user("six", uuid="u-six"), assistant("six!", uuid="a-six")])
        say(f"committed {compact(log, text='the second summary')[0]}")
    except (OSError, SessionError, ContextError) as error:
        assert not isinstance(error, OSError) or error.filename, "it does not say where"
        say("failed")
    return log


def again(root):
    """The same compaction once more, by whoever does not know that it was made; the uuid of the boundary."""
    with SessionLog(Place(root, KEY, SESSION), cwd="/srv/project") as log:
        restored = restore(log.path)
        if view_is_new(restored):
            return restored.boundary
        return compact(log, keep=2, text="the second summary")[0]


def view_is_new(restored):
    return restored.checkpoint.messages[0]["content"] == "the second summary"


def main():
    queues.Queue._start = lambda self: None  # a second thread would not be followed
    os.read(0, 1)
    log = play(sys.argv[1], lambda text: os.write(1, f"{text}\n".encode()))
    log.close()


if __name__ == "__main__":
    main()
