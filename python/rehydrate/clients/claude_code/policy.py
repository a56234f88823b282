"""Which settings files Claude Code reads, which of them stands above which, and what in them stops its hooks.

Whatever a file is, reading it raises nothing: the client passes over what it cannot use, and so does this.  What is
said on the client's command line, sent by an organisation's server or kept in a system's own store of policies is not
seen here.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rehydrate import hostfile
from rehydrate.clients.claude_code import layout, registered

MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": r"C:\Program Files\ClaudeCode",
}.get(sys.platform, "/etc/claude-code")
"""The folder of the settings that stand above everybody's own."""
_BARE = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE")
"""Variables of the environment with which the client runs no hook (measured with 2.1.332)."""


class Layer(NamedTuple):
    """One file's settings."""

    file: str
    members: dict[str, Any]
    is_managed: bool


class Switch(NamedTuple):
    """Something that keeps the client from running our hook."""

    file: str | None
    """Where it stands; None for the environment."""
    detail: str
    """What, in words; `{file}` in it stands for the file."""
    fix: str
    """What to do, likewise."""


def user_file(environ: Mapping[str, str]) -> str:
    """The absolute path of the user's own settings."""
    return os.path.join(layout.home(environ), "settings.json")


def workspace_files(workspace: str) -> list[str]:
    """The absolute path of every file that the client reads in a workspace, the weakest first."""
    folder = os.path.join(os.path.abspath(workspace), ".claude")
    return [os.path.join(folder, name) for name in ("settings.json", "settings.local.json")]


def layers(environ: Mapping[str, str], *, folder: str | None) -> list[Layer]:
    """The settings of each file that is there, the strongest first.  `folder`: the working folder."""
    base = os.path.join(MANAGED, "managed-settings.json")
    parts = os.path.join(MANAGED, "managed-settings.d")
    try:
        names = sorted((each for each in os.listdir(parts) if each.endswith(".json")), reverse=True)
    except OSError:
        names = []
    managed = [*(os.path.join(parts, name) for name in names), base]
    own = [*(reversed(workspace_files(folder)) if folder is not None else ()), user_file(environ)]
    return [
        Layer(file, members, file in managed)
        for file in dict.fromkeys((*managed, *own))
        if (members := read(file)) is not None
    ]


def read(file: str) -> dict[str, Any] | None:
    """The members of a JSON object in a file; None when there is none that can be used."""
    try:
        data = hostfile.read(file)
        return None if data is None else registered.parsed(data)[1]
    except (OSError, ValueError):
        return None


def switches(environ: Mapping[str, str], *, folder: str | None, by_plugin: bool) -> Iterator[Switch]:
    """What keeps the client from running our hook in a folder; `by_plugin`: whether a plugin registers it."""
    known = layers(environ, folder=folder)
    for name in _BARE:
        if environ.get(name, "").lower() in ("1", "true", "yes", "on"):
            yield Switch(None, f"{name} is set in this shell, and with it the client runs no hook", f"unset {name}")
    off = _said(known, "disableAllHooks")
    if off is not None and off.members["disableAllHooks"] is True:
        fix = "ask whoever manages this machine" if off.is_managed else "take disableAllHooks out of {file}"
        yield Switch(off.file, "disableAllHooks is true in {file}, so the client runs no hook", fix)
    managed = [each for each in known if each.is_managed]
    only = _said(managed, "allowManagedHooksOnly")
    if only is not None and only.members["allowManagedHooksOnly"] is True:
        detail = "allowManagedHooksOnly is true in {file}, so the client runs no hook that you register"
        fix = "ask whoever manages this machine to add the hook that `rehydrate install claude-code --dry-run` shows"
        yield Switch(only.file, detail, fix)
    strict = next((each for each in managed if _is_strict(each.members)), None)
    if strict is not None and not by_plugin:
        detail = "strictPluginOnlyCustomization in {file} allows hooks of plugins only"
        yield Switch(strict.file, detail, "run `rehydrate uninstall claude-code`, then install the plugin instead")


def _said(known: list[Layer], key: str) -> Layer | None:
    """The strongest layer that says yes or no."""
    return next((each for each in known if isinstance(each.members.get(key), bool)), None)


def _is_strict(members: dict[str, Any]) -> bool:
    value = members.get("strictPluginOnlyCustomization")
    return value is True or (isinstance(value, list) and "hooks" in value)
