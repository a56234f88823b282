"""However a transcript is made, how it ends is found with few looks at each of its entries."""

from functools import partial

import pytest

from rehydrate.entries.scope import Scope
from rehydrate.session import Session
from tests.entries.making import assistant, attachment, call, result, text, user
from tests.session.making import write_session

MANY = 1_000
MOST = 20
"""Looks at each entry; one at each for every other would be hundreds."""


def taken_back(uuid):
    return {"type": "tombstone", "targetUuid": uuid}


BEGUN = [user("r", None, "Go."), assistant("c", "r", call("k"))]
ONE_AFTER_THE_OTHER = [user(f"e{number}", f"e{number - 1}" if number else "r", "Hm.") for number in range(MANY)]
RESULTS = [result(f"e{number}", "c", "k") for number in range(MANY)]
TRANSCRIPTS = {
    "results of one call": [*BEGUN, *RESULTS],
    "late results of one call": [
        *BEGUN,
        *(attachment(f"x{number}", "c", "hook") for number in range(MANY)),
        assistant("b", "c", text("Done.")),
        *RESULTS,
    ],
    "a line taken back with many behind it": [
        *BEGUN,
        *ONE_AFTER_THE_OTHER,
        *(user(f"l{number}", f"e{MANY - 1}", "Hm.") for number in range(MANY)),
        *(taken_back(f"e{number}") for number in range(MANY)),
    ],
    "a line taken back with one behind each": [
        *BEGUN,
        *ONE_AFTER_THE_OTHER,
        *(user(f"l{number}", f"e{number}", "Hm.") for number in range(MANY)),
        *(taken_back(f"e{number}") for number in range(MANY)),
    ],
}


def _method(function):
    return lambda scope, index: function(scope, index)


@pytest.mark.parametrize("name", ["leaf", "latest_leaf", "leaves"])
@pytest.mark.parametrize("rows", TRANSCRIPTS.values(), ids=TRANSCRIPTS)
def test_no_entry_is_looked_at_for_every_other(tmp_path, monkeypatch, rows, name):
    looks = 0

    def counted(real, scope, index):
        nonlocal looks
        looks += 1
        return real(scope, index)

    for method in ("is_aside", "parent"):
        monkeypatch.setattr(Scope, method, _method(partial(counted, getattr(Scope, method))))
    with Session.open(write_session(tmp_path / "s.jsonl", *rows)) as session:
        assert getattr(session, name)
    assert looks < MOST * len(rows)
