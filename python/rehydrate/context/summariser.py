"""What a model is asked for a summary with: the request, what it is made of, and how to make less of it.

Pure: nothing here calls anything (see `attempts`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .ledger import Ledger
from .messages import Message
from .meter import Meter
from .summary import FileText

MAX_TOKENS = 8_000
"""Of an answer."""
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summariser sends to its model: one message of the user and no tools."""

    system: str
    prompt: str
    max_tokens: int = MAX_TOKENS
    """Of the answer."""
    temperature: float = 0.0
    timeout_s: float = TIMEOUT_S
    """An answer that comes later is not waited for."""
    attempt: int = 1
    """From 1."""


Summariser = Callable[[SummaryRequest], "str | Mapping[str, Any]"]
"""Asks a model.  It gives the text, or better the provider's whole response in the format of the engine's request: then
refusals, calls of tools, reasoning and an answer that was cut off are seen.  What it raises is taken as the provider's
error; `Aborted` says that its user has stopped it."""


class Aborted(Exception):
    """Raised by a summariser whose user has stopped it: nothing is counted, and nothing has happened."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a summary is made of; what makes it smaller gives another."""

    @classmethod
    def make(
        cls,
        messages: Sequence[Message],
        *,
        ledger: Ledger,
        previous: str = "",
        files: Sequence[FileText] = (),
        focus: str | None = None,
        meter: Meter,
    ) -> "Material":
        """`messages`: those that the summary is to stand for, neutral and arranged.  `ledger`: what is kept whatever
        the model writes.  `previous`: the prose of the summary before, empty where there was none.  `files`: as they
        are on disk now.  `focus`: what the summary is to dwell on; None: nothing more than the rest.
        """
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether the messages say nothing that could be summarised: then no model is to be asked."""
        raise NotImplementedError

    @property
    def tokens(self) -> int:
        """Of the system prompt and the prompt."""
        raise NotImplementedError

    def prompt(self, remark: str = "") -> str:
        """The text that a model is sent.  `remark`: what was wrong with its answer before; empty: nothing was."""
        raise NotImplementedError

    def smaller(self) -> "Material | None":
        """With less in it: first without the files, then without the oldest quarter of the units as long as there are
        two, then with half as many characters of each message; None where nothing more can go.
        """
        raise NotImplementedError

    def within(self, tokens: int) -> "Material | None":
        """Made smaller until it counts at most so many tokens; None where it cannot be."""
        raise NotImplementedError
