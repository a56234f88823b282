"""The command line.  `rehydrate hook` is what a host runs before every model call: it never pays for the rest."""

import sys


def main() -> None:
    """The console script `rehydrate`."""
    if sys.argv[1:2] == ["hook"]:
        from rehydrate.hook import main as hook

        hook(sys.argv[2:])
    else:
        from rehydrate.cli.group import run

        sys.exit(run())
