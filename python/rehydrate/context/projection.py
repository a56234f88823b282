"""What goes in and out before each call of a model: the host's request, and what the model is sent of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import Holder, Violation
from .given import a_list, a_text, neutral
from .messages import Message
from .wire import FORMATS, format_named

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .meter import Snapshot
    from .results import Replacement


@dataclass(frozen=True, slots=True)
class Request:
    """What the host knows of the next call of a model, beside the log."""

    model: str
    """As the provider names it: a count by the provider holds for one model only."""
    format: str
    """Of the messages: a name in `rehydrate.context.wire.FORMATS`."""
    system: Any = None
    """As the format has it: a text, or a list of blocks; None: there is none."""
    tools: Sequence[Mapping[str, Any]] = ()
    """The schemas, as the format has them."""
    control: Sequence[Message] = ()
    """Messages for this call alone, in the neutral form (`rehydrate.context.messages`); they go last, and not into the
    log."""


def checked(request: Request) -> None:
    """Raises TypeError for what is no request, or one with something else in it than it says, and ValueError for a
    format that there is none of.
    """
    if not isinstance(request, Request):
        raise TypeError(f"a request is a `Request(model=..., format=...)`, and no {type(request).__name__}")
    format_named(request.format)
    a_text(request.model, "the model of a request")
    a_list(() if request.tools is None else request.tools, "the tools of a request")
    if request.control != ():
        neutral(request.control, "the control messages of a request")


@dataclass(frozen=True, slots=True)
class Projection:
    """What a model is sent of a log: valid in its format, and within the window less the reserve."""

    request: Request
    messages: Sequence[Mapping[str, Any]]
    """In the format of the request."""
    snapshot: "Snapshot"
    """The tokens of it, and the lines that they were held against."""
    revision: str
    """The same for the same messages: a digest of them, control messages left out."""
    pruned: "tuple[Replacement, ...]" = ()
    """The results that were replaced on the way, by the budget for results or as prunes; the log has that by now."""
    checkpoint: "Checkpoint | None" = None
    """The compaction that was made on the way; None: there was none."""
    irreducible: tuple[Holder, ...] = ()
    """What holds the space, where a compaction was due and could not get below its line.  Said once, until something
    changes."""
    repaired: tuple[Violation, ...] = ()
    """What was repaired in the messages; the log still has it."""
    failure: str | None = None
    """Why a compaction on the way has no summary of a model, though one was to be asked: `circuit_open` (too many
    failures before), `context_exhausted` (its own request would not fit), `deterministic` (an error that comes again
    each time), `empty_exhausted`, `insufficient_reduction` (what it wrote was too long), `transient_exhausted`.  None:
    it has one, or none was to be asked."""
    blocked: str | None = None
    """Why a hook has forbidden a compaction that was due; None: none has."""
    max_output: int | None = None
    """What the answer may have at most, in tokens, where the one before was cut off and `Engine.cut_off` was told so;
    None: as the host has it."""

    def body(self) -> dict[str, Any]:
        """The members of the provider's request that the messages, the system prompt and the tools make up."""
        request = self.request
        return FORMATS[request.format].body(self.messages, system=request.system, tools=request.tools)
