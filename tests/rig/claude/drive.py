"""Holds conversations with the CLI: in print mode, one process a prompt, and on a screen of its own."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .box import Box
from .server import Answer

MODEL = "claude-sonnet-4-5"
TOOLS = "Bash,Read,Edit,Write,Agent"
LIMIT_S = 60
SCREEN_S = 30
PAUSE_S = 0.1


class Driver:
    """Holds the conversations of one box."""

    def __init__(self, cli: Path, box: Box) -> None:
        self.cli, self.box = cli, box
        self.asked: list[dict[str, Any]] = []
        """Each prompt: {prompt, session, result (the last answer as the CLI tells it), scripted (as the model gave it),
        status, failed (as it should), first (number of its first request), before (copy of the transcript that it
        resumes, or null)}."""

    def ask(
        self,
        prompt: str,
        *answers: Answer,
        resume: str | None = None,
        fork: bool = False,
        allowed: str = TOOLS,
        stop: Callable[[], bool] | None = None,
        signal_number: int = signal.SIGINT,
    ) -> str:
        """Says one prompt in print mode and waits for the end; gives the session's id.

        `fork`: goes on in a new session that begins as `resume`.  `allowed`: tools that need no permission.
        `stop`: as soon as it says so the process gets `signal_number`.
        """
        self.box.model.queue(answers)
        number = len(self.asked) + 1
        first = self.box.model.requests + 1
        before = None
        if resume is not None:
            before = self.box.folder / f"before-{number}.jsonl"
            shutil.copy(self.box.transcript(resume), before)
        command = [str(self.cli), "-p", prompt, "--output-format", "stream-json", "--verbose", "--model", MODEL]
        command += permitted(allowed)
        command += ["--resume", resume] if resume is not None else []
        command += ["--fork-session"] if fork else []
        log = self.box.folder / f"ask-{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.box.work,
                env=self.box.environ(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                if stop is not None:
                    wait_for(stop, "the moment to stop the CLI")
                    process.send_signal(signal_number)
                status = process.wait(LIMIT_S)
            finally:
                process.kill()
                process.wait()
        told = _told(log)
        session = next((line["session_id"] for line in told if "session_id" in line), None)
        if session is None:
            raise RuntimeError(log.read_text())
        result = next((line.get("result") for line in reversed(told) if line.get("type") == "result"), None)
        self.asked.append(
            {
                "prompt": prompt,
                "session": session,
                "result": result,
                "scripted": answers[-1].text if answers and not answers[-1].refused else "",
                "status": status,
                "failed": stop is not None or any(answer.refused for answer in answers[-1:]),
                "first": first,
                "before": str(before) if before else None,
            }
        )
        return str(session)


def permitted(tools: str) -> list[str]:
    """The options by which these tools need no permission."""
    return ["--permission-mode", "acceptEdits", "--allowedTools", tools] if tools else []


def _told(log: Path) -> list[dict[str, Any]]:
    """The JSON lines of a log."""
    found = []
    for line in log.read_text().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def wait_for(true: Callable[[], bool], what: str, limit: float = SCREEN_S) -> None:
    """Returns when `true` says so; RuntimeError when it does not for too long."""
    end = time.monotonic() + limit
    while not true():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {limit} seconds for {what}")
        time.sleep(PAUSE_S)


class Screen:
    """The CLI on a terminal of tmux, with a tmux server of its own."""

    def __init__(self, box: Box) -> None:
        self.box = box

    def _tmux(self, *arguments: str) -> str:
        socket = str(self.box.folder / "tmux")
        done = subprocess.run(
            ["tmux", "-S", socket, *arguments], env=self.box.environ(), capture_output=True, text=True, timeout=20
        )
        return done.stdout

    def text(self) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p", "-t", "rig")

    def wait(self, words: str) -> None:
        """Returns when the words stand on the screen; RuntimeError with the screen when they never do."""
        try:
            wait_for(lambda: words in self.text(), repr(words))
        except RuntimeError as error:
            raise RuntimeError(f"{error}; the screen:\n{self.text()}") from None

    def press(self, key: str) -> None:
        """Presses a key, by tmux's name for it."""
        self._tmux("send-keys", "-t", "rig", key)

    def say(self, text: str, *answers: Answer) -> None:
        """Types a line and sends it once it stands on the screen."""
        self.box.model.queue(answers)
        self._tmux("send-keys", "-t", "rig", "-l", text)
        self.wait(text[-30:])
        self.press("Enter")

    def leave(self) -> None:
        """Ends the CLI as a user does, so that it has written all it wants to write."""
        self.say("/exit")
        wait_for(lambda: not self._tmux("list-sessions"), "the end of the CLI")


@contextmanager
def screen(cli: Path, box: Box, *options: str) -> Iterator[Screen]:
    """The CLI on a screen, ready for a prompt."""
    shown = Screen(box)
    command = " ".join(f"'{word}'" for word in (str(cli), "--model", MODEL, *options))
    shown._tmux("new-session", "-d", "-s", "rig", "-x", "150", "-y", "50", "-c", str(box.work), command)
    try:
        shown.wait("❯")
        yield shown
        shown.leave()
    finally:
        shown._tmux("kill-server")
