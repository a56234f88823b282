"""Makes Antigravity conversations on disk, for the tests of this client."""

import json
from datetime import datetime, timezone
from pathlib import Path

START_S = 1_796_000_000  # an arbitrary moment; step n of a conversation is written n seconds after its start


def stamp(time_s):
    return datetime.fromtimestamp(time_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def record(step, kind, content=None, *, source="MODEL", status="DONE", time_s=None, **more):
    made = {"step_index": step, "source": source, "type": kind, "status": status}
    made["created_at"] = stamp(START_S + step if time_s is None else time_s)
    if content is not None:
        made["content"] = content
    return {**made, **more}


def user(step, text, **more):
    framed = f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nnoise\n</ADDITIONAL_METADATA>"
    return record(step, "USER_INPUT", framed, source="USER_EXPLICIT", **more)


def model(step, text=None, *calls, **more):
    if calls:
        more["tool_calls"] = [{"name": name, "args": args} for name, args in calls]
    return record(step, "PLANNER_RESPONSE", text, **more)


def result(step, kind="VIEW_FILE", content="done", **more):
    return record(step, kind, content, **more)


def checkpoint(step, content="# Resuming from a compaction\n\nsummary", **more):
    return record(step, "CHECKPOINT", content, source="SYSTEM", **more)


def message(step, text, kind="SYSTEM_MESSAGE", **more):
    framed = f"The following is a <{kind}> [frame]\n\n<{kind}>\n[frame]:\n{text}\n</{kind}>"
    return record(step, kind, framed, source="SYSTEM_SDK", **more)


def talk(first, last, **more):
    """Requests at even steps, answers at odd ones."""
    return [
        user(s, f"ask {s}", **more) if s % 2 == 0 else model(s, f"answer {s}", **more) for s in range(first, last + 1)
    ]


def line(made):
    return (made if isinstance(made, bytes) else json.dumps(made, separators=(",", ":")).encode()) + b"\n"


class Home:
    """A home of the applications with conversations in it."""

    def __init__(self, folder: Path):
        self.root = folder / ".gemini"
        self.app = self.root / "antigravity-cli"
        self.environ = {"GEMINI_HOME": str(self.root), "HOME": str(folder)}

    def conversation(self, session, app=None):
        return (app or self.app) / "brain" / session

    def logs(self, session, app=None):
        return self.conversation(session, app) / ".system_generated" / "logs"

    def write(self, session, records, *, name="transcript_full.jsonl", app=None):
        path = self.logs(session, app) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(map(line, records)))
        return str(path)

    def write_chunks(self, session, data, size=102_400, *, first=0):
        folder = self.logs(session) / "chunks" / "transcript_full"
        folder.mkdir(parents=True, exist_ok=True)
        for at in range(0, len(data), size):
            (folder / f"{first + at // size:08d}.jsonl").write_bytes(data[at : at + size])
        return str(folder)

    def remember(self, *rows):
        self.app.mkdir(parents=True, exist_ok=True)
        with (self.app / "history.jsonl").open("ab") as file:
            for row in rows:
                file.write(line(row))


def row(session, time_s, display="hello", workspace="/home/user/project"):
    made = {"display": display, "timestamp": int(time_s * 1000), "workspace": workspace}
    return made if session is None else {**made, "conversationId": session}
