"""Registration with the Antigravity CLI: our entry in `hooks.json`, put in and taken out; never imported by the hook.

The file maps a hook's name to a hook; a hook's `PreInvocation` is a flat list of handlers.  The CLI drops the whole
file, without a word, for things it does not like, so a file that it would drop is never written to: the plan is
`refused`.  Plans change nothing; `hostfile.carry_out` does.
"""

import contextlib
import glob
import os
from collections.abc import Mapping
from typing import Any

from rehydrate import hostfile, jsonspans, launch
from rehydrate.clients.antigravity import layout, registered
from rehydrate.clients.antigravity.contract import MESSAGES
from rehydrate.clients.antigravity.registered import EVENT, NAME, OLDER_SCRIPT, Handler, handlers
from rehydrate.hostfile import Plan
from rehydrate.state import NAME as STATE_NAME

CLIENT = "antigravity"
WORKS_FROM = "your next prompt"
"""When the client has read a registration."""
OPTIONS = ("message",)
"""Of the options of `install` those that `hook_command` takes."""
FALLBACK = launch.NOTHING
TIMEOUT_S = 10
DEFAULT_TIMEOUT_S = 30
"""What the client takes where the file says nothing, 0 or less."""
_WORKSPACE_FOLDERS = (".agents", ".agent", "_agents", "_agent")
"""Where the client looks for a workspace's `hooks.json`; what it finds in several it runs several times."""


class Refused(Exception):
    """The file is left as it is; the message is a sentence that says what to do."""


def found(environ: Mapping[str, str]) -> bool:
    """Whether the client is there.  A home in which there are only things that are none of its own is Gemini CLI's,
    which shares it.
    """
    home = layout.home(environ)
    try:
        names = os.listdir(home)
    except OSError:
        return os.path.isdir(home)
    own = {*layout.APPS, "config"}
    return not names or any(each in own or os.path.isdir(os.path.join(home, each, "brain")) for each in names)


def moved_home(environ: Mapping[str, str]) -> str | None:
    """The assignment that moves the client's home to where the user's file is looked for; None without one."""
    return f"GEMINI_HOME={layout.home(environ)}" if environ.get("GEMINI_HOME") else None


def hooks_file(environ: Mapping[str, str], *, workspace: str | None = None) -> str:
    """The absolute path of the user's `hooks.json`, or of the workspace's."""
    if workspace is not None:
        return workspace_files(workspace)[0]
    return os.path.join(layout.home(environ), "config", "hooks.json")


def workspace_files(workspace: str) -> list[str]:
    """The absolute path of every file that the client reads in a workspace, ours first."""
    return [os.path.join(os.path.abspath(workspace), each, "hooks.json") for each in _WORKSPACE_FOLDERS]


def hook_command(message: str = MESSAGES[0]) -> str:
    """The command that is registered for this installation; ValueError as `launch.hook_command`.

    `message`: how the text reaches the model, one of MESSAGES, of which the hook takes the first without being told.
    """
    return launch.hook_command(CLIENT, () if message == MESSAGES[0] else ("--as", message))


def plan_install(file: str, command: str, *, replace: bool = False) -> Plan:
    """What it takes to have the command in the file.  `replace` takes the older script's handlers out."""
    before = None
    try:
        before = _read(file)
        action, after = _registered(before, command, replace=replace)
    except Refused as refused:
        return Plan(CLIENT, file, "refused", command, str(refused), before, before)
    return Plan(CLIENT, file, action, command, None, before, after)


def plan_uninstall(file: str, environ: Mapping[str, str]) -> Plan:
    """What it takes to have nothing of ours in the file: as it was before us, else without just our handlers.

    A file that the CLI ignores for what others wrote is no hindrance, as long as it is JSON.
    """
    before = None
    try:
        before = _read(file)
        text, hooks = _parsed(before)
    except Refused as refused:
        return Plan(CLIENT, file, "refused", None, str(refused), before, before)
    ours = [each for each in handlers(hooks) if launch.is_ours(each.command)]
    if before is None or not ours:
        return Plan(CLIENT, file, "absent", None, None, before, before)
    command = ours[0].command
    known, original = _original(file, before, command, environ)
    if known:
        return Plan(CLIENT, file, "removed", command, None, before, original, backs_up=False)
    for each in reversed(ours):
        text, hooks = _taken_out(text, each)
    return Plan(CLIENT, file, "removed", command, None, before, text.encode())


def elsewhere(environ: Mapping[str, str], *, folder: str | None) -> str | None:
    """A sentence that says what else registers the hook already: nothing does, as hooks come from these files alone."""
    return None


def also_read(environ: Mapping[str, str], *, folder: str | None) -> list[tuple[str, str]]:
    """The files beside these from which the client runs our hook in a folder: none."""
    return []


def switches(environ: Mapping[str, str], *, folder: str | None, registration: Any) -> list[tuple[str, str, str | None]]:
    """What keeps the client from running any hook: nothing that is known."""
    return []


def leavings(environ: Mapping[str, str]) -> list[str]:
    """What the hook left beside the transcripts of all applications."""
    logs = os.path.join(glob.escape(layout.home(environ)), "*", "brain", "*", *layout.LOGS)
    found = glob.glob(os.path.join(logs, STATE_NAME)) + glob.glob(os.path.join(logs, STATE_NAME + ".*"))
    return sorted(path for path in found if os.path.islink(path) or not os.path.isdir(path))


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
        raise _ignored(dropped) from None
    except jsonspans.Unclear as unclear:
        raise _unclear(unclear) from None


def _ignored(why: registered.Dropped) -> Refused:
    return Refused(f"the CLI ignores this file as a whole: {why}; correct that and run this again")


def _unclear(why: jsonspans.Unclear) -> Refused:
    return Refused(f"it is not sure what the CLI makes of this file: {why}; correct that and run this again")


def _registered(data: bytes | None, command: str, *, replace: bool) -> tuple[str, bytes]:
    """The action, and the file's bytes with the command in them."""
    text, hooks = _parsed(data)
    try:
        registered.check(text, hooks)
    except registered.Dropped as dropped:
        raise _ignored(dropped) from None
    except jsonspans.Unclear as unclear:
        raise _unclear(unclear) from None
    older = [each for each in handlers(hooks) if OLDER_SCRIPT in each.command]
    if older and not replace:
        names = ", ".join(sorted({repr(str(each.path[0])) for each in older}))
        raise Refused(
            f"the hook {names} in this file runs {OLDER_SCRIPT}, which would put the history back a second time; "
            "run this again with --replace to take it out (a backup is kept)"
        )
    for each in reversed(older):
        text, hooks = _taken_out(text, each)
    action, text = _with_ours(text, hooks, command)
    if action == "present":
        return ("updated", text.encode()) if older else ("present", data or b"")
    return action, text.encode()


def _with_ours(text: str, hooks: dict[str, Any], command: str) -> tuple[str, str]:
    ours = [each for each in handlers(hooks) if each.counts and launch.is_ours(each.command)]
    ours = [each for each in ours if each.path[0] == NAME or not registered.is_off(hooks[str(each.path[0])])]
    ours.sort(key=lambda each: each.command != command)
    if ours:
        changed = _switched_on(text, hooks, ours[0], command)
        return ("present" if changed == text else "updated"), changed
    hook = {"enabled": True, EVENT: [{"type": "command", "command": command, "timeout": TIMEOUT_S}]}
    if NAME not in hooks:
        return "added", jsonspans.with_member(text, NAME, hook)
    left = hooks[NAME] or {}
    if left.get(EVENT) or not left.keys() <= hook.keys():
        raise Refused(f"another hook in this file is named {NAME!r}; rename it and run this again")
    return "added", jsonspans.with_value(text, (NAME,), hook)  # what is left of one whose handler was taken out


def _switched_on(text: str, hooks: dict[str, Any], handler: Handler, command: str) -> str:
    """The text with the handler's command as given and nothing of it disabled."""
    if handler.command != command:
        text = jsonspans.with_value(text, handler.at, command)
    hook = hooks[str(handler.path[0])]
    for path, members in ((handler.path, hook[handler.path[1]][handler.path[2]]), (handler.path[:1], hook)):
        if registered.is_off(members):
            text = jsonspans.with_value(text, (*path, registered.key_of(members, "enabled")), True)
    return text


def _taken_out(text: str, handler: Handler) -> tuple[str, dict[str, Any]]:
    """The text without the handler, and without its hook when that has no other handler."""
    text = jsonspans.without(text, handler.path)
    name = handler.path[0]
    _, hooks = jsonspans.parse(text.encode())
    if not handlers(hooks[name]):
        text = jsonspans.without(text, (name,))
        del hooks[name]
    return text, hooks


def _original(file: str, data: bytes, command: str, environ: Mapping[str, str]) -> tuple[bool, bytes | None]:
    """(True, what stood there before us) when nobody else has changed the file since; by the ledger, else by trial."""
    known, original = hostfile.restored(file, data, environ)
    if known:
        return known, original
    others = False
    for backup in hostfile.backups(file):
        with contextlib.suppress(Refused):
            before = _read(backup)
            action, after = _registered(before, command, replace=True)
            if (action, after) == ("added", data):
                return True, before
            others = others or action == "added"  # else we were in it
    return not others and _registered(None, command, replace=False)[1] == data, None
