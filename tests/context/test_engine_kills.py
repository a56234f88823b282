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
from rehydrate.session import SessionLog
from tests.process import tracing

from . import preparer
from .engines import Agent, again, engine_of, is_handoff, request_of, sent


class World:
    """Where a session is gone on with; `kinds`, `is_compacted`, `is_told`: what an undisturbed request decides."""

    def __init__(self, folder, *, scene):
        self.scene = scene
        self.source, self.root = str(folder / "source"), str(folder / "root")
        path = preparer.begin(self.source, scene=scene)
        self.path = path.replace(self.source, self.root)
        self.clear()
        with preparer.open_log(self.root) as log:
            projection = preparer.engine_of(log, scene=self.scene).prepare(preparer.REQUEST)
        self.expected = preparer.digest(projection)
        self.kinds = {each.kind for each in projection.pruned}
        self.is_compacted = projection.checkpoint is not None
        self.is_told = is_handoff(projection.messages[-1])

    def clear(self):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.source, self.root)

    def entries(self):
        return Path(self.path).read_bytes().count(b'"parentUuid"')

    def look(self):
        """A new process sends what the one before would have sent, and again."""
        assert not restore(self.path).bad
        with preparer.open_log(self.root) as log:
            engine = preparer.engine_of(log, scene=self.scene)
            assert preparer.digest(engine.prepare(preparer.REQUEST)) == self.expected
            assert preparer.digest(engine.prepare(preparer.REQUEST)) == self.expected


@tracing.needs_tracing
@pytest.mark.parametrize("scene", ["compacted", "pruned", "told"])
def test_killed_before_any_call_of_a_request_the_next_process_sends_the_same(tmp_path, scene):
    world = World(tmp_path, scene=scene)
    assert (world.is_compacted, world.is_told) == (scene == "compacted", scene == "told")
    assert world.kinds == ({"result-budget", "prune"} if scene == "pruned" else {"result-budget"})
    environ = {"PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), *sys.path]))}
    command = [sys.executable, preparer.__file__, world.root, scene]
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


def test_where_only_a_line_feed_was_not_written_any_more_the_next_process_sends_the_same(place):
    """The next append closes such a line, though who goes on has not seen it."""
    with SessionLog(place, cwd="/") as log:
        agent = Agent(log)
        for _ in range(3):
            agent.turn()
        agent.engine.compact()
    whole = Path(place.path).read_bytes()
    lines = whole.splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if b'"compact_boundary"' in line)
    for at in range(first - 1, len(lines)):
        Path(place.path).write_bytes(b"".join(lines[: at + 1])[:-1])
        with SessionLog(place, cwd="/") as log:
            engine = engine_of(log)
            expected = sent(engine.prepare(request_of()))
            with again(log).log as other:
                assert sent(engine_of(other).prepare(request_of())) == expected
            engine.append({"role": "user", "content": "Go on."})
            expected = sent(engine.prepare(request_of()))
            with again(log).log as other:
                assert sent(engine_of(other).prepare(request_of())) == expected
