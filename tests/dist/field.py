"""An installed rehydrate in the field: a made-up home, a registration, and the registered command after a compaction.

    python tests/dist/field.py BACKEND COMMAND...

runs `COMMAND... install antigravity` in a throw-away home with the demo's sample conversation, gives the command that
this registers what the client sends before a model call, and fails when the history does not come back, when it comes
twice, when the backend is another one than BACKEND (rust or python), or when `uninstall --purge` leaves anything.
It needs the standard library only and a checkout to read the sample from; tests and releases use it on every artifact.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[2] / "demo" / "sample"
CONVERSATION = "c47ae950-6d1b-4f0e-b3b8-1e8f0a9d2c64"
LAST_TOUCH_S = 1_772_442_300  # 2026-03-02T09:05:00Z: before the conversation last saw the files
OF_THE_SYSTEM = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP")
EARLY_WORDS = ("standard library only", "don't use it", "Nobody pushes a tag on a spring tide weekend")
"""Said before the compaction, in the conversation and in both of its ancestors."""


class Field:
    """`folder/gemini` is the client's home, `folder/tidepool` the workspace; nothing else of the user is seen."""

    def __init__(self, folder: Path, rehydrate: list[str]) -> None:
        self.rehydrate = rehydrate
        self.folder = folder.resolve()
        self.gemini, self.workspace = self.folder / "gemini", self.folder / "tidepool"
        kept = {name: os.environ[name] for name in OF_THE_SYSTEM if name in os.environ}
        homes = {
            "HOME": self.folder,
            "USERPROFILE": self.folder,
            "LOCALAPPDATA": self.folder,
            "GEMINI_HOME": self.gemini,
        }
        self.environ = kept | {name: str(path) for name, path in homes.items()}
        shutil.copytree(SAMPLE / "home", self.gemini)
        shutil.copytree(SAMPLE / "workspace", self.workspace)
        within_json = json.dumps(str(self.workspace))[1:-1]
        for log in self.gemini.rglob("*.jsonl"):
            log.write_bytes(log.read_bytes().replace(b"@WORKSPACE@", within_json.encode()))
        for file in self.workspace.rglob("*.py"):
            os.utime(file, (LAST_TOUCH_S, LAST_TOUCH_S))
        self.transcript = self.gemini.joinpath(
            "antigravity-cli", "brain", CONVERSATION, ".system_generated", "logs", "transcript.jsonl"
        )

    def run(self, *arguments: str) -> str:
        """What a command of rehydrate prints when run in the workspace; AssertionError when it fails."""
        done = subprocess.run(
            [*self.rehydrate, *arguments], cwd=self.workspace, env=self.environ, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def registered(self) -> str:
        """The command that `install` has written into the client's configuration."""
        hooks = json.loads((self.gemini / "config" / "hooks.json").read_text("utf-8"))
        command: str = hooks["rehydrate"]["PreInvocation"][0]["command"]
        return command

    def payload(self) -> bytes:
        """What the client sends before a model call."""
        return json.dumps(
            {
                "conversationId": CONVERSATION,
                "transcriptPath": str(self.transcript),
                "artifactDirectoryPath": str(self.transcript.parents[2]),
                "workspacePaths": [str(self.workspace)],
                "invocationNum": 0,
                "initialNumSteps": 43,
                "modelName": "field",
            }
        ).encode()

    def invoke(self) -> str:
        """The text that the registered command gives the model now; empty when it gives none."""
        done = subprocess.run(
            self.registered(), shell=True, cwd=self.gemini, env=self.environ, input=self.payload(), capture_output=True
        )
        assert done.returncode == 0, done
        return "\n".join(
            step["systemMessage"]["systemMessage"] for step in json.loads(done.stdout).get("injectSteps", [])
        )

    def files(self) -> dict[str, bytes]:
        """All files below the folder."""
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


def serve(field: Field, backend: str) -> None:
    """Install, answer a compaction once, as the settings say, uninstall; AssertionError when anything is not as it must be."""
    assert field.run("--version").endswith(f", backend {backend}\n"), field.run("--version")
    before = field.files()
    field.run("install", "antigravity")
    assert ("rehydrate-hook" in field.registered()) == (backend == "rust"), "the compiled module brings the front door"
    field.run("config", "set", "part_bytes", "8000")
    text = field.invoke()
    for words in EARLY_WORDS:
        assert words in text, f"missing: {words}"
    assert "| part 2/" in text, "the hook must heed the settings file"
    assert field.invoke() == "", "the same history must not be delivered twice"
    field.run("uninstall", "--purge")
    assert field.files() == before, "uninstall must leave the home as it was"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="rehydrate-field-") as name:
        serve(Field(Path(name), sys.argv[2:]), sys.argv[1])
    print(f"{' '.join(sys.argv[2:])}: served with the backend {sys.argv[1]}")
