"""What a shell offers while a command is typed.

It is asked at every press of a key, so nothing slow is done here, and whatever goes wrong offers nothing.  A shell puts
what is offered on the command line as it is, so only names are offered that mean nothing to a shell.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

import click
from click.shell_completion import CompletionItem

from rehydrate.cli import output
from rehydrate.cli.choose import WorkedIn, newest_first, with_roots
from rehydrate.clients import FOLDERS, OWN

OFFERED = 50
"""Conversations at most, the newest ones."""
TYPES = (
    *("USER_INPUT", "PLANNER_RESPONSE", "CHECKPOINT", "SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE"),
    *("user", "assistant", "system", "attachment"),
)
"""Of records: those that every conversation of a client may have.  The others are named after tools, or rare."""

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def complete_session(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids, each with when it was written last and where it worked; files where no id begins so."""
    return _ids(begun, FOLDERS)


def complete_own(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """The same, of sessions of one's own agent alone."""
    return _ids(begun, (OWN,))


def _ids(begun: str, names: Iterable[str]) -> list[CompletionItem]:
    try:
        found = list(islice(_sessions(begun, names), OFFERED))
    except Exception:  # an error would stand in the middle of what is being typed
        found = []
    return found or [CompletionItem(begun, type="file")]


def complete_types(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """The last of several types with commas between them."""
    before, comma, last = begun.rpartition(",")
    named = before.split(",")
    left = (each for each in TYPES if each.upper().startswith(last.upper()) and each not in named)
    return [CompletionItem(before + comma + each) for each in left]


def _sessions(begun: str, names: Iterable[str]) -> Iterator[CompletionItem]:
    seen: set[str] = set()
    worked_in = WorkedIn()
    for modified_s, client, place in newest_first(names, with_roots(os.environ), prefix=begun):
        if place.session in seen or not _PLAIN.fullmatch(place.session):
            continue
        seen.add(place.session)
        folders = worked_in(client, place)
        told = f"{output.when(modified_s)} {output.short(folders[-1] if folders else '', os.environ)}"
        yield CompletionItem(place.session, help=told.rstrip())
