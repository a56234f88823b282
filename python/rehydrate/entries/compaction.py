"""What a compaction kept word for word, and where that stands in what the model sees.

The entries that were kept stay where they are in the file; in the model's view they stand behind the summary (the
anchor), and what came after the summary stands behind them.  What a boundary says of them is believed only as a whole:
when it names an entry that is not there, nothing was kept, for a wrong guess could bring the whole history back.
"""

from rehydrate.dataclass import dataclass

from .log import Record, member
from .scope import Scope, boundary_of, summary_in


@dataclass(frozen=True, slots=True)
class Preserved:
    """What one compaction kept."""

    anchor: int | None = None
    entries: tuple[int, ...] = ()
    """In the order in which the model sees them."""


def preserved(scope: Scope, boundary: int) -> Preserved:
    """What the compaction kept; nothing when it kept nothing or what it says does not hold."""
    said = boundary_of(scope.log.record(boundary)) or {}
    return (
        _listed(scope, boundary, member(said, "preservedMessages"))
        or _segment(scope, boundary, member(said, "preservedSegment"))
        or Preserved()
    )


def _listed(scope: Scope, boundary: int, said: Record) -> Preserved | None:
    """From the list of all of them; None when one is missing."""
    uuids = said.get("uuids")
    if not isinstance(uuids, list) or not uuids:
        return None
    found = [scope.at(uuid) for uuid in uuids]
    entries = [index for index in found if index is not None]
    return _placed(scope, boundary, said, entries) if len(entries) == len(uuids) else None


def _segment(scope: Scope, boundary: int, said: Record) -> Preserved | None:
    """From its two ends; None when the way from the last leads elsewhere than to the first."""
    head, at = scope.at(said.get("headUuid")), scope.at(said.get("tailUuid"))
    entries: list[int] = []
    seen: set[int] = set()
    while at is not None and at not in seen and at != boundary:
        seen.add(at)
        entries.append(at)
        if at == head:
            return _placed(scope, boundary, said, entries[::-1])
        at = scope.parent(at)
    return None


def _placed(scope: Scope, boundary: int, said: Record, entries: list[int]) -> Preserved | None:
    anchor = scope.held(said.get("anchorUuid"))  # which comes from the boundary
    if anchor is None and summary_in(scope, boundary):
        anchor = boundary  # the summary itself was lost
    kept = set(entries)
    if anchor is None or len(kept) != len(entries) or boundary in kept or not _descends(scope, anchor, boundary, kept):
        return None
    return Preserved(anchor, tuple(entries))


def _descends(scope: Scope, index: int, boundary: int, kept: set[int]) -> bool:
    """Whether an entry comes from the boundary, with none of those that were kept in between."""
    seen: set[int] = set()
    at: int | None = index
    while at is not None and at not in seen and at not in kept:
        if at == boundary:
            return True
        seen.add(at)
        at = scope.parent(at)
    return False
