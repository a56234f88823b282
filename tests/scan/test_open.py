"""Which files are opened, and the errors for the others."""

import contextlib
import errno
import os
import socket
import sys
import time

import pytest

from tests.helpers import step, write_lines


def operations(impl):
    return [
        impl.scan_tail,
        impl.probe,
        lambda path: impl.find_step(path, 1),
        impl.iter_steps,
        impl.iter_closed,
        lambda path: impl.iter_records(path, ["a"]),
        impl.read_tree,
        lambda path: impl.cursor_at(path, 0),
    ]


def test_f01_a_missing_file(impl, tmp_path):
    for call in operations(impl):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "gone")
        assert os.fsdecode(caught.value.filename) == str(tmp_path / "gone")
        assert caught.value.errno == errno.ENOENT


def test_f01_an_empty_file(impl, tmp_path):
    path = write_lines(tmp_path / "t", [])
    assert impl.scan_tail(path).lines == 0
    assert impl.probe(path).size == 0
    assert impl.find_step(path, 1) is None
    assert list(impl.iter_steps(path)) == list(impl.iter_closed(path)) == list(impl.iter_records(path, [])) == []


def test_f01_a_directory(impl, tmp_path):
    for call in operations(impl):
        with pytest.raises(IsADirectoryError):
            call(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_f01_an_unreadable_file(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    os.chmod(path, 0)
    for call in operations(impl):
        with pytest.raises(PermissionError):
            call(path)


def test_a_path_through_a_file(impl, tmp_path):
    path = write_lines(tmp_path / "t", [])
    for call in operations(impl):
        with pytest.raises(NotADirectoryError):
            call(path + "/x")


def refuse(impl, path):
    for call in operations(impl):
        began = time.perf_counter()
        with pytest.raises(OSError, match="not a regular file") as caught:
            call(path)
        assert time.perf_counter() - began < 5
        assert caught.value.errno == errno.EINVAL
        assert os.fsdecode(caught.value.filename) == str(path)


def test_f49_a_fifo_is_refused_at_once(impl, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    refuse(impl, tmp_path / "fifo")
    holder = os.open(tmp_path / "fifo", os.O_RDWR)
    refuse(impl, tmp_path / "fifo")
    os.close(holder)


def test_f49_a_socket_is_refused(impl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the length of a socket's path is limited
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
        refuse(impl, "s")


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/random", "/dev/tty"])
def test_f49_a_device_is_refused(impl, path):
    if not os.path.exists(path):
        pytest.skip(f"no {path}")
    refuse(impl, path)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc")
def test_f49_a_file_of_the_system_does_not_hang(impl):
    for path in ("/proc/self/environ", "/proc/kmsg", "/sys/kernel/uevent_seqnum"):
        with contextlib.suppress(OSError):
            assert impl.scan_tail(path).damaged in (0, 1)


def test_a_link_to_a_file_is_followed(impl, tmp_path):
    write_lines(tmp_path / "t", [step(1)])
    (tmp_path / "link").symlink_to("t")
    assert impl.probe(tmp_path / "link").first_step == 1
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError) as caught:
        impl.probe(tmp_path / "loop")
    assert caught.value.errno == errno.ELOOP


def test_a_path_may_be_str_bytes_or_pathlike_of_any_bytes(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    names = [path, os.fsencode(path), tmp_path / "t"]
    if sys.platform == "linux":
        odd = os.fsencode(tmp_path) + b"/\xff\n\xe9 t"
        os.link(path, odd)
        names += [odd, os.fsdecode(odd)]

    class Bytes:
        def __fspath__(self):
            return os.fsencode(path)

    for name in [*names, Bytes()]:
        assert impl.scan_tail(name).last_step == 1
        assert impl.probe_candidates([name], 1)[0].step == 1
        assert [each.index for each in impl.iter_steps(name)] == [1]


@pytest.mark.parametrize("path", [None, 7, 1.5, ["t"]])
def test_what_is_no_path_is_a_type_error(impl, path):
    for call in operations(impl):
        with pytest.raises(TypeError):
            call(path)


def test_a_path_with_a_nul_is_an_os_error(impl):
    for call in operations(impl):
        with pytest.raises(OSError) as caught:
            call("a\0b")
        assert (caught.value.errno, os.fsdecode(caught.value.filename)) == (errno.EINVAL, "a\0b")


def test_no_descriptor_is_left_open(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        impl.scan_tail(path)
        impl.probe(path)
        impl.find_step(path, 5)
        impl.probe_candidates([path, str(tmp_path)], 1)
        list(impl.iter_steps(path))
        impl.iter_steps(path)
        for wrong in (tmp_path, "/dev/null"):
            with pytest.raises(OSError):
                impl.scan_tail(wrong)
        with pytest.raises(ValueError):
            impl.cursor_at(path, 10**6)
    assert len(os.listdir("/dev/fd")) == before


def test_an_error_names_the_file_by_a_str_whatever_the_path_was(impl, tmp_path):
    for path in (tmp_path / "gone", str(tmp_path / "gone"), os.fsencode(tmp_path / "gone"), "/dev/null", b"/dev/null"):
        for call in operations(impl):
            with pytest.raises(OSError) as caught:
                call(path)
            assert caught.value.filename == os.fsdecode(path)


def test_a_path_that_no_name_can_hold_is_an_os_error(impl, tmp_path):
    for call in operations(impl):
        for path in ("a\ud800", tmp_path / "\ud800"):
            with pytest.raises(OSError) as caught:
                call(path)
            assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, str(path))
    assert impl.probe_candidates(["a\ud800", "a\0b", b""], 1) == [None, None, None]


@pytest.mark.parametrize("call", ["fstat", "pread"])
def test_of_a_disk_that_fails_the_file_is_named(tmp_path, monkeypatch, call):
    from rehydrate.scan import _pure

    path = str(write_lines(tmp_path / "t.jsonl", [step(1)]))

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched, pytest.raises(OSError) as caught:
        patched.setattr(os, call, fail)
        _pure.scan_tail(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, path)


def test_a_file_that_was_only_read_may_fail_to_close(tmp_path, monkeypatch):
    from rehydrate.scan import _pure

    path = write_lines(tmp_path / "t.jsonl", [step(1)])
    known = _pure.scan_tail(path)
    close = os.close

    def fail(fd):
        close(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "close", fail)
        assert _pure.scan_tail(path) == known
