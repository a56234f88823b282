"""The Antigravity hook, whatever it is sent and whatever lies on disk: a valid reply, exit status 0, nothing of others
touched, and the same from both implementations.
"""

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.process.home import Home, checkpoint, hook_command, long_talk, parts_of, result, said, system_message, user

from .hooks import Entry, answers, check, plant, tree_of
from .strategies import dumped, examples, jsons, junk, logs, odd, paths, some

C, P = "c0ffee00-0000-4000-8000-00000000000a", "c0ffee00-0000-4000-8000-00000000000b"
LOGS = f"gemini/antigravity-cli/brain/{C}/.system_generated/logs"
PARENTS_LOG = LOGS.replace(C, P) + "/transcript_full.jsonl"
LOG, CUT, STATE = (f"{LOGS}/{name}" for name in ("transcript_full.jsonl", "transcript.jsonl", "rehydrate_state.json"))
HISTORY = "gemini/antigravity-cli/history.jsonl"
DATABASE = f"gemini/antigravity-cli/conversations/{C}.db"
RECORDS = [
    *long_talk(count=3),
    said(9, "Reading.", ("view_file", {"AbsolutePath": "@WORK@/notes.txt"})),
    result(10, "a note"),
    user(11, "And now?"),
    checkpoint(12),
]


class World:
    """A home in which a delivery is due for one conversation, which was forked from another."""

    def __init__(self, folder):
        self.folder = folder
        home = Home(folder)
        self.environ = home.environ | {"XDG_STATE_HOME": str(folder / "state")}
        self.records = json.loads(json.dumps(RECORDS).replace("@WORK@", str(home.work)))
        home.write(P, long_talk(count=2))
        home.write(C, self.records[:-1])
        home.file("notes.txt", "a note\n")
        home.file("outside/transcript_full.jsonl.txt", "not a transcript\n")
        row = {"display": "/fork", "timestamp": 1_796_000_000_000, "workspace": str(home.work), "conversationId": P}
        self.history = [row, {**row, "display": "hello", "conversationId": C}]
        (home.gemini / "antigravity-cli" / "history.jsonl").write_bytes(
            b"".join(dumped(r) + b"\n" for r in self.history)
        )
        (folder / DATABASE).parent.mkdir()
        with sqlite3.connect(folder / DATABASE) as base:
            base.execute("create table parent_references (idx integer, data blob)")
            base.execute("insert into parent_references values (0, ?)", (b"\x10\x05\x28\x02\x32\x24" + P.encode(),))
        base.close()
        home.hook(C)
        self.state = json.loads((folder / STATE).read_text())
        home.append(C, self.records[-1])
        self.payload = home.payload(C)
        self.tree = tree_of(folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("hook") / "home")


def run(forks, world, changes, stdin, arguments=(), environ=None):
    """The texts of the reply, after these changes of the home; None takes a file away."""
    tree = {path: entry for path, entry in {**world.tree, **changes}.items() if entry is not None}
    environ = world.environ | (environ or {})
    answer = answers(forks, world.folder, tree, ["antigravity", *arguments], stdin, environ)
    return parts_of(answer.stdout)


def test_the_world_as_it_is_has_a_delivery(forks, world):
    (text,) = run(forks, world, {}, dumped(world.payload))
    assert "And now?" in text


@examples(60)
@given(st.data())
def test_any_payload(forks, world, data):
    payload = world.payload | data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "transcriptPath": paths | some([str(world.folder / each) for each in (LOG, CUT, LOGS, HISTORY, STATE)]),
                "conversationId": paths | odd | some([P, C.upper(), f"../{C}", f"{C}/../{P}"]),
                "artifactDirectoryPath": paths | odd | st.just(str(world.folder / LOGS)),
                "workspacePaths": odd | st.lists(paths | odd, max_size=3),
            },
        )
    )
    run(forks, world, {}, data.draw(jsons(payload)))


@examples(60)
@given(st.data())
def test_any_log(forks, world, data):
    log = data.draw(logs(world.records))
    changes = {data.draw(some([LOG, LOG, LOG, CUT])): Entry("file", log)}
    if CUT in changes:
        changes[LOG] = None
    if data.draw(st.booleans()):
        changes[PARENTS_LOG] = Entry("file", data.draw(logs(long_talk(count=2))))
    if data.draw(st.booleans()):
        changes[STATE] = None
    run(forks, world, changes, dumped(world.payload))


@examples(60)
@given(st.data())
def test_any_state(forks, world, data):
    state = world.state | data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "done": st.just({"step": 12, "id": None}) | odd,
                "delivery": st.just({"step": 12, "id": "x", "status": "pending", "tries": 1}) | odd,
                "cursor": st.just([1, 0, "00000000"]) | odd,
                "lineage": st.just({"segments": [[P, "/dev/zero", None, 5]], "complete": True, "why": []}) | odd,
                "workspaces": st.lists(paths | odd, max_size=3),
                "error": errors(world.state["cursor"]) | odd,
            },
        )
    )
    files = st.builds(Entry, st.just("file"), jsons(state), some([0o600, 0o600, 0o600, 0o644, 0o666, 0o400, 0o777]))
    log = world.records if data.draw(st.booleans()) else [*world.records, system_message(13, "on"), said(14, "on")]
    changes = {STATE: data.draw(files), LOG: Entry("file", b"".join(dumped(each) + b"\n" for each in log))}
    changes |= data.draw(
        st.dictionaries(some([STATE, STATE + ".lock", STATE + ".tmp", STATE + ".aside-0"]), planted(world), max_size=1)
    )
    run(forks, world, changes, dumped(world.payload))


def errors(cursor):
    """As it is remembered that the time was over."""
    reached = {
        "from": st.just(cursor) | odd,
        "cursor": st.just(cursor) | st.just([1, 0, "00000000"]) | st.just([1, 1 << 62, "0" * 8]) | odd,
        "mark": st.just([12, cursor[1], 99]) | st.just([None, 1 << 62, -1]) | odd,
        "last_step": st.just(12) | odd,
        "restarted": st.booleans() | odd,
    }
    more = {"tries": st.just(2) | odd, "over_s": st.just(0) | odd, "reached": st.fixed_dictionaries(reached)}
    return st.fixed_dictionaries({"what": odd, "time_s": odd}, optional=more)


def planted(world):
    """What somebody may have put where a file of ours belongs."""
    targets = some([str(world.folder / LOG), str(world.folder / "work/notes.txt"), "/dev/zero", "nowhere", "."])
    links = st.builds(Entry, st.just("link"), targets)
    return links | st.builds(Entry, some(["folder", "fifo"]), st.just(b""), some([0o700, 0o777])) | st.just(None)


@examples(40)
@given(st.data())
def test_anything_else_that_is_read(forks, world, data):
    """What a lineage is told by, the files that were touched, and the settings."""
    rows = b"".join(data.draw(jsons(each)) + b"\n" for each in world.history)
    contents = {
        HISTORY: st.just(rows),
        DATABASE: junk | st.just(world.tree[DATABASE].data[:5000]),
        DATABASE + "-wal": junk,
        "work/notes.txt": junk,
        ".config/rehydrate/rehydrate.toml": junk
        | some([b"deadline_s = nan", b"part_bytes = 1\n[x", b"extra_roots = ['/']"]),
        f"{LOGS}/chunks/transcript_full/00000000.jsonl": junk | st.just(world.tree[LOG].data),
    }
    some_of_them = data.draw(st.lists(some(sorted(contents)), min_size=1, max_size=3, unique=True))
    changes = {path: Entry("file", data.draw(contents[path])) for path in some_of_them}
    arguments = data.draw(some([[], ["--as", "ephemeralMessage"], ["--as"], ["x"], ["--as=userMessage"], ["\udcff"]]))
    run(forks, world, changes, dumped(world.payload), arguments)


@examples(3)
@given(st.data())
def test_the_same_as_processes(world, data):
    """A few of the same as the host starts it, without forks."""
    changes = {LOG: Entry("file", data.draw(logs(world.records))), STATE: Entry("file", data.draw(jsons(world.state)))}
    plant(world.folder, world.tree | changes)
    before = tree_of(world.folder)
    stdin = data.draw(jsons(world.payload))
    done = subprocess.run(hook_command(), input=stdin, capture_output=True, env=world.environ, timeout=60)
    assert done.returncode == 0
    parts_of(done.stdout)
    check(before, tree_of(world.folder))
    assert Path(world.folder, LOG).read_bytes() == changes[LOG].data
