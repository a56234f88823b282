"""One conversation of each client, written line by line, and the hook run as the client runs it.

The tests of a fault ask the same of both: these lines lie on disk, a compaction comes, what is the model given?
"""

import json
import subprocess
from pathlib import Path

from tests.process import home as antigravity
from tests.process import test_claude_hook as claude

SESSION = "c0ffee00-0000-4000-8000-0000000000fa"
PARTS = 3


def joined(*lines):
    """The lines as a file has them; each a record's bytes, or what is to stand in its place."""
    return b"".join(line + b"\n" for line in lines)


class Antigravity(antigravity.Home):
    """Its hook finds the boundary in the log, and answers once for it."""

    name = "antigravity"

    def __init__(self, folder):
        super().__init__(folder)
        self.folder = Path(folder)
        self.path = self.transcript(SESSION)
        self.path.parent.mkdir(parents=True)
        self._step = -1

    def user(self, text, **more):
        return self._line(antigravity.user(self._next(), text, **more))

    def said(self, text, *calls, **more):
        """`calls`: (kind, what), kind `read`, `edit` or `run`."""
        names = {"read": ("view_file", "AbsolutePath"), "edit": ("write_to_file", "TargetFile"),
                 "run": ("run_command", "CommandLine")}  # fmt: skip
        made = [(names[kind][0], {names[kind][1]: what}) for kind, what in calls]
        lines = [self._line(antigravity.said(self._next(), text, *made, **more))]
        return b"\n".join([*lines, *(self._line(antigravity.result(self._next())) for _ in made)])

    def other(self, kind, **more):
        """A record of a type of its own."""
        return self._line(antigravity.record(self._next(), kind, "MODEL", "x", **more))

    def boundary(self):
        return self._line(antigravity.checkpoint(self._next()))

    def fire(self, data=None):
        """What the model is given after a compaction of a conversation of these bytes; empty for nothing."""
        if data is not None:
            self.path.write_bytes(data + self.boundary() + b"\n")
        return "".join(self.hook(SESSION))

    def asked(self, **payload):
        """What the model is given for a payload that says this; a value of None leaves a member out."""
        members = {k: v for k, v in self.payload(SESSION, **payload).items() if v is not None}
        return "".join(self.hook(stdin=json.dumps(members).encode()))

    NAMED = "transcriptPath"

    def command(self):
        return antigravity.hook_command()

    def stdin(self):
        return json.dumps(self.payload(SESSION)).encode()

    @staticmethod
    def text_of(stdout):
        return "".join(antigravity.parts_of(stdout))

    def _next(self):
        self._step += 1
        return self._step

    @staticmethod
    def _line(record):
        return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


class ClaudeCode(claude.Client):
    """Its hook is run for the compaction, before the boundary is written; the answer comes in values."""

    name = "claude-code"

    def __init__(self, folder):
        super().__init__(folder)
        self.folder = Path(folder)
        self.work = self.folder / "work"
        self.work.mkdir()
        self._talk = claude.Talk(claude.S, cwd=str(self.work))
        self.path = self.project(str(self.work)) / f"{claude.S}.jsonl"
        self.path.parent.mkdir(parents=True)

    def user(self, text, **more):
        self._talk.user(text, **more)
        return self._line()

    def said(self, text, *calls, **more):
        """`calls`: (kind, what), kind `read`, `edit` or `run`."""
        names = {"read": ("Read", "file_path"), "edit": ("Write", "file_path"), "run": ("Bash", "command")}
        made = [(names[kind][0], {names[kind][1]: what}) for kind, what in calls]
        self._talk.assistant(text, *made, **more)
        lines = [self._line()]
        for block in self._talk.rows[-1]["message"]["content"]:
            if block["type"] == "tool_use":
                self._talk.result(block["id"])
                lines.append(self._line())
        return b"\n".join(lines)

    def other(self, kind, **more):
        """An entry of a type of its own."""
        self._talk.entry(kind, **more)
        return self._line()

    def boundary(self):
        self._talk.compact()
        return b"\n".join((self._line(-2), self._line()))

    def payload(self, **more):
        return super().payload(**{"cwd": str(self.work), **more})

    def fire(self, data=None, **payload):
        """What the model is given in a compaction of a conversation of these bytes; empty for nothing."""
        if data is not None:
            self.path.write_bytes(data)
        return "".join(super(ClaudeCode, self).fire(part, **payload) or "" for part in range(1, PARTS + 1))

    def asked(self, **payload):
        """What the model is given for a payload that says this; a value of None leaves a member out."""
        members = {k: v for k, v in self.payload(**payload).items() if v is not None}
        return self.fire(stdin=json.dumps(members).encode())

    NAMED = "transcript_path"

    def command(self):
        return claude.command("--part", "1")

    def stdin(self):
        return json.dumps(self.payload()).encode()

    @staticmethod
    def text_of(stdout):
        return claude.text_of(stdout) or ""

    def whole(self):
        """The file with the whole text, as the last compaction left it."""
        return Path(self.plan()["file"]).read_text()

    def _line(self, at=-1):
        row = self._talk.rows[at]
        return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


WORLDS = (Antigravity, ClaudeCode)


def run(world, *, stdin=None, environ=None, **more):
    """The hook's process as it ends."""
    given = world.stdin() if stdin is None else stdin
    environ = world.environ | (environ or {})
    return subprocess.run(world.command(), input=given, capture_output=True, env=environ, timeout=60, **more)
