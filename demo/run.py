"""The main job on a sample conversation: forked twice, then compacted, with its files on disk.

Copies the sample into a throw-away home, registers the hook there with `rehydrate install`, runs the registered command
through `sh -c` with the payload that the client sends before a model call, and prints what the model would be given.
Then the hook is asked again (nothing is delivered twice) and `rehydrate uninstall` gives the home back as it was.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parent / "sample"
CONVERSATION = "c47ae950-6d1b-4f0e-b3b8-1e8f0a9d2c64"
REHYDRATE = Path(sys.executable).with_name("rehydrate")
LAST_TOUCH_S = 1_772_442_300  # 2026-03-02T09:05:00Z: before the conversation last saw the files


def main() -> None:
    """Run it; AssertionError when anything is not as it must be."""
    with tempfile.TemporaryDirectory(prefix="rehydrate-demo-") as name:
        folder = Path(name).resolve()
        home, workspace = _lay_out(folder)
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GEMINI_HOME": str(home)}
        environ |= {key: value for key, value in os.environ.items() if key == "REHYDRATE_PURE"}
        before = _tree(home)

        _say("1. rehydrate install antigravity")
        subprocess.run([REHYDRATE, "install", "antigravity"], env=environ, cwd=workspace, check=True)
        command = _registered(home)
        print(f"   registered: {command}")

        _say("2. The client is about to call the model, just after it has compacted the conversation.")
        reply = _invoke(command, home=home, workspace=workspace, environ=environ)
        texts = [step["systemMessage"]["systemMessage"] for step in reply["injectSteps"]]
        _check(texts)
        for text in texts:
            print(f"\n{'-' * 30} what the model is given {'-' * 30}\n{text}")
        print("-" * 85)

        _say("3. The next model call: nothing new, so the hook answers")
        again = _invoke(command, home=home, workspace=workspace, environ=environ)
        print(f"   {json.dumps(again)}")
        assert again == {}, "the same history must not be delivered twice"

        _say("4. rehydrate uninstall --purge")
        subprocess.run([REHYDRATE, "uninstall", "--purge"], env=environ, cwd=workspace, check=True)
        assert _tree(home) == before, "uninstall must leave the home as it was"
        print("   the home is byte for byte as it was before\n")


def _lay_out(folder: Path) -> tuple[Path, Path]:
    """The client's home and the workspace, copied, with the workspace's path in the logs."""
    home, workspace = folder / "gemini", folder / "tidepool"
    shutil.copytree(SAMPLE / "home", home)
    shutil.copytree(SAMPLE / "workspace", workspace)
    for log in home.rglob("*.jsonl"):
        log.write_text(log.read_text("utf-8").replace("@WORKSPACE@", str(workspace)), "utf-8")
    for file in workspace.rglob("*.py"):
        os.utime(file, (LAST_TOUCH_S, LAST_TOUCH_S))  # the rest has changed since, and the text says so
    return home, workspace


def _registered(home: Path) -> str:
    hooks = json.loads((home / "config" / "hooks.json").read_text("utf-8"))
    command: str = hooks["rehydrate"]["PreInvocation"][0]["command"]
    return command


def _invoke(command: str, *, home: Path, workspace: Path, environ: dict[str, str]) -> dict[str, Any]:
    """Run the command as the client does; its answer."""
    conversation = home / "antigravity-cli" / "brain" / CONVERSATION
    payload = {
        "conversationId": CONVERSATION,
        "transcriptPath": str(conversation / ".system_generated" / "logs" / "transcript.jsonl"),
        "artifactDirectoryPath": str(conversation),
        "workspacePaths": [str(workspace)],
        "invocationNum": 0,
        "initialNumSteps": 43,
        "modelName": "demo",
    }
    done = subprocess.run(
        ["sh", "-c", command],
        input=json.dumps(payload).encode(),
        stdout=subprocess.PIPE,
        env=environ,
        cwd=home / "config",
        timeout=60,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _check(texts: list[str]) -> None:
    """What was said and written before the compaction is there, across both forks; what came after them is not."""
    text = "\n".join(texts)
    must = ("standard library only", "look every 20 minutes", "no header and no colours", "don't use it", "no network")
    for words in (*must, "Nobody pushes a tag on a spring tide weekend", "def _crossing(station, left, right):"):
        assert words in text, f"missing: {words}"
    assert "draw the curve as an SVG" not in text, "what the parent did after the fork must not be there"


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


def _say(line: str) -> None:
    print(f"\n\033[1m{line}\033[0m" if sys.stdout.isatty() else f"\n{line}", flush=True)


main()
