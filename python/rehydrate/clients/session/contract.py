"""How a rehydration is cut.  Nothing runs a hook for sessions of one's own agent: its parts are as large as may be."""

from . import layout

DELIVERY = "parts"


def private_folder(place: layout.Place) -> str | None:
    """Where the whole text is kept for the model to read: nowhere."""
    return None
