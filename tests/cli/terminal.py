"""A command run in a terminal of a given size: what a person would be sent, byte for byte.

`see("show", columns=40).out` is all that was written to the terminal; what the command reads from it is given with
`keys`: each is typed once its sign has been seen.
"""

import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pytest

fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

LIMIT_BYTES = 1 << 20
PATIENCE_S = 60.0
"""A command that takes longer hangs."""
_MAIN = "from rehydrate.cli import main; main()"
_TAKEN_OUT = ("PAGER", "LESS", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "LC_ALL", "PYTHONIOENCODING")


class Seen(NamedTuple):
    """What came to the terminal, and the exit status (negative: the signal that ended it)."""

    status: int
    raw: bytes

    @property
    def out(self) -> str:
        """As text, with plain line ends."""
        return self.raw.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def see(
    *words: object,
    columns: int = 80,
    lines: int = 200,
    environ: Mapping[str, str | None] | None = None,
    cwd: object = None,
    keys: Iterable[tuple[bytes, bytes]] = (),
) -> Seen:
    """Run `rehydrate WORDS` in a terminal.

    `environ` is put on top of this process's own less what shapes the output; None takes a variable out.  `keys`: pairs
    of what has to be seen and what is typed then, one after the other.
    """
    shaped = {name: value for name, value in os.environ.items() if name not in _TAKEN_OUT}
    shaped |= {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color", "LANG": "C.UTF-8", **(environ or {})}
    command = [sys.executable, "-c", _MAIN, *map(str, words)]
    return watch(command, columns=columns, lines=lines, environ=shaped, cwd=cwd, keys=keys)


def watch(command, *, columns, lines, environ, cwd=None, keys=()) -> Seen:
    """Run any command in a terminal of its own; TimeoutError when it hangs."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        started = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={name: value for name, value in environ.items() if value is not None},
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
    finally:
        os.close(theirs)
    try:
        raw = _read(ours, started, list(keys))
        return Seen(started.wait(timeout=PATIENCE_S), raw)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        os.close(ours)


def _take_terminal() -> None:
    """Make standard input the controlling terminal, so that a pager finds its keys."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(fd, started, keys):
    """All that is written until nobody holds the terminal any more, at most LIMIT_BYTES."""
    seen = bytearray()
    looked_at = 0
    end_s = time.monotonic() + PATIENCE_S
    while len(seen) < LIMIT_BYTES:
        if not select.select([fd], [], [], max(0.0, end_s - time.monotonic()))[0]:
            raise TimeoutError(f"the command hangs; it wrote {bytes(seen[-500:])!r}")
        try:
            chunk = os.read(fd, 1 << 16)
        except OSError:  # Linux says so when the last one has closed it
            break
        if not chunk:
            break
        seen += chunk
        while keys and (at := seen.find(keys[0][0], looked_at)) >= 0:
            looked_at = at + len(keys[0][0])
            os.write(fd, keys.pop(0)[1])
    return bytes(seen)
