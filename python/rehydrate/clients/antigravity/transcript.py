"""Records -> boundaries, and records -> `Conversation`.

Everything streams, and of the texts only those are kept that a rehydration can reach.  Where the compiled module is
there, a transcript is read once for its boundaries and its turns (`folded`), else once for each (`kept`).  What counts
as a compaction is decided here and nowhere else; every decision says why.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import BinaryIO

from rehydrate import scan
from rehydrate.conversation import MARKER_HEAD, Boundary, Conversation, Segment
from rehydrate.dataclass import dataclass, field
from rehydrate.digest import sha256

from . import layout, preceding, records
from .folded import Folded, can_fold, read_turns
from .kept import Kept
from .pending import with_pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rehydrate import _native

CLIENT = "antigravity"
FAR_BYTES = 64 * 1024
FAR_STEPS = 40
"""A CHECKPOINT of form 4 or 5 is a compaction when this much lies between it and the one before."""
CLOSE_BYTES = 256 * 1024
CLOSE_STEPS = 40
"""A compaction nearer than both to the one before it may have been caused by what was brought back then."""
MARKER_CHARS = 1_024
"""A marker begins within so many characters of a record's content."""
NO_STEP = -1
"""Step of a boundary whose record has none: it cannot be placed, so it never counts."""

_NUMBERED = re.compile(r"\{\{\s*CHECKPOINT\s*([0-9]+)\s*\}\}")
_RESUMING = "resuming from a compaction"
_DELIVERIES = frozenset({"SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE"})
_FOREIGN = frozenset({"MODEL", "USER_EXPLICIT", "USER_IMPLICIT"})
"""Sources of records that no hook made: a tool's result has the type that the tool is called by."""


@dataclass(frozen=True, slots=True)
class Survey:
    """One pass over a transcript."""

    boundaries: tuple[Boundary, ...]
    """Every CHECKPOINT in file order, judged; of several records with one step only the last."""
    last_step: int | None
    """The highest step in the file."""
    turns: "_native.Turns | None" = field(default=None, repr=False, compare=False)
    """What `read` needs of the same pass; None where it makes one of its own."""

    @property
    def newest(self) -> Boundary | None:
        """The last boundary in the file that counts; None when none does."""
        return next((each for each in reversed(self.boundaries) if each.counts), None)

    def pressure(self, boundary: Boundary) -> int:
        """As `pressure`."""
        return pressure(self.boundaries, boundary=boundary)


@dataclass(frozen=True, slots=True)
class Marker:
    """One part of a delivery, as the log holds it."""

    step: int | None
    part: str
    """`k/N`."""
    is_whole: bool
    """False when the host cut its end off."""


def survey(place: layout.Place) -> Survey:
    """Reads a transcript for its boundaries.  Errors of the file system surface as OSError."""
    with layout.readable(place) as place:
        turns = read_turns(place.path, lossy=_is_cut(place.path)) if can_fold() else None
        found = scan.scan_tail(place.path) if turns is None else turns
        judged: list[Boundary] = []
        marks = [scan.Mark(*mark) for mark in found.boundaries]
        if marks:
            records_before = {} if turns is None else dict(zip(marks, turns.before, strict=True))
            first_step = scan.probe(place.path).first_step
            before: scan.Mark | None = None
            with layout.open_file(place.path) as file:
                for mark in _latest(marks):
                    record = records_before.get(mark) or preceding.record_before(file, place.path, mark.offset)
                    judged.append(_judge(file, mark, before, first_step, name=_name(file, place, mark, record)))
                    before = mark
    return Survey(tuple(judged), found.last_step, turns)


def boundaries(place: layout.Place) -> tuple[Boundary, ...]:
    """The boundaries alone."""
    return survey(place).boundaries


def pending(place: layout.Place) -> Boundary | None:
    """The boundary that a compaction now would have: not known before it is in the log."""
    return None


def pressure(judged: Iterable[Boundary], *, boundary: Boundary) -> int:
    """How soon this boundary came after the compactions before it: 0 not soon, 1 soon (halve the budgets), 2 the second
    soon one in a row (the third compaction: requests only).
    """
    counting = [each for each in judged if each.counts and each.offset <= boundary.offset]
    if not counting or counting[-1].offset != boundary.offset:
        return 0
    soon = [_close(a, b) for a, b in pairwise(counting)]
    if not soon or not soon[-1]:
        return 0
    return 2 if len(soon) > 1 and soon[-2] else 1


def marker_after(path: str, boundary: Boundary) -> bool:
    """Whether a part of this boundary's delivery stands in the log behind the boundary."""
    return next(markers_after(path, boundary), None) is not None


def markers_after(path: str, boundary: Boundary) -> Iterator[Marker]:
    """The parts of this boundary's delivery in the log behind the boundary, in file order.

    Only what the host logged as a system or ephemeral message counts: whatever a user or a tool wrote is no delivery.
    """
    start = scan.cursor_at(path, boundary.offset)
    for record in scan.iter_steps(path, types=_DELIVERIES, cursor=start):
        if record.offset > boundary.offset and record.source not in _FOREIGN:
            content = _content(record)
            fields = _marks(content, boundary)
            if fields is not None:
                part = next((field[5:] for field in fields if field.startswith("part ")), "1/1")
                is_framed = "<SYSTEM_MESSAGE>\n" in content
                yield Marker(record.index, part, not is_framed or content.rstrip().endswith("</SYSTEM_MESSAGE>"))


def request_in(record: scan.Step) -> str:
    """What the user asked in a USER_INPUT record; empty when it holds no request, or one that a hook made."""
    return records.asked(record.source, _content(record))


def read(
    place: layout.Place,
    segments: Sequence[Segment],
    *,
    boundary: Boundary | None,
    workspaces: Iterable[str] = (),
    survey: Survey | None = None,
) -> Conversation:
    """The conversation up to a boundary (None: all of it), its ancestors included.

    `segments` as `lineage.trace` gives them, the conversation itself last.  `survey`: its own, where it was just made.
    Records stand in the order of their steps; a step that is written twice is what the last line says, and in two files
    what the younger one says.  The conversation's own file must be readable (else OSError); an ancestor's that is not
    is left out and said.
    """
    end = None if boundary is None else int(boundary.step) - 1
    notes = []
    with ExitStack() as stack:
        place = stack.enter_context(layout.readable(place))
        own = survey.turns if survey is not None else None
        kept = Folded({place.path: own} if own is not None else {}) if can_fold() else Kept()
        for at, segment in enumerate(segments[:-1]):
            try:
                path = stack.enter_context(layout.opened(segment.path))
                kept.add(path, at, last=_least(segment.max_step, end), lossy=_is_cut(segment.path))
            except OSError as error:
                notes.append(f"Steps of {segment.session[:8]} could not be read: {error.strerror or error}.")
        kept.add(place.path, len(segments) - 1, last=end, lossy=_is_cut(place.path))
        told, touches = with_pending(kept.turns(), kept.finished), kept.touches()
    lossy = place.lossy or any(_is_cut(segment.path) for segment in segments[:-1])
    if lossy:
        notes.append("Only a shortened copy of the log could be read: long texts in it have a hole.")
    return Conversation(
        client=CLIENT,
        session=place.session,
        segments=tuple(segments),
        turns=told,
        touches=touches,
        boundary=boundary,
        workspaces=tuple(dict.fromkeys(workspaces)),
        lossy=lossy,
        damaged=kept.damaged,
        notes=tuple(notes),
    )


# -- boundaries -------------------------------------------------------------------------------------------------------


def _latest(marks: Iterable[scan.Mark]) -> list[scan.Mark]:
    """The marks in file order, of those with one step the last."""
    last: dict[object, scan.Mark] = {}
    for mark in marks:
        key = ("at", mark.offset) if mark.step is None else mark.step
        last.pop(key, None)
        last[key] = mark
    return list(last.values())


def _judge(file: BinaryIO, mark: scan.Mark, before: scan.Mark | None, first_step: int | None, *, name: str) -> Boundary:
    status, content = _checkpoint(file, mark)
    form, told = _form(content)
    counts = form <= 3
    why = f"form {form}: {told}"
    if not counts:
        counts, distance = _far(mark, before, first_step)
        why += f", {distance}"
    if status != "DONE":
        counts, why = False, f"{why}; its status is {status or 'not given'}, not DONE"
    if mark.step is None:
        counts, why = False, f"{why}; it has no step"
    step = _step(mark)
    return Boundary(step, step, name, form, counts, why, mark.offset, mark.length)


def _checkpoint(file: BinaryIO, mark: scan.Mark) -> tuple[str | None, str | None]:
    """Status and content of a CHECKPOINT record; None for what it does not say as a string."""
    raw = b"".join(preceding.pieces(file, mark.offset, length=mark.length))
    try:
        record = scan.Step(mark.step, None, None, None, None, mark.offset, mark.length, raw).json()
    except ValueError:  # nested too deep, or rewritten meanwhile
        return None, None
    status, content = record.get("status"), record.get("content")
    return status if isinstance(status, str) else None, content if isinstance(content, str) else None


def _form(content: str | None) -> tuple[int, str]:
    if content is None:
        return 5, "it has no content"
    if "<CONTEXT_SUMMARY>" in content:
        return 1, "it holds <CONTEXT_SUMMARY>"
    first_line = content.split("\n", 1)[0].lstrip("# \t")
    if first_line.lower().startswith(_RESUMING):
        return 2, 'its first line begins "Resuming from a compaction"'
    numbered = _NUMBERED.search(content)
    if numbered is None:
        return 5, "its content has none of the known forms"
    if numbered[1].strip("0"):
        return 3, f"{{{{ CHECKPOINT {numbered[1][:20]} }}}}"
    return 4, "{{ CHECKPOINT 0 }}, which need not be a compaction"


def _far(mark: scan.Mark, before: scan.Mark | None, first_step: int | None) -> tuple[bool, str]:
    """Whether enough lies before a boundary that does not speak for itself, and that in words."""
    start, step, what = 0, first_step, "the start of the file"
    if before is not None:
        start, step, what = before.offset + before.length, before.step, "the CHECKPOINT before it"
    between = max(0, mark.offset - start)
    steps = None if mark.step is None or step is None else mark.step - step
    far = between >= FAR_BYTES or (steps is not None and steps >= FAR_STEPS)
    told = f"{between:,} bytes" if steps is None else f"{steps:,} steps and {between:,} bytes"
    return far, f"{'' if far else 'only '}{told} after {what}"


def _close(one: Boundary, other: Boundary) -> bool:
    steps = int(other.step) - int(one.step)
    return steps < CLOSE_STEPS and other.offset - (one.offset + one.length) < CLOSE_BYTES


def _step(mark: scan.Mark) -> int:
    return NO_STEP if mark.step is None else mark.step


def _name(file: BinaryIO, place: layout.Place, mark: scan.Mark, before: tuple[int, int]) -> str:
    """The id of the boundary's delivery: who does not know the log before it cannot forge it.  `before`: place and
    length of the record before it.
    """
    digest = sha256(os.fsencode(place.session) + b"\0%d\0" % _step(mark))
    for piece in preceding.pieces(file, before[0], length=before[1]):
        digest.update(piece)
    return digest.hexdigest()[:8]


def _content(record: scan.Step) -> str:
    try:
        content = record.json().get("content")
    except ValueError:
        return ""
    return content if isinstance(content, str) else ""


def _marks(content: str, boundary: Boundary) -> list[str] | None:
    """What the marker of this boundary's delivery says, member by member; None when there is none."""
    at = 0
    while at < MARKER_CHARS:
        end = content.find("\n", at)
        line = content[at : end if end >= 0 else len(content)]
        if line.startswith(MARKER_HEAD) and line[len(MARKER_HEAD) : len(MARKER_HEAD) + 1] in (" ", "|", "]", ""):
            fields = [field.strip() for field in line[len(MARKER_HEAD) :].split("]", 1)[0].split("|")]
            named = [field[3:] for field in fields if field.startswith("id=")]
            if named == [boundary.id] or (not named and f"checkpoint={boundary.checkpoint}" in fields):
                return fields
        if end < 0:
            break
        at = end + 1
    return None


def _least(step: object, other: int | None) -> int | None:
    known = [s for s in (step, other) if isinstance(s, int)]
    return min(known) if known else None


def _is_cut(path: str) -> bool:
    return os.path.basename(path) == layout.CUT
