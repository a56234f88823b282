"""One append-only file on a disk that fails: what an append that raises leaves, and what a later one makes good."""

import errno
import os
import stat

import pytest

from rehydrate.session import DamagedLine
from rehydrate.session import file as files
from rehydrate.session.line import check, sealed

from .conftest import HEAD, ONE, THREE, TWO, another, append, read, tags, write


class Disk:
    """Lets calls on files fail: `room` bytes can be written, and the syncs and cuts that are named fail."""

    def __init__(self, patch):
        self.room = None
        self.syncs, self.cuts = 0, 0
        self.written = []
        self._real = {name: getattr(os, name) for name in ("write", "fsync", "ftruncate", "lseek")}
        for name in ("write", "fsync", "ftruncate"):
            patch.setattr(files.os, name, getattr(self, name))

    def write(self, fd, data):
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.room is not None:
            data = data[: self.room]
            self.room -= len(data)
        at = self._real["lseek"](fd, 0, os.SEEK_CUR)
        done = self._real["write"](fd, data)
        self.written.append((at, bytes(data[:done])))
        return done

    def fsync(self, fd):
        if self.syncs:
            self.syncs -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._real["fsync"](fd)

    def ftruncate(self, fd, size):
        if self.cuts:
            self.cuts -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._real["ftruncate"](fd, size)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def test_of_an_append_that_finds_no_room_nothing_stays_whatever_was_written_of_it(log, disk):
    append(log, ONE)
    before = read(log.path)
    for room in range(len(sealed(TWO, 3) + sealed(THREE, 4))):
        disk.room = room
        with pytest.raises(OSError) as raised:
            append(log, TWO, THREE)
        assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, log.path)
        assert read(log.path) == before
    disk.room = None
    append(log, TWO, THREE)
    assert tags(log.path) == ["one", "two", "three"]


def test_a_line_that_was_being_closed_when_there_was_no_room_is_closed_later(log, disk):
    whole = sealed(HEAD, 1) + sealed(ONE, 2)[:-1]
    write(log.path, whole)
    for room in (0, 1, 9):
        disk.room = room
        with pytest.raises(OSError):
            append(log, TWO)
        assert read(log.path) == whole
    disk.room = None
    append(log, TWO)
    assert tags(log.path) == ["one", "two"]


def test_what_could_not_be_taken_back_at_once_is_taken_back_by_the_next_append(log, disk):
    append(log, ONE)
    disk.room, disk.cuts = 90, 2
    with pytest.raises(OSError) as raised:
        append(log, TWO, THREE)
    assert raised.value.errno == errno.ENOSPC
    disk.room = None
    with pytest.raises(OSError) as raised:
        append(log, THREE)
    assert raised.value.errno == errno.EIO
    append(log, THREE)
    assert tags(log.path) == ["one", "three"]
    assert not os.path.exists(f"{log.path}.torn")


def test_what_could_not_be_taken_back_stays_where_others_have_gone_on_behind_it(log, disk):
    append(log, ONE)
    disk.syncs = disk.cuts = 1
    with pytest.raises(OSError):
        append(log, TWO)
    other = another(log)
    append(other, THREE)
    append(log, ONE)
    assert tags(log.path) == ["one", "two", "three", "one"]
    other.close()


def test_of_an_append_whose_sync_fails_nothing_stays(log, disk):
    append(log, ONE)
    before = read(log.path)
    disk.syncs = 1
    with pytest.raises(OSError) as raised:
        append(log, TWO)
    assert (raised.value.errno, raised.value.filename) == (errno.EIO, log.path)
    assert read(log.path) == before
    append(log, THREE)
    assert tags(log.path) == ["one", "three"]


def test_after_a_sync_that_failed_what_it_was_to_make_safe_is_written_once_more(log, disk):
    append(log, ONE)
    start = os.path.getsize(log.path)
    append(log, TWO, durable=False)
    append(log, THREE, durable=False)
    unsafe = read(log.path)[start:]
    for _ in range(2):  # nor is it forgotten when that fails, too
        disk.syncs = 1
        with pytest.raises(OSError):
            append(log, ONE)
    disk.written.clear()
    append(log, ONE)
    again = [(at, data) for at, data in disk.written if at < start + len(unsafe)]
    assert again[0][0] == start and b"".join(data for _, data in again[:2]) == unsafe
    assert tags(log.path) == ["one", "two", "three", "one"]
    disk.written.clear()
    append(log, TWO)
    assert len(disk.written) == 1


def test_what_was_to_be_written_once_more_is_not_written_into_another_file_in_its_place(log, disk, path):
    append(log, ONE)
    append(log, TWO, durable=False)
    disk.syncs = 1
    with pytest.raises(OSError):
        append(log, THREE)
    os.rename(path, f"{path}.old")
    write(path, b"x" * 1_000)
    with pytest.raises(OSError, match="it was moved"):
        append(log, THREE)
    assert read(path) == b"x" * 1_000
    assert tags(f"{path}.old") == ["one", "two"]


def test_what_the_disk_has_lost_after_a_sync_that_failed_is_said_once(log, disk):
    append(log, ONE)
    start = os.path.getsize(log.path)
    append(log, TWO, durable=False)
    disk.syncs = 1
    with pytest.raises(OSError):
        append(log, THREE)
    with open(log.path, "r+b") as file:
        file.seek(start)
        file.write(b"\0" * 9)
    with pytest.raises(DamagedLine, match="the disk has lost a line") as raised:
        append(log, THREE)
    assert (raised.value.path, raised.value.offset) == (log.path, start)
    append(log, THREE)
    assert check(read(log.path).splitlines()[-1])


def test_the_first_durable_append_makes_the_way_to_the_file_last(log, monkeypatch, tmp_path):
    synced = []
    real = os.fsync
    monkeypatch.setattr(files.os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), real(fd)))
    append(log, ONE, durable=False)
    assert synced == []
    append(log, TWO)
    way = [log.path, tmp_path / "root" / "key", tmp_path / "root", tmp_path]
    assert synced == [os.stat(each).st_ino for each in way]
    append(log, THREE)
    assert synced[4:] == [os.stat(log.path).st_ino]


def test_a_folder_that_cannot_be_synced_because_the_disk_fails_fails_the_append(log, disk):
    append(log, ONE, durable=False)
    before = read(log.path)
    real, fsync = os.fstat, files.os.fsync

    def failing(fd):
        if stat.S_ISDIR(real(fd).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(fd)

    files.os.fsync = failing  # put back with `disk`
    with pytest.raises(OSError):
        append(log, TWO)
    assert read(log.path) == before
    files.os.fsync = fsync
    append(log, TWO)
    assert tags(log.path) == ["one", "two"]


def test_a_blow_in_the_middle_of_an_append_leaves_nothing_of_it(log, monkeypatch):
    append(log, ONE)
    before = read(log.path)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            append(log, TWO)
    assert read(log.path) == before
    other = another(log)
    append(other, THREE)  # nor is it still locked
    assert tags(log.path) == ["one", "three"]
    other.close()


def test_more_than_the_system_takes_at_a_time_is_written_in_several_goes(log, disk, monkeypatch):
    monkeypatch.setattr(files, "WRITE_BYTES", 50)
    append(log, ONE, TWO, THREE)
    assert tags(log.path) == ["one", "two", "three"]
    assert max(len(data) for _, data in disk.written) == 50
