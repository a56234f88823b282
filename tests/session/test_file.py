"""One append-only file: whole lines whatever was there before, whatever fails, and whoever else writes."""

import errno
import fcntl
import json
import os
import stat
import threading
import zlib

import pytest

from rehydrate.session import DamagedLine, Locked, NewerVersion
from rehydrate.session import file as files
from rehydrate.session.file import LogFile
from rehydrate.session.line import check, encode, sealed, seq_of

from .conftest import records

HEAD = encode({"type": "session", "format": 1})
ONE, TWO, THREE = (encode({"type": "tag", "tag": each}) for each in ("one", "two", "three"))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "root" / "key" / "id.jsonl")


@pytest.fixture
def log(path, tmp_path):
    made = LogFile(path, root=str(tmp_path / "root"), head=lambda: HEAD)
    yield made
    made.close()


def another(log):
    """The same file in another's hands."""
    return LogFile(log.path, root=log._root, head=lambda: HEAD)


def append(log, *bodies, durable=True):
    log.append(bodies, durable=durable)


def tags(path):
    return [each["tag"] for each in records(path) if "tag" in each]


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# -- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022])
def test_file_and_folders_are_for_their_owner_only_whatever_the_umask(log, umask):
    before = os.umask(umask)
    try:
        append(log, ONE)
    finally:
        os.umask(before)
    folder = os.path.dirname(log.path)
    assert [stat.S_IMODE(os.stat(each).st_mode) for each in (log.path, folder)] == [0o600, 0o700]


def test_a_file_that_others_may_read_no_longer_is_one(log):
    write(log.path, sealed(ONE, 1))
    os.chmod(log.path, 0o644)
    append(log, TWO)
    assert stat.S_IMODE(os.stat(log.path).st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "fifo", "second name"])
def test_what_is_no_file_of_its_own_is_not_written_to(log, tmp_path, kind):
    os.makedirs(os.path.dirname(log.path))
    other = tmp_path / "other"
    if kind == "dangling link":
        os.symlink(other, log.path)
    elif kind == "folder":
        os.mkdir(log.path)
    elif kind == "fifo":
        os.mkfifo(log.path)
    else:
        other.write_bytes(b"")
        (os.symlink if kind == "link" else os.link)(other, log.path)
    with pytest.raises(OSError) as raised:
        append(log, ONE)
    assert raised.value.filename == log.path
    assert not other.exists() or other.read_bytes() == b""


def test_a_folder_that_is_a_link_is_not_written_into(log, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "root" / "key")
    with pytest.raises(NotADirectoryError):
        append(log, ONE)
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_written_to(log):
    write(log.path, b"")
    os.chown(log.path, 12345, 12345)
    with pytest.raises(PermissionError):
        append(log, ONE)


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_where_nothing_may_be_written_the_error_says_where(log, tmp_path):
    (tmp_path / "root").mkdir(mode=0o500)
    with pytest.raises(PermissionError) as raised:
        append(log, ONE)
    assert str(tmp_path / "root") in str(raised.value)


def test_a_file_of_a_later_format_is_not_appended_to(log):
    data = sealed(encode({"type": "session", "format": 2}), 1) + b'{"torn":'
    write(log.path, data)
    with pytest.raises(NewerVersion, match="has format 2") as raised:
        append(log, ONE)
    assert (raised.value.path, raised.value.line, raised.value.offset) == (log.path, 1, 0)
    assert read(log.path) == data


def test_a_file_that_was_removed_is_begun_anew(log):
    append(log, ONE)
    os.unlink(log.path)
    append(log, TWO)
    assert tags(log.path) == ["two"]


def test_a_file_that_was_replaced_is_gone_on_with(log, path):
    append(log, ONE)
    new = another(log)
    new.path = f"{path}.new"
    append(new, TWO)
    os.replace(new.path, path)
    append(log, THREE)
    assert tags(path) == ["two", "three"]
    new.close()


def test_a_file_that_was_moved_is_gone_on_with_where_it_is(log, path):
    append(log, ONE)
    os.rename(path, f"{path}.old")
    append(log, TWO)
    assert tags(f"{path}.old") == ["one", "two"]
    assert not os.path.exists(path)


def test_a_file_that_was_cut_short_is_gone_on_with(log):
    append(log, ONE, TWO)
    os.truncate(log.path, len(read(log.path)) - 5)
    append(log, THREE)
    assert tags(log.path) == ["one", "three"]


# -- its end ----------------------------------------------------------------------------------------------------------


def test_an_unfinished_line_is_closed_where_its_check_is_right_and_moved_aside_where_not(log):
    whole = sealed(HEAD, 1) + sealed(ONE, 2)
    last = sealed(TWO, 3)
    for cut in range(len(last)):
        write(log.path, whole + last[:cut])
        append(log, THREE)
        is_whole = cut == len(last) - 1
        assert tags(log.path) == ["one", "two", "three"] if is_whole else ["one", "three"]
        if is_whole or cut == 0:
            assert not os.path.exists(f"{log.path}.torn")
        else:
            assert read(f"{log.path}.torn") == last[:cut] + b"\n"
            os.unlink(f"{log.path}.torn")
        os.unlink(log.path)


def test_what_was_moved_aside_before_is_kept_and_for_its_owner_only(log):
    for tail in (b'{"a":', b"\0\0\0"):
        write(log.path, sealed(ONE, 1) + tail)
        append(log, TWO)
        os.unlink(log.path)
    torn = f"{log.path}.torn"
    assert read(torn) == b'{"a":\n\0\0\0\n'
    assert stat.S_IMODE(os.stat(torn).st_mode) == 0o600


def test_a_file_of_nothing_but_an_unfinished_line_begins_anew(log):
    write(log.path, b'{"type":"sess')
    append(log, ONE)
    assert [each["type"] for each in records(log.path)] == ["session", "tag"]


def test_what_cannot_be_moved_aside_stays_where_it_is(log, tmp_path):
    write(log.path, sealed(ONE, 1) + b'{"a":')
    os.symlink(tmp_path / "other", f"{log.path}.torn")
    with pytest.raises(OSError) as raised:
        append(log, TWO)
    assert raised.value.filename == f"{log.path}.torn"
    assert read(log.path) == sealed(ONE, 1) + b'{"a":'
    assert not (tmp_path / "other").exists()


def test_an_unfinished_line_longer_than_a_block_is_moved_whole(log):
    tail = b'{"a":"' + b"x" * 300_000
    write(log.path, sealed(ONE, 1) + tail)
    append(log, TWO)
    assert read(f"{log.path}.torn") == tail + b"\n"
    assert tags(log.path) == ["one", "two"]


@pytest.mark.parametrize("foreign", [b'{"type":"user"}\n' * 3, b'{}\n\n{"seq":99}\n', b"x\n\0\0\n{}\n"])
def test_behind_lines_without_a_check_lines_are_counted(log, foreign):
    write(log.path, foreign)
    append(log, ONE)
    assert seq_of(read(log.path).splitlines()[-1]) == 4


def test_behind_a_line_whose_check_is_wrong_lines_are_counted(log):
    write(log.path, sealed(ONE, 1) + sealed(TWO, 900).replace(b"two", b"TWO"))
    append(log, THREE)
    assert seq_of(read(log.path).splitlines()[-1]) == 3


def test_what_others_have_appended_is_numbered_on_from(log):
    other = another(log)
    append(log, ONE)
    append(other, TWO)
    append(log, THREE)
    assert tags(log.path) == ["one", "two", "three"]
    other.close()


# -- what fails -------------------------------------------------------------------------------------------------------


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


# -- others -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def held(log):
    """Another's descriptor that holds the lock of the file."""
    append(log, ONE)
    fd = os.open(log.path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    yield fd
    os.close(fd)


def test_a_file_that_others_keep_locked_is_not_written_to_and_that_is_said(log, held, monkeypatch):
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.05)
    with pytest.raises(Locked, match=r"kept .* locked for") as raised:
        append(log, TWO)
    assert raised.value.path == log.path
    assert tags(log.path) == ["one"]
    fcntl.flock(held, fcntl.LOCK_UN)
    append(log, TWO)
    assert tags(log.path) == ["one", "two"]


def test_a_file_that_others_have_locked_is_waited_for(log, held):
    timer = threading.Timer(0.1, fcntl.flock, (held, fcntl.LOCK_UN))
    timer.start()
    append(log, TWO)
    timer.join()
    assert tags(log.path) == ["one", "two"]


def test_it_is_waited_for_5_seconds():
    assert files.LOCK_WAIT_S == 5


def test_between_appends_the_file_is_not_locked_even_where_a_child_has_its_descriptor(log):
    append(log, ONE)
    child = os.dup(log._fd)
    append(log, TWO)
    other = another(log)
    append(other, THREE)
    os.close(child)
    other.close()
    assert tags(log.path) == ["one", "two", "three"]


def test_a_check_that_was_made_elsewhere_is_the_same(log):
    append(log, ONE)
    for line in read(log.path).splitlines():
        record = json.loads(line)
        assert int(record["crc"], 16) == zlib.crc32(line[: line.rindex(b',"crc"')])
