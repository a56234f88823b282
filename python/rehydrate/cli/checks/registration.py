"""Is the hook registered where the host reads it, once, and switched on?"""

import os
from collections.abc import Iterator
from typing import Any

from rehydrate import hostfile, jsonspans
from rehydrate.settings import read_settings

from .subject import Finding, Subject

OFF_FILE = ".rehydrate-off"


def registration(subject: Subject) -> Iterator[Finding]:
    """The registration by which the hook runs here."""
    found = subject.registration
    if found is None:
        yield _missing(subject)
        return
    where = f"{found.place} of {subject.short(found.file)}"
    command = subject.command(found)
    if command is not None and command[:2] != subject.own_command()[:2]:
        where += f", for the installation in {subject.short(command.package)}, which is not the one you are running"
    home = subject.module("install").moved_home(subject.environ)
    where += f"; the client must be started with {home}, too, or it reads another file" if home else ""
    lacking = subject.module("registered").lacking(found, subject.environ)
    if lacking is None:
        yield Finding(True, where)
        return
    detail, fix = lacking
    yield Finding(False, f"{where}; {detail}", f"run `{fix or subject.install()}`")


def twice(subject: Subject) -> Iterator[Finding]:
    """Every other registration by which the same would be put back a second time."""
    main, found = subject.registration, False
    for file in _files(subject):
        for each in subject.read(file).registrations:
            if not each.may_run or each == main:
                continue
            if each.is_older:
                found = True
                yield _older(subject, each)
            elif main is not None and main.file in (file, subject.own_file) and each.repeats(main):
                found = True
                yield _second(subject, each, main)
    if not found:
        yield Finding(True, "no other registration delivers")


def settings(subject: Subject) -> Iterator[Finding]:
    """The settings that cannot be used."""
    _, problems = read_settings(subject.environ)
    for problem in problems:
        yield Finding(False, problem, "correct it (`rehydrate config` shows what holds instead)")
    if not problems:
        yield Finding(True, "every setting can be used")


def off(subject: Subject) -> Iterator[Finding]:
    """What switches the hook off."""
    found = list(_switches(subject))
    yield from found or [Finding(True, "nothing switches it off")]


def _switches(subject: Subject) -> Iterator[Finding]:
    if subject.environ.get("REHYDRATE_OFF", "") not in ("", "0"):
        yield Finding(False, "REHYDRATE_OFF is set in this shell", "unset REHYDRATE_OFF and start the client again")
    install = subject.module("install")
    for what, fix, file in install.switches(subject.environ, folder=subject.folder, registration=subject.registration):
        shown = subject.short(file) if file is not None else ""
        yield Finding(False, what.replace("{file}", shown), fix.replace("{file}", shown))
    read, _ = read_settings(subject.environ)
    if subject.client in read.disabled:
        fix = f"run `rehydrate config set clients.{subject.client}.enabled true`"
        yield Finding(False, "the settings switch the hook off for this client", fix)
    newest = subject.conversations[:1]
    folders = [*([subject.folder] if subject.folder else []), *(f for each in newest for f in subject.workspaces(each))]
    for folder in dict.fromkeys(folders):
        path = os.path.join(folder, OFF_FILE)
        if os.path.lexists(path):
            yield Finding(False, f"{subject.short(path)} switches it off there", f"remove {subject.short(path)}")


def _files(subject: Subject) -> list[str]:
    """Every file that may hold a registration, each once, the user's own first."""
    folders = [subject.folder] if subject.folder else []
    folders += [folder for each in subject.conversations for folder in subject.workspaces(each)]
    files = [subject.own_file, *(file for folder in folders for file in subject.files_in(folder))]
    files += [*hostfile.remembered(subject.client, subject.environ), *subject.also_read]
    seen: dict[str, str] = {}
    for file in files:
        seen.setdefault(os.path.realpath(file), file)
    return list(seen.values())


def _missing(subject: Subject) -> Finding:
    """Why the hook does not run."""
    file, reading = subject.own_file, subject.read(subject.own_file)
    shown, install = subject.short(file), f"run `{subject.install()}`"
    problem = reading.problem
    if isinstance(problem, subject.module("registered").Dropped):
        detail = f"{problem.what.replace('{file}', shown)}: {problem}"
        ours = subject.module("registered").ours_in(file, problem.hook) if problem.hook is not None else None
        if ours is not None:
            return Finding(False, detail, _put_right(subject, ours))
        return Finding(False, detail, f"correct that in {shown}, then {install}")
    if isinstance(problem, jsonspans.Unclear):
        detail = f"it is not sure what the client makes of {shown}: {problem}"
        return Finding(False, detail, f"correct that in {shown}, then {install}")
    if isinstance(problem, OSError):
        detail = f"{shown} cannot be read: {problem.strerror or problem}"
        return Finding(False, detail, f"see to it that it is a file that you may read, then {install}")
    if problem is not None:
        return Finding(False, f"{shown} cannot be used: {problem}", f"move it away, then {install}")
    for each in reading.registrations:
        if not each.is_older:
            return Finding(False, f"{each.place} of {shown} is not run: {each.fault}", _put_right(subject, each))
    if not os.path.lexists(file):
        return Finding(False, f"it is not registered: there is no {shown}", install)
    other = subject.module("registered").other_command(file)
    if other is not None:
        detail = f"{other} of {shown} has our name, but its command is not ours"
        return Finding(False, detail, f"give that hook another name in {shown}, then {install}")
    return Finding(False, f"it is not registered in {shown}", install)


def _put_right(subject: Subject, registration: Any) -> str:
    install = f"`{subject.install(like=registration)}`"
    if registration.is_disabled and subject.read(registration.file).problem is None:
        return f"run {install}"
    if registration.is_listed:
        return f"run `rehydrate uninstall {subject.client}`, then {install}"
    shown = subject.short(registration.file)
    return f"take the hook {registration.hook!r} out of {shown}, then run {install}"


def _older(subject: Subject, registration: Any) -> Finding:
    shown = subject.short(registration.file)
    detail = f"{registration.place} of {shown} runs an older script that puts the history back, too"
    if registration.file == subject.own_file:
        return Finding(False, detail, f"run `{subject.install('--replace')}`")
    return Finding(False, detail, f"take the hook {registration.hook!r} out of {shown}")


def _second(subject: Subject, registration: Any, main: Any) -> Finding:
    shown = subject.short(registration.file)
    detail = f"{registration.place} of {shown} runs the hook, too, beside {main.place} of {subject.short(main.file)}"
    uninstall, install = f"`rehydrate uninstall {subject.client}`", f"`{subject.install()}`"
    if registration.remedy is not None:
        return Finding(False, detail, f"run `{registration.remedy}`, or {uninstall} to keep that one")
    if registration.file == main.file:
        return Finding(False, detail, f"run {uninstall}, then {install}")
    workspace = os.path.dirname(os.path.dirname(registration.file))
    if registration.file != subject.files_in(workspace)[0]:
        return Finding(False, detail, f"take the hook {registration.hook!r} out of {shown}")
    folder = subject.short(workspace)
    return Finding(False, detail, f"run {uninstall} in {folder}, then {install}")
