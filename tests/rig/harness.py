"""The vendor's harness in a throw-away home: what it is told, where it keeps things, and how a conversation is held.

As the SDK starts it, the harness reads no hooks.json.  It does when the message that opens a conversation carries an
undocumented extension field with a whole cascade configuration, there for the vendor's own experiments; that field
also picks the newer of its two agent loops.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .model import Answer, FakeModel
from .product import clean_environ

CASCADE = "[jetski_prod.localharness.cascade_config_hillclimbing_override]"
LIMIT_S = 90


@dataclass(frozen=True)
class Turn:
    """One prompt of the user and what the model answers to it."""

    prompt: str
    answers: tuple[Answer, ...]


def start_message(loop: str, threshold: int) -> dict[str, Any]:
    """What to add to the message that opens a conversation: hooks on, the agent loop, when to compact.

    `loop`: `older` (compacts before the PreInvocation hooks run) or `newer` (after them).
    `threshold`: a prompt of more tokens than this, as the model reported it, is compacted before the next call.
    """
    planner: dict[str, Any] = {"customizationDiscoveryConfig": {"hooks": {"inheritUser": True}}}
    cascade: dict[str, Any] = {"plannerConfig": planner}
    if loop == "newer":
        tools = ("view_file", "write_to_file", "replace_file_content", "run_command")
        planner["declarativeMixinConfig"] = {
            "promptSections": [{"custom": {"title": "identity", "content": "You are a test agent."}}],
            "tools": [{"name": name, "builtin": True} for name in tools],
            "preInvocationHooks": [{"name": "context_summary", "builtin": True}],
        }
        cascade["executorConfig"] = {"useCoreRewrite": True, "useCoreDirect": True}
    elif loop != "older":
        raise ValueError(f"there is no agent loop {loop!r}")
    compaction = {"tokenThreshold": threshold, "useModelReportedTokenCount": True, "maxContextTokens": 1_000_000}
    return {CASCADE: {"cascadeConfig": cascade}, "compactionConfig": compaction}


class Harness:
    """A home, a workspace and a model for conversations of one agent loop."""

    def __init__(self, *, python: str, folder: Path, loop: str, threshold: int) -> None:
        """`python`: an interpreter that has `google-antigravity`.  `folder`: an empty folder, made when missing."""
        self.python, self.folder = python, folder
        self.init = start_message(loop, threshold)
        self.home, self.work = folder / "home", folder / "work"
        self.app = self.home / ".gemini" / "antigravity-cli"
        self.talks: list[dict[str, Any]] = []
        """What drive.py found, each with `scripted` (how every answer should end) and our hook's `state` after it."""
        for path in (self.app, self.home / "save", self.work, folder / "tmp", folder / "requests"):
            path.mkdir(parents=True)
        self.model = FakeModel(folder / "requests")

    def talk(self, *turns: Turn, conversation: str | None = None) -> str:
        """Holds the turns in a process of its own, in a new conversation or one that is resumed; gives its id."""
        self.model.queue(answer for turn in turns for answer in turn.answers)
        number = len(self.talks) + 1
        result = self.folder / f"talk-{number}.result.json"
        spec = {
            "url": self.model.url,
            "work": str(self.work),
            "save": str(self.home / "save"),
            "app": str(self.app),
            "conversation": conversation,
            "prompts": [turn.prompt for turn in turns],
            "init": self.init,
            "result": str(result),
        }
        (self.folder / f"talk-{number}.json").write_text(json.dumps(spec, indent=1))
        with (self.folder / f"talk-{number}.log").open("w") as log:
            subprocess.run(
                [self.python, str(Path(__file__).with_name("drive.py")), str(self.folder / f"talk-{number}.json")],
                cwd=self.work,
                env=self._environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
            )
        if not result.exists():
            raise RuntimeError((self.folder / f"talk-{number}.log").read_text())
        talk = json.loads(result.read_text())
        state = self.state(talk["conversation"])
        talk["scripted"] = [turn.answers[-1].text for turn in turns]
        talk["state"] = json.loads(state.read_text()) if state.exists() else None
        self.talks.append(talk)
        return str(talk["conversation"])

    def transcript(self, conversation: str) -> Path:
        """The uncut transcript of a conversation."""
        return self.app / "brain" / conversation / ".system_generated" / "logs" / "transcript_full.jsonl"

    def state(self, conversation: str) -> Path:
        """Where our hook keeps what it remembers of a conversation."""
        return self.transcript(conversation).with_name("rehydrate_state.json")

    def _environ(self) -> dict[str, str]:
        return clean_environ(self.home) | {
            "TMPDIR": str(self.folder / "tmp"),
            "NO_PROXY": "127.0.0.1,localhost",
            "GEMINI_API_KEY": "the-fake-server-asks-for-none",
        }
