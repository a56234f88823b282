"""The ways in which a hook comes to a box: each registers it as a user would."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import rehydrate
from tests.rig.product import run_rehydrate

from .box import Box

ROOT = Path(__file__).parents[3]
PROBED = ("SessionStart", "PreCompact", "PostCompact", "SubagentStop")
LIMIT_S = 60


def probe(box: Box, cli: Path) -> None:
    """The hook that only looks."""
    command = f"{sys.executable} {Path(__file__).with_name('probe.py')} {box.seen}"
    group = [{"hooks": [{"type": "command", "command": command, "timeout": 20}]}]
    (box.config / "settings.json").write_text(json.dumps({"hooks": {event: group for event in PROBED}}))


def ours(box: Box, cli: Path) -> None:
    """Ours, by its own installer."""
    run_rehydrate("install", "claude-code", home=box.home)


def plugin(box: Box, cli: Path) -> None:
    """Ours, as the plugin that `make dist` makes, beside a `rehydrate` where `uv tool install` puts it."""
    sys.path.insert(0, str(ROOT / "build_backend"))
    from plugin import build_plugin

    made = build_plugin(box.folder, version=rehydrate.__version__, licence=ROOT / "LICENSE")
    program = box.home / ".local" / "bin" / "rehydrate"
    program.parent.mkdir(parents=True)
    package = Path(str(rehydrate.__file__)).parent.parent
    code = "import sys; from rehydrate.cli import main; sys.exit(main())"
    words = shlex.join(["env", f"PYTHONPATH={package}", sys.executable, "-c", code])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    for arguments in (["marketplace", "add", str(made)], ["install", "rehydrate@rehydrate"]):
        command = [str(cli), "plugin", *arguments]
        subprocess.run(command, cwd=box.work, env=box.environ(), check=True, capture_output=True, timeout=LIMIT_S)


HOOKS: dict[str, Callable[[Box, Path], None]] = {"probe": probe, "ours": ours, "plugin": plugin}
