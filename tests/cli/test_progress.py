"""The bar: only for those who wait and can see it, and never in the way of the work."""

import contextlib
import os
import sys
import threading

import pytest

from rehydrate.cli import progress as module
from rehydrate.cli.progress import progress

pty = pytest.importorskip("pty")
SHOWN = "\x1b[?25l"
GONE = "\x1b[?25h"


class Screen:
    """Standard error, as a terminal."""

    def __init__(self):
        self._ours, theirs = pty.openpty()
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")

    @contextlib.contextmanager
    def progress(self, **more):
        """A bar on it, as a command has one."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stderr", self.stream)
            with progress("reading the file", **more) as advance:
                yield advance

    def text(self):
        """What was written to it; the terminal is closed then."""
        if not self.stream.closed:
            self.stream.close()
        seen = b""
        try:
            while chunk := os.read(self._ours, 65_536):
                seen += chunk
        except OSError:  # how Linux says that all is read
            pass
        return seen.decode()

    def hang_up(self):
        os.close(self._ours)
        self._ours = None

    def put_away(self):
        """Close what is open; what could not be written is lost."""
        with contextlib.suppress(OSError):
            self.stream.close()
        if self._ours is not None:
            os.close(self._ours)


class Timer:
    """A timer whose time has come when it is started, or never."""

    comes = True

    def __init__(self, after_s, function):
        assert after_s == module.PATIENCE_S
        self._function = function

    def start(self):
        if self.comes:
            thread = threading.Thread(target=self._function)
            thread.start()
            thread.join()

    def cancel(self):
        pass


@pytest.fixture
def screen(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(module.threading, "Timer", Timer)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    yield screen
    screen.put_away()


def test_a_bar_says_what_is_done_and_is_gone_afterwards(screen):
    with screen.progress(total=10) as advance:
        advance(5)
    text = screen.text()
    assert "reading the file" in text and "━━━" in text
    assert text.index(SHOWN) < text.index(GONE)
    assert text.rstrip().endswith("\x1b[2K")


def test_many_small_steps_are_drawn_as_few(screen, monkeypatch):
    drawn = []
    monkeypatch.setattr("rich.progress.Progress.update", lambda _, task, completed: drawn.append(completed))
    with screen.progress(total=5_000) as advance:
        for done in range(1, 101):
            advance(done)
    assert drawn == list(range(10, 101, 10))


def test_without_a_total_it_only_moves(screen):
    with screen.progress() as advance:
        advance(5)
    assert "reading the file" in screen.text()


def test_before_its_time_nothing_is_shown(screen, monkeypatch):
    monkeypatch.setattr(Timer, "comes", False)
    with screen.progress(total=10) as advance:
        advance(10)
    assert screen.text() == ""


def test_work_that_is_over_when_its_time_comes_shows_nothing(screen):
    bar = module._Bar("reading the file", None)
    bar.end()
    bar.show()
    assert screen.text() == ""


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_it_is_gone_when_the_work_fails(screen, error):
    with pytest.raises(error), screen.progress():
        raise error
    assert GONE in screen.text()


def test_what_is_printed_meanwhile_goes_where_it_should(screen, capsys):
    with screen.progress():
        print("a line")
        assert sys.stderr is screen.stream
    assert capsys.readouterr().out == "a line\n"
    assert "a line" not in screen.text()


def test_a_terminal_that_has_gone_stops_no_work(screen):
    screen.hang_up()
    with screen.progress(total=2) as advance:
        advance(1)


def test_a_terminal_that_goes_meanwhile_stops_no_work(screen, monkeypatch):
    monkeypatch.setattr("threading.excepthook", lambda _: None)  # the thread that draws may meet it first
    with screen.progress(total=2) as advance:
        screen.hang_up()
        advance(1)


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_cannot_go_back_has_none(screen, monkeypatch, term):
    monkeypatch.setenv("TERM", term)
    with screen.progress():
        pass
    assert screen.text() == ""


def test_a_closed_standard_error_has_none(screen):
    screen.stream.close()
    with screen.progress() as advance:
        advance(1)
    assert screen.text() == ""


def test_without_standard_error_there_is_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with progress("reading the file") as advance:
        advance(1)


def test_a_pipe_has_none(capsys):
    with progress("reading the file") as advance:
        advance(1)
    assert capsys.readouterr().err == ""


class TestScan:
    @pytest.fixture
    def log(self, tmp_path):
        path = tmp_path / "log.jsonl"
        path.write_text('{"step_index":1,"type":"A"}\n' * 3)
        return path

    @pytest.fixture
    def asked_for(self, monkeypatch):
        """What bars a command wanted, and how far they came."""
        told = []

        def recorded(what, *, total=None):
            told.append(total)
            return contextlib.nullcontext(told.append)

        monkeypatch.setattr("rehydrate.cli.scan.progress", recorded)
        return told

    def test_a_list_into_a_file_has_the_bytes_as_its_bar(self, shell, log, asked_for, monkeypatch, tmp_path):
        with (tmp_path / "out").open("w") as out:
            monkeypatch.setattr(sys, "stdout", out)
            shell.run("scan", log)
        assert asked_for == [84, 27, 55, 83]
        assert len((tmp_path / "out").read_text().splitlines()) == 4

    def test_a_list_that_someone_may_see_grow_has_none(self, shell, log, asked_for):
        assert shell.run("scan", log).status == 0
        assert asked_for == []

    def test_the_end_of_a_file_has_one_that_moves(self, shell, log, asked_for):
        shell.run("scan", log, "--tail", "--json")
        assert asked_for == [None]
