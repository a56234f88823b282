"""What a model has written as a summary, taken apart: items of the ledger, and prose."""

from .ledger import Item


def read_prose(text: str) -> tuple[tuple[Item, ...], str]:
    """The items under the seven headings, marked as told by a model (`Item.told`), in order, and the rest as prose.

    `Ledger.tell` takes the items in.  No line of the prose can be taken for a heading or an item of a summary.
    """
    raise NotImplementedError
