"""The settings: what each may be, and where the one in force comes from.

Promises: for each key a variable of the environment stands above the user's file, and the file above the default; what
cannot be used never stops a hook: the next of these holds, and a sentence says what was wrong, where, and what would
be right.  Without a settings file no parser is imported.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rehydrate import settingsfile
from rehydrate.clients import HOOKED
from rehydrate.dataclass import dataclass, replace
from rehydrate.paths import home_folder, settings_file

PART_BYTES_MAX = 48_907
"""Bytes of one injected step that reach the model whole: 49,152 less the host's frame (measured on harness 0.1.22)."""
PART_BYTES_MIN = 2_000
"""Below this a part could not hold its marker line with a long lineage and still carry text."""
VALUES_MAX = 9
"""Each value is a process that the host starts at the same time as the others; nine bring 85,000 characters back."""
CHARS_MAX = 1_000_000
"""More of anything would fill every model's context by itself."""
DEADLINE_S = 8
"""The hosts' time-out, as `install` registers it, is 10 s; up to a second goes by until the payload is read."""

Value = int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """Budgets in characters (code points), the size of a part in UTF-8 bytes."""

    requests_chars: int = 24_000
    dialogue_chars: int = 42_000
    documents_chars: int = 20_000
    files_chars: int = 48_000
    single_file_chars: int = 12_000
    part_bytes: int = 48_000
    values: int = 3
    """How many values a delivery has, for a client that takes each from a handler of its own."""
    deadline_s: float = DEADLINE_S
    """After so many seconds the hook gives up and answers with nothing."""
    redact: bool = True
    extra_roots: tuple[str, ...] = ()
    """Absolute folders below which files may be read, beside the workspaces."""
    deny: tuple[str, ...] = ()
    """What is never read: absolute paths with everything below them and names without a slash; both may be patterns."""
    session_roots: tuple[str, ...] = ()
    """Absolute folders below which one's own agents keep their sessions."""
    disabled: frozenset[str] = frozenset()
    """Clients for which the hook does nothing."""

    def halved(self) -> "Settings":
        """The same with half of every section's budget: for a compaction that came soon after the last one."""
        return replace(
            self,
            requests_chars=self.requests_chars // 2,
            dialogue_chars=self.dialogue_chars // 2,
            documents_chars=self.documents_chars // 2,
            files_chars=self.files_chars // 2,
        )

    def requests_only(self) -> "Settings":
        """Half the budget for requests and nothing else: for the third compaction in a row."""
        return replace(self.halved(), dialogue_chars=0, documents_chars=0, files_chars=0)


@dataclass(frozen=True, slots=True)
class InForce:
    """The value of one key that holds."""

    value: Value
    source: str
    """`default`, `file`, or the name of a variable of the environment."""


_DEFAULTS: dict[str, Value] = {
    name: getattr(Settings(), name) for name in Settings.__match_args__ if name != "disabled"
}
_ENABLED = {f"clients.{client}.enabled": client for client in HOOKED}
KEYS = (*_DEFAULTS, *_ENABLED)
"""Every key, as the file and `rehydrate config` name it."""
_RANGES = {"part_bytes": (PART_BYTES_MIN, PART_BYTES_MAX), "values": (1, VALUES_MAX), "deadline_s": (1, 60)}
_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_TOLD = 20
"""So many things that are wrong in the file are told one by one."""
_NO_SETTINGS = ("REHYDRATE_OFF", "REHYDRATE_PURE", "REHYDRATE_PURE_BUILD")


def read_settings(environ: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """The settings in force, and a sentence for each thing that was not taken."""
    held, problems = look_up(environ)
    disabled = frozenset(client for key, client in _ENABLED.items() if not held[key].value)
    values: dict[str, Any] = {key: held[key].value for key in _DEFAULTS}
    return Settings(**values, disabled=disabled), problems


def look_up(environ: Mapping[str, str]) -> tuple[dict[str, InForce], list[str]]:
    """What holds for every key, in the order of KEYS, and the sentences of `read_settings`."""
    in_file, problems = _from_file(environ)
    held = {}
    for key in KEYS:
        name = variable(key)
        text = environ.get(name)
        held[key] = InForce(in_file[key], "file") if key in in_file else InForce(default(key), "default")
        if text is not None:
            value, wrong = judge(key, from_words(key, _split(key, text)), environ)
            problems += [f"{name} {each}" for each in wrong]
            held[key] = held[key] if value is None else InForce(value, name)
    variables = {variable(key) for key in KEYS}
    for name in sorted(environ):
        if name.startswith("REHYDRATE_") and name not in variables and name not in _NO_SETTINGS:
            near = nearest(name, variables)
            problems += [f"{name} is no setting; did you mean {near}?"] if near else []
    return held, problems


def variable(key: str) -> str:
    """The variable of the environment that stands above the file."""
    return "REHYDRATE_" + key.upper().replace(".", "_").replace("-", "_")


def default(key: str) -> Value:
    """What holds when nothing is said."""
    return _DEFAULTS.get(key, True)


def is_list(key: str) -> bool:
    """Whether the key takes any number of texts."""
    return isinstance(default(key), tuple)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant; None when none is near."""
    import difflib

    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.7)), None)


def from_words(key: str, words: Sequence[str]) -> object:
    """What a person typed as the file would have it; for a key that is no list just one word.

    What makes no sense stays the text that it is, for `judge` to say so.
    """
    if is_list(key):
        return list(dict.fromkeys(words))
    text = words[0].strip()
    if isinstance(default(key), bool):
        return _WORDS.get(text.lower(), text)
    whole, dot, part = text.partition(".")
    if not text.isascii() or len(text) > 12 or not whole.isdigit() or (dot and not part.isdigit()):
        return text
    return float(text) if dot else int(text)


def judge(key: str, value: object, environ: Mapping[str, str]) -> tuple[Value | None, list[str]]:
    """The value as it will be used, None when it cannot be, and what is wrong with it: clauses that follow the key.

    Of a list the entries that are right are used whatever the others are.
    """
    usual = default(key)
    if isinstance(usual, tuple):
        return _judge_list(key, value, environ)
    if isinstance(usual, bool):
        return (value, []) if isinstance(value, bool) else (None, [f"must be true or false, not {_shown(value)}"])
    least, most = _RANGES.get(key, (0, CHARS_MAX))
    kind = "number" if key == "deadline_s" else "whole number"
    fits = isinstance(value, int) or (isinstance(value, float) and key == "deadline_s")
    if not fits or isinstance(value, bool) or not least <= value <= most:  # type: ignore[operator]  # a number: it fits
        return None, [f"must be a {kind} from {least:,} to {most:,}, not {_shown(value)}"]
    return value, []  # type: ignore[return-value]  # a number


def _judge_list(key: str, value: object, environ: Mapping[str, str]) -> tuple[Value | None, list[str]]:
    if not isinstance(value, list):
        return None, [f'must be a list of texts such as ["~/notes"], not {_shown(value)}']
    taken: list[str] = []
    wrong: list[str] = []
    for each in value:
        try:
            taken.append(_entry(key, each, environ))
        except ValueError as error:
            wrong.append(str(error))
    return (None if wrong and not taken else tuple(dict.fromkeys(taken))), wrong


def _entry(key: str, entry: object, environ: Mapping[str, str]) -> str:
    """One entry as it will be used, `~` expanded; ValueError with a clause."""
    wanted = "absolute paths (~/… counts as one)"
    if key == "deny":
        wanted += " and names without a slash such as *.sql"
    if not isinstance(entry, str) or not entry.strip():
        raise ValueError(f"takes {wanted}, not {_shown(entry)}")
    path = entry
    if entry == "~" or entry.startswith(("~/", f"~{os.sep}")):
        home = home_folder(environ)
        if home is None:
            raise ValueError(f"holds {_shown(entry)}, but no home folder is known; write the path in full")
        path = home + entry[1:]
    if os.path.isabs(path):
        if not os.path.normpath(path).strip(os.sep):
            raise ValueError(f"holds {_shown(entry)}, which is every file there is; name a folder below it")
        return path
    if key == "deny" and "/" not in entry and os.sep not in entry:
        return entry
    raise ValueError(f"takes {wanted}, not {_shown(entry)}")


def _split(key: str, text: str) -> list[str]:
    """The words of a variable's text; between those of a list stands what stands between the folders of PATH."""
    return [each for each in text.split(os.pathsep) if each.strip()] if is_list(key) else [text]


def _from_file(environ: Mapping[str, str]) -> tuple[dict[str, Value], list[str]]:
    """What the file says and can be used, by key, and what is wrong in it."""
    path = settings_file(environ)
    try:
        text = settingsfile.read(path) if path else None
        if path is None or text is None:
            return {}, []
        table = settingsfile.parse(text, path)
    except settingsfile.Unusable as error:
        return {}, [str(error)]
    taken: dict[str, Value] = {}
    wrong: list[tuple[tuple[str, ...], str]] = []
    for name, value in _flat(table):
        key = ".".join(name)
        if key not in KEYS or name != tuple(key.split(".")):  # one in quotes may have a dot of its own
            wrong.append((name, _unknown(name)))
            continue
        held, clauses = judge(key, value, environ)
        wrong += [(name, f"{key} {each}") for each in clauses]
        if held is not None:
            taken[key] = held
    lines = settingsfile.lines_of(text) if wrong else {}
    told = [f"{path}{f':{lines[name]}' if name in lines else ''}: {each}" for name, each in wrong[:_TOLD]]
    return taken, [*told, *([f"{path}: {len(wrong) - _TOLD:,} more such things in it"] if len(wrong) > _TOLD else [])]


def _flat(table: Mapping[str, Any]) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Name and value of every key; the parts of a name that is none of ours are told as far as they make sense."""
    for name, value in table.items():
        if name != "clients" or not isinstance(value, dict):
            yield (name,), value
            continue
        for client, members in value.items():
            if client not in HOOKED or not isinstance(members, dict):
                yield (name, client), members
            else:
                yield from (((name, client, member), each) for member, each in members.items())


def _unknown(name: tuple[str, ...]) -> str:
    """What to say of a name that the file has and nobody else."""
    shown = ".".join(part if part.isidentifier() and len(part) <= 60 else _shown(part) for part in name[:3])
    if name == ("clients",) or (len(name) == 2 and name[1] in HOOKED):
        return (
            f"{shown} must be a table, such as [{next(iter(_ENABLED)).rpartition('.')[0]}] with enabled = false in it"
        )
    if len(name) == 2:
        what, near, known = "client", nearest(name[1][:80], HOOKED), f"known: {', '.join(HOOKED)}"
    else:
        what, near, known = "setting", nearest(".".join(name)[:80], KEYS), "`rehydrate config` shows them all"
    return f"{shown}: there is no such {what}; " + (f"did you mean {near}?" if near else known)


def _shown(value: object) -> str:
    """A value for a sentence, whatever it is: neither long nor deep."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:59] + "…")
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**18):
        return str(value)
    kinds = {int: "a number of that size", dict: "a table", list: "a list"}
    return kinds.get(type(value), "a date or time")
