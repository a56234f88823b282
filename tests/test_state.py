"""state: what is remembered, and what counts as no memory at all."""

import json
import multiprocessing
import os
import stat
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rehydrate.state import Busy, Delivery, Done, State, StateUnavailable, keeping, load, locked, spot_for

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def spot(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    return make_spot(folder, tmp_path)


def make_spot(folder, tmp_path, conversation="c1"):
    environ = {"XDG_STATE_HOME": str(tmp_path / "xdg")}
    transcript = str(folder / "transcript_full.jsonl")
    return spot_for("antigravity", conversation, transcript=transcript, folder=str(folder), environ=environ)


def full_state(spot):
    return State(
        spot.conversation,
        spot.transcript,
        cursor=(1, 120, "0a0b0c0d"),
        last_checkpoint={"step": 7, "offset": 80},
        done=Done(7, "01234567"),
        delivery=Delivery(7, "01234567", "sent", 1),
        workspaces=("/w/a", "/w/b"),
        lineage={"segments": [], "complete": True, "why": []},
        error={"what": "x", "time_s": 1},
    )


def save(spot, state, **how):
    with locked(spot) as store:
        store.save(state, durable=how.get("durable", True))
        return store.state


def test_what_was_saved_is_read_back(spot):
    saved = save(spot, full_state(spot))
    assert load(spot) == saved == replace(full_state(spot), writes=1)


def test_the_file_is_readable_by_its_owner_only_whatever_the_umask(spot):
    before = os.umask(0)
    try:
        save(spot, full_state(spot))
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(spot.files[0]).st_mode) == 0o600


def test_nothing_else_is_left_beside_it_but_the_lock(spot):
    save(spot, full_state(spot))
    assert sorted(os.listdir(os.path.dirname(spot.files[0]))) == ["rehydrate_state.json", "rehydrate_state.json.lock"]


def test_no_file_is_no_state(spot):
    assert load(spot) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage", b"[]", b"null", b'"x"', b"{}", b'{"version": 2}', b"\x00" * 100, b"\xff\xfe{}", b"[" * 100_000],
)
def test_f45_a_damaged_state_counts_as_none_and_is_kept_aside(spot, data):
    with open(spot.files[0], "wb") as file:
        file.write(data)
    assert load(spot) is None
    save(spot, full_state(spot))
    with open(spot.files[0] + ".aside-0", "rb") as file:
        assert file.read() == data
    assert load(spot) is not None


def test_what_is_kept_aside_does_not_grow_without_end(spot):
    for number in range(30):
        with open(spot.files[0], "w") as file:
            file.write(f"damaged {number}")
        save(spot, full_state(spot))
    assert len(os.listdir(os.path.dirname(spot.files[0]))) == 12
    with open(spot.files[0] + ".aside-0") as file:
        assert file.read() == "damaged 29"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("version", 3),
        ("version", "2"),
        ("version", 2.0),
        ("client", "other"),
        ("conversation", "c2"),
        ("transcript", "/elsewhere"),
        ("cursor", [1]),
        ("cursor", [1, "0", "x"]),
        ("cursor", "x"),
        ("cursor", [2, 0, "00000000"]),
        ("cursor", [1, -1, "00000000"]),
        ("cursor", [1, 0, "ABCDEF00"]),
        ("cursor", [1, 0, "0"]),
        ("done", {"step": "7", "id": None}),
        ("done", {"id": None}),
        ("delivery", {"step": 7, "id": "x", "status": "maybe", "tries": 1}),
        ("delivery", {"step": 7, "id": "x", "status": "sent", "tries": True}),
        ("workspaces", [1]),
        ("writes", None),
        ("writes", 10**4299),
    ],
)
def test_f68_a_state_with_another_version_or_odd_members_counts_as_none(spot, member, value):
    save(spot, full_state(spot))
    change(spot, **{member: value})
    assert load(spot) is None


def change(spot, **members):
    with open(spot.files[0]) as file:
        raw = json.load(file)
    with open(spot.files[0], "w") as file:
        json.dump(raw | members, file)


def test_a_state_copied_from_another_conversation_counts_as_none(spot, tmp_path):
    save(spot, full_state(spot))
    other = tmp_path / "other"
    other.mkdir()
    os.rename(spot.files[0], other / "rehydrate_state.json")
    assert load(make_spot(other, tmp_path, "c2")) is None


def test_f45_a_symlinked_state_counts_as_none_and_its_target_is_not_written(spot, tmp_path):
    target = tmp_path / "target.json"
    save(spot, full_state(spot))
    os.rename(spot.files[0], target)
    os.symlink(target, spot.files[0])
    before = target.read_bytes()
    assert load(spot) is None
    save(spot, full_state(spot))
    assert target.read_bytes() == before
    assert os.path.islink(spot.files[0] + ".aside-0")


def test_f45_a_hard_linked_state_counts_as_none(spot, tmp_path):
    save(spot, full_state(spot))
    os.link(spot.files[0], tmp_path / "second-name")
    assert load(spot) is None


def test_f45_a_state_that_others_can_write_counts_as_none(spot):
    save(spot, full_state(spot))
    os.chmod(spot.files[0], 0o666)
    assert load(spot) is None


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a file to another user")
def test_f45_a_state_of_another_owner_counts_as_none(spot):
    save(spot, full_state(spot))
    os.chown(spot.files[0], 12345, 12345)
    assert load(spot) is None


def test_a_fifo_in_place_of_the_state_does_not_hang(spot):
    os.mkfifo(spot.files[0])
    began = time.monotonic()
    assert load(spot) is None
    assert time.monotonic() - began < 5


def test_the_older_scripts_state_gives_its_checkpoint_and_ancestors_but_not_its_offset(spot):
    with open(spot.files[0], "w") as file:
        json.dump({"last_rehydrated_checkpoint": 42, "fork_ancestors": [{"a": 1}], "checked_offset": 999}, file)
    state = load(spot)
    assert state is not None
    assert (state.done, state.lineage, state.cursor) == (Done(42, None), [{"a": 1}], None)


@pytest.mark.parametrize(
    ("raw", "step"),
    [
        ({"last_rehydrated_checkpoint": None, "fork_ancestors": [7]}, None),
        ({"fork_ancestors": [7], "checked_offset": 99}, None),
        ({"last_rehydrated_checkpoint": "12", "fork_ancestors": [7]}, None),
        ({"last_rehydrated_checkpoint": True, "fork_ancestors": [7]}, None),
        ({"last_rehydrated_checkpoint": 12, "fork_ancestors": [7]}, 12),
    ],
)
def test_what_the_older_scripts_state_says_is_taken_over_member_by_member(spot, raw, step):
    with open(spot.files[0], "w") as file:
        json.dump(raw, file)
    state = load(spot)
    assert state is not None
    assert (state.done and state.done.step, state.lineage) == (step, [7])


def test_a_state_that_would_grow_too_long_to_be_read_keeps_what_cannot_be_found_again(spot):
    long = replace(full_state(spot), workspaces=("/" + "w" * (1 << 20),))
    save(spot, long)
    state = load(spot)
    assert state is not None
    assert (state.done, state.delivery, state.cursor) == (long.done, long.delivery, long.cursor)


def test_f40_what_a_killed_process_left_of_a_write_is_replaced_by_the_next(spot):
    with open(spot.files[0] + ".tmp", "w") as file:
        file.write("half a sta")
    save(spot, full_state(spot))
    assert sorted(os.listdir(os.path.dirname(spot.files[0]))) == ["rehydrate_state.json", "rehydrate_state.json.lock"]


def block_folder(spot):
    """Make the conversation's folder refuse new files, for root as well: its place is taken by something else."""
    os.mkdir(spot.files[0] + ".lock")


def test_f44_the_users_state_folder_serves_where_the_conversations_folder_does_not(spot):
    block_folder(spot)
    save(spot, full_state(spot))
    assert not os.path.exists(spot.files[0])
    assert load(spot) == replace(full_state(spot), writes=1)
    assert stat.S_IMODE(os.stat(os.path.dirname(spot.files[1])).st_mode) == 0o700


def test_f67_with_a_umask_of_0_the_folders_above_the_users_state_are_private_too(spot, tmp_path):
    block_folder(spot)
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    files = spot_for(
        "antigravity",
        "c1",
        transcript=spot.transcript,
        folder=os.path.dirname(spot.files[0]),
        environ={"HOME": str(home)},
    )
    before = os.umask(0)
    try:
        save(files, full_state(files))
    finally:
        os.umask(before)
    made = [each for each in home.rglob("*") if each.is_dir()]
    assert made and all(stat.S_IMODE(each.stat().st_mode) == 0o700 for each in made)


@pytest.mark.parametrize("kind", ["link", "hard link", "fifo"])
def test_f45_a_lock_that_is_not_a_file_of_its_own_is_not_used(spot, kind):
    transcript, lock = spot.transcript, spot.files[0] + ".lock"
    with open(transcript, "w") as file:
        file.write("{}\n")
    {"link": os.symlink, "hard link": os.link, "fifo": lambda _, name: os.mkfifo(name)}[kind](transcript, lock)
    save(spot, full_state(spot))
    assert not os.path.exists(spot.files[0]) and os.path.exists(spot.files[1])
    with open(transcript) as file:
        assert file.read() == "{}\n"


def test_f44_where_nothing_can_be_written_it_says_where_and_why(spot, tmp_path):
    block_folder(spot)
    (tmp_path / "xdg").write_text("a file in the way")
    with pytest.raises(StateUnavailable, match=r"rehydrate_state\.json"), locked(spot):
        pass


def test_of_two_states_the_one_written_more_often_counts(spot):
    save(spot, full_state(spot))
    block = spot.files[0] + ".lock"
    os.unlink(block)
    os.mkdir(block)
    save(spot, replace(full_state(spot), done=Done(9, "89abcdef")))
    state = load(spot)
    assert state is not None and state.done == Done(9, "89abcdef")


def hold(spot, ready, release):
    with locked(spot):
        ready.set()
        release.wait(20)


def test_f43_the_lock_is_held_by_one_process_and_ends_with_it(spot):
    ready, release = multiprocessing.Event(), multiprocessing.Event()
    holder = multiprocessing.Process(target=hold, args=(spot, ready, release))
    holder.start()
    assert ready.wait(20)
    with pytest.raises(Busy), locked(spot, wait_s=0.02):
        pass
    holder.kill()
    holder.join(20)
    with locked(spot, wait_s=1):
        pass


def test_a_failed_write_leaves_the_old_state_whole(spot, monkeypatch):
    saved = save(spot, full_state(spot))

    def full_disk(fd, data):
        raise OSError(28, "No space left on device")

    with locked(spot) as store:
        monkeypatch.setattr(os, "write", full_disk)
        with pytest.raises(StateUnavailable, match="No space left"):
            store.save(replace(saved, done=Done(8, "00000000")), durable=True)
        monkeypatch.undo()
    assert load(spot) == saved
    assert not [name for name in os.listdir(os.path.dirname(spot.files[0])) if name.endswith(".tmp")]


class TestKeeping:
    """It foretells where a state goes, and changes nothing."""

    @staticmethod
    def foretold(spot, tmp_path):
        before = {each: each.lstat().st_mtime_ns for each in tmp_path.rglob("*")}
        found = keeping(spot)
        assert {each: each.lstat().st_mtime_ns for each in tmp_path.rglob("*")} == before
        try:
            save(spot, full_state(spot))
        except StateUnavailable:
            assert found.path is None
        else:
            written = [path for path in spot.files if os.path.isfile(path)]
            assert [found.path] == written
        return found

    def test_beside_the_transcript(self, spot, tmp_path):
        found = self.foretold(spot, tmp_path)
        assert (found.path, found.hindrances, found.is_odd) == (spot.files[0], (), False)

    def test_over_the_one_that_is_there(self, spot, tmp_path):
        save(spot, full_state(spot))
        assert self.foretold(spot, tmp_path).is_odd is False

    def test_something_else_lies_there(self, spot, tmp_path):
        with open(spot.files[0], "w") as file:
            file.write("[]")
        assert self.foretold(spot, tmp_path).is_odd is True

    def test_a_lock_that_is_a_folder(self, spot, tmp_path):
        os.mkdir(spot.files[0] + ".lock")
        found = self.foretold(spot, tmp_path)
        assert found.path == spot.files[1]
        assert found.hindrances == (f"{spot.files[0]}.lock: Is a directory",)

    def test_a_full_disk(self, spot, monkeypatch):
        full = os.statvfs(os.path.dirname(spot.files[0]))
        monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=full.f_blocks, f_bavail=0, f_bfree=0))
        found = keeping(spot)
        assert found.path is None
        assert found.hindrances[0] == f"{os.path.dirname(spot.files[0])}: No space left on device"

    def test_a_lock_that_is_a_link(self, spot, tmp_path):
        (tmp_path / "elsewhere").touch()
        os.symlink(tmp_path / "elsewhere", spot.files[0] + ".lock")
        assert self.foretold(spot, tmp_path).path == spot.files[1]

    def test_a_lock_of_another_name_too(self, spot, tmp_path):
        (tmp_path / "elsewhere").touch()
        os.link(tmp_path / "elsewhere", spot.files[0] + ".lock")
        found = self.foretold(spot, tmp_path)
        assert "not a regular file of its own" in found.hindrances[0]

    def test_a_folder_where_the_temporary_file_goes(self, spot, tmp_path):
        os.mkdir(spot.files[0] + ".tmp")
        assert self.foretold(spot, tmp_path).path == spot.files[1]

    def test_the_transcript_s_folder_is_gone(self, spot, tmp_path):
        os.rmdir(os.path.dirname(spot.files[0]))
        assert self.foretold(spot, tmp_path).path == spot.files[1]

    def test_the_user_s_folder_is_a_link(self, spot, tmp_path):
        os.mkdir(spot.files[0] + ".lock")
        os.mkdir(tmp_path / "xdg")
        os.symlink(tmp_path, tmp_path / "xdg" / "rehydrate")
        found = self.foretold(spot, tmp_path)
        assert found.path is None and "not a folder of ours" in found.hindrances[1]

    def test_a_file_where_the_user_s_folder_belongs(self, spot, tmp_path):
        os.mkdir(spot.files[0] + ".lock")
        (tmp_path / "xdg").touch()
        found = self.foretold(spot, tmp_path)
        assert found.path is None and len(found.hindrances) == 2

    @pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
    def test_a_folder_that_may_not_be_written(self, spot, tmp_path):
        os.chmod(os.path.dirname(spot.files[0]), 0o500)
        assert self.foretold(spot, tmp_path).path == spot.files[1]
