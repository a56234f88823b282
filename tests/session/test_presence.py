"""Who has a session open, and that the dead do not."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rehydrate.session import Holder, live, user
from rehydrate.session import presence as presences
from rehydrate.session.presence import Presence

HOLD = """
import sys
from rehydrate.session import Place
from rehydrate.session.presence import Presence
held = Presence(Place(*sys.argv[1:4]), kind="background")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(place):
    """Another process that has the session open."""
    command = [sys.executable, "-c", HOLD, place.root, place.key, place.session_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_log_is_known_from_its_first_message_until_it_is_closed(make_log, place):
    log = make_log(kind="batch")
    log.append({"type": "tag", "tag": "x"})
    assert live(place) == []
    log.append(user("hello"))
    (holder,) = live(place)
    assert (holder.pid, holder.kind) == (os.getpid(), "batch")
    log.close()
    assert live(place) == [] and os.listdir(place.live_folder) == []


def test_a_log_of_a_session_that_is_there_is_known_from_the_start(make_log, place):
    make_log().append_durable(user("hello"))
    assert len(live(place)) == 1
    make_log()
    assert len(live(place)) == 2


def test_the_log_of_an_agent_makes_nobody_known(make_log, place):
    make_log(agent_id="a1").append_durable(user("hello"))
    assert live(place) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing says when a process was started")
def test_a_process_says_when_it_was_started(holder, place):
    (found,) = live(place)
    assert found == Holder(holder.pid, found.started, "background")
    assert 0 <= time.time() - found.started < 600


def test_one_that_was_killed_is_gone_and_its_file_is_removed(holder, place):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert len(os.listdir(place.live_folder)) == 1
    assert live(place) == []
    assert os.listdir(place.live_folder) == []


def test_those_that_ask_do_not_take_each_other_for_alive(holder, place):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    (name,) = os.listdir(place.live_folder)
    asking = os.open(os.path.join(place.live_folder, name), os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    assert live(place) == []
    os.close(asking)


@pytest.mark.parametrize("when", ["before it is locked", "while it is being asked"])
def test_one_whose_file_others_remove_before_it_is_locked_makes_another(place, monkeypatch, when):
    real, asking = presences._locked, []

    def late(fd):
        if not asking:
            (name,) = os.listdir(place.live_folder)
            asking.append(os.open(os.path.join(place.live_folder, name), os.O_RDONLY))
            if when == "while it is being asked":
                fcntl.flock(asking[0], fcntl.LOCK_SH)
            os.unlink(os.path.join(place.live_folder, name))
        return real(fd)

    monkeypatch.setattr(presences, "_locked", late)
    held = Presence(place, kind="x")
    assert [each.kind for each in live(place)] == ["x"]
    held.end()
    os.close(asking[0])


def test_one_that_becomes_known_while_others_ask_stays_known(place):
    ending = threading.Event()

    def ask():
        while not ending.is_set():
            live(place)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for _ in range(200):
            held = Presence(place, kind="x")
            assert [each.kind for each in live(place)] == ["x"]
            held.end()
    finally:
        ending.set()
        thread.join()


@pytest.mark.parametrize("said", [b"", b"[]", b"{}", b'{"pid":"x","started":1,"kind":"k"}', b"\xff", b"[" * 4000])
def test_a_file_that_says_nothing_is_nobody(place, said):
    held = Presence(place, kind="x")
    with open(held._path, "r+b") as file:
        file.truncate()
        file.write(said)
    assert live(place) == []
    held.end()


def test_a_child_of_a_fork_does_not_keep_a_session_open(place):
    held = Presence(place, kind="x")
    ready, going = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        held.after_fork()
        os.write(ready[1], b"x")
        os.read(going[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    os.close(held._fd)  # as when the parent dies
    try:
        assert live(place) == []
    finally:
        os.write(going[1], b"x")
        os.waitpid(pid, 0)
        for fd in (*ready, *going):
            os.close(fd)


def test_a_session_whose_folder_cannot_be_made_is_written_all_the_same(make_log, place):
    os.makedirs(os.path.dirname(place.folder))
    open(place.folder, "w").close()
    log = make_log()
    log.append_durable(user("hello"))
    with open(place.path, "rb") as file:
        assert len(file.readlines()) == 2
    assert live(place) == []


def test_its_file_is_for_its_owner_only(place):
    held = Presence(place, kind="x")
    assert os.stat(held._path).st_mode & 0o777 == 0o600
    with open(held._path) as file:
        assert json.load(file)["pid"] == os.getpid()
    assert os.path.getsize(held._path) < presences._MOST_BYTES
    held.end()


OURS = "4711-0123abcd.json"


@pytest.mark.parametrize("name", ["", "live"])
def test_what_lies_behind_a_link_is_not_removed(place, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "live").mkdir(parents=True)
    files = [elsewhere / OURS, elsewhere / "live" / OURS]
    for file in files:
        file.write_text("not ours")
    link = os.path.join(place.folder, name) if name else place.folder
    os.makedirs(os.path.dirname(link))
    os.symlink(elsewhere, link)
    assert live(place) == []
    assert all(file.exists() for file in files)


@pytest.mark.parametrize("name", ["notes.json", "4711-0123abcd.json.bak", "4711-0123ABCD.json", "x4711-0123abcd.json"])
def test_what_is_called_otherwise_is_not_removed(place, name):
    os.makedirs(place.live_folder, 0o700)
    path = os.path.join(place.live_folder, name)
    with open(path, "w") as file:
        file.write('{"pid": 1, "started": null, "kind": "x"}')
    assert live(place) == [] and os.path.exists(path)


def test_what_is_no_file_is_nobody_and_keeps_no_one_waiting(place, tmp_path):
    os.makedirs(place.live_folder, 0o700)
    target = tmp_path / "target"
    target.write_text("x")
    os.mkfifo(os.path.join(place.live_folder, "1-0123abcd.json"))
    os.symlink(target, os.path.join(place.live_folder, "2-0123abcd.json"))
    os.mkdir(os.path.join(place.live_folder, "3-0123abcd.json"))
    assert live(place) == [] and target.exists()
