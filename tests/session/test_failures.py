"""Any call on the files of a session fails: once, or from there on for good, as on a full disk.

The calls are those of the module `os`, with a layer between that lets them fail.
"""

import errno
import fcntl
import os
from functools import partial

import pytest

from rehydrate.session import queue as queues

from . import writer
from .worlds import World

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
FAILURES = {
    "open": (errno.EROFS, errno.EMFILE, errno.EACCES, *FULL),
    "write": FULL,
    "fsync": FULL,
    "ftruncate": (errno.EIO, errno.EROFS),
    "unlink": (errno.EROFS,),
    "flock": (errno.ENOLCK, errno.EIO),
    "close": FULL,
    "fchmod": (errno.EPERM, errno.EROFS),
    "mkdir": (errno.EROFS, *FULL),
    "read": (errno.EIO,),
    "fstat": (errno.EIO,),
}
"""What the calls may fail with."""
ON_A_BAD_DISK = ("open", "write", "fsync", "ftruncate", "mkdir")
"""Calls that fail for good, once one does."""


class Layer:
    """Between the session and the system."""

    def __init__(self, patch):
        self.calls = []
        """The names of those that were made."""
        self.fails = lambda at, name: None
        """Gives the error with which the call of that number and name is to fail, or None."""
        for name in FAILURES:
            module = fcntl if name == "flock" else os
            patch.setattr(module, name, partial(self._call, name, getattr(module, name)))
        patch.setattr(queues.Queue, "_start", lambda self: None)

    def _call(self, name, real, *given, **named):
        self.calls.append(name)
        error = self.fails(len(self.calls) - 1, name)
        if error is None:
            return real(*given, **named)
        if name == "close":
            real(*given)  # it is closed all the same
        elif name == "write" and len(given[1]) > 1:
            real(given[0], given[1][: len(given[1]) // 2])  # a part of it gets through
        where = [each for each in given[:1] if isinstance(each, str)]  # the system's own errors name it, too
        raise OSError(error, os.strerror(error), *where)


def play(world, monkeypatch, fails):
    """Let the writer write; gives the names of its calls."""
    world.clear()
    with monkeypatch.context() as patch:
        layer = Layer(patch)
        layer.fails = fails
        log = writer.play(world.root, world.said.append)
    with monkeypatch.context() as patch:  # the disk has recovered
        patch.setattr(queues.Queue, "_start", lambda self: None)
        log.close()
    return layer.calls


def every_failure():
    return [(name, error) for name, errors in FAILURES.items() for error in errors]


@pytest.mark.parametrize(("name", "error"), every_failure(), ids=lambda value: errno.errorcode.get(value, value))
def test_where_any_call_fails_what_was_taken_is_written_and_what_failed_is_not(tmp_path, monkeypatch, name, error):
    world = World(tmp_path)
    calls = play(world, monkeypatch, lambda at, name: None)
    numbers = [at for at, each in enumerate(calls) if each == name]
    assert numbers or name in ("ftruncate", "fchmod")
    for number in numbers:
        play(world, monkeypatch, lambda at, name, number=number: error if at == number else None)
        if world.is_new():
            check(world)


@pytest.mark.parametrize("error", FULL, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ON_A_BAD_DISK)
def test_where_calls_fail_from_there_on_what_was_taken_is_written_once_they_do_not(tmp_path, monkeypatch, name, error):
    world = World(tmp_path)
    calls = play(world, monkeypatch, lambda at, name: None)
    for number in [at for at, each in enumerate(calls) if each in (name, "write")]:
        play(world, monkeypatch, lambda at, each, number=number: error if at >= number and each == name else None)
        if world.is_new():
            check(world)


def check(world):
    for (before, found), taken, failed in zip(world.go_on(), world.told("taken"), world.told("failed"), strict=True):
        assert failed.isdisjoint(found)
        assert taken <= found or (taken == {"title"} and not before)  # it waits for the first message
        assert not before or before.endswith(b"\n")
    assert not [path for path in world.files() if os.path.exists(f"{path}.torn")]
