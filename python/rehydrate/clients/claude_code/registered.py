"""What stands in a `settings.json`, and what Claude Code makes of its hooks; never imported by the hook.

The file is the client's and holds all its settings; `hooks` in it maps an event to groups, each with a matcher and a
list of handlers.  A file that is no JSON object is ignored as a whole; of hooks that are not as they should be the
client passes over the smallest part (measured with 2.1.332).  A plugin's `hooks.json` has the same shape.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rehydrate import hostfile, jsonspans, launch
from rehydrate.dataclass import dataclass
from rehydrate.settings import read_settings

HOOKS = "hooks"
EVENT = "SessionStart"
MATCHER = "compact"
"""What the client names a session that goes on after a compaction."""
MOST = 20
"""So many registrations in one file are told: a stranger's file may hold any number, and each is looked for."""
_PART = re.compile(r" --part[ =](\d+)\b")
_EXACT = re.compile(r"[\w\s,|-]*", re.ASCII)
"""A matcher of these characters is a list of names; any other is a regular expression."""


_REPEATS = re.compile(r"[*+?{]")
_REPEATS_MAX = 3
"""A stranger's expression with more of them is not tried: it could take hours, and nobody needs it to say `compact`."""
_KINDS: dict[str, type] = {
    **{"async": bool, "asyncRewake": bool, "once": bool},
    **{"if": str, "shell": str, "statusMessage": str, "args": list},
}
"""Members of a handler, and what they must be where they are there."""
_HINDRANCES = {
    "async": 'with "async" the client does not wait for it, so what it answers comes to nothing',
    "if": 'it has an "if", and the client runs such hooks for tools only',
    "shell": 'its "shell" is another than bash, for which the command is written',
    "args": 'with "args" the client starts it without a shell, and it is written for one',
}
"""Members with which the model does not see what a handler answers (measured with 2.1.332)."""


class Dropped(ValueError):
    """The client runs no hook from the file; the message is a clause that says why, and where that stands."""

    what = "the client runs no hook from {file}"
    hook: str | None = None
    """Never one hook's fault."""


class Handler(NamedTuple):
    """Anything in one of the groups that has a command."""

    path: jsonspans.Path
    command: str
    timeout_s: float | None
    """None where the file does not say."""
    fault: str | None
    """A clause that says why the client does not run it after a compaction; None when it does."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The handlers in one file that start the hook of one installation, one for each value."""

    file: str
    hook: str
    """The event."""
    place: str
    """Where the first of them stands, in words: `hooks.SessionStart[0].hooks[0], line 6`."""
    commands: tuple[str, ...]
    """Each command once: what is there twice the client runs once."""
    timeout_s: float | None
    """The shortest; None where the file says none."""
    fault: str | None
    """A clause that says why the client does not run them; None when it does."""
    remedy: str | None = None
    """What takes it out, where `uninstall` does not: for a plugin's."""
    is_older: bool = False
    is_disabled: bool = False
    is_listed: bool = True

    @property
    def command(self) -> str:
        """The first one."""
        return self.commands[0]

    @property
    def may_run(self) -> bool:
        """Whether the client runs it."""
        return self.fault is None

    def repeats(self, other: "Registration") -> bool:
        """Whether beside the other it brings the same back a second time.

        A command that several of a user's and a project's files hold is run once; a plugin's is run in any case.
        """
        return self.remedy is not None or other.remedy is not None or not set(self.commands) <= set(other.commands)


def parsed(data: bytes | None) -> tuple[str, dict[str, Any]]:
    """The file's text and members.  Dropped when it is no JSON object; Unclear."""
    if data is None or not data.strip():
        return "{}\n", {}
    if data.startswith(b"\xef\xbb\xbf"):
        raise jsonspans.Unclear("it begins with a byte order mark (save it as UTF-8 without one)")
    try:
        text, members = jsonspans.parse(data)
    except jsonspans.Unclear:
        raise
    except ValueError as error:
        raise Dropped(str(error)) from None
    if not isinstance(members, dict):
        raise Dropped("it is not an object of settings")
    return text, members


def check(text: str, members: dict[str, Any]) -> None:
    """Dropped when there is no room for a handler of our event where the client would look for one."""
    hooks = members.get(HOOKS)
    if hooks is not None and not isinstance(hooks, dict):
        raise Dropped(f"{HOOKS} (line {line_of(text, (HOOKS,))}) must be an object of events")
    groups = (hooks or {}).get(EVENT)
    if groups is not None and not isinstance(groups, list):
        raise Dropped(f"{HOOKS}.{EVENT} (line {line_of(text, (HOOKS, EVENT))}) must be a list of groups")


def registrations(file: str, *, remedy: str | None = None) -> list[Registration]:
    """Those of each installation, in file order, at most MOST; none when there is no file.

    `remedy`: what takes them out, where the file is not one that `uninstall` changes.  Raises Dropped when the client
    runs no hook from the file; Unclear when it is not sure what it makes of it; ValueError, a clause, when it is no
    file that can be read; OSError.
    """
    text, members = parsed(hostfile.read(file))
    check(text, members)
    found: dict[tuple[str, str | None], list[Handler]] = {}
    for each in ours(members):
        found.setdefault((without_part(each.command), each.fault), []).append(each)
    return [_registration(file, text, handlers, remedy) for handlers in list(found.values())[:MOST]]


def _registration(file: str, text: str, found: list[Handler], remedy: str | None) -> Registration:
    first = found[0]
    limits_s = [each.timeout_s for each in found if each.timeout_s is not None]
    return Registration(
        file,
        str(first.path[1]),
        f"{dotted(first.path)}, line {line_of(text, first.path)}",
        tuple(dict.fromkeys(each.command for each in sorted(found, key=lambda each: part_of(each.command)))),
        min(limits_s, default=None),
        first.fault,
        remedy,
    )


def lacking(registration: Registration, environ: Mapping[str, str]) -> tuple[str, str | None] | None:
    """A clause that says which values are registered, where the settings want others, and the command that mends it,
    None for `install`; None when all is well.
    """
    settings, _ = read_settings(environ)
    parts = [part_of(each) for each in registration.commands]
    if parts == list(range(1, settings.values + 1)):
        return None
    numbers = ", ".join(map(str, parts))
    detail = f"registered {'is value' if len(parts) == 1 else 'are the values'} {numbers}"
    fix = None if registration.remedy is None else f"rehydrate config set values {len(parts)}"
    return f"{detail}, and the setting values is {settings.values}", fix


def ours_in(file: str, hook: str) -> Registration | None:
    """Our first registration in a file that the client ignores: none, as such a file is not looked into."""
    return None


def other_command(file: str) -> str | None:
    """Where a hook of our name stands that runs something else: nowhere, as hooks have no names."""
    return None


def ours(members: dict[str, Any]) -> list[Handler]:
    """Our handlers of any event, in file order."""
    return [each for each in _handlers(members.get(HOOKS)) if launch.is_ours(each.command)]


def part_of(command: str) -> int:
    """The number of the value that a command asks for; without one it is the first."""
    found = _PART.search(command)
    return int(found.group(1)[:4]) if found else 1


def without_part(command: str) -> str:
    """The command but for the value that it asks for: what those of one installation have in common."""
    return _PART.sub("", command)


def _handlers(hooks: Any) -> Iterator[Handler]:
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for at, group in enumerate(groups) if isinstance(groups, list) else ():
            inner = group.get(HOOKS) if isinstance(group, dict) else None
            for index, each in enumerate(inner) if isinstance(inner, list) else ():
                command = each.get("command") if isinstance(each, dict) else None
                if isinstance(command, str):
                    limit_s = each.get("timeout")
                    known_s = float(limit_s) if _is_number(limit_s) else None
                    fault = _fault(event, group, each)
                    yield Handler((HOOKS, event, at, HOOKS, index), command, known_s, fault)


def _fault(event: str, group: dict[str, Any], handler: dict[str, Any]) -> str | None:
    """Why the client does not run a handler after a compaction; None when it does."""
    if event != EVENT:
        return f"it stands under {event[:60]!r}, and only {EVENT} can put text into what the model sees"
    matcher = group.get("matcher", "")
    if not isinstance(matcher, str):
        return "the matcher of its group is no text, so the client passes over the group"
    if not _matches(matcher):
        return f"the matcher of its group is {matcher[:60]!r}, and after a compaction it must be {MATCHER!r}"
    if handler.get("type") != "command":
        return 'its "type" is not "command"'
    limit_s = handler.get("timeout", 1)
    if not _is_number(limit_s) or limit_s <= 0:
        return "its timeout is no number above 0, so the client passes over it"
    for key, kind in _KINDS.items():
        if key in handler and not isinstance(handler[key], kind):
            return f"its {key!r} is not what the client takes, so the client passes over it"
    return next((why for key, why in _HINDRANCES.items() if _hinders(key, handler.get(key))), None)


def _hinders(key: str, value: object) -> bool:
    """Whether this member of a handler keeps its answer from the model."""
    if key == "shell":
        return value not in (None, "bash")
    return value is not None if key == "args" else bool(value)


def _matches(matcher: str) -> bool:
    if matcher in ("", "*"):
        return True
    if _EXACT.fullmatch(matcher):
        return MATCHER in (each.strip() for each in re.split("[,|]", matcher))
    if len(_REPEATS.findall(matcher)) > _REPEATS_MAX:
        return False
    try:
        return re.search(matcher, MATCHER) is not None
    except re.error:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def dotted(path: jsonspans.Path) -> str:
    """A path as people write it."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key[:60]}" for key in path)[1:]


def line_of(text: str, path: jsonspans.Path) -> int:
    """The line where what the path names begins."""
    return text.count("\n", 0, jsonspans.locate(text, path).start) + 1
