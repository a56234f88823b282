"""A process is killed before any of its system calls while it prepares a request: the next one sends what that would
have sent, byte for byte, and nothing is lost.
"""

import os
import shutil
import sys
from itertools import count
from pathlib import Path

import pytest

from rehydrate.context.restore import restore
from tests.process import tracing

from . import preparer


class World:
    """Where a session is gone on with; `kinds` and `is_compacted` are what an undisturbed request decides."""

    def __init__(self, folder, *, prunable):
        self.prunable = prunable
        self.source, self.root = str(folder / "source"), str(folder / "root")
        path = preparer.begin(self.source, prunable=prunable)
        self.path = path.replace(self.source, self.root)
        self.clear()
        with preparer.open_log(self.root) as log:
            projection = preparer.engine_of(log, prunable=self.prunable).prepare(preparer.REQUEST)
        self.expected = preparer.digest(projection)
        self.kinds = {each.kind for each in projection.pruned}
        self.is_compacted = projection.checkpoint is not None

    def clear(self):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.source, self.root)

    def entries(self):
        return Path(self.path).read_bytes().count(b'"parentUuid"')

    def look(self):
        """A new process sends what the one before would have sent, and again."""
        assert not restore(self.path).bad
        with preparer.open_log(self.root) as log:
            engine = preparer.engine_of(log, prunable=self.prunable)
            assert preparer.digest(engine.prepare(preparer.REQUEST)) == self.expected
            assert preparer.digest(engine.prepare(preparer.REQUEST)) == self.expected


@tracing.needs_tracing
@pytest.mark.parametrize("prunable", [False, True], ids=["compacted", "pruned"])
def test_killed_before_any_call_of_a_request_the_next_process_sends_the_same(tmp_path, prunable):
    world = World(tmp_path, prunable=prunable)
    assert world.is_compacted == (not prunable)
    assert world.kinds == ({"result-budget", "prune"} if prunable else {"result-budget"})
    environ = {"PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), *sys.path]))}
    command = [sys.executable, preparer.__file__, world.root, "pruned" if prunable else "compacted"]
    for number in count():
        world.clear()
        names = []

        def watch(call, number=number, names=names):
            if not (call.path.startswith(world.root) and call.changes):
                return None
            names.append(call.name)
            return tracing.KILL if len(names) == number + 1 else None

        before = world.entries()
        ended = tracing.run(command, b"x", environ=environ, watch=watch)
        assert (ended.status, ended.stderr) == (-9 if len(names) > number else 0, b"")
        assert world.entries() >= before
        world.look()
        if len(names) <= number:
            break
    assert ended.stdout.decode().split() == [world.expected]
    assert number > 8 and {"write", "fsync", "flock"} <= set(names)
