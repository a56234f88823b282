"""Registration with Claude Code: our handlers in `settings.json`, put in and taken out; never imported by the hook.

The file holds all of the client's settings, so nothing in it is changed but our own handlers, and one in which these
could not be put without guessing is left as it is: the plan is `refused`.  Plans change nothing; `hostfile.carry_out`
does.
"""

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from rehydrate import hostfile, jsonspans, launch, plan
from rehydrate.clients.claude_code import contract, layout, plugins, policy, registered
from rehydrate.clients.claude_code.registered import EVENT, HOOKS, MATCHER, Handler
from rehydrate.hostfile import Plan

CLIENT = "claude-code"
WORKS_FROM = "your next session"
"""When the client has read a registration."""
OPTIONS = ("values",)
"""Of the options of `install` those that `hook_command` takes."""
FALLBACK = launch.SILENCE
TIMEOUT_S = 10
DEFAULT_TIMEOUT_S = 60
"""What the client takes where the file says nothing; later versions take more."""


class Refused(Exception):
    """The file is left as it is; the message is a sentence that says what to do."""


def found(environ: Mapping[str, str]) -> bool:
    """Whether the client is there."""
    return os.path.isdir(layout.home(environ))


def moved_home(environ: Mapping[str, str]) -> str | None:
    """The assignment that moves the client's home to where the user's file is looked for; None without one."""
    return f"CLAUDE_CONFIG_DIR={layout.home(environ)}" if environ.get("CLAUDE_CONFIG_DIR") else None


def hooks_file(environ: Mapping[str, str], *, workspace: str | None = None) -> str:
    """The absolute path of the user's `settings.json`, or of the workspace's."""
    return policy.user_file(environ) if workspace is None else workspace_files(workspace)[0]


def workspace_files(workspace: str) -> list[str]:
    """The absolute path of every file that the client reads in a workspace, ours first."""
    return policy.workspace_files(workspace)


def hook_command(*, values: int) -> tuple[str, ...]:
    """The commands that are registered for this installation, one for each value; ValueError as `launch.hook_command`.

    A single one names no part.
    """
    parts = [("--part", str(part)) for part in range(1, values + 1)] if values > 1 else [()]
    return tuple(launch.hook_command(CLIENT, part, FALLBACK) for part in parts)


def elsewhere(environ: Mapping[str, str], *, folder: str | None) -> str | None:
    """A sentence that says what registers the hook already in a way of which `plan_install` does not know, so that
    the same would come twice; None when nothing does.  `folder`: the working folder.
    """
    for each in plugins.ours(environ, folder=folder):
        return (
            f"the plugin {each.name!r} runs the hook already, and with both the same would be put back twice; to "
            f"register it here instead run `{each.remedy}` first"
        )
    return None


def plan_install(file: str, command: tuple[str, ...], *, replace: bool = False) -> Plan:
    """What it takes to have the commands in the file, and none of ours besides.  `replace`: nothing older is known."""
    before = None
    try:
        before = _read(file)
        action, after = _registered(before, command)
    except Refused as refused:
        return Plan(CLIENT, file, "refused", command[0], str(refused), before, before)
    return Plan(CLIENT, file, action, command[0], None, before, after)


def plan_uninstall(file: str, environ: Mapping[str, str]) -> Plan:
    """What it takes to have nothing of ours in the file: as it was before us, else without just our handlers."""
    before = None
    try:
        before = _read(file)
        text, members = _parsed(before)
    except Refused as refused:
        return Plan(CLIENT, file, "refused", None, str(refused), before, before)
    ours = registered.ours(members)
    if before is None or not ours:
        return Plan(CLIENT, file, "absent", None, None, before, before)
    command = ours[0].command
    known, original = _original(file, before, tuple(each.command for each in ours), environ)
    if known and not registered.ours(_parsed(original)[1]):  # there may have been one that the client does not run
        return Plan(CLIENT, file, "removed", command, None, before, original, backs_up=False)
    for each in reversed(ours):
        text = _taken_out(text, each)
    return Plan(CLIENT, file, "removed", command, None, before, text.encode())


def also_read(environ: Mapping[str, str], *, folder: str | None) -> list[tuple[str, str]]:
    """The files beside these from which the client runs our hook in a folder, each with the command to take it out."""
    return [(each.file, each.remedy) for each in plugins.ours(environ, folder=folder) if os.path.isfile(each.file)]


def switches(environ: Mapping[str, str], *, folder: str | None, registration: Any) -> list[tuple[str, str, str | None]]:
    """What keeps the client from running the hook: (what, what to do, the file that `{file}` in these stands for)."""
    by_plugin = registration is not None and registration.remedy is not None
    return [(each.detail, each.fix, each.file) for each in policy.switches(environ, folder=folder, by_plugin=by_plugin)]


def leavings(environ: Mapping[str, str]) -> list[str]:
    """What the hook left beside the transcripts: files, then the folders in which nothing else is."""
    found, folders = [], []
    for folder in contract.leavings(environ):
        ours, above = plan.files_in(folder), os.path.dirname(folder)
        found += ours
        with contextlib.suppress(OSError):  # it cannot be listed, so it stays
            if len(ours) == len(os.listdir(folder)):
                folders.append(folder)
                folders += [above] if len(os.listdir(above)) == 1 else []
    return [*found, *folders]


def _read(file: str) -> bytes | None:
    try:
        return hostfile.read(file)
    except ValueError as error:
        raise Refused(f"{file} cannot be used: {error}; move it away and run this again") from None
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}; see to its rights and run this again") from None


def _parsed(data: bytes | None) -> tuple[str, dict[str, Any]]:
    """The file's text and members.  Refused when it is no JSON object that can be edited."""
    try:
        return registered.parsed(data)
    except registered.Dropped as dropped:
        raise Refused(f"the client ignores this file as a whole: {dropped}; correct that and run this again") from None
    except jsonspans.Unclear as unclear:
        why = f"it is not sure what the client makes of this file: {unclear}"
        raise Refused(f"{why}; correct that and run this again") from None


def _registered(data: bytes | None, commands: tuple[str, ...]) -> tuple[str, bytes]:
    """The action, and the file's bytes with the commands in them."""
    text, members = _parsed(data)
    try:
        registered.check(text, members)
    except registered.Dropped as dropped:
        raise Refused(f"the client runs no hook from this file: {dropped}; correct that and run this again") from None
    placed = [each for each in registered.ours(members) if each.fault is None]
    if not placed:
        return "added", _added(text, members, commands).encode()
    changed = _brought_in_line(text, placed, commands)
    return ("present", data or b"") if changed == text else ("updated", changed.encode())


def _added(text: str, members: dict[str, Any], commands: tuple[str, ...]) -> str:
    """The text with a group of our own, behind the others."""
    group = {"matcher": MATCHER, "hooks": [_handler(each) for each in commands]}
    hooks = members.get(HOOKS)
    if hooks is None:
        if HOOKS in members:  # null
            return jsonspans.with_value(text, (HOOKS,), {EVENT: [group]})
        return jsonspans.with_member(text, HOOKS, {EVENT: [group]})
    if hooks.get(EVENT) is None:
        if EVENT in hooks:
            return jsonspans.with_value(text, (HOOKS, EVENT), [group])
        return jsonspans.with_member(text, EVENT, [group], within=(HOOKS,))
    return jsonspans.with_element(text, (HOOKS, EVENT), group)


def _brought_in_line(text: str, placed: list[Handler], commands: tuple[str, ...]) -> str:
    """The text with just these commands of ours: those that are there stay as they are, others are changed in place,
    surplus ones go, missing ones follow the last.
    """
    there = [each.command for each in placed]
    missing = [each for each in commands if each not in there]
    surplus = []
    for at, each in enumerate(placed):
        if each.command in commands and each.command not in there[:at]:
            continue
        if missing:
            text = jsonspans.with_value(text, (*each.path, "command"), missing.pop(0))
        else:
            surplus.append(each)
    for command in missing:
        text = jsonspans.with_element(text, placed[-1].path[:-1], _handler(command))
    for each in reversed(surplus):
        text = _taken_out(text, each)
    return text


def _handler(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command, "timeout": TIMEOUT_S}


def _taken_out(text: str, handler: Handler) -> str:
    """The text without the handler, and without what holds nothing else: its group, the event, the hooks."""
    text = jsonspans.without(text, handler.path)
    for depth in (4, 2, 1):
        path = handler.path[:depth]
        _, value = jsonspans.parse(text.encode())
        for key in path:
            value = value[key]
        if value:
            break
        text = jsonspans.without(text, path[:3] if depth == 4 else path)
    return text


def _original(
    file: str, data: bytes, commands: tuple[str, ...], environ: Mapping[str, str]
) -> tuple[bool, bytes | None]:
    """(True, what stood there before us) when nobody else has changed the file since; by the ledger, else by trial."""
    known, original = hostfile.restored(file, data, environ)
    if known:
        return known, original
    others = False
    for backup in hostfile.backups(file):
        with contextlib.suppress(Refused):
            before = _read(backup)
            action, after = _registered(before, commands)
            if (action, after) == ("added", data):
                return True, before
            others = others or action == "added"  # else we were in it
    return not others and _registered(None, commands)[1] == data, None
