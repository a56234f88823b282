"""A place for sessions, and what a session's file holds."""

import json
from contextlib import ExitStack

import pytest

from rehydrate.session import Place, SessionLog
from rehydrate.session import line as lines
from rehydrate.session.reading import Session
from tests.session.making import write_session

SESSION = "5e551000-0000-4000-8000-000000000001"


@pytest.fixture
def place(tmp_path):
    return Place(str(tmp_path / "root"), "-srv-project", SESSION)


@pytest.fixture
def make_log(place):
    """Makes logs of the session, which are closed at the end."""
    made = []

    def make(**more):
        made.append(SessionLog(place, **{"cwd": "/srv/project", **more}))
        return made[-1]

    yield make
    for log in made:
        log.close()


def records(path):
    """Every line of a file of ours, decoded: whole, with the right check, and numbered from 1 without a gap."""
    with open(path, "rb") as file:
        data = file.read()
    assert data.endswith(b"\n")
    found = data.splitlines(keepends=True)
    assert all(lines.check(line) is True for line in found)
    assert [lines.seq_of(line) for line in found] == list(range(1, len(found) + 1))
    return [json.loads(line) for line in found]


def said(path):
    """Of each message in a file its text."""
    return [each["message"]["content"] for each in records(path) if "message" in each]


@pytest.fixture
def session_of(tmp_path):
    """A session with these records, open until the end of the test."""
    with ExitStack() as sessions:

        def make(*given, name="s-1.jsonl"):
            return sessions.enter_context(Session.open(write_session(tmp_path / name, *given)))

        yield make
