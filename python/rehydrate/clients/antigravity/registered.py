"""What stands in a `hooks.json`, and what the CLI makes of it; never imported by the hook.

The file maps a hook's name to a hook; a hook's `PreInvocation` is a flat list of handlers.  The CLI drops the whole
file, without a word, for things it does not like, and passes over a handler that stands anywhere else.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rehydrate import hostfile, jsonspans, launch
from rehydrate.dataclass import dataclass

NAME = "rehydrate"
"""Our hook's name in the file."""
EVENT = "PreInvocation"
OLDER_SCRIPT = "rehydrate_after_compact.py"
"""It would deliver too: it has the same state file and the same marker."""
_FLAT = ("sessionstart", "preinvocation", "postinvocation", "stop")
"""The events that take a list of handlers, as the CLI compares their names."""
_GROUPED = ("pretooluse", "posttooluse")
"""Those that take a list of groups of handlers."""
_HANDLER = ("type", "command", "timeout")
MOST = 20
"""So many registrations in one file are told: a stranger's file may hold any number, and each is looked for."""
_DEPTH = 16


class Dropped(ValueError):
    """The CLI ignores the file as a whole; the message is a clause that says why, and where that stands."""

    what = "the client ignores {file} as a whole, without a word"

    def __init__(self, why: str, hook: str | None = None) -> None:
        super().__init__(why)
        self.hook = hook
        """The name of the hook that is to blame; None where it is not one."""


class Handler(NamedTuple):
    """Anything in one of the file's lists that has a command."""

    path: jsonspans.Path
    at: jsonspans.Path
    """Where its command stands."""
    command: str
    counts: bool
    """Whether it is a handler of our event that the host runs, or would if it were enabled."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A command in the file that gives the history back: ours or the older script's."""

    file: str
    hook: str
    """The name of the hook it stands in."""
    place: str
    """Where it stands, in words: `rehydrate.PreInvocation[0], line 6`."""
    command: str
    timeout_s: int | None
    """None where the file does not say."""
    is_older: bool
    """It runs the older script."""
    fault: str | None
    """A clause that says why the CLI does not run it; None when it does."""
    is_disabled: bool
    """The fault is that it is switched off."""
    may_run: bool
    """It is run, at least by versions that know no switch for a single handler."""
    is_listed: bool
    """It stands in a list, where `uninstall` finds it."""

    @property
    def commands(self) -> tuple[str, ...]:
        """All of them: one."""
        return (self.command,)

    @property
    def remedy(self) -> str | None:
        """What takes it out where `uninstall` does not: nothing."""
        return None

    def repeats(self, other: "Registration") -> bool:
        """Whether beside the other it brings the same back a second time: always."""
        return True


def registrations(file: str) -> list[Registration]:
    """The commands of ours, and of the older script, in file order, at most MOST; none when there is no file.

    Raises Dropped when the CLI ignores the file; Unclear when it is not sure what it makes of it; ValueError, a clause,
    when it is no file that can be read; OSError.
    """
    text, hooks = parsed(hostfile.read(file))
    check(text, hooks)
    return _registrations(file, text, hooks)


def ours_in(file: str, hook: str) -> Registration | None:
    """Our first registration in a hook, though the CLI ignores the file; None when there is none.  Raises as `parsed`
    and `registrations`, but Dropped only for a file that is no JSON object.
    """
    text, hooks = parsed(hostfile.read(file))
    found = _registrations(file, text, {hook: hooks.get(hook)})
    return next((each for each in found if not each.is_older), None)


def _registrations(file: str, text: str, hooks: dict[str, Any]) -> list[Registration]:
    found = []
    for path, command in _texts(hooks, ()):
        is_older = OLDER_SCRIPT in command
        if is_older or launch.is_ours(command):
            found.append(_registration(file, text, hooks, path, is_older=is_older))
            if len(found) == MOST:
                break
    return found


def lacking(registration: Registration, environ: Mapping[str, str]) -> tuple[str, str | None] | None:
    """What is not as the settings have it: nothing can be."""
    return None


def other_command(file: str) -> str | None:
    """Where a hook of our name stands that runs something else, in words; None when there is none."""
    text, hooks = parsed(hostfile.read(file))
    for handler in handlers(hooks):
        if handler.path[0] == NAME and not launch.is_ours(handler.command):
            return f"{_dotted(handler.path)}, line {_line(text, handler.at)}"
    return None


def parsed(data: bytes | None) -> tuple[str, dict[str, Any]]:
    """The file's text and members.  Dropped when it is no JSON object; Unclear."""
    if data is None or not data.strip():
        return "{}\n", {}
    try:
        text, hooks = jsonspans.parse(data)
    except jsonspans.Unclear:
        raise
    except ValueError as error:
        raise Dropped(str(error)) from None
    if not isinstance(hooks, dict):
        raise Dropped("it is not an object of hooks")
    return text, hooks


def check(text: str, hooks: dict[str, Any]) -> None:
    """Dropped when the CLI would ignore the file for something in it; Unclear when a name is there in two spellings.

    It decodes the file into typed fields, whatever the case of their names: one value of another type, or one handler
    that it has no use for, spoils everything.  Members that it does not know may hold anything.
    """
    for name, hook in hooks.items():
        if hook is not None and not isinstance(hook, dict):
            raise Dropped(f"its member {name[:60]!r} (line {_line(text, (name,))}) is not a hook (an object)", name)
        for path, each in _fields(text, (name,), hook, ("enabled", *_FLAT, *_GROUPED)):
            if path[-1].casefold() == "enabled":
                _need(isinstance(each, bool), text, path, "true or false")
                continue
            _need(isinstance(each, list), text, path, "a list")
            for index, inner in enumerate(each):
                place = (*path, index)
                if path[-1].casefold() in _FLAT:
                    _check_handler(text, place, inner)
                elif inner is not None:
                    _check_group(text, place, inner)


def _check_group(text: str, path: jsonspans.Path, group: Any) -> None:
    _need(isinstance(group, dict), text, path, 'an object with "matcher" and "hooks"')
    for place, each in _fields(text, path, group, ("matcher", "hooks")):
        if place[-1].casefold() == "matcher":
            _need(isinstance(each, str), text, place, "a text")
            continue
        _need(isinstance(each, list), text, place, "a list")
        for index, handler in enumerate(each):
            _check_handler(text, (*place, index), handler)


def _check_handler(text: str, path: jsonspans.Path, handler: Any) -> None:
    _need(isinstance(handler, dict), text, path, 'an object: {"type": "command", "command": …}')
    found = {place[-1].casefold(): (place, each) for place, each in _fields(text, path, handler, _HANDLER)}
    for place, each in found.values():
        if place[-1].casefold() == "timeout":
            whole = type(each) is int and -(2**31) <= each < 2**31
            _need(whole, text, place, "a whole number of seconds, less than 2^31")
        elif place[-1].casefold() == "type":
            _need(each in ("", "command"), text, place, '"command"')
    command = found.get("command", (path, None))[1]
    _need(isinstance(command, str) and command != "", text, path, 'a handler with a "command"')


def _fields(text: str, path: jsonspans.Path, value: Any, names: tuple[str, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    """Those of an object's members that the CLI knows and that are not null, each with its path."""
    found: dict[str, str] = {}
    for key in value or ():
        name = key.casefold()
        if name in names and found.setdefault(name, key) != key:
            shown = _dotted((*path, key))
            raise jsonspans.Unclear(f"{shown} (line {_line(text, (*path, key))}) is there in two spellings")
    return [((*path, key), value[key]) for key in found.values() if value[key] is not None]


def _need(is_so: bool, text: str, path: jsonspans.Path, wanted: str) -> None:
    if not is_so:
        raise Dropped(f"{_dotted(path)} (line {_line(text, path)}) must be {wanted}", str(path[0]))


def key_of(members: dict[str, Any], name: str) -> str:
    """The key by which the CLI finds a member, whatever its case; the name itself when there is none."""
    return next((key for key in members if key.casefold() == name.casefold()), name)


def handlers(hooks: Any) -> list[Handler]:
    """In file order."""
    found = []
    for path, each in _objects(hooks, ()):
        key = key_of(each, "command")
        if path and isinstance(path[-1], int) and isinstance(each.get(key), str):
            counts = len(path) == 3 and _is(path[1], EVENT) and isinstance(path[2], int)
            found.append(Handler(path, (*path, key), each[key], counts))
    return found


def _is(key: str | int, name: str) -> bool:
    return isinstance(key, str) and key.casefold() == name.casefold()


def _objects(value: Any, path: jsonspans.Path) -> Iterator[tuple[jsonspans.Path, dict[str, Any]]]:
    """Every object at or below the value, with its path, in file order; no handler lies as deep as this goes."""
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        yield path, value
        for key, each in value.items():
            yield from _objects(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _objects(each, (*path, index))


def _texts(value: Any, path: jsonspans.Path) -> Iterator[tuple[jsonspans.Path, str]]:
    """Every text that can be meant as a command, in file order."""
    if isinstance(value, str):
        if isinstance(path[-1], int) or _is(path[-1], "command") or _is(path[-1], EVENT):
            yield path, value
    elif isinstance(value, (dict, list)) and len(path) <= _DEPTH:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(each, (*path, key))


def _registration(file: str, text: str, hooks: dict[str, Any], path: jsonspans.Path, *, is_older: bool) -> Registration:
    command = hooks[str(path[0])]
    holder: Any = None
    for key in path[1:]:
        holder, command = command, command[key]
    timeout = holder.get(key_of(holder, "timeout")) if isinstance(holder, dict) else None
    fault = _misplaced(hooks, path)
    disabled = None if fault else _disabled(hooks, path)
    return Registration(
        file,
        str(path[0]),
        f"{_dotted(path)}, line {_line(text, path)}",
        command,
        timeout if type(timeout) is int else None,
        is_older,
        fault or disabled,
        disabled is not None,
        fault is None and not is_off(hooks[str(path[0])]),
        len(path) > 2 and _is(path[-1], "command") and isinstance(path[-2], int),
    )


def _misplaced(hooks: dict[str, Any], path: jsonspans.Path) -> str | None:
    """Why the CLI passes over what stands there; None when it runs it."""
    if not _is(path[1], EVENT):
        return f"it stands under {str(path[1])[:60]!r}, and only {EVENT} runs before every model call"
    if not isinstance(hooks[str(path[0])][path[1]], list) or len(path) != 4 or not _is(path[3], "command"):
        return f"it is nested, and {EVENT} takes a flat list of handlers"
    return None


def _disabled(hooks: dict[str, Any], path: jsonspans.Path) -> str | None:
    hook = hooks[str(path[0])]
    if is_off(hook):
        return f"the hook {str(path[0])[:60]!r} is disabled"
    return "it is disabled" if is_off(hook[str(path[1])][path[2]]) else None


def is_off(members: dict[str, Any]) -> bool:
    """Whether a hook, or a handler, is switched off."""
    return members.get(key_of(members, "enabled")) is False


def _dotted(path: jsonspans.Path) -> str:
    """A path as people write it, without the last key of a handler."""
    shown = path[:-1] if len(path) > 2 and _is(path[-1], "command") else path
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key[:60]}" for key in shown)[1:]


def _line(text: str, path: jsonspans.Path) -> int:
    return text.count("\n", 0, jsonspans.locate(text, path).start) + 1
