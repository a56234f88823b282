"""The command by which a host starts our hook, and whether this installation may be named in one."""

import functools
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from typing import NamedTuple

from rehydrate import __version__
from rehydrate.hook import ONCE
from rehydrate.paths import home_folder

_OURS = re.compile(
    r"""(\bfrom[ ]rehydrate\.hook[ ]import[ ]main;[ ]main\(\)['"]
      | (^|[\s'"/\\])(-m[ ]rehydrate\.hook | rehydrate-hook(\.exe)?['"]? | rehydrate(\.exe)?['"]?[ ]hook)
    )[ ]+[a-z]""",
    re.VERBOSE,
)
FLAGS = ("-I", "-S", "-X", "utf8")
"""For the interpreter: isolated and without site packages, as many `.pth` files cost more than the hook; with UTF-8
paths whatever the locale.
"""
_CODE = "import sys; sys.path.append({}); from rehydrate.hook import main; main()"
NOTHING = "echo '{}'"
"""What a command falls back to where the host wants an answer."""
SILENCE = "true"
"""What it falls back to where no answer is one."""
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What no configuration file holds; half of a surrogate pair: the path is not UTF-8."""
DOOR = "rehydrate-hook"
"""The name of the native program that stands before the interpreter, and answers by itself where nothing happened."""
_DOOR_S = 10
"""How long it may take to say its version."""
_UV_FOLDER = re.compile(r"(archive|builds|environments)-v\d+")


class Command(NamedTuple):
    """A registered command of the form that `hook_command` writes, taken apart."""

    python: str
    package: str
    """The folder that holds the package `rehydrate`."""
    client: str
    options: tuple[str, ...]
    fallback: str = NOTHING
    """What runs when the hook cannot: NOTHING or SILENCE."""
    door: str | None = None
    """The front door that it goes through; None: straight to the interpreter."""

    @classmethod
    def of_this(cls, client: str, options: tuple[str, ...] = (), fallback: str = NOTHING) -> "Command":
        """That of this installation; ValueError as `hook_command`."""
        package = _package()
        if not sys.executable:
            raise ValueError("the path of the Python interpreter is not known")
        for path in (sys.executable, package):
            if _UNWRITABLE.search(path):
                raise ValueError(f"the path {path!r} holds characters that a configuration file cannot")
        # A host that calls once for each compaction never calls for nothing.
        door = front_door() if client not in ONCE else None
        return cls(os.path.abspath(sys.executable), package, client, options, fallback, door)

    def text(self, *flags: str) -> str:
        """The command for a shell; `flags` are further ones for the interpreter."""
        code = _CODE.format(json.dumps(self.package, ensure_ascii=False))
        words = [
            *([self.door] if self.door else []),
            self.python,
            *FLAGS,
            *flags,
            "-c",
            code,
            self.client,
            *self.options,
        ]
        if os.name == "nt" and self.fallback == NOTHING:
            return subprocess.list2cmdline(words) + " || echo {}"
        return f"{shlex.join(words)} || {self.fallback}"  # with SILENCE on Windows, too: such hosts bring a shell along


def hook_command(client: str, options: tuple[str, ...] = (), fallback: str = NOTHING) -> str:
    """A shell command that runs this installation's hook for the client, whatever the folder and the environment.

    The package's own folder is all that is added to the interpreter's path.  When the installation is gone, `fallback`
    answers.  ValueError, a clause, when a path on the way cannot be written into a host's configuration.
    """
    return Command.of_this(client, options, fallback).text()


def take_apart(command: str) -> Command | None:
    """The parts of a command that is, to the last character, as `hook_command` writes it for some installation; None
    for any other, so that running it runs nothing but that interpreter with that package, and that front door.
    """
    fallback = next((each for each in (NOTHING, SILENCE) if command.endswith(f" || {each}")), None)
    if os.name == "nt" or fallback is None:  # what `cmd` makes of a line cannot be told so surely
        return None
    try:
        first, *words = shlex.split(command.removesuffix(f" || {fallback}"))
        door = first if os.path.basename(first) == DOOR else None
        python = words.pop(0) if door else first
        code, client, *options = words[len(FLAGS) + 1 :]
        before, after = _CODE.split("{}")
        package = json.loads(code[len(before) : -len(after)])
    except (ValueError, IndexError, RecursionError):
        return None
    if not isinstance(package, str) or not all(map(os.path.isabs, (python, package, door or python))):
        return None
    found = Command(python, package, client, tuple(options), fallback, door)
    return found if found.text() == command and not _UNWRITABLE.search(command) else None


def is_ours(command: str) -> bool:
    """Whether a registered command starts our hook, of this installation or another."""
    return _OURS.search(command) is not None


def front_door() -> str | None:
    """The front door that came with this installation; None when there is none of this version."""
    paths = (os.path.join(os.path.abspath(folder), DOOR) for folder in dict.fromkeys(_folders_of_programs()))
    return next((path for path in paths if not _UNWRITABLE.search(path) and door_version(path) == __version__), None)


def _folders_of_programs() -> list[str]:
    """Where an installer may have put the program: nowhere, where it put no compiled module, which it comes with."""
    if os.name == "nt" or not glob.glob(os.path.join(glob.escape(_package()), "rehydrate", "_native*.so")):
        return []
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    return [sysconfig.get_path("scripts"), os.path.dirname(os.path.abspath(sys.executable)), user]


def door_version(path: str) -> str | None:
    """The version that a front door says it has; None when it is no program that says so."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _version_of(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@functools.cache
def _version_of(path: str, stamp: tuple[int, ...]) -> str | None:
    """`stamp`: what tells that it is still the same program."""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return None
    try:
        asked = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_DOOR_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    name, _, version = asked.stdout.decode("ascii", "replace").strip().partition(" ")
    return version if asked.returncode == 0 and name == DOOR and version else None


def _package() -> str:
    """The folder that holds this package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def throw_away(environ: Mapping[str, str], prefix: str = sys.prefix) -> str | None:
    """The environment's folder when it is one that `uvx` or `pipx run` made and will clear away; else None."""
    for path in dict.fromkeys((os.path.abspath(prefix), os.path.realpath(prefix))):
        if _in_uv_cache(path, environ) or _in_pipx_cache(path, environ):
            return path
    return None


def _in_uv_cache(path: str, environ: Mapping[str, str]) -> bool:
    """Below `archive-v0` or the like of uv's cache, which is known by its place or by the tag that uv puts there."""
    known = {os.path.join(each, "uv") for each in _cache_folders(environ)} | {environ.get("UV_CACHE_DIR") or ""}
    known |= {os.path.realpath(each) for each in known if each}
    parts = path.split(os.sep)
    for at, part in enumerate(parts):
        if _UV_FOLDER.fullmatch(part):
            cache = os.sep.join(parts[:at])
            if cache in known or os.path.isfile(os.path.join(cache, "CACHEDIR.TAG")):
                return True
    return False


def _in_pipx_cache(path: str, environ: Mapping[str, str]) -> bool:
    """Below pipx's cache, new place or old; pipx's `venvs` are what people keep."""
    home = home_folder(environ) or os.sep
    homes = [os.path.join(home, *each) for each in ((".local", "pipx"), (".local", "share", "pipx"))]
    homes += [environ["PIPX_HOME"]] if environ.get("PIPX_HOME") else []
    caches = [os.path.join(each, ".cache") for each in homes]
    caches += [os.path.join(each, "pipx") for each in _cache_folders(environ)]
    for cache in caches:
        for folder in (os.path.abspath(cache), os.path.realpath(cache)):
            below = path[len(folder) + 1 :] if path.startswith(folder + os.sep) else ""
            if below and below.split(os.sep)[0] != "venvs":
                return True
    return False


def _cache_folders(environ: Mapping[str, str]) -> list[str]:
    home = home_folder(environ) or os.sep
    folders = [os.path.join(home, ".cache"), os.path.join(home, "Library", "Caches")]
    return folders + [environ[each] for each in ("XDG_CACHE_HOME", "LOCALAPPDATA") if environ.get(each)]
