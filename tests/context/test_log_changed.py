"""A log that somebody changes behind the back of an engine that has it open."""

import errno
import os
import shutil
from itertools import count
from threading import Thread

import pytest

from rehydrate.context import Engine, Policy, Request, verify
from rehydrate.context.restore import restore
from rehydrate.session import SessionError

from .talk import assistant, user

REQUEST = Request(model="m", format="anthropic")


@pytest.fixture
def engine(log):
    made = Engine(log, window=20_000, policy=Policy(reserve=1_000))
    for word in ("one", "two", "three", "four"):
        made.append(user(f"{word} " * 400), assistant(f"{word}! " * 400))
    made.append(user("The last request."))
    made.prepare(REQUEST)
    return made


def cut_short(path):
    os.truncate(path, os.path.getsize(path) // 2)


def emptied(path):
    os.truncate(path, 0)


def deleted(path):
    os.unlink(path)


def folder_deleted(path):
    shutil.rmtree(os.path.dirname(path))


def replaced_by_an_older_copy(path):
    with open(path, "rb") as file:
        lines = file.readlines()
    os.unlink(path)
    with open(path, "wb") as file:
        file.writelines(lines[: len(lines) // 2])


def replaced_by_a_pipe(path):
    os.unlink(path)
    os.mkfifo(path)


def replaced_by_a_folder(path):
    os.unlink(path)
    os.mkdir(path)


def replaced_by_a_link(path):
    os.rename(path, f"{path}.elsewhere")
    os.symlink(f"{path}.elsewhere", path)


def zeroed_at_the_end(path):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size // 2)
        file.write(b"\0" * (size - size // 2))


CALLS = {
    "prepare": lambda engine: engine.prepare(REQUEST),
    "explain": lambda engine: engine.explain(),
    "compact": lambda engine: engine.compact(),
    "append": lambda engine: engine.append(user("More.")),
    "observe": lambda engine: engine.observe({"input_tokens": 5, "output_tokens": 5}, assistant("Well.")),
    "put": lambda engine: engine.ledger.put("Exact next action", "go on"),
    "overflow": lambda engine: engine.overflow("prompt is too long: 30000 tokens > 20000 maximum"),
}


def ends(call, engine):
    """What a call has raised, None where it was fine; a call that hangs fails the test."""
    found = []

    def run():
        try:
            call(engine)
        except Exception as error:
            found.append(error)
        else:
            found.append(None)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert found, "it hangs"
    return found[0]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("change", [cut_short, emptied, deleted, folder_deleted, replaced_by_an_older_copy])
def test_a_log_that_has_lost_what_was_written_is_told_of_and_not_gone_on_with(engine, change, call):
    path = engine.log.path
    change(path)
    before = os.path.getsize(path) if os.path.exists(path) else None
    error = ends(call, engine)
    assert isinstance(error, SessionError), error
    assert path in str(error)
    assert (os.path.getsize(path) if os.path.exists(path) else None) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("change", [replaced_by_a_pipe, replaced_by_a_folder, replaced_by_a_link])
def test_what_is_no_regular_file_any_more_is_refused_and_nobody_waits_for_it(engine, change, call):
    change(engine.log.path)
    assert isinstance(ends(call, engine), OSError)


READS = {
    "explain": lambda engine: engine.explain(),
    "append": CALLS["append"],
    "restore": lambda engine: restore(engine.log.path),
    "verify": lambda engine: verify(engine.log.path),
}


@pytest.mark.parametrize("name", ["fstat", "pread", "read"])
@pytest.mark.parametrize("call", READS.values(), ids=READS)
def test_a_disk_that_does_not_read_is_told_of_with_the_name_of_the_file(engine, monkeypatch, call, name):
    engine.compact()
    real = getattr(os, name)
    for number in count():
        calls = []

        def fails(*given, number=number, calls=calls):
            calls.append(None)
            if len(calls) == number + 1:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*given)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            error = ends(call, engine)
        if len(calls) <= number:
            break
        assert error is None or engine.log.path in str(error)
    assert error is None


def test_a_compaction_of_a_log_that_was_overwritten_is_not_committed(engine):
    zeroed_at_the_end(engine.log.path)
    assert isinstance(ends(CALLS["compact"], engine), SessionError)


def test_a_new_engine_goes_on_with_what_is_left(engine, open_log):
    cut_short(engine.log.path)
    projection = Engine(open_log(), window=20_000).prepare(REQUEST)
    assert "one one" in str(projection.messages[0])
