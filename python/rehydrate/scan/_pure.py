"""The scanner in Python alone: the same operations, results and errors as the native one, bounded memory."""

from ._pure_find import find_step, probe, probe_candidates, probe_many
from ._pure_steps import cursor_at, iter_closed, iter_records, iter_steps
from ._pure_tail import scan_tail
from ._pure_tree import read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "cursor_at",
    "find_any",
    "find_step",
    "iter_closed",
    "iter_records",
    "iter_steps",
    "probe",
    "probe_candidates",
    "probe_many",
    "read_tree",
    "scan_tail",
]


def find_any(raw: bytes, words: "Sequence[bytes]", start: int = 0) -> "int | None":
    """Where the first of some words begins, from `start` on; None where none does."""
    return min((at for word in words if (at := raw.find(word, start)) >= 0), default=None)
