"""What is remembered: lost, locked, linked, or with no place to lie."""

import fcntl
import os
import signal

import pytest

from tests.process.home import Home, checkpoint, long_talk, system_message

from .test_hook import ready, started
from .worlds import SESSION, run


def test_f40_killed_while_it_answers_the_delivery_comes_again_and_at_most_once_more(world):
    ready(world, chars=90_000)
    reader, writer = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)  # so small that the answer does not fit in
    process = started(world, stdout=writer)
    os.close(writer)
    os.read(reader, 1)  # it is decided, and a part of it is on its way
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    process.stderr.close()
    os.close(reader)
    assert "Two." in world.fire()
    if world.name == "antigravity":
        assert world.fire() == ""


def test_f41_killed_before_the_state_was_saved_only_the_marker_in_the_log_stops_another(antigravity):
    antigravity.write(SESSION, [*long_talk(), checkpoint(12)])
    (text,) = antigravity.hook(SESSION)
    antigravity.state(SESSION).unlink()
    assert antigravity.hook(SESSION) == [text]
    antigravity.state(SESSION).unlink()
    antigravity.append(SESSION, system_message(13, text))
    assert antigravity.hook(SESSION) == []


def test_f43_who_cannot_have_the_lock_answers_with_nothing_and_changes_nothing(world):
    ready(world)
    environ = {"REHYDRATE_DEADLINE_S": "1"}
    folder = world.path.parent if world.name == "antigravity" else world.own
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / ("rehydrate_state.json.lock" if world.name == "antigravity" else "plan.json.lock")
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run(world, environ=environ)
        assert (done.returncode, done.stderr, world.text_of(done.stdout)) == (0, b"", "")
        assert [each.name for each in folder.iterdir() if "rehydrate" in each.name or "plan" in each.name] == [
            lock.name
        ]
    assert "Two." in world.fire()


def blocked(world):
    """No place beside the log; the place in the user's state folder is left."""
    if world.name == "antigravity":
        (world.path.parent / "rehydrate_state.json.lock").mkdir()
    else:
        world.own.parent.mkdir()
        world.own.write_text("")


def test_f44_with_no_place_beside_the_log_the_users_state_folder_serves(world):
    ready(world)
    blocked(world)
    assert "Two." in world.fire()
    kept = world.folder / ".local" / "state" / "rehydrate"
    assert kept.stat().st_mode & 0o777 == 0o700 and list(kept.iterdir())
    if world.name == "antigravity":
        assert world.fire() == ""


def test_f44_with_no_place_at_all_one_line_says_so(antigravity):
    ready(antigravity)
    blocked(antigravity)
    (antigravity.folder / "full").write_text("")
    done = run(antigravity, environ={"XDG_STATE_HOME": str(antigravity.folder / "full")})
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (0, b"{}", 1)


def test_f44_with_no_place_at_all_the_values_name_the_log(claude):
    ready(claude)
    blocked(claude)
    (claude.folder / "full").write_text("")
    done = run(claude, environ={"XDG_STATE_HOME": str(claude.folder / "full")})
    assert (done.returncode, done.stderr) == (0, b"") and str(claude.path) in claude.text_of(done.stdout)


@pytest.mark.parametrize("how", ["link", "hard link", "writable", "garbage", "folder", "fifo"])
def test_f45_a_state_that_is_not_surely_ours_counts_as_none_and_is_not_written_to(tmp_path, how):
    home = Home(tmp_path)
    home.write(SESSION, long_talk())
    assert home.hook(SESSION) == []
    state, other = home.state(SESSION), tmp_path / "other"
    other.write_bytes(state.read_bytes())
    if how == "writable":
        state.chmod(0o666)
    elif how == "garbage":
        state.write_bytes(b"garbage")
    else:
        state.unlink()
        make = {"link": lambda: state.symlink_to(other), "hard link": lambda: os.link(other, state),
                "folder": state.mkdir, "fifo": lambda: os.mkfifo(state)}  # fmt: skip
        make[how]()
    before = other.read_bytes()
    home.append(SESSION, checkpoint(12))
    assert len(home.hook(SESSION)) == 1 and home.hook(SESSION) == []
    assert other.read_bytes() == before
    about = state.lstat()
    assert (about.st_mode & 0o777, about.st_nlink, state.is_symlink()) == (0o600, 1, False)
    assert os.path.lexists(f"{state}.aside-0")


def test_f45_a_plan_behind_a_link_is_replaced_and_not_followed(claude):
    ready(claude)
    first = claude.fire()
    other = claude.folder / "other"
    (claude.own / "plan.json").rename(other)
    (claude.own / "plan.json").symlink_to(other)
    before = other.read_bytes()
    assert claude.fire() == first
    assert other.read_bytes() == before and not (claude.own / "plan.json").is_symlink()
