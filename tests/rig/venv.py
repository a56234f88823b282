"""A virtual environment that has the vendor's harness, made on first use and kept for the next one."""

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "google-antigravity==0.1.22"
"""Pinned: the rig reaches into this version's start message."""
LIMIT_S = 300


class Unavailable(Exception):
    """The harness cannot be had here; the message says why."""


def python_with_harness(root: Path) -> Path:
    """The interpreter of the environment in `root`/.venv; Unavailable when it cannot be made."""
    import fcntl  # not on Windows, where the real tests are skipped before

    folder = root / ".venv" / f"harness-{PACKAGE.rpartition('=')[2]}"
    python, complete = folder / "bin" / "python", folder / "complete"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "harness.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(folder)])
            _run([str(python), "-m", "pip", "install", "--quiet", "--retries", "1", PACKAGE])
            complete.touch()
    return python


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{PACKAGE} cannot be installed: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise Unavailable(f"{PACKAGE} cannot be installed: {last}")
