"""What `install` and `uninstall` have in common: plans carried out and told."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click

from rehydrate import clients, hostfile
from rehydrate.cli import output


def found(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The supported clients that are there."""
    return tuple(name for name in clients.HOOKED if clients.module(name, "install").found(environ))


def searched(environ: Mapping[str, str]) -> str:
    """Where each supported client would be, for people."""
    homes = ((name, clients.module(name, "layout").home(environ)) for name in clients.HOOKED)
    return "; ".join(f"{name} would be in {output.short(home, environ)}" for name, home in homes)


def carry_out(plans: Iterable[hostfile.Plan], *, dry_run: bool, purge: bool = False) -> list[dict[str, Any]]:
    """Carry the plans out (a dry run only looks at them); what was done, as `--json` prints it."""
    told = []
    for plan in plans:
        backup = None
        if not dry_run and plan.action != "refused":
            try:
                backup = hostfile.carry_out(plan, os.environ, purge=purge)
            except OSError as error:
                where = os.fsdecode(error.filename or plan.file)
                why = f"{where} cannot be written: {error.strerror}; see to that and run this again"
                plan = replace(plan, action="refused", why=why)
            except ValueError as error:  # it is another kind of file by now
                why = f"{plan.file} cannot be used: {error}; move it away and run this again"
                plan = replace(plan, action="refused", why=why)
        told.append(_told(plan, backup))
        if dry_run:
            told[-1]["diff"] = hostfile.diff(plan) if plan.action != "refused" else ""
    return told


def tell(told: list[dict[str, Any]], *, as_json: bool) -> int:
    """Say what was done; the exit status: 1 when something was refused, else 0."""
    if as_json:
        output.print_json(told)
    else:
        for each in told:
            _print(each)
    return 1 if any(each["action"] == "refused" for each in told) else 0


def _told(plan: hostfile.Plan, backup: str | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "client": plan.client,
        "file": plan.file,
        "action": plan.action,
        "command": plan.command,
        "backup": backup,
    }
    if plan.why is not None:
        told["why"] = plan.why
    return told


def _print(told: dict[str, Any]) -> None:
    file = output.short(told["file"], os.environ)
    if told.get("diff"):
        click.echo(output.visible(told["diff"]), nl=False)
        return
    if told["action"] == "refused":
        click.echo(f"{told['client']}: refused, {file}: {output.one_line(told['why'])}", err=True)
        return
    words = {"added": "added to", "updated": "updated in", "removed": "removed from"}
    words |= {"present": "is already in", "absent": "is not in"}
    backup = f" (backup: {output.short(told['backup'], os.environ)})" if told["backup"] else ""
    click.echo(f"{told['client']}: the hook {words[told['action']]} {file}{backup}")
