"""The hook's process: how it ends, what it is told, and what surrounds it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rehydrate import invocation
from rehydrate.launch import NOTHING, SILENCE, hook_command
from tests.process.home import Recorder, checkpoint, long_talk

from .worlds import SESSION, joined, run


def ready(world, *, chars=0):
    """A delivery is due, of at least so many characters."""
    lines = [world.user("One."), *(world.said("y" * 3_000) for _ in range(chars // 3_000)), world.user("Two.")]
    lines += [world.boundary()] if world.name == "antigravity" else []
    world.path.write_bytes(joined(*lines))


def started(world, **more):
    process = subprocess.Popen(
        world.command(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=world.environ, **more
    )
    process.stdin.write(world.stdin())
    process.stdin.close()
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("wait_s", [0.0, 0.2])
def test_f47_a_signal_ends_it_at_once_without_a_trace(world, number, wait_s):
    """While it waits for a payload, and before that."""
    with subprocess.Popen(
        world.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=world.environ
    ) as process:
        time.sleep(0.15 + wait_s)
        process.send_signal(number)
        stdout, stderr = process.stdout.read(), process.stderr.read()
        assert process.wait(20) in (0, -number)
    assert stdout in (b"", b"{}") and stderr == b""


def test_f47_a_reader_that_is_gone_leaves_no_trace(world):
    ready(world, chars=30_000)
    reader, writer = os.pipe()
    os.close(reader)
    process = started(world, stdout=writer)
    os.close(writer)
    assert (process.stderr.read(), process.wait(20)) == (b"", 0)
    process.stderr.close()
    assert "Two." in world.fire()


def test_f47_a_full_pipe_is_waited_for_and_a_signal_ends_that(world):
    ready(world, chars=90_000)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while True:
        try:
            os.write(writer, b"x" * 4_096)
        except BlockingIOError:
            break
    process = started(world, stdout=writer)
    os.close(writer)
    time.sleep(0.5)
    assert process.poll() is None
    process.terminate()
    assert (process.stderr.read(), process.wait(20)) == (b"", -signal.SIGTERM)
    process.stderr.close()
    os.close(reader)
    assert "Two." in world.fire()


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null"])
def test_f47_closed_descriptors_are_survived(world, redirect):
    ready(world)
    before = world.path.read_bytes()
    words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in world.command())
    done = subprocess.run(
        ["sh", "-c", f"{words} {redirect}"], input=world.stdin(), capture_output=True, env=world.environ, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    world.text_of(done.stdout or (b"{}" if world.name == "antigravity" else b""))
    assert world.path.read_bytes() == before


@pytest.mark.parametrize("jump_s", [-(10**8), 10**8])
def test_f48_a_clock_that_jumps_changes_no_delivery(antigravity, monkeypatch, jump_s):
    now = time.time()
    payload = antigravity.stdin()

    def sent():
        reply = Recorder()
        invocation.invoke("antigravity", payload, message="systemMessage", reply=reply, environ=antigravity.environ)
        return len(reply.sent)

    antigravity.write(SESSION, long_talk())
    assert sent() == 0
    monkeypatch.setattr(time, "time", lambda: now + jump_s)
    antigravity.append(SESSION, checkpoint(12))
    assert sent() == 1
    monkeypatch.setattr(time, "time", lambda: now - jump_s)
    os.utime(antigravity.path, (1, 1))
    os.utime(antigravity.state(SESSION), (now + 10**9, now + 10**9))
    assert sent() == 0


def test_f48_with_files_from_the_future_and_from_before_1970_the_answer_is_the_same(world):
    ready(world)
    first = world.fire()
    if world.name == "antigravity":
        world.state(SESSION).unlink()
    for time_s in (4_000_000_000, 0):
        os.utime(world.path, (time_s, time_s))
        if world.name == "antigravity":
            world.state(SESSION).unlink(missing_ok=True)
        assert world.fire() == first != ""


@pytest.mark.parametrize(
    "named", [None, "", "relative/transcript_full.jsonl", "/nowhere/transcript_full.jsonl", "\ud800", "a\0b", 7, [], {}]
)
def test_f58_a_payload_with_a_path_that_leads_nowhere_is_answered_by_the_id(world, named):
    ready(world)
    assert "Two." in world.asked(**{world.NAMED: named})


def test_f58_the_path_of_another_conversation_counts_before_the_id(world):
    ready(world)
    other = {"conversationId": "someone-else"} if world.name == "antigravity" else {"session_id": "someone-else"}
    assert "Two." in world.asked(**other)


@pytest.mark.parametrize("place", ["/etc/passwd", "/dev/zero", "/proc/self/environ", "{folder}/other.txt", "{folder}"])
def test_f58_what_is_no_transcript_is_not_opened(world, place):
    (world.folder / "other.txt").write_text("WORDS OF ANOTHER FILE\n")
    nobody = {"conversationId": None, "artifactDirectoryPath": None, "session_id": None}
    assert world.asked(**{world.NAMED: place.format(folder=world.folder)}, **nobody) == ""


def test_f63_the_compaction_of_a_subagent_is_its_own(antigravity):
    agent = SESSION[:-1] + "b"
    for session in (SESSION, agent):
        antigravity.write(session, [*long_talk(), checkpoint(12)])
    first, second = antigravity.hook(SESSION), antigravity.hook(agent)
    assert len(first) == len(second) == 1 and first[0].splitlines()[0] != second[0].splitlines()[0]
    assert antigravity.hook(SESSION) == antigravity.hook(agent) == []


@pytest.mark.parametrize("said", [{"agent_id": "a1b2", "agent_type": "Explore"}, {"source": "resume"}])
def test_f63_what_is_not_the_compaction_of_the_conversation_is_answered_with_nothing(claude, said):
    ready(claude)
    assert claude.fire(**said) == ""


def test_f63_two_compactions_in_one_turn_are_two_deliveries_for_a_client_that_asks_twice(claude):
    lines = [claude.user("One."), claude.said("Yes.")]
    first = claude.fire(joined(*lines))
    lines += [claude.boundary(), claude.said("Between.")]
    second = claude.fire(joined(*lines))
    assert "checkpoint=1 " in first and "checkpoint=2 " in second and "Between." in second


@pytest.mark.parametrize(
    "environ",
    [{"PYTHONPATH": "{work}"}, {"PYTHONHOME": "/nowhere"}, {"PYTHONSTARTUP": "{work}/json.py"},
     {"VIRTUAL_ENV": "/nowhere", "PATH": "/nowhere"}, {"PYTHONSAFEPATH": "", "PYTHONINSPECT": "1"}],
    ids=lambda environ: "+".join(environ),
)  # fmt: skip
def test_f66_no_variable_and_no_file_puts_code_in_its_way(world, environ):
    ready(world)
    for name in ("json", "rehydrate", "select", "stat", "sitecustomize", "usercustomize"):
        (world.work / f"{name}.py").write_text("raise SystemExit('hijacked')")
    done = run(world, environ={key: value.format(work=world.work) for key, value in environ.items()}, cwd=world.work)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Two." in world.text_of(done.stdout)


def test_f66_without_its_interpreter_the_registered_command_answers_nothing(world):
    ready(world)
    command = hook_command(world.name, fallback=NOTHING if world.name == "antigravity" else SILENCE)
    assert sys.executable in command
    command = command.replace(sys.executable, "/nowhere/python3")
    done = subprocess.run(["sh", "-c", command], input=world.stdin(), capture_output=True, env=world.environ)
    assert (done.returncode, world.text_of(done.stdout)) == (0, "")


ODD = [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "utf-16"}, {"LC_ALL": "tr_TR.ISO8859-9", "PYTHONUTF8": "0"},
       {"HOME": "/nowhere"}, {"HOME": ""}, {"HOME": "here"}, {"TZ": "Pacific/Kiritimati"}]  # fmt: skip


@pytest.mark.parametrize("environ", ODD, ids=repr)
def test_f67_odd_surroundings_change_no_byte(world, environ):
    lines = [world.user("über 漢字"), world.user("Two.")]
    lines += [world.boundary()] if world.name == "antigravity" else []
    world.path.write_bytes(joined(*lines))
    homes = {"GEMINI_HOME": str(world.folder / "gemini"), "CLAUDE_CONFIG_DIR": str(world.folder / ".claude")}
    plain = run(world, environ=homes).stdout
    for state in (world.path.parent / "rehydrate_state.json", world.path.with_suffix("") / "rehydrate/plan.json"):
        state.unlink(missing_ok=True)
    odd = run(world, environ=homes | environ)
    assert (odd.returncode, odd.stderr) == (0, b"")
    assert odd.stdout == plain and "über 漢字" in world.text_of(plain)


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_f67_whatever_the_umask_only_the_owner_can_read_what_is_written(world, umask):
    ready(world)
    before = set(world.folder.rglob("*"))
    done = run(world, umask=umask)
    assert "Two." in world.text_of(done.stdout)
    made = set(world.folder.rglob("*")) - before
    assert made and {each.stat().st_mode & 0o077 for each in made} == {0}


def test_f67_with_a_home_that_cannot_be_written_it_answers_all_the_same(world):
    ready(world)
    (world.folder / "home").write_text("no folder")
    homes = {"GEMINI_HOME": str(world.folder / "gemini"), "CLAUDE_CONFIG_DIR": str(world.folder / ".claude")}
    done = run(world, environ=homes | {"HOME": str(world.folder / "home")})
    assert (done.returncode, done.stderr) == (0, b"") and "Two." in world.text_of(done.stdout)


def test_f68_what_a_version_to_come_has_left_is_kept_aside_and_nothing_is_lost(antigravity):
    antigravity.write(SESSION, long_talk())
    antigravity.hook(SESSION)
    state = json.loads(antigravity.state(SESSION).read_text())
    antigravity.state(SESSION).write_text(json.dumps({**state, "version": state["version"] + 1, "more": [1]}))
    antigravity.state(SESSION).chmod(0o600)
    antigravity.append(SESSION, checkpoint(12))
    assert len(antigravity.hook(SESSION)) == 1
    aside = antigravity.state(SESSION).with_name("rehydrate_state.json.aside-0")
    assert json.loads(aside.read_text())["more"] == [1]
    assert antigravity.hook(SESSION) == []


def test_f68_the_plan_of_another_version_counts_as_none(claude):
    ready(claude)
    first = claude.fire()
    claude.mark_plan()
    plan = claude.plan()
    (claude.own / "plan.json").write_text(json.dumps({**plan, "version": plan["version"] + 1, "taken": []}))
    assert claude.fire() == first
