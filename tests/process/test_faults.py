"""A delivery under faults: the hook is killed, runs twice, the disk is full, the log changes while it is read."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rehydrate import invocation, stretches

from .home import PACKAGE, Home, Recorder, as_line, checkpoint, hook_command, long_talk, parts_of, said, system_message
from .test_delivery import C, compacted, state_of


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.mark.usefixtures("door")
def test_f40_killed_before_the_reply_was_read_it_comes_again(home):
    """The reply cannot be written into a full pipe, so the process is killed between decision and end."""
    home.write(C, [*long_talk(), *[said(12 + n, "汉" * 2_000) for n in range(20)]])  # 12,000 bytes each in the reply
    home.hook(C)
    home.append(C, checkpoint(40))
    process = subprocess.Popen(hook_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=home.environ)
    process.stdin.write(json.dumps(home.payload(C)).encode())
    process.stdin.close()
    end = time.monotonic() + 20
    while time.monotonic() < end and (not home.state(C).exists() or not state_of(home)["delivery"]):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    process.stdout.close()
    assert state_of(home)["delivery"]["status"] == "pending"
    assert len(home.hook(C)) >= 1
    assert home.hook(C) == []


CALLS = ("open", "write", "close", "fsync", "replace", "rename", "unlink", "fchmod", "mkdir", "_exit")


def killed(home, number, *, after):
    """What the hook prints when it dies before, or right after, its `number`-th call of one of CALLS; None when it
    ends before that call.
    """
    code = (
        f"import sys; sys.path.append({str(PACKAGE)!r}); import os; die = os._exit; left = {number}\n"
        "def wrap(call):\n"
        "    def called(*given, **named):\n"
        "        global left\n"
        "        left -= 1; mine = left == 0\n"
        f"        if mine and not {after}: die(137)\n"
        "        try: return call(*given, **named)\n"
        "        finally:\n"
        "            if mine: die(137)\n"
        "    return called\n"
        f"for name in {CALLS}: setattr(os, name, wrap(getattr(os, name)))\n"
        "from rehydrate.hook import main; main()"
    )
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, "antigravity"]
    payload = json.dumps(home.payload(C)).encode()
    done = subprocess.run(command, input=payload, capture_output=True, env=home.environ, timeout=60)
    assert done.stderr == b""
    return done.stdout if done.returncode else None


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_f40_killed_at_any_call_of_the_system_a_delivery_is_neither_lost_nor_made_twice(home, after):
    compacted(home)
    state, log = home.state(C).read_bytes(), home.transcript(C).read_bytes()
    for number in range(1, 200):
        home.state(C).write_bytes(state)
        home.transcript(C).write_bytes(log)
        printed = killed(home, number, after=after)
        if printed is None:
            break
        texts = parts_of(printed) if printed else []
        if texts:  # and the host took them: the marker stands in the log
            left = home.state(C).read_bytes()
            home.append(C, system_message(13, texts[0]))
            assert home.hook(C) == [], f"made twice after call {number}"
            home.state(C).write_bytes(left)
            home.transcript(C).write_bytes(log)
        assert home.hook(C) or texts, f"lost at call {number}"
        assert home.hook(C) == [], f"made too often after call {number}"
        assert {each.name for each in home.logs(C).iterdir()} == {
            "transcript_full.jsonl", "rehydrate_state.json", "rehydrate_state.json.lock"
        }  # fmt: skip
    assert 20 < number < 199


@pytest.mark.usefixtures("door")
def test_f43_two_hooks_at_once_make_one_delivery(home):
    for round in range(5):
        session = f"{C[:-1]}{round}"
        home.write(session, long_talk())
        home.hook(session)
        home.append(session, checkpoint(12))
        payload = json.dumps(home.payload(session)).encode()
        both = [
            subprocess.Popen(hook_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=home.environ)
            for _ in range(2)
        ]
        outputs = [process.communicate(payload, timeout=30)[0] for process in both]
        assert sorted(output == b"{}" for output in outputs) == [False, True]


@pytest.mark.usefixtures("door")
def test_f44_with_no_place_for_a_state_nothing_is_delivered_and_one_line_says_so(home):
    compacted(home)
    environ = home.refuse_every_state(C)
    payload = json.dumps(home.payload(C)).encode()
    done = subprocess.run(hook_command(), input=payload, capture_output=True, env=environ, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (0, b"{}", 1)


def test_f44_where_the_folder_cannot_be_written_it_delivers_once_all_the_same(home):
    compacted(home)
    home.refuse_state(C)
    assert len(home.hook(C)) == 1
    assert home.hook(C) == []
    assert not home.state(C).exists()


@pytest.mark.parametrize("name", ["scan_tail", "serve"])
@pytest.mark.parametrize("change", ["cut", "gone", "other", "again", "grown"])
def test_f10_a_log_that_changes_while_it_is_read_costs_no_delivery(home, monkeypatch, name, change):
    """After the new bytes were read, or before the conversation is: and then the log is what it was."""
    compacted(home)
    module = stretches if name == "scan_tail" else invocation
    path, read = home.transcript(C), getattr(module, name)
    data = path.read_bytes()

    def spoil():
        if change == "gone":
            path.unlink()
        elif change in ("cut", "other"):
            path.write_bytes(data[:700] if change == "cut" else b"".join(map(as_line, long_talk(count=20))))
        else:
            home.append(C, checkpoint(12) if change == "again" else said(13, "on"))

    def spoiled(*given, **named):
        monkeypatch.undo()
        if name == "serve":
            spoil()
            return read(*given, **named)
        found = read(*given, **named)
        spoil()
        return found

    monkeypatch.setattr(module, name, spoiled)
    reply = Recorder()
    payload = json.dumps(home.payload(C)).encode()
    with contextlib.suppress(OSError, LookupError):
        invocation.invoke("antigravity", payload, message="systemMessage", reply=reply, environ=home.environ)
    if change not in ("again", "grown"):
        path.write_bytes(data)
    assert len(reply.sent) + len(home.hook(C)) == 1
    assert home.hook(C) == []


@pytest.mark.parametrize("is_logged", [False, True], ids=["not logged", "logged"])
def test_f41_killed_before_the_state_was_saved_only_the_marker_stops_the_delivery(home, is_logged):
    compacted(home)
    before = home.state(C).read_bytes()
    (text,) = home.hook(C)
    home.state(C).write_bytes(before)
    if is_logged:
        home.append(C, system_message(13, text))
    assert home.hook(C) == ([] if is_logged else [text])
    assert home.hook(C) == []


def test_f48_a_clock_that_jumps_backwards_changes_no_delivery(home):
    """Each record is older than the one before it, and the state was written in the future."""
    records = [each | {"created_at": f"2026-03-01T10:{59 - n}:00Z"} for n, each in enumerate(long_talk())]
    home.write(C, records)
    assert home.hook(C) == []
    os.utime(home.state(C), (4e9, 4e9))
    home.append(C, checkpoint(12) | {"created_at": "1999-12-31T23:59:59Z"})
    (text,) = home.hook(C)
    asked = [text.index(f"Request number {number} from") for number in range(4)]
    assert asked == sorted(asked)
    assert home.hook(C) == []


def test_f63_a_subagents_compaction_is_its_own_conversations(home):
    agent = "aaaa" + C[4:]
    for session in (C, agent):
        home.write(session, long_talk())
        home.hook(session)
        home.append(session, checkpoint(12))
    (text,), (other,) = home.hook(C), home.hook(agent)
    assert text.splitlines()[0] != other.splitlines()[0], "same step, same records, and yet another delivery"
    assert home.hook(C) == home.hook(agent) == []


def test_f63_two_compactions_in_one_turn_make_one_delivery_for_the_later(home):
    compacted(home)
    home.append(C, said(13, "on"), checkpoint(14))
    (text,) = home.hook(C)
    assert "checkpoint=14 " in text.splitlines()[0]
    assert home.hook(C) == []
