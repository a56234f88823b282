"""What `rehydrate doctor` checks: for each client a row of findings, none of which changes anything.

Promises: nothing is written but private folders in the system's temporary folder, which are gone at the end; a check
that fails itself is a finding, too.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehydrate import clients

from . import conversation, hook, registration
from .subject import Finding, Subject

Check = Callable[[Subject], Iterable[Finding]]

CHECKS: dict[str, Check] = {
    "registration": registration.registration,
    "hook": hook.hook,
    "twice": registration.twice,
    "backend": hook.backend,
    "settings": registration.settings,
    "off": registration.off,
    "transcript": conversation.transcript,
    "state": conversation.keeping,
    "view": conversation.view,
    "delivery": conversation.delivery,
    "error": conversation.error,
}
"""By name, in the order in which a fault is best mended."""
WITHOUT_HOOK = ("settings", "transcript")
"""Those that make sense for a client that has no hook."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finding of one check."""

    client: str | None
    """None for what concerns none of them."""
    check: str
    ok: bool
    detail: str
    fix: str | None

    def as_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "client": self.client,
            "check": self.check,
            "ok": self.ok,
            "detail": self.detail,
            "fix": self.fix,
        }


def examine(
    client: str, *, environ: Mapping[str, str], folder: str | None, debug: bool, begun: Callable[[int], None]
) -> Iterator[Row]:
    """The rows of one client.  `folder`: the working folder, None when it is gone; `begun`: told how many are done."""
    subject = Subject(client, environ=environ, folder=folder)
    checks = CHECKS
    if client not in clients.HOOKED:
        yield Row(client, "registration", True, "there is no hook to register", None)
        checks = {name: CHECKS[name] for name in WITHOUT_HOOK}
    elif not clients.module(client, "install").found(environ):
        fix = f"start it once, or register all the same: `rehydrate install {client}`"
        yield Row(client, "registration", False, f"{client} was not found here", fix)
        return
    for done, (name, check) in enumerate(checks.items(), start=1):
        for found in _found(name, check, subject, debug=debug):
            yield Row(client, name, found.ok, found.detail, found.fix)
        begun(done)


def nobody() -> Row:
    """The row where no client is."""
    detail = f"no supported client was found here; known: {', '.join(clients.HOOKED)}"
    fix = f"install one; or register all the same: `rehydrate install {clients.HOOKED[0]}`"
    return Row(None, "registration", False, detail, fix)


def _found(name: str, check: Check, subject: Subject, *, debug: bool) -> list[Finding]:
    try:
        return list(check(subject))
    except Exception as error:
        if debug:
            traceback.print_exc()
        return [Finding(False, *_failure(name, error))]


def _failure(name: str, error: Exception) -> tuple[str, str]:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"it could not be checked: {where}{error.strerror}", "see to that, then run `rehydrate doctor` again"
    detail = f"it could not be checked ({type(error).__name__}: {error})"
    return detail, f"report what `rehydrate doctor --debug` shows of {name!r}"
