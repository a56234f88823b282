"""A root of sessions, which Claude Code would take for its own projects, and what the client makes of what is in it."""

import pytest

from rehydrate.clients.session import layout
from rehydrate.session import Place, SessionLog

SESSION = "5e551000-0000-4000-8000-000000000001"
OTHER = "5e551000-0000-4000-8000-000000000002"
KEY = "-srv-project"


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "projects")


@pytest.fixture
def environ(root):
    return {layout.ROOTS: root}


@pytest.fixture
def begin(root):
    """Begins a session with these entries; gives its path."""

    def make(*entries, session=SESSION, key=KEY, cwd="/srv/project"):
        place = Place(root, key, session)
        with SessionLog(place, cwd=cwd) as log:
            log.append(entries)
        return place.path

    return make
