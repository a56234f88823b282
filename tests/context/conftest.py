"""A place for logs."""

import pytest

from rehydrate.session import Place, SessionLog

SESSION = "5e551000-0000-4000-8000-000000000001"


@pytest.fixture
def place(tmp_path):
    return Place(str(tmp_path / "root"), "-srv-project", SESSION)


@pytest.fixture
def open_log(place):
    """Opens the session, as one process or another, until the end of the test."""
    made = []

    def make(**more):
        made.append(SessionLog(place, **{"cwd": "/srv/project", **more}))
        return made[-1]

    yield make
    for log in made:
        log.close()


@pytest.fixture
def log(open_log):
    return open_log()
