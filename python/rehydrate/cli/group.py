"""The group of all commands, and how each of them ends.

Exit status: 0 done, 1 not found, refused or failed, 2 wrong usage.  An error is one sentence on standard error; the
traceback is shown with `--debug` only.  When the reader of our output goes away, we stop without a word.
"""

import io
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, TextIO

import click

from rehydrate import __version__
from rehydrate.cli import output
from rehydrate.cli.options import Run, working_folder
from rehydrate.session.errors import SessionError
from rehydrate.settings import nearest

COMMANDS = ("install", "uninstall", "doctor", "sessions", "show", "lineage", "scan", "session", "context", "config")
"""One module of this package each, with the command under the same name."""

_HELP_COLUMNS = 80
"""Help is no wider on any terminal."""


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its short help whole, on a narrow terminal in several lines."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.short_help or "") for name, each in found if each is not None])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but for a name that there is not with the one that was probably meant."""
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = nearest(name, COMMANDS)
        known = f"did you mean {near}?" if near else f"there are: {', '.join(COMMANDS)}"
        raise click.UsageError(output.one_line(f"there is no command {name!r}; {known}"), ctx)

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
    invoke_without_command=True,
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
@click.pass_context
def rehydrate(ctx: click.Context) -> None:
    """Give a coding agent its own history back, verbatim, after a compaction.

    \b
    Examples:
      rehydrate install    register the hook
      rehydrate doctor     does it work?
      rehydrate show       what is given back
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run() -> int:
    """Run the command that the process was started with; its exit status."""
    status = _run()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:  # a full disk: the interpreter would meet it once more when it ends
            _drop_output(stream)
    return status


def _run() -> int:
    output.prepare()
    asked = Run()
    try:
        # Left to itself, click wraps at 50 columns where a terminal has fewer.
        width = min(output.columns() or _HELP_COLUMNS, _HELP_COLUMNS) - 2
        status: Any = rehydrate.main(prog_name="rehydrate", standalone_mode=False, obj=asked, terminal_width=width)
        output.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        told = io.StringIO()
        error.show(told)
        with suppress(OSError):
            click.echo(output.visible(told.getvalue()), nl=False, err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, _ReaderGone):
        _drop_output(sys.stdout)
        return 0
    except Exception as error:
        with suppress(OSError):
            if asked.debug:
                click.echo(output.visible(traceback.format_exc()), nl=False, err=True)
            else:
                click.echo(f"Error: {output.homely(_sentence(error), os.environ)}", err=True)
        return 1


def _sentence(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None and working_folder() is None:
        return "the working folder is gone; change to one that is there"
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        return f"{where}{error.strerror}"
    if isinstance(error, (ValueError, LookupError, SessionError)) and error.args:
        return str(error.args[0])
    return f"this should not happen ({type(error).__name__}: {error}); --debug shows where it did"


def _drop_output(stream: TextIO) -> None:
    """Let nothing more be written to a closed pipe or a full disk when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
