"""`rehydrate uninstall`: take the hook out of clients."""

import contextlib
import os
import shutil
from typing import Any

import click

from rehydrate import clients as known
from rehydrate import hostfile
from rehydrate.cli import options, output, registration
from rehydrate.paths import settings_file, state_folder

_SHOWN = 20
"""How many of the files that are removed besides are listed."""


@click.command(short_help="Take the hook out again; --purge leaves nothing behind.")
@options.hooked
@click.option("--dry-run", is_flag=True, help="Show the change as a diff, write nothing.")
@click.option(
    "--purge",
    is_flag=True,
    help="Remove registrations in other folders, backups, states, settings and all else that rehydrate keeps, too.",
)
@options.as_json
@options.debug
def uninstall(clients: tuple[str, ...], dry_run: bool, purge: bool, as_json: bool) -> int:
    """Take the hook out of CLIENTs; without one: out of every supported client found here.

    A file that nobody has changed since `install` is given back byte for byte; from any other just our entry is
    removed. This folder's own files are seen to as well.

    \b
    Examples:
      rehydrate uninstall
      rehydrate uninstall antigravity --purge
    """
    names = tuple(dict.fromkeys(clients or _found(purge=purge)))
    plans = [plan for name in names for plan in _plans(name, purge=purge)]
    leavings = _leavings(names, plans) if purge else []
    is_last = not any(_is_in_use(name) for name in known.HOOKED if name not in names)
    own_folder = state_folder(os.environ) if purge and is_last else None
    above = hostfile.folders_above_ledger(os.environ) if own_folder else []
    if own_folder and os.path.isdir(own_folder) and not os.path.islink(own_folder):
        leavings.append(own_folder)
    settings = settings_file(os.environ) if own_folder else None
    if settings and os.path.lexists(settings):
        leavings.append(settings)
    told = registration.carry_out(plans, dry_run=dry_run, purge=purge)
    status = registration.tell(told, as_json=as_json)
    if not names and not as_json:
        click.echo(f"no supported client was found here ({registration.searched(os.environ)}): nothing to do")
    if leavings and status == 0:
        if not dry_run:
            _remove(leavings, own_folder)
            hostfile.remove_folders(above)
            _remove_folder(settings)
        if not as_json:
            click.echo(_removed(leavings, dry_run=dry_run))
    return status


def _found(*, purge: bool) -> tuple[str, ...]:
    """The clients that are here; to purge also those that are gone, or have moved, and in a file of which we are."""
    here = registration.found(os.environ)
    return tuple(name for name in known.HOOKED if name in here or (purge and hostfile.remembered(name, os.environ)))


def _is_in_use(name: str) -> bool:
    """Whether the hook is registered with a client, so that our own files are still needed."""
    client: Any = known.module(name, "install")
    folder = options.working_folder()
    if hostfile.remembered(name, os.environ) or client.also_read(os.environ, folder=folder):
        return True
    return any(client.plan_uninstall(file, os.environ).action == "removed" for file in _files(client, folder))


def _files(client: Any, folder: str | None) -> list[str]:
    """The user's, and those of the working folder."""
    return [client.hooks_file(os.environ), *(client.workspace_files(folder) if folder else [])]


def _plans(name: str, *, purge: bool) -> list[hostfile.Plan]:
    """For the user's file; for this folder's, and to purge for any that we know of, where something of ours is."""
    client: Any = known.module(name, "install")
    files = _files(client, options.working_folder())
    remembered = hostfile.remembered(name, os.environ) if purge else []
    first, *others = [client.plan_uninstall(file, os.environ) for file in dict.fromkeys([*files, *remembered])]
    return [first, *(each for each in others if each.action == "removed" or _lingers(each, remembered, purge))]


def _lingers(plan: hostfile.Plan, remembered: list[str], purge: bool) -> bool:
    """Whether something of ours is or may be there although nothing is to be taken out."""
    return (plan.action == "refused" and plan.file in remembered) or (purge and bool(hostfile.backups(plan.file)))


def _leavings(names: tuple[str, ...], plans: list[hostfile.Plan]) -> list[str]:
    """The backups and the states."""
    backups = [path for plan in plans for path in hostfile.backups(plan.file)]
    return backups + [path for name in names for path in known.module(name, "install").leavings(os.environ)]


def _remove(paths: list[str], own_folder: str | None) -> None:
    for path in paths:
        if path == own_folder:
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.isdir(path) and not os.path.islink(path):
            with contextlib.suppress(OSError):  # something was put into it meanwhile
                os.rmdir(path)
        else:
            with contextlib.suppress(OSError):  # a backup went with its registration
                os.unlink(path)


def _remove_folder(settings: str | None) -> None:
    """The folder of the settings, when nothing else is in it."""
    if settings:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(settings))


def _removed(paths: list[str], *, dry_run: bool) -> str:
    lines = ["to be removed, too:" if dry_run else "removed, too:"]
    lines += [f"  {output.short(path, os.environ)}" for path in paths[:_SHOWN]]
    return "\n".join([*lines, *([f"  and {len(paths) - _SHOWN:,} more"] if len(paths) > _SHOWN else [])])
