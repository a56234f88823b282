"""Requests that the programs of this folder have answered, and what a log holds of them."""

import os
import re

from rehydrate.session import Session

STEPS = 2
"""So many times tools are called for a request."""
NOTE = "[rehydrate] A note "
"""How the engine's own word that a compaction is near begins: nobody has asked it."""


def request(number):
    return f"Request {number}: what is in the files of part {number}? The limit is {number * 7}."


def number_in(text):
    """The number of the request that a text is; with a letter where it has been asked before."""
    found = re.search(r"^(Go on: )?Request (\d+)", text)
    return found[2] + ("b" if found[1] else "")


def numbers(path, kind, pattern):
    """The numbers of the requests that entries of the kind are about."""
    if not os.path.exists(path):
        return []
    with Session.open(path) as session:
        entries = [entry for entry in session.view("scrollback") if not entry.get("isCompactSummary")]
    texts = [str(entry["message"]["content"]) for entry in entries if entry["type"] == kind]
    return [int(found[1]) for text in texts if (found := re.search(pattern, text))]


def answered(path):
    """The requests that were answered to the end."""
    return numbers(path, "assistant", rf"Step {STEPS} of request (\d+)")


def boundaries(path):
    """How many compactions the log has."""
    with Session.open(path) as opened:
        return sum(entry.get("subtype") == "compact_boundary" for entry in opened.view("raw"))
