"""The group of all commands, and how each of them ends.

Exit status: 0 done, 1 not found, refused or failed, 2 wrong usage.  An error is one sentence on standard error; the
traceback is shown with `--debug` only.  When the reader of our output goes away, we stop without a word.
"""

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from rehydrate import __version__
from rehydrate.cli import output
from rehydrate.cli.options import Run

COMMANDS = ("install", "uninstall", "show", "lineage", "scan")
"""One module of this package each, with the command under the same name."""


class Commands(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """None when there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rehydrate.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but a closed pipe is ours to meet: click would end the process with status 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None


class _ReaderGone(Exception):
    """Nobody reads our output any more."""


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from rehydrate.scan import BACKEND

    click.echo(f"rehydrate {__version__}, backend {BACKEND}")
    ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`rehydrate hook CLIENT` is what a client runs; it is never needed by hand.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and the backend.",
)
def rehydrate() -> None:
    """Give a coding agent its own history back, verbatim, after a compaction.

    \b
    Examples:
      rehydrate install          register with the clients found here
      rehydrate show             what the model was given back in this folder
      rehydrate lineage --json   the conversation's ancestors across /fork
    """


def run() -> int:
    """Run the command that the process was started with; its exit status."""
    output.prepare()
    asked = Run()
    try:
        status: Any = rehydrate.main(prog_name="rehydrate", standalone_mode=False, obj=asked)
        output.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, _ReaderGone):
        _drop_output()
        return 0
    except Exception as error:
        if asked.debug:
            traceback.print_exc()
        else:
            click.echo(f"Error: {output.one_line(_sentence(error))}", err=True)
        return 1


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        return f"{where}{error.strerror}"
    if isinstance(error, (ValueError, LookupError)) and error.args:
        return str(error.args[0])
    return f"this should not happen ({type(error).__name__}: {error}); --debug shows where it did"


def _drop_output() -> None:
    """Let nothing be written to the closed pipe when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
