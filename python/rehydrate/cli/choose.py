"""Which conversation a person means: by id, by the beginning of one, by path, or the newest of this folder."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from rehydrate import clients, plan, state
from rehydrate.settings import read_settings, variable
from rehydrate.state import Delivery

_SHOWN = 5
"""How many conversations an error names."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation and what is remembered of it."""

    client: str
    place: Any
    state: state.State | None
    """None, too, for a client whose hook keeps a plan alone, or that has none."""
    delivery: Delivery | None = None
    """The last one; its step is the number of the boundary."""

    @property
    def workspaces(self) -> tuple[str, ...]:
        """The folders that the hook was told of."""
        return self.state.workspaces if self.state else ()


class NotFound(LookupError):
    """There is no such conversation, or more than one; the message says what to do next."""


def choose(named: str | None, *, environ: Mapping[str, str], folder: str | None) -> Chosen:
    """The conversation called `named` (`ID`, the beginning of one, `client:ID`, or a path), None for the newest of
    `folder` (None when that is gone).  Raises NotFound.
    """
    environ = with_roots(environ)
    if named is None:
        return _newest_of(folder, environ)
    client, colon, rest = named.partition(":")
    if colon and client in clients.FOLDERS:
        return _by_id(rest, (client,), environ)
    if os.sep in named or (os.path.lexists(named) and not _has_id(named, environ)):
        return _by_path(named, environ)
    return _by_id(named, clients.FOLDERS, environ)


def own(named: str, *, environ: Mapping[str, str]) -> str:
    """The file of a session of one's own agent: by its path, its folder's, its id, or the beginning of that.  Raises
    NotFound; what is named by a path need not be one.
    """
    client, colon, rest = named.partition(":")
    if colon and client == clients.OWN:
        named = rest
    elif os.sep in named or os.path.lexists(named):
        place = clients.module(clients.OWN, "layout").place_of(named) if os.path.isdir(named) else None
        return os.path.abspath(named if place is None else place.path)
    return str(_by_id(named, (clients.OWN,), with_roots(environ)).place.path)


def with_roots(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment, with the folders of one's own sessions that the settings name."""
    roots = read_settings(environ)[0].session_roots
    return {**environ, variable("session_roots"): os.pathsep.join(roots)}


def newest_first(
    names: Iterable[str], environ: Mapping[str, str], *, prefix: str = ""
) -> Iterator[tuple[float, str, Any]]:
    """When each conversation whose id begins with `prefix` was last written, its client and its place; of those not
    asked for none is opened.
    """
    return merge(*(_of_client(name, environ, prefix) for name in names), key=lambda each: -each[0])


def _of_client(client: str, environ: Mapping[str, str], prefix: str) -> Iterator[tuple[float, str, Any]]:
    layout = clients.module(client, "layout")
    for place in layout.every(environ, prefix=prefix):
        yield layout.modified_s(place), client, place


def _by_path(path: str, environ: Mapping[str, str]) -> Chosen:
    layouts = {client: clients.module(client, "layout") for client in clients.FOLDERS}
    found = [(client, place) for client, each in layouts.items() if (place := each.place_of(path)) is not None]
    # A client takes any file that it is given; whose it is, is asked where several do.
    # What our own library wrote says so itself, even where a client keeps its files.
    for client, place in sorted(
        found, key=lambda each: (each[0] != clients.OWN, not layouts[each[0]].recognises(each[1]))
    ):
        return remembered(client, place, environ)
    if not os.path.lexists(path):
        raise NotFound(f"{path}: there is no such file or folder; give a transcript, its folder or a conversation id")
    raise NotFound(f"{path}: there is no transcript here; give a transcript, its folder or a conversation id")


def _has_id(named: str, environ: Mapping[str, str]) -> bool:
    return any(clients.module(client, "layout").find(environ, named) for client in clients.FOLDERS)


def _by_id(named: str, names: Iterable[str], environ: Mapping[str, str]) -> Chosen:
    """The conversation with this id, else the only one whose id begins so."""
    found: list[Chosen] = []
    for client in names:
        layout = clients.module(client, "layout")
        exact = layout.find(environ, named)
        if exact is not None:
            return remembered(client, exact, environ)
        seen: dict[str, Any] = {}
        for place in islice(layout.every(environ, prefix=named), 100) if named else ():
            seen.setdefault(place.session, place)  # of one id under several applications the newest
        found += [remembered(client, place, environ) for place in seen.values()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(f"no conversation {named!r} here; `rehydrate sessions` lists them; or give a transcript's path")
    ids = ", ".join(each.place.session for each in found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
    raise NotFound(f"several conversations begin with {named!r}: {ids}; give more of the id")


def _newest_of(folder: str | None, environ: Mapping[str, str]) -> Chosen:
    """The newest conversation that worked in the folder, or in one that holds it."""
    above = {each for path in (folder, os.path.realpath(folder)) for each in _upwards(path)} if folder else set()
    newest = None
    worked_in = WorkedIn()
    for _, client, place in newest_first(clients.FOLDERS, environ):
        newest = newest or f"{client}:{place.session}"
        chosen = remembered(client, place, environ)
        folders = {*worked_in(client, place), *chosen.workspaces}
        if not above.isdisjoint(each.rstrip(os.sep) for each in folders):
            return chosen
    if newest is None:
        raise NotFound(
            "there is no conversation of a supported client here yet: have one, or name a transcript by its path"
        )
    raise NotFound(
        "no conversation is known to have worked in this folder; `rehydrate sessions` lists all, name one by its id "
        f"(the newest of all is {newest})"
    )


class WorkedIn:
    """The folders that a conversation worked in, by what its client keeps, the present one last."""

    def __init__(self) -> None:
        self._tells: dict[str, Any] = {}

    def __call__(self, client: str, place: Any) -> list[str]:
        if client not in self._tells:
            self._tells[client] = clients.module(client, "layout").worked_in()
        folders: list[str] = self._tells[client](place)
        return folders


def _upwards(path: str) -> Iterator[str]:
    """The folder and those above it, but not the root, which is nobody's workspace."""
    path = os.path.abspath(path)
    while path != os.path.dirname(path):
        yield path
        path = os.path.dirname(path)


def remembered(client: str, place: Any, environ: Mapping[str, str]) -> Chosen:
    """The conversation at a place, with what is remembered of it."""
    if client not in clients.HOOKED:
        return Chosen(client, place, None)
    contract = clients.module(client, "contract")
    if contract.DELIVERY == "values":
        folder = contract.private_folder(place)
        kept = plan.load(plan.spot_for(client, place.session, transcript=place.path, folder=folder, environ=environ))
        sent = Delivery(kept.checkpoint, kept.id, "sent", 1) if kept and kept.parts and kept.taken else None
        return Chosen(client, place, None, sent)
    spot = state.spot_for(client, place.session, transcript=place.origin, folder=place.folder, environ=environ)
    known = state.load(spot)
    return Chosen(client, place, known, known.delivery if known else None)
