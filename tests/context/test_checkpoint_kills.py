"""A process is killed before any of its system calls in a commit, or one of them fails: what is restored afterwards is
the old state or the new one, whole, and the commit can be made again.
"""

import os
import shutil
import sys
from itertools import count
from pathlib import Path

import pytest

from rehydrate.context.restore import restore
from rehydrate.session import queue as queues
from tests.process import tracing
from tests.session.test_failures import FULL, ON_A_BAD_DISK, Layer, every_failure

from . import committer
from .logs import view

OLD = ["the first summary", "three", "three!", "four", "four!", "five", "five!"]
BETWEEN = [OLD, [*OLD, "six"], [*OLD, "six", "six!"]]
NEW = ["the second summary", "six", "six!"]


class World:
    """Where a session is compacted."""

    def __init__(self, folder):
        self.source, self.root = str(folder / "source"), str(folder / "root")
        self.path = committer.begin(self.source).replace(self.source, self.root)
        self.clear()

    def clear(self):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.source, self.root)
        self.said = []

    def look(self):
        """The old state, or the new one; the old one never once it was said that it is committed.  Gives which."""
        before = Path(self.path).read_bytes()
        restored = restore(self.path)
        assert not restored.bad and Path(self.path).read_bytes() == before
        if view(restored) == NEW:
            return "new"
        assert view(restored) in BETWEEN and not any(line.startswith("committed") for line in self.said)
        return "old"

    def go_on(self, was):
        """It is compacted once more as if nothing had been, and holds it once."""
        boundary = committer.again(self.root)
        found = view(restore(self.path))
        assert (found == NEW) if was == "new" else (found[0] == NEW[0] and found[-1] in ("five!", "six", "six!"))
        assert restore(self.path).boundary == boundary
        raw = Path(self.path).read_bytes()
        assert raw.count(b'"subtype":"compact_boundary"') == 2


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@tracing.needs_tracing
def test_t40_killed_before_any_call_of_a_commit_the_log_holds_the_old_state_or_the_new_one(world):
    seen = set()
    for number in count():
        world.clear()
        names = []

        def watch(call, number=number, names=names):
            if not (call.path.startswith(world.root) and call.changes):
                return None
            names.append(call.name)
            return tracing.KILL if len(names) == number + 1 else None

        environ = {"PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), *sys.path]))}
        command = [sys.executable, committer.__file__, world.root]
        ended = tracing.run(command, b"x", environ=environ, watch=watch)
        assert (ended.status, ended.stderr) == (-9 if len(names) > number else 0, b"")
        world.said = ended.stdout.decode().splitlines()
        was = world.look()
        seen.add(was)
        world.go_on(was)
        if len(names) <= number:
            break
    assert number > 8 and seen == {"old", "new"} and {"write", "fsync", "flock"} <= set(names)
    assert [line.split()[0] for line in world.said] == ["committed"]


def test_t40_cut_at_any_byte_of_a_commit_the_log_holds_the_old_state_or_the_new_one(world):
    begin = os.path.getsize(world.path)
    committer.play(world.root, world.said.append).close()
    whole = Path(world.path).read_bytes()
    assert view(restore(world.path)) == NEW
    marked = whole.index(b'"subtype":"compact_boundary"', begin)
    line = whole.index(b"\n", marked)
    world.said = []
    places = {*range(begin, marked, 97), marked, *range(marked, line, 41), line - 1, line, line + 1, len(whole) - 1}
    for place in sorted(places):
        Path(world.path).write_bytes(whole[:place])
        assert world.look() == ("new" if place > line else "old")
        world.go_on("new" if place >= line else "old")  # an append closes a line that lacks nothing else


def tried(world, monkeypatch, fails):
    """The calls that were made, and what was found afterwards."""
    world.clear()
    with monkeypatch.context() as patch:
        layer = Layer(patch)
        layer.fails = fails
        log = committer.play(world.root, world.said.append)
    calls = list(layer.calls)
    with monkeypatch.context() as patch:  # the disk has recovered
        patch.setattr(queues.Queue, "_start", lambda self: None)
        log.close()
    return calls


@pytest.mark.parametrize(("name", "error"), every_failure(), ids=str)
def test_t40_where_any_call_fails_the_log_holds_the_old_state_or_the_new_one(world, monkeypatch, name, error):
    calls = tried(world, monkeypatch, lambda at, each: None)
    numbers = [at for at, each in enumerate(calls) if each == name]
    for number in numbers:
        tried(world, monkeypatch, lambda at, each, number=number: error if at == number else None)
        was = world.look()
        assert was == "new" or world.said == ["failed"]
        world.go_on(was)


@pytest.mark.parametrize("error", FULL, ids=str)
@pytest.mark.parametrize("name", ON_A_BAD_DISK)
def test_t40_where_calls_fail_from_there_on_it_does_too(world, monkeypatch, name, error):
    calls = tried(world, monkeypatch, lambda at, each: None)
    for number in [at for at, each in enumerate(calls) if each in (name, "write")]:
        tried(world, monkeypatch, lambda at, each, number=number: error if at >= number and each == name else None)
        was = world.look()
        world.go_on(was)
