"""The hook as a process: odd input, odd surroundings, and what it loads while there is nothing to do."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from .home import PACKAGE, Home, checkpoint, hook_command, long_talk, parts_of, said, user

pytestmark = pytest.mark.usefixtures("door")
C = "c0ffee00-0000-4000-8000-00000000000a"
WITH_OS = {"os", "os.path", "posixpath", "genericpath", "stat", "_stat", "_collections_abc"}
"""What `import os` loads where the interpreter has not done so at its start."""


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.write(C, long_talk())
    return home


def ready(home, step=12):
    """One delivery is due."""
    assert home.hook(C) == []
    home.append(C, checkpoint(step))


@pytest.mark.parametrize(
    "stdin",
    [b"", b"{", b"not json", b"[]", b"null", b"12", b'"x"', b"{}", b"\xff\xfe", b"\0" * 1000, b"[" * 200_000,
     b'{"transcriptPath": null}', b'{"transcriptPath": 7, "conversationId": [], "workspacePaths": "x"}',
     b'{"transcriptPath": "relative/transcript.jsonl"}', b'{"conversationId": "../../etc"}',
     b'{"conversationId": "\\ud800"}', b'{"transcriptPath": "/etc/passwd"}', b'{"transcriptPath": "/dev/zero"}'],
)  # fmt: skip
def test_a_payload_that_names_no_transcript_is_answered_with_nothing(home, stdin):
    assert home.hook(stdin=stdin) == []


def test_random_bytes_are_answered_with_nothing(home):
    seeded = random.Random(7)
    for _ in range(10):
        assert home.hook(stdin=seeded.randbytes(seeded.randrange(1, 3000))) == []


def test_50_megabytes_of_payload_are_answered_without_being_read_whole(home):
    stdin = b'{"conversationId": "' + b"x" * 50_000_000
    began = time.monotonic()
    done = subprocess.run(hook_command(), input=stdin, capture_output=True, env=home.environ, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("tail", [b"", b"\n", b" \n {"])
def test_a_host_that_holds_stdin_open_is_answered_after_the_first_value(home, tail):
    ready(home)
    assert len(parts_of(answer_while_open(home, [json.dumps(home.payload(C)).encode() + tail]))) == 1


def answer_while_open(home, pieces):
    """What the hook prints while its standard input stays open after these pieces."""
    with subprocess.Popen(hook_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=home.environ) as process:
        for piece in pieces:
            process.stdin.write(piece)
            process.stdin.flush()
            time.sleep(0.005)
        stdout = process.stdout.read()
        assert process.wait(20) == 0
    return stdout


def test_a_payload_that_arrives_in_pieces_is_put_together(home):
    ready(home)
    payload = json.dumps(home.payload(C)).encode()
    pieces = [payload[at : at + 50] for at in range(0, len(payload), 50)]
    assert len(parts_of(answer_while_open(home, pieces))) == 1


def test_a_host_that_sends_half_a_payload_and_waits_is_answered(home):
    assert answer_while_open(home, [b'{"conversationId": "c0f']) == b"{}"


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", "</dev/null"])
def test_f47_closed_descriptors_are_survived(home, redirect):
    ready(home)
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in hook_command())
    before = home.transcript(C).read_bytes()
    done = subprocess.run(
        ["sh", "-c", f"{quoted} {redirect}"], input=b"{}", capture_output=True, env=home.environ, timeout=60
    )
    assert done.returncode == 0 and done.stdout in (b"", b"{}") and done.stderr == b""
    assert home.transcript(C).read_bytes() == before


def test_f47_a_pipe_that_does_not_block_takes_the_whole_reply(home):
    home.append(
        C, *[user(12 + number, "v" * 5_000) for number in range(10)], *[said(30 + n, "汉" * 2_000) for n in range(12)]
    )
    ready(home, step=50)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(hook_command(), stdin=subprocess.PIPE, stdout=writer, env=home.environ) as process:
        os.close(writer)
        process.stdin.write(json.dumps(home.payload(C)).encode())
        process.stdin.close()
        time.sleep(0.3)  # by now the pipe is full
        with os.fdopen(reader, "rb") as pipe:
            stdout = pipe.read()
    assert len(stdout) > 1 << 16 and len(parts_of(stdout)) > 1


def test_f47_where_not_even_the_line_on_stderr_can_be_written_the_answer_is_given(home):
    ready(home)
    environ = home.refuse_every_state(C)
    reader, writer = os.pipe()
    os.close(reader)
    payload = json.dumps(home.payload(C)).encode()
    done = subprocess.run(hook_command(), input=payload, stdout=subprocess.PIPE, stderr=writer, env=environ, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"{}")


def test_f47_ended_at_any_time_it_leaves_no_trace_and_the_delivery_is_not_lost(home):
    ready(home)
    seen = home.state(C).read_bytes()
    for ms in range(2, 80, 8):
        home.state(C).write_bytes(seen)
        with subprocess.Popen(
            hook_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home.environ
        ) as process:
            process.stdin.write(json.dumps(home.payload(C)).encode())
            process.stdin.close()
            time.sleep(ms / 1000)
            process.terminate()
            printed = process.stdout.read()
            assert process.stderr.read() == b""
            status = process.wait(20)
        assert status in (0, -signal.SIGTERM)
        again = len(home.hook(C))
        assert again == 0 if printed and status == 0 else printed or again == 1, ms


def test_f47_a_host_that_went_away_leaves_no_trace_and_the_delivery_comes_again(home):
    ready(home)
    reader, writer = os.pipe()
    os.close(reader)
    payload = json.dumps(home.payload(C)).encode()
    done = subprocess.run(
        hook_command(), input=payload, stdout=writer, stderr=subprocess.PIPE, env=home.environ, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(home.hook(C)) == 1 and home.hook(C) == []


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"conversationId": None},
        {"conversationId": "someone-else"},
        {"transcriptPath": None},
        {"transcriptPath": None, "artifactDirectoryPath": None},
        {"transcriptPath": "/nowhere/transcript.jsonl"},
        {"transcriptPath": None, "conversationId": None},
        {"artifactDirectoryPath": None, "workspacePaths": None, "invocationNum": None},
        {"workspacePaths": []},
        {"unknown": {"deep": [1, 2, {"x": None}]}},
    ],
)
def test_f58_each_form_of_the_payload_leads_to_the_transcript(home, change):
    ready(home)
    payload = {key: value for key, value in (home.payload(C) | change).items() if value is not None}
    assert len(home.hook(stdin=json.dumps(payload).encode())) == 1


def test_the_uncut_file_is_read_where_the_payload_names_the_cut_one(home):
    ready(home)
    cut = home.transcript(C).with_name("transcript.jsonl")
    cut.write_bytes(b"")
    assert len(home.hook(C, transcriptPath=str(cut))) == 1


def test_only_the_cut_file_is_read_where_there_is_no_other(home):
    home.append(C, checkpoint(12))
    home.transcript(C).rename(home.transcript(C).with_name("transcript.jsonl"))
    (text,) = home.hook(C, transcriptPath=str(home.transcript(C).with_name("transcript.jsonl")))
    assert "Request number 3" in text
    assert "Only a shortened copy of the log could be read" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_f01_an_unreadable_transcript_is_answered_with_nothing(home):
    ready(home)
    home.transcript(C).chmod(0)
    assert home.hook(C) == []


@pytest.mark.parametrize("kind", ["missing", "empty", "folder", "fifo", "link"])
def test_f01_a_transcript_that_is_none_is_answered_with_nothing(home, kind):
    path = home.transcript(C)
    home.append(C, checkpoint(12))
    data = path.read_bytes()
    path.unlink()
    if kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        (home.work / "elsewhere.jsonl").write_bytes(data)
        path.symlink_to(home.work / "elsewhere.jsonl")
    assert home.hook(C) == []


@pytest.mark.parametrize(
    "environ",
    [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "utf-16"}, {"HOME": "/nowhere"}, {"HOME": ""}, {"HOME": "here"},
     {"PYTHONPATH": "{work}"}, {"PYTHONSTARTUP": "{work}/json.py", "PYTHONHOME": "/nowhere"}],
)  # fmt: skip
def test_f66_f67_odd_surroundings_change_no_byte(home, environ):
    ready(home)
    home.append(C, user(13, "über 漢字"))
    (home.work / "json.py").write_text("raise SystemExit('hijacked')")
    state = home.state(C).read_bytes()
    plain = home.hook(C)
    home.state(C).write_bytes(state)
    odd = home.hook(C, environ={key: value.format(work=home.work) for key, value in environ.items()})
    assert plain == odd != []


def test_f59_a_working_folder_that_holds_modules_of_our_names_is_not_imported_from(home):
    ready(home)
    for name in ("json", "rehydrate", "select", "stat"):
        (home.work / f"{name}.py").write_text("raise SystemExit('hijacked')")
    payload = json.dumps(home.payload(C)).encode()
    done = subprocess.run(
        hook_command(), input=payload, capture_output=True, env=home.environ, cwd=home.work, timeout=60
    )
    assert len(parts_of(done.stdout)) == 1


def loaded_modules(home, session):
    """The hook's answer, and what its process has imported when it ends, beyond what the interpreter starts with."""
    code = (
        f"import sys; sys.path.append({str(PACKAGE)!r}); before = set(sys.modules)\n"
        "import os; end = os._exit\n"
        "def tell(status):\n"
        "    sys.stderr.write('\\n'.join(sorted(set(sys.modules) - before))); sys.stderr.flush(); end(status)\n"
        "os._exit = tell\n"
        "from rehydrate.hook import main; main()"
    )
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, "antigravity"]
    payload = json.dumps(home.payload(session)).encode()
    done = subprocess.run(command, input=payload, capture_output=True, env=home.environ, timeout=60)
    return done.stdout, done.stderr.decode().split()


def test_with_nothing_to_do_only_the_gate_is_loaded(home):
    home.hook(C)
    home.append(C, user(12, "more"))
    answer, loaded = loaded_modules(home, C)
    assert answer == b"{}"
    ours = {"rehydrate", "rehydrate.hook"}
    if "rehydrate._native" in loaded:
        assert set(loaded) - WITH_OS == ours | {"rehydrate._native"}
    else:
        assert not {"json", "re", "typing", "dataclasses", "collections", "functools", "enum"} & set(loaded)


def test_a_delivery_loads_nothing_that_makes_classes_slowly_and_no_openssl(home):
    ready(home)
    answer, loaded = loaded_modules(home, C)
    assert len(parts_of(answer)) == 1
    assert "rehydrate.serve" in loaded
    assert not {"dataclasses", "inspect", "ast", "dis", "_hashlib"} & set(loaded)


def test_with_nothing_to_do_nothing_is_written(home):
    home.hook(C)
    home.append(C, user(12, "more"))
    before = home.state(C).stat()
    for _ in range(3):
        assert home.hook(C) == []
    after = home.state(C).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_an_unknown_client_or_argument_is_answered_with_nothing(home):
    ready(home)
    payload = json.dumps(home.payload(C)).encode()
    for arguments in (["nosuch"], [], ["antigravity", "--as", "userMessage"], ["antigravity", "more"]):
        command = [*hook_command()[:-1], *arguments]
        done = subprocess.run(command, input=payload, capture_output=True, env=home.environ, timeout=60)
        assert (done.returncode, done.stdout) == (0, b"{}")
