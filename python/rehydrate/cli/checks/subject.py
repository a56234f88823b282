"""What is checked: one client on this machine, looked at once for all checks, and what a check finds."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from rehydrate import clients, launch, state
from rehydrate.cli import output
from rehydrate.cli.choose import Chosen, remembered

NEWEST = 20
"""How many conversations are looked at, those written last."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says."""

    ok: bool
    detail: str
    """What was found, in words; paths in it are as `output.short` shows them."""
    fix: str | None = None
    """What to do, to the letter; None where nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands in one file of registrations."""

    registrations: tuple[Any, ...] = ()
    problem: Exception | None = None
    """Why nothing can be read from it, or why the client does not."""


class Subject:
    """One client, as the checks see it.  Errors of the system surface in the check that asks."""

    def __init__(self, client: str, *, environ: Mapping[str, str], folder: str | None) -> None:
        self.client = client
        self.environ = environ
        self.folder = folder
        self._readings: dict[str, Reading] = {}

    def module(self, name: str) -> Any:
        """A module of the client."""
        return clients.module(self.client, name)

    def short(self, path: str) -> str:
        """A path for people."""
        return output.short(path, self.environ)

    # -- registrations

    @cached_property
    def own_file(self) -> str:
        """Where the user's registration belongs."""
        file: str = self.module("install").hooks_file(self.environ)
        return file

    def files_in(self, workspace: str) -> list[str]:
        """Where a registration for one workspace may stand; where `install` puts one first."""
        files: list[str] = self.module("install").workspace_files(workspace)
        return files

    @cached_property
    def also_read(self) -> dict[str, str]:
        """The other files from which the client runs the hook here, and the command that takes each out."""
        return dict(self.module("install").also_read(self.environ, folder=self.folder))

    def read(self, file: str) -> Reading:
        """What stands in a file, once read."""
        if file not in self._readings:
            more = {"remedy": self.also_read[file]} if file in self.also_read else {}
            try:
                found = Reading(tuple(self.module("registered").registrations(file, **more)))
            except (OSError, ValueError) as error:
                found = Reading(problem=error)
            self._readings[file] = found
        return self._readings[file]

    @cached_property
    def registration(self) -> Any:
        """The one by which the hook runs here: the user's, else this folder's; None when there is none."""
        files = [self.own_file, *(self.files_in(self.folder) if self.folder else []), *self.also_read]
        running = (each for file in files for each in self.read(file).registrations if each.fault is None)
        return next((each for each in running if not each.is_older), None)

    def install(self, *flags: str, like: Any = None) -> str:
        """The command that registers the hook anew, as the registration `like` (None: the present one) has it."""
        registration = self.registration if like is None else like
        words = ["rehydrate", "install", self.client]
        if registration is not None and registration.remedy is None:
            command = self.command(registration)
            words += self.module("rehearsal").flags_of(command.options) if command is not None else ()
            words += ["--project"] if registration.file != self.own_file else []
        return " ".join((*words, *flags))

    def command(self, registration: Any) -> launch.Command | None:
        """The parts of the first registered command; None for one that is not to the letter as `install` writes it."""
        return self._apart(registration.command)

    def commands(self, registration: Any) -> list[launch.Command] | None:
        """Those of each registered command; None when one of them is not to the letter as `install` writes it."""
        found = [self._apart(each) for each in registration.commands]
        return [each for each in found if each is not None] if all(found) else None

    def own_command(self, options: tuple[str, ...] = ()) -> launch.Command:
        """The one of this installation; ValueError as `launch.hook_command`."""
        return launch.Command.of_this(self.client, options, self.module("install").FALLBACK)

    def _apart(self, text: str) -> launch.Command | None:
        own = (self.own_command(options) for options in self.module("rehearsal").OPTIONS)
        return next((each for each in own if each.text() == text), None) or launch.take_apart(text)

    def message(self, command: launch.Command) -> str | None:
        """How a registered command delivers; None when it cannot be one that `install` wrote."""
        kind: str | None = self.module("rehearsal").message_of(command.options)
        return kind

    # -- conversations

    @cached_property
    def conversations(self) -> tuple[Chosen, ...]:
        """Those written last, the newest first."""
        places = islice(self.module("layout").every(self.environ), NEWEST)
        return tuple(remembered(self.client, place, self.environ) for place in places)

    def spot(self, chosen: Chosen) -> state.Spot:
        """Where the state of a conversation may lie."""
        place = chosen.place
        return state.spot_for(
            self.client, place.session, transcript=place.origin, folder=place.folder, environ=self.environ
        )

    def workspaces(self, chosen: Chosen) -> tuple[str, ...]:
        """The folders that a conversation is known to have worked in."""
        named = self.module("layout").workspaces_of(chosen.place, [chosen.place.session])
        return tuple(each for each in dict.fromkeys((*chosen.workspaces, *named)) if os.path.isabs(each))


def modified_s(path: str) -> float:
    """When a file was last written, seconds since the epoch; 0 when there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
