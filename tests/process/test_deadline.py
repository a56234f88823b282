"""The hook that has too little time: wherever that is, it answers, remembers, and the next call goes on from there."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rehydrate import invocation, scan, stretches
from rehydrate.deadline import TooLate
from tests.helpers import needs_native

from .home import PACKAGE, Home, Recorder, checkpoint, hook_command, long_talk, said

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such timer here")
C = "11111111-2222-4333-8444-555555555555"
GB = 1 << 30


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def payload(home):
    return json.dumps(home.payload(C)).encode()


def state_of(home):
    return json.loads(home.state(C).read_text())


def invoke(home):
    reply = Recorder()
    try:
        invocation.invoke("antigravity", payload(home), message="systemMessage", reply=reply, environ=home.environ)
    except TooLate:
        return "late"
    return len(reply.sent)


def lengthen(path, *sizes, step=90):
    """More lines, most of each a hole: it costs nothing to make them, and seconds to read them."""
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        for size in sizes:
            file.write(b'{"step_index":%d,"type":"GENERIC","content":"' % step)
            file.seek(size, os.SEEK_CUR)
            file.write(b'"}\n')


@pytest.fixture
def large(tmp_path):
    """A file that takes seconds to read, in whatever way."""
    path = tmp_path / "large"
    path.write_bytes(b"")
    for _ in range(2):
        lengthen(path, 16 * GB)
    return str(path)


WORK = {
    "scan_tail": "scan.scan_tail(path)",
    "probe": "scan.probe(path)",
    "find_step": "scan.find_step(path, 50)",
    "probe_many": "scan.probe_many([path] * 9)",
    "probe_candidates": "scan.probe_candidates([path] * 9, 80, slack=70)",
    "read_tree": "scan.read_tree(path)",
    "iter_steps": "list(scan.iter_steps(path, types=['A']))",
    "iter_records": "list(scan.iter_records(path, ['a'], where={'type': ['A']}))",
    "gate": "_native.gate(0)",
}


@needs_native
@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_long_native_call_at_once(large, name, number):
    """To read the file takes far longer than the test waits."""
    code = (
        f"import sys; sys.path.append({str(PACKAGE)!r}); import signal; from rehydrate import _native, scan\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # what started the tests may ignore it
        f"path = {large!r}; print(flush=True)\n"
        f"try:\n {WORK[name]}\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(number)
    try:
        assert process.wait(10 if name != "gate" else 0.7) == (7 if number == signal.SIGINT else -number)
    finally:
        process.kill()
        process.communicate()


@needs_native
def test_no_thread_is_left_behind_by_a_read_that_was_ended(large):
    from rehydrate.scan import _rust

    class Ended(Exception):
        pass

    def end(number, frame):
        raise Ended

    threads = system_threads()  # a runner of tests may have some
    before = signal.signal(signal.SIGALRM, end)
    try:
        for work in (_rust.scan_tail, _rust.read_tree):
            signal.setitimer(signal.ITIMER_REAL, 0.15)
            with pytest.raises(Ended):
                work(large)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert system_threads() <= threads


def system_threads():
    """Those of this process, of Python or not; none where the system does not say."""
    return set(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else set()


@needs_timer
class TestTooLittleTime:
    def late(self, home, **environ):
        """The hook answers, although to read its log takes far longer than it has and the test waits."""
        environ = home.environ | {"REHYDRATE_DEADLINE_S": "1", **environ}
        done = subprocess.run(hook_command(), input=payload(home), capture_output=True, env=environ, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
        return state_of(home)["error"]

    @pytest.mark.parametrize("pure", [pytest.param("0", marks=needs_native), "1"])
    def test_in_the_first_look_at_a_log(self, home, pure):
        home.write(C, long_talk())
        lengthen(home.transcript(C), *[GB // 8] * 400, 9)
        error = self.late(home, REHYDRATE_PURE=pure)
        assert error["what"].startswith("it took longer than deadline_s = 1 s")
        assert "bytes of the log are read, and the next call goes on there" in error["what"]
        # It is no large one any more: the next call works, and the error is over.
        home.write(C, long_talk())
        assert home.hook(C) == []
        assert home.hook(C, environ={"REHYDRATE_PURE": pure}) == []
        assert state_of(home)["cursor"] is not None

    def test_with_the_alarm_blocked_by_whoever_started_it(self, home):
        home.write(C, long_talk())
        lengthen(home.transcript(C), *[GB // 8] * 400, 9)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        try:
            self.late(home)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def test_in_joining_chunks_of_which_there_is_no_end(self, home):
        home.write(C, long_talk())
        folder = home.logs(C) / "chunks" / "transcript_full"
        folder.mkdir(parents=True)
        home.transcript(C).rename(folder / "00000000.jsonl")
        (folder / "00000001.jsonl").touch()
        os.truncate(folder / "00000001.jsonl", 64 * GB)
        assert "bytes of the log are read" not in self.late(home)["what"]

    def test_among_many_candidates_for_a_parent(self, home):
        home.write(C, long_talk(first=100))
        home.hook(C)
        for number in range(3):
            home.write(f"aa{number}{C[3:]}", long_talk())
            lengthen(home.transcript(f"aa{number}{C[3:]}"), 64 * GB, step=9)
        home.append(C, checkpoint(112))
        assert self.late(home)["what"].startswith("it took longer than deadline_s = 1 s")
        for number in range(3):
            home.transcript(f"aa{number}{C[3:]}").unlink()
        assert len(home.hook(C)) == 1
        assert state_of(home)["error"] is None


@needs_timer
class TestStretches:
    @pytest.fixture
    def short(self, monkeypatch):
        """A stretch is short, and the time is over after so many of them."""
        monkeypatch.setattr(stretches, "STRETCH_BYTES", 300)
        read = stretches.scan_tail

        def after(count):
            left = [count]

            def late(*given, **named):
                left[0] -= 1
                if left[0] < 0:
                    signal.raise_signal(signal.SIGALRM)
                return read(*given, **named)

            monkeypatch.setattr(stretches, "scan_tail", late)

        return after

    @pytest.mark.parametrize("behind", [0, 20])
    def test_the_calls_read_on_and_then_do_what_one_would_have_done(self, home, short, behind):
        """A compaction a few steps back comes with the first sight of a conversation, an old one does not."""
        home.write(C, [*long_talk(), checkpoint(12), *[said(13 + number, "on") for number in range(behind)]])
        short(2)
        calls = 0
        reached = [0]
        while (found := invoke(home)) == "late":
            short(2)
            calls += 1
            error = state_of(home)["error"]
            assert f"{error['reached']['cursor'][1]:,} of " in error["what"]
            assert state_of(home)["cursor"] is None
            reached.append(error["reached"]["cursor"][1])
            assert calls < 50
        assert calls > 2
        assert reached == sorted(set(reached))
        assert found == (0 if behind else 1)
        assert home.hook(C) == []

    def test_what_was_reached_in_a_log_that_is_another_now_counts_for_nothing(self, home, short):
        home.write(C, long_talk(count=9))
        short(3)
        assert invoke(home) == "late"
        home.write(C, [*long_talk(first=50, count=2), checkpoint(56)])
        short(99)
        assert invoke(home) == 1

    @pytest.mark.parametrize("rounds", [4, 90])
    def test_a_boundary_in_a_log_that_was_written_anew_is_new_however_many_calls_it_takes(self, home, short, rounds):
        """Shorter than what was read before, or longer with the boundary among what was."""
        home.write(C, [*long_talk(count=12), said(40, "y" * 3_000), checkpoint(50), said(51, "on")])
        home.hook(C)
        home.write(C, [*long_talk(minute=5), checkpoint(24), *[said(25 + n, "z" * 60) for n in range(rounds)]])
        for _ in range(99):
            short(3)
            if (found := invoke(home)) != "late":
                break
            assert state_of(home)["error"]["reached"]["restarted"]
        assert found == 1

    @pytest.mark.parametrize("kept", [None, 7, {}, {"from": None, "cursor": [1, -1, "0" * 8]}, {"from": [1]}])
    def test_a_damaged_state_counts_for_nothing(self, tmp_path, kept):
        path = tmp_path / "t"
        path.write_bytes(b'{"step_index":3,"type":"CHECKPOINT"}\n')
        assert stretches.Stretches(None, kept).read(str(path)).last_step == 3

    def test_a_log_that_cannot_be_looked_through_in_time_is_passed_over_after_two_tries(self, home, monkeypatch):
        from rehydrate.clients.antigravity import transcript

        home.write(C, long_talk())
        home.hook(C)
        home.append(C, checkpoint(12))
        monkeypatch.setattr(transcript, "survey", lambda place: signal.raise_signal(signal.SIGALRM))
        assert [invoke(home) for _ in range(4)] == ["late", "late", 0, 0]
        assert "tried 2 times, its last compaction is passed over" in state_of(home)["error"]["what"]
        monkeypatch.undo()
        assert home.hook(C) == []
        home.append(C, said(13, "on"), checkpoint(14))
        assert len(home.hook(C)) == 1


@needs_timer
def test_what_took_too_long_before_an_invocation_that_went_well_is_held_against_no_later_compaction(home, monkeypatch):
    from rehydrate.clients.antigravity import transcript

    home.write(C, long_talk())
    home.hook(C)
    home.append(C, checkpoint(12))
    with monkeypatch.context() as patched:
        patched.setattr(transcript, "survey", lambda place: signal.raise_signal(signal.SIGALRM))
        assert [invoke(home) for _ in range(2)] == ["late", "late"]
    home.write(C, [*long_talk(), said(12, "It was rewound.")])
    assert home.hook(C) == []
    home.append(C, checkpoint(13))
    assert len(home.hook(C)) == 1


@needs_timer
def test_a_boundary_that_was_reached_but_is_none_of_the_log_costs_one_call(home):
    home.write(C, long_talk())
    home.hook(C)
    home.append(C, checkpoint(12))
    state = state_of(home)
    end = scan.scan_tail(home.transcript(C)).cursor
    reached = {"from": state["cursor"], "cursor": end, "mark": [12, 7, 7], "last_step": 12, "restarted": False}
    home.state(C).write_text(json.dumps({**state, "error": {"what": "", "time_s": 0, "reached": reached}}))
    assert [len(home.hook(C)) for _ in range(3)] == [0, 1, 0]


@needs_timer
def test_a_pending_delivery_is_given_up_when_the_log_cannot_be_looked_through_any_more(home, monkeypatch):
    """The time is over while it is made, and again before it is known whether it arrived."""
    from rehydrate.clients.antigravity import transcript

    def late(*given, **named):
        signal.raise_signal(signal.SIGALRM)

    home.write(C, long_talk())
    home.hook(C)
    home.append(C, checkpoint(12))
    with monkeypatch.context() as patched:
        patched.setattr(invocation, "serve", late)
        assert invoke(home) == "late"
        patched.setattr(transcript, "survey", late)
        assert [invoke(home) for _ in range(3)] == ["late", 0, 0]
    assert state_of(home)["delivery"]["status"] == "sent"
    home.append(C, said(13, "on"), checkpoint(14))
    assert len(home.hook(C)) == 1


def test_an_error_is_over_when_a_later_invocation_went_well(home, monkeypatch):
    home.write(C, long_talk())
    home.hook(C)
    with monkeypatch.context() as patched:
        patched.setattr(invocation.Stretches, "read", lambda *_: 1 / 0)
        home.append(C, said(13, "x" * (1 << 20)), said(14, "on"))
        with pytest.raises(ZeroDivisionError):
            invocation.invoke(
                "antigravity", payload(home), message="systemMessage", reply=Recorder(), environ=home.environ
            )
    assert "over_s" not in state_of(home)["error"]
    assert home.hook(C) == []
    assert state_of(home)["error"]["what"].startswith("ZeroDivisionError") and state_of(home)["error"]["over_s"] > 0
