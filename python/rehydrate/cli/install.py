"""`rehydrate install`: register the hook with clients."""

import os
from typing import Any

import click

from rehydrate import clients as known
from rehydrate import hostfile, launch
from rehydrate.cli import options, output, registration
from rehydrate.hook import MESSAGES


@click.command(short_help="Register the hook with the clients found here.")
@options.clients
@click.option("--dry-run", is_flag=True, help="Show the change as a diff, write nothing.")
@click.option("--replace", is_flag=True, help="Take out an older script's hook that would deliver a second time.")
@click.option(
    "--as",
    "message",
    metavar="KIND",
    type=click.Choice(MESSAGES),
    default=MESSAGES[0],
    show_default=True,
    help="How the text reaches the model: systemMessage, or ephemeralMessage for versions that drop that.",
)
@click.option("--project", is_flag=True, help="Register in this folder's .agents/hooks.json, not in the user's.")
@options.as_json
@options.debug
def install(clients: tuple[str, ...], dry_run: bool, replace: bool, message: str, project: bool, as_json: bool) -> int:
    """Register the hook with CLIENTs; without one: with every supported client found here.

    Other hooks are kept as they are, the file before the change lies beside it as FILE.rehydrate-TIME.bak, and
    `rehydrate uninstall` takes it all back.

    \b
    Examples:
      rehydrate install --dry-run
      rehydrate install antigravity
    """
    names = clients or registration.found(os.environ)
    if not names:
        raise click.ClickException(
            f"no supported client was found here ({registration.searched(os.environ)}); to register all the same: "
            + " or ".join(f"`rehydrate install {name}`" for name in known.FOLDERS)
        )
    workspace = options.working_folder() if project else None
    if project and workspace is None:
        raise click.ClickException("the working folder is gone; go to the project's folder and run this again")
    plans = [_plan(name, workspace=workspace, message=message, replace=replace) for name in dict.fromkeys(names)]
    told = registration.carry_out(plans, dry_run=dry_run)
    status = registration.tell(told, as_json=as_json)
    if not dry_run and not as_json and any(each["action"] in ("added", "updated") for each in told):
        click.echo("It works from your next prompt on. `rehydrate doctor` tries it now and says whether all is well.")
        for each in told:
            _warn_of_another(each["client"], each["file"])
    return status


def _warn_of_another(name: str, file: str) -> None:
    """Say when the client runs the hook from another file of the user's or this folder's, too."""
    client: Any = known.module(name, "install")
    here = options.working_folder()
    others = [client.hooks_file(os.environ), *([client.hooks_file(os.environ, workspace=here)] if here else [])]
    for other in others:
        if other != file and client.plan_uninstall(other, os.environ).action == "removed":
            where = output.short(other, os.environ)
            output.warn([f"it is registered in {where}, too, and one is enough: `rehydrate doctor` says what to do"])


def _plan(name: str, *, workspace: str | None, message: str, replace: bool) -> hostfile.Plan:
    client: Any = known.module(name, "install")
    file = client.hooks_file(os.environ, workspace=workspace)
    gone_soon = launch.throw_away(os.environ)
    if gone_soon:
        why = (
            f"this rehydrate runs from a throw-away environment ({gone_soon}); install it to stay, for example with "
            "`uv tool install rehydrate` or `pipx install rehydrate`, and run `rehydrate install` again"
        )
        return hostfile.Plan(name, file, "refused", why=why)
    try:
        command = client.hook_command(message)
    except ValueError as error:
        return hostfile.Plan(name, file, "refused", why=f"{error}; install rehydrate somewhere else and run this again")
    plan: hostfile.Plan = client.plan_install(file, command, replace=replace)
    return plan
