"""The ledger as a host has it: what is put or closed is on disk when the call returns."""

from collections.abc import Callable, Mapping
from typing import Any

from . import records
from .ledger import Item, Ledger


class HostLedger:
    """The items of one conversation; an `Engine` makes it.  Each call raises what `SessionLog.append_durable` raises;
    then nothing has changed.
    """

    def __init__(
        self, current: Callable[[], tuple[Ledger, str | None]], append: Callable[[Mapping[str, Any]], object]
    ) -> None:
        """`current`: gives the ledger as the log has it, and the tip.  `append`: appends a record, durably."""
        self._current = current
        self._append = append

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, those that no longer hold with them."""
        return self._current()[0].items

    @property
    def open(self) -> tuple[Item, ...]:
        """What still holds."""
        return self._current()[0].open

    def put(self, heading: str, payload: str, *, status: str = "open", supersedes: str | None = None) -> str:
        """Add an item, which every compaction keeps word for word; gives its id.  `supersedes`: the id of an item that
        no longer holds.  Raises ValueError and TypeError as `Ledger.put` does.
        """
        ledger, tip = self._current()
        ledger.put(heading, payload, status=status, supersedes=supersedes)  # which says what is wrong with it
        self._append(records.put(heading, payload, status=status, supersedes=supersedes, after=tip))
        return Ledger().put(heading, payload).items[0].id

    def close(self, item_id: str, *, status: str = "done") -> None:
        """Give an item another status.  Raises ValueError for an id that is not there, and what is no status."""
        ledger, tip = self._current()
        ledger.close(item_id, status=status)
        self._append(records.close(item_id, status=status, after=tip))
