"""Places for logs, and a conversation that is due for a compaction."""

import pytest

from rehydrate.context.waiting import Waiting
from rehydrate.session import Place, SessionLog

from .engines import Agent
from .summarisers import WINDOW, place_in

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


@pytest.fixture(scope="session")
def due(tmp_path_factory):
    """The file of a conversation that an engine with the window `WINDOW` compacts before the next request."""
    place = place_in(tmp_path_factory.mktemp("due"))
    with SessionLog(place, cwd="/srv/project") as log:
        agent = Agent(log, window=10 * WINDOW)
        agent.engine.pin(agent.ask())
        agent.answer(agent.prepare())
        agent.engine.ledger.put("Decisions and rationale", "the port is 8443")
        while agent.engine.explain()["tokens"] < WINDOW * 3 // 4:
            agent.turn()
        agent.ask()
    return place.path


@pytest.fixture
def soon(monkeypatch):
    """Nobody waits long."""
    run = Waiting.run
    monkeypatch.setattr(Waiting, "run", lambda self, call, timeout_s: run(self, call, min(timeout_s, 0.3)))
