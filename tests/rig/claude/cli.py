"""The Claude Code CLI, fetched from npm on first use and kept for the next one."""

import shutil
import subprocess
from pathlib import Path

from tests.rig.product import clean_environ
from tests.rig.venv import Unavailable

PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.332"
"""Pinned: the rig knows by which words this version asks for a summary."""
LIMIT_S = 300


def fetched(root: Path) -> Path:
    """The command in `root`/.venv; Unavailable where it cannot be had."""
    import fcntl  # not on Windows, where the real tests are skipped before

    folder = root / ".venv" / f"claude-code-{VERSION}"
    command, complete = folder / "node_modules" / ".bin" / "claude", folder / "complete"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "claude-code.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            for needed in ("node", "npm"):
                if shutil.which(needed) is None:
                    raise Unavailable(f"{PACKAGE}@{VERSION} needs `{needed}`")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--fetch-retries=1")
            _run(["npm", "install", "--prefix", str(folder), *options, f"{PACKAGE}@{VERSION}"], folder)
            # By hand, as whether npm runs it depends on its version and settings.
            _run(["node", str(folder / "node_modules" / PACKAGE / "install.cjs")], folder)
            told = _run([str(command), "--version"], folder, clean_environ(folder))
            if not told.startswith(VERSION):
                raise Unavailable(f"{PACKAGE}@{VERSION} says that it is {told.strip()[:100]!r}")
            complete.touch()
    return command


def _run(command: list[str], folder: Path, environ: dict[str, str] | None = None) -> str:
    """What the command printed; it runs in `folder`."""
    try:
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{PACKAGE}@{VERSION} cannot be installed: {error}") from error
    if done.returncode != 0:
        told = [
            line for line in (done.stdout + done.stderr).splitlines() if line.strip() and "complete log" not in line
        ]
        raise Unavailable(f"{PACKAGE}@{VERSION} cannot be installed: {told[-1] if told else 'no output'}")
    return done.stdout
