"""A writer is killed before any of its system calls; then the session is opened and gone on with.

A kill leaves what the calls before it made of the files, so it is tried before each call that may change something.
What a write that was cut short leaves is tried in `file/`, cut by cut.
"""

import os
import sys
from itertools import count

from tests.process import tracing

from . import writer
from .worlds import World

pytestmark = tracing.needs_tracing


def run(world, number):
    """Run the program, and kill it before the call of that number among those that may change its files, from 0;
    gives the names of those calls.
    """
    world.clear()
    names = []

    def watch(call):
        if not (call.path.startswith(world.root) and call.changes):
            return None
        names.append(call.name.removesuffix("at"))
        return tracing.KILL if len(names) == number + 1 else None

    environ = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = tracing.run([sys.executable, writer.__file__, world.root], b"x", environ=environ, watch=watch)
    assert (ended.status, ended.stderr) == (-9 if len(names) > number else 0, b"")
    world.said = ended.stdout.decode().splitlines()
    return names


def test_killed_before_any_call_the_session_holds_what_was_durable_and_goes_on(tmp_path):
    world, seen = World(tmp_path), 0
    for number in count():
        names = run(world, number)
        if world.is_new():
            seen += 1
            for before, _ in world.go_on():
                assert not before or before.endswith(b"\n")
        if len(names) <= number:
            break
    assert number > 50 and seen > 15
    assert {"open", "write", "fsync", "flock", "mkdir", "unlink", "close"} <= set(names)
    assert [line.split(" ")[0] for line in world.said] == [
        *("taken", "durable", "taken", "taken", "taken", "durable", "durable", "durable", "durable", "written"),
    ]
