"""plan: what the processes of one delivery share, and the file with the whole text."""

import json
import multiprocessing
import os
from dataclasses import replace

import pytest

from rehydrate import plan as planning
from rehydrate import private
from rehydrate.plan import Plan
from rehydrate.state import StateUnavailable

CLIENT, S, LOG = "claude-code", "session", "/logs/session.jsonl"


@pytest.fixture
def spot(tmp_path):
    return spot_in(tmp_path)


def spot_in(tmp_path):
    return planning.spot_for(
        CLIENT, S, transcript=LOG, folder=str(tmp_path / "own"), environ={"XDG_STATE_HOME": str(tmp_path / "state")}
    )


def made(**changed):
    return replace(Plan(LOG, (1, 10, "0badcafe"), 3, ("one", "two"), (1,), 2, "0badcafe", "/x.md", 9), **changed)


def saved(spot, plan):
    with planning.locked(spot, wait_s=0) as desk:
        desk.save(plan)
        return desk.folder


def test_what_was_saved_is_loaded(spot):
    plan = made(error={"what": "x", "time_s": 1})
    saved(spot, plan)
    assert planning.load(spot) == plan


def test_at_first_sight_there_is_none(spot):
    assert planning.load(spot) is None


def test_it_lies_in_a_private_folder_whatever_the_umask(spot):
    before = os.umask(0)
    try:
        folder = saved(spot, made())
        with planning.locked(spot, wait_s=0) as desk:
            text = desk.keep_text("2-0badcafe.md", "whole")
    finally:
        os.umask(before)
    assert folder == spot.folders[0]
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert {os.stat(path).st_mode & 0o777 for path in (f"{folder}/plan.json", text)} == {0o600}


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"7", b"[" * 100_000, b"{}", b'{"version": 2}'],
)  # fmt: skip
def test_what_is_damaged_counts_as_none(spot, data):
    folder = saved(spot, made())
    with open(f"{folder}/plan.json", "wb") as file:
        file.write(data)
    assert planning.load(spot) is None


@pytest.mark.parametrize(
    "member, value",
    [("version", 2), ("client", "other"), ("transcript", "/other"), ("cursor", [1, 2]), ("cursor", 7), ("count", "3"),
     ("parts", [1]), ("parts", None), ("taken", [-1]), ("taken", [True]), ("id", None), ("file", 3), ("error", "x")],
)  # fmt: skip
def test_what_no_plan_can_be_counts_as_none(spot, member, value):
    folder = saved(spot, made())
    with open(f"{folder}/plan.json") as file:
        raw = json.load(file)
    with open(f"{folder}/plan.json", "w") as file:
        json.dump(raw | {member: value}, file)
    assert planning.load(spot) is None


def test_f45_a_link_a_hard_link_and_what_others_can_write_count_as_none(spot, tmp_path):
    file = f"{saved(spot, made())}/plan.json"
    os.link(file, tmp_path / "second")
    assert planning.load(spot) is None
    os.unlink(file)
    os.symlink(tmp_path / "second", file)
    assert planning.load(spot) is None
    os.unlink(file)
    os.rename(tmp_path / "second", file)
    assert planning.load(spot)
    os.chmod(file, 0o622)
    assert planning.load(spot) is None


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(spot, tmp_path):
    folder = saved(spot, made())
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("plan.json", "2-0badcafe.md", "2-0badcafe.md.tmp"):
        (tmp_path / "own" / name).unlink(missing_ok=True)
        os.symlink(victim, f"{folder}/{name}")
    with planning.locked(spot, wait_s=0) as desk:
        desk.save(made())
        desk.keep_text("2-0badcafe.md", "whole")
    assert victim.read_text() == "precious"
    assert not os.path.islink(f"{folder}/2-0badcafe.md")


def test_where_the_own_folder_is_a_link_the_state_folder_is_used(spot, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", spot.folders[0])
    assert saved(spot, made()) == spot.folders[1]
    assert planning.load(spot) == made()
    assert os.listdir(tmp_path / "elsewhere") == []


def test_f44_where_no_folder_can_be_made_it_is_said(spot, tmp_path):
    (tmp_path / "own").write_text("")
    (tmp_path / "state").write_text("")
    with pytest.raises(StateUnavailable, match="own"), planning.locked(spot, wait_s=0):
        pass


def test_of_the_texts_the_newest_are_kept_and_nothing_else_is_touched(spot):
    folder = saved(spot, made())
    with open(f"{folder}/notes.md", "w") as file:
        file.write("not ours")
    with planning.locked(spot, wait_s=0) as desk:
        for number in range(planning.TEXTS_KEPT + 5):
            path = desk.keep_text(planning.text_name(number, "0badcafe"), "whole")
            os.utime(path, (number, number))
        desk.keep_text(planning.text_name(3, "0badcafe"), "again")
    kept = sorted(int(name.split("-")[0]) for name in os.listdir(folder) if name.endswith("cafe.md"))
    assert kept == [3, *range(6, 25)]
    assert os.path.exists(f"{folder}/notes.md")


def test_the_files_in_a_folder_are_named(spot, tmp_path):
    folder = saved(spot, made())
    with planning.locked(spot, wait_s=0) as desk:
        desk.keep_text("2-0badcafe.md", "whole")
    (tmp_path / "own" / "other").write_text("")
    names = [os.path.basename(path) for path in planning.files_in(folder)]
    assert names == ["2-0badcafe.md", "plan.json", "plan.json.lock"]


def test_f43_the_lock_is_held_by_one_process_and_ends_with_it(spot, tmp_path):
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, ready))
    holder.start()
    assert ready.wait(20)
    with pytest.raises(private.Busy), planning.locked(spot, wait_s=0.01):
        pass
    holder.kill()
    holder.join()
    with planning.locked(spot, wait_s=5) as desk:
        assert desk.plan is None


def _hold(tmp_path, ready):
    with planning.locked(spot_in(tmp_path), wait_s=0):
        ready.set()
        ready.wait(60)
        while True:
            os.read(os.pipe()[0], 1)


def test_f48_where_the_clock_was_set_back_the_text_before_the_last_is_not_taken_for_the_oldest(spot):
    with planning.locked(spot, wait_s=0) as desk:
        for number in range(planning.TEXTS_KEPT):
            path = desk.keep_text(planning.text_name(number, "0badcafe"), "of next year")
            os.utime(path, (4e9 + number, 4e9 + number))
        for number in (50, 51, 52):
            desk.keep_text(planning.text_name(number, "0badcafe"), "of today")
    kept = sorted(int(name.split("-")[0]) for name in os.listdir(desk.folder) if name.endswith(".md"))
    assert kept == [*range(3, 20), 50, 51, 52]


def test_f40_what_killed_processes_left_of_texts_is_removed_with_the_next(spot):
    folder = saved(spot, made())
    for name in ("1-0badcafe.md.tmp", "2-0badcafe.md.tmp", "notes.md.tmp"):
        with open(f"{folder}/{name}", "w") as file:
            file.write("hal")
    with planning.locked(spot, wait_s=0) as desk:
        desk.keep_text("3-0badcafe.md", "whole")
    assert sorted(os.listdir(folder)) == ["3-0badcafe.md", "notes.md.tmp", "plan.json", "plan.json.lock"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", ["", "plan.json.lock"])
def test_f45_a_folder_or_a_lock_of_another_user_is_not_used(spot, tmp_path, name):
    saved(spot, made())
    os.chown(tmp_path / "own" / name, 12345, 12345)
    assert saved(spot, made()) == spot.folders[1]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_f45_a_plan_of_another_user_counts_as_none_and_is_replaced(spot, tmp_path):
    folder = saved(spot, made())
    os.chown(tmp_path / "own" / "plan.json", 12345, 12345)
    assert planning.load(spot) is None
    assert saved(spot, made()) == folder and planning.load(spot)
