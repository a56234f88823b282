"""`examples/agent.py`: killed at any moment and started again, it ends with the conversation that it would have had."""

import importlib.util
import os
import random
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from rehydrate.session import Place, Session, SessionLog
from tests.process import tracing

AGENT = Path(__file__).resolve().parents[2] / "examples" / "agent.py"
ENVIRON = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
HANGS_S = 120
NOTES = ["call_2\tThe train leaves at 9:14.", "call_3\tBe there at 9:00.", "call_5\tThe bus leaves at 9:30."]
WITHOUT_THREAD = f"""
import runpy, sys, time
from rehydrate.session.queue import Queue
Queue._start = lambda self: None  # only one thread can be followed: here none ever comes to flush
time.sleep = lambda _: None
input()
sys.argv = [{str(AGENT)!r}, sys.argv[1]]
runpy.run_path({str(AGENT)!r}, run_name="__main__")
"""


@pytest.fixture
def agent(monkeypatch):
    """The example as a module, with a model that streams without a pause."""
    spec = importlib.util.spec_from_file_location("agent_example", AGENT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    return module


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run leaves that nobody disturbs."""
    root = tmp_path_factory.mktemp("undisturbed")
    start = time.monotonic()
    done = subprocess.run([sys.executable, AGENT, root], capture_output=True, text=True, env=ENVIRON, timeout=HANGS_S)
    assert (done.returncode, done.stderr) == (0, "")
    return {"path": done.stdout.splitlines()[0], "root": root, "took_s": time.monotonic() - start, **outcome(root)}


def outcome(root):
    """What stands in the end, less what no two runs have in common; and that it is sound."""
    files = {"main": [], "fork": [], "agent": []}
    for path in sorted(root.rglob("*.jsonl")):
        if not path.stat().st_size:  # it was killed between making the file and writing to it
            continue
        with Session.open(path) as session:
            assert list(session.verify()) == []
            entries = session.view("scrollback")
            kind = "agent" if session.agent_id else "fork" if "forkedFrom" in entries[0] else "main"
            uuids = [entry["uuid"] for entry in session.view("raw") if "uuid" in entry]
            assert len(uuids) == len(set(uuids))
            files[kind].append(
                {
                    "scrollback": [(entry["type"], entry["message"]["content"]) for entry in entries],
                    "wire": list(session.view("wire")),
                    "left_out": session.view("wire").left_out,
                    "raw": [entry["type"] for entry in session.view("raw")],
                }
            )
    notes = root / "desk" / "notes.txt"
    return {**files, "notes": notes.read_text("utf-8").splitlines() if notes.exists() else []}


def same(found, wanted):
    return all(found[name] == wanted[name] for name in ("main", "fork", "agent", "notes"))


def blocks_of(messages, kind):
    found = [block for message in messages if not isinstance(message["content"], str) for block in message["content"]]
    return [block for block in found if block["type"] == kind]


def test_it_plays_the_script_out(undisturbed):
    (main,), (fork,), (helper,) = undisturbed["main"], undisturbed["fork"], undisturbed["agent"]
    asked = [message["content"] for message in fork["wire"] if isinstance(message["content"], str)]
    assert len(asked) == len(set(asked)) == 3
    assert fork["wire"][: len(main["wire"])] == main["wire"]
    for each, calls in ((main, 4), (fork, 5), (helper, 1)):
        assert each["left_out"] == ()
        called = [block["id"] for block in blocks_of(each["wire"], "tool_use")]
        assert [block["tool_use_id"] for block in blocks_of(each["wire"], "tool_result")] == called
        assert len(called) == len(set(called)) == calls
        assert not any("is_error" in block for block in blocks_of(each["wire"], "tool_result"))
    assert undisturbed["notes"] == NOTES


def test_the_first_line_is_the_path_of_the_session(undisturbed):
    with Session.open(undisturbed["path"]) as session:
        assert list(session.view("wire")) == undisturbed["main"][0]["wire"]


def test_started_again_it_finds_nothing_left_to_do(undisturbed):
    done = subprocess.run([sys.executable, AGENT, undisturbed["root"]], capture_output=True, text=True, env=ENVIRON)
    assert (done.returncode, done.stdout) == (0, undisturbed["path"] + "\n")
    assert same(outcome(undisturbed["root"]), undisturbed)


def test_two_do_not_work_on_one_session_at_once(undisturbed):
    with SessionLog(Place.of(undisturbed["path"]), cwd="/"):
        done = subprocess.run([sys.executable, AGENT, undisturbed["root"]], capture_output=True, text=True, env=ENVIRON)
    assert done.returncode == 1 and done.stderr.startswith(f"process {os.getpid()} is at work on ")


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_time_it_ends_the_same(seed, tmp_path, undisturbed):
    chance = random.Random(seed)
    for _ in range(8):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = subprocess.Popen([sys.executable, AGENT, tmp_path], env=ENVIRON, **quiet)
        try:
            started.wait(chance.uniform(0, undisturbed["took_s"]))
        except subprocess.TimeoutExpired:
            started.kill()
        if started.wait(HANGS_S) == 0:
            break
    else:
        subprocess.run([sys.executable, AGENT, tmp_path], check=True, capture_output=True, env=ENVIRON, timeout=HANGS_S)
    assert same(outcome(tmp_path), undisturbed)


LEAVES_NOTHING = frozenset({"flock", "fsync", "close"})
"""Calls that change nothing of what a killed process leaves: a kill before one is a kill before the next."""


def kill_before(number, root, *, within):
    """Run it, and kill it before the call of that number among those that change something at a path that ends so;
    whether there was one.
    """
    seen = count()

    def watch(call):
        if call.name in LEAVES_NOTHING or not call.changes or not call.path.startswith(str(root)):
            return None
        return tracing.KILL if call.path.endswith(within) and next(seen) == number else None

    command = [sys.executable, "-c", WITHOUT_THREAD, str(root)]
    ended = tracing.run(command, b"\n", environ=ENVIRON, watch=watch)
    assert (ended.status, ended.stderr) in ((-9, b""), (0, b""))
    return ended.status == -9


@tracing.needs_tracing
def test_killed_before_any_call_that_changes_something_it_ends_the_same(agent, tmp_path, undisturbed, capfd):
    for number in count():
        root = tmp_path / str(number)
        root.mkdir()
        was_killed = kill_before(number, root, within="")
        agent.main(str(root))
        assert same(outcome(root), undisturbed), f"killed before call {number}"
        if not was_killed:
            break
    assert number > 30


@tracing.needs_tracing
def test_a_tool_that_is_not_safe_does_not_run_again(agent, tmp_path, monkeypatch, capfd):
    """Killed before it makes the file, before each line, and behind each (there the log is written next)."""
    monkeypatch.setattr(agent, "SAFE_AGAIN", agent.SAFE_AGAIN - {"note"})
    unknown = []
    for within in ("notes.txt", ".jsonl"):
        for number in count():
            root = tmp_path / f"{number}{within}"
            root.mkdir()
            if not kill_before(number, root, within=within):
                break
            notes_then = outcome(root)["notes"]
            agent.main(str(root))
            found = outcome(root)
            results = {block["tool_use_id"]: block for block in blocks_of(found["fork"][0]["wire"], "tool_result")}
            assert list(results) == [block["id"] for block in blocks_of(found["fork"][0]["wire"], "tool_use")]
            lost = {name for name, block in results.items() if block["content"] == agent.UNKNOWN}
            assert [note for note in found["notes"] if call_of(note) in lost] == [
                note for note in notes_then if call_of(note) in lost
            ]
            assert [note for note in found["notes"] if call_of(note) not in lost] == [
                note for note in NOTES if call_of(note) not in lost
            ]
            unknown += [(name, name in map(call_of, notes_then)) for name in sorted(lost)]
    assert {("call_2", False), ("call_2", True), ("call_5", False), ("call_5", True)} <= set(unknown)


def call_of(note):
    return note.partition("\t")[0]
