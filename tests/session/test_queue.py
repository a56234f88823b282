"""What waits to be written: until when, and that nothing of it is dropped."""

import errno
import os
import subprocess
import sys
import threading
import time

import pytest

from rehydrate.session import Locked, assistant, user
from rehydrate.session import queue as queues
from rehydrate.session.file import LogFile

from .conftest import records, said

LONG_S = 30
"""A test that waits so long hangs."""


@pytest.fixture
def disk(monkeypatch):
    """Appends fail with the error that is set in it."""
    real, disk = LogFile.append, {"error": None, "attempts": 0}

    def append(self, bodies, **how):
        disk["attempts"] += 1
        if disk["error"] is not None:
            raise disk["error"]
        real(self, bodies, **how)

    monkeypatch.setattr(LogFile, "append", append)
    return disk


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def until(condition):
    end = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def begun(make_log, **more):
    log = make_log(**{"flush_ms": 3_600_000, **more})
    log.append_durable(user("hello"))
    return log


def test_what_is_appended_is_written_after_a_while_by_itself(make_log):
    log = begun(make_log, flush_ms=10)
    log.append(assistant("soon"))
    until(lambda: len(said(log.path)) == 2)
    log.append(assistant("and again"))
    until(lambda: len(said(log.path)) == 3)


def test_until_then_it_waits(make_log):
    log = begun(make_log)
    for _ in range(999):
        log.append(assistant("later"))
    assert len(said(log.path)) == 1
    log.flush()
    assert len(said(log.path)) == 1_000


def test_at_1000_entries_it_is_written(make_log):
    log = begun(make_log)
    for _ in range(1_000):
        log.append(assistant("now"))
    assert len(said(log.path)) == 1_001


def test_a_list_longer_than_the_queue_is_written_at_once(make_log):
    log = begun(make_log)
    log.append([assistant("now")] * 2_500)
    assert len(said(log.path)) == 2_501


def test_much_that_waits_is_written_however_few_entries_it_is(make_log, monkeypatch):
    monkeypatch.setattr(queues, "FULL_BYTES", 10_000)
    log = begun(make_log)
    log.append(assistant("x" * 10_000))
    assert len(said(log.path)) == 2


def test_what_waits_stands_before_what_is_durable(make_log):
    log = begun(make_log)
    log.append(assistant("first"))
    log.append_durable(user("second"))
    assert [each if isinstance(each, str) else each[0]["text"] for each in said(log.path)] == [
        *("hello", "first", "second"),
    ]


def test_a_flush_that_fails_says_so_and_keeps_everything(make_log, disk):
    log = begun(make_log)
    log.append(assistant("one"))
    disk["error"] = FULL
    for _ in range(2):
        with pytest.raises(OSError):
            log.flush()
    log.append(assistant("two"))
    disk["error"] = None
    log.flush()
    assert len(said(log.path)) == 3


def test_a_durable_append_that_fails_is_not_kept_and_what_waited_is(make_log, disk):
    log = begun(make_log)
    waiting = log.append(assistant("waits"))
    disk["error"] = FULL
    with pytest.raises(OSError):
        log.append_durable(user("fails"))
    assert log.tip == waiting
    disk["error"] = None
    log.append_durable(user("goes on"))
    assert [each["parentUuid"] for each in records(log.path)[3:]] == [waiting]
    assert said(log.path)[-1] == "goes on"


def test_a_full_queue_that_cannot_be_written_takes_no_more_and_says_why(make_log, disk):
    log = begun(make_log)
    disk["error"] = FULL
    for _ in range(1_000):
        last = log.append(assistant("kept"))
    for _ in range(2):
        with pytest.raises(OSError):
            log.append(assistant("not taken"))
    assert log.tip == last
    disk["error"] = None
    log.append_durable(user("goes on"))
    assert len(said(log.path)) == 1_002


def test_what_the_thread_could_not_write_it_writes_later(make_log, disk, monkeypatch):
    monkeypatch.setattr(queues, "PATIENCE_S", 0.02)
    log = begun(make_log, flush_ms=1)
    disk["error"] = FULL
    log.append(assistant("later"))
    until(lambda: disk["attempts"] > 4)
    disk["error"] = Locked("locked", path=log.path)
    seen = disk["attempts"]
    until(lambda: disk["attempts"] > seen + 2)
    disk["error"] = None
    until(lambda: len(said(log.path)) == 2)


def test_a_log_that_cannot_be_flushed_is_not_closed(make_log, disk):
    log = begun(make_log)
    log.append(assistant("kept"))
    disk["error"] = FULL
    with pytest.raises(OSError):
        log.close()
    disk["error"] = None
    log.close()
    assert len(said(log.path)) == 2


def test_a_closed_log_leaves_no_thread_and_no_descriptor(make_log):
    def counted():
        return threading.active_count(), len(os.listdir("/dev/fd"))

    before = counted()
    log = make_log(flush_ms=10)
    log.append([user("hello"), user("agent", agentId="a1")])
    log.close()
    log.close()
    assert counted() == before


def test_threads_append_each_behind_another_and_nothing_is_lost(make_log):
    log = begun(make_log, flush_ms=1)

    def run(name):
        for number in range(300):
            (log.append_durable if number % 100 == 0 else log.append)(user(f"{name}-{number}"))

    threads = [threading.Thread(target=run, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.flush()
    chain = [each for each in records(log.path) if "uuid" in each]
    assert [each["parentUuid"] for each in chain[1:]] == [each["uuid"] for each in chain[:-1]]
    for name in range(8):
        mine = [text for text in said(log.path) if text.startswith(f"{name}-")]
        assert mine == [f"{name}-{number}" for number in range(300)]


PROCESS = """
import os, sys, warnings
from rehydrate.session import Place, SessionLog, user
log = SessionLog(Place(*sys.argv[1:4]), cwd="/", flush_ms=3_600_000)
log.append_durable(user("hello"))
log.append(user("waits"))
"""


def run(place, code):
    command = [sys.executable, "-W", "ignore", "-c", PROCESS + code, place.root, place.key, place.session_id]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG_S)


@pytest.mark.parametrize(
    "code", ["", "del log", "sys.exit(3)", "raise KeyError", "log.append(user('more', agentId='a'))"]
)
def test_what_waits_at_the_end_of_the_interpreter_is_written(place, code):
    run(place, code)
    assert said(place.path) == ["hello", "waits"]
    if "agentId" in code:
        assert said(place.agent_path("a")) == ["more"]


def test_what_cannot_be_written_at_the_end_is_said(place):
    done = run(place, "os.unlink(log.path); os.mkdir(log.path)")
    assert "rehydrate: 1 entries could not be written: " in done.stderr and place.path in done.stderr
    assert done.stderr.count("\n") == 1


FORK = """
pid = os.fork()
if pid == 0:
    {child}
    sys.exit()
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("child", ["pass", "log.flush()", "log.close()"])
def test_the_child_of_a_fork_does_not_write_what_waits_in_its_parent(place, child):
    assert run(place, FORK.format(child=child)).stderr == ""
    assert said(place.path) == ["hello", "waits"]


def test_the_child_of_a_fork_can_append_as_another_process_would(place):
    child = "log.append(user('from the child')); log.append_durable(user('and more'))"
    assert run(place, FORK.format(child=child) + "log.append(user('from the parent'))").stderr == ""
    assert said(place.path) == ["hello", "from the child", "and more", "waits", "from the parent"]
    uuids = [each["uuid"] for each in records(place.path)[1:]]
    assert len(set(uuids)) == 5


def test_what_is_held_before_the_first_message_is_the_parents_too(place):
    code = """
log = SessionLog(Place(*sys.argv[1:3], "other"), cwd="/")
log.append([{"type": "tag", "tag": "x"}, {"type": "system", "uuid": "u-1"}])
"""
    code += FORK.format(child="log.append_durable(user('from the child'))") + "log.append(user('from the parent'))"
    assert run(place, code).stderr == ""
    _, child, *parents = records(type(place)(place.root, place.key, "other").path)
    assert (child["message"]["content"], child["parentUuid"]) == ("from the child", None)
    assert [each["type"] for each in parents] == ["tag", "system", "user"]
    assert parents[2]["parentUuid"] == "u-1"


def test_a_fork_while_other_threads_append_leaves_the_child_free_to(place):
    code = """
import threading
ending = threading.Event()
def work():
    while not ending.is_set():
        log.append_durable(user("x"))
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        log.append_durable(user("child"))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
ending.set()
"""
    assert run(place, code).stderr == ""
    assert said(place.path).count("child") == 20
