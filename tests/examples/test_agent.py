"""`examples/agent.py`: killed at any moment and started again, it ends with the conversation that it would have had;
its model was sent what it would have been sent, and would be sent the same next.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from rehydrate.context import verify
from rehydrate.context.hidden import GO_ON
from rehydrate.session import Place, Session, SessionLog, resume_agent
from tests.context.harness.rules import faults
from tests.process import tracing

from . import watched

ENVIRON = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
HANGS_S = 120
TAB = "\t"
NOTES = [
    "call_5\tThe train leaves at 9:14.",
    "call_6\tBe there at 9:00.",
    "call_10\tThe train back leaves at 18:14.",
    "call_13\tThe bus leaves at 9:30.",
]


@pytest.fixture
def agent(monkeypatch):
    """The example as a module, with a model that streams without a pause."""
    module = watched.load()
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    return module


@pytest.fixture
def sent(tmp_path, agent):
    """The file that says what the model was sent, also by processes that are given it."""
    path = tmp_path / "sent"
    watched.watch(agent, path)
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run leaves that nobody disturbs, and what the model was sent."""
    root, path = tmp_path_factory.mktemp("undisturbed"), tmp_path_factory.mktemp("sent") / "sent"
    start = time.monotonic()
    done = run(root, path)
    took_s = time.monotonic() - start
    assert (done.returncode, done.stderr) == (0, "")
    return {"path": done.stdout.splitlines()[0], "root": root, "took_s": took_s, "sent": bodies(path), **outcome(root)}


def command(root, sent, *flags):
    return [sys.executable, watched.__file__, str(root), str(sent), *flags]


def run(root, sent):
    """Play it, or what is left of it."""
    return subprocess.run(command(root, sent), capture_output=True, text=True, env=ENVIRON, timeout=HANGS_S)


def bodies(path):
    """What the model was sent."""
    return set(path.read_text("utf-8").splitlines()) if path.exists() else set()


def outcome(root):
    """What stands in the end, less what no two runs have in common; and that it is sound."""
    files = {"main": [], "fork": [], "agent": []}
    with tempfile.TemporaryDirectory() as folder:  # where it can be gone on with
        for path in sorted(Path(shutil.copytree(root, folder, dirs_exist_ok=True)).rglob("*.jsonl")):
            if not path.stat().st_size:  # it was killed between making the file and writing to it
                continue
            with Session.open(path) as session:
                entries = session.view("scrollback")
                kind = "agent" if session.agent_id else "fork" if "forkedFrom" in entries[0] else "main"
                uuids = [entry["uuid"] for entry in session.view("raw") if "uuid" in entry]
                assert len(uuids) == len(set(uuids))
                said = [(entry["type"], entry.get("message", {}).get("content")) for entry in entries]
                left_out = session.view("wire").left_out
                made = [entry["checkpoint"]["strategy"] for entry in entries if entry["type"] == "system"]
            assert verify(path).findings == ()
            files[kind].append({"scrollback": said, "left_out": left_out, "strategies": made, **next_of(path)})
    return {**files, "notes": notes_in(root)}


def notes_in(root):
    path = root / "desk" / "notes.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def next_of(path):
    """What the model would be sent if it went on, and the ledger."""
    agent = watched.load()
    is_agents = path.parent.name == "subagents"
    place = Place.of(f"{path.parent.parent}.jsonl" if is_agents else path)
    with SessionLog(place, cwd="/") as log:
        if is_agents:
            log = resume_agent(log, path.stem.removeprefix("agent-")).log
        engine = agent.engine_of(log)
        engine.append({"role": "user", "content": "And now?"})
        body = engine.prepare(agent.REQUEST).body()
        ledger = [(item.heading, item.payload, item.status) for item in engine.ledger.items]
    assert faults(body["messages"], "anthropic") == []
    return {"next": body["messages"], "ledger": ledger}


def same(found, wanted):
    return all(found[name] == wanted[name] for name in ("main", "fork", "agent", "notes"))


def compactions(found):
    return sum(kind == "system" for kind, _ in found["scrollback"])


def blocks_of(messages, kind):
    found = [block for message in messages if not isinstance(message["content"], str) for block in message["content"]]
    return [block for block in found if block["type"] == kind]


def test_it_plays_the_script_out(undisturbed):
    (main,), (fork,), (helper,) = undisturbed["main"], undisturbed["fork"], undisturbed["agent"]
    asked = [content for kind, content in fork["scrollback"] if kind == "user" and isinstance(content, str)]
    assert len(asked) - compactions(fork) == len(set(asked)) - compactions(fork) == 5
    assert fork["scrollback"][: len(main["scrollback"])] == main["scrollback"]
    for each, calls in ((main, 8), (fork, 10), (helper, 3)):
        assert each["left_out"] == ()
        messages = [{"content": content or ""} for _, content in each["scrollback"]]
        called = [block["id"] for block in blocks_of(messages, "tool_use")]
        assert [block["tool_use_id"] for block in blocks_of(messages, "tool_result")] == called
        assert len(called) == len(set(called)) == calls
        assert not any("is_error" in block for block in blocks_of(messages, "tool_result"))
    assert undisturbed["notes"] == NOTES


def test_each_of_its_conversations_is_compacted_and_keeps_what_the_tools_did(undisturbed):
    (main,), (fork,), (helper,) = undisturbed["main"], undisturbed["fork"], undisturbed["agent"]
    assert [compactions(each) for each in (helper, main, fork)] == [1, 1, 2]
    done = [("Workspace mutations", f"notes.txt: {note.partition(TAB)[2]}", "open") for note in NOTES]
    told = ("Verification evidence", "the timetable has departures from 5:14 to 22:59", "open")
    for each, recorded in ((helper, []), (main, done[:-1]), (fork, done)):
        assert sorted(each["ledger"]) == sorted([told, *recorded])
    for _, payload, _ in done[:-2]:
        assert payload in main["next"][0]["content"]


def test_a_model_writes_each_summary(undisturbed):
    for kind in ("main", "fork", "agent"):
        (found,) = undisturbed[kind]
        assert "There is one every quarter of an hour" in json.dumps(found["next"])
        assert found["strategies"] == ["llm"] * compactions(found)


def test_what_its_model_refuses_is_sent_smaller_and_what_is_cut_off_is_asked_for_with_a_higher_cap(undisturbed, agent):
    sent = [json.loads(line) for line in undisturbed["sent"]]
    (refused,) = [body for body in sent if agent.tokens_of(body) > agent.LIMIT]
    assert "A note of the program" in refused["messages"][-1]["content"]
    again = [body for body in sent if "call_8" in json.dumps(body["messages"][-1])]
    assert [agent.tokens_of(body) < agent.LIMIT // 2 for body in again] == [True]
    caps = [body["max_tokens"] for body in sent]
    assert sorted(set(caps)) == [agent.CAP, 2 * agent.CAP] and caps.count(2 * agent.CAP) == 2


def test_an_answer_that_is_cut_off_again_is_gone_on_with_after_a_restart_too(agent, tmp_path, capfd):
    """Stopped where the model is to go on: the log ends with what it has said."""
    monday = "Monday " * 100
    agent.SCRIPT["Which days?"] = agent.says(monday)
    with SessionLog(Place(str(tmp_path), "-desk", "5e551000-0000-4000-8000-000000000001"), cwd="/") as log:
        desk = agent.Desk(agent.engine_of(log), str(tmp_path))
        desk.engine.append({"role": "user", "content": "Which days?"})
        with pytest.raises(KeyboardInterrupt):
            agent.finish_turn(replace(desk, engine=Stopped(desk.engine)))
        agent.SCRIPT[GO_ON["content"]] = agent.says("and Tuesday.")
        last = agent.finish_turn(replace(desk, engine=agent.engine_of(log)))
    assert last["content"] == agent.says("and Tuesday.")
    with Session.open(log.path) as session:
        said = [entry["message"]["content"] for entry in session.view("active")]
    assert said == ["Which days?", agent.says(monday[: 8 * agent.CAP]), last["content"]]


class Stopped:
    """An engine whose user stops it once the model was told to go on."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def cut_off(self, *told, **more):
        projection = self.engine.cut_off(*told, **more)
        if projection.max_output is None or projection.messages[-1]["content"] == GO_ON["content"]:
            raise KeyboardInterrupt
        return projection


def test_the_first_line_is_the_path_of_the_session(undisturbed):
    with Session.open(undisturbed["path"]) as session:
        assert "forkedFrom" not in session.view("scrollback")[0]


def test_started_again_it_finds_nothing_left_to_do(undisturbed, tmp_path):
    done = run(undisturbed["root"], tmp_path / "sent")
    assert (done.returncode, done.stdout) == (0, undisturbed["path"] + "\n")
    assert bodies(tmp_path / "sent") == set()
    assert same(outcome(undisturbed["root"]), undisturbed)


def test_two_do_not_work_on_one_session_at_once(undisturbed, tmp_path):
    with SessionLog(Place.of(undisturbed["path"]), cwd="/"):
        done = run(undisturbed["root"], tmp_path / "sent")
    assert done.returncode == 1 and done.stderr.startswith(f"process {os.getpid()} is at work on ")


@pytest.mark.parametrize("change", ["orphan", "unanswered", "assistant", "long"])
def test_its_model_refuses_what_a_provider_would(agent, change):
    messages = [{"role": "user", "content": agent.REQUESTS[0]}]
    if change == "orphan":
        messages.append({"role": "user", "content": [agent.result("call_1", "ok")]})
    elif change == "unanswered":
        messages += [{"role": "assistant", "content": agent.SCRIPT[agent.REQUESTS[0]]}, *messages]
    elif change == "assistant":
        messages[0]["role"] = "assistant"
    else:
        messages[0]["content"] *= 1_000
    with pytest.raises(ValueError):
        next(agent.Model().stream({"messages": messages}))


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_time_it_ends_the_same(seed, tmp_path, undisturbed):
    chance = random.Random(seed)
    root, sent = tmp_path / "root", tmp_path / "sent"
    for _ in range(8):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = subprocess.Popen(command(root, sent), env=ENVIRON, **quiet)
        try:
            started.wait(chance.uniform(0, undisturbed["took_s"]))
        except subprocess.TimeoutExpired:
            started.kill()
        if started.wait(HANGS_S) == 0:
            break
    else:
        assert run(root, sent).returncode == 0
    assert same(outcome(root), undisturbed)
    assert bodies(sent) == undisturbed["sent"]


LEAVES_NOTHING = frozenset({"flock", "fsync", "close"})
"""Calls that change nothing of what a killed process leaves: a kill before one is a kill before the next."""


def kill_before(number, root, sent, *, within="", is_late=False):
    """Run it, and kill it before the call of that number among those that change something at a path that ends so, or
    before the next one that changes anything (`is_late`); whether there was one.
    """
    seen, found = count(), []

    def watch(call):
        if call.name in LEAVES_NOTHING or not call.changes or not call.path.startswith(str(root)):
            return None
        if not found and call.path.endswith(within) and next(seen) == number:
            found.append(call)
            return None if is_late else tracing.KILL
        return tracing.KILL if found else None

    ended = tracing.run(command(root, sent, "traced"), b"\n", environ=ENVIRON, watch=watch)
    assert (ended.status, ended.stderr) in ((-9, b""), (0, b""))
    return ended.status == -9


@tracing.needs_tracing
def test_killed_before_any_call_that_changes_something_it_ends_the_same(agent, sent, tmp_path, undisturbed, capfd):
    for number in count():
        root = tmp_path / str(number)
        root.mkdir()
        sent.unlink(missing_ok=True)
        was_killed = kill_before(number, root, sent)
        agent.main(str(root))
        assert same(outcome(root), undisturbed), f"killed before call {number}"
        assert bodies(sent) == undisturbed["sent"], f"killed before call {number}"
        if not was_killed:
            break
    assert number > 30


@tracing.needs_tracing
def test_a_tool_that_is_not_safe_does_not_run_again(agent, sent, tmp_path, monkeypatch, capfd):
    """Killed before it makes the file, before each line, and behind each."""
    monkeypatch.setattr(agent, "SAFE_AGAIN", agent.SAFE_AGAIN - {"note"})
    unknown = []
    for is_late in (False, True):
        for number in count():
            root = tmp_path / f"{number}{is_late}"
            root.mkdir()
            if not kill_before(number, root, sent, within="notes.txt", is_late=is_late):
                break
            notes_then = notes_in(root)
            agent.main(str(root))
            found = outcome(root)
            messages = [{"content": content or ""} for _, content in found["fork"][0]["scrollback"]]
            results = {block["tool_use_id"]: block for block in blocks_of(messages, "tool_result")}
            assert list(results) == [block["id"] for block in blocks_of(messages, "tool_use")]
            lost = {name for name, block in results.items() if block["content"] == agent.UNKNOWN}
            assert [note for note in found["notes"] if call_of(note) in lost] == [
                note for note in notes_then if call_of(note) in lost
            ]
            assert [note for note in found["notes"] if call_of(note) not in lost] == [
                note for note in NOTES if call_of(note) not in lost
            ]
            unknown += [(name, name in map(call_of, notes_then)) for name in sorted(lost)]
    assert {("call_5", False), ("call_5", True), ("call_13", False), ("call_13", True)} <= set(unknown)


def call_of(note):
    return note.partition(TAB)[0]
