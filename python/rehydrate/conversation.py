"""The one model that every client's transcript is read into, and that `recall` turns into text.

Nothing here knows a client, a file format or a budget.  A *step* is an `int` for clients that number their records;
clients that do not (their records have uuids) put the uuid there, so a step is only ever compared by its client.
All of it is plain data: built once by a client, never changed afterwards; what is noted of a text may be looked for
when it is first asked for.
"""

from collections.abc import Sequence

from rehydrate.dataclass import dataclass

Step = int | str

KEPT_CHARS = 4_000
"""Of a command, a detail or a title a reader keeps at most so many characters: far more than is ever shown, so that a
secret which this cuts in half can be left out."""
MARKER_HEAD = "[POST-COMPACT REHYDRATION v1"
"""How the first line of every part begins.  `recall` writes it and a client looks for it in its log."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of one file that belongs to a conversation's line of descent."""

    session: str
    """Id of the conversation whose file this is."""
    path: str
    """Absolute path of the transcript that is read for it."""
    min_step: Step | None
    """First step of the segment; None when the file holds no step."""
    max_step: Step | None
    """Last step of the segment, inclusive; None when the file holds no step."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a conversation comes from."""

    segments: tuple[Segment, ...]
    """Oldest first, the conversation itself last; never empty."""
    complete: bool
    """False when an ancestor must exist and was not found."""
    why: tuple[str, ...] = ()
    """How it was found, and what is missing, a sentence each."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A record that marks a compaction, judged by its client."""

    step: Step
    """The boundary's own step; what stands at or after it does not belong to its rehydration."""
    checkpoint: int
    """The number in the marker: the step, or for clients without steps the ordinal of the compaction."""
    id: str
    """8 hex digits that name the delivery: a digest of what came before the boundary in the log."""
    form: int
    """Which of the client's forms the record has (see the client)."""
    counts: bool
    """Whether it is a compaction that is rehydrated."""
    why: str
    """The reason for `counts`, in words."""
    offset: int
    """Bytes from the start of the file to the record."""
    length: int
    """Length of the record in bytes."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, as far as a rehydration names it."""

    name: str
    """The tool's name, as logged."""
    path: str | None = None
    """The file it names, as logged (a `file://` URI already turned into a path); None when it names none."""
    command: str | None = None
    """The command line it runs, at most KEPT_CHARS of it; None when it runs none."""
    pending: bool = False
    """True when no result of it stands before the boundary."""
    lines: str = ""
    """The lines of the file that it is about, from 1, inclusive: `120-180`, `3-5, 40`; empty when not known."""
    detail: str = ""
    """What it is about where it names no file and runs no command: a task, a pattern, a query; at most KEPT_CHARS
    of it."""
    noted: Sequence[str] = ()
    """Lines of its result, or of the text it writes, that are worth keeping (see `notable`), best first."""
    failed: bool = False
    """True when its result is an error."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One user request or one response of the model, in step order; or several responses that no budget reaches, with
    no request between them, as one: it says how many, and nothing else of all but the first."""

    step: Step
    role: str
    """`user` or `assistant`."""
    text: str | None
    """What was said; empty for a response that only calls tools; None for an old response whose text was not kept
    because no budget reaches back to it."""
    segment: int
    """Index into `Conversation.segments`."""
    calls: tuple[ToolCall, ...] = ()
    """The tools that the response calls, in order; empty for a user."""
    noted: Sequence[str] = ()
    """Sentences of a response that are worth keeping (see `notable`), best first, also where `text` was not kept."""
    count: int = 1
    """How many responses with a text it stands for; more than one only where none of their texts was kept."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What was started in the background, and is not known to have ended."""

    name: str
    """The tool or the kind of agent, as logged."""
    detail: str = ""
    """What it is to do, at most KEPT_CHARS of it."""
    id: str = ""
    """By which the host knows it; empty when not known."""
    kind: str = "agent"
    """`agent` or `command`."""


@dataclass(frozen=True, slots=True)
class FileTouch:
    """One call that names a file."""

    path: str
    """As in `ToolCall.path`."""
    step: Step
    order: int
    """Position among all touches of the conversation, oldest first: breaks ties between equal steps."""
    kind: str
    """`modified`, `read`, or `named` (a call that names a path in any other way)."""
    time_s: float | None
    """By when it had happened (the next turn's time, where there is one), seconds since the epoch; None: not known."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation up to a boundary, with its ancestors."""

    client: str
    session: str
    segments: tuple[Segment, ...]
    """Oldest first, the conversation itself last."""
    turns: tuple[Turn, ...]
    touches: tuple[FileTouch, ...]
    """Oldest first; of the touches of one kind that a path has, those between the first and the last may be missing."""
    boundary: Boundary | None
    """None: no compaction; everything in the log belongs to it."""
    workspaces: tuple[str, ...] = ()
    """Folders the conversation worked in; empty when none is known."""
    lossy: bool = False
    """True when only a shortened copy of the transcript could be read."""
    damaged: int = 0
    """Damaged lines met while reading, all segments together; lines that could hold no turn are not looked at."""
    compacted: tuple[int, ...] = ()
    """For each earlier compaction the index in `turns` of what came first after it, ascending."""
    agents: tuple[Agent, ...] = ()
    """What still runs at the boundary."""
    notes: tuple[str, ...] = ()
    """What a person should know about how it was read, a sentence each."""
