"""A writer is killed before any of its system calls, or any of them fails; then the session is opened and gone on with.

A kill leaves what the calls before it made of the files, so it is tried before each call that may change something.
What a write that was cut short leaves is tried in `test_file.py`, cut by cut.
"""

import errno
import os
import shutil
import sys
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from rehydrate import scan
from rehydrate.session import Place, SessionLog, live, user
from tests.process import tracing

from . import writer
from .conftest import records

pytestmark = tracing.needs_tracing

FAILURES = {
    "open": (errno.EROFS, errno.EMFILE, errno.ENOSPC),
    "write": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR),
    "fsync": (errno.EIO, errno.EDQUOT),
    "ftruncate": (errno.EIO,),
    "unlink": (errno.EROFS,),
    "flock": (errno.ENOLCK, errno.EINTR),
    "close": (errno.EIO,),
    "mkdir": (errno.ENOSPC, errno.EROFS),
}
"""What the calls may fail with, by the names they have in common with those that say `at`."""


class World:
    """Where the program writes."""

    def __init__(self, folder):
        self.root = str(folder / "root")
        self.place = Place(self.root, writer.KEY, writer.SESSION)
        self.said = []

    def run(self, watch):
        """Run the program; `watch` is asked about each call on its files.  Gives the names of those calls."""
        shutil.rmtree(self.root, ignore_errors=True)
        names = []

        def about(call):
            if call.path.startswith(self.root):
                names.append(call.name.removesuffix("at"))
                return watch(call, len(names) - 1)
            return None

        command = [sys.executable, "-B", writer.__file__, self.root]
        environ = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.ended = tracing.run(command, b"x", environ=environ, watch=about)
        self.said = [line.split(" ") for line in self.ended.stdout.decode().splitlines()]
        return names

    def told(self, word):
        """Of which the program has said so, by the file that they belong to."""
        uuids = {rest[0] for first, *rest in self.said if first == word} - {""}
        return uuids - {"s1"}, uuids & {"s1"}

    def files(self):
        return self.place.path, self.place.agent_path(writer.AGENT)

    def state(self):
        return [Path(path).read_bytes() if os.path.exists(path) else None for path in self.files()]

    def check(self):
        """Both files can be gone on with, and hold all that the program was told is durable, each line whole."""
        agents = [None, writer.AGENT]
        for path, agent_id, durable in zip(self.files(), agents, self.told("durable"), strict=True):
            before = Path(path).read_bytes() if os.path.exists(path) else b""
            with SessionLog(self.place, cwd="/srv/project", agent_id=agent_id) as log:
                assert log.tip is None or log.tip in {each.uuid for each in scan.read_tree(path).entries}
                uuid = log.append_durable(user("goes on"))
            rows = records(path)
            assert rows[0]["type"] == "session"
            uuids = [each["uuid"] for each in rows if "uuid" in each]
            assert durable <= set(uuids) and uuids[-1] == uuid
            assert max(Counter(uuids).values()) == 1
            assert all(each.get("parentUuid") in (None, *uuids) for each in rows)
            assert before.rpartition(b"\n")[0] in Path(path).read_bytes()
            yield before, [*uuids[:-1], *(each["customTitle"] for each in rows if "customTitle" in each)]
        assert live(self.place) == []


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_killed_before_any_call_the_session_holds_what_was_durable_and_goes_on(world):
    known, names = [], ["open"]
    for number in count():
        changing = count()

        def watch(call, at, number=number, changing=changing):
            return tracing.KILL if call.changes and next(changing) == number else None

        names = world.run(watch)
        if world.ended.status == 0:
            break
        assert (world.ended.status, world.ended.stderr) == (-9, b"")
        state = world.state()
        if (state, world.said) not in known:
            known.append((state, world.said))
            for before, _ in world.check():
                assert not before or before.endswith(b"\n")
    assert number > 50 and len(known) > 15
    assert {"open", "write", "fsync", "flock", "mkdir", "unlink", "close"} <= set(names)
    assert [first for first, *_ in world.said] == [
        *("taken", "durable", "taken", "taken", "taken", "durable", "durable", "durable", "durable", "written"),
    ]


def failing(world, *, on):
    """Run it with each call failing, the errors in turn; gives what failed.  `on`: and with it all that come after."""
    known = []
    for number, name in enumerate(world.run(lambda call, at: None)):
        failures = FAILURES.get(name)
        if not failures:
            continue
        failure = failures[number % len(failures)]

        def watch(call, at, number=number, failure=failure):
            goes_on = on and at > number and call.changes and failure in failures_of(call)
            return failure if at == number or goes_on else None

        world.run(watch)
        state = world.state()
        if (state, world.said) not in known:
            known.append((state, world.said))
            yield name, failure
    assert len(known) > 5


def failures_of(call):
    return FAILURES.get(call.name.removesuffix("at"), ()) if call.name != "close" else ()


def test_where_any_call_fails_what_was_taken_is_written_and_what_failed_is_not(world):
    for name, failure in failing(world, on=False):
        what = f"{name} fails with {errno.errorcode[failure]}"
        assert world.ended.status == 0, (what, world.ended.stderr)
        goes = zip(world.check(), world.told("taken"), world.told("failed"), strict=True)
        for (before, found), taken, failed in goes:
            assert failed.isdisjoint(found), what
            if ["written"] in world.said:
                assert taken <= set(found), what
            assert not before or before.endswith(b"\n"), what
        torn = [path for path in world.files() if os.path.exists(f"{path}.torn")]
        assert not torn, what


def test_where_all_goes_on_to_fail_the_session_is_whole_up_to_there_and_can_be_gone_on_with(world):
    for name, failure in failing(world, on=True):
        what = f"{name} fails with {errno.errorcode[failure]}"
        assert world.ended.status == 0, (what, world.ended.stderr)
        for (_, found), failed in zip(world.check(), world.told("failed"), strict=True):
            assert failed.isdisjoint(found), what
