"""The whole hook under any input: what it answers, and what it leaves behind, on both implementations."""

import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.helpers import NATIVE_MISSING
from tests.process.home import PACKAGE

BACKENDS = ("pure",) if NATIVE_MISSING else ("native", "pure")
_FILE = r"(plan\.json(\.lock|\.tmp)?|\d+-[0-9a-f]{8}\.md(\.tmp)?)"
_STATE = r"\.json(\.lock|\.tmp|\.aside-\d+)?"
OURS = re.compile(
    rf"(.*/)?rehydrate_state{_STATE}|.*/rehydrate(/{_FILE})?"
    rf"|state(/rehydrate(/[0-9a-f]+{_STATE}|/claude-code-[0-9a-f]+(/{_FILE})?)?)?"
)
"""What is ours, by its path below the home."""
_TIMES = re.compile(rb'("time_s": )\d+')


class Entry(NamedTuple):
    """What lies at a path: kind `file`, `folder`, `link` or `fifo`."""

    kind: str
    data: bytes | str = b""
    mode: int = 0o600


class Answer(NamedTuple):
    """What came of one run."""

    stdout: bytes
    stderr: bytes
    left: dict
    """The home afterwards."""


class Forks:
    """A process of one implementation that runs the hook in forks of itself."""

    def __init__(self, backend, folder):
        self.folder = str(folder)
        environ = {"PATH": os.environ["PATH"], **({"REHYDRATE_PURE": "1"} if backend == "pure" else {})}
        command = [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("forks.py")), str(PACKAGE)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
        self.environ = environ

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)

    def run(self, home, argv, stdin, environ):
        """One run in a home; fails the test where it does not end, ends badly, or touches what is not in the home."""
        with open(f"{self.folder}/stdin", "wb") as file:
            file.write(stdin)
        request = {"argv": argv, "environ": self.environ | environ, "cwd": str(home), "home": str(home)}
        self.process.stdin.write(json.dumps({**request, "folder": self.folder}).encode() + b"\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        stdout, stderr, outside = (Path(self.folder, name).read_bytes() for name in ("stdout", "stderr", "outside"))
        assert status == 0, (status, stderr)
        assert outside == b"", outside.decode()
        assert b"Traceback" not in stderr and stderr.count(b"\n") <= 1, stderr.decode()
        return stdout, stderr


def tree_of(home):
    """Everything below a folder, by its relative path."""
    found = {}
    for folder, names, files in os.walk(home):
        for name in names + files:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            relative, mode = os.path.relpath(path, home), stat.S_IMODE(about.st_mode)
            if stat.S_ISLNK(about.st_mode):
                found[relative] = Entry("link", os.readlink(path))
            elif stat.S_ISDIR(about.st_mode):
                found[relative] = Entry("folder", mode=mode)
            elif stat.S_ISREG(about.st_mode):
                found[relative] = Entry("file", Path(path).read_bytes(), mode)
            else:
                found[relative] = Entry("fifo", mode=mode)
    return found


def plant(home, tree):
    """Make a folder hold just this."""
    shutil.rmtree(home, ignore_errors=True)
    os.mkdir(home)
    for relative, entry in sorted(tree.items()):
        path = os.path.join(home, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.kind == "link":
            os.symlink(entry.data, path)
        elif entry.kind == "fifo":
            os.mkfifo(path)
        elif entry.kind == "folder":
            os.makedirs(path, exist_ok=True)
        else:
            with open(path, "wb") as file:
                file.write(entry.data)
        if entry.kind != "link":
            os.chmod(path, entry.mode)


def answers(forks, home, tree, argv, stdin, environ):
    """What each implementation makes of it, from the same beginning; fails the test where one breaks a promise of the
    hook, or they differ.
    """
    given = []
    for fork in forks:
        plant(home, tree)
        before = tree_of(home)
        stdout, stderr = fork.run(home, argv, stdin, environ)
        left = tree_of(home)
        check(before, left)
        given.append(Answer(stdout, stderr, {path: timeless(entry) for path, entry in left.items()}))
    for other in given[1:]:
        assert other.stdout == given[0].stdout
        assert other.stderr == given[0].stderr
        assert other.left == given[0].left
    return given[0]


def timeless(entry):
    return entry._replace(data=_TIMES.sub(rb"\1 0", entry.data)) if isinstance(entry.data, bytes) else entry


def check(before, left):
    """Only what is ours was made, changed or taken away; what was made is for its owner only."""
    for path in before.keys() | left.keys():
        old, new = before.get(path), left.get(path)
        if old == new:
            continue
        ours = OURS.fullmatch(path)
        made_for_ours = (
            old is None
            and new.kind == "folder"
            and any(each.startswith(path + "/") and OURS.fullmatch(each) for each in left)
        )
        assert ours or made_for_ours, (path, old, new)
        assert not path.endswith(".tmp") or new is None, path
        if old is None and ".aside-" not in path:
            assert new.mode == (0o700 if new.kind == "folder" else 0o600), (path, new)


@contextlib.contextmanager
def both(folder):
    """A process of each implementation."""
    made = [Forks(backend, folder) for backend in BACKENDS]
    try:
        yield made
    finally:
        for each in made:
            each.close()
