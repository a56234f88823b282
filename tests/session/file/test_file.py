"""One append-only file: whole lines whatever was there before, and whoever else writes."""

import fcntl
import json
import os
import stat
import threading
import zlib

import pytest

from rehydrate.session import Locked, NewerVersion
from rehydrate.session import file as files
from rehydrate.session.line import encode, sealed, seq_of
from tests.session.conftest import records

from .conftest import HEAD, ONE, THREE, TWO, another, append, read, tags, write

# -- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
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


def test_a_later_format_is_told_however_long_the_record_is_that_says_so(log):
    write(log.path, sealed(encode({"type": "session", "more": "x" * 200_000, "format": 2}), 1))
    with pytest.raises(NewerVersion):
        append(log, ONE)


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


def test_a_line_that_others_left_open_is_closed_by_an_append_of_nothing_too(log, path):
    append(log, ONE)
    with open(path, "ab") as file:
        file.write(sealed(TWO, 3)[:-1])
    append(log)
    append(log, THREE)
    assert tags(path) == ["one", "two", "three"]


def test_what_is_to_follow_is_asked_for_while_nobody_else_can_append(log, path):
    append(log, ONE)
    other = another(log)
    append(other, TWO)
    with open(path, "ab") as file:
        file.write(sealed(THREE, 4)[:-1])
    asked = []

    def more():
        asked.append(tags(path))
        with open(path, "rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return [ONE]

    log.append([TWO], durable=True, more=more)
    other.close()
    assert asked == [["one", "two", "three"]]
    assert tags(path) == ["one", "two", "three", "two", "one"]


def test_nothing_is_written_when_what_is_to_follow_cannot_be_told(log, path):
    append(log, ONE)
    before = read(path)

    def more():
        raise ValueError

    with pytest.raises(ValueError):
        log.append([TWO], durable=True, more=more)
    assert read(path) == before
    append(another(log), THREE)
    append(log, TWO)
    assert tags(path) == ["one", "three", "two"]
