"""gate: it says «nothing to do» only on proof; the native one and its twin say the same."""

import contextlib
import json
import os
import subprocess
import threading
import time

import pytest

from rehydrate import gate as twin
from rehydrate import hook, invocation, state
from rehydrate.clients.antigravity import contract, layout
from rehydrate.scan import scan_tail

from .helpers import needs_native
from .process.home import Home, checkpoint, hook_command, long_talk, user

C = "c0ffee00-0000-4000-8000-0000000000aa"


def native_gate():
    return pytest.importorskip("rehydrate._native", reason="the native module is not built here").gate


@pytest.fixture(params=["native", "pure"])
def gate(request):
    function = native_gate() if request.param == "native" else twin.gate

    def ask(payload):
        reader, writer = os.pipe()

        def send():
            # Outermost: what the pipe still holds is written when it is closed, which finds no reader either.
            with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as pipe:
                pipe.write(payload)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            return function(reader)
        finally:
            os.close(reader)
            sender.join()

    return ask


@pytest.fixture
def home(tmp_path):
    """A conversation that was seen up to its end."""
    home = Home(tmp_path)
    home.write(C, long_talk())
    write_state(home)
    return home


def write_state(home, **members):
    path = str(home.transcript(C))
    state = {
        "version": 2, "client": "antigravity", "conversation": C, "transcript": path,
        "cursor": scan_tail(path).cursor, "last_checkpoint": None, "done": None, "delivery": None,
        "workspaces": [str(home.work), "/with, comma"], "lineage": None, "error": None, "writes": 1, **members,
    }  # fmt: skip
    home.state(C).write_text(json.dumps(state, separators=(",", ":")))
    home.state(C).chmod(0o600)


def payload(home, **more):
    return json.dumps(home.payload(C, **more)).encode()


def test_what_the_gate_and_the_hook_do_not_import_is_written_in_them_as_it_is_elsewhere():
    assert (twin.STATE_VERSION, twin.STATE_MAX) == (state.VERSION, state._SIZE_MAX)
    assert (twin.UNCUT, twin.CUT) == (layout.UNCUT, layout.CUT)
    assert (twin.PAYLOAD_MAX, twin.NEW_BYTES_MAX) == (contract.PAYLOAD_BYTES, invocation.CURSOR_STEP_BYTES)
    assert hook.MESSAGES == contract.MESSAGES


def test_with_nothing_new_there_is_nothing_to_do(gate, home):
    assert gate(payload(home)) == (True, payload(home))


def test_new_lines_without_a_boundary_are_nothing_to_do(gate, home):
    home.append(C, user(12, "tell me about CHECKPOINT and \x1b[0m and {{ CHECKPOINT 1 }}"))
    assert gate(payload(home))[0]


def test_a_new_boundary_of_any_status_is_asked_about(gate, home):
    home.append(C, checkpoint(12, status="ERROR"))
    assert gate(payload(home)) == (False, payload(home))


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"null", b"nonsense", b"{'a': 1}", b'{"a": 1', b"\xff" * 10])
def test_a_payload_that_is_no_object_is_nothing_to_do(gate, junk):
    assert gate(junk) == (True, junk)


def test_what_follows_the_payload_is_not_waited_for(gate, home):
    assert gate(payload(home) + b"\n")[0]


def test_a_payload_of_more_than_a_mebibyte_is_not_read_further(gate):
    nothing, read = gate(b'{"a": "' + b"x" * 3_000_000 + b'"}')
    assert nothing and len(read) <= 1 << 20


@pytest.mark.parametrize(
    "change",
    [
        {"transcriptPath": None},
        {"transcriptPath": "transcript_full.jsonl"},
        {"transcriptPath": "/nowhere/transcript_full.jsonl"},
        {"transcriptPath": "/etc/passwd"},
        {"workspacePaths": ["/new"]},
        {"workspacePaths": "x"},
        {"workspacePaths": [7]},
    ],
)
def test_a_payload_it_cannot_judge_is_asked_about(gate, home, change):
    assert not gate(payload(home, **change))[0]


@pytest.mark.parametrize(
    "known", [{}, {"workspacePaths": []}, {"workspacePaths": None}, {"workspacePaths": ["/with, comma"]}]
)
def test_known_workspaces_are_nothing_new(gate, home, known):
    assert gate(payload(home, **known))[0]


@pytest.mark.parametrize("pure", [pytest.param("0", marks=needs_native), "1"])
def test_as_many_known_workspaces_as_a_payload_can_hold_take_no_longer_than_a_host_waits(home, pure):
    """To compare each with each takes minutes."""
    known = [f"{number:x}" for number in range(110_000)]
    write_state(home, workspaces=known)
    told = home.payload(C, workspacePaths=known)
    data = json.dumps(told, separators=(",", ":")).encode()
    assert len(data) < twin.PAYLOAD_MAX and home.state(C).stat().st_size > twin.STATE_MAX // 2
    done = subprocess.run(
        hook_command(), input=data, capture_output=True, env=home.environ | {"REHYDRATE_PURE": pure}, timeout=10
    )
    assert done.stdout == b"{}"


@pytest.mark.parametrize(
    "members",
    [
        {"version": 3},
        {"version": "2"},
        {"version": True},
        {"version": 2.0},
        {"client": "other"},
        {"transcript": "/elsewhere"},
        {"cursor": None},
        {"cursor": [1, 0]},
        {"cursor": [2, 0, "00000000"]},
        {"cursor": [1, 10_000_000, "00000000"]},
        {"cursor": [1, 50, "00000000"]},
        {"cursor": [1, -1, "00000000"]},
        {"cursor": [1, "0", "00000000"]},
        {"delivery": {"step": 1, "id": "x", "status": "pending", "tries": 1}},
        {"delivery": {}},
        {"delivery": "sent"},
        {"delivery": {"step": 1, "id": "x", "status": "sent"}},
        {"workspaces": None},
        {"workspaces": "x"},
        {"workspaces": [7]},
        {"conversation": "other"},
        {"done": {"step": "7", "id": None}},
        {"done": 7},
        {"writes": None},
    ],
)
def test_a_state_that_does_not_settle_it_is_asked_about(gate, home, members):
    write_state(home, **members)
    assert not gate(payload(home))[0]


@pytest.mark.parametrize("over", [{}, {"over_s": None}, {"over_s": 1_796_000_000}], ids=str)
def test_after_an_error_it_is_asked_once_more(gate, home, over):
    write_state(home, error={"what": "x", "time_s": 1_796_000_000, **over})
    assert gate(payload(home))[0] == (over.get("over_s") is not None)


@pytest.mark.parametrize("member", ["conversation", "done", "lineage", "error", "last_checkpoint", "writes"])
def test_a_state_that_lacks_a_member_counts_as_none_here_too(gate, home, member):
    state = json.loads(home.state(C).read_text())
    del state[member]
    home.state(C).write_text(json.dumps(state))
    assert not gate(payload(home))[0]


@pytest.mark.parametrize("change", [(b"{", b"{\n"), (b"null", b'"\xc3\xa9"'), (b"null", b'"\x01"'), (b"}\n", b"} {}")])
def test_a_state_that_is_not_as_it_is_written_is_asked_about(gate, home, change):
    raw = home.state(C).read_bytes() + b"\n"
    home.state(C).write_bytes(raw.replace(*change, 1))
    assert not gate(payload(home))[0]


DEEP = "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize("member", ["version", "conversation", "cursor", "done", "delivery", "workspaces", "writes"])
def test_a_state_nested_deeper_than_python_reads_is_asked_about(gate, home, member):
    for deep in (DEEP, '{"a":' * 20_000 + "7" + "}" * 20_000):
        write_state(home, **{member: "@@"})
        home.state(C).write_text(home.state(C).read_text().replace('"@@"', deep))
        assert not gate(payload(home))[0]


@pytest.mark.parametrize("member", ["transcriptPath", "workspacePaths"])
def test_a_payload_nested_deeper_than_python_reads_is_asked_about(gate, home, member):
    data = payload(home, **{member: "@@"}).replace(b'"@@"', DEEP.encode())
    assert gate(data) == (False, data)


def test_f19_a_byte_order_mark_does_not_hide_the_payload(gate, home):
    mark = b"\xef\xbb\xbf"
    assert gate(mark + payload(home)) == (True, mark + payload(home))
    home.append(C, checkpoint(12))
    assert gate(mark + payload(home)) == (False, mark + payload(home))


def test_f58_where_the_named_transcript_is_not_there_the_other_members_are_asked_about(gate, home):
    """Then they may lead to another conversation than the one whose folder was named."""
    assert not gate(payload(home, transcriptPath=str(home.transcript(C).with_name("transcript.jsonl"))))[0]


@pytest.mark.parametrize("path", ["/\\udc80/transcript.jsonl", "/\ufffd/transcript.jsonl"])
def test_a_path_that_may_not_be_exact_is_asked_about(gate, home, path):
    assert not gate(payload(home, transcriptPath=path.replace("\\udc80", "\udc80")))[0]


def test_a_payload_of_a_mebibyte_of_brackets_is_given_up_soon(gate):
    began = time.monotonic()
    assert gate(b'{"a":' + b"[" * (1 << 20))[0]
    assert time.monotonic() - began < 60


def test_a_sent_delivery_is_settled(gate, home):
    write_state(home, done={"step": 12, "id": "x"}, delivery={"step": 12, "id": "x", "status": "sent", "tries": 1})
    assert gate(payload(home))[0]


@pytest.mark.parametrize("spoil", ["missing", "link", "hard link", "writable", "fifo", "garbage", "folder"])
def test_f45_a_state_file_that_is_not_surely_ours_is_asked_about(gate, home, spoil):
    path = home.state(C)
    if spoil == "hard link":
        os.link(path, home.work / "other-name")
    elif spoil == "writable":
        path.chmod(0o622)
    elif spoil == "garbage":
        path.write_bytes(b"garbage")
    else:
        path.rename(home.work / "state.json")
        if spoil == "link":
            path.symlink_to(home.work / "state.json")
        elif spoil == "fifo":
            os.mkfifo(path)
        elif spoil == "folder":
            path.mkdir()
    assert not gate(payload(home))[0]


def test_f07_a_shorter_or_rewritten_transcript_is_asked_about(gate, home):
    data = home.transcript(C).read_bytes()
    home.transcript(C).write_bytes(data.replace(b"number 3", b"number 4"))
    assert not gate(payload(home))[0]
    home.transcript(C).write_bytes(data[:100])
    assert not gate(payload(home))[0]


def test_much_growth_is_asked_about_so_that_the_cursor_is_saved(gate, home):
    home.append(C, user(12, "x" * 1_100_000))
    assert not gate(payload(home))[0]


def test_a_transcript_behind_a_link_is_asked_about(gate, home):
    path = home.transcript(C)
    path.rename(home.work / "real.jsonl")
    path.symlink_to(home.work / "real.jsonl")
    assert not gate(payload(home))[0]


def test_f02_a_torn_boundary_is_not_there_yet(gate, home):
    with open(home.transcript(C), "ab") as file:
        file.write(json.dumps(checkpoint(12)).encode())
    assert gate(payload(home))[0]
    with open(home.transcript(C), "ab") as file:
        file.write(b"\n")
    assert not gate(payload(home))[0]


def test_the_uncut_transcript_counts_where_the_cut_one_is_named(gate, home):
    cut = home.transcript(C).with_name("transcript.jsonl")
    cut.write_bytes(b"{}\n")
    assert gate(payload(home, transcriptPath=str(cut)))[0]
