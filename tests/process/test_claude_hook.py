"""The hook as Claude Code runs it: several processes at once for one compaction, each of which answers one value."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehydrate.clients.claude_code import layout
from rehydrate.serve import serve
from rehydrate.settings import Settings
from tests.clients.claude_code.making import Home, Talk, session_id

from .home import PACKAGE, no_doubles

DATA = Path(__file__).parents[1] / "data" / "claude-code"
S = session_id(1)
WORDS = "Of this there is a lot to say, and it is said here at some length. " * 25
CLOSED = "[POST-COMPACT REHYDRATION v1 | sentinel]"


def command(*arguments):
    code = f"import sys; sys.path.append({str(PACKAGE)!r}); from rehydrate.hook import main; main()"
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, "claude-code", *arguments]


class Client(Home):
    """A home with one conversation, and the hook run as the client runs it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.environ |= {"PATH": os.environ["PATH"]}
        self.environ |= {key: value for key, value in os.environ.items() if key == "REHYDRATE_PURE"}
        self.path = None

    def begin(self, rounds=30):
        talk = Talk(S)
        for number in range(rounds):
            talk.talk(f"Request {number}. {WORDS}", f"Answer {number}. {WORDS}")
        self.path = Path(self.write(talk))
        return talk

    @property
    def own(self):
        return self.path.with_suffix("") / "rehydrate"

    def payload(self, **more):
        return {"session_id": S, "transcript_path": str(self.path), "cwd": "/home/user/project",
                "hook_event_name": "SessionStart", "source": "compact", **more}  # fmt: skip

    def start(self, *arguments, environ=None):
        return subprocess.Popen(
            command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environ | (environ or {}),
        )  # fmt: skip

    def fire(self, part=None, *, stdin=None, environ=None, arguments=(), **more):
        """The text of the answer, None for no answer."""
        arguments = ([] if part is None else ["--part", str(part)]) + list(arguments)
        data = json.dumps(self.payload(**more)).encode() if stdin is None else stdin
        process = self.start(*arguments, environ=environ)
        stdout, stderr = process.communicate(data, timeout=60)
        assert process.returncode == 0
        assert stderr == b""
        return text_of(stdout)

    def plan(self):
        return json.loads((self.own / "plan.json").read_text())

    def mark_plan(self):
        """Let it be seen whether an answer comes from the plan that is there."""
        raw = self.plan()
        raw["parts"] = [CLOSED] * 3
        (self.own / "plan.json").write_text(json.dumps(raw))


def text_of(stdout):
    """Fails the test when the client would take the answer for anything but one value."""
    if not stdout:
        return None
    reply = json.loads(stdout, object_pairs_hook=no_doubles)
    assert list(reply) == ["hookSpecificOutput"]
    assert list(reply["hookSpecificOutput"]) == ["hookEventName", "additionalContext"]
    assert reply["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    text = reply["hookSpecificOutput"]["additionalContext"]
    assert len(text.encode("utf-16-le")) // 2 <= 9_500
    return text


@pytest.fixture
def client(tmp_path):
    client = Client(tmp_path)
    client.begin()
    return client


def marker(text):
    return text.split("\n")[0]


def test_three_processes_at_once_give_the_three_values_of_one_plan(client):
    running = [client.start("--part", str(part)) for part in (3, 1, 2)]
    data = json.dumps(client.payload()).encode()
    for process in running:
        process.stdin.write(data)
        process.stdin.close()
    texts = [text_of(process.stdout.read()) for process in running]
    assert [process.wait(20) for process in running] == [0, 0, 0]
    assert [re.search(r"part (\d)/3", marker(text))[1] for text in texts] == ["3", "1", "2"]
    assert len({re.search(r"id=(\w{8})", marker(text))[1] for text in texts}) == 1
    assert "## The newest request\n\n[30]\n```\nRequest 29." in texts[1]
    assert client.plan()["taken"] == [1, 2, 3]
    for process in running:
        process.stdout.close()
        process.stderr.close()


def test_without_a_part_the_answer_is_the_first_value(client):
    assert client.fire() == client.fire(1)


def test_the_whole_text_lies_in_a_private_file_that_every_value_names(client):
    texts = [client.fire(part) for part in (1, 2, 3)]
    file = Path(client.plan()["file"])
    assert file.parent == client.own
    assert all(str(file) in text for text in texts)
    assert "Request 29." in file.read_text() and "Answer 29." in file.read_text()
    assert {each.stat().st_mode & 0o777 for each in client.own.iterdir()} == {0o600}
    assert client.own.stat().st_mode & 0o777 == 0o700


def test_fired_twice_the_answer_is_the_same(client):
    first = [client.fire(part) for part in (1, 2, 3)]
    assert [client.fire(part) for part in (2, 2, 3, 1)] == [first[1], first[1], first[2], first[0]]


def test_a_plan_is_used_until_an_entry_follows_it(client):
    client.fire(1)
    client.mark_plan()
    with client.path.open("a") as file:
        file.write('{"type":"last-prompt","lastPrompt":"x","sessionId":"x"}\n{"parentUuid":"unfinished')
    assert client.fire(2) == CLOSED
    with client.path.open("a") as file:
        file.write('","type":"user","uuid":"new","message":{"role":"user","content":"One more."}}\n')
    assert client.fire(3) != CLOSED


def test_a_value_that_was_given_out_is_planned_anew(client):
    client.fire(1)
    client.mark_plan()
    assert client.fire(1) != CLOSED
    assert client.plan()["taken"] == [1]


def test_a_plan_for_another_number_of_values_or_a_log_that_was_changed_is_none(client):
    client.fire(1)
    client.mark_plan()
    assert client.fire(2, environ={"REHYDRATE_VALUES": "2"}) != CLOSED
    client.mark_plan()
    rows = client.path.read_bytes().splitlines(keepends=True)
    client.path.write_bytes(b"".join(rows[:-2]))
    assert client.fire(1) != CLOSED


def test_a_new_compaction_has_a_new_id_and_number(client):
    first = client.fire(1)
    talk = client.begin()
    talk.compact()
    talk.talk("Go on.", "Going on.")
    client.write(talk)
    second = client.fire(1)
    assert "checkpoint=1 " in marker(first) and "checkpoint=2 " in marker(second)
    assert "- [31] Go on.\n" in second
    assert len(list(client.own.glob("*.md"))) == 2


@pytest.mark.parametrize("scenario", ["manual-compact", "auto-compact"])
def test_the_answer_to_the_real_client_is_what_is_shown_once_the_boundary_is_written(tmp_path, scenario):
    client = Client(tmp_path)
    rows = [json.loads(line) for line in (DATA / scenario / "hooks.jsonl").read_text().splitlines()]
    payload = next(row for row in rows if row.get("source") == "compact")
    name = os.path.basename(payload["transcript_path"])
    lines = (DATA / scenario / name).read_bytes().splitlines(keepends=True)
    boundary = next(at for at, line in enumerate(lines) if b'"subtype":"compact_boundary"' in line)
    client.path = client.project() / name
    client.path.parent.mkdir(parents=True)
    client.path.write_bytes(b"".join(lines[:boundary]))
    payload["transcript_path"] = str(client.path)
    given = [client.fire(part, stdin=json.dumps(payload).encode()) for part in (1, 2, 3)]
    client.path.write_bytes(b"".join(lines))
    shown = serve("claude-code", layout.place_of(str(client.path)), at=1, settings=Settings()).parts
    assert [text for text in given if text] == shown


def test_whatever_else_the_real_client_sends_is_answered_with_nothing(client):
    sent = [line for line in (DATA / "subagent" / "hooks.jsonl").read_bytes().splitlines()]
    sent += [line for line in (DATA / "manual-compact" / "hooks.jsonl").read_bytes().splitlines()
             if b'"source": "compact"' not in line]  # fmt: skip
    kinds = {(json.loads(line)["hook_event_name"], json.loads(line).get("source")): line for line in sent}
    assert len(kinds) > 4
    assert [client.fire(stdin=line) for line in kinds.values()] == [None] * len(kinds)
    assert not client.own.exists()


@pytest.mark.parametrize(
    "stdin", [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"[" * 200_000, b'{"source":"compact"}',
              b'{"source":"compact","transcript_path":"/dev/zero","session_id":"../../x"}'],
)  # fmt: skip
def test_a_payload_that_names_no_conversation_is_answered_with_nothing(client, stdin):
    assert client.fire(stdin=stdin) is None


def test_a_session_without_a_file_is_answered_with_nothing_and_nothing_is_written(client):
    other = session_id(2)
    assert client.fire(session_id=other, transcript_path=str(client.path.with_name(f"{other}.jsonl"))) is None
    assert sorted(each.name for each in client.path.parent.iterdir()) == [client.path.name]


def test_a_subagent_is_answered_with_nothing(client):
    assert client.fire(1, agent_id="a1b2c3", agent_type="Explore") is None


@pytest.mark.parametrize(
    "arguments", [["--part", "0"], ["--part", "x"], ["--part", "4"], ["--part", "9" * 30], ["--part"], ["--nonsense"]]
)
def test_arguments_that_name_no_value_are_answered_with_nothing(client, arguments):
    assert client.fire(arguments=arguments) is None


def test_switched_off_it_answers_with_nothing(client, tmp_path):
    (tmp_path / ".rehydrate-off").write_text("")
    assert client.fire(environ={"REHYDRATE_OFF": "1"}) is None
    assert client.fire(environ={"REHYDRATE_CLIENTS_CLAUDE_CODE_ENABLED": "false"}) is None
    assert client.fire(cwd=str(tmp_path)) is None


def test_f44_where_nothing_can_be_kept_the_values_name_the_log(client, tmp_path):
    client.own.parent.mkdir()
    client.own.write_text("")
    (tmp_path / "state").write_text("")
    texts = [client.fire(part, environ={"XDG_STATE_HOME": str(tmp_path / "state")}) for part in (1, 2, 3)]
    assert all(str(client.path) in text for text in texts)
    assert [re.search(r"part (\d)/3", marker(text))[1] for text in texts] == ["1", "2", "3"]


def test_where_the_own_folder_is_a_link_the_state_folder_is_used(client, tmp_path):
    client.own.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    client.own.symlink_to(tmp_path / "elsewhere")
    text = client.fire(1)
    assert str(tmp_path / ".local" / "state" / "rehydrate" / "claude-code-") in text
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_f43_where_another_holds_the_lock_for_too_long_the_answer_is_nothing(client):
    client.fire(1)
    with (client.own / "plan.json.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert client.fire(2, environ={"REHYDRATE_DEADLINE_S": "1"}) is None
    assert client.fire(2)


def test_f40_killed_at_any_moment_the_next_one_answers(client):
    whole = client.fire(1)
    for wait_s in (0.02, 0.04, 0.06, 0.08, 0.1, 0.12):
        process = client.start("--part", "1")
        process.stdin.write(json.dumps(client.payload()).encode())
        process.stdin.close()
        time.sleep(wait_s)
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        process.stdout.close()
        process.stderr.close()
        assert client.fire(1) == whole


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&-", "</dev/null"])
def test_f47_closed_descriptors_are_survived(client, redirect):
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command("--part", "1"))
    before = client.path.read_bytes()
    data = json.dumps(client.payload()).encode()
    done = subprocess.run(
        ["sh", "-c", f"{quoted} {redirect}"], input=data, capture_output=True, env=client.environ, timeout=60
    )
    assert done.returncode == 0 and done.stderr == b""
    text_of(done.stdout)
    assert client.path.read_bytes() == before
