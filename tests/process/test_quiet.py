"""Where a gate says that there is nothing to do, working the invocation out sends nothing; both gates say the same.

Payload, state and transcript are changed in every way that a host, a person or a disk could.
"""

import json
import os
import subprocess
import tempfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate import launch
from rehydrate.gate import gate as twin
from rehydrate.invocation import invoke

from .home import Home, Recorder, checkpoint, long_talk, said, user

with suppress(ImportError):
    from rehydrate._native import gate as native

FRONT_DOOR = launch.front_door()
SHELL = {"PATH": os.environ["PATH"]}

C = "c0ffee00-0000-4000-8000-0000000000bb"
OTHER = "0ther000-0000-4000-8000-0000000000bb"

ODD = st.sampled_from(
    [None, True, False, 0, 1, -1, 7, 2**70, 1.5, "", "x", "sent", "pending", "00000000", [], ["x"], [7], {}, {"a": 1},
     "\ud800", "\udc80", "é", "\ufffd"]
)  # fmt: skip
PAYLOAD_MEMBER = st.sampled_from(
    ["conversationId", "transcriptPath", "artifactDirectoryPath", "workspacePaths", "initialNumSteps", "more"]
)
AROUND = st.sampled_from([(b"", b"")] * 8 + [(b" \n\t", b"x"), (b"\xef\xbb\xbf", b""), (b"\0", b""), (b"", b"{}\n")])
PATH = st.sampled_from(
    [("_full", ""), ("/logs/", "//logs/"), ("/logs/", "/./logs/"), ("transcript_full", "other"), (".jsonl", ".jsonl/"),
     (".jsonl", ".jsonl\0"), ("/logs/transcript_full.jsonl", "/logs")]
)  # fmt: skip
STATE_PLACE = st.tuples(
    st.sampled_from(
        ["version", "client", "conversation", "transcript", "cursor", "last_checkpoint", "done", "delivery",
         "workspaces", "lineage", "error", "writes"]
    ),
    st.sampled_from([None, None, "step", "id", "status", "tries", 0, 1, 2]),
)  # fmt: skip
LOG_CHANGE = st.sampled_from(
    ["none"] * 4 + ["done", "error", "talk", "cut copy", "only cut", "gone", "empty", "folder", "link", "chunks"]
)


@st.composite
def bytes_changes(draw):
    """Places (as a share of the length) and what is put there instead of how many bytes."""
    change = st.tuples(
        st.floats(0, 1),
        st.integers(0, 30),
        st.sampled_from([b"", b"}", b"{", b'"', b"\\", b",", b"\0", b"\n", b"\xff"]),
    )
    return draw(st.lists(change, max_size=2))


def changed(data, changes):
    for place, count, new in changes:
        at = int(place * len(data))
        data = data[:at] + new + data[at + count :]
    return data


def work_out(home, payload):
    reply = Recorder()
    with suppress(OSError):
        invoke("antigravity", payload, message="systemMessage", reply=reply, environ=home.environ)
    return reply.sent


def ask(gate, payload):
    reader, writer = os.pipe()
    os.write(writer, payload)
    os.close(writer)
    try:
        return gate(reader)
    finally:
        os.close(reader)


def ask_front_door(payload):
    """The same of the program, which becomes what is named behind it when there is something to do."""
    done = subprocess.run([FRONT_DOOR, "sh", "-c", "printf ?; cat"], input=payload, capture_output=True, env=SHELL)
    assert (done.returncode, done.stderr) == (0, b"")
    return (True, payload) if done.stdout == b"{}" else (False, done.stdout[1:])


def make_payload(data, home):
    payload = home.payload(C)
    if data.draw(st.booleans(), "for another"):
        home.write(OTHER, [*long_talk(), checkpoint(12)])
        payload |= {"conversationId": OTHER, "artifactDirectoryPath": str(home.app / "brain" / OTHER)}
    for key, value in data.draw(st.dictionaries(PAYLOAD_MEMBER, ODD, max_size=2), "payload members").items():
        payload[key] = value
    if isinstance(payload["transcriptPath"], str) and data.draw(st.booleans(), "odd path"):
        payload["transcriptPath"] = payload["transcriptPath"].replace(*data.draw(PATH, "path"))
    raw = json.dumps(payload, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    before, behind = data.draw(AROUND, "around")
    return before + changed(raw, data.draw(st.just([]) | bytes_changes(), "payload bytes")) + behind


def spoil_state(data, path):
    if not path.exists():
        return
    state = json.loads(path.read_bytes())
    for (key, inner), value in data.draw(st.dictionaries(STATE_PLACE, ODD, max_size=2), "state members").items():
        with suppress(TypeError, KeyError, IndexError):  # no such place in this state
            if inner is None:
                state[key] = value
            else:
                state[key][inner] = value
    for key in data.draw(st.lists(st.sampled_from(sorted(state)), max_size=1), "state members left out"):
        del state[key]
    raw = json.dumps(state, indent=data.draw(st.sampled_from([None, None, None, 1]))).encode()
    path.write_bytes(changed(raw, data.draw(st.just([]) | bytes_changes(), "state bytes")))
    path.chmod(data.draw(st.sampled_from([0o600] * 6 + [0o666, 0o644]), "mode"))


def spoil_log(data, home):
    path = home.transcript(C)
    kind = data.draw(LOG_CHANGE, "log")
    if kind in ("done", "error"):
        home.append(C, checkpoint(60, status=kind.upper()))
    elif kind == "talk":
        home.append(C, user(61, "CHECKPOINT"), said(62, '{"type":"CHECKPOINT"}'))
    elif kind == "cut copy":
        path.with_name("transcript.jsonl").write_bytes(path.read_bytes())
    elif kind == "only cut":
        path.rename(path.with_name("transcript.jsonl"))
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "link":
        path.symlink_to(path.rename(path.with_name("elsewhere")))
    elif kind != "none":
        raw = path.read_bytes()
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "chunks":
            chunk = path.parent / "chunks" / "transcript_full" / "00000000.jsonl"
            chunk.parent.mkdir(parents=True)
            chunk.write_bytes(raw)
    if path.is_file():
        path.write_bytes(changed(path.read_bytes(), data.draw(st.just([]) | bytes_changes(), "log bytes")))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_where_the_gate_says_nothing_the_whole_way_sends_nothing(data):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.write(C, long_talk(count=data.draw(st.sampled_from([1, 4]), "rounds")))
        usual = json.dumps(home.payload(C)).encode()
        if data.draw(st.booleans(), "seen before"):
            work_out(home, usual)
        if data.draw(st.booleans(), "compacted"):
            home.append(C, checkpoint(12))
            if data.draw(st.booleans(), "delivered"):
                work_out(home, usual)
        payload = make_payload(data, home)
        spoil_state(data, home.state(C))
        spoil_log(data, home)
        answers = {"twin": ask(twin, payload)}
        if "native" in globals():
            answers["native"] = ask(native, payload)
        if FRONT_DOOR is not None:
            answers["front door"] = ask_front_door(payload)
        logs = {path: path.read_bytes() for path in home.logs(C).rglob("*.jsonl") if path.is_file()}
        sent = work_out(home, payload)
        assert {path: path.read_bytes() for path in logs} == logs, "a transcript was written to"
        assert all(answer == answers["twin"] for answer in answers.values()), answers
        assert not (sent and answers["twin"][0]), "quiet, but there was something to deliver"


@pytest.mark.parametrize("gate", ["native", "twin"])
def test_the_gates_of_this_test_are_not_always_of_one_mind(gate, tmp_path):
    """The property would hold of a gate that always asks, too."""
    function = globals().get(gate)
    if function is None:
        pytest.skip("the native module is not built here")
    home = Home(tmp_path)
    home.write(C, long_talk())
    payload = json.dumps(home.payload(C)).encode()
    assert not ask(function, payload)[0]
    work_out(home, payload)
    assert ask(function, payload)[0]
