"""The hook as a process, and the settings: what they change, and that an unusable file of them changes nothing."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref

import pytest

from rehydrate import invocation
from rehydrate.deadline import Deadline, TooLate
from tests.helpers import needs_native

from .home import PACKAGE, Home, Recorder, checkpoint, long_talk, result, said, system_message
from .test_delivery import C, compacted, state_of

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer")
needs_parser = pytest.mark.skipif(
    sys.version_info < (3, 11) and not (PACKAGE / "tomli").is_dir(),
    reason="on Python 3.10 tomli does not lie beside the package in a checkout, where the hook could see it",
)
BACKENDS = [pytest.param("", id="native", marks=needs_native), pytest.param("1", id="pure")]


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture(params=BACKENDS)
def backend(home, request):
    home.environ["REHYDRATE_PURE"] = request.param


def settings_file(home):
    path = home.gemini.parent / ".config" / "rehydrate" / "rehydrate.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def invoke(home, reply):
    payload = json.dumps(home.payload(C)).encode()
    invocation.invoke("antigravity", payload, message="systemMessage", reply=reply, environ=home.environ)


@pytest.mark.skipif(sys.platform == "darwin", reason="the file lies elsewhere")
class TestFile:
    @pytest.mark.parametrize("kind", ["garbage", "not UTF-8", "large", "deep", "folder", "fifo", "dangling"])
    def test_an_unusable_one_stops_no_delivery(self, home, backend, kind):
        compacted(home)
        path = settings_file(home)
        contents = {
            "garbage": b"= =\n",
            "not UTF-8": b"\xff\xfe",
            "large": b"#" * 100_000,
            "deep": b"x=" + b"[" * 9_000,
        }
        if kind in contents:
            path.write_bytes(contents[kind])
        elif kind == "folder":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to("/nowhere/rehydrate.toml")
        assert len(home.hook(C)) == 1
        assert home.hook(C) == []

    @needs_parser
    def test_a_bad_value_in_it_stops_no_delivery_and_the_others_hold(self, home, backend):
        compacted(home)
        settings_file(home).write_text("requests_chars = 0\ndialogue_chars = 'x'\n")
        (text,) = home.hook(C)
        assert "Request number 0 from" in text and "1. Requests" not in text

    @needs_parser
    def test_what_it_says_holds_until_the_environment_says_otherwise(self, home):
        home.write(C, long_talk(count=20))
        home.hook(C)
        home.append(C, checkpoint(60))
        state = home.state(C).read_bytes()
        settings_file(home).write_text("part_bytes = 2000\nrequests_chars = 24000\n")
        parts = len(home.hook(C))
        home.state(C).write_bytes(state)
        assert parts > len(home.hook(C, environ={"REHYDRATE_PART_BYTES": "48000"})) == 1

    def test_it_is_not_looked_for_when_nothing_happened(self, home):
        home.write(C, long_talk())
        os.mkfifo(settings_file(home))
        assert home.hook(C) == []
        before = home.state(C).read_bytes()
        assert home.hook(C) == [] and home.state(C).read_bytes() == before


class TestReading:
    @pytest.fixture
    def elsewhere(self, home):
        """A file beside the workspace, which the conversation has read."""
        folder = home.gemini.parent / "notes"
        folder.mkdir()
        (folder / "found.txt").write_text("what stands in the notes")
        home.file("dump.sql", "what stands in the dump")
        calls = [("view_file", {"AbsolutePath": str(path)}) for path in (folder / "found.txt", home.work / "dump.sql")]
        home.write(C, [*long_talk(), said(12, "Look.", *calls), result(13), result(14)])
        assert home.hook(C) == []
        home.append(C, checkpoint(15))
        return folder

    def test_outside_the_workspaces_nothing_is_read(self, home, elsewhere):
        text = "".join(home.hook(C))
        assert "what stands in the dump" in text and "what stands in the notes" not in text

    def test_extra_roots_are_read(self, home, elsewhere):
        text = "".join(home.hook(C, environ={"REHYDRATE_EXTRA_ROOTS": str(elsewhere)}))
        assert "what stands in the notes" in text

    @pytest.mark.parametrize("deny", ["*.SQL", "{work}", "{work}/dump.sql", "~/work", "work"])
    def test_what_is_denied_is_not_read(self, home, elsewhere, deny):
        environ = {"REHYDRATE_EXTRA_ROOTS": str(elsewhere), "REHYDRATE_DENY": deny.format(work=home.work)}
        text = "".join(home.hook(C, environ=environ))
        assert "what stands in the notes" in text and "what stands in the dump" not in text


def test_a_client_that_is_switched_off_is_answered_with_nothing_and_leaves_no_trace(home):
    compacted(home)
    before = home.state(C).read_bytes()
    assert home.hook(C, environ={"REHYDRATE_CLIENTS_ANTIGRAVITY_ENABLED": "false"}) == []
    assert home.state(C).read_bytes() == before
    assert len(home.hook(C)) == 1


SLOW = (
    f"import sys; sys.path.append({str(PACKAGE)!r}); import time; from rehydrate import invocation\n"
    "def slow(*given, **named):\n"
    "    while True:\n"
    "        try: time.sleep(1)\n"
    "        except Exception: pass\n"
    "invocation.{name} = slow\n"
    "from rehydrate.hook import main; main()"
)


@needs_timer
class TestDeadline:
    @pytest.fixture
    def late(self, monkeypatch):
        """Building the delivery takes longer than it may."""

        def slow(*given, **named):
            signal.raise_signal(signal.SIGALRM)

        monkeypatch.setattr(invocation, "serve", slow)

    @pytest.mark.parametrize("name", ["serve", "Stretches.read", "iter_records"])
    def test_a_hook_that_takes_too_long_answers_with_nothing_and_says_why_to_doctor(self, home, name):
        compacted(home)
        if name == "iter_records":  # asked only when the new boundary has the number of the one that was delivered
            home.append(C, system_message(13, home.hook(C)[0]), said(14, "on"), checkpoint(12))
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", SLOW.replace("{name}", name), "antigravity"]
        environ = home.environ | {"REHYDRATE_DEADLINE_S": "1"}
        payload = json.dumps(home.payload(C)).encode()
        done = subprocess.run(command, input=payload, capture_output=True, env=environ, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
        assert state_of(home)["error"]["what"].startswith(
            "it took longer than deadline_s = 1 s, so nothing was put back"
        )

    def test_the_delivery_is_tried_once_more_and_then_no_more(self, home, late, monkeypatch):
        compacted(home)
        for tries in (1, 2):
            with pytest.raises(TooLate):
                invoke(home, Recorder())
            assert (state_of(home)["delivery"]["status"], state_of(home)["delivery"]["tries"]) == ("pending", tries)
        monkeypatch.undo()
        assert home.hook(C) == []
        assert state_of(home)["error"]["what"].startswith("it took longer")

    def test_the_second_try_is_the_whole_delivery_and_the_error_is_over(self, home, late, monkeypatch):
        compacted(home)
        with pytest.raises(TooLate):
            invoke(home, Recorder())
        monkeypatch.undo()
        assert len(home.hook(C)) == 1
        assert (state_of(home)["delivery"]["status"], state_of(home)["error"]) == ("sent", None)

    def test_what_is_being_sent_is_not_cut_short(self, home):
        compacted(home)

        class Late(Recorder):
            def send(self, text):
                signal.raise_signal(signal.SIGALRM)
                super().send(text)
                signal.raise_signal(signal.SIGALRM)

        reply = Late()
        invoke(home, reply)
        assert len(reply.sent) == 1
        assert (state_of(home)["delivery"]["status"], state_of(home)["error"]) == ("sent", None)

    def test_the_alarm_before_is_given_back(self):
        rung = []
        before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
        try:
            with Deadline(60):
                assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
            signal.raise_signal(signal.SIGALRM)
            assert rung == [1]
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_it_rings_once(self):
        with Deadline(60):
            with pytest.raises(TooLate):
                signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)

    def test_an_alarm_that_would_be_swallowed_comes_again(self, monkeypatch):
        class Swallows:
            def __del__(self):
                signal.raise_signal(signal.SIGALRM)

        unraised = []
        monkeypatch.setattr(sys, "unraisablehook", unraised.append)
        with Deadline(60):
            Swallows()  # gone at once
            assert unraised == []
            with pytest.raises(TooLate):
                signal.raise_signal(signal.SIGALRM)

    def test_no_temporary_folder_is_left_behind(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        finalize = weakref.finalize

        def slow(*given, **named):
            signal.raise_signal(signal.SIGALRM)
            return finalize(*given, **named)

        monkeypatch.setattr(weakref, "finalize", slow)
        with Deadline(60), pytest.raises(TooLate), tempfile.TemporaryDirectory():
            signal.raise_signal(signal.SIGALRM)
        assert list(tmp_path.iterdir()) == []

    def test_the_reading_of_the_settings_counts(self, home, monkeypatch):
        def slow(environ):
            signal.raise_signal(signal.SIGALRM)

        monkeypatch.setattr(invocation, "read_settings", slow)
        compacted(home)
        with pytest.raises(TooLate):
            invoke(home, Recorder())

    def test_another_limit_counts_from_the_same_beginning(self):
        with Deadline(60) as deadline:
            deadline.move(30)
            assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30

    def test_in_another_thread_there_is_none(self, home):
        compacted(home)
        reply = Recorder()
        thread = threading.Thread(target=invoke, args=(home, reply))
        thread.start()
        thread.join()
        assert len(reply.sent) == 1


def test_without_a_timer_it_works_all_the_same(home, monkeypatch):
    compacted(home)
    monkeypatch.delattr(signal, "setitimer", raising=False)
    reply = Recorder()
    invoke(home, reply)
    assert len(reply.sent) == 1


def test_the_errors_of_a_delivery_that_arrived_are_over(home, monkeypatch):
    """The marker stands in the log although the reply seemed to fail."""
    compacted(home)

    class Gone(Recorder):
        def send(self, text):
            super().send(text)
            raise BrokenPipeError

    reply = Gone()
    with contextlib.suppress(BrokenPipeError):
        invoke(home, reply)
    assert state_of(home)["error"]["what"].startswith("BrokenPipeError")
    (step,) = json.loads(reply.sent[0])["injectSteps"]
    home.append(C, system_message(13, step["systemMessage"]["systemMessage"]))
    assert home.hook(C) == []
    assert (state_of(home)["delivery"]["status"], state_of(home)["error"]) == ("sent", None)


def test_an_error_goes_with_the_next_delivery(home, monkeypatch):
    compacted(home)
    monkeypatch.setattr(invocation, "serve", lambda *_, **__: 1 / 0)
    with contextlib.suppress(ZeroDivisionError):
        invoke(home, Recorder())
    monkeypatch.undo()
    assert state_of(home)["error"]["what"].startswith("ZeroDivisionError")
    assert len(home.hook(C)) == 1
    assert state_of(home)["error"] is None
