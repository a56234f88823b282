"""A session is taken in, and the process killed before any of its system calls; then it is taken in once more."""

import errno
import os
import shutil
import stat
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from rehydrate.session import Place, SessionLog, assistant, branch, fork, user, whole
from rehydrate.session.archive import export, import_session
from rehydrate.session.reading import Session
from rehydrate.session.whole import Staging
from tests.process import tracing

ID = "11111111-1111-4111-8111-111111111111"
TAKE_IN = """
import sys
from rehydrate.session.archive import import_session
sys.stdin.buffer.read(1)
import_session(sys.argv[1], root=sys.argv[2], cwd="/w")
"""


@pytest.fixture
def theirs(tmp_path):
    """A session with a subagent, elsewhere; its path."""
    place = Place(str(tmp_path / "theirs"), "-w", ID)
    with SessionLog(place, cwd="/w") as log:
        log.append([user("ask"), assistant("answer"), {**user("look"), "agentId": "one"}])
    return place.path


def taken_in(path, root, *, killed_before):
    """How many calls that change something below the root were made."""
    names = []

    def watch(call):
        if not (call.path.startswith(root) and call.changes):
            return None
        names.append(call.name)
        return tracing.KILL if len(names) == killed_before + 1 else None

    environ = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = tracing.run([sys.executable, "-c", TAKE_IN, path, root], b"x", environ=environ, watch=watch)
    assert (ended.status, ended.stderr) == (-9 if len(names) > killed_before else 0, b"")
    return len(names)


@tracing.needs_tracing
def test_what_was_killed_at_any_call_can_be_taken_in_again_and_leaves_nothing(theirs, tmp_path):
    refused = 0
    for number in count():
        root = str(tmp_path / str(number))
        calls = taken_in(theirs, root, killed_before=number)
        place = Place(root, "-w", ID)
        try:
            import_session(theirs, root=root, cwd="/w")
        except FileExistsError:
            refused += 1  # it was through but for what it had to clear away
            with Staging(root):
                pass
        assert os.listdir(root) == ["-w"]
        assert sorted(os.listdir(os.path.join(root, "-w"))) == [ID, f"{ID}.jsonl"]
        with Session.open(place.path) as session, Session.open(place.agent_path("one")) as agent:
            assert (len(session.view("active")), len(agent.view("active"))) == (2, 1)
        if calls <= number:
            break
    assert number > 20 and 0 < refused < number / 2


def test_what_a_living_process_is_making_is_left_alone(tmp_path):
    root = str(tmp_path / "root")
    with Staging(root) as first:
        first.create("").close()
        with Staging(root):
            pass
        assert os.path.exists(first.path(""))
    assert os.listdir(root) == []


def test_what_was_left_is_taken_away_by_whatever_is_made_next(tmp_path):
    root = tmp_path / "root"
    (root / ".rehydrate-making-old" / "own").mkdir(parents=True)
    with SessionLog(Place(str(root), "-w", ID), cwd="/w") as log:
        log.append_durable(user("one"))
        with Session.open(log.path) as session, fork(session) as made:
            made.append_durable(user("two"))
    assert os.listdir(root) == ["-w"]


def test_what_a_killed_export_left_is_taken_away_by_the_next_one_there(theirs, tmp_path):
    folder = tmp_path / "archives"
    (folder / ".rehydrate-making-old").mkdir(parents=True)
    (folder / ".rehydrate-making-old" / "archive").write_bytes(b"PK")
    (folder / ".making").mkdir()
    export(theirs, str(folder / "a.zip"))
    assert sorted(os.listdir(folder)) == [".making", "a.zip"]


@pytest.mark.parametrize("note", ["", "[", "[1, 2]", '["..", "x"]', '{"a": 1}', "7", '["-w", "../x"]'])
def test_a_note_that_says_nothing_is_no_hindrance(tmp_path, note):
    left = tmp_path / ".rehydrate-making-old"
    left.mkdir()
    (left / "place").write_text(note)
    (left / "place").chmod(0o600)
    (left / "main").write_text("x")
    with Staging(str(tmp_path)):
        pass
    assert os.listdir(tmp_path) == []


def test_a_session_that_somebody_has_begun_since_is_not_taken_back(tmp_path):
    left, place = tmp_path / ".rehydrate-making-old", Place(str(tmp_path), "-w", ID)
    left.mkdir()
    (left / "main").write_text("x")
    (left / "place").write_text(f'["-w", "{ID}"]')
    (left / "place").chmod(0o600)
    with SessionLog(place, cwd="/w") as log:
        log.append_durable(user("mine"))
        Path(place.folder, "kept").write_text("x")
        with Staging(str(tmp_path)):
            pass
    assert os.path.exists(os.path.join(place.folder, "kept")) and not left.exists()


def test_no_link_is_followed_where_something_was_left(tmp_path):
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "kept").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / ".rehydrate-making-link").symlink_to(tmp_path / "else")
    with Staging(str(root)):
        pass
    assert (tmp_path / "else" / "kept").exists()


def test_a_move_that_fails_half_way_is_undone(theirs, tmp_path, monkeypatch):
    root, real = str(tmp_path / "root"), os.rename

    def rename(source, target):
        if target.endswith(".jsonl"):
            raise OSError(28, "full")
        real(source, target)

    with monkeypatch.context() as patch, suppress(OSError):
        patch.setattr("rehydrate.session.whole.os.rename", rename)
        import_session(theirs, root=root, cwd="/w")
    assert os.listdir(os.path.join(root, "-w")) == []
    assert import_session(theirs, root=root, cwd="/w").files == 2


@pytest.mark.parametrize(
    "note", ["[" * 4_000, '["..", "x"]', "[{}, []]", "[1]", "null", "\ud800"], ids=lambda note: ascii(note)[:12]
)
def test_whatever_a_folder_that_was_left_says_keeps_nobody_from_making_another(tmp_path, note):
    left = tmp_path / f"{whole._PREFIX}left"
    left.mkdir(0o700)
    (left / whole._NOTE).write_bytes(note.encode("utf-8", "surrogatepass"))
    (left / whole._NOTE).chmod(0o600)
    with whole.folder_in(str(tmp_path)):
        assert not left.exists()


MAKERS = {
    "branch": lambda session, path, root: branch(session),
    "export": lambda session, path, root: export(path, os.path.join(os.path.dirname(path), "out.zip")),
    "import": lambda session, path, root: import_session(path, root=root),
}


@pytest.fixture
def made(tmp_path):
    """A session, its file, and the root to take it in below."""
    with SessionLog(Place(str(tmp_path / "sessions"), "-w", str(uuid4())), cwd="/w") as log:
        log.append_durable(user("Hello."))
    with Session.open(log.path) as session:
        yield session, log.path, str(tmp_path / "other")


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_full_disk_is_told_of_with_a_name_and_nothing_is_made(made, monkeypatch, tmp_path, make):
    before = set(os.listdir(os.path.dirname(made[1])))

    def full(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=str(tmp_path)):
            make(*made)
    assert set(os.listdir(os.path.dirname(made[1]))) == before
    assert not os.path.exists(os.path.join(made[2], "-w"))
    make(*made)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_cannot_be_cleaned_up_takes_back_nothing_that_was_made(made, monkeypatch, make):
    def fails(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fails)
        assert make(*made)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_not_sure_to_last_in_its_folder_is_told_of_and_not_there(made, monkeypatch, tmp_path, make):
    before = set(os.listdir(os.path.dirname(made[1])))
    real, names = os.fsync, []

    def fails(fd):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            names.append(fd)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match=str(tmp_path)):
            make(*made)
    assert names
    assert set(os.listdir(os.path.dirname(made[1]))) == before
    assert not [name for *_, files in os.walk(made[2]) for name in files if name.endswith(".jsonl")]
    make(*made)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_file_system_that_cannot_sync_folders_will_do(made, monkeypatch, make):
    real = os.fsync

    def cannot(fd):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(fd)

    monkeypatch.setattr(os, "fsync", cannot)
    assert make(*made)
