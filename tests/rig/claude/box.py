"""A throw-away home and workspace for the CLI, and the clean environment that it runs in."""

import json
import re
from pathlib import Path

from tests.rig.product import clean_environ

from .server import FakeModel

KEY = "sk-ant-api03-the-fake-server-asks-for-none-0000"
QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
    "DISABLE_AUTOUPDATER",
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_INSTALLATION_CHECKS",
)
"""Environment variables that keep the CLI from doing what no scenario is about."""
WINDOW = 100_000
"""Tokens that the CLI thinks its window has: it compacts by itself a good way before they are full."""


class Box:
    """Where the CLI lives: FOLDER/home, FOLDER/work, FOLDER/tmp, FOLDER/requests, and what the probe saw."""

    def __init__(self, folder: Path) -> None:
        """`folder`: an empty folder, made when missing."""
        self.folder = folder
        self.home, self.work = folder / "home", folder / "work"
        self.config, self.seen = self.home / ".claude", folder / "seen"
        for path in (self.config, self.work, self.seen, folder / "tmp", folder / "requests"):
            path.mkdir(parents=True)
        self.model = FakeModel(folder / "requests")
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.work): trusted},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))

    def transcript(self, session: str) -> Path:
        """The transcript of a session."""
        found = list((self.config / "projects").glob(f"*/{session}.jsonl"))
        if len(found) != 1:
            raise RuntimeError(f"{len(found)} transcripts of {session}")
        return found[0]

    def named_files(self) -> list[str]:
        """The files beside the transcripts that the newest request to the model names."""
        newest = max((self.folder / "requests").iterdir())
        paths = re.findall(re.escape(str(self.config / "projects")) + r"/[\w/.-]+\.md", newest.read_text())
        return sorted({path for path in paths if Path(path).is_file()})

    def environ(self) -> dict[str, str]:
        """What the CLI sees."""
        return (
            clean_environ(self.home)
            | dict.fromkeys(QUIET, "1")
            | {
                "TMPDIR": str(self.folder / "tmp"),
                "TERM": "xterm-256color",
                "NO_PROXY": "127.0.0.1,localhost",
                "ANTHROPIC_API_KEY": KEY,
                "ANTHROPIC_BASE_URL": self.model.url,
                "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(WINDOW),
            }
        )
