"""A summary asked of a model, again where that may help, and never more often than it may be asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .summariser import Material, Summariser

ATTEMPTS = 3
"""Calls of a summariser in one compaction, whatever the reasons."""

FailureCode = Literal[
    "circuit_open",
    "context_exhausted",
    "deterministic",
    "empty_exhausted",
    "insufficient_reduction",
    "transient_exhausted",
]
"""Why there is no summary of a model: it was not to be asked; its own request would not fit; an error that comes again
each time; empty, refusing or shapeless answers; too long ones; errors that pass, which did not."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a model has written."""

    text: str
    attempts: int
    """So often it was asked."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It has written nothing that can be used."""

    code: FailureCode
    error: str
    """One sentence, secrets masked."""
    attempts: int


def ask(
    summariser: Summariser,
    material: Material,
    *,
    format: str,
    judge: Callable[[str], bool],
    run: Callable[[Callable[[], Any], float], Any],
    attempts: int = ATTEMPTS,
) -> Told | Failed:
    """The text of a summary, or why there is none.

    `format`: of a response that the summariser gives whole.  `judge`: whether what is made of a text is small enough;
    what it raises comes out of here.  `run`: calls what it is given and gives what that gives, or raises TimeoutError
    after so many seconds.  `Aborted` and what is no `Exception` come out of here as they are.
    """
    raise NotImplementedError
