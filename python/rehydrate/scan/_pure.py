"""The scanner in Python alone: the same operations, results and errors as the native one, bounded memory."""

from ._pure_find import find_step, probe, probe_candidates, probe_many
from ._pure_steps import cursor_at, iter_closed, iter_records, iter_steps
from ._pure_tail import scan_tail
from ._pure_tree import read_tree

__all__ = [
    "cursor_at",
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
