"""Agents that run elsewhere: only who they are is kept, how they stand is asked for.

Each is one small file below the session.  It goes when whoever runs the agent says that there is no such agent, or that
it is archived, and for nothing else: a network that fails says nothing about the agent.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rehydrate.paths import is_id

from .meta import read_meta, write_meta
from .place import Place

NOT_FOUND = "not found"
"""The state of an agent that there is not, or not any more."""
ARCHIVED = "archived"
"""The state of an agent that will never go on."""
GONE = frozenset({NOT_FOUND, ARCHIVED})
"""States in which an agent is forgotten."""

_ENDING = ".meta.json"


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """Who an agent elsewhere is."""

    id: str
    about: Mapping[str, object]
    """What `remember_remote` was given: where it runs, under which name."""


@dataclass(frozen=True, slots=True)
class Polled:
    """What came of asking about one agent."""

    agent: RemoteAgent
    state: str | None
    """As it was told; None when that failed."""
    error: Exception | None
    """What failed; None when it was told."""


def remember_remote(place: Place, agent_id: str, about: Mapping[str, object]) -> None:
    """Keep who an agent is, in the place of what was known of it; on disk when this returns.

    Raises ValueError for an id that is no plain name and for what JSON cannot hold, and the OSError of the system.
    """
    write_meta(place.remote_meta_path(agent_id), about)


def forget_remote(place: Place, agent_id: str) -> None:
    """It is not known any more, if it was.  Raises ValueError for an id that is no plain name, and OSError."""
    with suppress(FileNotFoundError):
        os.unlink(place.remote_meta_path(agent_id))


def remote_agents(place: Place) -> list[RemoteAgent]:
    """Those that are known, by id.  One whose file says nothing that can be read is among them, without a word."""
    folder = os.path.dirname(place.remote_meta_path("any"))
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    ids = [name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)]
    return [RemoteAgent(each, read_meta(place.remote_meta_path(each))) for each in ids if is_id(each)]


def poll_remote(place: Place, ask: Callable[[RemoteAgent], str]) -> list[Polled]:
    """Ask about every agent that is known; those that are GONE are forgotten.

    `ask` gives the state of one, in words of the host's but for NOT_FOUND and ARCHIVED.  What it raises is told, and
    the agent stays known.
    """
    found = []
    for agent in remote_agents(place):
        try:
            state = ask(agent)
        except Exception as error:
            found.append(Polled(agent, None, error))
            continue
        if state in GONE:
            forget_remote(place, agent.id)
        found.append(Polled(agent, state, None))
    return found
