"""Hooks that run at the same time, locks that nobody lets go of, disks that are full, clocks that jump."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from rehydrate import compaction, hook, invocation, state

from . import tracing
from .home import PACKAGE, Home, Recorder, checkpoint, hook_command, long_talk, parts_of, system_message
from .test_claude_hook import Client, text_of
from .test_claude_hook import command as claude_command
from .test_kills import Antigravity, reply_of

C = "c0ffee00-0000-4000-8000-000000000001"
YEAR_S = 366 * 86_400


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.write(C, long_talk())
    assert home.hook(C) == []
    home.append(C, checkpoint(12))
    return home


@pytest.fixture
def client(tmp_path):
    client = Client(tmp_path)
    client.begin(rounds=8)
    return client


def start(words, payload, environ, begin):
    """A process with all imported already, which runs the hook once `begin` ends: its id, and where it writes."""
    stdin, stdout = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(stdin[0], 0)
            os.dup2(stdout[1], 1)
            os.close(begin[1])
            os.environ.clear()
            os.environ.update(environ)
            os.read(begin[0], 1)
            hook.main(words)
        finally:
            os._exit(1)
    os.write(stdin[1], payload)
    for fd in (*stdin, stdout[1]):
        os.close(fd)
    return pid, stdout[0]


def at_once(rows, payload, environ, *, meanwhile=lambda pids: None):
    """What the hooks with these arguments print when all begin at the same moment; all of them end well or killed."""
    begin = os.pipe()
    started = [start(words, payload, environ, begin) for words in rows]
    os.close(begin[0])
    os.close(begin[1])
    meanwhile([pid for pid, _ in started])
    printed = []
    for pid, stdout in started:
        with os.fdopen(stdout, "rb") as file:
            printed.append(file.read())
        assert os.waitpid(pid, 0)[1] in (0, signal.SIGKILL)
    return printed


@pytest.mark.parametrize(("count", "rounds"), [(2, 150), (8, 50)])
def test_f43_of_hooks_that_run_at_once_one_delivers_and_the_others_answer_nothing(home, count, rounds):
    files = {path: path.read_bytes() for path in (home.state(C), home.transcript(C))}
    payload = json.dumps(home.payload(C)).encode()
    for _ in range(rounds):
        for path, data in files.items():
            path.write_bytes(data)
        printed = at_once([["antigravity"]] * count, payload, home.environ)
        (whole,) = [each for each in printed if each != b"{}"]
        assert len(parts_of(whole)) == 1
        assert at_once([["antigravity"]], payload, home.environ) == [b"{}"]


def test_f43_values_asked_for_at_once_are_one_plan_each_once_whoever_is_killed_or_late(client):
    payload = json.dumps(client.payload()).encode()
    values = [client.fire(part) for part in (1, 2, 3)]
    numbers, killed = random.Random(43), 0
    for _ in range(40):
        shutil.rmtree(client.own)
        order = numbers.sample((1, 2, 3), 3)
        late, victim = order[2], numbers.choice((0, 1, None))

        def kill(pids, victim=victim):
            if victim is not None:
                time.sleep(numbers.random() / 50)
                os.kill(pids[victim], signal.SIGKILL)

        rows = [["claude-code", "--part", str(part)] for part in order]
        printed = at_once(rows[:2], payload, client.environ, meanwhile=kill)
        printed += at_once(rows[2:], payload, client.environ)
        for at, (part, stdout) in enumerate(zip(order, printed, strict=True)):
            text = text_of(stdout) if stdout else None
            assert text == values[part - 1] or (text is None and at == victim)
            killed += text is None
        assert late in client.plan()["taken"]
    assert killed > 3


@tracing.needs_tracing
def test_f43_another_call_at_any_moment_of_a_delivery_makes_no_second_one(tmp_path):
    world = Antigravity(tmp_path, "flat")
    fresh, others = world.look(), []
    for number in range(100):
        world.put_back(fresh)
        calls, other = 0, []

        def watch(call, number=number, other=other):
            nonlocal calls
            calls += call.changes and world.concerns(call)
            if calls == number + 1 and not other:
                other.append(world.home.hook(C))  # while the first stands still

        ended = tracing.run(world.command, world.payload, environ=world.environ, watch=watch)
        if not other:
            break
        assert ended.status == 0
        assert len(reply_of(ended)) + len(other[0]) == 1
        assert world.home.hook(C) == []
        others.append(len(other[0]))
    assert number > 10 and {0, 1} == set(others)


@tracing.needs_tracing
def test_f43_a_second_value_asked_for_at_any_moment_of_the_first_is_of_the_same_plan(client):
    values = [client.fire(part) for part in (1, 2, 3)]
    payload = json.dumps(client.payload()).encode()
    for number in range(100):
        shutil.rmtree(client.own)
        calls, other = 0, []

        def watch(call, number=number, other=other):
            nonlocal calls
            calls += call.changes and (call.name == "exit_group" or str(client.own) in call.path)
            if calls == number + 1 and not other:
                process = client.start("--part", "2")
                process.stdin.write(payload)
                process.stdin.close()
                process.stdin = None
                other.append(process)

        ended = tracing.run(claude_command("--part", "1"), payload, environ=client.environ, watch=watch)
        if not other:
            break
        stdout, _ = other[0].communicate(timeout=60)
        assert [text_of(ended.stdout), text_of(stdout)] == values[:2]
        assert client.plan()["taken"] == [1, 2]
    assert number > 10


def test_f43_a_lock_held_by_a_process_that_was_stopped_is_not_waited_for_and_ends_with_it(home):
    ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            spot = state.spot_for(
                "antigravity", C, transcript=str(home.transcript(C)), folder=str(home.logs(C)), environ=home.environ
            )
            with state.locked(spot):
                os.write(ready[1], b"1")
                os.kill(os.getpid(), signal.SIGSTOP)
        finally:
            os._exit(1)
    os.read(ready[0], 1)
    try:
        assert [home.hook(C), home.hook(C)] == [[], []]
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert [len(home.hook(C)) for _ in range(2)] == [1, 0]
    for fd in ready:
        os.close(fd)


def test_f43_a_lock_file_that_was_left_holds_nobody_up(home, client):
    home.state(C).with_name("rehydrate_state.json.lock").write_text("12345\n")
    assert [len(home.hook(C)) for _ in range(2)] == [1, 0]
    client.own.mkdir(parents=True)
    (client.own / "plan.json.lock").write_text("12345\n")
    assert client.fire(1)


MOUNT = "mount -t tmpfs -o size=128k tmpfs {0} && "
needs_mounts = pytest.mark.skipif(
    not shutil.which("unshare")
    or subprocess.run(["unshare", "-Urm", "sh", "-c", MOUNT.format("/mnt") + "true"], capture_output=True).returncode,
    reason="no disk of one's own can be made here: `unshare -Urm` with a `mount` of tmpfs is refused",
)
FILL = "dd if=/dev/zero of={0}/fill bs=4k 2>/dev/null || true; "


def on_small_disk(folder, script, *, environ):
    """Run the script where the folder, with what is in it, lies on a disk of 128 KiB; what it printed, by its lines."""
    kept = f"{folder}.kept"
    shutil.copytree(folder, kept)
    script = f"{MOUNT.format(folder)} cp -a {kept}/. {folder} && {script}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-ec", script], capture_output=True, env=environ, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.decode()


def said(command, payload):
    """For a script: one line with what the hook prints."""
    return f"printf %s {shlex.quote(payload)} | {shlex.join(command)}; echo; "


def full_or_read_only(kind, folder):
    return FILL.format(folder) if kind == "full" else f"mount -o remount,ro {folder}; "


def writable_again(kind, folder):
    return f"rm {folder}/fill; " if kind == "full" else f"mount -o remount,rw {folder}; "


DOCTOR = (
    f"PYTHONPATH={shlex.quote(str(PACKAGE))} {shlex.quote(sys.executable)} -m rehydrate doctor --json || true; echo; "
)


@needs_mounts
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_f44_on_a_disk_that_takes_nothing_the_users_state_folder_serves(home, kind):
    hook = said(hook_command(), json.dumps(home.payload(C)))
    logs = home.logs(C)
    script = full_or_read_only(kind, logs) + 2 * hook + writable_again(kind, logs) + hook
    printed, stderr = on_small_disk(logs, script, environ=home.environ)
    assert [len(parts_of(each)) for each in printed] == [1, 0, 0] and stderr == ""


@needs_mounts
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_f44_with_no_disk_that_takes_anything_it_says_so_and_delivers_when_there_is_room(home, tmp_path, kind):
    hook = said(hook_command(), json.dumps(home.payload(C)))
    script = full_or_read_only(kind, home.gemini) + hook + DOCTOR + writable_again(kind, home.gemini) + 2 * hook
    environ = home.environ | {"XDG_STATE_HOME": str(home.gemini / "state")}
    printed, stderr = on_small_disk(home.gemini, script, environ=environ)
    assert [len(parts_of(each)) for each in (printed[0], *printed[-2:])] == [0, 1, 0]
    assert stderr.startswith("rehydrate: nothing was put back") and stderr.count("\n") == 1
    (row,) = [row for row in json.loads(b"".join(printed[1:-2])) if row["check"] == "state"]
    assert not row["ok"] and "nothing can be remembered, so nothing is put back" in row["detail"] and row["fix"]


@needs_mounts
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_f44_on_a_disk_that_takes_nothing_the_values_are_given_all_the_same(client, kind):
    values = [client.fire(part).split("\n")[0] for part in (1, 2, 3)]
    shutil.rmtree(client.own)
    folder = client.path.parent
    hooks = [said(claude_command("--part", str(part)), json.dumps(client.payload())) for part in (1, 2, 3)]
    script = full_or_read_only(kind, folder) + "".join(hooks)
    for environ in (client.environ, client.environ | {"XDG_STATE_HOME": str(folder / "state")}):
        printed, stderr = on_small_disk(folder, script, environ=environ)
        assert [text_of(each).split("\n")[0] for each in printed] == values and stderr == ""
        shutil.rmtree(f"{folder}.kept")


@pytest.mark.parametrize("jump_s", [-YEAR_S, YEAR_S])
def test_f48_a_clock_that_jumps_changes_no_delivery(home, monkeypatch, jump_s):
    """Before each call, with the times of the files as they were."""
    payload, now_s = json.dumps(home.payload(C)).encode(), time.time()
    sent = []
    for number in range(4):
        monkeypatch.setattr(time, "time", lambda at=number: now_s + at * jump_s)
        reply = Recorder()
        invocation.invoke("antigravity", payload, message="systemMessage", reply=reply, environ=home.environ)
        sent.append(len(reply.sent))
        for path in home.logs(C).iterdir():
            os.utime(path, (now_s + number * jump_s, now_s - number * jump_s))
        if number == 1:
            home.append(C, system_message(13, "on"), *long_talk(14), checkpoint(60))
    assert sent == [1, 0, 1, 0]


@pytest.mark.parametrize("jump_s", [-YEAR_S, YEAR_S])
def test_f48_a_clock_that_jumps_changes_no_value(client, monkeypatch, jump_s):
    values = [client.fire(part) for part in (1, 2, 3)]
    client.mark_plan()
    payload, now_s = json.dumps(client.payload()).encode(), time.time()
    client.path.touch()
    for number, part in enumerate((1, 2, 3, 1)):
        monkeypatch.setattr(time, "time", lambda at=number: now_s + at * jump_s)
        reply = Recorder()
        compaction.answer("claude-code", payload, number=part, reply=reply, environ=client.environ)
        assert text_of(reply.sent[0]) == values[part - 1]
        for path in (*client.own.iterdir(), client.path):
            os.utime(path, (now_s - number * jump_s, now_s - number * jump_s))


def test_f68_two_versions_in_one_conversation_deliver_once_and_leave_few_files(home):
    """The other one writes a state that is newer than any that is known here."""
    (text,) = home.hook(C)
    home.append(C, system_message(13, text))
    for number in range(12):
        raw = json.loads(home.state(C).read_bytes())
        home.state(C).write_text(json.dumps(raw | {"version": 3, "more": number}))
        assert home.hook(C) == []
    assert len(list(home.logs(C).iterdir())) < 15
    home.append(C, *long_talk(14), checkpoint(60))
    assert [len(home.hook(C)) for _ in range(2)] == [1, 0]
