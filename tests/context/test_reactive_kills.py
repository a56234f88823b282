"""A process is killed before any of its system calls while it prunes and compacts a request that was refused: the next
one sends what was refused or what was to be sent in its place, byte for byte, and nothing is lost.
"""

import os
import shutil
import sys
from itertools import count
from pathlib import Path

import pytest

from rehydrate.context.restore import restore
from tests.process import tracing

from . import preparer, refused


class World:
    """Where a session is gone on with; `before` and `after` are the digests of the two requests."""

    def __init__(self, folder):
        self.source, self.root = str(folder / "source"), str(folder / "root")
        self.path = refused.begin(self.source).replace(self.source, self.root)
        self.clear()
        with preparer.open_log(self.root) as log:
            engine = refused.engine_of(log)
            self.before = preparer.digest(engine.prepare(preparer.REQUEST))
            self.after = preparer.digest(engine.overflow(refused.ERROR))

    def clear(self):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.source, self.root)

    def entries(self):
        return Path(self.path).read_bytes().count(b'"parentUuid"')

    def look(self):
        """What a new process sends; one that sends what was refused gets as far as the one before would have."""
        found = restore(self.path)
        assert not found.bad
        with preparer.open_log(self.root) as log:
            engine = refused.engine_of(log)
            sends = preparer.digest(engine.prepare(preparer.REQUEST))
            assert sends == (self.before if found.checkpoint is None else self.after)
            if sends == self.before:
                assert preparer.digest(engine.overflow(refused.ERROR)) == self.after
            assert preparer.digest(engine.prepare(preparer.REQUEST)) == self.after
        return sends


@tracing.needs_tracing
def test_killed_before_any_call_the_next_process_sends_the_one_or_the_other(tmp_path):
    world = World(tmp_path)
    assert world.before != world.after
    environ = {"PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), *sys.path]))}
    command = [sys.executable, refused.__file__, world.root]
    sent = set()
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
        sent.add(world.look())
        if len(names) <= number:
            break
    assert ended.stdout.decode().split() == [world.before, world.after]
    assert sent == {world.before, world.after}
    assert number > 6 and {"write", "fsync", "flock"} <= set(names)


@pytest.mark.parametrize("strategy", ["snip", "fallback"])
def test_what_was_done_is_not_done_again_by_the_next_process(tmp_path, monkeypatch, strategy):
    if strategy == "snip":
        monkeypatch.setattr("rehydrate.context.plan.plan", None)
    path = refused.begin(str(tmp_path))
    with preparer.open_log(str(tmp_path)) as log:
        engine = refused.engine_of(log)
        engine.prepare(preparer.REQUEST)
        engine.overflow(refused.ERROR)
    assert restore(path).checkpoint.strategy == strategy
    with preparer.open_log(str(tmp_path)) as log:
        engine = refused.engine_of(log)
        engine.prepare(preparer.REQUEST)
        with pytest.raises(Exception, match="too long"):
            engine.overflow(refused.ERROR)
