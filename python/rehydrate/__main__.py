"""`python -m rehydrate`: the command line, where the console script is not on the PATH."""

from rehydrate.cli import main

main()
