"""Input of any size, with little memory: the hook answers something valid and ends well, the scanner works or says why.

Large files are mostly holes, which cost neither time nor disk to make; a hole reads as NUL bytes, which the scanner
takes in a string for what they are.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.clients.claude_code.making import Home as ClaudeHome
from tests.clients.claude_code.making import Talk, session_id
from tests.helpers import needs_native

from .home import PACKAGE, Home, as_line, checkpoint, hook_command, long_talk, parts_of, user

resource = pytest.importorskip("resource", reason="memory can only be limited where there are such limits")

C = "11111111-2222-4333-8444-555555555555"
S = session_id(1)
MB = 1 << 20
LINE = 1024 * MB
"""Of one line: several times what there is of memory."""
ROOM = 224 * MB
"""Of address space; each thread reserves 64 or more."""


def limited(command, *, stdin=b"", environ=None, room=ROOM, timeout=60):
    """Run a command with that much address space."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    options = {"stdin": stdin} if hasattr(stdin, "fileno") else {"input": stdin}
    return subprocess.run(
        command, **options, capture_output=True, env=environ, timeout=timeout, preexec_fn=limit, check=False
    )  # fmt: skip


def hole(file, step, kind, size, source="MODEL"):
    """A record of that size that costs nothing to make."""
    head = as_line({"step_index": step, "source": source, "type": kind, "status": "DONE", "content": ""})
    file.write(head[:-3])
    file.seek(size, os.SEEK_CUR)
    file.write(b'"}\n')


def unwanted(file):
    hole(file, 12, "GENERIC", LINE)


def wanted(file):
    hole(file, 12, "USER_INPUT", LINE, source="USER_EXPLICIT")


def blank(file):
    for step in range(5):  # 5 GB in all
        file.seek(LINE, os.SEEK_CUR)
        file.write(b"\n" + as_line(user(12 + step, "on")))


def many_records(file):
    file.write(as_line(user(12, "on")) + b'{"step_index":13,"type":"GENERIC"}\n' * 200_000)


def many_requests(file):
    line = as_line(user(12, "on"))
    file.write(b"".join(line.replace(b":12,", b":%d," % (12 + number), 1) for number in range(30_000)))


def many_elements(file):
    file.write(as_line(user(12, "on"))[:-2] + b',"list":[' + b"1," * 1_000_000 + b"1]}\n")


def deep(file):
    file.write(as_line(user(12, "on"))[:-2] + b',"list":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}\n")


def escapes(file):
    file.write(as_line(user(12, "@")).replace(b"@", b"\\u00e4" * (10 * MB // 6)))


def damage(file):
    file.write(b'{"\n' * 200_000)


SHAPES = [unwanted, wanted, blank, many_records, many_requests, many_elements, deep, escapes, damage]
IMPLEMENTATIONS = [pytest.param("0", id="native", marks=needs_native), pytest.param("1", id="pure")]


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def grown(home, shape):
    """A conversation that was seen and then grew, up to a compaction."""
    home.write(C, long_talk())
    home.hook(C)
    with home.transcript(C).open("r+b") as file:
        file.seek(0, os.SEEK_END)
        shape(file)
        file.write(as_line(checkpoint(2_000_000)))


@pytest.mark.parametrize("pure", IMPLEMENTATIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_hook_answers_whatever_the_log_holds(home, shape, pure):
    """With the delivery; or with nothing, and a reason is remembered, where the memory or the time is too little."""
    grown(home, shape)
    environ = home.environ | {"REHYDRATE_PURE": pure}
    done = limited(hook_command(), stdin=json.dumps(home.payload(C)).encode(), environ=environ)
    assert (done.returncode, done.stderr) == (0, b"")
    state = json.loads(home.state(C).read_text())
    if parts_of(done.stdout):
        assert state["error"] is None
    else:
        assert state["error"]["what"].startswith(("MemoryError", "it took longer than deadline_s"))
    if shape is wanted:
        assert done.stdout == b"{}"


OPERATIONS = {
    "scan_tail": "scan.scan_tail(path)",
    "probe": "scan.probe(path)",
    "find_step": "scan.find_step(path, 90)",
    "probe_many": "scan.probe_many([path] * 3)",
    "probe_candidates": "scan.probe_candidates([path] * 3, 90, slack=90)",
    "iter_steps": "list(scan.iter_steps(path, types=['CHECKPOINT']))",
    "iter_records": "list(scan.iter_records(path, ['step_index']))",
    "read_tree": "scan.read_tree(path)",
}


@pytest.mark.parametrize("pure", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_long_line_that_nobody_wants_passes_through_little_memory(tmp_path, name, pure):
    """Three lines, each many times as long as there is memory."""
    path = str(tmp_path / "t")
    with open(path, "wb") as file:
        for step in range(3):
            hole(file, step, "GENERIC", LINE)
        file.write(as_line(checkpoint(3)))
    code = f"import sys; sys.path.append({str(PACKAGE)!r}); from rehydrate import scan; path = {path!r}; "
    done = limited(
        [sys.executable, "-I", "-S", "-c", code + OPERATIONS[name]],
        environ={"REHYDRATE_PURE": pure}, room=128 * MB,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("pure", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", ["iter_steps(path)", "iter_records(path, ['content'])"])
def test_a_long_line_that_somebody_wants_is_a_memory_error(tmp_path, name, pure):
    path = str(tmp_path / "t")
    with open(path, "wb") as file:
        hole(file, 1, "USER_INPUT", LINE)
    code = (
        f"import sys; sys.path.append({str(PACKAGE)!r}); from rehydrate import scan; path = {path!r}\n"
        f"try: list(scan.{name})\n"
        "except MemoryError: sys.exit(7)\n"
    )
    done = limited([sys.executable, "-I", "-S", "-c", code], environ={"REHYDRATE_PURE": pure})
    assert (done.returncode, done.stderr) == (7, b"")


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize("pure", IMPLEMENTATIONS)
def test_a_state_of_a_hundred_megabytes_counts_as_none(home, pure):
    home.write(C, [*long_talk(), checkpoint(12)])
    with home.state(C).open("wb") as file:
        file.write(b'{"version":2,"x":"')
        file.seek(100 * MB)
        file.write(b'"}')
    done = limited(
        hook_command(), stdin=json.dumps(home.payload(C)).encode(), environ=home.environ | {"REHYDRATE_PURE": pure}
    )
    assert (done.returncode, done.stderr, len(parts_of(done.stdout))) == (0, b"", 1)


def test_settings_of_a_hundred_megabytes_stop_no_delivery(home):
    home.write(C, [*long_talk(), checkpoint(12)])
    file = home.gemini.parent / ".config" / "rehydrate.toml"
    file.parent.mkdir()
    with file.open("wb") as out:
        out.seek(100 * MB)
        out.write(b"#")
    done = limited(hook_command(), stdin=json.dumps(home.payload(C)).encode(), environ=home.environ)
    assert (done.returncode, done.stderr, len(parts_of(done.stdout))) == (0, b"", 1)


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize("pure", IMPLEMENTATIONS)
@pytest.mark.parametrize("begun", [b"", b'{"a":"', b"[" * 1000], ids=["nothing", "string", "deep"])
def test_a_payload_that_never_ends_is_given_up(home, pure, begun):
    """What comes is without end and so is the wait for more."""
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", f"import os\nos.write(1, {begun!r})\nwhile True: os.write(1, b'a' * 65536)"],
        stdout=write, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    try:
        with os.fdopen(read, "rb") as stdin:
            done = limited(hook_command(), stdin=stdin, environ=home.environ | {"REHYDRATE_PURE": pure})
    finally:
        process.kill()
        process.wait()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")


@pytest.mark.parametrize("pure", IMPLEMENTATIONS)
@pytest.mark.parametrize("member", ["content", "text"])
def test_a_session_with_a_line_beyond_the_memory_is_answered(tmp_path, pure, member):
    """`content`: of a request, which is wanted; `text`: of a record that is none."""
    home, talk = ClaudeHome(tmp_path), Talk(S)
    talk.talk("First.", "Done.", "Second.", "Done.")
    path = home.write(talk)
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        if member == "content":
            talk.user("@")
            head, tail = json.dumps(talk.rows[-1]).encode().split(b"@")
        else:
            head, tail = b'{"type":"note","text":"', b'"}'
        file.write(head)
        file.seek(LINE, os.SEEK_CUR)
        file.write(tail + b"\n")
    payload = {"session_id": S, "transcript_path": path, "cwd": "/home/user/project",
               "hook_event_name": "SessionStart", "source": "compact"}  # fmt: skip
    command = [*hook_command()[:-1], "claude-code"]
    environ = home.environ | {"REHYDRATE_PURE": pure, "PATH": os.environ["PATH"]}
    done = limited(command, stdin=json.dumps(payload).encode(), environ=environ)
    assert (done.returncode, done.stderr) == (0, b"")
    if member == "text":
        assert b"Second." in done.stdout
    else:
        assert done.stdout == b"" or json.loads(done.stdout)
