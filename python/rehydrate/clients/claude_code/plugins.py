"""Which plugins of Claude Code bring our hook along.

Settings name the enabled ones as NAME@MARKETPLACE; `plugins/installed_plugins.json` in the client's folder says where
the files of each are.  A folder below `skills` that holds a manifest is a plugin, too (measured with 2.1.332).
"""

import glob
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rehydrate.clients.claude_code import layout, policy, registered

NAME = "rehydrate"
"""Our own plugin."""
_HOOKS = os.path.join("hooks", "hooks.json")
_MANIFEST = os.path.join(".claude-plugin", "plugin.json")
_BESIDE = "@skills-dir"
"""What the client names instead of a marketplace for a plugin below `skills`."""


class Plugin(NamedTuple):
    """An enabled plugin that runs our hook."""

    name: str
    file: str
    """Its `hooks.json`; need not be there."""
    remedy: str
    """The command that takes it out."""


def ours(environ: Mapping[str, str], *, folder: str | None) -> list[Plugin]:
    """The enabled ones, each once.  `folder`: the working folder."""
    enabled: dict[str, Any] = {}
    for layer in reversed(policy.layers(environ, folder=folder)):
        named = layer.members.get("enabledPlugins")
        enabled.update(named if isinstance(named, dict) else {})
    found = [*_installed(environ, enabled), *_beside(environ, folder, enabled)]
    return list({each.name: each for each in reversed(found)}.values())[::-1]


def _installed(environ: Mapping[str, str], enabled: Mapping[str, Any]) -> Iterator[Plugin]:
    home = environ.get("CLAUDE_CODE_PLUGIN_CACHE_DIR") or os.path.join(layout.home(environ), "plugins")
    known = (policy.read(os.path.join(home, "installed_plugins.json")) or {}).get("plugins")
    for name, wanted in enabled.items():
        if not wanted or name.endswith(_BESIDE):
            continue
        rows = known.get(name) if isinstance(known, dict) else None
        paths = [
            row.get("installPath") for row in (rows if isinstance(rows, list) else [rows]) if isinstance(row, dict)
        ]
        files = [os.path.join(path, _HOOKS) for path in paths if isinstance(path, str) and layout.encodable(path)]
        file = next((each for each in files if _runs_ours(each)), None)
        if file is None and name.partition("@")[0] == NAME:
            file = files[0] if files else os.path.join(home, "cache", NAME, _HOOKS)  # it is fetched at the next start
        if file is not None:
            yield _plugin("uninstall", name, file)


def _beside(environ: Mapping[str, str], folder: str | None, enabled: Mapping[str, Any]) -> Iterator[Plugin]:
    homes = [layout.home(environ), *([os.path.join(folder, ".claude")] if folder is not None else [])]
    for home in homes:
        for file in sorted(glob.glob(os.path.join(glob.escape(home), "skills", "*", _HOOKS))):
            root = os.path.dirname(os.path.dirname(file))
            name = (policy.read(os.path.join(root, _MANIFEST)) or {}).get("name")
            if isinstance(name, str) and enabled.get(name + _BESIDE) is not False and _runs_ours(file):
                yield _plugin("disable", name + _BESIDE, file)


def _plugin(verb: str, name: str, file: str) -> Plugin:
    return Plugin(name, file, f"claude plugin {verb} {shlex.quote(name)}")


def _runs_ours(file: str) -> bool:
    members = policy.read(file)
    return members is not None and any(each.fault is None for each in registered.ours(members))
