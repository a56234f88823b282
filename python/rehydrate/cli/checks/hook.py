"""Does the registered command answer as the host needs it?  It is run, as the host runs it, in a throw-away home.

A `hooks.json` may be a stranger's, as a cloned repository brings one along.  So a command is run only when it is to the
last character as `install` writes it; and one that does not stand in the user's own file, only when it starts this
very installation.
"""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rehydrate import launch
from rehydrate.paths import home_folder
from rehydrate.scan import BACKEND
from rehydrate.settings import DEADLINE_S, read_settings

from .subject import Finding, Subject

PATIENCE_S = 60
"""A registered time limit beyond this is not waited for."""
_ASKED_S = 10
"""How long an interpreter may take to say what it is."""
_KEPT = ("REHYDRATE_PURE",)
"""Of our variables those that leave the outcome as it is."""
_XDG = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "APPDATA")
_BIN = (".local", "bin")
"""Where a plugin's command looks in the home folder, after the PATH."""
_NO_CACHE = "-B"
"""The interpreter writes no bytecode: the one thing in which a trial differs from what the host does."""
_BACKEND = """
import json, sys
sys.path.append({package!r})
from rehydrate import __version__
from rehydrate.scan import BACKEND
why = None
try:
    import rehydrate._native
except Exception as error:
    why = str(error)
print(json.dumps([BACKEND, why, __version__, sys.version.split()[0]]))
"""


class _TooSlow(ValueError):
    """The time limit was over first."""


class _Ran(NamedTuple):
    answer: bytes
    trouble: str
    """What it printed on standard error, its last line."""
    status: int | None
    """None when the time limit ended it."""
    ms: int


def hook(subject: Subject) -> Iterator[Finding]:
    """The registered commands on a made-up conversation."""
    commands, refused = _runnable(subject)
    if refused is not None:
        yield refused
        return
    registration = subject.registration
    limit_s = min(_limit_s(subject), PATIENCE_S)
    folder = os.path.dirname(registration.file) if registration is not None else None
    unregistered = "" if registration is not None else " (none is registered: this is what would be)"
    rehearsal = subject.module("rehearsal")
    with tempfile.TemporaryDirectory(prefix="rehydrate-") as private:  # made with mode 0700
        stage = rehearsal.made_up(private)
        environ = _environ(subject.environ, stage.environ, private)

        def run(command: launch.Command) -> _Ran:
            ran = _run(command.text(_NO_CACHE), stage.payload, folder or private, environ, limit_s)
            return _passed(ran, command.fallback, limit_s)

        try:
            told = rehearsal.rehearse(stage, commands, run)
        except ValueError as fault:
            fix = _mend(subject, commands[0], fault)
            if private in str(fault):
                fix = f"see to {tempfile.gettempdir()}, where the hook was tried, then run `rehydrate doctor` again"
            yield Finding(False, f"{fault}{unregistered}", fix)
            return
    yield _in_time(subject) or Finding(True, told + unregistered)


def _limit_s(subject: Subject) -> float:
    """After how many seconds the host ends the registered command."""
    registration, install = subject.registration, subject.module("install")
    if registration is None:
        return float(install.TIMEOUT_S)
    given = registration.timeout_s
    return float(given if given is not None and given > 0 else install.DEFAULT_TIMEOUT_S)


def _in_time(subject: Subject) -> Finding | None:
    """What is wrong when the host would end the hook before it gives up by itself; None when it would not."""
    limit_s, (settings, _) = _limit_s(subject), read_settings(subject.environ)
    if settings.deadline_s < limit_s:
        return None
    detail = (
        f"the client ends it after {limit_s:g} s, and it may take {settings.deadline_s:g} s (the setting deadline_s)"
    )
    detail += ", so a long conversation could get nothing back"
    registration = subject.registration
    if registration is None or limit_s > DEADLINE_S:
        return Finding(False, detail, f"run `rehydrate config set deadline_s {min(limit_s - 2, DEADLINE_S):g}`")
    where = f"{registration.place} of {subject.short(registration.file)}"
    timeout_s = subject.module("install").TIMEOUT_S
    return Finding(False, detail, f"write the timeout {max(timeout_s, int(settings.deadline_s) + 2)} at {where}")


def backend(subject: Subject) -> Iterator[Finding]:
    """Which implementation the registered command runs on."""
    commands, refused = _runnable(subject)
    if refused is not None:
        yield Finding(True, f"{BACKEND}, in this installation (the registered one was not asked)")
        return
    command = commands[0]
    with tempfile.TemporaryDirectory(prefix="rehydrate-") as private:
        environ = _environ(subject.environ, subject.module("rehearsal").made_up(private).environ, private)
        code = _BACKEND.format(package=command.package)
        words = [command.python, *launch.FLAGS, _NO_CACHE, "-c", code]
        ran = _run(words, b"", private, environ, _ASKED_S)
    try:
        used, why, version, python = json.loads(ran.answer)
    except ValueError:
        silence = f"it gave no answer in {_ASKED_S} s" if ran.status is None else "it printed no answer"
        detail = f"it cannot be asked: {ran.trouble or silence}"
        yield Finding(False, detail, _reinstall(subject))
        return
    compiled = glob.glob(os.path.join(glob.escape(command.package), "rehydrate", "_native*.[sp][oy]*"))
    if why and any(not each.endswith(".pyi") for each in compiled):
        detail = f"the compiled module is there, but Python {python} cannot load it: {why}"
        yield Finding(False, detail, f"{_reinstall(subject)} (it works without it, only slower)")
        return
    told = {"rust": "rust, the compiled module", "python": "python, without the compiled module"}[used]
    if used == "python" and not why:
        told = "python, because REHYDRATE_PURE=1 is set in this shell"
    door = launch.door_version(command.door) if command.door else None
    if command.door and door != version:
        is_of = f"is version {door}" if door else "does not say its version"
        detail = f"the front door {subject.short(command.door)} {is_of}, and the package behind it is version {version}"
        yield Finding(False, detail, _reinstall(subject))
        return
    yield Finding(True, f"{told}; rehydrate {version}, Python {python}{_by_door(subject, command)}")


def _by_door(subject: Subject, command: launch.Command) -> str:
    """Which way the hook is started, where there are two."""
    if command.door:
        return f"; through the front door {subject.short(command.door)}"
    own = subject.own_command()
    if subject.registration is None or own.door is None or command[:2] != own[:2]:
        return ""
    return f"; not through the front door, which is faster: `{subject.install()}` registers it"


def _runnable(subject: Subject) -> tuple[list[launch.Command], Finding | None]:
    """The commands to try: the registered ones, without any this installation's; or why none is run."""
    registration, again = subject.registration, f"run `{subject.install()}`"
    try:
        own = subject.own_command()
    except ValueError as error:
        return [], Finding(False, f"there is no command: {error}", "install rehydrate somewhere else")
    if registration is None:
        return [subject.own_command(each) for each in subject.module("rehearsal").usual(subject.environ)], None
    if registration.remedy is not None:
        return _of_plugin(subject, registration)
    commands = subject.commands(registration)
    if commands is None:
        why = "it is not run here, because it is not to the letter as `rehydrate install` writes it"
        return [], Finding(False, f"the command of {registration.place}: {why}", again)
    for command in commands:
        if command.client != subject.client or command.options not in subject.module("rehearsal").OPTIONS:
            words = " ".join((command.client, *command.options))
            return [], Finding(False, f"the command of {registration.place} ends in {words!r}", again)
    command = commands[0]
    is_own = command[:2] == own[:2] and command.door in (None, own.door)
    if registration.file != subject.own_file and not is_own:
        shown = subject.short(registration.file)
        why = "it is not run here, because it starts another installation, and the file is not your own"
        return [], Finding(False, f"the command in {shown}: {why}", f"{again}, if you trust that folder")
    gone = _gone(command)
    if gone is not None:
        detail = f"the installation that is registered is gone: there is no {subject.short(gone)}"
        return [], Finding(False, detail, f"{again} (if that is the one meant, install it again before)")
    return commands, None


def _of_plugin(subject: Subject, registration: Any) -> tuple[list[launch.Command], Finding | None]:
    """For a plugin's registration: this installation's commands, when it is this one that the plugin would find."""
    options = subject.module("rehearsal").OPTIONS
    parts = [each for each in options if any(f" {' '.join(each)} ||" in text for text in registration.commands)]
    path = f"{subject.environ.get('PATH', '')}{os.pathsep}{os.path.join(home_folder(subject.environ) or os.sep, *_BIN)}"
    if shutil.which("rehydrate", path=path) is None:
        detail = f"the command in {subject.short(registration.file)} finds no `rehydrate`"
        return [], Finding(False, detail, "install rehydrate so that a shell finds it, as with `uv tool install`")
    return [subject.own_command(each) for each in parts or [()]], None


def _gone(command: launch.Command) -> str | None:
    """The path that the command needs and that is not there."""
    if command.door is not None and not os.path.isfile(command.door):
        return command.door
    if not os.path.isfile(command.python):
        return command.python
    if not os.path.isdir(command.package):
        return None if os.path.isfile(command.package) else command.package
    package = os.path.join(command.package, "rehydrate")
    return None if os.path.isdir(package) else package


def _environ(environ: Mapping[str, str], stage: Mapping[str, str], private: str) -> dict[str, str]:
    """The host's environment, as far as it is known, with every home in the private folder and no setting of ours."""
    kept = {key: value for key, value in environ.items() if not key.startswith("REHYDRATE_") or key in _KEPT}
    homes = {name: os.path.join(private, name.lower()) for name in _XDG}
    return {**kept, **homes, "TMPDIR": private, **stage}


def _run(command: str | list[str], payload: bytes, folder: str, environ: Mapping[str, str], limit_s: float) -> _Ran:
    """Run a shell's command, or a program, and take everything it started down when its time is over."""
    words: Any = ["sh", "-c", command] if isinstance(command, str) and os.name != "nt" else command
    started_s = time.monotonic()
    process: subprocess.Popen[bytes] | None = None
    status: int | None
    try:
        with _uninterrupted():
            process = subprocess.Popen(
                words,
                shell=isinstance(words, str),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**environ, "PWD": folder},
                start_new_session=True,
            )
        answer, errors = process.communicate(payload, timeout=limit_s)
        status = process.returncode
    except subprocess.TimeoutExpired:
        assert process is not None
        _end(process)
        answer, errors = process.communicate()
        status = None
    except BaseException:  # Ctrl-C does not reach it in its own session
        if process is not None:
            _end(process)
        raise
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return _Ran(answer, lines[-1] if lines else "", status, round((time.monotonic() - started_s) * 1000))


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """What would end us meanwhile does so behind the block: what is started in it is known by then."""
    heard: list[int] = []
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and callable(signal.getsignal(number)):
            before[number] = signal.signal(number, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in heard:
        signal.raise_signal(number)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its session is its own, so nobody else's process is in the group
    else:
        process.kill()


def _passed(ran: _Ran, fallback: str, limit_s: float) -> _Ran:
    """What was run, when the host would look at its answer; ValueError, a clause, when it would not."""
    if ran.status is None:
        raise _TooSlow(f"it took longer than the {limit_s:g} s that it has, so the host drops its answer")
    is_silent = fallback == launch.SILENCE and ran.trouble and not ran.answer
    if is_silent or ran.answer in (b"{}\n", b"{}\r\n", b"{} \r\n"):
        raise ValueError(f"the hook fails, and only the command's fall-back answers: {ran.trouble or 'without a word'}")
    if ran.status != 0:
        raise ValueError(f"it ended with status {ran.status}, so the host drops its answer: {ran.trouble}")
    if ran.trouble:
        raise ValueError(f"it printed on standard error: {ran.trouble}")
    return ran


def _reinstall(subject: Subject) -> str:
    registration, again = subject.registration, "install rehydrate again"
    by_plugin = registration is not None and registration.remedy is not None
    return again if by_plugin else f"{again}, then run `{subject.install()}`"


def _mend(subject: Subject, command: launch.Command, fault: ValueError) -> str:
    registration = subject.registration
    if registration is not None and isinstance(fault, _TooSlow):
        where = f"{registration.place} of {subject.short(registration.file)}"
        return f"run `rehydrate doctor` again; if it stays so, write a larger timeout (whole seconds) at {where}"
    if command[:2] == subject.own_command()[:2]:
        return _reinstall(subject)
    return f"run `{subject.install()}`, which registers the installation that you are running now"
