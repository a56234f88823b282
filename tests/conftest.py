"""Fixtures for all tests."""

from contextlib import suppress
from importlib import import_module
from pathlib import Path

import hypothesis
import pytest

from rehydrate.session import SessionLog
from tests.helpers import needs_native

hypothesis.settings.register_profile("untimed", deadline=None)  # no test depends on how busy the machine is
hypothesis.settings.load_profile("untimed")

TESTS = Path(__file__).parent
TOGETHER = ("build", "dist", "real")
"""Folders whose tests share what is slow to make or to fetch: one process runs all of each."""


def pytest_collection_modifyitems(config, items):
    """With several processes each file is run by one of them, as its fixtures are made for all of it."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            folder, *rest = item.path.relative_to(TESTS).parts
            group = folder if folder in TOGETHER else "/".join([folder, *rest])
            item.add_marker(pytest.mark.xdist_group(group))


_opened = []
_begin = SessionLog.__init__


def _begin_and_note(log, *args, **options):
    _begin(log, *args, **options)
    _opened.append(log)


SessionLog.__init__ = _begin_and_note


@pytest.fixture(autouse=True)
def _closed():
    """Closes the logs that a test leaves open, each of which has a thread and a file: many tests have one process."""
    before = len(_opened)
    yield
    for log in _opened[before:]:
        with suppress(Exception):  # its disk is full, or gone
            log.close()
    del _opened[before:]


@pytest.fixture(params=[pytest.param("_pure", id="pure"), pytest.param("_rust", id="native", marks=needs_native)])
def impl(request):
    """The scanner: the same tests run on both implementations."""
    return import_module(f"rehydrate.scan.{request.param}")
