"""Options that several commands have, and what holds for the run of any."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from rehydrate.cli.complete import complete_session
from rehydrate.clients import FOLDERS, HOOKED, OWN

NO_HOOK = (
    "session has no hook to register: `rehydrate show`, `sessions` and `lineage` look at what your own agent wrote as "
    "it is"
)

Command = TypeVar("Command", bound=Callable[..., object])


@dataclass
class Run:
    """What holds for the whole run of the command line."""

    debug: bool = False
    """Show tracebacks."""


def _set_debug(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.ensure_object(Run).debug = True


def debug(command: Command) -> Command:
    """`--debug`, which every command has."""
    return click.option(
        "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_set_debug, help="Show tracebacks."
    )(command)


def as_json(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


def clients(command: Command) -> Command:
    """Any number of clients by name."""
    return click.argument("clients", metavar="[CLIENT]...", nargs=-1, type=click.Choice(list(FOLDERS)))(command)


class _Hooked(click.Choice[str]):
    """A client that runs our hook."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As click does, but for our own sessions with the reason."""
        if value == OWN:
            raise click.ClickException(NO_HOOK)
        return super().convert(value, param, ctx)


def hooked(command: Command) -> Command:
    """Any number of clients that run our hook, by name."""
    return click.argument("clients", metavar="[CLIENT]...", nargs=-1, type=_Hooked(list(HOOKED)))(command)


def session(command: Command) -> Command:
    """A conversation; see `choose`."""
    return click.argument("session", required=False, shell_complete=complete_session)(command)


def working_folder() -> str | None:
    """None when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None
