"""The command by which a host starts our hook, and whether this installation may be named in one."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

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

    @classmethod
    def of_this(cls, client: str, options: tuple[str, ...] = (), fallback: str = NOTHING) -> "Command":
        """That of this installation; ValueError as `hook_command`."""
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        if not sys.executable:
            raise ValueError("the path of the Python interpreter is not known")
        for path in (sys.executable, package):
            if _UNWRITABLE.search(path):
                raise ValueError(f"the path {path!r} holds characters that a configuration file cannot")
        return cls(os.path.abspath(sys.executable), package, client, options, fallback)

    def text(self, *flags: str) -> str:
        """The command for a shell; `flags` are further ones for the interpreter."""
        code = _CODE.format(json.dumps(self.package, ensure_ascii=False))
        words = [self.python, *FLAGS, *flags, "-c", code, self.client, *self.options]
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
    for any other, so that running it runs nothing but that interpreter with that package.
    """
    fallback = next((each for each in (NOTHING, SILENCE) if command.endswith(f" || {each}")), None)
    if os.name == "nt" or fallback is None:  # what `cmd` makes of a line cannot be told so surely
        return None
    try:
        python, *words = shlex.split(command.removesuffix(f" || {fallback}"))
        code, client, *options = words[len(FLAGS) + 1 :]
        before, after = _CODE.split("{}")
        package = json.loads(code[len(before) : -len(after)])
    except (ValueError, RecursionError):
        return None
    if not isinstance(package, str) or not (os.path.isabs(python) and os.path.isabs(package)):
        return None
    found = Command(python, package, client, tuple(options), fallback)
    return found if found.text() == command and not _UNWRITABLE.search(command) else None


def is_ours(command: str) -> bool:
    """Whether a registered command starts our hook, of this installation or another."""
    return _OURS.search(command) is not None


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
