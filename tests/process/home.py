"""A throw-away Antigravity home: conversations as their logs lie on disk, and the hook run as the host runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import rehydrate

PACKAGE = Path(rehydrate.__file__).resolve().parent.parent
BEFORE = []
"""What stands before the interpreter in the hook's command: nothing, or the front door."""
SUMMARY = "# Resuming from a compaction\n\nThe user is building a parser."


def user(step, text, **more):
    return record(step, "USER_INPUT", "USER_EXPLICIT", f"<USER_REQUEST>\n{text}\n</USER_REQUEST>", **more)


def said(step, text, *calls, **more):
    if calls:
        more["tool_calls"] = [{"name": name, "args": args} for name, args in calls]
    return record(step, "PLANNER_RESPONSE", "MODEL", text, **more)


def result(step, text="ok", type="GENERIC", **more):
    return record(step, type, "MODEL", text, **more)


def checkpoint(step, content=SUMMARY, **more):
    return record(step, "CHECKPOINT", "SYSTEM", content, **more)


def system_message(step, text, **more):
    return record(step, "SYSTEM_MESSAGE", "SYSTEM_SDK", f"<SYSTEM_MESSAGE>\n{text}\n</SYSTEM_MESSAGE>", **more)


def record(step, type, source, content, *, status="DONE", minute=0, **more):
    created = f"2026-03-01T10:{minute % 60:02}:{step % 60:02}Z"
    return {"step_index": step, "source": source, "type": type, "status": status, "created_at": created,
            "content": content, **more}  # fmt: skip


class Home:
    """`folder/gemini` is the home, `folder/work` the workspace."""

    def __init__(self, folder):
        self.gemini, self.work = Path(folder) / "gemini", Path(folder) / "work"
        self.app = self.gemini / "antigravity-cli"
        self.work.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GEMINI_HOME": str(self.gemini),
            **{key: value for key, value in os.environ.items() if key == "REHYDRATE_PURE"},
        }

    def logs(self, session):
        return self.app / "brain" / session / ".system_generated" / "logs"

    def transcript(self, session):
        return self.logs(session) / "transcript_full.jsonl"

    def state(self, session):
        return self.logs(session) / "rehydrate_state.json"

    def write(self, session, records):
        """Begin a conversation's log anew."""
        self.logs(session).mkdir(parents=True, exist_ok=True)
        self.transcript(session).write_bytes(b"".join(map(as_line, records)))

    def append(self, session, *records):
        with open(self.transcript(session), "ab") as file:
            file.write(b"".join(map(as_line, records)))

    def refuse_state(self, session):
        """Let no state be kept beside the conversation's log, and lose the one that is."""
        self.state(session).unlink()
        lock = self.state(session).with_name(self.state(session).name + ".lock")
        lock.unlink(missing_ok=True)
        lock.mkdir()

    def refuse_every_state(self, session):
        """Let none be kept in the user's state folder either; the environment for the hook."""
        self.refuse_state(session)
        (self.gemini / "blocked").write_text("")
        return self.environ | {"XDG_STATE_HOME": str(self.gemini / "blocked")}

    def file(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def payload(self, session, **more):
        return {
            "artifactDirectoryPath": str(self.app / "brain" / session),
            "conversationId": session,
            "initialNumSteps": 1,
            "invocationNum": 0,
            "modelName": "gemini",
            "transcriptPath": str(self.transcript(session)),
            "workspacePaths": [str(self.work)],
            **more,
        }

    def hook(self, session=None, *, stdin=None, environ=None, arguments=(), **payload):
        """Run the hook once; what it printed, taken apart.  Fails the test on another exit status or a traceback."""
        if stdin is None:
            stdin = json.dumps(self.payload(session, **payload)).encode()
        done = subprocess.run(
            hook_command(*arguments), input=stdin, capture_output=True, env=self.environ | (environ or {}), timeout=60
        )
        assert done.returncode == 0, done
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return parts_of(done.stdout)


class Recorder:
    """A reply that keeps what was sent."""

    def __init__(self):
        self.sent = []

    def send(self, text):
        self.sent.append(text)


def hook_command(*arguments):
    """The hook as `install` registers it, without the shell around it."""
    code = f"import sys; sys.path.append({str(PACKAGE)!r}); from rehydrate.hook import main; main()"
    return [*BEFORE, sys.executable, "-I", "-S", "-X", "utf8", "-c", code, "antigravity", *arguments]


def parts_of(stdout):
    """The injected texts of a reply, [] for `{}`; fails the test when the host would drop the reply."""
    reply = json.loads(stdout, object_pairs_hook=no_doubles)
    if reply == {}:
        return []
    assert list(reply) == ["injectSteps"], reply.keys()
    texts = []
    for step in reply["injectSteps"]:
        assert list(step) in (["systemMessage"], ["ephemeralMessage"])
        inner = step.get("systemMessage")
        if inner is None:
            texts.append(step["ephemeralMessage"])
        else:
            assert list(inner) == ["systemMessage"]
            texts.append(inner["systemMessage"])
        texts[-1].encode()
    return texts


def no_doubles(pairs):
    assert len(dict(pairs)) == len(pairs), f"doubled member in {pairs}"
    return dict(pairs)


def as_line(record):
    return record if isinstance(record, bytes) else json.dumps(record, separators=(",", ":")).encode() + b"\n"


def long_talk(first=0, count=4, minute=0):
    """A small conversation: requests, answers, a tool or two; `count` rounds of 3 steps."""
    records = []
    for number in range(count):
        step = first + 3 * number
        records += [
            user(step, f"Request number {number} from step {step}.", minute=minute),
            said(step + 1, f"Answer {number}.", ("run_command", {"CommandLine": f"make part-{step}"}), minute=minute),
            result(step + 2, "exit 0", minute=minute),
        ]
    return records
