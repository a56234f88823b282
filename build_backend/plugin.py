"""Makes the folder of the Claude Code plugin: a manifest, the hooks, and the file that lets it be a marketplace.

Promises: the same version gives the same bytes.

The plugin brings the registration only and starts the `rehydrate` that the user has installed: from the PATH, else from
where `uv tool install` and `pipx` put it, as a client that is started from a desktop often has a short PATH.  Where
there is none, nothing happens.
"""

import json
import shutil
from pathlib import Path
from typing import Any

FOLDER = "claude-code-plugin"
NAME = "rehydrate"
VALUES = 3
"""As many as the setting `values` says where nobody set it."""
TIMEOUT_S = 10
_COMMAND = 'PATH="$PATH:$HOME/.local/bin" rehydrate hook claude-code --part {part} || true'
_WHAT = "Gives Claude Code its own history back, verbatim, after a compaction"
_README = f"""\
# rehydrate for Claude Code

{_WHAT}. The plugin registers the hook; the program it starts is installed apart from it:

```
uv tool install rehydrate        # or: pipx install rehydrate
claude plugin marketplace add PATH-OF-THIS-FOLDER
claude plugin install {NAME}@{NAME}
rehydrate doctor claude-code     # does it work?
```

Use either the plugin or `rehydrate install claude-code`, not both: with both the same would be put back twice. The
plugin registers {VALUES} values; for another number use `rehydrate install claude-code --values N` instead.
"""


def build_plugin(folder: Path, *, version: str, licence: Path) -> Path:
    """Write the plugin into `folder`, in place of an older one, and give the path of its own folder."""
    target = folder / FOLDER
    if target.exists():
        shutil.rmtree(target)
    author = {"name": "The rehydrate authors"}
    about = {"name": NAME, "version": version, "description": _WHAT}
    manifest = {**about, "author": author, "license": "MIT", "keywords": ["compaction", "context", "memory"]}
    listed = {"name": NAME, "source": "./", "description": _WHAT}
    market = {"name": NAME, "owner": author, "metadata": {"description": _WHAT}, "plugins": [listed]}
    commands = [_COMMAND.format(part=part) for part in range(1, VALUES + 1)]
    handlers = [{"type": "command", "command": each, "timeout": TIMEOUT_S} for each in commands]
    hooks = {"description": _WHAT, "hooks": {"SessionStart": [{"matcher": "compact", "hooks": handlers}]}}
    _write(target / ".claude-plugin" / "plugin.json", manifest)
    _write(target / ".claude-plugin" / "marketplace.json", market)
    _write(target / "hooks" / "hooks.json", hooks)
    (target / "README.md").write_text(_README, encoding="utf-8", newline="\n")
    shutil.copyfile(licence, target / "LICENSE")
    return target


def _write(file: Path, value: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8", newline="\n")
