"""The hook of Claude Code, whatever it is sent and whatever lies on disk: one value or nothing, exit status 0, nothing
of others touched, and the same from both implementations.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.claude_code.making import Talk, session_id
from tests.process.test_claude_hook import Client, command, text_of

from .hooks import Entry, answers, check, plant, tree_of
from .strategies import dumped, examples, jsons, junk, logs, odd, paths, some

S, FORKED = session_id(1), session_id(2)
PARTS = ["1", "1", "2", "3"]
NO_PARTS = re.compile(rb'"parts":(\[\]|\{\}|"")')


class World:
    """A home with a conversation that goes on after a compaction and is about to be compacted again; it is a branch."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        client = Client(folder)
        source = Talk(FORKED)
        at = source.talk("First.", "Yes.", "Second.", "Yes, too.")
        client.write(source)
        talk = source.fork(S, at=at, proof=True)
        call = talk.assistant("Reading.", ("Read", {"file_path": str(folder / "work" / "notes.txt")}, "toolu_1"))
        talk.result("toolu_1", "a note", sourceToolAssistantUUID=call)
        talk.compact()
        talk.talk("And now?", "Now this.", "And then?")
        talk.meta("last-prompt", lastPrompt="And then?")
        client.path = Path(client.write(talk))
        (folder / "work").mkdir()
        (folder / "work" / "notes.txt").write_text("a note\n")
        self.records, self.sources = talk.rows, source.rows
        self.environ = client.environ | {"XDG_STATE_HOME": str(folder / "state")}
        self.log = str(client.path.relative_to(folder))
        self.sources_log = self.log.replace(S, FORKED)
        self.own = self.log.removesuffix(".jsonl") + "/rehydrate"
        self.payload = client.payload()
        self.tree = tree_of(folder)
        client.fire(1, environ=self.environ)
        self.plan = client.plan()
        self.planned = tree_of(folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("hook") / "home")


def run(forks, world, changes, stdin, arguments=(), environ=None):
    """The text of the reply, after these changes of the home; None takes a file away."""
    tree = {path: entry for path, entry in {**world.tree, **changes}.items() if entry is not None}
    answer = answers(forks, world.folder, tree, ["claude-code", *arguments], stdin, world.environ | (environ or {}))
    return text_of(answer.stdout)


def test_the_world_as_it_is_has_a_value(forks, world):
    assert "And then?" in run(forks, world, {}, dumped(world.payload))


@examples(60)
@given(st.data())
def test_any_payload(forks, world, data):
    other = [str(world.folder / each) for each in (world.sources_log, world.own, "work/notes.txt", "..")]
    payload = world.payload | data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "transcript_path": paths | some(other) | odd,
                "session_id": paths | some([FORKED, S.upper(), f"../{S}", f"{S}.jsonl", "*"]) | odd,
                "cwd": paths | odd,
                "source": some(["compact", "resume"]) | odd,
                "agent_id": some(["", "a"]) | odd,
                "hook_event_name": some(["SessionStart", "PreCompact"]) | odd,
            },
        )
    )
    part = data.draw(some([[], ["--part", "2"], ["--part=3"], ["--part", "4"], ["--part", "-1"], ["--part"], ["x"]]))
    run(forks, world, {}, data.draw(jsons(payload)), part)


@examples(60)
@given(st.data())
def test_any_log(forks, world, data):
    changes = {world.log: Entry("file", data.draw(logs(world.records)))}
    if data.draw(st.booleans()):
        changes[world.sources_log] = Entry("file", data.draw(logs(world.sources)))
    run(forks, world, changes, dumped(world.payload), ["--part", data.draw(some(PARTS))])


@examples(60)
@given(st.data())
def test_any_plan(forks, world, data):
    plan = world.plan | data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "parts": st.just([]) | odd | st.lists(odd, max_size=3),
                "taken": some([[], [1, 2, 3], [0]]) | odd,
                "count": some([0, 3, 99]) | odd,
                "cursor": st.just([1, 0, "00000000"]) | odd,
                "file": paths | odd,
            },
        )
    )
    plans = st.builds(Entry, st.just("file"), jsons(plan), some([0o600, 0o600, 0o600, 0o644, 0o666, 0o400, 0o777]))
    name = world.own + "/plan.json"
    changes = {name: data.draw(plans)}
    text = next(path for path in world.planned if path.endswith(".md"))
    targets = some([name, name + ".lock", name + ".tmp", text, text + ".tmp", world.own])
    for path, entry in data.draw(st.dictionaries(targets, planted(world), max_size=1)).items():
        changes[path] = entry
        if path == world.own and entry is not None and entry.kind != "folder":
            del changes[name]
    if world.own not in changes:
        changes[world.own] = Entry("folder", mode=data.draw(some([0o700, 0o700, 0o755, 0o777])))
    part = data.draw(some(PARTS))
    text = run(forks, world, changes, dumped(world.payload), ["--part", part])
    if part == "1":  # what is damaged is no plan, and a new one is made; only a whole one may say that there is nothing
        assert text or (name in changes and changes[name] and NO_PARTS.search(changes[name].data))


def planted(world):
    """What somebody may have put where something of ours belongs."""
    targets = some([str(world.folder / world.log), str(world.folder / "work"), "/dev/zero", "nowhere", "."])
    links = st.builds(Entry, st.just("link"), targets)
    return links | st.builds(Entry, some(["folder", "fifo"]), st.just(b""), some([0o700, 0o777])) | st.just(None)


@examples(30)
@given(st.data())
def test_anything_else_that_is_read(forks, world, data):
    """The files that were touched, the settings, titles, other transcripts."""
    folder = world.log.removesuffix(".jsonl")
    contents = {
        "work/notes.txt": junk,
        ".config/rehydrate/rehydrate.toml": junk
        | some([b"deadline_s = nan", b"values = 0\n[x", b"extra_roots = ['/']"]),
        f"{folder}/custom-title.json": junk,
        f"{folder}/subagents/agent-a.jsonl": junk,
        f".claude/projects/other/{S}.jsonl": logs(world.records),
    }
    some_of_them = data.draw(st.lists(some(sorted(contents)), min_size=1, max_size=3, unique=True))
    changes = {path: Entry("file", data.draw(contents[path])) for path in some_of_them}
    payload = {key: world.payload[key] for key in data.draw(st.sets(some(sorted(world.payload))))}
    run(forks, world, changes, dumped(payload))


@examples(3)
@given(st.data())
def test_the_same_as_processes(world, data):
    """A few of the same as the host starts it, without forks."""
    log = Entry("file", data.draw(logs(world.records)))
    plan = Entry("file", data.draw(jsons(world.plan)))
    plant(world.folder, world.planned | {world.log: log, world.own + "/plan.json": plan})
    before = tree_of(world.folder)
    stdin = data.draw(jsons(world.payload))
    done = subprocess.run(command(), input=stdin, capture_output=True, env=world.environ, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    text_of(done.stdout)
    check(before, tree_of(world.folder))
    assert Path(world.folder, world.log).read_bytes() == log.data


def test_the_plan_is_one(world):
    """Else `test_any_plan` would say little."""
    assert json.loads(json.dumps(world.plan)) == world.plan and len(world.plan["parts"]) > 0
