"""scratch: a folder that is gone afterwards, whoever was killed."""

import os
import signal
import tempfile

import pytest

from rehydrate.scratch import scratch_folder

pytest.importorskip("fcntl", reason="without file locks nothing is ever taken for left")


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed_with_a_folder(*, name="whole"):
    """What a process that was killed left."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with scratch_folder() as folder:
                with open(os.path.join(folder, name), "w") as file:
                    file.write("much")
                os.write(told, os.fsencode(folder))
                signal.pause()
        finally:
            os._exit(1)
    folder = os.fsdecode(os.read(ready, 4096))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(ready)
    os.close(told)
    return folder


def test_it_is_private_and_gone_afterwards(temporary):
    with scratch_folder() as folder:
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert os.path.dirname(folder) == str(temporary)
    assert list(temporary.iterdir()) == []


def test_f40_what_a_killed_process_left_is_removed_by_the_next(temporary):
    left = killed_with_a_folder()
    assert os.listdir(left) == ["whole"]
    with scratch_folder() as folder:
        assert os.listdir(temporary) == [os.path.basename(folder)]


def test_f43_that_of_a_living_process_is_not_touched(temporary):
    with scratch_folder() as first, scratch_folder() as second:
        assert sorted(os.listdir(temporary)) == sorted(map(os.path.basename, (first, second)))


def test_one_that_was_taken_for_left_before_it_was_locked_is_made_anew(monkeypatch):
    """Another process may come in between the making and the lock."""
    made = []

    class Taken(tempfile.TemporaryDirectory):
        def __enter__(self):
            made.append(self.name)
            if len(made) < 3:
                os.rmdir(self.name)
            return self.name

    monkeypatch.setattr(tempfile, "TemporaryDirectory", Taken)
    with scratch_folder() as folder:
        assert len(made) == 3 and folder == made[2] and os.path.isdir(folder)


def test_f45_neither_a_link_nor_what_has_another_name_is_removed(temporary):
    (temporary / "mine").mkdir()
    (temporary / "mine" / "precious").write_text("")
    (temporary / "rehydrate-read-link").symlink_to(temporary / "mine")
    (temporary / "rehydrate-reading").mkdir()
    with scratch_folder():
        pass
    assert sorted(os.listdir(temporary)) == ["mine", "rehydrate-read-link", "rehydrate-reading"]
    assert os.listdir(temporary / "mine") == ["precious"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_f45_that_of_another_user_is_not_removed(temporary):
    other = temporary / "rehydrate-read-other"
    other.mkdir()
    os.chown(other, 12345, 12345)
    with scratch_folder():
        pass
    assert other.is_dir()
