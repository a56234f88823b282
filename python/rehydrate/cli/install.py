"""`rehydrate install`: register the hook with clients."""

import os
from collections.abc import Iterable
from typing import Any

import click

from rehydrate import clients as known
from rehydrate import hostfile, launch
from rehydrate.cli import config, options, output, registration
from rehydrate.hook import MESSAGES
from rehydrate.settings import VALUES_MAX, read_settings, variable


@click.command(short_help="Register the hook with the clients found here.")
@options.hooked
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
@click.option("--project", is_flag=True, help="Register in a file of this folder, not in the user's.")
@click.option(
    "--values",
    metavar="N",
    type=click.IntRange(1, VALUES_MAX),
    help="For claude-code: how many values of up to 9,500 characters a delivery has (default: the setting `values`).",
)
@options.as_json
@options.debug
def install(
    clients: tuple[str, ...],
    dry_run: bool,
    replace: bool,
    message: str,
    project: bool,
    values: int | None,
    as_json: bool,
) -> int:
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
            + " or ".join(f"`rehydrate install {name}`" for name in known.HOOKED)
        )
    workspace = options.working_folder() if project else None
    if project and workspace is None:
        raise click.ClickException("the working folder is gone; go to the project's folder and run this again")
    _refuse_strange_options(names, message=message, values=values)
    chosen = {"message": message, "values": values or read_settings(os.environ)[0].values}
    plans = [_plan(name, workspace=workspace, replace=replace, chosen=chosen) for name in dict.fromkeys(names)]
    told = registration.carry_out(plans, dry_run=dry_run)
    status = registration.tell(told, as_json=as_json)
    if values is not None and not dry_run:
        _keep(values, told, as_json=as_json)
    changed = [each["client"] for each in told if each["action"] in ("added", "updated")]
    if not dry_run and not as_json and changed:
        when = " and ".join(f"{known.module(name, 'install').WORKS_FROM} with {name}" for name in changed)
        click.echo(f"It works from {when} on. `rehydrate doctor` tries it now and says whether all is well.")
        for each in told:
            _warn_of_another(each["client"], each["file"])
    return status


def _refuse_strange_options(names: Iterable[str], *, message: str, values: int | None) -> None:
    """Say when an option is given that none of the clients takes; where several are meant, the others pass it over."""
    given = {"message": ("--as", message != MESSAGES[0]), "values": ("--values", values is not None)}
    taken = {option for name in names for option in known.module(name, "install").OPTIONS}
    for option, (flag, is_given) in given.items():
        if is_given and option not in taken:
            raise click.UsageError(f"{flag} is not for {' or '.join(names)}")


def _keep(values: int, told: list[dict[str, Any]], *, as_json: bool) -> None:
    """Let the setting say what was registered, for the hook reads how many values there are from it."""
    registered = [each["client"] for each in told if each["action"] != "refused"]
    if not any("values" in known.module(name, "install").OPTIONS for name in registered):
        return
    if read_settings(os.environ)[0].values != values:
        file = config.store("values", values)
        if not as_json:
            click.echo(f"values is set to {values} in {output.short(file, os.environ)}")
    if read_settings(os.environ)[0].values != values:
        output.warn([f"{variable('values')} in the environment stands above that: unset it, for the hook goes by it"])


def _warn_of_another(name: str, file: str) -> None:
    """Say when the client runs the hook from another file of the user's or this folder's, too."""
    client: Any = known.module(name, "install")
    here = options.working_folder()
    others = [client.hooks_file(os.environ), *(client.workspace_files(here) if here else [])]
    for other in others:
        if other != file and client.plan_uninstall(other, os.environ).action == "removed":
            where = output.short(other, os.environ)
            output.warn([f"it is registered in {where}, too, and one is enough: `rehydrate doctor` says what to do"])


def _plan(name: str, *, workspace: str | None, replace: bool, chosen: dict[str, Any]) -> hostfile.Plan:
    client: Any = known.module(name, "install")
    file = client.hooks_file(os.environ, workspace=workspace)
    gone_soon = launch.throw_away(os.environ)
    if gone_soon:
        why = (
            f"this rehydrate runs from a throw-away environment ({gone_soon}); install it to stay, for example with "
            "`uv tool install rehydrate` or `pipx install rehydrate`, and run `rehydrate install` again"
        )
        return hostfile.Plan(name, file, "refused", why=why)
    elsewhere = client.elsewhere(os.environ, folder=options.working_folder())
    if elsewhere is not None:
        return hostfile.Plan(name, file, "refused", why=elsewhere)
    try:
        command = client.hook_command(**{option: chosen[option] for option in client.OPTIONS})
    except ValueError as error:
        return hostfile.Plan(name, file, "refused", why=f"{error}; install rehydrate somewhere else and run this again")
    plan: hostfile.Plan = client.plan_install(file, command, replace=replace)
    return plan
